/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of the disk that somebody waits for, the checksums that they compare,
 * and what they verify beyond what was asked for.
 */
#ifndef FOREFETCH_DATACACHE_REQUEST_H
#define FOREFETCH_DATACACHE_REQUEST_H

#include "datacache/datacache_private.h"

struct file;

enum {
	SUM_WINDOW =
	    32 << 10, /* bytes that a thread's checksum reads at once */
	AHEAD_BYTES = 256 << 10, /* verified behind what is wanted */
	REQUESTS_MAX = 256,
};

/* ---- datacache_request.c ---------------------------------------------- */

struct request;

bool requests_init(struct datacache *dc);
/* How many are under way. */
unsigned requests_count(const struct datacache *dc);
/* A request under way that brings all of the range, or NULL. `unverified`: the
 * range has to be verified, not just read. */
struct request *request_find(struct datacache *dc, struct file *f,
    const struct datacache_read *rd, bool unverified);
/* Begin one; NULL without memory. */
struct request *request_start(
    struct datacache *dc, struct file *f, const struct datacache_read *rd);
void request_await(struct request *rq, struct datacache_waiter *w);
/* The disk hangs: all who wait are woken, and miss. */
void requests_give_up(struct datacache *dc);
/* The cache is closed: waiters are forgotten without a word. */
void requests_forget_waiters(struct datacache *dc);
/* As writers_late_since(). */
uint64_t requests_late_since(
    struct datacache *dc, uint64_t now_us, uint64_t us);

/* ---- datacache_sum.c -------------------------------------------------- */

/* A part of a segment file; for the stack of a thread. `from` and `len` say
 * which bytes are in `buf`, none at first; nothing from `end` on is read. */
struct sum_window {
	int fd;
	uint64_t from, end;
	size_t len;
	unsigned char buf[SUM_WINDOW];
};
/* XXH3 of `len` bytes from `pos` of the file; 0 or -errno. */
int window_sum(struct sum_window *w, uint64_t pos, uint32_t len, uint64_t *sum);

/* ---- datacache_ahead.c ------------------------------------------------ */

/* In a thread: verify the entries from `slot` on, whose payloads begin at
 * `from` of the segment file `fd`. NULL where there is no memory. */
struct ahead *ahead_run(struct datacache *dc, const struct segment *seg,
    uint32_t slot, uint32_t from, int fd);
/* On the loop: mark what was verified, and free it. NULL is allowed. */
void ahead_done(struct datacache *dc, struct ahead *a);

#endif
