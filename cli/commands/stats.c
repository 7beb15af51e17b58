/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch stats: calls, caches, prefetch, the balance, counters, and charts
 * of times. Counters and gauges come from the daemon by name
 * (base/metrics.def), so ctl_put() and ctl_number() find them by name too, and
 * a daemon of another release that lacks one is shown with a dash. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "control/protocol.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* BAR_WIDTH is in columns. */
enum {
	BAR_WIDTH = 40,
	POWERS = 33, /* a bar for 0, and for each power of two */
	DAYS = 7,    /* that are shown without -v */
};

/* An empty line, and "SERVER: WHAT". */
static void put_title(const Forefetch__ServerStats *srv, const char *what)
{
	putchar('\n');
	ctl_put(stdout, srv, "{name}: ");
	puts(what);
}

/* ---- calls ------------------------------------------------------------ */

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

/* Times are percentiles of how long the calls took, as the side of the row saw
 * them: for clients from the record to its reply, for the server the round trip
 * with all waiting. */
static void add_call(struct ctl_table *t, const Forefetch__CallStats *call)
{
	char buf[CTL_TEXT_MAX];

	ctl_table_row(t);
	ctl_table_cell(t, "%s", call_name(buf, call));
	ctl_table_put(t, call,
	    "{calls}|{errors}|{bytes_in:B}|{bytes_out:B}|{p50_us:U}|"
	    "{p90_us:U}|{p99_us:U}|{max_us:U}");
}

/* Prints the calls of one side, clients or server; nothing if there were
 * none. */
static void put_calls(const Forefetch__ServerStats *srv, Forefetch__Side side)
{
	struct ctl_table *t = NULL;

	for (size_t i = 0; i < srv->n_calls; i++) {
		if (srv->calls[i]->side != side)
			continue;
		if (!t) {
			put_title(srv, side == FOREFETCH__SIDE__CLIENT
					   ? "calls of clients"
					   : "calls to the server");
			t = ctl_table_new("procedure,>calls,>errors,>in,>out,"
					  ">p50,>p90,>p99,>max");
		}
		add_call(t, srv->calls[i]);
	}
	ctl_table_print(t);
}

/* Prints one line first, which is all that many want: "nas: 1614 calls of
 * clients (0 errors), 412 to the server (0 errors)". */
static void put_summary(const Forefetch__ServerStats *srv)
{
	uint64_t calls[2] = {0}, errors[2] = {0};

	for (size_t i = 0; i < srv->n_calls; i++) {
		bool up = srv->calls[i]->side == FOREFETCH__SIDE__UPSTREAM;

		calls[up] += srv->calls[i]->calls;
		errors[up] += srv->calls[i]->errors;
	}
	ctl_put_bytes(stdout, srv->name.data, srv->name.len);
	printf(": %" PRIu64 " call%s of clients (%" PRIu64 " error%s), %" PRIu64
	       " to the server (%" PRIu64 " error%s)\n",
	    calls[0], calls[0] == 1 ? "" : "s", errors[0],
	    errors[0] == 1 ? "" : "s", calls[1], errors[1],
	    errors[1] == 1 ? "" : "s");
}

/* ---- caches and prefetch ---------------------------------------------- */

/* The rows of the table of caches, made of counters and gauges by their names.
 * `misses` is NULL for a cache whose misses nobody counts; "before" and
 * "behind" are templates of ctl_put.h for the cells left and right of the share
 * of hits. */
static const struct cache_row {
	const char *title;
	const char *hits, *misses;
	const char *before, *behind; /* cells around their share */
} cache_rows[] = {
    {"attributes", "attr_hits", "attr_misses", "{attr_hits}|{attr_misses}",
	"{attr_entries}|{object_bytes:B}|{attr_evicted}"},
    {"names", "name_hits", "name_misses", "{name_hits}|{name_misses}",
	"{name_entries}|-|{name_evicted}"},
    {"absent names", "negative_hits", NULL, "{negative_hits}|-", "-|-|-"},
    {"access rights", "access_hits", "access_misses",
	"{access_hits}|{access_misses}", "{access_entries}|{access_bytes:B}|-"},
    {"listings", "list_hits", "list_misses", "{list_hits}|{list_misses}",
	"{list_entries}|{list_bytes:B}|{list_evicted}"},
    {"answers", "answer_hits", "answer_misses", "{answer_hits}|{answer_misses}",
	"{answer_entries}|{answer_bytes:B}|-"},
    {"data", "data_hits", "data_misses", "{data_hits}|{data_misses}",
	"{data_extents}|{data_live_bytes:B}|{data_evicted}"},
};

