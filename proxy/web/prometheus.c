/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buckets of a histogram are sums of those of histogram.h that end at or
 * below `le`, which may leave out values up to 6.25 % smaller than `le`; count
 * and sum are exact, but for calls that were answered at once, of which one in
 * METRICS_SAMPLE is timed and stands for the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/metrics.h"
#include "control/history.h"
#include "web/process.h"
#include "web/prometheus.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Bounds of the histogram: a label, in seconds, and microseconds. */
static const struct {
	const char *label;
	uint64_t us;
} bounds[] = {
    {",le=\"0.0001\"", 100},
    {",le=\"0.00025\"", 250},
    {",le=\"0.0005\"", 500},
    {",le=\"0.001\"", 1000},
    {",le=\"0.0025\"", 2500},
    {",le=\"0.005\"", 5000},
    {",le=\"0.01\"", 10000},
    {",le=\"0.025\"", 25000},
    {",le=\"0.05\"", 50000},
    {",le=\"0.1\"", 100000},
    {",le=\"0.25\"", 250000},
    {",le=\"0.5\"", 500000},
    {",le=\"1\"", 1000000},
    {",le=\"2.5\"", 2500000},
    {",le=\"5\"", 5000000},
    {",le=\"10\"", 10000000},
    {",le=\"30\"", 30000000},
    {",le=\"60\"", 60000000},
    {",le=\"300\"", 300000000},
};

/* Metrics beside the counters and gauges of metrics.def: those of calls have a
 * sample a procedure, the others one a server. */
enum metric {
	CALLS,
	ERRORS,
	BYTES_IN,
	BYTES_OUT,
	LATENCY,
	STATE,
	OUTAGE,
	HELD,
	SAVED,
	ADDED,
	METRICS
};

static const struct {
	const char *name, *type, *help;
} metrics[METRICS] = {
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
    {FOREFETCH__STATE__UP, ",state=\"up\""},
    {FOREFETCH__STATE__CONNECTING, ",state=\"connecting\""},
    {FOREFETCH__STATE__RESOLVING, ",state=\"resolving\""},
    {FOREFETCH__STATE__IDLE, ",state=\"idle\""},
    {FOREFETCH__STATE__DOWN, ",state=\"down\""},
};

/* The lines that are being collected. */
struct prometheus {
	uint64_t started_us;            /* by the wall clock */
	size_t servers;                 /* since prometheus_begin() */
	size_t families[METRICS_KINDS]; /* of each: the first of its family */
	/* Lines of the metrics of the table above, and behind these of
	 * families, each at its first kind. */
	struct text lines[METRICS + METRICS_KINDS];
	struct text labels; /* of the samples that are added now */
	bool failed;        /* memory was short */
};

/* The first kind of the family that a kind belongs to: its lines stand
 * together. */
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
	for (size_t i = 0; i < LENGTH(p->lines); i++)
		text_free(&p->lines[i]);
	text_free(&p->labels);
	free(p);
}

void prometheus_begin(struct prometheus *p)
{
	for (size_t i = 0; i < LENGTH(p->lines); i++)
		text_clear(&p->lines[i]);
	p->servers = 0;
	p->failed = false;
}

/* ---- samples ---------------------------------------------------------- */

/* A label value: backslash, quote and newline are escaped. */
static void label_add(struct text *t, const char *value)
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

/* The end of a sample; `us`: the value is in microseconds, and told in
 * seconds. */
static void value_add(struct text *t, bool us, uint64_t value)
{
	text_string(t, " ");
	if (us)
		text_seconds(t, value);
	else
		text_number(t, value);
	text_string(t, "\n");
}

/* A sample with p->labels and, behind them, `more`. */
static void sample_add(struct prometheus *p, struct text *t, const char *name,
    const char *suffix, const char *more)
{
	text_string(t, "forefetch_");
	text_string(t, name);
	text_string(t, suffix);
	text_string(t, "{");
	text_add(t, p->labels.data, p->labels.len);
	text_string(t, more);
	text_string(t, "}");
}

/* A sample of a metric of the table above. */
static void metric_add(struct prometheus *p, enum metric i, const char *suffix,
    const char *more, uint64_t value)
{
	bool us = i == OUTAGE || i == SAVED || i == ADDED ||
		  (i == LATENCY && strcmp(suffix, "_sum") == 0);

	sample_add(p, &p->lines[i], metrics[i].name, suffix, more);
	value_add(&p->lines[i], us, value);
}

/* All metrics of one procedure on one side. Buckets are cumulative, as the
 * format has them. */
static void row_add(
    struct prometheus *p, const char *side, const struct metrics_row *row)
{
	const uint64_t values[LATENCY] = {
	    [CALLS] = row->calls,
	    [ERRORS] = row->errors,
	    [BYTES_IN] = row->bytes_in,
	    [BYTES_OUT] = row->bytes_out,
	};
	const struct histogram *h = row->latency;
	size_t len = p->labels.len;

	text_print(&p->labels, ",side=\"%s\",program=\"%s\",procedure=\"%s\"",
	    side, row->program, row->procedure);
	for (int i = 0; i < LATENCY; i++)
		metric_add(p, (enum metric)i, "", "", values[i]);
	for (size_t i = 0; i < LENGTH(bounds); i++)
		metric_add(p, LATENCY, "_bucket", bounds[i].label,
		    histogram_count_upto(h, bounds[i].us));
	metric_add(p, LATENCY, "_bucket", ",le=\"+Inf\"", h->count);
	metric_add(p, LATENCY, "_sum", "", h->sum);
	metric_add(p, LATENCY, "_count", "", h->count);
	p->labels.len = len;
}

