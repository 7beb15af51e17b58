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
#include "nfsproto/nfs_proc.h"
#include "nfsproto/rpc_msg.h"
#include "predictor/persist/persist.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/observe.h"
#include "prefetch/prefetch.h"

struct event;

enum { HEARD = 256 }; /* calls that wait for the pump */

/* A call as it went by, with copies of what it points to: what is made of it
 * happens in the pump, when its client has the reply. */
struct heard {
	struct observe_call call;
	union nfs_args args;
	struct rpc_cred cred;
	bool begins; /* it is not answered yet; not `missed`: it is confirmed */
	char fh[NFS3_FHSIZE_MAX];
	char body[RPC_AUTH_BODY_MAX];
	char name[NFS3_NAME_MAX + 1]; /* LOOKUP */
};

/* The learned trees on their way from the disk, and to it. */
struct prefetch_save {
	char path[PATH_MAX]; /* "": it is not kept */
	struct event *ev;
	struct iopool_job job;
	struct predictor_import *import;     /* what the file has, until it is
					      * added */
	struct predictor_snapshot *gathered; /* NULL: nothing is */
	uint64_t events;                     /* that what is on disk knows of */
	int error;
	char why[PERSIST_ERR_MAX]; /* the file could not be read */
	bool loads;                /* not all of the file is known yet */
	bool read;                 /* for this it was read */
	bool works;                /* the job is under way */
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
	struct answers *answers;
	struct event *ev;                /* the pump */
	bool active;                     /* `ev` is about to run */
	struct heard calls_heard[HEARD]; /* since the last turn */
	unsigned heard;
	/* Calls for which there was no place, as if they were of the file
	 * system of the next one that is heard. */
	struct observe_sums beside;
	/* Bytes of replies since the last turn. */
	uint64_t demand_bytes, cached_bytes;
	struct prefetch_save save;
};

/* prefetch_save.c */
void prefetch_save_open(struct prefetch *pf);
void prefetch_save_close(struct prefetch *pf);
/* Has a thread free what was learned. */
void prefetch_save_bury(struct prefetch *pf);
/* Begin to share it with other machines, where there is a farm. */
void prefetch_save_share(struct prefetch *pf);

#endif
