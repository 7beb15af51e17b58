/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buckets of a histogram are sums of those of histogram.h that end at or
 * below `le`, which may leave out values up to 6.25 % smaller than `le`; count
 * and sum are exact, but for calls that were answered at once, of which one in
 * METRICS_SAMPLE is timed and stands for the others.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/metrics.h"
#include "control/history.h"
#include "web/process.h"
#include "web/prometheus.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Bounds of the histogram: text for `le` in seconds, and microseconds. */
static const struct {
	const char *le;
	uint64_t us;
} bounds[] = {
    {"0.0001", 100},
    {"0.00025", 250},
    {"0.0005", 500},
    {"0.001", 1000},
    {"0.0025", 2500},
    {"0.005", 5000},
    {"0.01", 10000},
    {"0.025", 25000},
    {"0.05", 50000},
    {"0.1", 100000},
    {"0.25", 250000},
    {"0.5", 500000},
    {"1", 1000000},
    {"2.5", 2500000},
    {"5", 5000000},
    {"10", 10000000},
    {"30", 30000000},
    {"60", 60000000},
    {"300", 300000000},
};

/* What is told about a row: one metric each. */
enum call_metric { CALLS, ERRORS, BYTES_IN, BYTES_OUT, LATENCY, CALL_METRICS };

static const struct {
	const char *name, *type, *help;
} call_metrics[CALL_METRICS] = {
    [CALLS] = {"calls_total", "counter",
	"Calls answered: of clients to the proxy (side=\"client\"), or of the "
	"proxy to the server (side=\"upstream\")"},
    [ERRORS] = {"call_errors_total", "counter",
	"Calls answered with an error, of RPC or NFS"},
    [BYTES_IN] = {"call_received_bytes_total", "counter",
	"Bytes received in calls of clients, or in replies of the server"},
    [BYTES_OUT] = {"call_sent_bytes_total", "counter",
	"Bytes sent in replies to clients, or in calls to the server"},
    [LATENCY] = {"call_duration_seconds", "histogram",
	"Time from a call to its reply"},
};

/* What is known of a server beside counters and gauges. */
enum state_metric { STATE, OUTAGE, HELD, SAVED, ADDED, STATE_METRICS };

static const struct {
	const char *name, *type, *help;
} state_metrics[STATE_METRICS] = {
    [STATE] = {"server_state", "gauge",
	"State of the connection to the server: 1 for the present one, 0 for "
	"the others"},
    [OUTAGE] = {"server_outage_seconds", "gauge",
	"For how long the server has not been reached; 0 while it is"},
    [HELD] = {"prefetch_held", "gauge",
	"Whether calls ahead are held back: somebody paused them (paused), or "
	"what a metered link allows in an hour is used up (metered)"},
    [SAVED] = {"saved_seconds_total", "counter",
	"Time that clients would have waited longer on a direct mount, for the "
	"calls that were answered without a call to the server"},
    [ADDED] = {"added_seconds_total", "counter",
	"Time that clients would have waited less on a direct mount, since "
	"calls come to this daemon first"},
};

static const struct {
	Forefetch__State state;
	const char *label;
} states[] = {
    {FOREFETCH__STATE__UP, "up"},
    {FOREFETCH__STATE__CONNECTING, "connecting"},
    {FOREFETCH__STATE__RESOLVING, "resolving"},
    {FOREFETCH__STATE__IDLE, "idle"},
    {FOREFETCH__STATE__DOWN, "down"},
};

struct prometheus {
	uint64_t started_us;              /* by the wall clock */
	size_t servers;                   /* since prometheus_begin() */
	size_t families[METRICS_KINDS];   /* of each: the first of its family */
	struct text lines[METRICS_KINDS]; /* of families, at that index */
	struct text calls[CALL_METRICS];
	struct text states[STATE_METRICS];
};

/* What the labels of a sample are made of. */
struct labels {
	const char *server;
	const char *side;
	const struct metrics_row *row;
};

static size_t first_of_family(size_t kind)
{
	const char *family = metrics_get_kind(kind)->family;
	size_t i = 0;

	while (strcmp(metrics_get_kind(i)->family, family) != 0)
		i++;
	return i;
}

struct prometheus *prometheus_new(void)
{
	struct prometheus *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	for (size_t i = 0; i < METRICS_KINDS; i++)
		p->families[i] = first_of_family(i);
	p->started_us = clock_real_us();
	return p;
}

void prometheus_free(struct prometheus *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < METRICS_KINDS; i++)
		text_free(&p->lines[i]);
	for (size_t i = 0; i < CALL_METRICS; i++)
		text_free(&p->calls[i]);
	for (size_t i = 0; i < STATE_METRICS; i++)
		text_free(&p->states[i]);
	free(p);
}

