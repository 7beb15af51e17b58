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

struct server {
	struct server_params p;
	char *name;            /* outlives reloads */
	struct iopool *iopool; /* for its own jobs, which it waits for */
	struct metrics *metrics;
	struct upstream *up[RESOLVE_COUNT];
	struct resolve *resolve;
	struct fetch *fetch;
	struct drc *drc;
	struct drc *write_drc;
	struct cachehome *home;
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
	uint64_t calls; /* of clients, at the last sweep */
	struct svc *svc;
	struct clients *clients; /* made last, since they may call at once */
	struct event *ev_sweep;
	struct event *ev_bury;                     /* what was flushed */
	struct netmatch_addr found[RESOLVE_COUNT]; /* len 0: not known */
	struct netpath path;   /* the one that `estimate` is of */
	uint64_t offline_us;   /* since when it serves alone */
	bool registered;       /* with the local rpcbind */
	unsigned unregistered; /* programs that this refused */
	struct server_registering *registering; /* under way */
	struct iopool_job cleaning;             /* of what nobody needs */
	enum server_leaving {
		SERVER_STAYS,
		SERVER_DRAINS,
		SERVER_SETTLES,
		SERVER_SAVES,
		SERVER_WAITS,
		SERVER_CLEANS,
		SERVER_EMPTIES,
	} leaving;
	uint64_t leaving_us; /* since when */
	uint64_t tick_us;    /* of cachehome, while leaving */
};

/* server.c: every second; what was flushed is freed. Callbacks of events. */
void server_on_sweep(evutil_socket_t fd, short what, void *arg);
void server_on_bury(evutil_socket_t fd, short what, void *arg);
/* Calls of clients until now, however they were answered. */
uint64_t server_client_calls(const struct server *s);
/* Whether the link counts as metered: what the configuration says goes before
 * what NetworkManager says. */
void server_use_metered(struct server *s);

/* server_open.c: where the replies to changes are kept. */
void server_drc_path(const struct server *s, char *path, size_t size);

/* server_leave.c: free what has to do with clients; what fetches ahead. */
void server_stop_serving(struct server *s);
void server_free_ahead(struct server *s);

/* server_upstream.c: connections to the server, once it is found; false
 * without memory. */
bool server_open_upstreams(struct server *s);
/* Begins to look for it, with what a former daemon found. */
void server_resolve(struct server *s);

#endif
