/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch status: a line for each server, then the daemon, then each server
 * in detail. It shows what a status message has; whether that is in order is
 * judged in check.c alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/check.h"
#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* The escape sequence of a state's colour, as that of a finding of doctor: red
 * where programs wait or get old data, yellow where a connection is on its way.
 * Empty where stdout has no colours. */
static const char *colour_of(const Forefetch__ServerStatus *srv)
{
	if (!ctl_colour(stdout))
		return "";
	if (srv->offline_active || srv->state == FOREFETCH__STATE__DOWN)
		return "\033[31m";
	return srv->state == FOREFETCH__STATE__UP ||
		       srv->state == FOREFETCH__STATE__IDLE
		   ? "\033[32m"
		   : "\033[33m";
}

/* Prints "nas: up, round trip 40.2 ms, 2 connections, 3 calls in flight". */
static void put_summary(const Forefetch__ServerStatus *srv)
{
	uint64_t up = 0, in_flight = 0, queued = 0;

	for (size_t i = 0; i < srv->n_upstreams; i++) {
		up += srv->upstreams[i]->state == FOREFETCH__STATE__UP;
		in_flight += srv->upstreams[i]->in_flight;
		queued += srv->upstreams[i]->queued;
	}
	ctl_put(stdout, srv, "{name}: ");
	fputs(colour_of(srv), stdout);
	ctl_put(stdout, srv, "{state}");
	fputs(ctl_colour(stdout) ? "\033[0m" : "", stdout);
	if (srv->state != FOREFETCH__STATE__UP)
		ctl_put(stdout, srv,
		    srv->reason.len > 0 ? " for {state_age_us:A} ({reason})"
					: " for {state_age_us:A}");
	else if (srv->srtt_us > 0)
		ctl_put(stdout, srv, ", round trip {srtt_us:T}");
	if (srv->offline_active)
		fputs(", serving what is cached", stdout);
	if (srv->hold && srv->hold->paused)
		fputs(", paused", stdout);
	printf(", %" PRIu64 " connection%s, %" PRIu64 " call%s in flight", up,
	    up == 1 ? "" : "s", in_flight, in_flight == 1 ? "" : "s");
	if (queued > 0)
		printf(", %" PRIu64 " waiting", queued);
	putchar('\n');
}

/* ---- with -v ---------------------------------------------------------- */

/* The proxy may have several connections to a server, each with calls of its
 * own. */
static void put_upstreams(const Forefetch__ServerStatus *srv)
{
	struct ctl_table *t =
	    ctl_table_new(">local port,state,>round trip,>in flight,>waiting");

	for (size_t i = 0; i < srv->n_upstreams; i++) {
		ctl_table_row(t);
		ctl_table_put(t, srv->upstreams[i],
		    "{local_port:-N}|{state}|{srtt_us:-U}|{in_flight}|"
		    "{queued}");
	}
	if (srv->n_upstreams > 0)
		puts("\nconnections to the server");
	ctl_table_print(t);
}

/* The daemon lists up to CONTROL_LIST_MAX connections of clients, or none if
 * the answer would be too long, and says how many it left out. */
static void put_clients(const Forefetch__ServerStatus *srv)
{
	struct ctl_table *t =
	    ctl_table_new(">in flight,>held,>in,>out,>since,address");

	for (size_t i = 0; i < srv->n_clients; i++) {
		ctl_table_row(t);
		ctl_table_put(t, srv->clients[i],
		    "{in_flight}|{bytes_in_flight:B}|{bytes_in:B}|"
		    "{bytes_out:B}|{age_us:A}|{address}");
	}
	if (srv->n_clients > 0)
		puts("\nconnections of clients");
	ctl_table_print(t);
	if (srv->clients_omitted > 0)
		printf("and %" PRIu64 " more\n", srv->clients_omitted);
}

/* ---- one server ------------------------------------------------------- */

/* Prints "bounded, attr_timeout 3.00 s, permissions are remembered for
 * 1 h 0 min".
 * `message` is a ServerStatus or an ExportStatus, which have the same names for
 * it. */
static void put_mode(const void *message, const char *mode)
{
	ctl_put(stdout, message,
	    strcmp(mode, "bounded") == 0
		? "{consistency}, attr_timeout {attr_timeout_us:T}, "
		  "permissions are remembered for {grant_timeout_us:T}"
	    : strcmp(mode, "frozen") == 0
		? "{consistency}, permissions are remembered for "
		  "{grant_timeout_us:T}"
		: "{consistency}");
}

/* The mode of the server, and those of its [export] sections. A section applies
 * to a file system of the server, which the proxy learns when somebody mounts
 * it; until then answers are strict, since they might be about that one. */