/* The share is empty until there was a call. */
static void add_cache(struct ctl_table *t, const Forefetch__ServerStats *srv,
    const struct cache_row *row)
{
	double hits = (double)ctl_number(srv, row->hits);
	double calls =
	    row->misses ? hits + (double)ctl_number(srv, row->misses) : 0;

	ctl_table_row(t);
	ctl_table_cell(t, "%s", row->title);
	ctl_table_put(t, srv, row->before);
	if (calls > 0)
		ctl_table_cell(t, "%.1f%%", hits * 100 / calls);
	else
		ctl_table_cell(t, "-");
	ctl_table_put(t, srv, row->behind);
}

/* How often a byte was copied for each one that clients were sent. */
static void put_copies(const Forefetch__ServerStats *srv)
{
	double returned = (double)ctl_number(srv, "bytes_returned");
	double copied = (double)ctl_number(srv, "bytes_copied") +
			(double)ctl_number(srv, "data_copied_bytes");

	if (returned > 0)
		printf("  copies   %.2f for each byte returned\n",
		    copied / returned);
}

/* How often the proxy asked the server whether something is still as cached,
 * and how often it was not. */
static void put_again(const Forefetch__ServerStats *srv)
{
	uint64_t again =
	    ctl_number(srv, "confirmed") + ctl_number(srv, "contradicted");

	printf("  asked    again for %" PRIu64 " object%s: ", again,
	    again == 1 ? "" : "s");
	ctl_put(stdout, srv, "{confirmed} unchanged, {contradicted} changed\n");
}

/* A disk that is off is told before its numbers, which mean little then. */
static void put_caches(const Forefetch__ServerStats *srv)
{
	struct ctl_table *t =
	    ctl_table_new("cache,>hits,>misses,>hit,>entries,>bytes,>evicted");

	put_title(srv, "caches");
	for (size_t i = 0; i < sizeof(cache_rows) / sizeof(cache_rows[0]); i++)
		add_cache(t, srv, &cache_rows[i]);
	ctl_table_print(t);
	ctl_put(stdout, srv,
	    "  memory   {memory_bytes:B} of {memory_limit_bytes:B}, "
	    "{entry_bytes:B} for a name and its object\n");
	if (!ctl_number(srv, "data_on"))
		puts("  disk     OFF: it failed or is full; see the daemon's "
		     "log");
	ctl_put(stdout, srv,
	    "  disk     {data_disk_bytes:B} of {data_limit_bytes:B}, "
	    "{data_files} file{data_files:S} in {data_extents} "
	    "extent{data_extents:S}, "
	    "{data_live_bytes:B} live, {data_pending_bytes:B} pending\n"
	    "           {data_verified} extent{data_verified:S} verified, "
	    "{data_bad} bad, {data_refused_bytes:B} refused, "
	    "{data_spared_bytes:B} not kept (the server is faster)\n");
	if (ctl_number(srv, "run_bytes") > 0)
		ctl_put(stdout, srv,
		    "  in order {run_sequential_bytes/run_bytes} of what this "
		    "run read from disk, in {run_runs} run{run_runs:S}\n");
	if (ctl_number(srv, "layout_bytes") > 0)
		ctl_put(stdout, srv,
		    "  laid out {layout_passes} time{layout_passes:S}, "
		    "{layout_moved_bytes:B} moved; the last time "
		    "{layout_before_sequential_bytes/layout_before_bytes} was "
		    "in order, then {layout_sequential_bytes/layout_bytes}\n");
	put_copies(srv);
	put_again(srv);
	if (srv->prefetch)
		ctl_put(stdout, srv->prefetch,
		    "  saved    {saved_round_trips} round "
		    "trip{saved_round_trips:S}, {saved_us:T}; "
		    "{added_us:T} lost\n");
}

/* Permille as a percentage, or "-" where there was nothing to divide by. */
static const char *percent(char buf[CTL_TEXT_MAX], uint32_t permille)
{
	if (permille == PERMILLE_UNKNOWN)
		return "-";
	snprintf(buf, CTL_TEXT_MAX, "%.1f%%", (double)permille / 10);
	return buf;
}

