/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of the page: who waits and why, calls that wait, what is fetched
 * ahead, and the last predictions. Each collects the rows of the servers that
 * are looked at, sorts them, and makes a table of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_text.h"
#include "top/top_text.h"
#include "top/top_view_private.h"

/* Microseconds that a JobWaits message is about, and how much waiting within
 * them is worth a row. */
#define WAITS_SPAN_US 10e6  /* of JobWaits */
#define WAITS_MIN_US  50000 /* in that: less is not worth a row */

/* The daemon tells at most so many rows of one list for a server. */
enum { TOLD_MAX = 64 };

/* A row of some server: a message of its activity. */
struct list_item {
	const struct top_server *srv;
	const void *row;
	double key; /* the row with the greatest stands first */
	size_t at;  /* its place before; rows with equal keys keep it */
};

/* An order that rows may stand in, by a number of each. */
struct row_order {
	const char *name; /* NULL ends a list of orders */
	double (*key)(const void *row);
};

/* The rows of all servers, before they are sorted. */
struct list {
	struct list_item items[TOP_SERVERS_MAX * TOLD_MAX];
	size_t n;
};

/* Adds a row; one that there is no room for is left out. */
static void list_add(
    struct list *l, const struct top_server *srv, const void *row)
{
	if (l->n < sizeof(l->items) / sizeof(l->items[0]))
		l->items[l->n++] = (struct list_item){.srv = srv, .row = row};
}

