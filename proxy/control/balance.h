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

enum {
	BALANCE_DAYS = 31,
	BALANCE_TEXT_MAX = 6144,
	BALANCE_SAVED_US = 60000000, /* what a kill loses at most */
};

struct balance_sums {
	uint64_t day;    /* 20261231, of local time; of all: the first one */
	uint64_t calls;  /* of clients */
	uint64_t spared; /* round trips */
	uint64_t saved_us, added_us; /* history.h */
	uint64_t returned_bytes;     /* to clients, in replies */
	uint64_t received_bytes;     /* from the server */
};

struct balance_kept {
	struct balance_sums all;
	struct balance_sums days[BALANCE_DAYS]; /* the oldest first */
	size_t n;
};

/* Goes on from the file, which it reads if `on_disk`: the disk answers. The
 * other three outlive it. NULL without memory. */
struct balance *balance_new(
    struct statedir *sd, const char *server, struct history *h, bool on_disk);
/* Keeps all until now. NULL is allowed. */
void balance_free(struct balance *b);
/* To be called every second or so: what is new goes to the file once a minute.
 */
void balance_tick(struct balance *b, uint64_t now_us);
/* All until now; it stays until the next call. */
const struct balance_kept *balance_get(struct balance *b);

/* Adds what is new to all and to its `day`, which may be any. */
void balance_add(struct balance_kept *kept, const struct balance_sums *news);
void balance_format(
    const struct balance_kept *kept, char text[BALANCE_TEXT_MAX]);
/* False where it is no such line. */
bool balance_parse(const char *text, struct balance_kept *kept);

#endif
