/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_client.h"
#include "ctl_command.h"
#include "ctl_json.h"
#include "ctl_text.h"

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
		if (srv->last_error.len > 0) {
			fputs(" (", stdout);
			put_bytes(&srv->last_error);
			putchar(')');
		}
	} else if (srv->srtt_us > 0) {
		printf(", %s", ctl_text_us(buf, srv->srtt_us));
	}
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

static void put_server(const Forefetch__ServerStatus *srv, bool verbose)
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
	if (srv->last_error.len > 0)
		put_list("last error", &srv->last_error, 1);
	printf("  %-12s %s\n", "consistency", srv->consistency);
	put_list("listen", srv->listens, srv->n_listens);
	put_list("exports", srv->exports, srv->n_exports);
	printf("  %-12s %" PRIu64 "\n", "clients",
	    srv->n_clients + srv->clients_omitted);
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
	for (i = 0; i < st->n_servers; i++)
		put_server(st->servers[i], verbose);
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
	if (opt->json)
		status_put_json(res->status);
	else
		status_put_text(res->status, opt->verbose);
	forefetch__response__free_unpacked(res, NULL);
	return EXIT_SUCCESS;
}
