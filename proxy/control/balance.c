/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sums of a server in files. The daemon makes one for each server, has
 * balance_tick() called every second or so, and asks balance_get() for
 * `forefetch stats`. What is added is always the difference between two
 * readings of history_get_totals(), which begin at 0 with each start, so a
 * day's sum over several starts is right; and of mounts, what
 * mountuse_take() tells.
 */
#include "control/balance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "control/history.h"
#include "explain/mountuse.h"

/* One of the two files. */
struct kept_file {
	const char *name;
	/* It may be written: the disk answered when the server was opened, and
	 * the file was readable or not there. */
	bool on_disk;
	/* The sums differ from it. */
	bool changed;
};

struct balance {
	struct statedir *sd;
	const char *server;
	struct history *history;
	struct caches *caches;
	/* The totals of this run that are in `kept` already. */
	struct history_totals counted;
	struct balance_kept kept;
	struct balance_mounts mounts;
	struct kept_file totals_file, mounts_file;
	/* When the files were written, or were found unchanged. */
	uint64_t saved_us;
};

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

/* The row of a path, or else of the file system, on which several exports may
 * be: the row keeps the path that it had first. A path that has come to lead to
 * another file system keeps its row. */
static struct balance_mount *row_with(
    struct balance_mounts *m, uint64_t fsid, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->rows[i].path, path) == 0)
			return &m->rows[i];
	for (size_t i = 0; i < m->n; i++)
		if (m->rows[i].fsid == fsid)
			return &m->rows[i];
	return NULL;
}

/* A row for one more. If there are enough, the one gives way that was used last
 * on the earliest day, unless that is this day; then there is none. */
static struct balance_mount *row_free(struct balance_mounts *m, uint64_t day)
{
	struct balance_mount *oldest = &m->rows[0];

	if (m->n < BALANCE_MOUNTS)
		return &m->rows[m->n++];
	for (size_t i = 1; i < m->n; i++)
		if (m->rows[i].last_day < oldest->last_day)
			oldest = &m->rows[i];
	return oldest->last_day < day ? oldest : NULL;
}

void balance_mounts_note(
    struct balance_mounts *kept, uint64_t fsid, const char *path, uint64_t day)
{
	struct balance_mount *row = row_with(kept, fsid, path);

	if (!row) {
		row = row_free(kept, day);
		if (!row)
			return;
		*row = (struct balance_mount){.day = day, .last_day = day};
		strcpy(row->path, path);
	}
	row->fsid = fsid;
}

/* Adds what happened since the last count. A run that crosses midnight is
 * counted on the day on which it is looked at, which is at most a minute
 * off. */
static void count_all(struct balance *b, uint64_t day)
{
	struct history_totals now, was = b->counted;
	struct balance_sums news;

	history_get_totals(b->history, &now);
	if (now.calls == was.calls)
		return;
	news = (struct balance_sums){.day = day,
	    .calls = now.calls - was.calls,
	    .spared = now.spared - was.spared,
	    .saved_us = now.saved_us - was.saved_us,
	    .added_us = now.added_us - was.added_us,
	    .returned_bytes = now.returned_bytes - was.returned_bytes,
	    .received_bytes = now.received_bytes - was.received_bytes};
	balance_add(&b->kept, &news);
	b->counted = now;
	b->totals_file.changed = true;
}

/* Adds the news of each row, and first makes rows for what was mounted. A file
 * system that is not mounted any more, or of which the caches have forgotten
 * that, keeps its row and goes on in it. */
static void count_mounts(struct balance *b, uint64_t day)
{
	struct mountuse seen[MOUNTUSE_MAX], news;
	size_t n = mountuse_list(b->caches, seen);
	char path[BALANCE_MOUNT_PATH + 1];

	for (size_t i = 0; i < n; i++) {
		if (seen[i].path_len == 0 || seen[i].path_len >= sizeof(path) ||
		    memchr(seen[i].path, 0, seen[i].path_len))
			continue;
		memcpy(path, seen[i].path, seen[i].path_len);
		path[seen[i].path_len] = '\0';
		balance_mounts_note(&b->mounts, seen[i].fsid, path, day);
	}
	for (size_t i = 0; i < b->mounts.n; i++) {
		struct balance_mount *row = &b->mounts.rows[i];

		if (!mountuse_take(b->caches, row->fsid, &news))
			continue;
		row->last_day = day;
		row->calls += news.calls;
		if (news.calls > news.changes + news.asked)
			row->spared += news.calls - news.changes - news.asked;
		row->returned_bytes += news.bytes;
		b->mounts_file.changed = true;
	}
}

static void count(struct balance *b)
{
	uint64_t day = today();

	count_all(b, day);
	if (b->caches)
		count_mounts(b, day);
}

/* ---- the files ---------------------------------------------------------- */

/* Takes up what a file held; returns its line, or NULL. If the file cannot be
 * read at all, the sums of this run are not written either: they would replace
 * numbers that may be good. */
static const char *file_take(
    struct kept_file *f, const char *name, struct statefile_text *text)
{
	const char *line = statefile_first_line(text);

	*f = (struct kept_file){.name = name};
	f->on_disk =
	    line ||
	    (text && (text->error == -ENOENT || text->error == -EBADMSG));
	return line;
}

/* A file that is damaged or of another version is set aside, so that an
 * administrator can look at it and a later release's numbers are not lost by a
 * downgrade. */
static void file_set_aside(struct balance *b, const struct kept_file *f)
{
	log_warn("balance server=%s: the file %s is damaged: it is set aside "
		 "as %s.damaged",
	    b->server, f->name, f->name);
	statedir_set_aside(b->sd, b->server, f->name);
}

static bool is_no_file(const struct statefile_text *text)
{
	return text && text->error == -EBADMSG;
}

static void load(struct balance *b, const struct balance_params *p)
{
	const char *line = file_take(&b->totals_file, BALANCE_FILE, p->totals);

	if (is_no_file(p->totals) || (line && !balance_parse(line, &b->kept))) {
		b->kept = (struct balance_kept){0};
		file_set_aside(b, &b->totals_file);
	}
	line = file_take(&b->mounts_file, BALANCE_MOUNTS_FILE, p->mounts);
	if (is_no_file(p->mounts) ||
	    (line && !balance_mounts_parse(line, &b->mounts))) {
		b->mounts = (struct balance_mounts){0};
		file_set_aside(b, &b->mounts_file);
	}
}

/* Has a line written where its sums have changed. statedir logs a failure; the
 * line is written again when the sums change next. */
static void save(struct balance *b)
{
	char text[BALANCE_MOUNTS_TEXT_MAX];

	_Static_assert(sizeof(text) >= BALANCE_TEXT_MAX, "it has both lines");
	if (b->totals_file.changed && b->totals_file.on_disk) {
		balance_format(&b->kept, text);
		statedir_save_line(b->sd, b->server, BALANCE_FILE, text);
	}
	if (b->mounts_file.changed && b->mounts_file.on_disk) {
		balance_mounts_format(&b->mounts, text);
		statedir_save_line(b->sd, b->server, BALANCE_MOUNTS_FILE, text);
	}
	b->totals_file.changed = b->mounts_file.changed = false;
}

struct balance *balance_new(const struct balance_params *p)
{
	struct balance *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->sd = p->state;
	b->server = p->server;
	b->history = p->history;
	b->caches = p->caches;
	load(b, p);
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

const struct balance_mounts *balance_get_mounts(const struct balance *b)
{
	return &b->mounts;
}

void balance_free(struct balance *b)
{
	if (!b)
		return;
	count(b);
	save(b);
	free(b);
}
