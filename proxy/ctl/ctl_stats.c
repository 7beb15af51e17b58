/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_caches.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_prefetch.h"
#include "ctl/ctl_text.h"

#define BAR_WIDTH 40
#define POWERS    33 /* a bar for 0, and for each power of two */

static const char *side_name(Forefetch__Side side)
{
	return side == FOREFETCH__SIDE__CLIENT ? "client" : "upstream";
}

/* The nfs program goes without saying. */
static const char *call_name(
    char buf[CTL_TEXT_MAX], const Forefetch__CallStats *call)
{
	if (strcmp(call->program, "nfs") == 0 ||
	    strcmp(call->program, call->procedure) == 0)
		snprintf(buf, CTL_TEXT_MAX, "%s", call->procedure);
	else
		snprintf(
		    buf, CTL_TEXT_MAX, "%s %s", call->program, call->procedure);
	return buf;
}

static size_t bucket_count(const Forefetch__CallStats *call)
{
	size_t n = call->n_bucket_low;

	if (n > call->n_bucket_high)
		n = call->n_bucket_high;
	return n < call->n_bucket_count ? n : call->n_bucket_count;
}

static void put_call(const Forefetch__CallStats *call)
{
	char name[CTL_TEXT_MAX], in[CTL_TEXT_MAX], out[CTL_TEXT_MAX],
	    t[4][CTL_TEXT_MAX];

	printf("%-13s %8" PRIu64 " %6" PRIu64 " %8s %8s %7s %7s %7s %7s\n",
	    call_name(name, call), call->calls, call->errors,
	    ctl_text_bytes(in, call->bytes_in),
	    ctl_text_bytes(out, call->bytes_out),
	    ctl_text_us(t[0], call->p50_us), ctl_text_us(t[1], call->p90_us),
	    ctl_text_us(t[2], call->p99_us), ctl_text_us(t[3], call->max_us));
}

/* 0 for 0, else p such that 2^(p-1) <= us < 2^p. */
static unsigned power_of(uint32_t us)
{
	return us == 0 ? 0 : 32U - (unsigned)__builtin_clz(us);
}

static void put_bar(unsigned power, uint64_t calls, uint64_t most)
{
	uint64_t low = power == 0 ? 0 : UINT64_C(1) << (power - 1);
	uint64_t high = UINT64_C(1) << power;
	char from[CTL_TEXT_MAX], to[CTL_TEXT_MAX], bar[BAR_WIDTH + 1];
	double share = (double)calls / (double)most;
	size_t len = (size_t)(share * BAR_WIDTH + 0.5);

	if (len == 0 && calls > 0)
		len = 1;
	memset(bar, '#', len);
	bar[len] = '\0';
	printf("  %7s - %-7s |%-*s| %" PRIu64 "\n", ctl_text_us(from, low),
	    ctl_text_us(to, high), BAR_WIDTH, bar, calls);
}

/* One bar for every power of two between the least and the greatest. */
static void put_histogram(
    const ProtobufCBinaryData *server, const Forefetch__CallStats *call)
{
	uint64_t bars[POWERS] = {0}, most = 0;
	unsigned power, first = POWERS, last = 0;
	char name[CTL_TEXT_MAX];
	size_t i, n = bucket_count(call);

	for (i = 0; i < n; i++) {
		power = power_of(call->bucket_low[i]);
		bars[power] += call->bucket_count[i];
	}
	for (power = 0; power < POWERS; power++) {
		if (bars[power] == 0)
			continue;
		first = first < power ? first : power;
		last = power;
		most = most < bars[power] ? bars[power] : most;
	}
	putchar('\n');
	ctl_put_bytes(stdout, server->data, server->len);
	printf(
	    ": time of %s, %s\n", call_name(name, call), side_name(call->side));
	for (power = first; power <= last && power < POWERS; power++)
		put_bar(power, bars[power], most);
}

/* A table of the calls of one side; nothing if there were none. */
static void put_calls(const Forefetch__ServerStats *srv, Forefetch__Side side)
{
	bool headed = false;
	size_t i;

	for (i = 0; i < srv->n_calls; i++) {
		if (srv->calls[i]->side != side)
			continue;
		if (!headed) {
			putchar('\n');
			ctl_put_bytes(stdout, srv->name.data, srv->name.len);
			printf(": calls %s\n", side == FOREFETCH__SIDE__CLIENT
						   ? "of clients"
						   : "to the server");
			printf("%-13s %8s %6s %8s %8s %7s %7s %7s %7s\n",
			    "procedure", "calls", "errors", "in", "out", "p50",
			    "p90", "p99", "max");
			headed = true;
		}
		put_call(srv->calls[i]);
	}
}

static void put_counters(const Forefetch__ServerStats *srv, bool zeros)
{
	bool headed = false;
	size_t i;

	for (i = 0; i < srv->n_counters; i++) {
		if (srv->counters[i]->value == 0 && !zeros)
			continue;
		if (!headed) {
			putchar('\n');
			ctl_put_bytes(stdout, srv->name.data, srv->name.len);
			fputs(": counters\n", stdout);
			headed = true;
		}
		printf("%-32s %12" PRIu64 "\n", srv->counters[i]->name,
		    srv->counters[i]->value);
	}
}

