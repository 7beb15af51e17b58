/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of servers and their mounts: rates, and how each of them is. A
 * mount has the cells that are known of a mount alone; the link belongs to its
 * server. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
#include "text/json.h"
#include "top/top_text.h"
#include "top/top_view_private.h"

/* Bytes of the words for a state, and steps of height in the past. */
enum { STATE_BYTES = 64, BLOCKS = 8 };

static const struct top_column columns[] = {
    {.head = "SERVER", .max = 20},
    {.head = "STATE", .max = 20},
    {.head = "CALLS/s", .drop = 1, .right = true},
    {.head = "HITS", .drop = 2, .right = true},
    {.head = "SAVED s/s", .drop = 3, .right = true},
    {.head = "TRIP", .drop = 4, .right = true},
    {.head = "LINK", .drop = 5, .right = true},
    {.head = "CLIENTS/s", .drop = 6, .right = true},
    {.head = "AHEAD", .drop = 7, .right = true},
    {.head = "QUEUE", .drop = 8, .right = true},
    {.head = "SAVED TODAY", .drop = 10, .right = true},
    {.head = "LAST 20 MIN", .drop = 9, .rest = true, .tail = true},
    {0},
};

/* ---- state ------------------------------------------------------------ */

/* Says whether calls ahead are held back: by a pause, or a metered link. Leaves
 * the text as it is where they are not. */
static enum top_style hold_of(
    const Forefetch__HoldStatus *hold, char text[STATE_BYTES])
{
	char age[CTL_TEXT_MAX];

	if (hold && hold->paused && hold->pause_left_us > 0)
		snprintf(text, STATE_BYTES, "up, paused %s",
		    ctl_text_duration(age, hold->pause_left_us));
	else if (hold && hold->paused)
		snprintf(text, STATE_BYTES, "up, paused");
	else if (hold && hold->metered)
		snprintf(text, STATE_BYTES, "up, metered");
	else
		return TOP_PLAIN;
	return TOP_WARN;
}

/* Writes the state in words, and returns its style. */
static enum top_style state_of(
    const struct top_server *srv, char text[STATE_BYTES])
{
	const Forefetch__ServerStatus *st = srv->status;
	char age[CTL_TEXT_MAX], word[CTL_TEXT_MAX];

	json_word(word, &forefetch__state__descriptor, (int)st->state);
	if (st->offline_active) {
		snprintf(text, STATE_BYTES, "offline %s",
		    ctl_text_duration(age, st->offline_age_us));
		return TOP_BAD;
	}
	if (st->state == FOREFETCH__STATE__IDLE) {
		snprintf(text, STATE_BYTES, "%s", word);
		return TOP_PLAIN;
	}
	if (st->state != FOREFETCH__STATE__UP) {
		snprintf(text, STATE_BYTES, "%s %s", word,
		    ctl_text_duration(age, st->state_age_us));
		return TOP_BAD;
	}
	snprintf(text, STATE_BYTES, "up");
	return hold_of(st->hold, text);
}

char *top_servers_trouble(const struct top_server *srv)
{
	const Forefetch__ServerStatus *st = srv->status;

	return ctl_text_clean(st->reason.data, st->reason.len);
}

/* ---- a server --------------------------------------------------------- */

/* A rate, or a dash where it is not known; of large ones no fraction. */
static void put_rate(struct top_table *t, bool known, double rate)
{
	if (!known)
		top_table_cell(t, "-");
	else
		top_table_cell(t, "%.*f", rate < 99.95 ? 1 : 0, rate);
}

/* Bytes a second. */
static void put_bytes(struct top_table *t, bool known, double rate)
{
	char buf[CTL_TEXT_MAX];

	top_table_cell(
	    t, "%s", known ? ctl_text_bytes(buf, (uint64_t)rate) : "-");
}

/* Puts a rate in bits, as links are sold, and as status and stats have it. */
static void put_link(struct top_table *t, bool known, double rate)
{
	char buf[CTL_TEXT_MAX];

	top_table_cell(
	    t, "%s", known ? ctl_text_rate(buf, (uint64_t)rate) : "-");
}

/* A share in percent. One of nearly all does not read 100%, so that a user does
 * not take a few misses for none. */
