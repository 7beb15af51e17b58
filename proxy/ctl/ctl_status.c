/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_check.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
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
	const Forefetch__UpstreamStatus *up;
	char buf[CTL_TEXT_MAX];
	size_t i;

	if (srv->n_upstreams == 0)
		return;
	printf("\n  to the server\n  %10s %-10s %10s %10s %10s\n", "local port",
	    "state", "round trip", "in flight", "waiting");
	for (i = 0; i < srv->n_upstreams; i++) {
		up = srv->upstreams[i];
		if (up->local_port > 0)
			snprintf(buf, sizeof(buf), "%" PRIu32, up->local_port);
		else
			snprintf(buf, sizeof(buf), "-");
		printf("  %10s %-10s", buf, state_name(up->state));
		printf(" %10s %10" PRIu32 " %10" PRIu32 "\n",
		    up->srtt_us > 0 ? ctl_text_us(buf, up->srtt_us) : "-",
		    up->in_flight, up->queued);
	}
}

static void put_clients(const Forefetch__ServerStatus *srv)
{
	const Forefetch__ClientStatus *cl;
	char age[CTL_TEXT_MAX], held[CTL_TEXT_MAX], in[CTL_TEXT_MAX],
	    out[CTL_TEXT_MAX];
	size_t i;

	if (srv->n_clients == 0)
		return;
	printf("\n  from clients\n  %10s %9s %9s %9s %12s  %s\n", "in flight",
	    "held", "in", "out", "since", "address");
	for (i = 0; i < srv->n_clients; i++) {
		cl = srv->clients[i];
		printf("  %10" PRIu32 " %9s %9s %9s %12s  ", cl->in_flight,
		    ctl_text_bytes(held, cl->bytes_in_flight),
		    ctl_text_bytes(in, cl->bytes_in),
		    ctl_text_bytes(out, cl->bytes_out),
		    ctl_text_age(age, cl->age_ms));
		put_bytes(&cl->address);
		putchar('\n');
	}
	if (srv->clients_omitted > 0)
		printf("  and %" PRIu64 " more\n", srv->clients_omitted);
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
	put_caches(srv->cache);
	put_prefetch(srv);
	put_list("listen", srv->listens, srv->n_listens);
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
	ctl_put_bytes(stdout, (const uint8_t *)st->daemon_version,
	    strlen(st->daemon_version));
	printf(", pid %" PRIu32 ", running for %s, ", st->pid,
	    ctl_text_age(buf, st->uptime_ms));
	put_bytes(&st->config_file);
	putchar('\n');
	put_reload(st);
	for (i = 0; i < st->n_servers; i++)
		put_server(st->servers[i], st, verbose);
}

static void json_bytes(
    struct ctl_json *j, const char *key, const ProtobufCBinaryData *bytes)
{
	ctl_json_bytes(j, key, bytes->data, bytes->len);
}

static void json_list(struct ctl_json *j, const char *key,
    const ProtobufCBinaryData *list, size_t n)
{
	size_t i;

	ctl_json_open(j, key, '[');
	for (i = 0; i < n; i++)
		json_bytes(j, NULL, &list[i]);
	ctl_json_close(j, ']');
}

static void json_upstream(
    struct ctl_json *j, const Forefetch__UpstreamStatus *up)
{
	ctl_json_open(j, NULL, '{');
	ctl_json_text(j, "state", state_name(up->state));
	ctl_json_known(j, "local_port", up->local_port);
	ctl_json_known(j, "srtt_us", up->srtt_us);
	ctl_json_number(j, "in_flight", up->in_flight);
	ctl_json_number(j, "queued", up->queued);
	ctl_json_close(j, '}');
}

static void json_client(struct ctl_json *j, const Forefetch__ClientStatus *cl)
{
	ctl_json_open(j, NULL, '{');
	json_bytes(j, "address", &cl->address);
	ctl_json_number(j, "age_ms", cl->age_ms);
	ctl_json_number(j, "in_flight", cl->in_flight);
	ctl_json_number(j, "bytes_in_flight", cl->bytes_in_flight);
	ctl_json_number(j, "bytes_in", cl->bytes_in);
	ctl_json_number(j, "bytes_out", cl->bytes_out);
	ctl_json_close(j, '}');
}

static void json_override(struct ctl_json *j, const Forefetch__ExportStatus *ex)
{
	ctl_json_open(j, NULL, '{');
	json_bytes(j, "path", &ex->path);
	ctl_json_text(j, "consistency", ex->consistency);
	ctl_json_number(j, "attr_timeout_us", ex->attr_timeout_us);
	ctl_json_number(j, "negative_timeout_us", ex->negative_timeout_us);
	ctl_json_number(j, "grant_timeout_us", ex->grant_timeout_us);
	ctl_json_bool(j, "known", ex->known);
	ctl_json_close(j, '}');
}

