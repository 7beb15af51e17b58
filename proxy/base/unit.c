/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with their units, as people write them. config_value.c reads and
 * prints the values of keys by this, the commands their arguments; both print
 * what both read. */
#include "base/unit.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t"

/* The most digits behind the point: a factor of 2^43 times 10^6 still fits into
 * 64 bits. */
#define DIGITS_MAX 6

struct unit_factor {
	const char *name;
	uint64_t factor;
};

struct units {
	const struct unit_factor *printed; /* rising; ends with NULL */
	/* Units that are understood, too; NULL: none. */
	const struct unit_factor *others;
	/* Returns the factor of a word that is in neither; 0: it is no unit. */
	uint64_t (*factor)(const char *word);
	bool parts; /* several parts may follow each other, as in "1h30m" */
};

/* Units of bytes. K, M, G and T are powers of 1024, as they always were here;
 * the ISO prefixes in front of B are what ISO says, as in dd(1) and the like.
 */
static const struct unit_factor sizes[] = {
    {"", 1},
    {"K", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
    {NULL, 0},
};

static const struct unit_factor other_sizes[] = {
    {"B", 1},
    {"byte", 1},
    {"bytes", 1},
    {"Ki", UINT64_C(1) << 10},
    {"Mi", UINT64_C(1) << 20},
    {"Gi", UINT64_C(1) << 30},
    {"Ti", UINT64_C(1) << 40},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {"kB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", UINT64_C(1000000000000)},
    {NULL, 0},
};

static const struct unit_factor times[] = {
    {"us", 1},
    {"ms", 1000},
    {"s", 1000000},
    {"m", UINT64_C(60000000)},
    {"h", UINT64_C(3600000000)},
    {"d", UINT64_C(86400000000)},
    {NULL, 0},
};

/* The other names of units of time, which systemd.time(7) has. */
static const struct unit_factor other_times[] = {
    {"usec", 1},
    {"\xc2\xb5s", 1}, /* micro sign */
    {"\xce\xbcs", 1}, /* mu */
    {"msec", 1000},
    {"sec", 1000000},
    {"second", 1000000},
    {"seconds", 1000000},
    {"min", UINT64_C(60000000)},
    {"minute", UINT64_C(60000000)},
    {"minutes", UINT64_C(60000000)},
    {"hr", UINT64_C(3600000000)},
    {"hour", UINT64_C(3600000000)},
    {"hours", UINT64_C(3600000000)},
    {"day", UINT64_C(86400000000)},
    {"days", UINT64_C(86400000000)},
    {NULL, 0},
};

static const struct unit_factor rates[] = {
    {"bit", 1},
    {"kbit", 1000},
    {"mbit", 1000000},
    {"gbit", 1000000000},
    {NULL, 0},
};

static const struct unit_factor none[] = {{"", 1}, {NULL, 0}};
static const struct unit_factor percent[] = {{"%", 1}, {NULL, 0}};

/* Takes a prefix off the start of a word, and returns the power of 1000 that it
 * stands for, or with an 'i' of 1024; 1 without one. */
static uint64_t take_prefix(const char **word)
{
	static const char prefixes[] = "kmgt";
	const char *p = strchr(prefixes, tolower((unsigned char)**word));
	uint64_t step = 1000, factor = 1;

	if (!**word || !p)
		return 1;
	++*word;
	if (tolower((unsigned char)**word) == 'i') {
		++*word;
		step = 1024;
	}
	for (; p >= prefixes; p--)
		factor *= step;
	return factor;
}

/* Returns the bits a second of a rate's unit such as "Mbit/s", "Mbps" or
 * "kB/s"; 0 where it is none. A small b is bits, a capital B is bytes. */
static uint64_t rate_factor(const char *word)
{
	static const char *const ends[] = {"", "/s", "/sec", "ps", NULL};
	static const struct unit_factor bases[] = {{"bits", 1}, {"bit", 1},
	    {"bytes", 8}, {"byte", 8}, {"b", 1}, {NULL, 0}};
	uint64_t factor = take_prefix(&word);

	for (const struct unit_factor *u = bases; u->name; u++) {
		size_t len = strlen(u->name);

		if (strncasecmp(word, u->name, len) != 0)
			continue;
		for (size_t i = 0; ends[i]; i++)
			if (strcasecmp(word + len, ends[i]) == 0)
				return factor * u->factor *
				       (len == 1 && *word == 'B' ? 8 : 1);
	}
	return 0;
}

const struct units units_none = {.printed = none};
const struct units units_percent = {.printed = percent};
const struct units units_size = {.printed = sizes, .others = other_sizes};
const struct units units_time = {
    .printed = times, .others = other_times, .parts = true};
const struct units units_rate = {.printed = rates, .factor = rate_factor};

static uint64_t find_factor(const struct units *units, const char *word)
{
	for (const struct unit_factor *u = units->printed; u->name; u++)
		if (strcasecmp(u->name, word) == 0)
			return u->factor;
	for (const struct unit_factor *u = units->others; u && u->name; u++)
		if (strcasecmp(u->name, word) == 0)
			return u->factor;
	return units->factor ? units->factor(word) : 0;
}

/* A number, and the digits behind its point: `part` of `whole_part`. */
struct number {
	uint64_t n;
	uint64_t part;
	uint64_t whole_part; /* 1: it has no point */
	bool overflow;
};

/* Takes a number off the text; false where there is none, or its fraction is
 * too long. */
static bool take_number(const char **text, struct number *out)
{
	const char *p = *text;
	size_t digits = 0;

	*out = (struct number){.whole_part = 1};
	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (out->n > (UINT64_MAX - digit) / 10)
			out->overflow = true;
		else
			out->n = out->n * 10 + digit;
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++, digits++) {
			out->part = out->part * 10 + (unsigned)(*p - '0');
			out->whole_part *= 10;
			if (digits == DIGITS_MAX)
				return false;
		}
		if (digits == 0)
			return false;
	}
	*text = p;
	return true;
}