/* How good the predictions were: accuracy is the part of what was fetched that
 * was used, coverage the part of the misses that it spared, timeliness the part
 * of the used that came in time, waste the bytes fetched in vain by those
 * returned (control_reply_stats.c computes them). */
static void put_prefetch(const Forefetch__ServerStats *srv)
{
	const Forefetch__PrefetchStats *p = srv->prefetch;
	char text[4][CTL_TEXT_MAX];

	if (!p)
		return;
	put_title(srv, "prefetch");
	printf("  accuracy    %s, coverage %s, timeliness %s, waste %s\n",
	    percent(text[0], p->accuracy_permille),
	    percent(text[1], p->coverage_permille),
	    percent(text[2], p->timeliness_permille),
	    percent(text[3], p->waste_permille));
	ctl_put(stdout, srv,
	    "  objects     {prefetch_used} used, "
	    "{prefetch_late} late, {prefetch_unused} unused\n"
	    "  ahead       {prefetch_calls} call{prefetch_calls:S}, "
	    "{prefetch_bytes:B}, {prefetch_errors} refused; "
	    "{prefetch_flight_bytes:B} of at most {prefetch_window_bytes:B} "
	    "under way\n"
	    "  unused      {prefetch_waste_bytes:B} of at most "
	    "{prefetch_waste_limit_bytes:B} in the last minute\n"
	    "  not fetched {prefetch_fresh} already cached, "
	    "{prefetch_unlikely} unlikely, {prefetch_withdrawn} withdrawn, "
	    "{prefetch_old} too late, {prefetch_unknown} whose handle is not "
	    "known yet, {prefetch_crowded} because the queue was full\n"
	    "  sessions    {sessions_recorded} recorded, {sessions_replayed} "
	    "replayed, {sessions_stopped} of these abandoned; {session_wanted} "
	    "object{session_wanted:S} wanted, {session_used} used, "
	    "{session_bytes:B} requested\n"
	    "  learned     {learned_objects} object{learned_objects:S}, "
	    "{learned_bytes:B}\n"
	    "  link        ");
	ctl_put(stdout, srv,
	    ctl_number(srv, "link_rate") ? "{link_rate:R}, "
					 : "rate not known yet, ");
	ctl_put(stdout, srv,
	    "round trip {link_base_us:T} when idle, "
	    "{link_srtt_us:T} now, {link_queue_us:T} of that "
	    "in queues\n");
}

/* A day is written as the number 20261231, so that its parts are read by
 * division. `when` stands in front of it. */
static void put_date(struct ctl_table *t, const char *when, uint32_t day)
{
	ctl_table_cell(
	    t, "%s%u-%02u-%02u", when, day / 10000, day / 100 % 100, day % 100);
}

static void put_day(
    struct ctl_table *t, const char *when, const Forefetch__DayStats *d)
{
	ctl_table_row(t);
	put_date(t, when, d->day);
	ctl_table_put(t, d,
	    "{calls}|{saved_round_trips}|{saved_us:A}|{added_us:A}|"
	    "{returned_bytes:B}|{received_bytes:B}");
}

/* Prints the same of each mount, if there are several: of one alone it is
 * nearly what was printed before. */
static void put_mounts(const Forefetch__ServerStats *srv)
{
	struct ctl_table *t;

	if (srv->n_mounts < 2)
		return;
	put_title(srv, "mounts, kept over restarts");
	t = ctl_table_new("mount,since,>calls,>trips saved,>to clients");
	for (size_t i = 0; i < srv->n_mounts; i++) {
		const Forefetch__MountStats *m = srv->mounts[i];

		ctl_table_row(t);
		ctl_table_put(t, m, "{export_path}");
		put_date(t, "", m->day);
		ctl_table_put(
		    t, m, "{calls}|{saved_round_trips}|{returned_bytes:B}");
	}
	ctl_table_print(t);
}

/* Prints the totals that are kept over restarts: the last DAYS days, or with
 * `all` every day that is kept, and then their sum since the first one. */
static void put_balance(const Forefetch__ServerStats *srv, bool all)
{
	size_t n = srv->n_days, shown = all || n < DAYS ? n : DAYS;
	struct ctl_table *t;

	if (!srv->balance)
		return;
	put_title(srv, "balance, kept over restarts");
	t = ctl_table_new("day,>calls,>trips saved,>saved,>lost,"
			  ">to clients,>from server");
	for (size_t i = n - shown; i < n; i++)
		put_day(t, "", srv->days[i]);
	put_day(t, "since ", srv->balance);
	ctl_table_print(t);
	put_mounts(srv);
}