/* Procedures that nobody called have no samples. */
static void calls_add(struct prometheus *p, const struct metrics *m)
{
	struct metrics_row row;

	for (int side = 0; side < METRICS_SIDES; side++) {
		for (size_t i = 0; i < metrics_row_count(); i++) {
			metrics_get_row(m, (enum metrics_side)side, i, &row);
			if (row.calls > 0)
				row_add(p,
				    metrics_side_name((enum metrics_side)side),
				    &row);
		}
	}
}

/* Adds a sample for each word of a label such as "end=done,in_order" that the
 * value may be: 1 for the present one, 0 for the others. */
static void words_add(struct prometheus *p, struct text *t,
    const struct metrics_kind *kind, uint64_t value)
{
	int key = (int)strcspn(kind->label, "=");
	const char *word = kind->label + key;
	char more[64];

	for (size_t i = 0, len; *word; i++, word += len) {
		len = strcspn(++word, ",");
		snprintf(more, sizeof(more), ",%.*s=\"%.*s\"", key, kind->label,
		    (int)len, word);
		sample_add(p, t, kind->family, "", more);
		value_add(t, false, value == i);
	}
}

/* Adds a counter or gauge; one that is the daemon's comes with the first server
 * alone. */
static void kind_add(struct prometheus *p, size_t i, uint64_t value)
{
	const struct metrics_kind *kind = metrics_get_kind(i);
	struct text *t = &p->lines[METRICS + p->families[i]];
	bool daemon = kind->told & METRICS_OF_DAEMON;
	char more[64];

	if (daemon && p->servers > 0)
		return;
	if (kind->told & METRICS_AS_WORDS) {
		words_add(p, t, kind, value);
		return;
	}
	snprintf(
	    more, sizeof(more), "%s%s", *kind->label ? "," : "", kind->label);
	if (daemon)
		text_print(t, "forefetch_%s", kind->family);
	else
		sample_add(p, t, kind->family, "", more);
	value_add(t, kind->told & METRICS_AS_SECONDS, value);
}

/* Metrics of a server's state. One that is idle is not away. */
static void state_add(struct prometheus *p, const Forefetch__ServerStatus *st)
{
	const Forefetch__HoldStatus *h = st->hold;
	bool away = st->state != FOREFETCH__STATE__UP &&
		    st->state != FOREFETCH__STATE__IDLE;

	for (size_t i = 0; i < LENGTH(states); i++)
		metric_add(p, STATE, "", states[i].label,
		    st->state == states[i].state);
	metric_add(p, OUTAGE, "", "", away ? st->state_age_us : 0);
	if (!h)
		return;
	metric_add(p, HELD, "", ",reason=\"paused\"", h->paused ? 1 : 0);
	metric_add(p, HELD, "", ",reason=\"metered\"",
	    h->metered && h->metered_bytes >= h->metered_limit_bytes);
}

void prometheus_add(struct prometheus *p, const struct control_server *srv,
    const Forefetch__ServerStatus *state)
{
	const struct metrics *m = srv->metrics;

	text_clear(&p->labels);
	text_string(&p->labels, "server=\"");
	label_add(&p->labels, srv->name);
	text_string(&p->labels, "\"");
	calls_add(p, m);
	for (size_t i = 0; i < METRICS_KINDS; i++)
		kind_add(p, i, metrics_get_value(m, i));
	state_add(p, state);
	metric_add(p, SAVED, "", "", history_saved_us(srv->history));
	metric_add(p, ADDED, "", "", history_added_us(srv->history));
	p->failed |= p->labels.failed;
	p->servers++;
}

/* ---- all of it --------------------------------------------------------- */

static void head_add(
    struct text *out, const char *name, const char *type, const char *help)
{
	text_print(out, "# HELP forefetch_%s %s\n# TYPE forefetch_%s %s\n",
	    name, help, name, type);
}

/* A metric without samples is left out, with its head. */
static void lines_add(struct text *out, const char *name, const char *type,
    const char *help, const struct text *lines)
{
	out->failed |= lines->failed;
	if (lines->len == 0)
		return;
	head_add(out, name, type, help);
	text_add(out, lines->data, lines->len);
}

static void gauge_add(
    struct text *out, const char *name, const char *help, uint64_t value)
{
	head_add(out, name, "gauge", help);
	text_print(out, "forefetch_%s", name);
	value_add(out, false, value);
}

static void daemon_add(
    struct text *out, const Forefetch__Status *st, size_t servers)
{
	head_add(out, "build_info", "gauge",
	    "A metric that is always 1, with the version of forefetchd as a "
	    "label");
	text_string(
	    out, "forefetch_build_info{version=\"" FF_VERSION "\"} 1\n");
	gauge_add(out, "config_last_reload_successful",
	    "Whether the configuration was applied when it was read last",
	    st->reload_error.len == 0);
	gauge_add(out, "config_restart_needed",
	    "Whether a setting was changed that needs a restart",
	    st->reload_restart.len > 0);
	gauge_add(out, "servers",
	    "Servers in the configuration that are in use", servers);
}

/* Memory that was short anywhere shows here, once. */
void prometheus_end(
    struct prometheus *p, const Forefetch__Status *daemon, struct text *out)
{
	for (size_t i = 0; i < METRICS; i++)
		lines_add(out, metrics[i].name, metrics[i].type,
		    metrics[i].help, &p->lines[i]);
	for (size_t i = 0; i < METRICS_KINDS; i++)
		lines_add(out, metrics_get_kind(i)->family,
		    i < METRICS_COUNTER_COUNT ? "counter" : "gauge",
		    metrics_get_kind(i)->help, &p->lines[METRICS + i]);
	daemon_add(out, daemon, p->servers);
	process_add(out, p->started_us);
	out->failed |= p->failed;
}
