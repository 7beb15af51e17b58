/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to hint*.c.
 *
 *	hint.c        streams: what is taken, passed, dropped; their turns
 *	hint_step.c   what a hint needs next: a name, or bytes
 *	hint_reader.c where the reader is
 *
 * A stream is a list of items in the order of the hints. The item `todo` and
 * those behind it are asked for only as far as room() allows:
 *
 *	front ──▶ asked, asked, asked │ todo ──▶ name, data, name …
 *	(the reader)
 */
#ifndef FOREFETCH_HINT_PRIVATE_H
#define FOREFETCH_HINT_PRIVATE_H

#include <sys/queue.h>

#include "cache/caches.h"
#include "hint/hint.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/queue/want.h"

enum hint_state {
	HINT_NAME,  /* part of its path is not known yet */
	HINT_DATA,  /* bytes of it are to be asked for */
	HINT_ASKED, /* all of it was asked for */
};

/* A hint that was taken. */
struct hint_item {
	TAILQ_ENTRY(hint_item) link;
	TAILQ_ENTRY(hint_item) key_link; /* once its object is known */
	struct hint_stream *stream;
	struct want_owner owner; /* of the one want that it may have */
	uint64_t ord;            /* its number in the stream */
	uint64_t seq;            /* the number that the hint's sender gave it */
	uint64_t offset, length; /* what will be read; length 0: to the end */
	uint64_t object;         /* fh_key(); 0: not known yet */
	uint64_t parent;         /* of its directory; 0: not known */
	/* HINT_DATA: the offset that is asked for next. HINT_NAME: 1 + the
	 * place in `text` of the name that was looked up last; 0: none was yet.
	 */
	uint64_t next;
	uint64_t read_to;     /* where the reader's READs of it have come to */
	uint64_t asked_us;    /* when bytes were asked for last; 0: never */
	uint64_t reads;       /* how many READs the stream had seen before it */
	uint64_t ahead_bytes; /* that count in the stream's ahead_bytes */
	uint32_t out_bytes;   /* what its want is about */
	uint16_t text_bytes;  /* for HINT_TEXT_MAX */
	uint8_t state;
	bool met;       /* the reader was there */
	uint8_t fh_len; /* 0: `text` is a path */
	char text[];    /* the handle; or the path, with its NUL */
};

TAILQ_HEAD(hint_items, hint_item);

enum {
	HINT_KEYS = 256,  /* buckets of items, by object */
	HINT_DIRS = 256,  /* directories that are remembered */
	HINT_READS = 128, /* READs that are remembered */
};

/* A READ of the stream's user. They are remembered because the reader may be at
 * a hint before its object is known. */
struct hint_read {
	uint64_t object, offset;
	uint32_t count;
};

struct hint_stream {
	LIST_ENTRY(hint_stream) link;
	struct hints *hints;
	struct credential *cred;
	uint32_t uid;
	char *path; /* that all items are below */
	nfs3_fh root;
	char root_fh[NFS3_FHSIZE_MAX];
	struct hint_items items;
	struct hint_item *todo; /* NULL: all were asked for */
	uint32_t nitems, nasked, nwants;
	uint64_t text_bytes;  /* of all items */
	uint64_t out_bytes;   /* of all wants */
	uint64_t ahead_bytes; /* asked for, and the reader was not there yet */
	uint64_t ords;        /* the last item's `ord` */
	uint32_t last_lead;   /* of the last want */
	/* The reader was seen at this item, far ahead of where it was before.
	 * It has come there only if its next READ is near, too. */
	uint64_t far_ord;
	struct hint_items keys[HINT_KEYS];
	uint64_t dirs[HINT_DIRS]; /* directories of its objects, by their key */
	struct hint_read last[HINT_READS]; /* a ring */
	uint64_t reads; /* how many reads there were in all */
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
/* The stream's items that may be about the object. */
struct hint_items *hint_bucket(struct hint_stream *s, uint64_t object);
/* The reader has come to it: its bytes are not ahead of the reader any more. */
void hint_not_ahead(struct hint_item *it);
/* Frees it, since the reader is beyond it, or since it was cancelled. It counts
 * as passed if the reader was not at it. */
void hint_remove(struct hint_item *it);
/* Its want is gone. */
void hint_want_gone(struct hint_item *it);
/* All of it was asked for, or need not be. */
void hint_asked(struct hint_item *it, uint64_t now_us);
/* It cannot be followed: it counts as failed, and is freed. */
void hint_fail(struct hint_item *it);
/* It owns a want of `bytes` from now on. They count as ahead of the reader
 * unless they are `cached` already. */
void hint_out(struct hint_item *it, uint32_t bytes, bool cached);

/* hint_reader.c */
/* Its object is known now. If the reader was there already, the items before
 * it are passed. */
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
