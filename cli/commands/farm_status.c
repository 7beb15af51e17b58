/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch farm status shows the engine, its nodes, and how much came of
 * sharing; forefetch farm flush removes all values of this farm from the engine
 * and waits until that is done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "commands/farm.h"
#include "commands/progress.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

#define UP FOREFETCH__FARM_STATUS__STATE__UP

/* ---- for people -------------------------------------------------------- */

/* The first lines: "farm 3kQ_9x: up, 210 us", and why it is not up. The round
 * trip of an engine that is not up would be an old one, so it is left out. */
static void put_head(const Forefetch__FarmStatus *farm)
{
	ctl_put(
	    stdout, farm, *farm->id ? "farm {id}: {state}" : "farm: {state}");
	if (farm->srtt_us > 0 && farm->state == UP)
		ctl_put(stdout, farm, ", {srtt_us:T}");
	putchar('\n');
	if (farm->error.len > 0)
		ctl_put(stdout, farm, "  because      {error}\n");
	if (farm->version.len > 0)
		ctl_put(stdout, farm,
		    farm->cluster
			? "  engine       Redis {version}, a cluster\n"
			: "  engine       Redis {version}\n");
}

/* Shows which kinds of values this machine shares, and the limit that it keeps
 * to when it gives some (publish_cap in the configuration). */
static void put_config(const Forefetch__FarmStatus *farm)
{
	fputs("  shares      ", stdout);
	for (size_t i = 0; i < farm->n_share; i++)
		printf(" %s", farm->share[i]);
	if (farm->n_share == 0)
		fputs(" nothing", stdout);
	if (farm->publish_cap_bytes_per_second > 0)
		ctl_put(stdout, farm,
		    "; gives at most {publish_cap_bytes_per_second:R}");
	putchar('\n');
}

/* Counts since the daemon started, of all servers together. "not sent" are
 * values that this daemon held back, "refused" are those that the engine
 * answered with an error. */
static void put_counters(const Forefetch__FarmStatus *farm)
{
	ctl_put(stdout, farm,
	    "  asked        {gets} value{gets:S}, {hits} of them found "
	    "({hits/gets}), {got_bytes:B}; {timeouts} not in time\n"
	    "  given        {puts} value{puts:S}, {put_bytes:B}; "
	    "{refused_puts} not sent, {rejected_puts} refused by the engine\n");
	if (farm->redirects > 0)
		ctl_put(stdout, farm,
		    "  redirected   {redirects} time{redirects:S}, to other "
		    "nodes\n");
	if (farm->reconnects > 0)
		ctl_put(stdout, farm,
		    "  connected    {reconnects} time{reconnects:S} again\n");
}

/* A row for each node. Slots are how many of the 16384 hash slots of a cluster
 * the node serves (Redis Cluster specification); a single server has none. */
static void put_nodes(const Forefetch__FarmStatus *farm)
{
	struct ctl_table *t =
	    ctl_table_new("node,state,>slots,>round trip,because");

	for (size_t i = 0; i < farm->n_nodes; i++) {
		const Forefetch__FarmNode *n = farm->nodes[i];

		ctl_table_row(t);
		ctl_table_put(t, n, "{name}|{state}");
		ctl_table_put(t, n, farm->cluster ? "{slots}" : "-");
		ctl_table_put(t, n, n->state == UP ? "{srtt_us:-U}" : "-");
		ctl_table_put(t, n, "{error}");
	}
	if (farm->n_nodes > 0)
		putchar('\n');
	ctl_table_print(t);
}

/* How much of one server's data and listings came from the farm, and how much
 * this machine gave in return. What is zero on most machines is left out. */
static void put_served(const Forefetch__ServerStatus *srv)
{
	if (!srv->farm)
		return;
	ctl_put(stdout, srv, "\n{name}\n");
	ctl_put(stdout, srv->farm,
	    "  came         {bytes:B} that did not go over the link: "
	    "{pieces} piece{pieces:S} of files, {listings} "
	    "listing{listings:S}\n"
	    "  asked        {asked} value{asked:S}\n");
	if (srv->farm->trees > 0)
		ctl_put(stdout, srv->farm,
		    "  learned      {trees} time{trees:S} from other "
		    "machines\n");
	if (srv->farm->waited > 0)
		ctl_put(stdout, srv->farm,
		    "  waited       for {waited} value{waited:S} that another "
		    "machine was fetching, {in_vain} of them in vain\n");
	if (srv->farm->bad > 0)
		ctl_put(stdout, srv->farm,
		    "  no use       {bad} value{bad:S}: damaged, or sealed by "
		    "another key\n");
	ctl_put(stdout, srv->farm,
	    "  given        {published} value{published:S}, "
	    "{published_bytes:B}");
	if (srv->farm->left_out > 0)
		ctl_put(stdout, srv->farm,
		    "; {left_out} left out, since too many waited");
	putchar('\n');
}

