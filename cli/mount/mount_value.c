/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings as options: what the parser of the configuration makes of them. */
#include "mount/mount_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER "[server x]\naddress = x\nlisten = 127.0.0.1:1\n"
#define EXPORT "[export x:/x]\n"

/* Nothing that could begin another line, or end this one early. */
static bool is_plain(const char *text, const char *more)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr(more, *text))
			return false;
	return true;
}

/* "key = value", where `mid` is the " = ". */
static void take_line(const char *line, const char *mid, const char *end,
    struct mount_setting *out)
{
	snprintf(out->key, sizeof(out->key), "%.*s", (int)(mid - line), line);
	snprintf(out->value, sizeof(out->value), "%.*s", (int)(end - mid - 3),
	    mid + 3);
}

/* The first line of `text` behind `head` that sets a key: `key`, or, where that
 * is empty, any. The value is cut off where it is too long. */
static bool find_line(const char *text, const char *head, const char *key,
    struct mount_setting *out)
{
	const char *line = strstr(text, head);
	size_t len = strlen(key);

	while (line && (line = strchr(line, '\n'))) {
		const char *mid = strstr(++line, " = ");
		const char *end = strchr(line, '\n');

		if (*line == '[')
			break;
		if (!mid || !end || mid > end)
			continue;
		if (len > 0 && ((size_t)(mid - line) != len ||
				   strncmp(line, key, len) != 0))
			continue;
		take_line(line, mid, end, out);
		return true;
	}
	return false;
}

/* To be freed; NULL without memory. */
static char *print_config(const struct config *cfg)
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	if (!file)
		return NULL;
	config_print(cfg, file);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

/* The setting as config_print() writes it. */
static bool print_setting(const struct config *cfg, const char *head,
    const char *key, struct mount_setting *out)
{
	char *text = print_config(cfg);
	bool found = text && find_line(text, head, key, out);

	free(text);
	return found;
}

bool mount_value_get(const struct config *cfg, const struct config_server *srv,
    const char *path, const char *key, char value[MOUNT_VALUE_MAX])
{
	struct mount_setting found;
	char *head = NULL;
	bool good = false;

	if (path && asprintf(&head, "[export %s:%s]\n", srv->name, path) >= 0)
		good = print_setting(cfg, head, key, &found);
	free(head);
	head = NULL;
	if (!good && asprintf(&head, "[server %s]\n", srv->name) >= 0) {
		good = print_setting(cfg, head, key, &found);
		free(head);
	}
	if (good)
		strcpy(value, found.value);
	return good;
}

/*
 * The line of a server that a setting makes different: its key is the present
 * name of one that was called otherwise. False where the value is the default.
 */
static bool print_difference(
    const struct config *cfg, struct mount_setting *out)
{
	char err[CONFIG_ERR_MAX];
	struct config *plain =
	    config_parse_string(SERVER EXPORT, "", err, sizeof(err));
	char *was = plain ? print_config(plain) : NULL;
	char *is = print_config(cfg);
	const char *a = was, *b = is;
	bool found = false;

	while (a && b && !found && (a = strchr(a, '\n')) &&
	       (b = strchr(b, '\n'))) {
		size_t la = strcspn(++a, "\n"), lb = strcspn(++b, "\n");
		const char *mid = strstr(b, " = ");

		if ((la == lb && memcmp(a, b, la) == 0) || !mid ||
		    mid >= b + lb)
			continue;
		take_line(b, mid, b + lb, out);
		found = true;
	}
	free(was);
	free(is);
	config_free(plain);
	return found;
}

/* The reason alone of "FILE:LINE: [section] key: reason". */
static const char *reason_of(const char *err, const char *key)
{
	char mark[MOUNT_KEY_MAX + 4];
	const char *at;

	snprintf(mark, sizeof(mark), "] %s: ", key);
	at = strstr(err, mark);
	return at ? at + strlen(mark) : err;
}

/* 1: it is one, 0: no such key, -1: not that value. */
static int try_section(const char *section, const char *head, const char *only,
    struct mount_setting *out, struct mount_why *why)
{
	char text[512], err[CONFIG_ERR_MAX];
	struct mount_setting asked = *out;
	struct config *cfg;
	const char *reason;

	snprintf(
	    text, sizeof(text), "%s%s = %s\n", section, asked.key, asked.value);
	cfg = config_parse_string(text, "", err, sizeof(err));
	if (cfg) {
		if (!print_setting(cfg, head, only, out) &&
		    !print_difference(cfg, out))
			*out = asked;
		config_free(cfg);
		return 1;
	}
	reason = reason_of(err, asked.key);
	if (strncmp(reason, "unknown key", 11) != 0) {
		mount_refuse(why, "%s=%s: %s", asked.key, asked.value, reason);
		return -1;
	}
	reason = strstr(reason, "did you mean");
	mount_refuse(why, "%s", reason ? reason : "");
	return 0;
}

enum mount_kind mount_value_look(const char *key, const char *value,
    struct mount_setting *out, struct mount_why *why)
{
	int found;

	*why = (struct mount_why){.text = ""};
	*out = (struct mount_setting){.kind = MOUNT_KIND_NONE};
	if (strlen(key) >= sizeof(out->key) || !is_plain(key, "_") || !*key)
		return MOUNT_KIND_NONE;
	strcpy(out->key, key);
	if (strlen(value) >= sizeof(out->value) || !is_plain(value, "%._-/:[]"))
		value = "?";
	strcpy(out->value, value);
	found = try_section(SERVER EXPORT, "[export", "", out, why);
	out->kind = MOUNT_KIND_POLICY;
	if (found == 0) {
		found = try_section(SERVER, "[server", key, out, why);
		out->kind = MOUNT_KIND_SERVER;
	}
	return found < 0 ? MOUNT_KIND_BAD : found ? out->kind : MOUNT_KIND_NONE;
}

static bool has_paths(
    const struct config_server *srv, const char *const *paths, unsigned npaths)
{
	if (srv->noverrides != npaths)
		return false;
	for (unsigned i = 0; i < npaths; i++)
		if (strcmp(srv->overrides[i].path, paths[i]) != 0)
			return false;
	return true;
}

bool mount_value_check(const char *text, const char *server,
    const char *const *paths, unsigned npaths, struct mount_why *why)
{
	char err[CONFIG_ERR_MAX];
	struct config *cfg = config_parse_string(text, "", err, sizeof(err));
	bool good;

	if (!cfg)
		return mount_refuse(why, "%s", err);
	good = cfg->nservers == 1 && cfg->line == 0 &&
	       strcmp(cfg->servers[0].name, server) == 0 &&
	       has_paths(&cfg->servers[0], paths, npaths);
	config_free(cfg);
	return good || mount_refuse(why, "a section of the configuration "
					 "cannot name that path");
}
