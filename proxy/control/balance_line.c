/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of the two files of balance.h: numbers and paths, with a checksum
 * behind them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "control/balance.h"

/* The version of both lines; how many numbers a set of sums has, and a mount;
 * and the characters of one number with the blank in front of it. */
enum { VERSION = 1, SUMS = 7, MOUNT = 6, DIGITS_MAX = 21 };
_Static_assert(sizeof(struct balance_sums) == SUMS * sizeof(uint64_t),
    "a set of sums is as many numbers");
_Static_assert((BALANCE_DAYS + 1) * SUMS * DIGITS_MAX + 40 < BALANCE_TEXT_MAX,
    "a line has room for all days");
_Static_assert(
    BALANCE_MOUNTS *(MOUNT *DIGITS_MAX + 1 + 2 * BALANCE_MOUNT_PATH) + 40 <
	BALANCE_MOUNTS_TEXT_MAX,
    "a line has room for all mounts");

/* A line that is being written. */
struct line_text {
	char *text;
	size_t max, len;
};

static struct line_text line_begin(char *text, size_t max, size_t n)
{
	return (struct line_text){
	    text, max, (size_t)snprintf(text, max, "%d %zu", VERSION, n)};
}

static void put_numbers(struct line_text *l, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l->len += (size_t)snprintf(
		    l->text + l->len, l->max - l->len, " %" PRIu64, v[i]);
}

static void line_seal(struct line_text *l)
{
	snprintf(l->text + l->len, l->max - l->len, " %016" PRIx64,
	    (uint64_t)XXH3_64bits(l->text, l->len));
}

/* Reads version and count; returns the place behind them, or NULL where the
 * line is of another version or has more than `most`. */
static const char *take_head(const char *text, size_t most, size_t *n)
{
	int version, len;

	if (sscanf(text, "%d %zu%n", &version, n, &len) != 2 ||
	    version != VERSION || *n > most)
		return NULL;
	return text + len;
}

/* Reads numbers; returns the place behind them, or NULL where there are too
 * few. */
static const char *take_numbers(const char *p, uint64_t *v, size_t n)
{
	char *end;

	for (size_t i = 0; i < n; i++) {
		v[i] = strtoull(p, &end, 10);
		if (end == p)
			return NULL;
		p = end;
	}
	return p;
}

/* ---- days --------------------------------------------------------------- */

static void put_sums(struct line_text *l, const struct balance_sums *s)
{
	const uint64_t v[SUMS] = {s->day, s->calls, s->spared, s->saved_us,
	    s->added_us, s->returned_bytes, s->received_bytes};

	put_numbers(l, v, SUMS);
}

static const char *take_sums(const char *p, struct balance_sums *s)
{
	uint64_t v[SUMS];

	p = take_numbers(p, v, SUMS);
	if (p)
		*s = (struct balance_sums){
		    v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
	return p;
}

void balance_format(
    const struct balance_kept *kept, char text[BALANCE_TEXT_MAX])
{
	struct line_text l = line_begin(text, BALANCE_TEXT_MAX, kept->n);

	put_sums(&l, &kept->all);
	for (size_t i = 0; i < kept->n; i++)
		put_sums(&l, &kept->days[i]);
	line_seal(&l);
}

bool balance_parse(const char *text, struct balance_kept *kept)
{
	char again[BALANCE_TEXT_MAX];
	const char *p;

	*kept = (struct balance_kept){0};
	p = take_head(text, BALANCE_DAYS, &kept->n);
	if (p)
		p = take_sums(p, &kept->all);
	for (size_t i = 0; p && i < kept->n; i++)
		p = take_sums(p, &kept->days[i]);
	if (!p)
		return false;
	/* A line that is not what would be written for it is damaged. */
	balance_format(kept, again);
	return strcmp(text, again) == 0;
}

/* ---- mounts ------------------------------------------------------------- */

static const char digits[] = "0123456789abcdef";

static void put_mount(struct line_text *l, const struct balance_mount *m)
{
	const uint64_t v[MOUNT] = {m->fsid, m->day, m->last_day, m->calls,
	    m->spared, m->returned_bytes};

	put_numbers(l, v, MOUNT);
	l->text[l->len++] = ' ';
	for (const char *c = m->path; *c; c++) {
		l->text[l->len++] = digits[(unsigned char)*c >> 4];
		l->text[l->len++] = digits[(unsigned char)*c & 15];
	}
	l->text[l->len] = '\0';
}

/* The value of a digit; -1: it is none. */
static int digit_of(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static const char *take_mount(const char *p, struct balance_mount *m)
{
	uint64_t v[MOUNT];
	size_t n = 0;

	p = take_numbers(p, v, MOUNT);
	if (!p || *p++ != ' ')
		return NULL;
	*m = (struct balance_mount){v[0], v[1], v[2], v[3], v[4], v[5], ""};
	for (; n < BALANCE_MOUNT_PATH && digit_of(p[0]) >= 0 &&
	       digit_of(p[1]) >= 0;
	     p += 2)
		m->path[n++] = (char)(digit_of(p[0]) << 4 | digit_of(p[1]));
	return p;
}

void balance_mounts_format(
    const struct balance_mounts *kept, char text[BALANCE_MOUNTS_TEXT_MAX])
{
	struct line_text l = line_begin(text, BALANCE_MOUNTS_TEXT_MAX, kept->n);

	for (size_t i = 0; i < kept->n; i++)
		put_mount(&l, &kept->rows[i]);
	line_seal(&l);
}

bool balance_mounts_parse(const char *text, struct balance_mounts *kept)
{
	char again[BALANCE_MOUNTS_TEXT_MAX];
	const char *p;

	*kept = (struct balance_mounts){0};
	p = take_head(text, BALANCE_MOUNTS, &kept->n);
	for (size_t i = 0; p && i < kept->n; i++)
		p = take_mount(p, &kept->rows[i]);
	if (!p)
		return false;
	balance_mounts_format(kept, again);
	return strcmp(text, again) == 0;
}
