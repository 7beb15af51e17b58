/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values that own memory: paths, names, and lists of things separated by
 * blanks; the other half of config_value.h. Each type is read, printed and
 * released by three functions of its own. A list owns what was added up to an
 * error, so that its `release` frees all of it.
 */
#include "config/config.h"
#include "config/config_value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX   253  /* RFC 1035 section 2.3.4, without dot at the end */
#define EXPORT_MAX 1024 /* MNTPATHLEN, RFC 1813 section 5.1.4 */

#define BLANKS " \t"

/* Fills in the reason of a refusal, and returns -EINVAL. */
static int refuse(struct config_why *why, const char *reason)
{
	snprintf(why->text, sizeof(why->text), "%s", reason);
	return -EINVAL;
}

int config_value_refuse(
    struct config_why *why, const char *word, const char *reason)
{
	char quoted[100];

	log_escape(quoted, sizeof(quoted), word, strlen(word));
	snprintf(why->text, sizeof(why->text), "'%s': %s", quoted, reason);
	return -EINVAL;
}

/* Whether there is an empty component, "." or ".." in an absolute path. Two
 * texts of one path would count as two then. */
static bool path_is_crooked(const char *path, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char *part = path + i + 1;
		size_t n = 0;

		if (path[i] != '/')
			continue;
		while (i + 1 + n < len && part[n] != '/')
			n++;
		if (n == 0 || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return true;
	}
	return false;
}

int config_value_path(
    const char *text, size_t maxlen, char **out, struct config_why *why)
{
	size_t len = strlen(text);

	if (text[0] != '/')
		return config_value_refuse(why, text, "not an absolute path");
	while (len > 1 && text[len - 1] == '/')
		len--;
	if (len > maxlen)
		return refuse(why, "the path is too long");
	if (strchr(" \t", text[len - 1])) /* "/a /": nobody could see it */
		return refuse(why, "the path must not end in a blank");
	if (len > 1 && path_is_crooked(text, len))
		return config_value_refuse(
		    why, text, "a path must not have '//', '.' or '..' in it");
	*out = strndup(text, len);
	return *out ? 0 : -ENOMEM;
}

static void string_release(void *field)
{
	char **string = field;

	free(*string);
	*string = NULL;
}

static void string_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	fputs(*(char *const *)field, out);
}

/* Paths of files on this machine. The root directory can be no place for any.
 */
static int path_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	if (text[strspn(text, "/")] == '\0')
		return refuse(why, "the root directory is not allowed here");
	return config_value_path(text, range->max, field, why);
}

const struct config_type config_type_path = {
    .size = sizeof(char *),
    .parse = path_parse,
    .print = string_print,
    .release = string_release,
};

/* Reads the word for a field that holds none, which is an empty text: 0,
 * -ENOMEM, or -EINVAL where it is another word. */
static int parse_none(const char *text, const char *none, char **field)
{
	if (strcasecmp(text, none) != 0)
		return -EINVAL;
	*field = strdup("");
	return *field ? 0 : -ENOMEM;
}

/* Prints a field, or the word for none. */
static void print_none(const char *field, const char *none, FILE *out)
{
	fputs(*field ? field : none, out);
}

static int file_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	int err = parse_none(text, "none", field);

	return err == -EINVAL ? path_parse(range, text, field, why) : err;
}

static void file_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	print_none(*(char *const *)field, "none", out);
}

const struct config_type config_type_file = {
    .size = sizeof(char *),
    .parse = file_parse,
    .print = file_print,
    .release = string_release,
};

/* Reads the name of an engine's user. "default" is the user that an engine
 * takes whoever gives no name for. */
static int user_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	int err = parse_none(text, "default", field);

	if (err != -EINVAL)
		return err;
	if (strlen(text) > range->max)
		return refuse(why, "the name is too long");
	if (strpbrk(text, BLANKS))
		return config_value_refuse(why, text,
		    "the name of an engine's user cannot have a blank");
	*(char **)field = strdup(text);
	return *(char **)field ? 0 : -ENOMEM;
}

static void user_print(
    const struct config_range *range, const void *field, FILE *out)
{
	(void)range;
	print_none(*(char *const *)field, "default", out);
}

const struct config_type config_type_user = {
    .size = sizeof(char *),
    .parse = user_parse,
    .print = user_print,
    .release = string_release,
};

/* Whether it is an IPv6 address, perhaps with a zone: fe80::1%eth0. */
static bool is_ipv6(const char *text)
{
	char host[INET6_ADDRSTRLEN];
	struct in6_addr addr;
	size_t len = strcspn(text, "%"); /* fe80::1%eth0 has a zone */

	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	return inet_pton(AF_INET6, host, &addr) == 1 &&
	       strspn(text + len, "%._-"
				  "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
		   strlen(text + len);
}

/* Whether it looks like a host name. An underscore is allowed, since such names
 * are in use, though RFC 1123 has none. */
static bool is_host_name(const char *text)
{
	if (!isalnum((unsigned char)text[0]))
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("-._", *text))
			return false;
	return true;
}

