/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums up what forefetch was worth to the clients of a server, in all and by
 * day, and keeps the sums over restarts and umounts in the file `totals` of the
 * server's directory: one line, replaced as a whole.
 *
 *	VERSION  ALL  DAY ...  SUM
 *
 * Version 1; a set of sums is seven numbers in the order of struct
 * balance_sums; at most BALANCE_DAYS of them follow that of all, the oldest
 * first; and XXH3 of what precedes it, in hexadecimal.
 *
 * A line that is damaged, or of another version, is set aside as
 * `totals.damaged`. Where the disk did not answer when the server was opened,
 * nothing is written: that would replace what the file has.
 */
#ifndef FOREFETCH_BALANCE_H
#define FOREFETCH_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balance;
struct history;
struct statedir;
struct statefile_text;

/* A month of days, so that a user can compare weeks. */
enum {
	BALANCE_DAYS = 31,
	BALANCE_TEXT_MAX = 6144,
	/* How often the file is written, and so what a kill loses at most. */
	BALANCE_SAVED_US = 60000000,
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

/* Makes the sums of one server, and goes on from what its file held, `text`,
 * which it cuts; NULL: the disk did not answer when the server was opened, and
 * nothing is written in this run. `sd`, `server` (a name) and `h` stay the
 * caller's and outlive it, `text` need not. NULL without memory; a file that
 * could not be read is no error. */
struct balance *balance_new(struct statedir *sd, const char *server,
    struct history *h, struct statefile_text *text);
#define BALANCE_FILE "totals"
/* Counts and writes all until now. NULL is allowed. */
void balance_free(struct balance *b);
/* To be called on the loop every second or so: what is new goes to the file
 * once a minute. A thread writes it, so this does not wait for the disk. */
void balance_tick(struct balance *b, uint64_t now_us);
/* All until now. The result belongs to `b` and is overwritten by the next call
 * of any function here. */
const struct balance_kept *balance_get(struct balance *b);

/* Adds `news` to the sums of all time and to those of its day, which may be
 * any. */
void balance_add(struct balance_kept *kept, const struct balance_sums *news);
/* The line of the file, with its checksum and without a newline. */
void balance_format(
    const struct balance_kept *kept, char text[BALANCE_TEXT_MAX]);
/* Reads such a line. False where the line is damaged or of another version;
 * `*kept` is not valid then. */
bool balance_parse(const char *text, struct balance_kept *kept);

#endif
