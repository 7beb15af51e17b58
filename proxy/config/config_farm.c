/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values of [farm]: URLs of engines, and the kinds of things that are
 * shared. A URL is kept as redis://HOST:PORT or redis+unix:///PATH, whatever
 * was left out of it, so that equal ones are equal texts; engine/ takes it
 * apart again.
 *
 * A URL with a password goes into no message: these end in logs. So refuse()
 * is for what may hold a secret, and config_value_refuse(), which quotes, for
 * what cannot.
 */
#include "config/config.h"
#include "config/config_value.h"

#include "base/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define BETWEEN " \t,"

#define REDIS_PORT 6379
/* The most nodes of a cluster that may be named, and bytes of a URL. */
#define NODES_MAX  32
#define URL_BYTES  512
#define SUN_BYTES  (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

#define TCP  "redis://"
#define TLS  "rediss://"
#define UNIX "redis+unix://"

static const char want_url[] =
    "want redis://HOST[:PORT] or redis+unix:///PATH, an IPv6 address in "
    "brackets";

/* Refuses without a word of the value. Returns -EINVAL. */
static int refuse(struct config_why *why, const char *reason)
{
	snprintf(why->text, sizeof(why->text), "%s", reason);
	return -EINVAL;
}

/* Returns the rest of the URL behind `scheme`, or NULL where it has another
 * one. */
static const char *behind(const char *url, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncasecmp(url, scheme, len) == 0 ? url + len : NULL;
}

/* Whether there is an '@' in the whole list, which would follow a password, but
 * for the path of a socket. A password may have a comma or a blank, too, and be
 * cut by these, so the list is looked at before it is taken apart. */
static bool has_user(const char *text)
{
	for (size_t len; *text; text += len) {
		const char *path;

		text += strspn(text, BETWEEN);
		len = strcspn(text, BETWEEN);
		path = behind(text, UNIX);
		if (memchr(text, '@', len) && !(path && *path == '/'))
			return true;
	}
	return false;
}

/* Splits "HOST", "HOST:PORT" or "[HOST]:PORT" in place: the host without
 * brackets, and the port. 0 or -EINVAL; `url` is for messages. */
static int split_address(const char *url, char *address, const char **host,
    unsigned *port, struct config_why *why)
{
	char *colon = strrchr(address, ':'), *end = strrchr(address, ']');
	uint64_t n = REDIS_PORT;

	*host = address;
	if (*address == '[' && end && (end[1] == ':' || end[1] == '\0')) {
		colon = end[1] == ':' ? end + 1 : NULL;
		*end = '\0';
		++*host;
	} else if (colon && strchr(address, ':') != colon) {
		return config_value_refuse(
		    why, url, "an IPv6 address must be in brackets");
	}
	if (colon) {
		*colon = '\0';
		if (unit_parse(&units_none, colon + 1, &n) != 0 || n == 0 ||
		    n > UINT16_MAX)
			return config_value_refuse(
			    why, url, "the port must be 1 to 65535");
	}
	*port = (unsigned)n;
	if (!config_value_is_host(*host) ||
	    (*address == '[') != (strchr(*host, ':') != NULL))
		return config_value_refuse(why, url, want_url);
	return 0;
}

/* Parses a URL of TCP, of which `rest` is the part behind the scheme; as
 * parse_url(). */
static int parse_tcp(
    const char *url, const char *rest, char **out, struct config_why *why)
{
	char address[URL_BYTES];
	const char *host;
	unsigned port = 0;
	size_t len = strcspn(rest, "/");
	int err;

	if (rest[len] == '/' && rest[len + 1] != '\0')
		return refuse(why,
		    "a URL cannot have a database number: a farm uses "
		    "number 0, where a user of its own keeps it apart "
		    "(keys user and password_file)");
	snprintf(address, sizeof(address), "%.*s", (int)len, rest);
	err = split_address(url, address, &host, &port, why);
	if (err)
		return err;
	if (asprintf(out, TCP "%s%s%s:%u", strchr(host, ':') ? "[" : "", host,
		strchr(host, ':') ? "]" : "", port) < 0)
		return -ENOMEM;
	return 0;
}

/* Parses the path behind redis+unix://; as parse_url(). */
static int parse_unix(const char *path, char **out, struct config_why *why)
{
	char *plain = NULL;
	int err;

	if (path[strspn(path, "/")] == '\0')
		return refuse(why, "a path must follow redis+unix://");
	err = config_value_path(path, SUN_BYTES, &plain, why);
	if (err)
		return err;
	err = asprintf(out, UNIX "%s", plain) < 0 ? -ENOMEM : 0;
	free(plain);
	return err;
}

/* Parses one URL: 0 and in *out the text that is kept, for the caller to free;
 * or -EINVAL or -ENOMEM. */