/* Whether it is meant as an IPv4 address, and is none, as 999.1.1.1: no name
 * ends in a number (RFC 3696 section 2). */
static bool is_bad_ipv4(const char *text)
{
	const char *dot = strrchr(text, '.'), *last = dot ? dot + 1 : text;
	struct in_addr addr;

	return strspn(last, "0123456789") == strlen(last) &&
	       inet_pton(AF_INET, text, &addr) != 1;
}

bool config_value_is_host(const char *text)
{
	return strlen(text) <= HOST_MAX &&
	       (is_ipv6(text) || (is_host_name(text) && !is_bad_ipv4(text)));
}

/* Hosts are resolved later, again and again (upstream/resolve.c), so only their
 * spelling is checked here. */
static int host_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	(void)range;
	if (strlen(text) > HOST_MAX)
		return refuse(why, "the name is too long");
	if (!is_host_name(text) && !is_ipv6(text))
		return config_value_refuse(why, text,
		    "not a host name or a numeric address; "
		    "ports go into nfs_port and mount_port");
	if (!is_ipv6(text) && is_bad_ipv4(text))
		return config_value_refuse(why, text,
		    "it looks like an IPv4 address, but is not a valid one");
	*(char **)field = strdup(text);
	return *(char **)field ? 0 : -ENOMEM;
}

const struct config_type config_type_host = {
    .size = sizeof(char *),
    .parse = host_parse,
    .print = string_print,
    .release = string_release,
};

int config_value_next(const char **text, const char *between, char *word,
    size_t wordlen, struct config_why *why)
{
	size_t len;

	*text += strspn(*text, between);
	len = strcspn(*text, between);
	if (len == 0)
		return 0;
	if (len >= wordlen)
		return refuse(why, "a word is too long");
	memcpy(word, *text, len);
	word[len] = '\0';
	*text += len;
	return 1;
}

/* Makes room for one more item of a list; returns NULL for want of memory, and
 * then the list is as it was. */
static void *grow(void *list, size_t n, size_t size)
{
	return reallocarray(list, n + 1, size);
}

/* Adds each word of a list, of `wordlen` bytes at most with its end: 0, or the
 * first error. */
static int parse_words(const char *text, size_t wordlen,
    int (*add)(void *list, const char *word, struct config_why *why),
    void *list, struct config_why *why)
{
	char word[EXPORT_MAX + 2];
	int more, err;

	while (
	    (more = config_value_next(&text, BLANKS, word, wordlen, why)) > 0) {
		err = add(list, word, why);
		if (err)
			return err;
	}
	return more;
}

/* Adds a path of an export; one that is there twice is a slip, and is refused.
 */
static int paths_add(void *field, const char *word, struct config_why *why)
{
	struct config_strings *paths = field;
	char **list = grow(paths->list, paths->n, sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	paths->list = list;
	err = config_value_path(word, EXPORT_MAX, &list[paths->n], why);
	if (err)
		return err;
	for (size_t i = 0; i < paths->n; i++) {
		if (strcmp(list[i], list[paths->n]) == 0) {
			free(list[paths->n]);
			return config_value_refuse(why, word, "named twice");
		}
	}
	paths->n++;
	return 0;
}

static int paths_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	(void)range;
	return parse_words(text, EXPORT_MAX + 2, paths_add, field, why);
}

static void paths_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_strings *paths = field;

	(void)range;
	for (size_t i = 0; i < paths->n; i++)
		fprintf(out, "%s%s", i ? " " : "", paths->list[i]);
}

void config_value_release_strings(void *field)
{
	struct config_strings *paths = field;

	for (size_t i = 0; i < paths->n; i++)
		free(paths->list[i]);
	free(paths->list);
	*paths = (struct config_strings){.n = 0};
}

const struct config_type config_type_paths = {
    .size = sizeof(struct config_strings),
    .parse = paths_parse,
    .print = paths_print,
    .release = config_value_release_strings,
};

/* Adds a host name, without a port; requests over HTTP name one of them. */
static int names_add(void *field, const char *word, struct config_why *why)
{
	struct config_strings *names = field;
	char **list;

	if (strlen(word) > HOST_MAX || !is_host_name(word))
		return config_value_refuse(
		    why, word, "not a host name; ports are left out");
	list = grow(names->list, names->n, sizeof(*list));
	if (!list)
		return -ENOMEM;
	names->list = list;
	list[names->n] = strdup(word);
	if (!list[names->n])
		return -ENOMEM;
	names->n++;
	return 0;
}

static int names_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	(void)range;
	if (strcasecmp(text, "none") == 0)
		return 0;
	return parse_words(text, HOST_MAX + 2, names_add, field, why);
}

