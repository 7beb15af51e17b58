/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch status: the daemon, and each server. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_check.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"

static const char *state_name(Forefetch__State state)
{
	switch (state) {
	case FOREFETCH__STATE__DOWN:
		return "down";
	case FOREFETCH__STATE__RESOLVING:
		return "resolving";
	case FOREFETCH__STATE__CONNECTING:
		return "connecting";
	case FOREFETCH__STATE__UP:
		return "up";
	case FOREFETCH__STATE__IDLE:
		return "idle";
	default:
		return "unknown";
	}
}

static void put_bytes(const ProtobufCBinaryData *bytes)
{
	ctl_put_bytes(stdout, bytes->data, bytes->len);
}

static void put_count(uint64_t n, const char *what)
{
	printf(", %" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* "nas: up, 40.2 ms, 2 connections, 3 calls in flight" */
static void put_summary(const Forefetch__ServerStatus *srv)
{
	uint64_t up = 0, in_flight = 0, queued = 0;
	char buf[CTL_TEXT_MAX];
	size_t i;

	for (i = 0; i < srv->n_upstreams; i++) {
		up += srv->upstreams[i]->state == FOREFETCH__STATE__UP;
		in_flight += srv->upstreams[i]->in_flight;
		queued += srv->upstreams[i]->queued;
	}
	put_bytes(&srv->name);
	printf(": %s", state_name(srv->state));
	if (srv->state != FOREFETCH__STATE__UP) {
		printf(" for %s", ctl_text_age(buf, srv->state_age_ms));
		if (srv->reason.len > 0) {
			fputs(" (", stdout);
			put_bytes(&srv->reason);
			putchar(')');
		}
	} else if (srv->srtt_us > 0) {
		printf(", %s", ctl_text_us(buf, srv->srtt_us));
	}
	if (srv->offline_active)
		fputs(", serving what is cached", stdout);
	put_count(up, "connection");
	put_count(in_flight, "call");
	fputs(" in flight", stdout);
	if (queued > 0)
		printf(", %" PRIu64 " waiting", queued);
	putchar('\n');
}

static void put_list(
    const char *name, const ProtobufCBinaryData *list, size_t n)
{
	size_t i;

	if (n == 0)
		return;
	printf("  %-12s", name);
	for (i = 0; i < n; i++) {
		putchar(' ');
		put_bytes(&list[i]);
	}
	putchar('\n');
}

static void put_upstreams(const Forefetch__ServerStatus *srv)
{
	struct ctl_table *t =
	    ctl_table_new(">local port,state,>round trip,>in flight,>waiting");
	char buf[CTL_TEXT_MAX];

	for (size_t i = 0; i < srv->n_upstreams; i++) {
		const Forefetch__UpstreamStatus *up = srv->upstreams[i];

		ctl_table_row(t);
		if (up->local_port > 0)
			ctl_table_cell(t, "%" PRIu32, up->local_port);
		else
			ctl_table_cell(t, "-");
		ctl_table_cell(t, "%s", state_name(up->state));
		ctl_table_cell(t, "%s",
		    up->srtt_us > 0 ? ctl_text_us(buf, up->srtt_us) : "-");
		ctl_table_cell(t, "%" PRIu32, up->in_flight);
		ctl_table_cell(t, "%" PRIu32, up->queued);
	}
	if (srv->n_upstreams > 0)
		puts("\nconnections to the server");
	ctl_table_print(t);
}

static void put_clients(const Forefetch__ServerStatus *srv)
{
	struct ctl_table *t =
	    ctl_table_new(">in flight,>held,>in,>out,>since,address");
	char buf[CTL_TEXT_MAX];

	for (size_t i = 0; i < srv->n_clients; i++) {
		const Forefetch__ClientStatus *cl = srv->clients[i];
		const uint64_t bytes[] = {
		    cl->bytes_in_flight, cl->bytes_in, cl->bytes_out};

		ctl_table_row(t);
		ctl_table_cell(t, "%" PRIu32, cl->in_flight);
		for (size_t k = 0; k < 3; k++)
			ctl_table_cell(t, "%s", ctl_text_bytes(buf, bytes[k]));
		ctl_table_cell(t, "%s", ctl_text_age(buf, cl->age_ms));
		ctl_table_bytes(t, cl->address.data, cl->address.len);
	}
	if (srv->n_clients > 0)
		puts("\nconnections of clients");
	ctl_table_print(t);
	if (srv->clients_omitted > 0)
		printf("and %" PRIu64 " more\n", srv->clients_omitted);
}

/* "bounded, at most 3.00 s old" */
static void put_mode(
    const char *mode, uint64_t attr_timeout_us, uint64_t grant_timeout_us)
{
	char buf[CTL_TEXT_MAX];

	printf("%s", mode);
	if (strcmp(mode, "bounded") == 0)
		printf(", attr_timeout %s", ctl_text_us(buf, attr_timeout_us));
	if (strcmp(mode, "frozen") == 0)
		printf(", rights are held for %s",
		    ctl_text_age(buf, grant_timeout_us / 1000));
}

static void put_consistency(const Forefetch__ServerStatus *srv)
{
	const Forefetch__ExportStatus *ex;
	size_t i;

	printf("  %-12s ", "consistency");
	put_mode(srv->consistency, srv->attr_timeout_us, srv->grant_timeout_us);
	putchar('\n');
	for (i = 0; i < srv->n_overrides; i++) {
		ex = srv->overrides[i];
		printf("  %-12s ", i == 0 ? "overrides" : "");
		put_bytes(&ex->path);
		fputs(": ", stdout);
		put_mode(
		    ex->consistency, ex->attr_timeout_us, ex->grant_timeout_us);
		puts(ex->known ? "" : "; its file system is not known yet");
	}
	if (srv->strict_until_known)
		printf("  %-12s until all overrides are known, what is of "
		       "none is strict\n",
		    "");
}

/* What was loaded from disk has no age, so it looks older than all else. */
static void put_served(uint64_t age_ms, uint64_t uptime_ms)
{
	char buf[CTL_TEXT_MAX];

	if (age_ms == 0)
		fputs("; nothing was asked for yet", stdout);
	else if (age_ms > uptime_ms)
		fputs("; the oldest answer had been confirmed before the "
		      "daemon started",
		    stdout);
	else
		printf("; the oldest answer had been confirmed %s before",
		    ctl_text_age(buf, age_ms));
}

static void put_offline(const Forefetch__ServerStatus *srv, uint64_t uptime_ms)
{
	char buf[CTL_TEXT_MAX];

	if (srv->offline[0] == '\0')
		return;
	printf("  %-12s %s", "offline", srv->offline);
	if (strcmp(srv->offline, "serve") == 0)
		printf(", rights are held for %s",
		    ctl_text_age(buf, srv->grant_timeout_us / 1000));
	putchar('\n');
	if (!srv->offline_active)
		return;
	printf("  %-12s serving what is cached for %s", "",
	    ctl_text_age(buf, srv->offline_age_ms));
	put_served((srv->served_age_us + 999) / 1000, uptime_ms);
	putchar('\n');
}

static void put_caches(const Forefetch__CacheStatus *cache)
{
	char used[CTL_TEXT_MAX], limit[CTL_TEXT_MAX];

	if (!cache)
		return;
	printf("  %-12s memory %s of %s, ", "caches",
	    ctl_text_bytes(used, cache->memory_bytes),
	    ctl_text_bytes(limit, cache->memory_limit_bytes));
	if (cache->disk_on) {
		printf("disk %s of %s\n",
		    ctl_text_bytes(used, cache->disk_bytes),
		    ctl_text_bytes(limit, cache->disk_limit_bytes));
		return;
	}
	printf("disk OFF for %s\n  %-12s ",
	    ctl_text_age(used, cache->disk_problem_age_ms), "");
	put_bytes(&cache->disk_problem);
	putchar('\n');
}

static void put_prefetch(const Forefetch__ServerStatus *srv)
{
	const Forefetch__LinkStatus *link = srv->link;
	char rate[CTL_TEXT_MAX], base[CTL_TEXT_MAX], queue[CTL_TEXT_MAX];

	if (srv->prefetch[0])
		printf("  %-12s %s\n", "prefetch", srv->prefetch);
	if (!link || link->base_us == 0)
		return;
	printf("  %-12s ", "link");
	if (link->rate)
		printf("%s/s, ", ctl_text_bytes(rate, link->rate));
	printf("round trip %s when idle, %s in queues\n",
	    ctl_text_us(base, link->base_us),
	    ctl_text_us(queue, link->queue_us));
}

/* Only where it keeps somebody from mounting. */
static void put_mount(const Forefetch__MountStatus *mount)
{
	if (mount && mount->reason.len > 0)
		put_list("new mounts", &mount->reason, 1);
}

static void put_count_of_clients(
    const Forefetch__ServerStatus *srv, const Forefetch__Status *st)
{
	char held[CTL_TEXT_MAX], limit[CTL_TEXT_MAX];

	printf("  %-12s %" PRIu64 ", holding %s", "clients",
	    srv->n_clients + srv->clients_omitted,
	    ctl_text_bytes(held, srv->clients_bytes));
	printf("; those of all servers may hold %s\n",
	    ctl_text_bytes(limit, st->clients_limit_bytes));
}

static void put_reload(const Forefetch__Status *st)
{
	char buf[CTL_TEXT_MAX];

	if (st->reload_error.len == 0)
		return;
	printf("last reload failed %s ago: ",
	    ctl_text_age(buf, st->reload_age_ms));
	put_bytes(&st->reload_error);
	putchar('\n');
}

static void put_server(const Forefetch__ServerStatus *srv,
    const Forefetch__Status *st, bool verbose)
{
	char buf[CTL_TEXT_MAX];

	putchar('\n');
	put_bytes(&srv->name);
	printf("\n  %-12s ", "address");
	put_bytes(&srv->address);
	if (srv->resolved.len > 0) {
		fputs(" (", stdout);
		put_bytes(&srv->resolved);
		putchar(')');
	}
	printf("\n  %-12s %s for %s\n", "state", state_name(srv->state),
	    ctl_text_age(buf, srv->state_age_ms));
	if (srv->reason.len > 0)
		put_list("because", &srv->reason, 1);
	else if (srv->last_error.len > 0)
		put_list("last error", &srv->last_error, 1);
	put_mount(srv->mount);
	if (srv->rpcbind_error.len > 0)
		put_list("rpcbind", &srv->rpcbind_error, 1);
	put_consistency(srv);
	put_offline(srv, st->uptime_ms);
	put_caches(srv->caches);
	put_prefetch(srv);
	put_list("listen", srv->listen, srv->n_listen);
	put_list("exports", srv->exports, srv->n_exports);
	put_count_of_clients(srv, st);
	if (verbose) {
		put_upstreams(srv);
		put_clients(srv);
	}
}

static void status_put_text(const Forefetch__Status *st, bool verbose)
{
	char buf[CTL_TEXT_MAX];
	size_t i;

	for (i = 0; i < st->n_servers; i++)
		put_summary(st->servers[i]);
	fputs("\nforefetchd ", stdout);
	ctl_put_bytes(
	    stdout, (const uint8_t *)st->version, strlen(st->version));
	printf(", pid %" PRIu32 ", running for %s, ", st->pid,
	    ctl_text_age(buf, st->uptime_ms));
	put_bytes(&st->config_file);
	putchar('\n');
	put_reload(st);
	for (i = 0; i < st->n_servers; i++)
		put_server(st->servers[i], st, verbose);
}

int ctl_status(const struct ctl_options *opt)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;
	int code = EXIT_SUCCESS;

	status.server = ctl_bytes(opt->arg);
	request.command_case = FOREFETCH__REQUEST__COMMAND_STATUS;
	request.status = &status;
	res =
	    ctl_call(opt->socket, &request, FOREFETCH__RESPONSE__RESULT_STATUS);
	if (!res)
		return EXIT_FAILURE;
	if (opt->check)
		code = ctl_check(res->status, opt->json);
	else if (opt->json)
		ctl_json_print(res->status);
	else
		status_put_text(res->status, opt->verbose);
	ctl_free(res);
	return code;
}
