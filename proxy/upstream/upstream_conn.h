/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structs of a call, a connection and an upstream. Private to upstream.c
 * (calls and queues), upstream_conn.c (connections) and upstream_state.c
 * (address, state, and the questions about both).
 */
#ifndef FOREFETCH_UPSTREAM_CONN_H
#define FOREFETCH_UPSTREAM_CONN_H

#include <sys/queue.h>

#include "upstream/tcploss.h"
#include "upstream/dial.h"
#include "upstream/upstream.h"
#include "upstream/xprt.h"

enum {
	UPSTREAM_BACKOFF_FIRST_US = 100000,
	/* Who has waited for a change so long may have given up. */
	UPSTREAM_LATE_US = 2000000,
};

/*
 * Bulk (READ, WRITE and listings) goes over other connections than the rest
 * where there are several: a small call never waits behind a large one's
 * bytes, and one window stays open for the large ones.
 */
enum upstream_class {
	CLASS_SMALL, /* the first connection */
	CLASS_BULK,  /* the others */
	CLASS_COUNT,
};

enum upstream_where {
	CALL_QUEUED, /* in the queue of its class */
	CALL_PINNED, /* in its connection's list, to be repeated there */
	CALL_SENT,   /* in its connection's list of sent calls */
	CALL_HELD,   /* with its owner, who decides whether it is repeated */
};

struct upstream_call {
	TAILQ_ENTRY(upstream_call) link; /* in the list that `where` says */
	struct upstream_call *hash_next;
	struct upstream *up;
	struct upstream_conn *conn; /* where pinned or sent */
	const struct nfs_proc *proc;
	const struct rpc_cred *cred;
	struct xdr_view args;
	struct rbuf *hold;
	const struct upstream_call_ops *ops;
	void *arg;
	uint32_t xid;
	uint32_t source; /* of the last sending */
	enum upstream_where where;
	enum upstream_class class;
	unsigned sendings;
	bool doubtful;
	bool checked; /* its owner had it sent again, in spite of doubt */
	bool abandoned;
	uint64_t first_us;     /* when first sent */
	uint64_t sent_us;      /* when last sent */
	uint64_t waits_us;     /* since when queued or pinned */
	uint64_t connected_us; /* of the connection that it went over */
};

TAILQ_HEAD(upstream_calls, upstream_call);

struct upstream_conn {
	struct upstream *up;
	unsigned index;
	enum upstream_state state;
	struct dial *dial;
	struct xprt *xprt;
	struct event *ev_retry;
	struct upstream_calls sent;   /* oldest first */
	struct upstream_calls pinned; /* in the order they were sent in */
	unsigned in_flight;
	unsigned waiting;
	uint16_t port;         /* wanted, or in use */
	uint32_t source;       /* while up */
	uint64_t connected_us; /* when it was last made: tells it from others */
	bool answered;         /* since it was last connected */
	bool silent;           /* nothing was acknowledged before it was lost */
	uint64_t backoff_us;
	uint64_t idle_since_us;
};

struct upstream {
	struct upstream_params p;
	struct sockaddr_storage addr; /* ss_family 0: not known */
	struct upstream_conn *conns;
	struct upstream_calls queue[CLASS_COUNT];
	unsigned queued; /* in both */
	struct upstream_calls held;
	struct upstream_call **hash;
	uint32_t next_xid;
	struct event *ev_tick;
	unsigned failures;  /* since a connection was last made */
	uint64_t failed_us; /* when a connection last failed to be made */
	enum upstream_state state;
	uint64_t since_us;
	uint64_t down_us; /* when the last connection was lost */
	char last_error[160];
	enum upstream_served served;
	uint32_t least;
	struct tcploss loss; /* of connections that are over */
};

/* upstream_conn.c */
bool upstream_conn_init(
    struct upstream_conn *c, struct upstream *up, unsigned index);
void upstream_conn_fini(struct upstream_conn *c);
void upstream_conn_start(struct upstream_conn *c);
/* Give the connection up and try again after a backoff, or `now`. */
void upstream_conn_reset(struct upstream_conn *c, const char *why, bool now);
void upstream_conn_close_idle(struct upstream_conn *c);
/* Whether it could take another call at this moment. */
bool upstream_conn_ready(const struct upstream_conn *c);
void upstream_conn_send(struct upstream_conn *c, struct upstream_call *call);

/* upstream_state.c */
void upstream_state_changed(struct upstream *up);
void upstream_set_error(struct upstream *up, const char *why);

/* upstream.c */
/* Send what waits, as far as connections take it. */
void upstream_pump(struct upstream *up);
void upstream_call_queue(struct upstream_call *call, bool head);
/* Give a call that is in doubt, and in no list, to its owner; false where it
 * is to be repeated. */
bool upstream_call_hold(struct upstream_call *call);
/* To be sent again; an abandoned one ends here. */
void upstream_call_requeue(struct upstream_call *call);
void upstream_on_record(struct upstream_conn *c, const struct record *rec);

#endif
