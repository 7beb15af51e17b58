/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints: what somebody says will be read, in its order.
 *
 * A stream of hints belongs to a user, with whose credential all is asked. What
 * comes next in it is wanted like what is predicted (prefetch.h), and goes the
 * same way: names, attributes and rights, then the bytes. When the reader,
 * which is any process of that uid, reads what a hint names, those before it
 * are dropped. So much of a stream is fetched ahead as the link brings in two
 * seconds; then the reader is waited for.
 *
 * Nothing is told of what a hint found but counts, and nothing binds: a hint
 * that is wrong costs its bytes, and what is not taken is not fetched.
 */
#ifndef FOREFETCH_HINT_H
#define FOREFETCH_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/nfs3.h"

struct caches;
struct config_server;
struct event_base;
struct hint_stream;
struct hints;
struct linkest;
struct metrics;
struct predictor_obs;
struct prefetch;
struct user;

enum {
	HINT_STREAMS_MAX = 32,      /* of a server */
	HINT_STREAMS_UID = 8,       /* of a user, root too */
	HINT_ITEMS_MAX = 2048,      /* of a stream */
	HINT_TEXT_MAX = 256 * 1024, /* bytes of their paths */
};

struct hint_params {
	struct event_base *base;
	struct prefetch *prefetch;
	struct caches *caches;
	struct linkest *link;
	struct metrics *metrics;
	const struct config_server *config; /* see hints_set_config() */
	uint64_t disk_bytes;                /* what the data cache may take */
};

/* NULL and errno without memory. */
struct hints *hints_new(const struct hint_params *p);
/* All streams must have ended. NULL is allowed. */
void hints_free(struct hints *h);
void hints_set_config(struct hints *h, const struct config_server *config);
/* A call of a client was answered. Whether it was about what a hint of its uid
 * names, or about a directory on the way there. */
bool hints_seen(struct hints *h, const struct predictor_obs *obs);

/*
 * Begin a stream of `who` for files at or below `path` in the export `export`
 * (warm.h has what paths are). NULL and errno: EINVAL for a bad path, EPERM for
 * an export that is not offered, EOPNOTSUPP where prefetch is off, ENOENT for
 * an export that nobody has mounted, EBUSY for too many streams, ENOMEM.
 */
struct hint_stream *hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path);
/* What is under way is still learned from. NULL is allowed. */
void hint_end(struct hint_stream *s);

/* `length` 0: to the end of the file. */
struct hint {
	uint64_t seq;
	const char *path; /* below the stream's; NULL: `fh` */
	nfs3_fh fh;       /* of a file that the proxy knows */
	uint64_t offset;
	uint64_t length;
};
/* 0, also for a bad path, handle or range, which has failed then; -EAGAIN
 * without room; -EINVAL for a `seq` that is not above all before it; -ENOMEM.
 */
int hint_add(struct hint_stream *s, const struct hint *hint);
/* Those up to `seq` are dropped. */
void hint_cancel(struct hint_stream *s, uint64_t seq);

/* As Hinted in control.proto. */
struct hint_progress {
	uint64_t accepted;
	uint64_t reached;
	uint64_t used, passed, unused, failed;
	uint32_t room;
	uint32_t waiting;
	uint32_t ahead;
	bool full;
};
void hint_get_progress(const struct hint_stream *s, struct hint_progress *out);

#endif
