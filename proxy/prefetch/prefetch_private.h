/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to prefetch*.c: the rooms of one server (ground.h has a drawing), and
 * what waits to be heard.
 *
 *	prefetch.c       observations in, the pump
 *	prefetch_save.c  what was learned, on disk
 *	prefetch_show.c  what is under way, in rows
 */
#ifndef FOREFETCH_PREFETCH_PRIVATE_H
#define FOREFETCH_PREFETCH_PRIVATE_H

#include <limits.h>

#include "base/iopool.h"
#include "predictor/predictor.h"
#include "prefetch/ground/ground.h"
#include "prefetch/prefetch.h"

struct credential;
struct event;
struct predictor_snapshot;

enum { RING = 256 }; /* observations, in one turn of the loop */

/* An observation that waits for its turn. */
struct seen {
	struct predictor_obs obs;
	struct credential *cred;
	uint64_t dir;        /* a directory whose listing came; 0: none */
	uint32_t page_bytes; /* that READDIRPLUS asked for; 0: another call */
	uint64_t mounted;    /* a file system, as observe_mount() has it */
	char name[32];       /* that was looked up; "": none, or a longer one */
	bool late;
	bool missed;
	bool begins; /* it is not answered yet; not `missed`: it is confirmed */
};

/* What was learned, on its way to the disk. */
struct prefetch_save {
	char path[PATH_MAX]; /* "": it is not kept */
	struct event *ev;
	struct iopool_job job;
	struct predictor_snapshot *gathered; /* NULL: nothing is */
	uint64_t events;                     /* that what is on disk knows of */
	int error;
	bool writes; /* the job is under way */
};

struct prefetch {
	struct ground g;
	const char *name; /* the server's, for log lines */
	struct credentials *creds;
	struct notes *notes;
	struct calls *calls;
	struct queue *queue;
	struct sources *sources;
	struct steps *steps;
	struct event *ev; /* the pump */
	bool active;      /* `ev` is about to run */
	struct seen ring[RING];
	unsigned ring_in, ring_out;
	struct prefetch_save save;
};

/* prefetch_save.c */
void prefetch_save_open(struct prefetch *pf);
void prefetch_save_close(struct prefetch *pf);
/* Begin to share it with other machines, where there is a farm. */
void prefetch_save_share(struct prefetch *pf);

#endif