void prometheus_begin(struct prometheus *p)
{
	for (size_t i = 0; i < METRICS_KINDS; i++)
		text_clear(&p->lines[i]);
	for (size_t i = 0; i < CALL_METRICS; i++)
		text_clear(&p->calls[i]);
	for (size_t i = 0; i < STATE_METRICS; i++)
		text_clear(&p->states[i]);
	p->servers = 0;
}

/* ---- samples ---------------------------------------------------------- */

/* A label value: backslash, quote and newline are escaped. */
static void value_add(struct text *t, const char *value)
{
	size_t plain;

	for (;;) {
		plain = strcspn(value, "\\\"\n");
		text_add(t, value, plain);
		value += plain;
		if (!*value)
			return;
		text_string(t, "\\");
		text_add(t, *value == '\n' ? "n" : value, 1);
		value++;
	}
}

/* The name, and the label of the server; the brace is left open. */
static void sample_begin(
    struct text *t, const char *name, const char *suffix, const char *server)
{
	text_string(t, "forefetch_");
	text_string(t, name);
	text_string(t, suffix);
	text_string(t, "{server=\"");
	value_add(t, server);
	text_string(t, "\"");
}

static void call_begin(struct text *t, enum call_metric metric,
    const char *suffix, const struct labels *l)
{
	sample_begin(t, call_metrics[metric].name, suffix, l->server);
	text_string(t, ",side=\"");
	text_string(t, l->side);
	text_string(t, "\",program=\"");
	text_string(t, l->row->program);
	text_string(t, "\",procedure=\"");
	text_string(t, l->row->procedure);
	text_string(t, "\"");
}

static void sample_end(struct text *t, uint64_t value)
{
	text_string(t, "} ");
	text_number(t, value);
	text_string(t, "\n");
}

static void latency_add(struct text *t, const struct labels *l)
{
	const struct histogram *h = l->row->latency;

	for (size_t i = 0; i < LENGTH(bounds); i++) {
		call_begin(t, LATENCY, "_bucket", l);
		text_string(t, ",le=\"");
		text_string(t, bounds[i].le);
		text_string(t, "\"");
		sample_end(t, histogram_count_upto(h, bounds[i].us));
	}
	call_begin(t, LATENCY, "_bucket", l);
	text_string(t, ",le=\"+Inf\"");
	sample_end(t, h->count);
	call_begin(t, LATENCY, "_sum", l);
	text_string(t, "} ");
	text_seconds(t, h->sum);
	text_string(t, "\n");
	call_begin(t, LATENCY, "_count", l);
	sample_end(t, h->count);
}

static void row_add(struct prometheus *p, const struct labels *l)
{
	const uint64_t values[CALL_METRICS] = {
	    [CALLS] = l->row->calls,
	    [ERRORS] = l->row->errors,
	    [BYTES_IN] = l->row->bytes_in,
	    [BYTES_OUT] = l->row->bytes_out,
	};

	for (int i = 0; i < LATENCY; i++) {
		call_begin(&p->calls[i], (enum call_metric)i, "", l);
		sample_end(&p->calls[i], values[i]);
	}
	latency_add(&p->calls[LATENCY], l);
}

static void calls_add(
    struct prometheus *p, const char *server, const struct metrics *m)
{
	struct metrics_row row;
	struct labels l = {.server = server, .row = &row};

	for (int side = 0; side < METRICS_SIDES; side++) {
		l.side = metrics_side_name((enum metrics_side)side);
		for (size_t i = 0; i < metrics_row_count(); i++) {
			metrics_get_row(m, (enum metrics_side)side, i, &row);
			if (row.calls > 0)
				row_add(p, &l);
		}
	}
}

/* One for each word of "end=done,in_order" that the value may be. */
static void words_add(struct text *t, const char *server,
    const struct metrics_kind *kind, uint64_t value)
{
	int key = (int)strcspn(kind->label, "=");
	const char *word = kind->label + key;

	for (size_t i = 0, len; *word; i++, word += len) {
		len = strcspn(++word, ",");
		sample_begin(t, kind->family, "", server);
		text_print(
		    t, ",%.*s=\"%.*s\"", key, kind->label, (int)len, word);
		sample_end(t, value == i);
	}
}

static void kind_add(
    struct prometheus *p, const char *server, size_t i, uint64_t value)
{
	const struct metrics_kind *kind = metrics_get_kind(i);
	struct text *t = &p->lines[p->families[i]];

	if ((kind->told & METRICS_OF_DAEMON) && p->servers > 0)
		return;
	if (kind->told & METRICS_AS_WORDS) {
		words_add(t, server, kind, value);
		return;
	}
	if (kind->told & METRICS_OF_DAEMON) {
		text_print(t, "forefetch_%s", kind->family);
	} else {
		sample_begin(t, kind->family, "", server);
		if (*kind->label)
			text_string(t, ",");
		text_string(t, kind->label);
		text_string(t, "}");
	}
	text_string(t, " ");
	if (kind->told & METRICS_AS_SECONDS)
		text_seconds(t, value);
	else
		text_number(t, value);
	text_string(t, "\n");
}

