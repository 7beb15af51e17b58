/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums up what forefetch was worth to the clients of a server, in all, by day
 * and by mount, and keeps the sums over restarts and umounts in two files of
 * the server's directory: one line each, replaced as a whole.
 *
 *	totals        VERSION  N  ALL  DAY ...  SUM
 *	mount-totals  VERSION  N  MOUNT ...  SUM
 *
 * Version 1; N counts the days or mounts. A set of sums is seven numbers in the
 * order of struct balance_sums; at most BALANCE_DAYS of them follow that of
 * all, the oldest first. A mount is six numbers in the order of struct
 * balance_mount and a path in hexadecimal. The last is XXH3 of what precedes
 * it, in hexadecimal.
 *
 * A line that is damaged, or of another version, is set aside as
 * FILE.damaged. Where the disk did not answer when the server was opened,
 * nothing is written: that would replace what the file has.
 */
#ifndef FOREFETCH_BALANCE_H
#define FOREFETCH_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balance;
struct caches;
struct history;
struct statedir;
struct statefile_text;

/* A month of days, so that a user can compare weeks. */
enum {
	BALANCE_DAYS = 31,
	BALANCE_TEXT_MAX = 6144,
	/* How often the file is written, and so what a kill loses at most. */
	BALANCE_SAVED_US = 60000000,
	/* One more takes the place of the one that was used longest ago. */
	BALANCE_MOUNTS = 32,
	/* Bytes of an export's path; of longer ones no sums are kept. */
	BALANCE_MOUNT_PATH = 255,
	BALANCE_MOUNTS_TEXT_MAX = 20480,
};

/* The sums of one day, or of all time. Every number only grows. */
struct balance_sums {
	uint64_t day;   /* 20261231, of local time; of all: the first one */
	uint64_t calls; /* of clients */
	/* Calls of clients that needed none to the server. */
	uint64_t spared;
	/* Microseconds that clients were spared, and that the proxy cost them;
	 * history.h says how both are estimated. */
	uint64_t saved_us, added_us; /* history.h */
	uint64_t returned_bytes;     /* to clients, in replies */
	uint64_t received_bytes;     /* from the server */
};

/* The contents of the file: all time, and the last days on which there were
 * calls. */
struct balance_kept {
	struct balance_sums all;
	struct balance_sums days[BALANCE_DAYS]; /* the oldest first */
	size_t n;
};

/* A file system that was mounted. The counts only grow. Under load a call may
 * be counted for the file system of the call after it (prefetch_observe()). */
struct balance_mount {
	uint64_t fsid;
	uint64_t day, last_day; /* the first and the last, as 20261231 */
	uint64_t calls;         /* of clients */
	/* Calls that needed none to the server, without those that change
	 * something. */
	uint64_t spared;
	uint64_t returned_bytes; /* to clients, in replies */
	/* The path of the export on it that was mounted first, with a NUL. */
	char path[BALANCE_MOUNT_PATH + 1];
};

/* The contents of the other file. */
struct balance_mounts {
	struct balance_mount rows[BALANCE_MOUNTS];
	size_t n;
};

/* All is the caller's and outlives the balance, but for the texts: what the
 * files held, which balance_new() cuts. One that is NULL was not read, since
 * the disk did not answer when the server was opened; that file is not written
 * in this run. `caches` may be NULL: then no mount is counted. */
struct balance_params {
	struct statedir *state;
	const char *server; /* a name */
	struct history *history;
	struct caches *caches;
	struct statefile_text *totals, *mounts;
};

/* Makes the sums of one server, and goes on from what its files held. NULL
 * without memory; a file that could not be read is no error. */
struct balance *balance_new(const struct balance_params *p);
#define BALANCE_FILE        "totals"
#define BALANCE_MOUNTS_FILE "mount-totals"
/* Counts and writes all until now. NULL is allowed. */
void balance_free(struct balance *b);
/* To be called on the loop every second or so: what is new goes to the file
 * once a minute. A thread writes it, so this does not wait for the disk. */
void balance_tick(struct balance *b, uint64_t now_us);
/* All until now. The result belongs to `b` and is overwritten by the next call
 * of any function here. */
const struct balance_kept *balance_get(struct balance *b);
/* Returns the mounts as balance_get() has counted them last; the result stays
 * valid as that one does. */
const struct balance_mounts *balance_get_mounts(const struct balance *b);

/* Adds `news` to the sums of all time and to those of its day, which may be
 * any. */
void balance_add(struct balance_kept *kept, const struct balance_sums *news);
/* The line of the file, with its checksum and without a newline. */
void balance_format(
    const struct balance_kept *kept, char text[BALANCE_TEXT_MAX]);
/* Reads such a line. False where the line is damaged or of another version;
 * `*kept` is not valid then. */
bool balance_parse(const char *text, struct balance_kept *kept);

/* Makes the row of a file system, of which an export of that path, of at most
 * BALANCE_MOUNT_PATH bytes, is mounted, where it has none. */
void balance_mounts_note(
    struct balance_mounts *kept, uint64_t fsid, const char *path, uint64_t day);
/* The line of their file, likewise. */
void balance_mounts_format(
    const struct balance_mounts *kept, char text[BALANCE_MOUNTS_TEXT_MAX]);
bool balance_mounts_parse(const char *text, struct balance_mounts *kept);

#endif
