/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that are numbers, switches and words; config_text.c has those that
 * own memory, config_farm.c those of [farm]. Each type is three functions and a
 * row, by which config_key.c refers to it; none has state. */
#include "config/config_value.h"

#include "config/config.h"
#include "base/unit.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#define PAGE 4096

/* The bytes of a bad value that are quoted, escapes included: much of it, but
 * not all, since the message has to be readable. */
#define QUOTE_MAX 100

/* Fills in the reason of a refusal, and returns -EINVAL. */
__attribute__((format(printf, 2, 3))) static int refuse(
    struct config_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Parses a number and holds it against the range; `want` says what a good text
 * looks like. `*out` is untouched after an error. */
static int parse_number(const struct config_range *range, const char *text,
    const struct units *units, const char *want, uint64_t *out,
    struct config_why *why)
{
	char quoted[QUOTE_MAX], min[32], max[32];
	uint64_t n = 0;
	int err = unit_parse(units, text, &n);

	log_escape(quoted, sizeof(quoted), text, strlen(text));
	if (err == -EINVAL)
		return refuse(why, "'%s' is not %s", quoted, want);
	if (err || n < range->min || n > range->max)
		return refuse(why, "'%s' is out of range; want %s to %s",
		    quoted, unit_format(units, range->min, min),
		    unit_format(units, range->max, max));
	*out = n;
	return 0;
}

/* Sizes are bytes, printed with the largest unit that leaves no remainder, as
 * all numbers with units are. */
static int size_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	return parse_number(range, text, &units_size,
	    "a size such as 65536, 16K, 1.5G or 10GiB", field, why);
}

static void size_print(
    const struct config_range *range, const void *field, FILE *out)
{
	char text[32];

	(void)range;
	fputs(unit_format(&units_size, *(const uint64_t *)field, text), out);
}

const struct config_type config_type_size = {
    .size = sizeof(uint64_t),
    .parse = size_parse,
    .print = size_print,
};

/* Sizes of blocks must be whole pages, since that is how clients and the data
 * cache keep a file. */
static int blocksize_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	uint64_t n = 0;
	int err = size_parse(range, text, &n, why);

	if (!err && n % PAGE != 0)
		err = refuse(why, "must be a multiple of 4K");
	if (!err)
		*(uint64_t *)field = n;
	return err;
}

const struct config_type config_type_blocksize = {
    .size = sizeof(uint64_t),
    .parse = blocksize_parse,
    .print = size_print,
};

/* Whether a rate is switched off: both words are in use. */
static bool is_off(const char *text)
{
	return strcasecmp(text, "off") == 0 || strcasecmp(text, "no") == 0;
}

/* Speeds that may be "off", which is 0. */
static int speed_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	*(uint64_t *)field = 0;
	if (is_off(text))
		return 0;
	return parse_number(range, text, &units_rate,
	    "off, or a rate such as 500kbit, 64 Mbit/s or 8MB/s", field, why);
}

static void speed_print(
    const struct config_range *range, const void *field, FILE *out)
{
	uint64_t rate = *(const uint64_t *)field;
	char text[32];

	(void)range;
	fputs(rate ? unit_format(&units_rate, rate, text) : "off", out);
}

const struct config_type config_type_speed = {
    .size = sizeof(uint64_t),
    .parse = speed_parse,
    .print = speed_print,
};

/* Reads bytes a second: a former key's values had that unit. */
static int bytespeed_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	uint64_t n = 0;
	int err = 0;

	if (!is_off(text))
		err = parse_number(range, text, &units_size,
		    "off, or bytes a second such as 500K or 8M", &n, why);
	if (!err)
		*(uint64_t *)field = n * CHAR_BIT;
	return err;
}

const struct config_type config_type_bytespeed = {
    .size = sizeof(uint64_t),
    .parse = bytespeed_parse,
    .print = speed_print,
};

/* Reads bits a second, as all rates are, for code that counts bytes a second.
 * The word "off" is refused, because it could mean no limit as well as nothing.
 */
static int bytecap_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	uint64_t n = 0;
	int err;

	if (is_off(text))
		return refuse(why,
		    "off could mean two things; write a high rate for no "
		    "limit, or engine = none to publish nothing");
	err = parse_number(range, text, &units_rate,
	    "a rate such as 500kbit, 400 Mbit/s or 50MB/s", &n, why);
	if (!err)
		*(uint64_t *)field = n / CHAR_BIT;
	return err;
}

static void bytecap_print(
    const struct config_range *range, const void *field, FILE *out)
{
	char text[32];

	(void)range;
	fputs(
	    unit_format(&units_rate, *(const uint64_t *)field * CHAR_BIT, text),
	    out);
}

const struct config_type config_type_bytecap = {
    .size = sizeof(uint64_t),
    .parse = bytecap_parse,
    .print = bytecap_print,
};

/* Times need a unit: a bare number would be seconds to one reader and
 * milliseconds to another. */
static int duration_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	return parse_number(range, text, &units_time,
	    "a time with its unit, such as 500ms, 3s, 2m or 1h30m", field, why);
}

static void duration_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const uint64_t *us = field;
	char text[32];

	(void)range;
	fputs(*us ? unit_format(&units_time, *us, text) : "0s", out);
}

