/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page: a line about the daemon, the servers, then the sections, one under
 * the other or, on a wide page, in two columns, or one alone; at the bottom the
 * keys. Every function here takes rows off an area from above and returns or
 * notes how many, so that none has to know the whole. */
#include "top/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/ctl_text.h"
#include "text/json.h"
#include "top/top_text.h"
#include "top/top_view_private.h"

enum {
	TWO_COLUMNS = 160, /* from this width on */
	BETWEEN = 3,       /* blanks between two columns */
	KEYS_ROWS = 12,    /* a lower page has no line of keys */
	STEADY_ROWS = 4,   /* for each section: then all keep their places */
	BLOCK_ROWS = 14,   /* at most, of a section in a block of text */
	GAP_ROWS = 6,      /* a section of so many ends with a blank line */
};

/* A server that is not there any more counts as all. */
struct top_range top_look_range(
    const struct top_model *m, const struct top_look *look)
{
	if (look->server >= 0 && (size_t)look->server < m->nservers)
		return (struct top_range){
		    (size_t)look->server, (size_t)look->server + 1};
	return (struct top_range){0, m->nservers};
}

/* Greater values stand first; 0 for all keeps the order of the
 * configuration. */
static double sort_value(const struct top_server *srv, enum top_sort sort)
{
	switch (sort) {
	case TOP_SORT_CALLS:
		return srv->rates.calls;
	case TOP_SORT_LINK:
		return srv->rates.link_bytes;
	case TOP_SORT_WAITS:
		return srv->rates.waited_s;
	default:
		return 0;
	}
}