static void put_consistency(const Forefetch__ServerStatus *srv)
{
	fputs("  consistency  ", stdout);
	put_mode(srv, srv->consistency);
	putchar('\n');
	for (size_t i = 0; i < srv->n_overrides; i++) {
		const Forefetch__ExportStatus *ex = srv->overrides[i];

		ctl_put(stdout, ex,
		    i == 0 ? "  overrides    {export_path}: "
			   : "               {export_path}: ");
		put_mode(ex, ex->consistency);
		ctl_put(stdout, ex,
		    ex->overruled_by.len > 0
			? "; but {overruled_by} is on the same file system; "
			  "that one is stricter, and applies\n"
		    : ex->known ? "\n"
				: "; its file system is not known yet\n");
	}
	if (srv->strict_until_known)
		puts("               everything else is strict until all "
		     "overrides are known");
}

/* The end of a line about the oldest answer since the server is away. What was
 * loaded from disk has no known age, so it counts as older than the daemon
 * itself. */
static const char *served(
    const Forefetch__ServerStatus *srv, uint64_t uptime_us)
{
	if (srv->served_age_us == 0)
		return "; no call came yet\n";
	if (srv->served_age_us > uptime_us)
		return "; the oldest answer was from before the daemon "
		       "started\n";
	return "; the oldest answer was {served_age_us:T} old\n";
}

/* Shows the policy for a server that is away; and while it is, for how long,
 * and how old the answers were. */
static void put_offline(const Forefetch__ServerStatus *srv, uint64_t uptime_us)
{
	ctl_put(stdout, srv,
	    strcmp(srv->offline, "serve") == 0
		? "  offline      {offline}, permissions are remembered for "
		  "{grant_timeout_us:T}\n"
		: "  offline      {offline}\n");
	if (!srv->offline_active)
		return;
	ctl_put(stdout, srv,
	    "               away: answering from the cache for "
	    "{offline_age_us:A}");
	ctl_put(stdout, srv, served(srv, uptime_us));
}

/* A disk cache that is off is written in capitals with its reason: everything
 * works without it, only slowly after a restart. */
static void put_caches(const Forefetch__CacheStatus *caches)
{
	if (!caches)
		return;
	ctl_put(stdout, caches,
	    "  caches       memory {memory_bytes:B} of "
	    "{memory_limit_bytes:B}, ");
	ctl_put(stdout, caches,
	    caches->disk_on ? "disk {disk_bytes:B} of {disk_limit_bytes:B}\n"
			    : "disk OFF for {disk_problem_age_us:A}\n"
			      "               {disk_problem}\n");
}

/* The link's numbers are estimates of the daemon's (link/linkest.h), which it
 * bounds calls ahead by; 0 is not known yet. */
static void put_prefetch(const Forefetch__ServerStatus *srv)
{
	ctl_put(stdout, srv, "  prefetch     {prefetch}\n");
	if (!srv->link || srv->link->base_us == 0)
		return;
	ctl_put(stdout, srv->link,
	    srv->link->rate_bytes_per_second
		? "  link         {rate_bytes_per_second:R}, "
		: "  link         ");
	ctl_put(stdout, srv->link,
	    "round trip {base_us:T} when idle, {queue_us:T} in queues\n");
}

/* Why calls ahead are held back, if they are: a pause of a user, or a metered
 * link. */
static void put_hold(const Forefetch__HoldStatus *hold)
{
	if (hold && hold->paused)
		ctl_put(stdout, hold,
		    hold->pause_left_us > 0
			? "  paused       for {pause_left_us:A}; forefetch "
			  "resume ends it\n"
			: "  paused       until forefetch resume\n");
	if (!hold || !hold->metered)
		return;
	ctl_put(stdout, hold,
	    "  metered      {metered_bytes:B} of {metered_limit_bytes:B} of "
	    "this hour used for fetching ahead");
	ctl_put(stdout, hold,
	    hold->hour_left_us > 0 ? "; it ends in {hour_left_us:A}\n" : "\n");
}

/* A line with a list of texts; nothing where it is empty. */
static void put_list(
    const char *name, const ProtobufCBinaryData *list, size_t n)
{
	if (n == 0)
		return;
	printf("  %-12s", name);
	for (size_t i = 0; i < n; i++) {
		putchar(' ');
		ctl_put_bytes(stdout, list[i].data, list[i].len);
	}
	putchar('\n');
}

/* The farm's part in what this server's clients got. */
static void put_farm(const Forefetch__FarmServed *farm)
{
	if (farm)
		ctl_put(stdout, farm,
		    "  farm         {bytes:B} came from it, not over the link: "
		    "{pieces} piece{pieces:S} of files, {listings} "
		    "listing{listings:S}\n");
}

