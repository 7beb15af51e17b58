/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The knowledge with which the checks of `forefetch doctor` begin, and the
 * tables that they stand in: a check is a function and a row.
 *
 *	doctor.c ─▶ jobs.c ─▶ check_daemon.c  the daemon, its configuration
 *	                      check_server.c  each server, through probe_*.c
 *	                      check_mount.c   each mount of the daemon, fstab
 *	                      check_disk.c, check_machine.c
 *
 * Each check runs in a process of its own and sees a copy of the doctor_env, so
 * it can change nothing that another one needs, and may hang.
 */
#ifndef FOREFETCH_DOCTOR_PRIVATE_H
#define FOREFETCH_DOCTOR_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "control/protocol.h"
#include "control/control.pb-c.h"
#include "doctor/finding.h"

/* Bytes of a text of the daemon or of a mount, which is cut off there; and the
 * mounts that are looked at. */
enum { DOCTOR_TEXT = 1024, DOCTOR_MOUNTS_MAX = 32 };

/* A mount of NFS through a listener of the daemon, from a line of mountinfo
 * (proc(5)). */
struct doctor_mount {
	/* Where it is mounted, and the path of the server that is mounted
	 * there. */
	char dir[DOCTOR_TEXT];
	char export[DOCTOR_TEXT];
	/* The address and port that the kernel sends its calls to,
	 * "127.0.0.1:289". */
	char listen[128];
	/* The options of the mount, and behind them those of the file
	 * system. */
	char options[DOCTOR_TEXT];
	/* The name of the server whose listener that is; "": nobody's now. */
	char server[256];
};

/* All that checks know before they begin. It lives until all jobs have
 * ended. */
struct doctor_env {
	/* The path of the daemon's control socket. */
	const char *socket;
	/* The server that the command is about; NULL: it is about all. */
	const char *only;
	/* The daemon's status; NULL: the daemon did not give one. */
	const Forefetch__Status *st;
	/* The errno for which it did not answer; 0: it did, or it said why not
	 * itself (`refusal`). */
	int error;
	/* The configuration, where `st` is NULL; NULL: it cannot be read, for
	 * the reason in config_error. */
	struct config *config;
	char config_error[DOCTOR_TEXT];
	/* The sentence of the daemon's error; NULL: it sent none. */
	const char *refusal;
	struct doctor_mount mounts[DOCTOR_MOUNTS_MAX];
	size_t nmounts;
};

/* One check: adds its findings to `out`. */
typedef void doctor_check(const struct doctor_env *env, struct findings *out);

/* A check that is about the daemon or the machine, and its name for the case
 * that it does not end. */
struct doctor_row {
	const char *name;
	doctor_check *check;
};

/* Both tables end with a row without a name. */
extern const struct doctor_row doctor_daemon_rows[], doctor_machine_rows[];

/* Checks a server that the daemon serves, and its listener. */
void doctor_check_server(const struct doctor_env *env,
    const Forefetch__ServerStatus *srv, struct findings *out);
/* Checks a server of the configuration, while there is no daemon to ask. */
void doctor_check_configured(
    const struct config_server *srv, struct findings *out);
/* Checks a server that the daemon does not know: "host" or "host:/path". */
void doctor_check_host(const char *host, struct findings *out);
/* Checks one mount. It may hang with the mount's server. */
void doctor_check_mount(const struct doctor_env *env,
    const struct doctor_mount *m, struct findings *out);

/* Fills in env->mounts from the file `mountinfo`: the mounts that go through
 * listeners of the daemon, or that seem to (NFS from this machine, from another
 * port than 2049). Asks no server. */
void doctor_find_mounts(struct doctor_env *env, const char *mountinfo);

/* The rows of both tables, by the files that they are in. */
doctor_check doctor_check_running, doctor_check_unit, doctor_check_config,
    doctor_check_log, doctor_check_farm, doctor_check_fstab, doctor_check_disk,
    doctor_check_memory, doctor_check_clock;

/* Copies a field of bytes to `buf`, cut to its size, and returns it. Bytes may
 * be anything: findings are escaped when they are printed. */
const char *doctor_text(const ProtobufCBinaryData *b, char *buf, size_t size);

#endif