/* Takes the word up to a blank, a digit or the end off the text; false if it is
 * too long. */
static bool take_word(const char **text, char *word, size_t size)
{
	size_t len;

	*text += strspn(*text, BLANKS);
	len = strcspn(*text, BLANKS "0123456789");
	if (len >= size)
		return false;
	memcpy(word, *text, len);
	word[len] = '\0';
	*text += len;
	*text += strspn(*text, BLANKS);
	return true;
}

/* Takes one number with its unit, and adds it to *sum; as unit_parse(). */
static int take_part(const struct units *units, const char **text,
    uint64_t *factor, uint64_t *sum)
{
	struct number number;
	uint64_t more;
	char word[16];

	if (!take_number(text, &number) || !take_word(text, word, sizeof(word)))
		return -EINVAL;
	*factor = find_factor(units, word);
	if (*factor == 0 && *word == '\0' && number.n == 0 &&
	    number.whole_part == 1 && !number.overflow)
		return 0; /* zero is zero in every unit */
	if (*factor == 0 || (*factor == 1 && number.whole_part > 1))
		return -EINVAL;
	assert(*factor <= UINT64_MAX / 1000000);
	if (number.overflow || number.n > UINT64_MAX / *factor)
		return -ERANGE;
	more = number.part * *factor / number.whole_part;
	if (number.n * *factor > UINT64_MAX - more ||
	    *sum > UINT64_MAX - more - number.n * *factor)
		return -ERANGE;
	*sum += number.n * *factor + more;
	return 0;
}

int unit_parse(const struct units *units, const char *text, uint64_t *out)
{
	uint64_t sum = 0, factor = 0, before = UINT64_MAX;
	int err = 0;

	do {
		int rc = take_part(units, &text, &factor, &sum);

		if (rc == -EINVAL || factor >= before)
			return -EINVAL;
		err = rc ? rc : err;
		before = factor;
	} while (units->parts && *text);
	if (*text)
		return -EINVAL;
	if (!err)
		*out = sum;
	return err;
}

const char *unit_format(const struct units *units, uint64_t n, char text[32])
{
	const struct unit_factor *best = units->printed;

	for (const struct unit_factor *u = units->printed; n != 0 && u->name;
	     u++)
		if (n % u->factor == 0)
			best = u;
	snprintf(text, 32, "%" PRIu64 "%s", n / best->factor, best->name);
	return text;
}