static void json_caches(struct ctl_json *j, const Forefetch__ServerStatus *srv)
{
	const Forefetch__CacheStatus *cache = srv->cache;
	size_t i;

	ctl_json_number(j, "attr_timeout_us", srv->attr_timeout_us);
	ctl_json_number(j, "negative_timeout_us", srv->negative_timeout_us);
	ctl_json_number(j, "grant_timeout_us", srv->grant_timeout_us);
	ctl_json_open(j, "overrides", '[');
	for (i = 0; i < srv->n_overrides; i++)
		json_override(j, srv->overrides[i]);
	ctl_json_close(j, ']');
	ctl_json_bool(j, "strict_until_known", srv->strict_until_known);
	ctl_json_text(j, "offline", srv->offline);
	ctl_json_bool(j, "offline_active", srv->offline_active);
	ctl_json_number(j, "offline_age_ms", srv->offline_age_ms);
	ctl_json_known(j, "served_age_us", srv->served_age_us);
	if (!cache)
		return;
	ctl_json_open(j, "caches", '{');
	ctl_json_number(j, "memory_bytes", cache->memory_bytes);
	ctl_json_number(j, "memory_limit_bytes", cache->memory_limit_bytes);
	ctl_json_bool(j, "disk_on", cache->disk_on);
	ctl_json_number(j, "disk_bytes", cache->disk_bytes);
	ctl_json_number(j, "disk_limit_bytes", cache->disk_limit_bytes);
	json_bytes(j, "disk_problem", &cache->disk_problem);
	ctl_json_number(j, "disk_problem_age_ms", cache->disk_problem_age_ms);
	ctl_json_close(j, '}');
}

static void json_link(struct ctl_json *j, const Forefetch__ServerStatus *srv)
{
	const Forefetch__LinkStatus *link = srv->link;

	if (!link)
		return;
	ctl_json_text(j, "prefetch", srv->prefetch);
	ctl_json_open(j, "link", '{');
	ctl_json_known(j, "rate", link->rate);
	ctl_json_known(j, "base_us", link->base_us);
	ctl_json_number(j, "queue_us", link->queue_us);
	ctl_json_close(j, '}');
}

static void json_mount(struct ctl_json *j, const Forefetch__MountStatus *mount)
{
	if (!mount)
		return;
	ctl_json_open(j, "mount", '{');
	ctl_json_text(j, "state", state_name(mount->state));
	ctl_json_number(j, "state_age_ms", mount->state_age_ms);
	json_bytes(j, "reason", &mount->reason);
	ctl_json_close(j, '}');
}

static void json_server(struct ctl_json *j, const Forefetch__ServerStatus *srv)
{
	size_t i;

	ctl_json_open(j, NULL, '{');
	json_bytes(j, "name", &srv->name);
	json_bytes(j, "address", &srv->address);
	json_bytes(j, "resolved", &srv->resolved);
	ctl_json_text(j, "state", state_name(srv->state));
	ctl_json_number(j, "state_age_ms", srv->state_age_ms);
	json_bytes(j, "last_error", &srv->last_error);
	json_bytes(j, "reason", &srv->reason);
	json_mount(j, srv->mount);
	json_bytes(j, "rpcbind_error", &srv->rpcbind_error);
	ctl_json_text(j, "consistency", srv->consistency);
	ctl_json_known(j, "srtt_us", srv->srtt_us);
	json_list(j, "listen", srv->listens, srv->n_listens);
	json_list(j, "exports", srv->exports, srv->n_exports);
	ctl_json_open(j, "upstreams", '[');
	for (i = 0; i < srv->n_upstreams; i++)
		json_upstream(j, srv->upstreams[i]);
	ctl_json_close(j, ']');
	ctl_json_open(j, "clients", '[');
	for (i = 0; i < srv->n_clients; i++)
		json_client(j, srv->clients[i]);
	ctl_json_close(j, ']');
	ctl_json_number(j, "clients_omitted", srv->clients_omitted);
	ctl_json_number(j, "clients_bytes", srv->clients_bytes);
	json_caches(j, srv);
	json_link(j, srv);
	ctl_json_close(j, '}');
}

static void status_put_json(const Forefetch__Status *st)
{
	struct ctl_json j = {.out = stdout};
	size_t i;

	ctl_json_open(&j, NULL, '{');
	ctl_json_text(&j, "version", st->daemon_version);
	ctl_json_number(&j, "pid", st->pid);
	ctl_json_number(&j, "uptime_ms", st->uptime_ms);
	json_bytes(&j, "config_file", &st->config_file);
	json_bytes(&j, "reload_error", &st->reload_error);
	ctl_json_known(&j, "reload_age_ms", st->reload_age_ms);
	ctl_json_number(&j, "clients_bytes", st->clients_bytes);
	ctl_json_number(&j, "clients_limit_bytes", st->clients_limit_bytes);
	ctl_json_open(&j, "servers", '[');
	for (i = 0; i < st->n_servers; i++)
		json_server(&j, st->servers[i]);
	ctl_json_close(&j, ']');
	ctl_json_close(&j, '}');
	putchar('\n');
}

int ctl_status(const struct ctl_options *opt)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;
	int code = EXIT_SUCCESS;

	if (opt->arg) {
		status.server.data = (uint8_t *)opt->arg;
		status.server.len = strlen(opt->arg);
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_STATUS;
	request.status = &status;
	res =
	    ctl_call(opt->socket, &request, FOREFETCH__RESPONSE__RESULT_STATUS);
	if (!res)
		return EXIT_FAILURE;
	if (opt->check)
		code = ctl_check(res->status, opt->json);
	else if (opt->json)
		status_put_json(res->status);
	else
		status_put_text(res->status, opt->verbose);
	forefetch__response__free_unpacked(res, NULL);
	return code;
}