static void names_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_strings *names = field;

	if (names->n == 0)
		fputs("none", out);
	else
		paths_print(range, field, out);
}

const struct config_type config_type_names = {
    .size = sizeof(struct config_strings),
    .parse = names_parse,
    .print = names_print,
    .release = config_value_release_strings,
};

/* Adds an address and port. */
static int addrs_add_numeric(
    struct config_addrs *addrs, const char *word, struct config_why *why)
{
	struct netmatch_addr *list = grow(addrs->list, addrs->n, sizeof(*list));
	const char *reason;

	if (!list)
		return -ENOMEM;
	addrs->list = list;
	reason = netmatch_addr_parse(word, &list[addrs->n]);
	if (reason)
		return config_value_refuse(why, word, reason);
	addrs->n++;
	return 0;
}

/* Adds a word of a list of addresses. "localhost:2050" is both loopback
 * addresses, for which no resolver is asked; the second may be missing on this
 * host. */
static int addrs_add(void *field, const char *word, struct config_why *why)
{
	static const char name[] = "localhost:";
	struct config_addrs *addrs = field;
	char text[NETMATCH_TEXT_MAX];
	int err;

	if (strncasecmp(word, name, sizeof(name) - 1) != 0)
		return addrs_add_numeric(addrs, word, why);
	word += sizeof(name) - 1;
	snprintf(text, sizeof(text), "127.0.0.1:%.48s", word);
	err = addrs_add_numeric(addrs, text, why);
	if (err)
		return err;
	snprintf(text, sizeof(text), "[::1]:%.48s", word);
	err = addrs_add_numeric(addrs, text, why);
	if (!err)
		addrs->list[addrs->n - 1].may_lack = true;
	return err;
}

static int addrs_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	(void)range;
	return parse_words(text, NETMATCH_TEXT_MAX, addrs_add, field, why);
}

static void addrs_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_addrs *addrs = field;
	char text[NETMATCH_TEXT_MAX];

	(void)range;
	for (size_t i = 0; i < addrs->n; i++) {
		netmatch_addr_format(&addrs->list[i], text);
		fprintf(out, "%s%s", i ? " " : "", text);
	}
}

static void addrs_release(void *field)
{
	struct config_addrs *addrs = field;

	free(addrs->list);
	*addrs = (struct config_addrs){.n = 0};
}

const struct config_type config_type_addrs = {
    .size = sizeof(struct config_addrs),
    .parse = addrs_parse,
    .print = addrs_print,
    .release = addrs_release,
};

/* Reads one address, or a word for the preset one or for none. */
static int endpoint_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	struct config_addrs *addrs = field;
	int err;

	if (strcasecmp(text, "off") == 0 || strcasecmp(text, "no") == 0)
		return 0;
	if (strcasecmp(text, "on") == 0 || strcasecmp(text, "yes") == 0)
		text = CONFIG_METRICS_ON;
	if (strpbrk(text, " \t"))
		return refuse(why, "want one ADDRESS:PORT, on or off");
	err = addrs_parse(range, text, field, why);
	if (addrs->n > 1) /* localhost: whoever asks tries both */
		addrs->n = 1;
	return err;
}

static void endpoint_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_addrs *addrs = field;

	if (addrs->n == 0)
		fputs("off", out);
	else
		addrs_print(range, field, out);
}

const struct config_type config_type_endpoint = {
    .size = sizeof(struct config_addrs),
    .parse = endpoint_parse,
    .print = endpoint_print,
    .release = addrs_release,
};

/* Adds a network. */
static int nets_add(void *field, const char *word, struct config_why *why)
{
	struct config_nets *nets = field;
	struct netmatch_net *list = grow(nets->list, nets->n, sizeof(*list));
	const char *reason;

	if (!list)
		return -ENOMEM;
	nets->list = list;
	reason = netmatch_net_parse(word, &list[nets->n]);
	if (reason)
		return config_value_refuse(why, word, reason);
	nets->n++;
	return 0;
}

static int nets_parse(const struct config_range *range, const char *text,
    void *field, struct config_why *why)
{
	(void)range;
	return parse_words(text, NETMATCH_TEXT_MAX, nets_add, field, why);
}

static void nets_print(
    const struct config_range *range, const void *field, FILE *out)
{
	const struct config_nets *nets = field;
	char text[NETMATCH_TEXT_MAX];

	(void)range;
	for (size_t i = 0; i < nets->n; i++) {
		netmatch_net_format(&nets->list[i], text);
		fprintf(out, "%s%s", i ? " " : "", text);
	}
}

static void nets_release(void *field)
{
	struct config_nets *nets = field;

	free(nets->list);
	*nets = (struct config_nets){.n = 0};
}

const struct config_type config_type_nets = {
    .size = sizeof(struct config_nets),
    .parse = nets_parse,
    .print = nets_print,
    .release = nets_release,
};