/* An insertion sort: there are few servers, and equal ones keep their order. */
void top_look_order(
    const struct top_model *m, const struct top_look *look, size_t *order)
{
	for (size_t i = 0; i < m->nservers; i++) {
		double value = sort_value(&m->servers[i], look->sort);
		size_t k = i;

		for (; k > 0 && sort_value(&m->servers[order[k - 1]],
				    look->sort) < value;
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* ---- first and last line ---------------------------------------------- */

static void draw_first(
    struct top_page *p, const struct top_model *m, const struct top_look *look)
{
	const Forefetch__Status *st = m->sample ? m->sample->status : NULL;
	int columns = top_page_columns(p), at;
	char text[192], age[CTL_TEXT_MAX], farm[CTL_TEXT_MAX] = "";
	char *version =
	    st ? ctl_text_clean(st->version, strlen(st->version)) : NULL;
	int clock = top_text_columns(look->clock);

	at = top_page_put(p, 0, 0, columns, TOP_TITLE, "forefetch top");
	text[0] = '\0';
	if (st && st->farm)
		json_word(farm, &forefetch__farm_status__state__descriptor,
		    (int)st->farm->state);
	if (look->paused)
		snprintf(text, sizeof(text), "  DISPLAY PAUSED");
	else if (st)
		snprintf(text, sizeof(text),
		    "  %zu server%s, forefetchd %s up %s%s%s", m->nservers,
		    m->nservers == 1 ? "" : "s", version ? version : "",
		    ctl_text_duration(age, st->uptime_us),
		    st->farm ? ", farm " : "", farm);
	free(version);
	(void)top_page_put(p, 0, at, columns - at - clock - 1,
	    look->paused ? TOP_WARN : TOP_PLAIN, text);
	(void)top_page_put(p, 0, columns - clock, clock, TOP_DIM, look->clock);
}

/* The text that is being typed, or the keys and what they are set to. */
static void draw_keys(
    struct top_page *p, const struct top_model *m, const struct top_look *look)
{
	static const char *const sorts[TOP_SORTS] = {
	    "name", "calls", "link", "waits"};
	char text[256], *name = NULL;
	char *filter =
	    ctl_text_clean((const uint8_t *)look->filter, strlen(look->filter));
	bool has = filter && *filter;

	if (look->server >= 0)
		name =
		    ctl_text_clean(m->servers[look->server].status->name.data,
			m->servers[look->server].status->name.len);
	if (look->typing)
		snprintf(text, sizeof(text), "Rows with: %s_  Enter, or Esc",
		    filter ? filter : "");
	else if (look->shown != TOP_ALL)
		snprintf(text, sizeof(text),
		    "/ rows%s%s  q quit  h help  Tab section  s sort: %s  "
		    "%s row  Enter %s",
		    has ? " with: " : "", has ? filter : "",
		    top_sections_order(look), ctl_utf8() ? "↑↓" : "arrows",
		    look->details ? "list" : "details");
	else
		snprintf(text, sizeof(text),
		    "/ rows%s%s  q quit  h help  Tab section  p pause  w %s  "
		    "s sort: %s  %s server: %s",
		    has ? " with: " : "", has ? filter : "",
		    look->wide ? "all columns" : "widen", sorts[look->sort],
		    ctl_utf8() ? "←→" : "arrows", name ? name : "all");
	free(name);
	free(filter);
	(void)top_page_put(
	    p, top_page_rows(p) - 1, 0, top_page_columns(p), TOP_DIM, text);
}

/* ---- sections --------------------------------------------------------- */

/* Rows that a section takes where there is room: title, heads, rows. */
static int wanted(const struct top_section *s)
{
	int n = (int)top_table_rows(s->table);

	return n > 0 ? n + 2 : 1;
}

/*
 * Share out the rows of a column of sections. On a page that is high enough,
 * a section stays where it is when the one above it gets shorter; only who
 * waits, which changes seldom, takes no more than it has. On a lower page there
 * is a title each, then heads and a row each, then the rest in turns.
 */
static void share_rows(
    struct top_section *const *list, int n, int rows, int given[TOP_SHOWN])
{
	bool high = rows >= n * STEADY_ROWS;

	for (int i = 0; high && i < n; i++) {
		int most = wanted(list[i]) + 1;

		given[i] = rows / (n - i);
		if (list[i]->steady) {
			given[i] = n > 2 ? rows / 3 : rows / 2;
			given[i] = most < given[i] ? most : given[i];
		}
		rows -= given[i];
	}
	if (high)
		return;
	for (int i = 0; i < n; i++) {
		given[i] = rows > 0;
		rows -= given[i];
	}
	for (int i = 0; i < n; i++)
		if (wanted(list[i]) > 1 && rows >= 2) {
			given[i] += 2;
			rows -= 2;
		}
	for (bool more = true; more && rows > 0;) {
		more = false;
		for (int i = 0; i < n && rows > 0; i++) {
			if (given[i] < 3 || given[i] >= wanted(list[i]))
				continue;
			given[i]++;
			rows--;
			more = true;
		}
	}
}

/* Draws a title and a remark behind it; returns the area below. */
static struct top_area draw_title(struct top_page *p,
    const struct top_section *s, const struct top_area *area)
{
	struct top_area below = *area;
	int at = top_page_put(
	    p, area->row, area->column, area->columns, TOP_TITLE, s->title);

	(void)top_page_put(p, area->row, area->column + at + 2,
	    area->columns - at - 2, TOP_DIM, s->remark);
	below.row++;
	below.rows--;
	return below;
}

/* A title, and the table below, in the rows of the area. */
static void draw_section(struct top_page *p, const struct top_section *s,
    const struct top_area *area, bool wide)
{
	struct top_area below = draw_title(p, s, area);

	if (top_table_rows(s->table) > 0)
		(void)top_table_draw(s->table, p, &below, wide);
}

/* The same with a cursor, or one row of it whole. */
static void draw_alone(struct top_page *p, const struct top_section *s,
    const struct top_area *area, struct top_look *look)
{
	struct top_area below = draw_title(p, s, area);
	size_t n = top_table_rows(s->table);

	look->rows = n;
	if (look->row >= n)
		look->row = n > 0 ? n - 1 : 0;
	if (n == 0)
		(void)top_page_put(p, below.row, below.column, below.columns,
		    TOP_DIM, *look->filter ? "no row has the text" : "nothing");
	else if (look->details)
		top_table_draw_row(s->table, p, &below, look->row);
	else
		(void)top_table_draw_at(
		    s->table, p, &below, look->wide, look->row);
}

/* Rows of each section in a block of text: as many as it has, if these are not
 * too many. There is no page whose end they could meet. */
static void take_wanted(
    struct top_section *const *list, int n, int given[TOP_SHOWN])
{
	for (int i = 0; i < n; i++)
		given[i] = (wanted(list[i]) < BLOCK_ROWS ? wanted(list[i])
							 : BLOCK_ROWS) +
			   1;
}

/* Draws sections one under the other. */
static void draw_column(struct top_page *p, struct top_section *const *list,
    int n, struct top_area area, const struct top_look *look)
{
	int given[TOP_SHOWN];
	bool gap;

	if (look->block)
		take_wanted(list, n, given);
	else
		share_rows(list, n, area.rows, given);
	for (int i = 0; i < n; i++) {
		/* A blank line between two. */
		gap = look->block || (i + 1 < n && given[i] >= GAP_ROWS);
		area.rows = given[i] - gap;
		if (area.rows > 0)
			draw_section(p, list[i], &area, look->wide);
		area.row += given[i];
	}
}

/* Who waits and their calls stand together, and so do predictions and what
 * became of them. */
static void draw_sections(struct top_page *p, const struct top_model *m,
    struct top_look *look, struct top_area area)
{
	struct top_section all[TOP_SHOWN];
	struct top_section *list[] = {&all[TOP_WAITERS], &all[TOP_CALLS],
	    &all[TOP_AHEAD], &all[TOP_OUTCOMES]};
	struct top_area left = area;

	if (area.rows < 1)
		return;
	top_sections_make(all, m, look);
	if (look->shown != TOP_ALL) {
		draw_alone(p, &all[look->shown], &area, look);
	} else if (area.columns < TWO_COLUMNS || look->wide || look->block) {
		draw_column(
		    p, list, sizeof(list) / sizeof(list[0]), area, look);
	} else {
		left.columns = (area.columns - BETWEEN) / 2;
		draw_column(p, list, 2, left, look);
		area.column += left.columns + BETWEEN;
		area.columns -= left.columns + BETWEEN;
		draw_column(p, list + 2, 2, area, look);
	}
	top_sections_free(all);
}

/* ---- lines of text ------------------------------------------------------ */

/* The bytes of a text that fit into `columns`, cut at a blank if there is
 * one. */
static size_t fitting(const char *text, int columns)
{
	size_t len = top_text_fitting(text, columns);
	size_t blank = text[len] && len > 0 ? len - 1 : 0;

	while (blank > 0 && text[blank] != ' ')
		blank--;
	return blank > 0 ? blank : len;
}

/* Draws a text over at most two rows; returns how many it took. */
static int draw_text(struct top_page *p, const struct top_area *area,
    enum top_style style, const char *text)
{
	size_t n = area->rows > 1 ? fitting(text, area->columns) : strlen(text);
	char *first = strndup(text, n);

	if (!first || area->rows < 1) {
		free(first);
		return 0;
	}
	(void)top_page_put(
	    p, area->row, area->column, area->columns, style, first);
	free(first);
	if (!text[n])
		return 1;
	(void)top_page_put(p, area->row + 1, area->column + 2,
	    area->columns - 2, style, text + n + (text[n] == ' '));
	return 2;
}

/* Takes rows off the area from above. */
static void take_rows(struct top_area *area, int rows)
{
	area->row += rows;
	area->rows -= rows;
}

/* ---- the page --------------------------------------------------------- */

/* A line for each server that is not in order, with the reason; returns how
 * many rows they took. */
static int draw_troubles(struct top_page *p, const struct top_model *m,
    const struct top_look *look, struct top_area area)
{
	struct top_range in = top_look_range(m, look);
	int rows = area.rows;

	for (size_t i = in.first; i < in.end && area.rows > 0; i++) {
		char *why = top_servers_trouble(&m->servers[i]);
		char *name = ctl_text_clean(m->servers[i].status->name.data,
		    m->servers[i].status->name.len);
		char text[512];

		if (why && *why) {
			snprintf(text, sizeof(text), "%s: %s", name ? name : "",
			    why);
			take_rows(&area, draw_text(p, &area, TOP_BAD, text));
		}
		free(why);
		free(name);
	}
	return rows - area.rows;
}

/* Draws the table of servers, on no more than a part of the page, so that room
 * is left for the sections. */
static void draw_servers(struct top_page *p, const struct top_model *m,
    const struct top_look *look, struct top_area *area)
{
	struct top_table *t = top_servers_table(m, look);
	struct top_area part = *area;
	int most = area->rows / 2 < 4 ? 4 : area->rows / 2, took;

	if (part.rows > most)
		part.rows = most;
	took = top_table_draw(t, p, &part, false);
	if ((int)top_table_rows(t) + 1 > took && took > 1) {
		char text[64];

		snprintf(text, sizeof(text), "... and %d more",
		    (int)top_table_rows(t) + 2 - took);
		(void)top_page_put(
		    p, part.row + took - 1, 0, part.columns, TOP_DIM, text);
	}
	take_rows(area, took);
	top_table_free(t);
	part = *area;
	part.rows = part.rows / 3;
	take_rows(area, draw_troubles(p, m, look, part));
}

/* Says that the daemon is away, and that the page is an old one. */
static void draw_away(
    struct top_page *p, const struct top_model *m, struct top_area *area)
{
	char text[320];

	if (!m->away || area->rows < 1)
		return;
	snprintf(text, sizeof(text), "forefetchd is away: %s", m->why);
	take_rows(area, draw_text(p, area, TOP_BAD, text));
	if (area->rows < 1)
		return;
	(void)top_page_put(p, area->row, 0, area->columns, TOP_DIM,
	    m->sample ? "This was the last state; it continues when forefetchd "
			"is back."
		      : "It continues when forefetchd is running.");
	take_rows(area, 1);
}

/* Keys and words of the page, in the place of the sections. */
static void draw_help(struct top_page *p, struct top_area area)
{
	static const char *const lines[] = {
	    "q  quit            p  pause the display     h  this help",
	    "s  sort            w  room for long names   arrows  one server",
	    "Tab  one section, then the next; up and down choose a row there",
	    "Enter  all of that row    /  rows with a text    Esc  back",
	    "",
	    "HITS       calls that the caches answered",
	    "SAVED s/s  seconds of waiting saved, each second",
	    "TRIP       round trip to the server",
	    "LINK       traffic from and to the server, in bits",
	    "CLIENTS/s  bytes to clients",
	    "AHEAD      share of the bytes that was fetched ahead",
	    "QUEUE      calls to the server that are not answered yet",
	    "SURE       probability, by the predictor",
	    "FROM       source of the prediction",
	    "WHY        not cached; expired: confirmed too long ago;",
	    "           goes through: changes, WRITE, COMMIT;",
	    "           on its way: it was being fetched ahead already;",
	    "           link busy, server slow: it took longer than usual",
	    "#1234abcd  its name is unknown, or you may not see it",
	};

	for (int i = 0;
	     i < (int)(sizeof(lines) / sizeof(lines[0])) && i < area.rows; i++)
		(void)top_page_put(p, area.row + i, area.column, area.columns,
		    TOP_PLAIN, lines[i]);
}

void top_view_draw(
    struct top_page *p, const struct top_model *m, struct top_look *asked)
{
	struct top_look look = *asked;
	struct top_area area = {.row = 1,
	    .rows = top_page_rows(p) - 1,
	    .columns = top_page_columns(p)};

	if (look.server >= (int)m->nservers)
		look.server = -1;
	draw_first(p, m, &look);
	if (look.keys && (top_page_rows(p) >= KEYS_ROWS || look.typing)) {
		draw_keys(p, m, &look);
		area.rows--;
	}
	draw_away(p, m, &area);
	if (look.help) {
		take_rows(&area, area.rows > 10);
		draw_help(p, area);
		return;
	}
	if (m->nservers > 0)
		draw_servers(p, m, &look, &area);
	else if (m->sample)
		(void)top_page_put(p, area.row, 0, area.columns, TOP_DIM,
		    "no server is configured");
	if (m->nservers == 0)
		return;
	if (area.rows > 6)
		take_rows(&area, 1);
	draw_sections(p, m, &look, area);
	asked->row = look.row;
	asked->rows = look.rows;
}

struct top_page *top_view_page(
    const struct top_model *m, struct top_look *look, int columns, int rows)
{
	struct top_page *p = top_page_new(columns, rows);
	time_t now = time(NULL);
	char clock[16] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	look->clock = clock;
	if (p)
		top_view_draw(p, m, look);
	look->clock = NULL;
	return p;
}
