/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to control_reply*.c.
 *
 *	control_reply.c          requests in, responses out; stats, flush
 *	control_reply_status.c   status
 *	control_reply_compact.c  laying data out
 *	control_reply_place.c    commands about one place: warm, explain
 *	control_reply_hint.c     hints
 *	control_reply_pin.c      pinned trees
 *	control_reply_trees.c    access trees; what is carried in files
 *	control_reply_trees_look.c  listed and shown
 *	control_reply_trees_export.c  exported
 *	control_reply_trace.c    traces
 */
#ifndef FOREFETCH_CONTROL_REPLY_PRIVATE_H
#define FOREFETCH_CONTROL_REPLY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "control/control.h"
#include "control/control.pb-c.h"

struct chunk;
struct warm_progress;

/* What takes more than one turn; lies at the beginning of what it needs. It
 * is gone on with by the same request, which is asked again. */
struct control_work {
	void (*free)(struct control_work *w);
};

/* What is needed to make one response. */
struct reply {
	const struct control_ops *ops;
	void *ctx;
	const struct control_peer *peer; /* for commands that act as it */
	struct control_session *session; /* of this client */
	struct chunk *chunks;
	bool failed; /* memory was short somewhere */
	bool later;  /* there is none yet: ask again in another turn */
	struct control_status status;
	Forefetch__Response res;
	Forefetch__Error error;
};

/* Zeroed memory that lives as long as the reply; NULL counts as a failure. */
void *reply_alloc(struct reply *r, size_t n, size_t size);
/* The session's work, or none: then it is to be begun, unless it is to wait
 * for others (`later`). */
struct control_work *reply_work(struct reply *r);
void reply_work_end(struct reply *r);
/* Before a blob begins: false after an error. */
bool reply_may_carry(struct reply *r);
/* `text` must live as long. */
void reply_error(struct reply *r, Forefetch__ErrorCode code, const char *text);

/* Borrow a string, which may be NULL. */
ProtobufCBinaryData reply_bytes(const char *text);
/* Does a request that names `filter` want this server? */
bool reply_wants(const ProtobufCBinaryData *filter, const char *name);

/* How many servers are to be told about, `filter` or all; false after an
 * error. */
bool reply_count_servers(
    struct reply *r, const ProtobufCBinaryData *filter, size_t *n);

void reply_compact(struct reply *r, const Forefetch__CompactRequest *request);
void reply_status(struct reply *r, const Forefetch__StatusRequest *request);
void reply_explain(struct reply *r, const Forefetch__ExplainRequest *request);
/* The name of the server that a request means: the only one where it says
 * none. NULL after an error. */
const char *reply_one_server(
    struct reply *r, const ProtobufCBinaryData *filter);

/* False after an error. */
bool reply_place(
    struct reply *r, const Forefetch__Place *place, struct control_place *out);
/* What warm_begin() failed with. */
void reply_place_error(struct reply *r, int error);
/* NULL without memory. */
Forefetch__Warmed *reply_warmed(struct reply *r, const struct warm_progress *p);

/* As a string; NULL where it is none, or too long. */
const char *reply_text(struct reply *r, const ProtobufCBinaryData *b);
void reply_hint(struct reply *r, const Forefetch__HintRequest *request);
void reply_pin(struct reply *r, const Forefetch__PinRequest *request);
void reply_trace(struct reply *r, const Forefetch__TraceRequest *request);
void reply_trees(struct reply *r, const Forefetch__TreesRequest *request);
void reply_warm(struct reply *r, const Forefetch__WarmRequest *request);

#endif
