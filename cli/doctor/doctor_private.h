/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The knowledge with which the checks of `forefetch doctor` begin, and the
 *tables that they stand in: a check is a function and a row.
 *
 *	doctor.c ─▶ jobs.c ─▶ check_daemon.c, check_config.c   the daemon
 *	                      check_server.c  each server, through probe_*.c
 *	                      check_mount.c   each mount of the daemon, fstab
 *	                      check_disk.c, check_machine.c
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

enum { DOCTOR_TEXT = 1024, DOCTOR_MOUNTS_MAX = 32 };

/* A mount of NFS, from a line of mountinfo. */
struct doctor_mount {
	char dir[DOCTOR_TEXT];
	char export[DOCTOR_TEXT];
	char listen[128];          /* "127.0.0.1:289" */
	char options[DOCTOR_TEXT]; /* of the mount, then of the file system */
	char server[256];          /* whose listener it is; "": nobody's now */
};

struct doctor_env {
	const char *socket;
	const char *only;            /* of one server; NULL: of all */
	const Forefetch__Status *st; /* NULL: the daemon did not answer */
	int error; /* why: an errno, or 0 where it said why itself */
	/* Then its servers are those of the configuration; NULL: it cannot be
	 * read. */
	struct config *config;
	char config_error[DOCTOR_TEXT];
	const char *refusal; /* its answer then */
	struct doctor_mount mounts[DOCTOR_MOUNTS_MAX];
	size_t nmounts;
};

typedef void doctor_check(const struct doctor_env *env, struct findings *out);

struct doctor_row {
	const char *name;
	doctor_check *check;
};

/* End with a row without a name. */
extern const struct doctor_row doctor_daemon_rows[], doctor_machine_rows[];

/* A server, its listeners, and what is mounted from them. */
void doctor_check_server(const struct doctor_env *env,
    const Forefetch__ServerStatus *srv, struct findings *out);
/* The same by the configuration, while there is no daemon to ask. */
void doctor_check_configured(
    const struct config_server *srv, struct findings *out);
/* A server that the daemon does not know: "host" or "host:/path". */
void doctor_check_host(const char *host, struct findings *out);
void doctor_check_mount(const struct doctor_env *env,
    const struct doctor_mount *m, struct findings *out);

/* The mounts that go through listeners of the daemon, or that seem to: NFS from
 * this machine, from another port than 2049. */
void doctor_find_mounts(struct doctor_env *env, const char *mountinfo);

doctor_check doctor_check_running, doctor_check_unit, doctor_check_config,
    doctor_check_log, doctor_check_farm, doctor_check_fstab, doctor_check_disk,
    doctor_check_memory, doctor_check_clock;

/* A field of bytes, cut to the buffer. */
const char *doctor_text(const ProtobufCBinaryData *b, char *buf, size_t size);

#endif