static void put_share(struct top_table *t, double share)
{
	if (share < 0)
		top_table_cell(t, "-");
	else
		/* A share of nearly all does not read 100%. */
		top_table_cell(t, "%.*f%%",
		    share > 0.99 && share<1, share> 0.999 && share < 1
			? 99.9
			: share * 100);
}

static void put_us(struct top_table *t, uint64_t us)
{
	char buf[CTL_TEXT_MAX];

	top_table_cell(t, "%s", us > 0 ? ctl_text_us(buf, us) : "-");
}

/* A block a sample, as high as its share of the highest one in the row: the
 * shape is what counts, the numbers are in other columns. */
static void put_past(struct top_table *t, const struct top_server *srv)
{
	static const char *const fine[BLOCKS] = {
	    "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[BLOCKS] = {
	    "_", ".", ":", "-", "=", "+", "*", "#"};
	const char *const *blocks = ctl_utf8() ? fine : plain;
	char text[TOP_PAST * 4] = "";
	double highest = 0;
	size_t len = 0;

	for (size_t i = 0; i < srv->npast; i++)
		if (srv->past[i] > highest)
			highest = srv->past[i];
	for (size_t i = 0; i < srv->npast; i++) {
		int level =
		    highest > 0
			? (int)(srv->past[i] / highest * (BLOCKS - 0.01))
			: 0;

		len += (size_t)snprintf(
		    text + len, sizeof(text) - len, "%s", blocks[level]);
	}
	top_table_cell(t, "%s", text);
}

/* Calls to the server that were sent, or wait to be, over all connections. */
static uint64_t queued(const Forefetch__ServerStatus *st)
{
	uint64_t n = 0;

	for (size_t i = 0; i < st->n_upstreams; i++)
		n += st->upstreams[i]->in_flight + st->upstreams[i]->queued;
	return n;
}

static void put_server(struct top_table *t, const struct top_server *srv)
{
	const struct top_rates *r = &srv->rates;
	char state[STATE_BYTES], buf[CTL_TEXT_MAX];

	top_table_row(t, state_of(srv, state));
	top_table_bytes(t, srv->status->name.data, srv->status->name.len);
	top_table_cell(t, "%s", state);
	put_rate(t, r->known, r->calls);
	put_share(t, r->hit_share);
	if (r->known)
		top_table_cell(
		    t, "%.*f", r->saved_s < 9.995 ? 2 : 1, r->saved_s);
	else
		top_table_cell(t, "-");
	put_us(t, srv->trip_us);
	put_link(t, r->known, r->link_bytes);
	put_bytes(t, r->known, r->client_bytes);
	put_share(t, r->ahead_share);
	top_table_cell(t, "%" PRIu64, queued(srv->status));
	top_table_cell(t, "%s",
	    srv->activity && srv->activity->saved_today_us > 0
		? ctl_text_duration(buf, srv->activity->saved_today_us)
		: "-");
	put_past(t, srv);
}

/* A mount that shares its file system with others is written once, with their
 * number. */
static void put_mount(struct top_table *t, const Forefetch__MountUse *m,
    const struct top_mount_rates *r)
{
	char *path = ctl_text_clean(m->export_path.data, m->export_path.len);

	top_table_row(t, TOP_PLAIN);
	if (m->others > 0)
		top_table_cell(
		    t, "  %s (+%" PRIu32 ")", path ? path : "", m->others);
	else
		top_table_cell(t, "  %s", path ? path : "");
	free(path);
	top_table_cell(t, "%s", "");
	put_rate(t, r->known, r->calls);
	put_share(t, r->hit_share);
	for (int i = 0; i < 3; i++)
		top_table_cell(t, "%s", "");
	put_bytes(t, r->known, r->bytes);
}

struct top_table *top_servers_table(
    const struct top_model *m, const struct top_look *look)
{
	struct top_table *t = top_table_new(columns);
	size_t order[TOP_SERVERS_MAX];

	top_look_order(m, look, order);
	for (size_t i = 0; i < m->nservers; i++) {
		const struct top_server *srv = &m->servers[order[i]];

		if (look->server >= 0 && (size_t)look->server != order[i])
			continue;
		put_server(t, srv);
		for (size_t k = 0; srv->mounts && k < srv->activity->n_mounts;
		     k++)
			put_mount(t, srv->activity->mounts[k], &srv->mounts[k]);
	}
	return t;
}
