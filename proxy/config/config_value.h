/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kinds of value that a configuration key can have. Private to config*.c.
 *
 * A type knows how to read a text into a field, to write it back in a form that
 * reads the same, and to release what hangs on the field. config_value.c has
 * numbers, switches and words, config_text.c what owns memory, config_farm.c
 * what [farm] has.
 */
#ifndef FOREFETCH_CONFIG_VALUE_H
#define FOREFETCH_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The values that a key accepts; the meaning of min and max is the type's. */
struct config_range {
	uint64_t min;
	uint64_t max;
	/* For words and flags only: the list, which ends with NULL. */
	const char *const *words;
};

/* The reason why a parser refuses a text, for a message; without the key and
 * the place, which its caller knows. */
struct config_why {
	char text[256];
};

struct config_type {
	size_t size; /* of the field, in bytes */

	/*
	 * Reads `text`, which is not empty, into `field`, which is all zero.
	 * Returns 0, -EINVAL with `why` filled, or -ENOMEM; after an error the
	 * field is all zero, or something that `release` takes.
	 */
	int (*parse)(const struct config_range *range, const char *text,
	    void *field, struct config_why *why);

	/* Writes the value as it would stand in a file. Only an empty list of
	 * paths has no text. */
	void (*print)(
	    const struct config_range *range, const void *field, FILE *out);

	/* Frees what the field owns; NULL when it owns no memory. */
	void (*release)(void *field);
};

extern const struct config_type config_type_size; /* uint64_t, bytes */
/* A size, and a multiple of 4096. */
extern const struct config_type config_type_blocksize;
extern const struct config_type
    config_type_speed; /* uint64_t, bits a second; 0 for "off" */
extern const struct config_type
    /* The same, written in bytes a second. */
    config_type_bytespeed;
extern const struct config_type config_type_bytecap;  /* uint64_t, bytes/s */
extern const struct config_type config_type_duration; /* uint64_t, us */
extern const struct config_type config_type_count;    /* unsigned */
extern const struct config_type config_type_percent;  /* unsigned */
extern const struct config_type config_type_port;     /* uint16_t */
extern const struct config_type config_type_bool;     /* bool */
extern const struct config_type config_type_word;     /* an enum from 0 on */
extern const struct config_type config_type_rate;     /* struct config_rate */
extern const struct config_type config_type_path;     /* char *, absolute */
extern const struct config_type config_type_file;     /* the same, or "none" */
extern const struct config_type config_type_user;     /* char * */
extern const struct config_type config_type_host;     /* char * */
extern const struct config_type config_type_paths;    /* config_strings */
extern const struct config_type config_type_addrs;    /* config_addrs */
extern const struct config_type config_type_endpoint; /* one, "on", "off" */
extern const struct config_type config_type_names;    /* config_strings */
extern const struct config_type config_type_nets;     /* config_nets */
extern const struct config_type config_type_engines;  /* config_strings */
extern const struct config_type config_type_shares;   /* unsigned, flags */

/*
 * Copies an absolute path, without its final slashes, to *out, which the caller
 * frees. Returns 0, -EINVAL with `why` filled, or -ENOMEM.
 */
int config_value_path(
    const char *text, size_t maxlen, char **out, struct config_why *why);

/* Refuses one word of a list, and says which. Returns -EINVAL. */
int config_value_refuse(
    struct config_why *why, const char *word, const char *reason);

/*
 * Cuts the next word off *text, up to a byte of `between`, and copies it to
 * `word`, which has `wordlen` bytes. Returns 1, or 0 at the end, or -EINVAL for
 * one that is too long.
 */
int config_value_next(const char **text, const char *between, char *word,
    size_t wordlen, struct config_why *why);

/* Whether it is a host name or a numeric address, of which one of IPv6 may have
 * a zone (RFC 4007 section 11). No name is looked up. */
bool config_value_is_host(const char *text);

/* The `release` of a struct config_strings. */
void config_value_release_strings(void *field);

#endif
