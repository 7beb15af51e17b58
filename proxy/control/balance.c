/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sums of a server in a file. The daemon makes one for each server, has
 * balance_tick() called every second or so, and asks balance_get() for
 * `forefetch stats`. What is added is always the difference between two
 * readings of history_get_totals(), which begin at 0 with each start, so a
 * day's sum over several starts is right.
 */
#include "control/balance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xxhash.h>

#include "base/log.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "control/history.h"

/* The version of the line, how many numbers a set of sums has, and the
 * characters of one number with the blank in front of it. */
enum { VERSION = 1, NUMBERS = 7, DIGITS_MAX = 21 };
_Static_assert(sizeof(struct balance_sums) == NUMBERS * sizeof(uint64_t),
    "a set of sums is as many numbers");
_Static_assert(
    (BALANCE_DAYS + 1) * NUMBERS * DIGITS_MAX + 40 < BALANCE_TEXT_MAX,
    "a line has room for all of them");

struct balance {
	struct statedir *sd;
	const char *server;
	struct history *history;
	/* The totals of this run that are in `kept` already. */
	struct history_totals counted;
	struct balance_kept kept;
	/* When the file was written, or was found unchanged. */
	uint64_t saved_us;
	/* The file may be written: the disk answered when the server was
	 * opened, and the file was readable or not there. */
	bool on_disk;
	/* `kept` differs from the file. */
	bool changed;
};

/* ---- the line ----------------------------------------------------------- */

/* Appends a set of sums at the offset `at`; returns the offset behind it. */
static size_t put_sums(char *text, size_t at, const struct balance_sums *s)
{
	const uint64_t v[NUMBERS] = {s->day, s->calls, s->spared, s->saved_us,
	    s->added_us, s->returned_bytes, s->received_bytes};

	for (size_t i = 0; i < NUMBERS; i++)
		at += (size_t)snprintf(
		    text + at, BALANCE_TEXT_MAX - at, " %" PRIu64, v[i]);
	return at;
}

/* Reads a set of sums; returns the place behind it, or NULL where there are too
 * few numbers. */
static const char *take_sums(const char *p, struct balance_sums *s)
{
	uint64_t v[NUMBERS];
	char *end;

	for (size_t i = 0; i < NUMBERS; i++) {
		v[i] = strtoull(p, &end, 10);
		if (end == p)
			return NULL;
		p = end;
	}
	*s = (struct balance_sums){v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
	return p;
}

void balance_format(
    const struct balance_kept *kept, char text[BALANCE_TEXT_MAX])
{
	size_t at = (size_t)snprintf(
	    text, BALANCE_TEXT_MAX, "%d %zu", VERSION, kept->n);

	at = put_sums(text, at, &kept->all);
	for (size_t i = 0; i < kept->n; i++)
		at = put_sums(text, at, &kept->days[i]);
	snprintf(text + at, BALANCE_TEXT_MAX - at, " %016" PRIx64,
	    (uint64_t)XXH3_64bits(text, at));
}

bool balance_parse(const char *text, struct balance_kept *kept)
{
	char again[BALANCE_TEXT_MAX];
	const char *p;
	int version, len;

	*kept = (struct balance_kept){0};
	if (sscanf(text, "%d %zu%n", &version, &kept->n, &len) != 2 ||
	    version != VERSION || kept->n > BALANCE_DAYS)
		return false;
	p = take_sums(text + len, &kept->all);
	for (size_t i = 0; p && i < kept->n; i++)
		p = take_sums(p, &kept->days[i]);
	if (!p)
		return false;
	/* A line that is not what would be written for it is damaged. */
	balance_format(kept, again);
	return strcmp(text, again) == 0;
}

/* ---- sums --------------------------------------------------------------- */

/* All but the day, which tells the two apart. */
static void sums_add(struct balance_sums *to, const struct balance_sums *news)
{
	to->calls += news->calls;
	to->spared += news->spared;
	to->saved_us += news->saved_us;
	to->added_us += news->added_us;
	to->returned_bytes += news->returned_bytes;
	to->received_bytes += news->received_bytes;
}

/* The sums of a day, made where they are missing. The clock may have been set:
 * then days come in any order, and the oldest one gives way. A day that is
 * older than all that are kept is added to the oldest of these rather than
 * lost. */
static struct balance_sums *day_of(struct balance_kept *kept, uint64_t day)
{
	size_t i = kept->n;

	while (i > 0 && kept->days[i - 1].day > day)
		i--;
	if (i > 0 && kept->days[i - 1].day == day)
		return &kept->days[i - 1];
	if (kept->n == BALANCE_DAYS && i == 0)
		return &kept->days[0];
	if (kept->n == BALANCE_DAYS) {
		i--;
		memmove(kept->days, kept->days + 1, i * sizeof(kept->days[0]));
	} else {
		memmove(kept->days + i + 1, kept->days + i,
		    (kept->n - i) * sizeof(kept->days[0]));
		kept->n++;
	}
	kept->days[i] = (struct balance_sums){.day = day};
	return &kept->days[i];
}

void balance_add(struct balance_kept *kept, const struct balance_sums *news)
{
	if (kept->all.day == 0 || news->day < kept->all.day)
		kept->all.day = news->day;
	sums_add(&kept->all, news);
	sums_add(day_of(kept, news->day), news);
}

/* The day of local time as the number 20261231; 0 where the system cannot
 * say. */
static uint64_t today(void)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return 0;
	return (uint64_t)(tm.tm_year + 1900) * 10000 +
	       (uint64_t)(tm.tm_mon + 1) * 100 + (uint64_t)tm.tm_mday;
}

