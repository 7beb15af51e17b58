/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration file. This folder uses base/ and, for paths, nfsproto; all
 * others read its structs.
 *
 *   config.c                 free, print, find
 *   config_files.c           which files there are, and whether they may be
 *   config_diff.c            what differs between two configurations
 *   config_lines.c           comments and continuations
 *   config_parse.c           sections, checks that span keys
 *   config_binds.c           whether two sections bind the same
 *   config_key.c             the table of keys
 *   config_value.c, _text.c, _farm.c  the kinds of value
 *   config_setting.c         one setting by itself, for programs
 *   spelling.c               which key somebody may have meant
 *   exportpath.c             which paths a server may be asked for
 *
 * Whatever a key needs is in its row of config_key.c: reading, printing,
 * comparing and freeing go through that table, so no function here or
 * elsewhere in the folder names a key, but where one key's value is another
 * one's default.
 */
#include "config/config.h"

#include "config/config_key.h"

#include <stdlib.h>
#include <string.h>

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
	section = config_section_farm(&cfg->farm);
	config_section_release(&section);
	for (size_t i = 0; i < cfg->nservers; i++)
		server_release(&cfg->servers[i]);
	free(cfg->servers);
	for (size_t i = 0; i < cfg->nfiles; i++)
		free(cfg->files[i]);
	free(cfg->files);
	free(cfg);
}

/* Prints the keys of the section whose bit is in `which`, as the file has them.
 */
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

void config_export_print(const struct config_export *exp, FILE *out)
{
	struct config_section section =
	    config_section_export((struct config_export *)exp);

	fprintf(out, "[export %s:%s]\n", exp->server, exp->path);
	print_keys(&section, exp->set, out);
}

/* Prints a server's section and its [export] sections. An empty list of exports
 * has no text that would load again, so that key is left out. */
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
		fputc('\n', out);
		config_export_print(&srv->overrides[i], out);
	}
}

/* Prints [farm] where there is one. After a reload, a farm may be at work that
 * no section has any more. */
static void print_farm(struct config_farm *farm, FILE *out)
{
	struct config_section section = config_section_farm(farm);

	if (!farm->file && farm->engine.n == 0)
		return;
	fputs("\n[farm]\n", out);
	print_keys(&section, UINT64_MAX, out);
}

void config_print(const struct config *cfg, FILE *out)
{
	/* A section is a writable view; nothing is written through it here. */
	struct config_section section =
	    config_section_daemon((struct config *)cfg);

	fputs("[forefetch]\n", out);
	print_keys(&section, UINT64_MAX, out);
	print_farm((struct config_farm *)&cfg->farm, out);
	for (size_t i = 0; i < cfg->nservers; i++)
		print_server(&cfg->servers[i], out);
}

const struct config_server *config_server_find(
    const struct config *cfg, const char *name)
{
	for (size_t i = 0; i < cfg->nservers; i++)
		if (strcmp(cfg->servers[i].name, name) == 0)
			return &cfg->servers[i];
	return NULL;
}

const struct config_export *config_export_find(
    const struct config_server *srv, const char *path)
{
	for (size_t i = 0; i < srv->noverrides; i++)
		if (strcmp(srv->overrides[i].path, path) == 0)
			return &srv->overrides[i];
	return NULL;
}

bool config_server_sets(const struct config_server *srv, const char *key)
{
	struct config_section section =
	    config_section_server((struct config_server *)srv);
	const struct config_former *former;
	size_t k = config_key_find(&section, key, &former);

	return k < config_nkeys && (srv->set >> k & 1);
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
