/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: what `forefetch` asks the daemon, and who may ask.
 *
 * This folder answers requests (control.proto). It finds a server by
 * control_ops, which the daemon implements, and asks the server's modules
 * itself: prefetch, warm, hint, explain and the caches. It may not use svc,
 * upstream or daemon. `forefetch` itself is in ctl/, and uses of this folder
 * only the messages (protocol.h, control.pb-c.h).
 *
 *	socket ──▶ control ──▶ control_reply ──▶ control_ops: which server
 *	                                     └─▶ its modules
 */
#ifndef FOREFETCH_CONTROL_H
#define FOREFETCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/arena.h"
#include "control/control.pb-c.h"
#include "control/protocol.h"

struct caches;
struct compact;
struct config_farm;
struct event_base;
struct farm;
struct hint_stream;
struct hints;
struct balance;
struct history;
struct hold_status;
struct iopool_job;
struct metrics;
struct pins;
struct prefetch;
struct tracer;
struct tracer_trace;
struct warm;
struct warm_walk;

/* A UNIX stream socket on the daemon's event loop, with the messages of
 * protocol.h. Clients are bounded in number, in what they may send, in what is
 * queued for them and in how often they are served. All functions are called on
 * the loop's thread. */
struct control;
struct control_work;

/* How many connections there are in all; how many of these are kept for root
 * and the daemon's user; and how many any other uid may have (places.h). */
#define CONTROL_CLIENTS_MAX   64
#define CONTROL_CLIENTS_KEPT  8
#define CONTROL_UID_MAX       16
/* Seconds: a client is closed if half a message, an unread response, or a file
 * that is carried in parts does not go on for so long. */
#define CONTROL_STALL_S       10
/* Seconds: a client is disconnected if it asks nothing for so long, and has
 * begun nothing. */
#define CONTROL_IDLE_S        60
/* How many commands that take many turns may be under way, as above: in all,
 * kept for owners, and of one uid. */
#define CONTROL_WORKS_MAX     6
#define CONTROL_WORKS_KEPT    2
#define CONTROL_WORKS_UID_MAX 1
/* How many clients may carry a file in parts; each may have some MiB in
 * memory. */
#define CONTROL_BLOBS_MAX     10
#define CONTROL_BLOBS_KEPT    2
#define CONTROL_BLOBS_UID_MAX 2
/* Clients of a server that a status lists; the others are counted. */
#define CONTROL_LIST_MAX      2048

/* Who is at the other end, as the kernel says (SO_PEERCRED and SO_PEERGROUPS,
 * unix(7) and socket(7)): as of the time when it connected. Whoever passes its
 * descriptor on passes its rights on, too. */
struct control_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	/* Supplementary groups, allocated; NULL: none are known. */
	gid_t *groups;
	size_t groups_len;
};

/* Work that a client has begun, and that ends with its connection. All of it
 * belongs to the session, and is ended by client_free(). Zeros at first. */
struct control_session {
	/* The walk of `forefetch warm`; NULL: none. */
	struct warm_walk *walk;
	/* A file that is carried in parts, allocated; `blob_len` bytes. */
	void *blob;
	size_t blob_len;
	/* The long work that its present request has begun; NULL: none. */
	struct control_work *work;
	/* The long work ended since the servers changed, and the request that
	 * is being answered begins anew. */
	bool restarted;
	/* Whether work or a blob may begin now, or others have too many. */
	bool may_work, may_carry;
	struct tracer_trace *trace; /* NULL: none */
	struct hint_stream *hints;  /* NULL: none */
	/* The names of the servers that these are of: the pointers that
	 * control_ops gave, by which control_end_server() knows them. */
	const char *walk_of, *trace_of, *hints_of;
};

/* Where a mount of the proxy has a file (control.proto, Place). */
struct control_place {
	const char *listen;
	const char *export;
	const char *path;
};

/* One [server] section at work. Its contents are the daemon's, and stay valid
 * until control returns to the loop. */
struct control_server {
	const char *name;
	/* A number that no other server has had since the daemon started. One
	 * that is removed and added again gets another, though its name and its
	 * place in memory may be the same. */
	uint64_t serial;
	/* Gauges in it are as they are now. */
	const struct metrics *metrics;
	struct caches *caches;
	struct compact *compact;
	struct hints *hints;
	struct history *history;
	struct balance *balance;
	struct pins *pins;
	struct prefetch *prefetch;
	struct tracer *tracer;
	struct warm *warm;
};

