/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration file. This folder uses base/ and, for paths, nfsproto; all
 * others read its structs.
 *
 *   config.c                 load, free, print, compare
 *   config_parse.c           lines, sections, checks that span keys
 *   config_key.c             the table of keys
 *   config_value.c, _text.c  the kinds of value
 *   exportpath.c             which paths a server may be asked for
 */
#include "config/config.h"

#include "config/config_key.h"
#include "config/config_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define FILE_MAX_BYTES (1u << 20)

static struct config *parse_bytes(
    const char *text, size_t len, const char *name, char *err, size_t errlen)
{
	struct config *cfg = calloc(1, sizeof(*cfg));

	if (!cfg) {
		snprintf(err, errlen, "%s: out of memory", name);
		return NULL;
	}
	if (config_parse_text(cfg, text, len, name, err, errlen) != 0) {
		config_free(cfg);
		return NULL;
	}
	return cfg;
}

struct config *config_parse_string(
    const char *text, const char *name, char *err, size_t errlen)
{
	return parse_bytes(text, strlen(text), name, err, errlen);
}

/* Returns the bytes read, at most `max`, or -errno. */
static ssize_t read_file(const char *path, char *text, size_t max)
{
	FILE *in = fopen(path, "re");
	size_t len;
	int err = 0;

	if (!in)
		return -errno;
	len = fread(text, 1, max, in);
	if (ferror(in))
		err = errno ? -errno : -EIO;
	fclose(in);
	return err ? err : (ssize_t)len;
}

struct config *config_load(const char *path, char *err, size_t errlen)
{
	char *text = malloc(FILE_MAX_BYTES + 1);
	struct config *cfg = NULL;
	ssize_t len = -ENOMEM;

	if (text)
		len = read_file(path, text, FILE_MAX_BYTES + 1);
	if (len < 0)
		snprintf(err, errlen, "%s: cannot be read: %s", path,
		    strerror((int)-len));
	else if (len > FILE_MAX_BYTES)
		snprintf(err, errlen, "%s: larger than %u bytes", path,
		    FILE_MAX_BYTES);
	else
		cfg = parse_bytes(text, (size_t)len, path, err, errlen);
	free(text);
	return cfg;
}

static void server_release(struct config_server *srv)
{
	struct config_section section = config_section_server(srv);

	config_section_release(&section);
	for (size_t i = 0; i < srv->noverrides; i++) {
		free(srv->overrides[i].server);
		free(srv->overrides[i].path);
	}
	free(srv->overrides);
	free(srv->name);
}

void config_free(struct config *cfg)
{
	struct config_section section;

	if (!cfg)
		return;
	section = config_section_daemon(cfg);
	config_section_release(&section);
	for (size_t i = 0; i < cfg->nservers; i++)
		server_release(&cfg->servers[i]);
	free(cfg->servers);
	free(cfg);
}

/* Print the keys whose bit is in `which`; a key without a value is left out. */
static void print_keys(
    const struct config_section *section, uint64_t which, FILE *out)
{
	for (size_t k = 0; k < config_nkeys; k++) {
		const struct config_key *key = &config_keys[k];
		const void *field = config_section_field(section, k);

		if (!field || !(which >> k & 1))
			continue;
		fprintf(out, "%s = ", key->name);
		key->type->print(&key->range, field, out);
		fputc('\n', out);
	}
}

static void print_server(struct config_server *srv, FILE *out)
{
	struct config_section section = config_section_server(srv);
	uint64_t which = UINT64_MAX;

	fprintf(out, "\n[server %s]\n", srv->name);
	for (size_t k = 0; k < config_nkeys; k++)
		if (config_section_field(&section, k) == &srv->exports &&
		    srv->exports.n == 0)
			which &= ~(UINT64_C(1) << k); /* none: all of them */
	print_keys(&section, which, out);
	for (size_t i = 0; i < srv->noverrides; i++) {
		struct config_export *exp = &srv->overrides[i];

		section = config_section_export(exp);
		fprintf(out, "\n[export %s:%s]\n", exp->server, exp->path);
		print_keys(&section, exp->set, out);
	}
}

void config_print(const struct config *cfg, FILE *out)
{
	/* A section is a writable view; nothing is written through it here. */
	struct config_section section =
	    config_section_daemon((struct config *)cfg);

	fputs("[forefetch]\n", out);
	print_keys(&section, UINT64_MAX, out);
	for (size_t i = 0; i < cfg->nservers; i++)
		print_server(&cfg->servers[i], out);
}

/* The value of key `k` as text, for the caller to free; NULL without memory. */
static char *value_text(const struct config_section *section, size_t k)
{
	const struct config_key *key = &config_keys[k];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	key->type->print(&key->range, config_section_field(section, k), out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The first fixed key that differs between two sections of one kind. */
static const char *diff_section(
    const struct config_section *old, const struct config_section *now)
{
	for (size_t k = 0; k < config_nkeys; k++) {
		char *was, *is;
		bool same;

		if (!(config_keys[k].flags & CONFIG_KEY_FIXED) ||
		    !config_section_field(old, k))
			continue;
		was = value_text(old, k);
		is = value_text(now, k);
		same = was && is && strcmp(was, is) == 0;
		free(was);
		free(is);
		if (!same)
			return config_keys[k].name;
	}
	return NULL;
}

const char *config_diff_fixed(
    const struct config *old, const struct config *cfg)
{
	struct config_section was = config_section_daemon((struct config *)old);
	struct config_section is = config_section_daemon((struct config *)cfg);
	const char *name = diff_section(&was, &is);

	if (!name && old->nservers != cfg->nservers)
		return "server";
	for (size_t i = 0; !name && i < old->nservers; i++) {
		const struct config_server *srv =
		    config_server_find(cfg, old->servers[i].name);

		if (!srv)
			return "server";
		was = config_section_server(&old->servers[i]);
		is = config_section_server((struct config_server *)srv);
		name = diff_section(&was, &is);
	}
	return name;
}

const struct config_server *config_server_find(
    const struct config *cfg, const char *name)
{
	for (size_t i = 0; i < cfg->nservers; i++)
		if (strcmp(cfg->servers[i].name, name) == 0)
			return &cfg->servers[i];
	return NULL;
}

bool config_server_allows(
    const struct config_server *srv, const struct sockaddr *peer)
{
	for (size_t i = 0; i < srv->allow.n; i++)
		if (netmatch_net_contains(&srv->allow.list[i], peer))
			return true;
	return false;
}

const char *config_consistency_name(enum config_consistency consistency)
{
	switch (consistency) {
	case CONFIG_CONSISTENCY_STRICT:
		return "strict";
	case CONFIG_CONSISTENCY_FROZEN:
		return "frozen";
	default:
		return "bounded";
	}
}
