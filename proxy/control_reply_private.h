/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to control_reply*.c: commands about all of a server are in
 * control_reply.c, those about one place in control_reply_place.c. */
#ifndef FOREFETCH_CONTROL_REPLY_PRIVATE_H
#define FOREFETCH_CONTROL_REPLY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "control.h"
#include "control.pb-c.h"

struct chunk;

/* What is needed to make one response. */
struct reply {
	const struct control_ops *ops;
	void *ctx;
	const struct control_peer *peer; /* for commands that act as it */
	struct control_session *session; /* of this client */
	struct chunk *chunks;
	bool failed; /* memory was short somewhere */
	struct control_status status;
	Forefetch__Response res;
	Forefetch__Error error;
};

/* Zeroed memory that lives as long as the reply; NULL counts as a failure. */
void *reply_alloc(struct reply *r, size_t n, size_t size);
/* `text` must live as long. */
void reply_error(struct reply *r, Forefetch__ErrorCode code, const char *text);

void reply_explain(struct reply *r, const Forefetch__ExplainRequest *request);
/* The name of the server that a request means: the only one where it says
 * none. NULL after an error. */
const char *reply_one_server(
    struct reply *r, const ProtobufCBinaryData *filter);

void reply_trace(struct reply *r, const Forefetch__TraceRequest *request);
void reply_trees(struct reply *r, const Forefetch__TreesRequest *request);
void reply_warm(struct reply *r, const Forefetch__WarmRequest *request);

#endif
