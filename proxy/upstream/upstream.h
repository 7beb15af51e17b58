/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls to one program of one server: connections, calls in flight, and what
 * happens to them when a connection breaks. Another protocol to the server
 * would stand beside what upstream.c does; these functions would then call
 * either one (docs/EXTENDING.md, "Where another upstream protocol enters").
 *
 * A call is sent until it is answered (the semantics of a hard mount), and
 * always under the same XID. One that may change something goes over the
 * connection that it went over before, from the same source port if that can
 * be had: then the server's reply cache knows it. Calls that cannot go out
 * yet wait in one queue, bounded by what the clients' connections admit.
 *
 * The transport is our own (xprt, record, rpc_msg) and not libnfs, because
 * only so a call and its reply pass byte for byte and without a copy.
 *
 * Why not libnfs, which the first design had here? Version 4.0.0, the one in
 * Debian 12,
 * - takes and gives typed structures: each call would be decoded and encoded
 *   twice, its payload copied, and a bit that they do not have lost;
 * - cannot cancel a call, and chooses XID and source port itself, while a
 *   server recognises a repeat by both;
 * - ends the connection on a reply above 1 MiB + 4096 bytes, decodes listings
 *   by recursion, one level an entry, and has no TCP_NODELAY;
 * - connects again without a pause, and puts the new socket over the old
 *   descriptor, which epoll then loses.
 * It serves where that does no harm: tests compare our codecs with its own.
 *
 * Everything here runs on the event loop; callbacks come from there, or from
 * within the function that is called where its comment says so. Times are
 * microseconds of clock_now_us().
 */
#ifndef FOREFETCH_UPSTREAM_H
#define FOREFETCH_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nfsproto/nfs_proc.h"
#include "nfsproto/record.h"
#include "nfsproto/rpc_msg.h"

struct event_base;
struct metrics;
struct tcploss;
struct upstream;
struct upstream_call;

enum { UPSTREAM_CONNECTIONS_MAX = 16 };

/* The needs of an upstream; they are copied, and what they point to outlives
 * the upstream. */
struct upstream_params {
	struct event_base *base;
	struct rbuf_pool *pool;
	struct metrics *metrics;
	/* For log lines: the server's name, and "nfs" or "mount". Both outlive
	 * the upstream. */
	const char *name;
	const char *program;
	unsigned connections; /* 1 … UPSTREAM_CONNECTIONS_MAX */
	/* Whether to connect only when there is a call, and to close after a
	 * minute without one; else all connections are kept up. */
	bool lazy;
	/* The address does not answer, or is not known: the owner looks it up
	 * anew. */
	void (*on_unreachable)(void *ctx);
	/* Connection `conn` has `port` as its source port now. */
	void (*on_port)(void *ctx, unsigned conn, uint16_t port);
	/* The server is there, and the calls that wait in the queue are about
	 * to be sent: the last moment to drop some. May be NULL. */
	void (*on_back)(void *ctx);
	/* As xprt_ops.on_received, of any connection. May be NULL. */
	void (*on_received)(
	    void *ctx, size_t bytes, bool begun, uint64_t now_us);
	/* As xprt_ops.on_read, of any connection. May be NULL. */
	void (*on_read)(void *ctx);
	void *ctx;
};

/* Makes the upstream, which knows no address yet. NULL without memory. */
struct upstream *upstream_new(const struct upstream_params *p);
/* Closes all connections and forgets all calls, without a word to their owners.
 * NULL is allowed. */
void upstream_free(struct upstream *up);

/* Says where the server is, an AF_INET or AF_INET6 address with its port, and
 * connects. Existing connections to another address are given up, and their
 * calls are sent again. */
void upstream_set_address(struct upstream *up, const struct sockaddr *sa);
/* Sets the source port to try first for a connection, so that the server knows
 * calls again that a former daemon sent from there. */
void upstream_set_port(struct upstream *up, unsigned conn, uint16_t port);

/*
 * Says that the machine's network has changed, or that it `woke` up from sleep.
 * Connections that wait try again now; those whose way to the server leads over
 * another local address are made anew, and after waking up all of them are.
 */
void upstream_kick(struct upstream *up, bool woke);

/* The way in which a call went out, as far as it takes to repeat the call after
 * a restart. */
struct upstream_sent {
	uint32_t xid;    /* of a call that was sent, never 0 */
	uint32_t source; /* dial_source(); 0: it cannot be used again */
	uint16_t conn;
	uint64_t at_us;    /* when it was sent this time */
	uint64_t first_us; /* when it was sent first */
};

/* The end of a call, for on_reply(), and good for the length of that. */
struct upstream_result {
	/* The reply, from its XID on, and its header; NULL where the call was
	 * abandoned and its connection lost. */
	const struct record *rec;
	const struct rpc_reply *rpc;
	/*
	 * The call was repeated, and the server's reply cache may not have
	 * known it: an error may stem from its own first success.
	 */
	bool doubtful;
	bool resent; /* it was sent more than once */
	/* When it was first sent, or given up without that. */
	uint64_t sent_us;
	uint64_t latency_us; /* from then to its reply */
};

