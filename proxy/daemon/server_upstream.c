/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way to the server: where its programs are, and the connections to them.
 * Addresses are kept on disk, so that a daemon that is started again need not
 * wait for a resolver.
 */
#include <string.h>

#include "base/clock.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "config/config.h"
#include "daemon/cachehome.h"
#include "daemon/clients.h"
#include "daemon/server_private.h"
#include "link/budget.h"
#include "link/linkest.h"
#include "prefetch/prefetch.h"
#include "svc/drc.h"
#include "upstream/dial.h"

/* The files in cache_dir/NAME in which addresses are kept. */
static const char *const addr_files[RESOLVE_COUNT] = {
    [RESOLVE_NFS] = "address-nfs",
    [RESOLVE_MOUNT] = "address-mount",
};

/*
 * Drops the estimates of the link when the route to the server changes. Where
 * there is no route, they stay, since the last one may come back.
 */
static void follow_path(struct server *s)
{
	const struct netmatch_addr *na = &s->found[RESOLVE_NFS];
	struct netpath was = s->path, now;

	if (na->len == 0)
		return;
	netpath_find((const struct sockaddr *)&na->addr, &now);
	if (now.ifindex == 0)
		return;
	s->path = now;
	if (was.ifindex != 0 && !netpath_same(&was, &now))
		linkest_forget(s->estimate);
}

/* Uses an address for a program from now on. */
static void set_address(
    struct server *s, enum resolve_what what, const struct netmatch_addr *na)
{
	s->found[what] = *na;
	if (what == RESOLVE_NFS)
		follow_path(s);
	upstream_set_address(s->up[what], (const struct sockaddr *)&na->addr);
}

/* The resolver has found where a program is. Only another address is written,
 * as most answers are the same. */
static void on_found(
    void *ctx, enum resolve_what what, const struct sockaddr *sa)
{
	struct server *s = ctx;
	struct netmatch_addr na = {0};
	struct upstream_status st;

	/* It was the other program that did not answer: a connection that
	 * works is worth more than the next of the host's addresses. */
	upstream_get_status(s->up[what], &st);
	if (st.state == UPSTREAM_UP)
		return;
	na.len = dial_addr_len(sa);
	memcpy(&na.addr, sa, na.len);
	if (na.len != s->found[what].len ||
	    memcmp(&na.addr, &s->found[what].addr, na.len) != 0)
		statedir_save_addr(s->p.state, s->name, addr_files[what], &na);
	set_address(s, what, &na);
}

/* No connection could be made: the host may have another address by now. */
static void on_unreachable(void *ctx)
{
	struct server *s = ctx;

	resolve_again(s->resolve);
}

/* The server answers again, after it did not: clients whose changes waited too
 * long are asked to send them again. */
static void on_nfs_back(void *ctx)
{
	struct server *s = ctx;

	if (s->clients)
		clients_ask_again(s->clients, clock_now_us());
}

/* A connection has a source port: it is kept, as the server's reply cache knows
 * the proxy by it, also after a restart. */
static void on_nfs_port(void *ctx, unsigned conn, uint16_t port)
{
	struct server *s = ctx;

	drc_set_port(s->drc, conn, port);
}

/* Bytes of replies have arrived, by which the link is measured. */
static void on_nfs_received(
    void *ctx, size_t bytes, bool begun, uint64_t now_us)
{
	const struct server *s = ctx;

	if (s->estimate)
		linkest_arrived(s->estimate, bytes, begun, now_us);
}

/* The replies that have come whole were taken. A call ahead may fit behind what
 * is left of the others. */
static void on_nfs_read(void *ctx)
{
	struct server *s = ctx;

	if (!s->estimate)
		return;
	linkest_set_part(
	    s->estimate, upstream_partial_bytes(s->up[RESOLVE_NFS]));
	if (s->prefetch && budget_take_room(prefetch_budget(s->prefetch)))
		prefetch_wake(s->prefetch, clock_now_us());
}

static void on_mount_port(void *ctx, unsigned conn, uint16_t port)
{
	(void)ctx;
	(void)conn;
	(void)port;
}

void server_network_changed(struct server *s, bool woke)
{
	struct upstream_status st;

	/* Before anything goes out that way. */
	follow_path(s);
	if (woke)
		linkest_forget(s->estimate);
	for (int i = 0; i < RESOLVE_COUNT; i++)
		upstream_kick(s->up[i], woke);
	/* The name may have another address here. A connection that the change
	 * did not touch shows that it has not. */
	upstream_get_status(s->up[RESOLVE_NFS], &st);
	if (st.state != UPSTREAM_UP)
		resolve_anew(s->resolve, clock_now_us());
}

/* Uses the addresses that a former daemon found, until the resolver knows
 * better. */
static void use_known_addresses(struct server *s)
{
	static const enum cachehome_file files[RESOLVE_COUNT] = {
	    [RESOLVE_NFS] = CACHEHOME_ADDRESS_NFS,
	    [RESOLVE_MOUNT] = CACHEHOME_ADDRESS_MOUNT};
	struct netmatch_addr na;

	for (int i = 0; i < RESOLVE_COUNT; i++) {
		const char *line =
		    statefile_first_line(cachehome_text(s->home, files[i]));

		if (line && !netmatch_addr_parse(line, &na))
			set_address(s, (enum resolve_what)i, &na);
	}
}

/* Connections to one program; to MOUNT one, which is made when it is needed. */
static struct upstream *new_upstream(struct server *s, enum resolve_what what)
{
	bool nfs = what == RESOLVE_NFS;
	struct upstream_params up = {.base = s->p.base,
	    .pool = s->p.pool,
	    .metrics = s->metrics,
	    .name = s->name,
	    .program = nfs ? "nfs" : "mount",
	    .connections = nfs ? s->p.config->connections : 1,
	    .lazy = !nfs,
	    .on_unreachable = on_unreachable,
	    .on_port = nfs ? on_nfs_port : on_mount_port,
	    .on_back = nfs ? on_nfs_back : NULL,
	    .on_received = nfs ? on_nfs_received : NULL,
	    .on_read = nfs ? on_nfs_read : NULL,
	    .ctx = s};

	return upstream_new(&up);
}

/* They have no address yet, so nothing is sent. */
bool server_open_upstreams(struct server *s)
{
	const struct config_server *cfg = s->p.config;
	struct resolve_params rp = {.base = s->p.base,
	    .pool = s->p.pool,
	    .name = s->name,
	    .host = cfg->address,
	    .ports = {cfg->nfs_port, cfg->mount_port},
	    .on_found = on_found,
	    .ctx = s};

	s->up[RESOLVE_NFS] = new_upstream(s, RESOLVE_NFS);
	s->up[RESOLVE_MOUNT] = new_upstream(s, RESOLVE_MOUNT);
	s->resolve = resolve_new(&rp);
	if (!s->up[RESOLVE_NFS] || !s->up[RESOLVE_MOUNT] || !s->resolve)
		return false;
	for (unsigned i = 0; i < cfg->connections; i++)
		upstream_set_port(s->up[RESOLVE_NFS], i, drc_port(s->drc, i));
	return true;
}

void server_resolve(struct server *s)
{
	use_known_addresses(s);
	resolve_start(s->resolve);
}
