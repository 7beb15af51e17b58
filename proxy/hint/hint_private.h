/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to hint*.c.
 *
 *	hint.c        streams: what is taken, passed, dropped; their turns
 *	hint_step.c   what a hint needs next: a name, or bytes
 *	hint_reader.c where the reader is
 *
 * A stream is a list of items in the order of the hints. What stands at the
 * mark and behind it is asked for only as far as room() allows:
 *
 *	front ──▶ asked, asked, asked │ todo ──▶ name, data, name …
 *	(the reader)                  └ the mark
 */
#ifndef FOREFETCH_HINT_PRIVATE_H
#define FOREFETCH_HINT_PRIVATE_H

#include <sys/queue.h>

#include "cache/caches.h"
#include "hint/hint.h"
#include "prefetch/want.h"

enum hint_state {
	HINT_NAME, /* part of its path is not known yet */
	HINT_DATA, /* bytes of it are to be asked for */
	HINT_ASKED,
};

struct hint_item {
	TAILQ_ENTRY(hint_item) link;
	TAILQ_ENTRY(hint_item) key_link; /* where its object is known */
	struct hint_stream *stream;
	struct want_owner owner; /* the want that is out for it */
	uint64_t ord;            /* counts the stream's items */
	uint64_t seq;
	uint64_t offset, length; /* length 0: to the end */
	uint64_t object;         /* 0: not known yet */
	uint64_t parent;         /* 0: not known */
	uint64_t next;           /* from where on bytes are to be asked for */
	uint64_t read_to;        /* up to where it was read, in one go */
	uint64_t asked_us;       /* last; 0: never */
	uint64_t reads;          /* that there were when it came */
	uint64_t ahead_bytes;    /* that count as ahead */
	uint32_t out_bytes;      /* that its want is about */
	uint16_t text_bytes;
	uint8_t state;
	bool met; /* the reader was there */
	uint8_t fh_len;
	char text[]; /* the handle; or the path, with a NUL */
};

TAILQ_HEAD(hint_items, hint_item);

enum {
	HINT_KEYS = 256, /* buckets, by object */
	HINT_DIRS = 256,
	HINT_READS = 128,
};

/* The reader may be at a hint before its object is known. */
struct hint_read {
	uint64_t object, offset;
	uint32_t count;
};

struct hint_stream {
	LIST_ENTRY(hint_stream) link;
	struct hints *hints;
	struct pf_cred *cred;
	uint32_t uid;
	char *path; /* that all items are below */
	nfs3_fh root;
	char root_fh[NFS3_FHSIZE_MAX];
	struct hint_items items;
	struct hint_item *todo; /* NULL: all were asked for */
	uint32_t nitems, nasked;
	uint32_t nwants;
	uint64_t text_bytes;
	uint64_t out_bytes;   /* of wants */
	uint64_t ahead_bytes; /* asked for and not met */
	uint64_t ords;        /* that were given */
	uint32_t last_lead;   /* of the last want */
	/* Where the reader was seen far ahead, if it goes on there. */
	uint64_t far_ord;
	struct hint_items keys[HINT_KEYS];
	uint64_t dirs[HINT_DIRS]; /* of its objects, by key; the last ones */
	struct hint_read last[HINT_READS]; /* by their number */
	uint64_t reads;
	struct hint_progress p;
};

LIST_HEAD(hint_streams, hint_stream);

struct hints {
	struct hint_params p;
	struct event *ev;
	struct hint_streams streams;
	unsigned nstreams;
};

/* hint.c */
void hints_wake(struct hints *h);
/* Of a stream's items whose objects are known. */
struct hint_items *hint_bucket(struct hint_stream *s, uint64_t object);
/* Its bytes count as ahead no longer. */
void hint_not_ahead(struct hint_item *it);
/* The reader is beyond it, or whoever said so has changed their mind. */
void hint_pass(struct hint_item *it);
/* There is no want for it any more. */
void hint_want_gone(struct hint_item *it);
/* All of it was asked for, or need not be. */
void hint_asked(struct hint_item *it, uint64_t now_us);
/* It is of no use: gone. */
void hint_fail(struct hint_item *it);
/* It has taken a want of `bytes`. */
void hint_out(struct hint_item *it, uint32_t bytes);

/* hint_reader.c */
/* Its object is known now; those before it may be gone then. */
void hint_set_object(struct hint_item *it, uint64_t object, uint64_t parent);

/* hint_step.c */
enum hint_step {
	HINT_STEP_OUT,   /* a want is out, or all was asked for, or it failed */
	HINT_STEP_LATER, /* there is no room for a want */
};
enum hint_step hint_step(struct hint_item *it, uint64_t now_us);
/* Its want is over. */
void hint_step_done(struct hint_item *it, bool given_up, uint64_t now_us);

#endif