/* Adds what happened since the last count. A run that crosses midnight is
 * counted on the day on which it is looked at, which is at most a minute
 * off. */
static void count(struct balance *b)
{
	struct history_totals now, was = b->counted;
	struct balance_sums news;

	history_get_totals(b->history, &now);
	if (now.calls == was.calls)
		return;
	news = (struct balance_sums){.day = today(),
	    .calls = now.calls - was.calls,
	    .spared = now.spared - was.spared,
	    .saved_us = now.saved_us - was.saved_us,
	    .added_us = now.added_us - was.added_us,
	    .returned_bytes = now.returned_bytes - was.returned_bytes,
	    .received_bytes = now.received_bytes - was.received_bytes};
	balance_add(&b->kept, &news);
	b->counted = now;
	b->changed = true;
}

/* ---- the file ----------------------------------------------------------- */

/* A file that is damaged or of another version is set aside, so that an
 * administrator can look at it and a later release's numbers are not lost by a
 * downgrade. If the file cannot be read at all, the sums of this run are not
 * written either: they would replace numbers that may be good. */
static void load(struct balance *b, struct statefile_text *text)
{
	const char *line = statefile_first_line(text);

	b->on_disk = line || text->error == -ENOENT || text->error == -EBADMSG;
	if (!b->on_disk || text->error == -ENOENT ||
	    (line && balance_parse(line, &b->kept)))
		return;
	b->kept = (struct balance_kept){0};
	log_warn("balance server=%s: the file " BALANCE_FILE
		 " is damaged: it is set aside as " BALANCE_FILE ".damaged",
	    b->server);
	statedir_set_aside(b->sd, b->server, BALANCE_FILE);
}

/* Has the line written if something has changed. statedir logs a failure; the
 * line is written again when the sums change next. */
static void save(struct balance *b)
{
	char text[BALANCE_TEXT_MAX];

	if (!b->changed || !b->on_disk)
		return;
	b->changed = false;
	balance_format(&b->kept, text);
	statedir_save_line(b->sd, b->server, BALANCE_FILE, text);
}

struct balance *balance_new(struct statedir *sd, const char *server,
    struct history *h, struct statefile_text *text)
{
	struct balance *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->sd = sd;
	b->server = server;
	b->history = h;
	if (text)
		load(b, text);
	return b;
}

void balance_tick(struct balance *b, uint64_t now_us)
{
	if (now_us < b->saved_us + BALANCE_SAVED_US)
		return;
	b->saved_us = now_us;
	count(b);
	save(b);
}

const struct balance_kept *balance_get(struct balance *b)
{
	count(b);
	return &b->kept;
}

void balance_free(struct balance *b)
{
	if (!b)
		return;
	count(b);
	save(b);
	free(b);
}