struct upstream_call_ops {
	/* The call goes out now, for the first time or again. It may be called
	 * from within upstream_send(), and must not end the call. */
	void (*on_send)(void *arg, const struct upstream_sent *sent);
	/* The call was sent and waits to be repeated, and that will be in doubt
	 * from now on: whatever keeps `sent` over a restart must say so. May be
	 * NULL. */
	void (*on_distrust)(void *arg, const struct upstream_sent *sent);
	/* The call is over and freed; called once. */
	void (*on_reply)(void *arg, const struct upstream_result *res);
	/*
	 * The call is about to be repeated, and the server's reply cache may
	 * not know it. True: the owner keeps it, until upstream_resume() or
	 * upstream_release(). False: it is repeated now. May be NULL.
	 */
	bool (*on_doubt)(void *arg);
};

struct upstream_request {
	const struct nfs_proc *proc;
	/* The caller keeps its bytes until the reply. */
	const struct rpc_cred *cred;
	struct xdr_view args; /* the arguments in XDR; likewise */
	/* The buffer that holds `args`, and is referenced; may be NULL. */
	struct rbuf *hold;
	/* How a former daemon sent it; NULL: none did. */
	const struct upstream_sent *former;
	bool alone; /* nobody may join it (fetch.h) */
	/* The call is sent behind this one, over its connection, for as long as
	 * that is up; NULL: as it comes. */
	const struct upstream_call *behind;
};

/* Sends a call as soon as possible; `ops` hear of it, with `arg`: on_send() and
 * on_doubt() perhaps before this returns, on_reply() never, since fetch.c would
 * have freed what it goes on with. NULL where there is no memory: then they
 * hear nothing. */
struct upstream_call *upstream_send(struct upstream *up,
    const struct upstream_request *req, const struct upstream_call_ops *ops,
    void *arg);
/* Whether the call has ever been handed to the network. */
bool upstream_call_sent(const struct upstream_call *call);
/* Whether it is on its way: it was sent, or stands behind others that are, over
 * a connection that is up, and the server has not been silent for two seconds
 * since; with 0 as the time, however silent it is. False for NULL. */
bool upstream_call_is_moving(const struct upstream_call *call, uint64_t now_us);
/* Returns for how many microseconds it has waited for a connection, to be sent
 * or sent again; 0: it does not wait, or only behind other calls. Where a
 * connection was silent, that counts from the call's last sending on. */
uint64_t upstream_call_waited_us(
    const struct upstream_call *call, uint64_t now_us);
/* Forgets a call that was not sent, or that changes nothing (its reply counts
 * as one that nothing waits for). False where it must run its course: a change,
 * and a WRITE, too, since what the caches know of the file ends with it. */
bool upstream_drop(struct upstream_call *call);

/*
 * Says that a call that was sent will not be repeated any more, so what its
 * request points to may go. Its owner is told the reply all the same, or that
 * there will be none, perhaps before this returns.
 */
void upstream_abandon(struct upstream_call *call);

/* Each ends what on_doubt() began. Resume repeats the call all the same; where
 * that cannot be done now, on_doubt() will be called again. Release forgets the
 * call, without a word to its owner. */
void upstream_resume(struct upstream_call *call);
void upstream_release(struct upstream_call *call);

/* The state of a connection, or the best one of an upstream's. */
enum upstream_state {
	UPSTREAM_NO_ADDRESS,
	UPSTREAM_DOWN, /* waiting before the next try */
	UPSTREAM_CONNECTING,
	UPSTREAM_UP,
	UPSTREAM_IDLE, /* lazy, and nothing to do */
};

struct upstream_conn_status {
	enum upstream_state state;
	uint16_t local_port;
	uint64_t srtt_us; /* the kernel's (TCP_INFO); 0 where not up */
	unsigned in_flight;
	unsigned waiting; /* to be repeated over this connection */
};

/* Whether the server has the program, by its last answer. */
enum upstream_served {
	UPSTREAM_SERVED_UNKNOWN,
	UPSTREAM_SERVED,
	UPSTREAM_UNSERVED,
};

/* The state of an upstream, for people, and for those who decide whether it can
 * be used. */
struct upstream_status {
	enum upstream_state state; /* the best of the connections' */
	/* Since when it is up, or idle, or neither: the tries to connect in
	 * between do not count. */
	uint64_t since_us;
	const char *last_error; /* "" where there was none */
	/* The last try to connect failed. */
	bool failed;
	enum upstream_served served;
	/* The least version that the server offers, where it is unserved; 0:
	 * it did not say. */
	uint32_t least;
	unsigned connections;
	unsigned queued; /* calls that wait for a connection */
};

/* Returns how many bytes have come of replies that are not whole yet. */
uint64_t upstream_partial_bytes(const struct upstream *up);
/* When bytes last came over a connection that is up; 0: none is. */
uint64_t upstream_last_rx_us(const struct upstream *up);
/* Whether bytes wait to go out, and the peer acknowledges some now: then they
 * take their time, but the other end is there. */
bool upstream_is_sending(const struct upstream *up);
/* Both fill in the state as it is now; `last_error` is good as long as the
 * upstream. */
void upstream_get_status(const struct upstream *up, struct upstream_status *st);
/* Sums up the segments that were lost, over all connections that there ever
 * were. */
void upstream_get_loss(const struct upstream *up, struct tcploss *loss);
/* Fills in the state of connection `conn`, counted from 0. */
void upstream_get_conn_status(
    const struct upstream *up, unsigned conn, struct upstream_conn_status *st);

#endif
