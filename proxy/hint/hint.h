/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints: a program says which files will be read, in which order.
 *
 *	hint_add() ─▶ stream: item, item, item … ─▶ wants (want.h) ─▶ calls
 *	                 ▲
 *	hints_seen() ────┘ where the reader is: what lies before it is dropped
 *
 * A stream of hints belongs to a user, and everything is asked under that
 * user's credential. The next files of the stream become wants like predicted
 * ones, and are fetched in the same way: names, attributes and rights, then the
 * bytes. The reader is any process of that uid. As much of a stream is fetched
 * ahead of the reader as the link brings in two seconds; then it waits.
 *
 * A wrong hint does no harm but for the bytes that it costs. Whoever gives
 * hints hears how many came to what, and nothing about the files.
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
	HINT_STREAMS_MAX = 32, /* of a server */
	HINT_STREAMS_KEPT = 4, /* for root and the daemon's user (places.h) */
	HINT_STREAMS_UID = 8,  /* of a uid other than these */
	HINT_ITEMS_MAX = 2048, /* of a stream */
	HINT_TEXT_MAX = 256 * 1024, /* bytes of their paths */
};

/* The modules that the hints of one server use, which outlive them; and the
 * configuration, which hints_set_config() replaces. */
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
/* Ends all streams; whoever has one must not use it after this. NULL is
 * allowed. */
void hints_free(struct hints *h);
/* Sets the disk space that the data cache may use. */
void hints_set_disk(struct hints *h, uint64_t disk_bytes);
/* A reloaded configuration of the server. */
void hints_set_config(struct hints *h, const struct config_server *config);
/* A call of a client was answered. True where it was about a file that a hint
 * of its uid names, or about a directory on the way there. */
bool hints_seen(struct hints *h, const struct predictor_obs *obs);

/*
 * Begins a stream of `who` for files at or below `path` in the export `export`
 * (warm.h has what paths are). To be ended by hint_end(). NULL and errno:
 * EINVAL for a bad path, EPERM for an export that is not offered, EOPNOTSUPP
 * where prefetch is off, ENOENT for an export that nobody has mounted, EBUSY
 * for too many streams, ENOMEM.
 */
struct hint_stream *hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path);
/* Ends and frees a stream. The caches still learn from calls under way. NULL is
 * allowed. */
void hint_end(struct hint_stream *s);

/* One hint, whose texts are copied when it is taken. */
struct hint {
	/* Its number, from 1, rising within the stream. */
	uint64_t seq;
	const char *path; /* below the stream's; NULL: `fh` */
	nfs3_fh fh;       /* of a file that the proxy knows */
	uint64_t offset;
	/* Bytes; 0: to the end of the file. */
	uint64_t length;
};
/* Takes one hint in. 0, also for a bad path, handle or range, which counts as
 * failed; -EAGAIN where the stream is full; -EINVAL for a `seq` that is not
 * above all before; -ENOMEM. */
int hint_add(struct hint_stream *s, const struct hint *hint);
/* Drops the hints up to `seq`. */
void hint_cancel(struct hint_stream *s, uint64_t seq);

/* Counts of a stream, as Hinted in control.proto says. */
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