/* Counters that are zero say little, and there are many; -v prints them. */
static void put_counters(const Forefetch__ServerStats *srv, bool zeros)
{
	struct ctl_table *t = NULL;

	for (size_t i = 0; i < srv->n_counters; i++) {
		if (srv->counters[i]->value == 0 && !zeros)
			continue;
		if (!t)
			t = ctl_table_new("counter,>value");
		ctl_table_row(t);
		ctl_table_put(t, srv->counters[i], "{key}|{value}");
	}
	if (t)
		put_title(srv, "counters");
	ctl_table_print(t);
}

/* ---- charts ----------------------------------------------------------- */

/* The number of the bar for a time: 0 for 0 us, else p such that 2^(p-1) <= us
 * < 2^p. */
static unsigned power_of(uint32_t us)
{
	return us == 0 ? 0 : 32U - (unsigned)__builtin_clz(us);
}

/* A bar whose length is its share of the longest one; at least one mark for a
 * single call, which may be the one that somebody looks for. */
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

/* Draws one bar for every power of two between the least and the greatest time.
 * The daemon's buckets are finer, and each lies within one power of two. */
static void put_histogram(
    const ProtobufCBinaryData *server, const Forefetch__CallStats *call)
{
	uint64_t bars[POWERS] = {0}, most = 0;
	unsigned power, first = POWERS, last = 0;
	char name[CTL_TEXT_MAX];

	/* Low, high and count. */
	for (size_t i = 0; i + 2 < call->n_histogram; i += 3)
		bars[power_of((uint32_t)call->histogram[i])] +=
		    call->histogram[i + 2];
	for (power = 0; power < POWERS; power++) {
		if (bars[power] == 0)
			continue;
		first = first < power ? first : power;
		last = power;
		most = most < bars[power] ? bars[power] : most;
	}
	putchar('\n');
	ctl_put_bytes(stdout, server->data, server->len);
	fputs(": time of ", stdout);
	call_name(name, call);
	ctl_put_bytes(stdout, (const uint8_t *)name, strlen(name));
	ctl_put(stdout, call, ", {side}\n");
	for (power = first; power <= last && power < POWERS; power++)
		put_bar(power, bars[power], most);
}

/* ---- the command ------------------------------------------------------ */

/* All about one server, in the order of the summary: its calls, what the caches
 * did with them, and what was fetched ahead. */
static void put_server(
    const Forefetch__ServerStats *srv, const struct ctl_options *opt)
{
	put_calls(srv, FOREFETCH__SIDE__CLIENT);
	put_calls(srv, FOREFETCH__SIDE__UPSTREAM);
	put_caches(srv);
	put_prefetch(srv);
	put_balance(srv, opt->verbose);
	put_counters(srv, opt->verbose);
	if (!opt->histogram && !opt->verbose)
		return;
	for (size_t i = 0; i < srv->n_calls; i++)
		put_histogram(&srv->name, srv->calls[i]);
}

/* All summaries come before any table, so that they stand together. */
static int stats_run(const struct ctl_options *opt)
{
	Forefetch__StatsRequest stats = FOREFETCH__STATS_REQUEST__INIT;
	Forefetch__Response *res;

	stats.server = ctl_bytes(opt->server);
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_STATS, &stats);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->stats);
	for (size_t i = 0; !opt->json && i < res->stats->n_servers; i++)
		put_summary(res->stats->servers[i]);
	for (size_t i = 0; !opt->json && i < res->stats->n_servers; i++)
		put_server(res->stats->servers[i], opt);
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command stats_command = {
    .name = "stats",
    .usage = "[-v] [--histogram] [--json] [--watch SECONDS] [SERVER]",
    .summary = "show counters, and how long calls took",
    .help = "Shows calls by procedure, of clients and to the server, the "
	    "caches, prefetching,\nand the counters that are not zero, "
	    "since the daemon started. With --histogram, it\nalso draws "
	    "a chart of the times of every procedure; with -v, that and "
	    "all counters.\n",
    .options = "watch histogram verbose server json",
    .run = stats_run,
};
