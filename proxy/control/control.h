/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CONTROL_H
#define FOREFETCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/protocol.h"

struct event_base;
struct explain;
struct hint_stream;
struct iopool_job;
struct metrics;
struct objnames;
struct pins;
struct predictor;
struct tracer;
struct tracer_trace;
struct warm_progress;
struct warm_walk;

/*
 * The control socket: a UNIX stream socket on the daemon's event loop, with
 * the messages of protocol.h. Clients are bounded in number, in what they may
 * send, in what is queued for them and in how often they are served.
 */
struct control;
struct control_work;

#define CONTROL_CLIENTS_MAX   64
#define CONTROL_UID_MAX       16 /* clients of one uid, root and own exempt */
/* Half a message, an unread reply, or what is carried in parts. */
#define CONTROL_STALL_S       10
/* Commands that take many turns, at a time: of one uid but root, of all. */
#define CONTROL_WORKS_UID_MAX 1
#define CONTROL_WORKS_MAX     4
/* Clients that carry something in parts, likewise; root exempt. */
#define CONTROL_BLOBS_UID_MAX 2
#define CONTROL_BLOBS_MAX     8
#define CONTROL_LIST_MAX      2048 /* clients of a server listed in status */

/* Who is at the other end, as the kernel says (SO_PEERCRED, _PEERGROUPS). */
struct control_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t groups_len;
};

/*
 * Status, filled by the daemon for one reply and freed by control. It starts
 * out as zeros. Strings are set with control_set, arrays grow with the _add
 * functions; an unset string is sent as empty.
 *
 * The pointer that an _add function returns is zeroed, and valid until the
 * next _add on the same array. It is NULL when memory is short or the array
 * is full; what could not be added is counted as omitted, and the caller may
 * go on or stop.
 */
enum control_state {
	CONTROL_DOWN,
	CONTROL_RESOLVING,
	CONTROL_CONNECTING,
	CONTROL_UP,
	CONTROL_IDLE, /* connected to when it is wanted */
};

/* One connection to the server. */
struct control_upstream {
	enum control_state state;
	uint16_t local_port; /* 0 if it has none */
	uint64_t srtt_us;    /* 0 if unknown */
	uint32_t in_flight;  /* calls sent and not answered */
	uint32_t queued;     /* calls not sent yet */
};

/* One connection of a client. */
struct control_conn {
	char *address;      /* "127.0.0.1:812", "[::1]:812" */
	uint64_t age_ms;    /* since it was accepted */
	uint32_t in_flight; /* calls not answered */
	uint64_t bytes_in_flight;
	uint64_t bytes_in;
	uint64_t bytes_out;
};

/* An [export] section. */
struct control_override {
	char *path;
	const char *consistency; /* as below; static */
	uint64_t attr_timeout_us;
	uint64_t negative_timeout_us;
	uint64_t grant_timeout_us;
	bool known; /* which file system it is */
};

/* How full the caches are, and may be. */
struct control_caches {
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes;
	uint64_t disk_bytes;
	uint64_t disk_limit_bytes;
	bool disk_on; /* false: see disk_problem */
	uint64_t disk_problem_age_ms;
};

struct control_server {
	char *name;
	char *address;  /* as configured */
	char *resolved; /* address and port in use, empty if none */
	enum control_state state;
	uint64_t state_age_ms; /* since it is so */
	char *last_error;      /* empty if there was none */
	char *reason;          /* why it is not in order; empty if it is */
	enum control_state mount_state;
	uint64_t mount_state_age_ms;
	char *mount_reason;     /* likewise */
	char *rpcbind_error;    /* of the local one; empty if there was none */
	uint64_t clients_bytes; /* that its clients' calls and replies hold */
	char *consistency;      /* "strict", "bounded", "frozen" */
	uint64_t srtt_us;       /* 0 if unknown */
	uint64_t attr_timeout_us;
	uint64_t negative_timeout_us;
	uint64_t grant_timeout_us;
	bool strict_until_known; /* some override's file system is not known */
	bool offline_serve;      /* as configured; else wait */
	bool offline_active;
	uint64_t offline_age_ms; /* since it is so */
	const char *prefetch;    /* as configured; static */
	uint64_t link_rate_Bps;  /* estimated; 0 if unknown, as below */
	uint64_t link_base_us;
	uint64_t link_queue_us;
	uint64_t served_age_us; /* of the oldest answer since then; 0: none */
	struct control_caches caches;
	char *disk_problem; /* why no data is kept on disk; empty: it is */

	/* Grown by the _add functions only. */
	struct control_override *overrides;
	size_t overrides_len;
	char **listens;
	size_t listens_len;
	char **exports;
	size_t exports_len;
	struct control_upstream *upstreams;
	size_t upstreams_len;
	struct control_conn *conns;
	size_t conns_len;
	size_t omitted; /* clients not listed */
};