static int by_key(const void *a, const void *b)
{
	const struct list_item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void list_sort(struct list *l, const struct row_order *by)
{
	for (size_t i = 0; i < l->n; i++) {
		l->items[i].key = by->key(l->items[i].row);
		l->items[i].at = i;
	}
	qsort(l->items, l->n, sizeof(l->items[0]), by_key);
}

/* ---- words ------------------------------------------------------------ */

/* Writes "dir/name/entry", as far as it is known. An object without a name is
 * shown by a part of its number, so that one can see which rows are about the
 * same. */
static void put_object(struct top_table *t, const ProtobufCBinaryData *dir,
    const ProtobufCBinaryData *name, const ProtobufCBinaryData *entry,
    uint64_t object)
{
	char *of = ctl_text_clean(dir->data, dir->len);
	const char *above = of ? of : "", *slash = *above ? "/" : "";
	char *a = ctl_text_clean(name->data, name->len);
	char *b = entry ? ctl_text_clean(entry->data, entry->len) : NULL;

	if (a && *a && b && *b)
		top_table_cell(t, "%s%s%s/%s", above, slash, a, b);
	else if (b && *b)
		top_table_cell(t, "%s", b);
	else if (a && *a)
		top_table_cell(t, "%s%s%s", above, slash, a);
	else if (object)
		top_table_cell(t, "#%08" PRIx64, object >> 32);
	else
		top_table_cell(t, "%s", "");
	free(of);
	free(a);
	free(b);
}

/* A time; long ones without parts of a second. */
static void put_us(struct top_table *t, uint64_t us)
{
	char buf[CTL_TEXT_MAX];

	top_table_cell(t, "%s",
	    us < 100000000 ? ctl_text_us(buf, us) : ctl_text_duration(buf, us));
}

/* A size; empty where it is 0. */
static void put_bytes(struct top_table *t, uint64_t bytes)
{
	char buf[CTL_TEXT_MAX];

	top_table_cell(t, "%s", bytes > 0 ? ctl_text_bytes(buf, bytes) : "");
}

static void put_server_name(struct top_table *t, const struct top_server *srv)
{
	top_table_bytes(t, srv->status->name.data, srv->status->name.len);
}

/* Where there is but one server, nobody has to be told which. */
static struct top_table *table_of(
    const struct top_column *columns, struct top_range in)
{
	struct top_table *t = top_table_new(columns);

	if (in.end - in.first == 1)
		top_table_hide(t, "SERVER");
	return t;
}

/* ---- who waits -------------------------------------------------------- */

static const struct top_column waiter_columns[] = {
    {.head = "WAITS s/s", .right = true},
    {.head = "USER", .max = 16},
    {.head = "FROM", .drop = 3, .max = 24},
    {.head = "SERVER", .drop = 4, .max = 16},
    {.head = "CALLS/s", .drop = 2, .right = true},
    {.head = "WHY", .rest = true, .max = 23},
    {0},
};

/* A reason for waiting, and its microseconds. */
struct wait_part {
	const char *why;
	uint64_t us;
};

static int by_part(const void *a, const void *b)
{
	uint64_t x = ((const struct wait_part *)a)->us;
	uint64_t y = ((const struct wait_part *)b)->us;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* "not cached 62%, link busy 38%", the greatest part first. */
static void put_why(struct top_table *t, const Forefetch__JobWaits *j)
{
	struct wait_part parts[] = {{"not cached", j->not_cached_us},
	    {"expired", j->expired_us}, {"confirmed by strict", j->strict_us},
	    {"goes through", j->change_us}, {"on its way", j->ahead_us},
	    {"link busy", j->link_busy_us}, {"server slow", j->server_slow_us},
	    {"server away", j->server_away_us}, {"cache disk", j->disk_us}};
	size_t n = sizeof(parts) / sizeof(parts[0]), len = 0;
	char text[256] = "";
	double share;

	qsort(parts, n, sizeof(parts[0]), by_part);
	for (size_t i = 0; i < n && j->wait_us > 0; i++) {
		share = (double)parts[i].us / (double)j->wait_us;
		if (share < 0.005)
			break;
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%s %.0f%%", len > 0 ? ", " : "", parts[i].why,
		    share * 100);
	}
	top_table_cell(t, "%s", text);
}

static double waiter_wait(const void *row)
{
	return (double)((const Forefetch__JobWaits *)row)->wait_us;
}

static double waiter_calls(const void *row)
{
	return (double)((const Forefetch__JobWaits *)row)->calls;
}

static double waiter_user(const void *row)
{
	return -(double)((const Forefetch__JobWaits *)row)->uid;
}

static const struct row_order waiter_orders[] = {{"waits", waiter_wait},
    {"calls", waiter_calls}, {"user", waiter_user}, {0}};

/* Seconds waited in each second: more than 1 means that several of the user's
 * calls wait at the same time. */
static void put_waiter(struct top_table *t, const struct list_item *it)
{
	const Forefetch__JobWaits *j = it->row;

	top_table_row(t, TOP_PLAIN);
	top_table_cell(t, "%.2f", (double)j->wait_us / WAITS_SPAN_US);
	top_table_cell(t, "%s", top_user_name(j->uid));
	top_table_bytes(t, j->client.data, j->client.len);
	put_server_name(t, it->srv);
	top_table_cell(t, "%.1f", (double)j->calls / (WAITS_SPAN_US / 1e6));
	put_why(t, j);
}

static void make_waiters(struct top_section *s, struct list *l,
    const struct top_model *m, struct top_range in, const struct row_order *by)
{
	uint64_t others = 0, others_us = 0;

	for (size_t i = in.first; i < in.end; i++) {
		const Forefetch__ServerActivity *a = m->servers[i].activity;

		for (size_t k = 0; a && k < a->n_jobs; k++)
			if (a->jobs[k]->wait_us >= WAITS_MIN_US)
				list_add(l, &m->servers[i], a->jobs[k]);
		others += a ? a->jobs_omitted : 0;
		others_us += a ? a->jobs_omitted_wait_us : 0;
	}
	list_sort(l, by);
	s->table = table_of(waiter_columns, in);
	for (size_t i = 0; i < l->n; i++)
		put_waiter(s->table, &l->items[i]);
	s->steady = true;
	snprintf(s->title, sizeof(s->title), "Who waits");
	if (others > 0)
		snprintf(s->remark, sizeof(s->remark),
		    "last 10 s; %" PRIu64 " of other users wait %.2f s/s",
		    others, (double)others_us / WAITS_SPAN_US);
	else
		snprintf(s->remark, sizeof(s->remark), "%s",
		    l->n > 0 ? "last 10 s" : "nobody in the last 10 s");
}

/* How long a list is, of which `others` rows were not told. */
static void put_count(
    struct top_section *s, size_t n, uint64_t others, const char *none)
{
	if (n + others == 0)
		snprintf(s->remark, sizeof(s->remark), "%s", none);
	else if (others > 0)
		snprintf(s->remark, sizeof(s->remark),
		    "%zu, and %" PRIu64 " others", n, others);
	else
		snprintf(s->remark, sizeof(s->remark), "%zu", n);
}

/* ---- calls ------------------------------------------------------------ */

static const struct top_column call_columns[] = {
    {.head = "AGE", .right = true},
    {.head = "CALL"},
    {.head = "USER", .drop = 2, .max = 16},
    {.head = "SERVER", .drop = 5, .max = 16},
    {.head = "OFFSET", .drop = 4, .right = true},
    {.head = "SIZE", .drop = 3, .right = true},
    {.head = "WHY", .drop = 1, .max = 13},
    {.head = "FILE", .rest = true},
    {0},
};

static double call_age(const void *row)
{
	return (double)((const Forefetch__ClientCall *)row)->age_us;
}

static double call_size(const void *row)
{
	return (double)((const Forefetch__ClientCall *)row)->bytes;
}

static double call_user(const void *row)
{
	return -(double)((const Forefetch__ClientCall *)row)->uid;
}

static const struct row_order call_orders[] = {
    {"age", call_age}, {"size", call_size}, {"user", call_user}, {0}};

static void put_call(struct top_table *t, const struct list_item *it)
{
	const Forefetch__ClientCall *c = it->row;

	top_table_row(t, c->age_us > 1000000 ? TOP_WARN : TOP_PLAIN);
	put_us(t, c->age_us);
	top_table_cell(t, "%s", c->procedure);
	top_table_cell(t, "%s", top_user_name(c->uid));
	put_server_name(t, it->srv);
	put_bytes(t, c->offset);
	put_bytes(t, c->bytes);
	top_table_cell(t, "%s", c->cause);
	put_object(t, &c->dir, &c->name, &c->entry, c->object);
}

static void make_calls(struct top_section *s, struct list *l,
    const struct top_model *m, struct top_range in, const struct row_order *by)
{
	uint64_t others = 0;

	for (size_t i = in.first; i < in.end; i++) {
		const Forefetch__ServerActivity *a = m->servers[i].activity;

		for (size_t k = 0; a && k < a->n_calls; k++)
			list_add(l, &m->servers[i], a->calls[k]);
		others += a ? a->calls_omitted : 0;
	}
	list_sort(l, by);
	s->table = table_of(call_columns, in);
	for (size_t i = 0; i < l->n; i++)
		put_call(s->table, &l->items[i]);
	snprintf(s->title, sizeof(s->title), "Calls that wait");
	put_count(s, l->n, others, "none");
}

/* ---- ahead ------------------------------------------------------------ */

static const struct top_column ahead_columns[] = {
    {.head = "AGE", .right = true},
    {.head = "CALL"},
    {.head = "FROM", .drop = 1},
    {.head = "USER", .drop = 2, .max = 16},
    {.head = "SERVER", .drop = 5, .max = 16},
    {.head = "SIZE", .drop = 3, .right = true},
    {.head = "SURE", .drop = 4, .right = true},
    {.head = "FILE", .rest = true},
    {0},
};

/* A probability; empty where there is none, as for what a user asked for. */
static void put_permille(struct top_table *t, uint32_t permille)
{
	if (permille > 0)
		top_table_cell(t, "%.0f%%", permille / 10.0);
	else
		top_table_cell(t, "%s", "");
}

static void put_ahead(struct top_table *t, const struct list_item *it)
{
	const Forefetch__AheadCall *c = it->row;
	bool waits = !*c->procedure;

	top_table_row(t, waits ? TOP_DIM : TOP_PLAIN);
	put_us(t, c->age_us);
	top_table_cell(t, "%s", waits ? "(queued)" : c->procedure);
	top_table_cell(t, "%s", c->source);
	top_table_cell(t, "%s", top_user_name(c->uid));
	put_server_name(t, it->srv);
	put_bytes(t, c->bytes);
	put_permille(t, c->p_permille);
	put_object(t, &c->dir, &c->name, &c->entry, c->object);
}

/* Leaves the rows as the daemon tells them: first what is under way, then what
 * comes next. */
static double ahead_turn(const void *row)
{
	(void)row;
	return 0;
}

static double ahead_size(const void *row)
{
	return (double)((const Forefetch__AheadCall *)row)->bytes;
}

static double ahead_user(const void *row)
{
	return -(double)((const Forefetch__AheadCall *)row)->uid;
}

static double ahead_sure(const void *row)
{
	return ((const Forefetch__AheadCall *)row)->p_permille;
}

static const struct row_order ahead_orders[] = {{"turn", ahead_turn},
    {"size", ahead_size}, {"user", ahead_user}, {"sure", ahead_sure}, {0}};

static void make_ahead(struct top_section *s, struct list *l,
    const struct top_model *m, struct top_range in, const struct row_order *by)
{
	uint64_t others = 0;

	for (size_t i = in.first; i < in.end; i++) {
		const Forefetch__ServerActivity *a = m->servers[i].activity;

		for (size_t k = 0; a && k < a->n_ahead; k++)
			list_add(l, &m->servers[i], a->ahead[k]);
		others += a ? a->ahead_omitted : 0;
	}
	list_sort(l, by);
	s->table = table_of(ahead_columns, in);
	for (size_t i = 0; i < l->n; i++)
		put_ahead(s->table, &l->items[i]);
	snprintf(s->title, sizeof(s->title), "Fetched ahead");
	put_count(s, l->n, others, "nothing now");
}

/* ---- what became of it ------------------------------------------------ */

static const struct top_column outcome_columns[] = {
    {.head = "AGE", .right = true},
    {.head = "BECAME"},
    {.head = "FROM", .drop = 1},
    {.head = "USER", .drop = 2, .max = 16},
    {.head = "SERVER", .drop = 5, .max = 16},
    {.head = "SIZE", .drop = 3, .right = true},
    {.head = "SURE", .drop = 4, .right = true},
    {.head = "FILE", .rest = true},
    {0},
};

/* Green for a prediction that spared waiting, yellow for one that did not, dim
 * for what was never fetched. */
static enum top_style outcome_style(const char *state)
{
	if (strcmp(state, "used") == 0)
		return TOP_GOOD;
	if (strcmp(state, "late") == 0 || strcmp(state, "unused") == 0 ||
	    strcmp(state, "failed") == 0)
		return TOP_WARN;
	return TOP_DIM;
}

static void put_outcome(struct top_table *t, const struct list_item *it)
{
	const Forefetch__Outcome *o = it->row;
	const Forefetch__Prediction *p = o->prediction;

	top_table_row(t, outcome_style(p->state));
	put_us(t, p->age_us);
	top_table_cell(t, "%s", p->state);
	top_table_cell(t, "%s", p->source);
	top_table_cell(t, "%s", top_user_name(o->uid));
	put_server_name(t, it->srv);
	put_bytes(t, p->bytes);
	put_permille(t, p->p_permille);
	put_object(t, &o->dir, &o->name, NULL, o->object);
}

/* Puts first what was fetched: there may be a hundred times as many that were
 * not worth it, which the remark counts. */
static double outcome_newest(const void *row)
{
	const Forefetch__Prediction *p =
	    ((const Forefetch__Outcome *)row)->prediction;
	double behind_us = outcome_style(p->state) == TOP_DIM ? 1e15 : 0;

	return -behind_us - (double)p->age_us;
}

static double outcome_size(const void *row)
{
	return (double)((const Forefetch__Outcome *)row)->prediction->bytes;
}

static double outcome_user(const void *row)
{
	return -(double)((const Forefetch__Outcome *)row)->uid;
}

static double outcome_sure(const void *row)
{
	return ((const Forefetch__Outcome *)row)->prediction->p_permille;
}

static const struct row_order outcome_orders[] = {{"newest", outcome_newest},
    {"size", outcome_size}, {"user", outcome_user}, {"sure", outcome_sure},
    {0}};

static void make_outcomes(struct top_section *s, struct list *l,
    const struct top_model *m, struct top_range in, const struct row_order *by)
{
	struct top_rates sum = {.known = false};

	for (size_t i = in.first; i < in.end; i++) {
		const Forefetch__ServerActivity *a = m->servers[i].activity;
		const struct top_rates *r = &m->servers[i].rates;

		for (size_t k = 0; a && k < a->n_outcomes; k++)
			if (a->outcomes[k]->prediction)
				list_add(l, &m->servers[i], a->outcomes[k]);
		sum.used += r->used;
		sum.late += r->late;
		sum.unused += r->unused;
		sum.dropped += r->dropped;
	}
	list_sort(l, by);
	s->table = table_of(outcome_columns, in);
	for (size_t i = 0; i < l->n; i++)
		put_outcome(s->table, &l->items[i]);
	snprintf(s->title, sizeof(s->title), "Last predictions");
	snprintf(s->remark, sizeof(s->remark),
	    "used %.1f/s, late %.1f/s, unused %.1f/s, dropped %.1f/s", sum.used,
	    sum.late, sum.unused, sum.dropped);
}

/* ---- all -------------------------------------------------------------- */

static const struct row_order *const orders[TOP_SHOWN] = {
    [TOP_WAITERS] = waiter_orders,
    [TOP_CALLS] = call_orders,
    [TOP_AHEAD] = ahead_orders,
    [TOP_OUTCOMES] = outcome_orders,
};

unsigned top_view_orders(enum top_shown shown)
{
	unsigned n = 0;

	while (orders[shown] && orders[shown][n].name)
		n++;
	return n;
}

const char *top_sections_order(const struct top_look *look)
{
	return orders[look->shown][look->order].name;
}

void top_sections_make(struct top_section sections[TOP_SHOWN],
    const struct top_model *m, const struct top_look *look)
{
	static void (*const makers[TOP_SHOWN])(struct top_section * s,
	    struct list * l, const struct top_model *m, struct top_range in,
	    const struct row_order *by) = {
	    [TOP_WAITERS] = make_waiters,
	    [TOP_CALLS] = make_calls,
	    [TOP_AHEAD] = make_ahead,
	    [TOP_OUTCOMES] = make_outcomes,
	};
	struct top_range in = top_look_range(m, look);
	struct list *l = malloc(sizeof(*l));

	memset(sections, 0, TOP_SHOWN * sizeof(sections[0]));
	for (int i = TOP_WAITERS; l && i < TOP_SHOWN; i++) {
		unsigned by = (int)look->shown == i ? look->order : 0;

		l->n = 0;
		makers[i](&sections[i], l, m, in, &orders[i][by]);
		top_table_filter(sections[i].table, look->filter);
	}
	free(l);
}

void top_sections_free(struct top_section sections[TOP_SHOWN])
{
	for (int i = TOP_WAITERS; i < TOP_SHOWN; i++)
		top_table_free(sections[i].table);
}