static void state_add(
    struct prometheus *p, const char *server, const Forefetch__ServerStatus *st)
{
	struct text *t = &p->states[STATE];
	bool away = st->state != FOREFETCH__STATE__UP &&
		    st->state != FOREFETCH__STATE__IDLE;

	for (size_t i = 0; i < LENGTH(states); i++) {
		sample_begin(t, state_metrics[STATE].name, "", server);
		text_print(t, ",state=\"%s\"", states[i].label);
		sample_end(t, st->state == states[i].state);
	}
	t = &p->states[OUTAGE];
	sample_begin(t, state_metrics[OUTAGE].name, "", server);
	text_string(t, "} ");
	text_seconds(t, away ? st->state_age_us : 0);
	text_string(t, "\n");
}

static void held_add(
    struct prometheus *p, const char *server, const Forefetch__HoldStatus *h)
{
	struct text *t = &p->states[HELD];

	if (!h)
		return;
	sample_begin(t, state_metrics[HELD].name, "", server);
	text_string(t, ",reason=\"paused\"");
	sample_end(t, h->paused ? 1 : 0);
	sample_begin(t, state_metrics[HELD].name, "", server);
	text_string(t, ",reason=\"metered\"");
	sample_end(t, h->metered && h->metered_bytes >= h->metered_limit_bytes);
}

static void time_add(struct prometheus *p, const struct control_server *srv,
    enum state_metric which, uint64_t us)
{
	struct text *t = &p->states[which];

	sample_begin(t, state_metrics[which].name, "", srv->name);
	text_string(t, "} ");
	text_seconds(t, us);
	text_string(t, "\n");
}

void prometheus_add(struct prometheus *p, const struct control_server *srv,
    const Forefetch__ServerStatus *state)
{
	const struct metrics *m = srv->metrics;

	calls_add(p, srv->name, m);
	for (size_t i = 0; i < METRICS_KINDS; i++)
		kind_add(p, srv->name, i, metrics_get_value(m, i));
	state_add(p, srv->name, state);
	held_add(p, srv->name, state->hold);
	time_add(p, srv, SAVED, history_saved_us(srv->history));
	time_add(p, srv, ADDED, history_added_us(srv->history));
	p->servers++;
}

/* ---- all of it --------------------------------------------------------- */

static void head_add(
    struct text *out, const char *name, const char *type, const char *help)
{
	text_print(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void family_end(struct text *out, const char *name, const char *type,
    const char *help, const struct text *lines)
{
	out->failed |= lines->failed;
	if (lines->len == 0)
		return;
	text_print(out, "# HELP forefetch_%s %s\n# TYPE forefetch_%s %s\n",
	    name, help, name, type);
	text_add(out, lines->data, lines->len);
}

static void daemon_add(const struct prometheus *p, const Forefetch__Status *st,
    size_t servers, struct text *out)
{
	head_add(out, "forefetch_build_info", "gauge",
	    "A metric that is always 1, with the version of forefetchd as a "
	    "label");
	text_string(
	    out, "forefetch_build_info{version=\"" FF_VERSION "\"} 1\n");
	head_add(out, "forefetch_config_last_reload_successful", "gauge",
	    "Whether the configuration was applied when it was read last");
	text_print(out, "forefetch_config_last_reload_successful %d\n",
	    st->reload_error.len == 0);
	head_add(out, "forefetch_config_restart_needed", "gauge",
	    "Whether a setting was changed that needs a restart");
	text_print(out, "forefetch_config_restart_needed %d\n",
	    st->reload_restart.len > 0);
	head_add(out, "forefetch_servers", "gauge",
	    "Servers in the configuration that are in use");
	text_print(out, "forefetch_servers %zu\n", servers);
	process_add(out, p->started_us);
}

void prometheus_end(
    struct prometheus *p, const Forefetch__Status *daemon, struct text *out)
{
	for (int i = 0; i < CALL_METRICS; i++)
		family_end(out, call_metrics[i].name, call_metrics[i].type,
		    call_metrics[i].help, &p->calls[i]);
	for (int i = 0; i < STATE_METRICS; i++)
		family_end(out, state_metrics[i].name, state_metrics[i].type,
		    state_metrics[i].help, &p->states[i]);
	for (size_t i = 0; i < METRICS_KINDS; i++)
		family_end(out, metrics_get_kind(i)->family,
		    i < METRICS_COUNTER_COUNT ? "counter" : "gauge",
		    metrics_get_kind(i)->help, &p->lines[i]);
	daemon_add(p, daemon, p->servers, out);
}
