/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structs of a call, a connection and an upstream. Private to upstream.c
 * (calls and queues), upstream_conn.c (connections) and upstream_state.c
 * (address, state, and the questions about both). A call is always in exactly
 * one list, the one that its `where` says, and in the table of XIDs until its
 * reply has come.
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
	/* A client that has waited for a change so long may have given up. */
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

/* One call, from upstream_send() until it is answered, dropped or released. */
struct upstream_call {
	TAILQ_ENTRY(upstream_call) link; /* in the list that `where` says */
	/* The next call of its place in the table of XIDs. */
	struct upstream_call *hash_next;
	struct upstream *up;
	/* the connection that it was sent over last, or is pinned to; NULL:
	 * none */
	struct upstream_conn *conn;
	const struct nfs_proc *proc;
	const struct rpc_cred *cred;
	struct xdr_view args;
	struct rbuf *hold;
	const struct upstream_call_ops *ops;
	void *arg;
	uint32_t xid;
	/* dial_source() of the connection that it was sent over last. */
	uint32_t source;
	enum upstream_where where;
	enum upstream_class class;
	/* How often it was sent, by a former daemon at least once. */
	unsigned sendings;
	/* The server's reply cache may not know it, in one of its repeats. */
	bool doubtful;
	bool checked; /* its owner had it sent again, in spite of doubt */
	/* Its request is gone, so it cannot be sent again (upstream_abandon()).
	 */
	bool abandoned;
	uint64_t first_us; /* when first sent */
	uint64_t sent_us;  /* when last sent */
	uint64_t waits_us; /* since when queued or pinned */
	/* Connected_us of the connection that it was sent over last. */
	uint64_t connected_us;
};

TAILQ_HEAD(upstream_calls, upstream_call);

/* One connection. In all states but UP, `xprt` is NULL; `dial` is set while
 * CONNECTING only. */
struct upstream_conn {
	struct upstream *up;
	unsigned index;
	enum upstream_state state;
	struct dial *dial;
	struct xprt *xprt;
	/* When to try next, while DOWN. */
	struct event *ev_retry;
	struct upstream_calls sent;   /* oldest first */
	struct upstream_calls pinned; /* in the order they were sent in */
	unsigned in_flight;
	unsigned waiting;
	/* The source port in use, or the one to try first; 0: any. */
	uint16_t port;
	uint32_t source; /* dial_source() while up */
	/* When it was last made, which tells it from those before it. */
	uint64_t connected_us;
	bool answered; /* a call was answered since it was last made */
	/* It was given up because the server acknowledged nothing. */
	bool silent;
	uint64_t backoff_us;
	uint64_t idle_since_us;
};

struct upstream {
	struct upstream_params p;
	struct sockaddr_storage addr; /* ss_family 0: not known */
	struct upstream_conn *conns;
	struct upstream_calls queue[CLASS_COUNT];
	unsigned queued; /* calls in both queues */
	struct upstream_calls held;
	/* The table of XIDs: all calls that are not over. */
	struct upstream_call **hash;
	uint32_t next_xid;
	struct event *ev_tick;
	unsigned failures;  /* failed tries since a connection was last made */
	uint64_t failed_us; /* when a connection last failed to be made */
	enum upstream_state state;
	/* When `state` last became another one, tries to connect aside. */
	uint64_t since_us;
	uint64_t down_us; /* when the last connection that was up was lost */
	char last_error[160];
	enum upstream_served served;
	uint32_t least;
	struct tcploss loss; /* of connections that are over */
};

/* upstream_conn.c */
/* Makes a connection that does nothing yet; false without memory. */
bool upstream_conn_init(
    struct upstream_conn *c, struct upstream *up, unsigned index);
/* Closes it; its lists must be empty. Nothing for one that was never made. */
void upstream_conn_fini(struct upstream_conn *c);
/* Begins to connect, unless it does already or no address is known. */
void upstream_conn_start(struct upstream_conn *c);
/* Gives the connection up and tries again after a backoff, or `now`. Its calls
 * are requeued, so anything may have happened to them when this returns. `why`
 * is for the log and the status. */
void upstream_conn_reset(struct upstream_conn *c, const char *why, bool now);
/* Closes a connection that has no calls. */
void upstream_conn_close_idle(struct upstream_conn *c);
/* Whether it could take another call at this moment. */
bool upstream_conn_ready(const struct upstream_conn *c);
/* Sends a call, which is in no list, over a connection that is UP; or gives it
 * to its owner where it is in doubt. */
void upstream_conn_send(struct upstream_conn *c, struct upstream_call *call);

/* upstream_state.c */
/* To be called when the state of a connection has changed. */
void upstream_state_changed(struct upstream *up);
/* Notes why the server could not be reached, for the status; copied. */
void upstream_set_error(struct upstream *up, const char *why);

/* upstream.c */
/* Sends what waits in the queues, as far as connections take it. */
void upstream_pump(struct upstream *up);
/* Puts a call, which is in no list, at the head or the end of its queue. */
void upstream_call_queue(struct upstream_call *call, bool head);
/* Gives a call that is in doubt, and in no list, to its owner; false where it
 * is to be repeated. */
bool upstream_call_hold(struct upstream_call *call);
/* Puts a call, which is in no list, where it waits to be sent again; one that
 * was abandoned ends here. */
void upstream_call_requeue(struct upstream_call *call);
/* Takes one record that came over the connection. */
void upstream_on_record(struct upstream_conn *c, const struct record *rec);

#endif