static void put_text(const Forefetch__Status *st)
{
	if (!st->farm) {
		puts("there is no farm; a [farm] section begins one, see "
		     "forefetch.conf(5)");
		return;
	}
	put_head(st->farm);
	put_config(st->farm);
	if (st->farm->state != FOREFETCH__FARM_STATUS__STATE__OFF)
		put_counters(st->farm);
	put_nodes(st->farm);
	for (size_t i = 0; i < st->n_servers; i++)
		put_served(st->servers[i]);
}

/* ---- for programs ------------------------------------------------------ */

/* Only the farm and each server's part in it, not the whole status: {"farm":
 * ..., "servers": [{"name": ..., "farm": ...}]}. */
static void put_json(const Forefetch__Status *st)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	if (st->farm)
		json_message(&j, "farm", st->farm);
	else
		json_null(&j, "farm");
	json_open(&j, "servers", '[');
	for (size_t i = 0; i < st->n_servers; i++) {
		const Forefetch__ServerStatus *srv = st->servers[i];

		json_open(&j, NULL, '{');
		json_known(&j, "name", &srv->name);
		if (srv->farm)
			json_message(&j, "farm", srv->farm);
		else
			json_null(&j, "farm");
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
}

/* It needs no rights beyond those of `forefetch status`, which has the same
 * fields. */
int farm_status(const struct ctl_options *opt)
{
	Forefetch__Response *res = ctl_status(opt->socket, NULL);

	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		put_json(res->status);
	else
		put_text(res->status);
	ctl_free(res);
	return EXIT_SUCCESS;
}

/* ---- flush -------------------------------------------------------------- */

/* Milliseconds between two questions to the daemon while it flushes. */
enum { ASK_MS = 100 };

/* Begins to flush, or asks how far that is, by `action`. The daemon goes
 * through all keys of an engine with SCAN, which may take minutes and must not
 * hold up the daemon's other answers, so it answers at once and is asked
 * again. */
static Forefetch__Response *ask_flush(
    const struct ctl_options *opt, Forefetch__FarmRequest__Action action)
{
	Forefetch__FarmRequest farm = FOREFETCH__FARM_REQUEST__INIT;
	Forefetch__Response *res;

	farm.action = action;
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_FARM, &farm);
	if (res && !res->farm->flushed)
		res = ctl_refuse(opt->socket, res);
	return res;
}

/* The daemon does not know how many values are left (SCAN tells no total), so
 * the line shows only for how long this goes on. */
static void show(struct progress *p, uint64_t begun_us)
{
	uint64_t now_us = clock_now_us();
	char age[CTL_TEXT_MAX], text[2 * CTL_TEXT_MAX];

	if (!progress_due(p, now_us))
		return;
	snprintf(text, sizeof(text), "removing values for %s",
	    ctl_text_duration(age, now_us - begun_us));
	progress_put(p, text);
}

/* A node of a cluster that does not answer keeps its values; the count of those
 * removed is printed all the same, and the exit code is EXIT_FAILURE. */
static int tell_flushed(
    const struct ctl_options *opt, const Forefetch__FarmFlushed *flushed)
{
	if (opt->json)
		json_print(flushed);
	else
		ctl_put(
		    stdout, flushed, "{removed} value{removed:S} removed\n");
	if (flushed->error.len == 0)
		return EXIT_SUCCESS;
	if (!opt->json)
		ctl_put(stderr, flushed,
		    "forefetch: not all of the farm was removed: {error}\n");
	return EXIT_FAILURE;
}

/* ^C ends the waiting only: the daemon goes on removing. */
int farm_flush(const struct ctl_options *opt)
{
	const struct timespec rest = {.tv_nsec = ASK_MS * 1000000L};
	Forefetch__Response *res =
	    ask_flush(opt, FOREFETCH__FARM_REQUEST__ACTION__FLUSH);
	uint64_t begun_us = clock_now_us();
	struct progress progress;
	int code;

	progress_init(&progress, opt);
	while (res && res->farm->flushed->busy) {
		show(&progress, begun_us);
		nanosleep(&rest, NULL);
		ctl_free(res);
		res = ask_flush(opt, FOREFETCH__FARM_REQUEST__ACTION__FLUSHED);
	}
	progress_clear(&progress);
	if (!res)
		return EXIT_FAILURE;
	code = tell_flushed(opt, res->farm->flushed);
	ctl_free(res);
	return code;
}
