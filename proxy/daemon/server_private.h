/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to server*.c: what a server is made of. */
#ifndef FOREFETCH_SERVER_PRIVATE_H
#define FOREFETCH_SERVER_PRIVATE_H

#include <event2/util.h>

#include "base/iopool.h"
#include "base/netmatch.h"
#include "daemon/server.h"
#include "upstream/netpath.h"
#include "upstream/resolve.h"
#include "upstream/upstream.h"

/* A server. All members are pointers to what it owns, unless they say
 * otherwise; those that are NULL are not made yet, or are gone already, as both
 * happen in parts (server_open.c, server_leave.c). */
struct server {
	struct server_params p;
	char *name;            /* outlives reloads */
	struct iopool *iopool; /* for its own jobs, which it waits for */
	struct metrics *metrics;
	/* Connections to the server's NFS and MOUNT. */
	struct upstream *up[RESOLVE_COUNT];
	struct resolve *resolve;
	struct fetch *fetch;
	/* Replies to changes, and to WRITEs. */
	struct drc *drc;
	struct drc *write_drc;
	struct cachehome *home;
	/* Estimates the link; `linkkeep` keeps that over a restart, and `link`
	 * says when the server is away. */
	struct linkest *estimate;
	struct linkkeep *linkkeep;
	struct linkwatch *link;
	struct farm_server *farm; /* NULL: none */
	struct prefetch *prefetch;
	struct tracer *tracer;
	struct warm *warm;
	struct pins *pins;
	struct compact *compact;
	struct hints *hints;
	struct history *history;
	struct balance *balance;
	/* Calls of clients at the last sweep. */
	uint64_t calls;
	struct svc *svc;
	struct clients *clients; /* made last, since they may call at once */
	struct event *ev_sweep;
	/* Frees what was flushed, a part at a time. */
	struct event *ev_bury;
	/* Where the two programs are; len 0: not known. */
	struct netmatch_addr found[RESOLVE_COUNT];
	/* The route that `estimate` is of. */
	struct netpath path;
	/* When it began to serve what is cached, unconfirmed. */
	uint64_t offline_us;
	bool registered; /* with the local rpcbind */
	/* Programs that the local rpcbind has refused. */
	unsigned unregistered;
	/* A registration under way; NULL: none. */
	struct server_registering *registering;
	/* Removes the files of a server that nobody needs. */
	struct iopool_job cleaning;
	enum server_leaving {
		SERVER_STAYS,
		SERVER_DRAINS,
		SERVER_SETTLES,
		SERVER_SAVES,
		SERVER_WAITS,
		SERVER_CLEANS,
		SERVER_EMPTIES,
	} leaving;
	/* When the present step of leaving began. */
	uint64_t leaving_us;
	/* When the disk was looked at last, while leaving. */
	uint64_t tick_us;
};

/* Callbacks of events (server.c): every second, and when what was flushed is to
 * be freed. */
void server_on_sweep(evutil_socket_t fd, short what, void *arg);
void server_on_bury(evutil_socket_t fd, short what, void *arg);
/* Calls of clients until now, however they were answered. */
uint64_t server_client_calls(const struct server *s);
/* Whether the link counts as metered: what the configuration says goes before
 * what NetworkManager says. */
void server_use_metered(struct server *s);

/* server_open.c: where the replies to changes are kept. */
void server_drc_path(const struct server *s, char *path, size_t size);

/* Frees what has to do with clients, and what fetches ahead
 * (server_leave.c). */
void server_stop_serving(struct server *s);
void server_free_ahead(struct server *s);

/* server_upstream.c: connections to the server, once it is found; false
 * without memory. */
bool server_open_upstreams(struct server *s);
/* Begins to look for the server, with the addresses that a former daemon
 * found. */
void server_resolve(struct server *s);

#endif