/* Puts what is not in order, as far as the server knows why. */
static void put_problems(const Forefetch__ServerStatus *srv)
{
	if (srv->reason.len > 0)
		ctl_put(stdout, srv, "  because      {reason}\n");
	else if (srv->last_error.len > 0)
		ctl_put(stdout, srv, "  last error   {last_error}\n");
	if (srv->mount && srv->mount->reason.len > 0)
		ctl_put(stdout, srv, "  new mounts   {mount.reason}\n");
	if (srv->rpcbind_error.len > 0)
		ctl_put(stdout, srv, "  rpcbind      {rpcbind_error}\n");
}

/* Details of one server. The clients of all servers share one limit of memory,
 * which is therefore the daemon's. */
static void put_server(const Forefetch__ServerStatus *srv,
    const Forefetch__Status *st, bool verbose)
{
	ctl_put(stdout, srv,
	    srv->resolved.len > 0
		? "\n{name}\n  address      {address} ({resolved})\n"
		: "\n{name}\n  address      {address}\n");
	ctl_put(stdout, srv, "  state        {state} for {state_age_us:A}\n");
	put_problems(srv);
	put_consistency(srv);
	put_offline(srv, st->uptime_us);
	put_caches(srv->caches);
	put_prefetch(srv);
	put_hold(srv->hold);
	put_farm(srv->farm);
	put_list("listen", srv->listen, srv->n_listen);
	put_list("exports", srv->exports, srv->n_exports);
	printf(
	    "  clients      %" PRIu64, srv->n_clients + srv->clients_omitted);
	ctl_put(stdout, srv, "; their calls use {clients_bytes:B} ");
	ctl_put(
	    stdout, st, "(at most {clients_limit_bytes:B} for all servers)\n");
	if (verbose) {
		put_upstreams(srv);
		put_clients(srv);
	}
}

/* Prints "farm 3kQ_9x: up, 210 us", or why it is not up. */
static void put_engine(const Forefetch__FarmStatus *farm)
{
	if (!farm)
		return;
	ctl_put(
	    stdout, farm, *farm->id ? "farm {id}: {state}" : "farm: {state}");
	if (farm->srtt_us > 0 &&
	    farm->state == FOREFETCH__FARM_STATUS__STATE__UP)
		ctl_put(stdout, farm, ", {srtt_us:T}");
	if (farm->error.len > 0)
		ctl_put(stdout, farm, ": {error}");
	putchar('\n');
}

/* A daemon without any server runs on purpose: `forefetch mount` adds one
 * later. */
static void put_text(const Forefetch__Status *st, bool verbose)
{
	for (size_t i = 0; i < st->n_servers; i++)
		put_summary(st->servers[i]);
	if (st->n_servers == 0)
		puts("no server is configured; forefetch mount SERVER:/PATH "
		     "DIRECTORY adds one");
	ctl_put(stdout, st,
	    "\nforefetchd {version}, pid {pid}, running for {uptime_us:A}, "
	    "{config_file}\n");
	if (st->reload_error.len > 0)
		ctl_put(stdout, st,
		    "last reload failed {reload_age_us:A} ago: "
		    "{reload_error}\n");
	if (st->reload_restart.len > 0)
		ctl_put(
		    stdout, st, "a restart is needed for {reload_restart}\n");
	put_engine(st->farm);
	for (size_t i = 0; i < st->n_servers; i++)
		put_server(st->servers[i], st, verbose);
}

/* --check goes before --json, which only chooses its form. */
static int status_run(const struct ctl_options *opt)
{
	Forefetch__Response *res = ctl_status(opt->socket, opt->server);
	int code = EXIT_SUCCESS;

	if (!res && opt->check && !opt->json)
		check_away(errno);
	if (!res)
		return EXIT_FAILURE;
	if (opt->check)
		code = check_print(res->status, opt->json);
	else if (opt->json)
		json_print(res->status);
	else
		put_text(res->status, opt->verbose);
	ctl_free(res);
	return code;
}

const struct ctl_command status_command = {
    .name = "status",
    .usage = "[-v] [--check] [--json] [--watch SECONDS] [SERVER]",
    .summary = "show the state of the daemon and its servers",
    .help = "Shows for every server, or for SERVER alone, whether it is "
	    "up, the round trip\ntime, connections and calls in flight, "
	    "how consistent answers from the caches are,\nand how full "
	    "the caches are. With -v, it also lists every connection. "
	    "--check is for\nscripts: it prints a line for each problem "
	    "and exits with 1, or prints nothing and\nexits with 0; of a farm "
	    "that is not up it only warns.\n",
    .options = "watch check verbose server json",
    .run = status_run,
};