/* The short form first: "nas: 1614 calls of clients, 412 to the server". */
static void put_summary(const Forefetch__ServerStats *srv)
{
	uint64_t calls[2] = {0}, errors[2] = {0};
	size_t i;

	for (i = 0; i < srv->n_calls; i++) {
		calls[srv->calls[i]->side == FOREFETCH__SIDE__UPSTREAM] +=
		    srv->calls[i]->calls;
		errors[srv->calls[i]->side == FOREFETCH__SIDE__UPSTREAM] +=
		    srv->calls[i]->errors;
	}
	ctl_put_bytes(stdout, srv->name.data, srv->name.len);
	printf(": %" PRIu64 " calls of clients (%" PRIu64 " errors), %" PRIu64
	       " to the server (%" PRIu64 " errors)\n",
	    calls[0], errors[0], calls[1], errors[1]);
}

static void stats_put_text(
    const Forefetch__Stats *stats, const struct ctl_options *opt)
{
	const Forefetch__ServerStats *srv;
	size_t i, k;

	for (i = 0; i < stats->n_servers; i++)
		put_summary(stats->servers[i]);
	for (i = 0; i < stats->n_servers; i++) {
		srv = stats->servers[i];
		put_calls(srv, FOREFETCH__SIDE__CLIENT);
		put_calls(srv, FOREFETCH__SIDE__UPSTREAM);
		ctl_put_caches(srv);
		ctl_put_prefetch(srv);
		put_counters(srv, opt->verbose);
		if (!opt->histogram && !opt->verbose)
			continue;
		for (k = 0; k < srv->n_calls; k++)
			put_histogram(&srv->name, srv->calls[k]);
	}
}

static void json_call(struct ctl_json *j, const Forefetch__CallStats *call)
{
	size_t i, n = bucket_count(call);

	ctl_json_open(j, NULL, '{');
	ctl_json_text(j, "side", side_name(call->side));
	ctl_json_text(j, "program", call->program);
	ctl_json_text(j, "procedure", call->procedure);
	ctl_json_number(j, "calls", call->calls);
	ctl_json_number(j, "errors", call->errors);
	ctl_json_number(j, "bytes_in", call->bytes_in);
	ctl_json_number(j, "bytes_out", call->bytes_out);
	ctl_json_number(j, "p50_us", call->p50_us);
	ctl_json_number(j, "p90_us", call->p90_us);
	ctl_json_number(j, "p99_us", call->p99_us);
	ctl_json_number(j, "max_us", call->max_us);
	ctl_json_number(j, "sum_us", call->sum_us);
	ctl_json_open(j, "histogram", '[');
	for (i = 0; i < n; i++) {
		ctl_json_open(j, NULL, '[');
		ctl_json_number(j, NULL, call->bucket_low[i]);
		ctl_json_number(j, NULL, call->bucket_high[i]);
		ctl_json_number(j, NULL, call->bucket_count[i]);
		ctl_json_close(j, ']');
	}
	ctl_json_close(j, ']');
	ctl_json_close(j, '}');
}

static void json_named(struct ctl_json *j, const char *key,
    Forefetch__Counter *const *list, size_t n)
{
	size_t i;

	ctl_json_open(j, key, '{');
	for (i = 0; i < n; i++)
		ctl_json_number(j, list[i]->name, list[i]->value);
	ctl_json_close(j, '}');
}

static void stats_put_json(const Forefetch__Stats *stats)
{
	struct ctl_json j = {.out = stdout};
	const Forefetch__ServerStats *srv;
	size_t i, k;

	ctl_json_open(&j, NULL, '{');
	ctl_json_open(&j, "servers", '[');
	for (i = 0; i < stats->n_servers; i++) {
		srv = stats->servers[i];
		ctl_json_open(&j, NULL, '{');
		ctl_json_bytes(&j, "name", srv->name.data, srv->name.len);
		ctl_json_open(&j, "calls", '[');
		for (k = 0; k < srv->n_calls; k++)
			json_call(&j, srv->calls[k]);
		ctl_json_close(&j, ']');
		json_named(&j, "counters", srv->counters, srv->n_counters);
		json_named(&j, "gauges", srv->gauges, srv->n_gauges);
		ctl_json_prefetch(&j, srv);
		ctl_json_close(&j, '}');
	}
	ctl_json_close(&j, ']');
	ctl_json_close(&j, '}');
	putchar('\n');
}

int ctl_stats(const struct ctl_options *opt)
{
	Forefetch__StatsRequest stats = FOREFETCH__STATS_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;

	if (opt->arg) {
		stats.server.data = (uint8_t *)opt->arg;
		stats.server.len = strlen(opt->arg);
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_STATS;
	request.stats = &stats;
	res =
	    ctl_call(opt->socket, &request, FOREFETCH__RESPONSE__RESULT_STATS);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		stats_put_json(res->stats);
	else
		stats_put_text(res->stats, opt);
	forefetch__response__free_unpacked(res, NULL);
	return EXIT_SUCCESS;
}