static int parse_url(const char *url, char **out, struct config_why *why)
{
	const char *rest;

	if (behind(url, TLS))
		return config_value_refuse(why, url,
		    "TLS is not supported, and values are encrypted anyway; "
		    "use redis:// through a tunnel such as stunnel, or in a "
		    "private network");
	if (strpbrk(url, "?#"))
		return refuse(why, "a URL can have neither a database number "
				   "nor options; a user and a password go into "
				   "the keys user and password_file");
	rest = behind(url, UNIX);
	if (rest)
		return parse_unix(rest, out, why);
	rest = behind(url, TCP);
	if (rest)
		return parse_tcp(url, rest, out, why);
	return config_value_refuse(why, url, want_url);
}

/* Adds one URL to the list. Several are nodes of one cluster, so a socket must
 * be alone. */
static int engines_add(
    struct config_strings *urls, const char *word, struct config_why *why)
{
	char **list = reallocarray(urls->list, urls->n + 1, sizeof(*list));
	char *url = NULL;
	int err;

	if (!list)
		return -ENOMEM;
	urls->list = list;
	if (urls->n == NODES_MAX)
		return refuse(why,
		    "these are too many nodes of a cluster; a few are "
		    "enough, since they know the others");
	err = parse_url(word, &url, why);
	if (err)
		return err;
	list[urls->n++] = url;
	for (size_t i = 0; i + 1 < urls->n; i++)
		if (strcmp(list[i], url) == 0)
			return config_value_refuse(why, word, "named twice");
	for (size_t i = 0; urls->n > 1 && i < urls->n; i++)
		if (behind(list[i], UNIX))
			return config_value_refuse(why, list[i],
			    "a socket must be the only entry; only nodes of a "
			    "cluster can be listed together");
	return 0;
}

/* The list of engines; "none" is an empty one. */
static int engines_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	char word[URL_BYTES];
	int more, err = 0;

	(void)range;
	if (strcasecmp(text, "none") == 0)
		return 0;
	if (has_user(text))
		return refuse(why,
		    "a URL can have neither a user nor a password; use "
		    "the keys user and password_file");
	while (!err && (more = config_value_next(
			    &text, BETWEEN, word, sizeof(word), why)) != 0)
		err = more < 0 ? more : engines_add(field, word, why);
	if (!err && ((struct config_strings *)field)->n == 0)
		err = refuse(why, want_url);
	return err;
}

static void engines_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_strings *urls = field;

	(void)range;
	if (urls->n == 0)
		fputs("none", out);
	for (size_t i = 0; i < urls->n; i++)
		fprintf(out, "%s%s", i ? " " : "", urls->list[i]);
}

const struct config_type config_type_engines = {
    .size = sizeof(struct config_strings),
    .parse = engines_parse,
    .print = engines_print,
    .release = config_value_release_strings,
};

/* ---- what is shared ---------------------------------------------------- */

/* Adds one word to the flags. */
static int shares_add(const char *const *words, const char *word,
    unsigned *shares, struct config_why *why)
{
	unsigned i = 0;

	while (words[i] && strcasecmp(words[i], word) != 0)
		i++;
	if (!words[i])
		return config_value_refuse(
		    why, word, "want some of data, listings and trees");
	if (*shares >> i & 1)
		return config_value_refuse(why, word, "named twice");
	*shares |= 1U << i;
	return 0;
}

/* The kinds that are shared, as flags. None at all is refused, since the farm
 * would be asked in vain. */
static int shares_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	unsigned *shares = field;
	int more, err = 0;
	char word[32];

	if (strcasecmp(text, "none") == 0 || strcasecmp(text, "off") == 0)
		return refuse(why, "a farm that shares nothing is useless; "
				   "write engine = none");
	while (!err && (more = config_value_next(
			    &text, BETWEEN, word, sizeof(word), why)) != 0)
		err = more < 0 ? more
			       : shares_add(range->words, word, shares, why);
	if (!err && *shares == 0)
		err = refuse(why, "want some of data, listings and trees");
	return err;
}

static void shares_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const unsigned *shares = field;
	const char *sep = "";

	for (unsigned i = 0; range->words[i]; i++) {
		if (!(*shares >> i & 1))
			continue;
		fprintf(out, "%s%s", sep, range->words[i]);
		sep = " ";
	}
}

_Static_assert(CONFIG_SHARE_DATA == 1 && CONFIG_SHARE_LISTINGS == 2 &&
		   CONFIG_SHARE_TREES == 4,
    "the bit of a word is its place");

const struct config_type config_type_shares = {
    .size = sizeof(unsigned),
    .parse = shares_parse,
    .print = shares_print,
};