/*
 * Questions of control to the daemon: to find a server. It then asks the
 * server's modules itself. Called on the loop; must not block. Control itself
 * decides whether the peer may do something.
 */
struct control_ops {
	/* Fills in the status of the daemon and of all servers, in their order.
	 * Everything that is put into `out` is from the arena, or outlives the
	 * call. */
	void (*fill_status)(void *ctx, struct arena *a, Forefetch__Status *out);
	/* Fill in the daemon's part alone, and the status of the i-th
	 * server. */
	void (*fill_daemon)(void *ctx, struct arena *a, Forefetch__Status *out);
	void (*fill_server)(
	    void *ctx, size_t i, struct arena *a, Forefetch__ServerStatus *out);
	/* The i-th server of the configuration; false: there are no more. */
	bool (*server)(void *ctx, size_t i, struct control_server *out);
	/* The server that is mounted from that address; false: none is. */
	bool (*server_at)(void *ctx, const struct control_place *at,
	    struct control_server *out);
	/* Empties the caches of the i-th server: 0, or -ENOMEM. */
	int (*flush)(void *ctx, size_t i);
	/* Has the configuration read again, and tells in `out` what came of
	 * that, once it is over; false until then: it is to be called again, in
	 * another turn. `*ticket` is 0 at first, and is the reload's own. */
	bool (*reload)(void *ctx, uint64_t *ticket, struct arena *a,
	    Forefetch__Reloaded *out);
	/* Fills in what clients of the i-th server wait for, and who waited:
	 * calls and jobs of `uid`, or with 0 of all, and how many others there
	 * are. */
	void (*fill_activity)(void *ctx, size_t i, uint32_t uid,
	    struct arena *a, Forefetch__ServerActivity *out);
	/* Calls ahead are paused until `until_us` (hold_pause()), of all
	 * servers, and of those that come. */
	void (*pause)(void *ctx, uint64_t until_us);
	/* The farm; NULL: there is none. */
	struct farm *(*farm)(void *ctx);
	/* Has a job done by a thread (iopool.h), whose `done` is called on the
	 * loop. */
	void (*submit)(void *ctx, struct iopool_job *job);
};

/*
 * Listen at `path`. A missing parent directory is made (0755); the socket
 * file of a dead daemon is replaced, that of a living one is not. NULL, a
 * sentence in `err` and errno set (EADDRINUSE: another daemon is there) on
 * failure. `ops` must outlive the control.
 *
 * Where there are as many clients as may be, the user who has most of them
 * gives one up to somebody who has less.
 *
 * At most one request is served, and one client accepted, in 5 ms, so that
 * nobody who asks for numbers can hold up files; what takes longer than about a
 * millisecond is done in parts, a millisecond apart, the clients in turns. They
 * go at priority 0, so that a busy daemon answers too. SIGPIPE must be ignored
 * in the process.
 */
struct control *control_new(struct event_base *base, const char *path,
    const struct control_ops *ops, void *ctx, char *err, size_t errlen);

/* The message for what holds calls ahead back, in the arena; NULL without
 * memory. */
Forefetch__HoldStatus *control_hold_status(
    struct arena *a, const struct hold_status *st);
/* The message for a farm, and for one that could not be begun, with the reason;
 * in the arena, NULL without memory. The daemon uses these for its own
 * status. */
Forefetch__FarmStatus *control_farm_status(struct arena *a, struct farm *farm);
Forefetch__FarmStatus *control_farm_off(
    struct arena *a, const struct config_farm *config, const char *error);

/* Closes the clients that have a walk, a trace or hints with this server, which
 * is about to go. To be called before what these belong to is freed. `name` is
 * the very pointer that control_ops gave. */
void control_end_server(struct control *c, const char *name);
/* To be called whenever control_ops gives other servers than before, or in
 * another order; and before what is of one that has gone is freed. Work that
 * goes over servers in many turns begins anew. */
void control_servers_changed(struct control *c);

/* Closes all clients and removes the socket file. NULL is allowed. */
void control_free(struct control *c);

#endif