const struct config_type config_type_duration = {
    .size = sizeof(uint64_t),
    .parse = duration_parse,
    .print = duration_print,
};

static int count_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	uint64_t n = 0;
	int err = parse_number(range, text, &units_none, "a number", &n, why);

	assert(range->max <= UINT_MAX);
	*(unsigned *)field = (unsigned)n;
	return err;
}

static void count_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	fprintf(out, "%u", *(const unsigned *)field);
}

const struct config_type config_type_count = {
    .size = sizeof(unsigned),
    .parse = count_parse,
    .print = count_print,
};

/* Shares are whole percents, and may have more than 100 of them where the range
 * does. */
static int percent_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	uint64_t n = 0;
	int err = parse_number(
	    range, text, &units_percent, "a share such as 80%", &n, why);

	assert(range->max <= UINT_MAX);
	*(unsigned *)field = (unsigned)n;
	return err;
}

static void percent_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	fprintf(out, "%u%%", *(const unsigned *)field);
}

const struct config_type config_type_percent = {
    .size = sizeof(unsigned),
    .parse = percent_parse,
    .print = percent_print,
};

static int port_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	uint64_t n = 0;
	int err =
	    parse_number(range, text, &units_none, "a port number", &n, why);

	assert(range->max <= UINT16_MAX);
	*(uint16_t *)field = (uint16_t)n;
	return err;
}

static void port_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	fprintf(out, "%u", *(const uint16_t *)field);
}

const struct config_type config_type_port = {
    .size = sizeof(uint16_t),
    .parse = port_parse,
    .print = port_print,
};

/* Returns the index of `text` in a list of words, in whatever case, or -EINVAL.
 */
static int find_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (strcasecmp(words[i], text) == 0)
			return i;
	return -EINVAL;
}

/* Refuses a word, and lists those that there are. */
static int refuse_word(
    const char *const *words, const char *text, struct config_why *why)
{
	char quoted[QUOTE_MAX], list[100] = "";
	size_t n = 0;

	for (size_t i = 0; words[i] && n < sizeof(list); i++) {
		const char *sep = i == 0 ? "" : words[i + 1] ? ", " : " or ";

		n += (size_t)snprintf(
		    list + n, sizeof(list) - n, "%s%s", sep, words[i]);
	}
	log_escape(quoted, sizeof(quoted), text, strlen(text));
	return refuse(why, "'%s' is not one of %s", quoted, list);
}

/* Switches may be written in three ways; yes and no are the ones that are
 * printed, and that a message tells. */
static int bool_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	static const char *const words[] = {
	    "no", "yes", "false", "true", "off", "on", NULL};
	static const char *const told[] = {"yes", "no", NULL};
	int i = find_word(words, text);

	(void)range;
	if (i < 0)
		return refuse_word(told, text, why);
	*(bool *)field = i % 2 == 1;
	return 0;
}

static void bool_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	fputs(*(const bool *)field ? "yes" : "no", out);
}

const struct config_type config_type_bool = {
    .size = sizeof(bool),
    .parse = bool_parse,
    .print = bool_print,
};

/* Words are stored by their place in the list, which is their value in the
 * enum. */
static int word_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	int i = find_word(range->words, text);

	/* Whoever writes "prefetch = yes" means on, and the other way round. */
	if (i < 0 &&
	    (strcasecmp(text, "yes") == 0 || strcasecmp(text, "true") == 0))
		i = find_word(range->words, "on");
	else if (i < 0 && (strcasecmp(text, "no") == 0 ||
			      strcasecmp(text, "false") == 0))
		i = find_word(range->words, "off");
	if (i < 0)
		return refuse_word(range->words, text, why);
	memcpy(field, &i, sizeof(i));
	return 0;
}

static void word_print(
    const struct config_range *range, const void *field, FILE *out)
{
	int i;

	memcpy(&i, field, sizeof(i));
	fputs(range->words[i], out);
}

/* All enums of config.h are as large as this one. */
_Static_assert(sizeof(enum config_link) == sizeof(int), "word_parse copies");

const struct config_type config_type_word = {
    .size = sizeof(int),
    .parse = word_parse,
    .print = word_print,
};

/* Rates that are a share of the link or a number of bits a second. The member
 * that is not meant stays 0. */
static int rate_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	static const struct config_range shares = {.min = 1, .max = 100};
	static const char want[] =
	    "a rate such as 500kbit, 20 Mbit/s or 2.5MB/s, or a share "
	    "such as 80%";
	struct config_rate *rate = field;
	uint64_t n = 0;
	int err;

	if (is_off(text))
		return refuse(why,
		    "off could mean two things; write 100%% for no limit, or "
		    "prefetch = off to fetch nothing ahead");
	if (!strchr(text, '%'))
		return parse_number(range, text, &units_rate, want,
		    &rate->bits_per_second, why);
	err = parse_number(&shares, text, &units_percent, want, &n, why);
	rate->percent = (unsigned)n;
	return err;
}

static void rate_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_rate *rate = field;
	char text[32];

	(void)range;
	if (rate->percent)
		fprintf(out, "%u%%", rate->percent);
	else
		fputs(
		    unit_format(&units_rate, rate->bits_per_second, text), out);
}

const struct config_type config_type_rate = {
    .size = sizeof(struct config_rate),
    .parse = rate_parse,
    .print = rate_print,
};