struct control_status {
	char *version;
	char *config_file;
	pid_t pid;
	uint64_t uptime_ms;
	char *reload_error;     /* of the last reload; empty if it went well */
	uint64_t reload_age_ms; /* since the last; 0: there was none */
	uint64_t clients_bytes; /* that all clients hold, and may */
	uint64_t clients_limit_bytes;

	/* Grown by the _add function only. */
	struct control_server *servers;
	size_t servers_len;
};

/* Set a string of a status structure, as printf does. */
void control_set(char **field, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct control_server *control_status_add_server(struct control_status *st);
void control_server_add_listen(struct control_server *srv, const char *addr);
void control_server_add_export(struct control_server *srv, const char *path);
struct control_override *control_server_add_override(
    struct control_server *srv);
struct control_upstream *control_server_add_upstream(
    struct control_server *srv);
struct control_conn *control_server_add_conn(struct control_server *srv);
void control_status_clear(struct control_status *st);

/* What a client began; zeros at first. It ends with its connection. */
struct control_session {
	struct warm_walk *walk; /* NULL: none */
	void *blob;             /* that is carried in parts; allocated */
	size_t blob_len;
	/* What is done for the present request; NULL: nothing. */
	struct control_work *work;
	/* Whether work or a blob may begin now, by what others have. */
	bool may_work, may_carry;
	struct tracer_trace *trace; /* NULL: none */
	struct hint_stream *hints;  /* NULL: none */
};

/* Where a mount of the proxy has a file (control.proto, Place). */
struct control_place {
	const char *listen;
	const char *export;
	const char *path;
};

/*
 * What control asks of the daemon. Called on the loop; must not block.
 * each_server calls `cb` once for every server section, in the order of the
 * configuration, its gauges up to date; name and metrics stay valid until
 * control returns to the loop. flush empties the caches of one server: 0, or
 * -errno. compact has its data laid out (compact_begin()), or tells only
 * whether that is being done. Whether the peer may do that is control's
 * business.
 *
 * warm_begin walks a tree as the peer (warm.h); NULL and errno, ENOENT where
 * no server is mounted from there. Each walk is ended by warm_end. explain
 * returns 0 or such an error, negative. hint_begin begins a stream of hints as
 * the peer (hint.h), with errors likewise; the session ends it by hint_end().
 *
 * predictor is what a server's calls taught, trees_changed to be called when
 * that was edited; name_objects is objnames_step() for the peer. pins is what
 * is pinned of a server; pins_at finds the server, whose name goes to `server`,
 * and returns NULL where no server is mounted from there.
 */
struct control_ops {
	void (*fill_status)(void *ctx, struct control_status *out);
	void (*each_server)(void *ctx,
	    void (*cb)(void *arg, const char *name, const struct metrics *m),
	    void *arg);
	int (*flush)(void *ctx, const char *server);
	int (*compact)(void *ctx, const char *server, bool begin, bool *busy);
	struct warm_walk *(*warm_begin)(void *ctx,
	    const struct control_peer *peer, const struct control_place *at,
	    bool data);
	void (*warm_progress)(
	    void *ctx, const struct warm_walk *walk, struct warm_progress *out);
	void (*warm_end)(void *ctx, struct warm_walk *walk);
	struct hint_stream *(*hint_begin)(void *ctx,
	    const struct control_peer *peer, const struct control_place *at);
	struct tracer *(*tracer)(void *ctx, const char *server);
	struct pins *(*pins)(void *ctx, const char *server);
	struct pins *(*pins_at)(
	    void *ctx, const struct control_place *at, const char **server);
	struct predictor *(*predictor)(void *ctx, const char *server);
	void (*trees_changed)(void *ctx, const char *server);
	bool (*name_objects)(void *ctx, const char *server,
	    const struct control_peer *peer, struct objnames *names,
	    size_t steps);
	/* Have a job done by a thread (iopool.h). */
	void (*submit)(void *ctx, struct iopool_job *job);
	int (*explain)(void *ctx, const struct control_peer *peer,
	    const struct control_place *at, struct explain *out);
};

/*
 * Listen at `path`. A missing parent directory is made (0755); the socket
 * file of a dead daemon is replaced, that of a living one is not. NULL, a
 * sentence in `err` and errno set (EADDRINUSE: another daemon is there) on
 * failure. `ops` must outlive the control.
 *
 * At most one request is served, and one client accepted, in 5 ms, so that
 * nobody who asks for numbers can hold up files; what takes longer than about a
 * millisecond is done in parts, a millisecond apart, the clients in turns. They
 * go at priority 0, so that a busy daemon answers too. SIGPIPE must be ignored
 * in the process.
 */
struct control *control_new(struct event_base *base, const char *path,
    const struct control_ops *ops, void *ctx, char *err, size_t errlen);

/* Closes all clients and removes the socket file. NULL is allowed. */
void control_free(struct control *c);

#endif
