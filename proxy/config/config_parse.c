/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From text to sections and keys:
 *
 *   text -> config_lines_next(): comments off, continuations joined
 *        -> open_section(): the struct that the next keys are for
 *        -> set_key(): parses the value as the table of config_key.c says
 *
 * After the last line of the last file come the defaults, the checks that span
 * keys, and the [export] sections, each of which is handed to its server.
 */
#include "config/config_parse.h"

#include "config/config_binds.h"
#include "config/config_key.h"
#include "config/config_lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX     64
#define EXPORTS_MAX     256 /* [export] sections */
#define SERVER_NAME_MAX 64  /* of a server, bytes */
#define PATH_BYTES      1024

#define BLANKS " \t\r"

struct config_parser {
	struct config *cfg;
	/* [export] sections, until their servers are known. */
	struct config_export *exports;
	size_t nexports;
	bool main; /* this file may have a [forefetch] section */

	unsigned line; /* line where the text that is being parsed begins */

	struct config_section section; /* the one that is open */
	/* No section is open, since its heading was wrong: its keys are
	 * skipped. */
	bool skips;
	/* Name of the file that is being read; one of cfg->files. */
	const char *file;
	char title[200]; /* "[server nas]", or empty before the first */
	unsigned errors; /* messages in `err` so far, a line each */
	unsigned errors_max;
	char *err;
	size_t errlen, erroff;
};

/* Whether there are as many messages as are wanted, so that nothing need be
 * read on. */
static bool is_full(const struct config_parser *p)
{
	return p->errors >= p->errors_max;
}

/* Records an error, of which there may be several, about a line (0: of the
 * file) and a key (NULL: of the section). Returns -EINVAL. */
__attribute__((format(printf, 4, 5))) static int fail(struct config_parser *p,
    unsigned line, const char *key, const char *fmt, ...)
{
	char reason[512], at[16] = "", quoted[64] = "";
	size_t left = p->errlen - p->erroff;
	va_list ap;
	int n;

	if (is_full(p))
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	if (line > 0)
		snprintf(at, sizeof(at), "%u:", line);
	if (key)
		log_escape(quoted, sizeof(quoted), key, strlen(key));
	n = snprintf(p->err + p->erroff, left, "%s%s:%s %s%s%s%s%s",
	    p->errors > 0 ? "\n" : "", p->file, at, p->title,
	    key && p->title[0] ? " " : "", quoted,
	    key || p->title[0] ? ": " : "", reason);
	p->errors++;
	if ((size_t)n < left) {
		p->erroff += (size_t)n;
		return -EINVAL;
	}
	/* A message that does not fit is left out, unless it is the only one.
	 */
	if (p->errors > 1)
		p->err[p->erroff] = '\0';
	p->errors = p->errors_max;
	return -EINVAL;
}

/* Records that memory ran out, after which nothing else is recorded. */
static int fail_memory(struct config_parser *p)
{
	p->title[0] = '\0';
	fail(p, 0, NULL, "out of memory");
	p->errors = p->errors_max;
	return -EINVAL;
}

/* Records that there is such a section already. */
static int fail_twice(struct config_parser *p, const char *file, unsigned line)
{
	if (strcmp(file, p->file) == 0)
		return fail(p, p->line, NULL,
		    "duplicate section; the first is at line %u", line);
	return fail(p, p->line, NULL,
	    "duplicate section; the first is at %s:%u", file, line);
}

/* Sets the heading that messages name, with whatever stood there made harmless.
 */
static void set_title(
    struct config_parser *p, const char *kind, const char *name)
{
	char first[40], second[150];

	log_escape(first, sizeof(first), kind, strlen(kind));
	log_escape(second, sizeof(second), name, strlen(name));
	snprintf(p->title, sizeof(p->title), "[%s%s%s]", first,
	    *name ? " " : "", second);
}

static int open_farm(struct config_parser *p)
{
	struct config_farm *farm = &p->cfg->farm;

	if (farm->file)
		return fail_twice(p, farm->file, farm->line);
	farm->file = p->file;
	farm->line = p->line;
	p->section = config_section_farm(farm);
	return 0;
}

static struct config_server *find_server(struct config *cfg, const char *name)
{
	return (struct config_server *)config_server_find(cfg, name);
}

static int open_daemon(struct config_parser *p)
{
	if (!p->main)
		return fail(p, p->line, NULL,
		    "this section belongs in %s, and not in other files",
		    p->cfg->files[0]);
	if (p->cfg->line > 0)
		return fail_twice(p, p->file, p->cfg->line);
	p->cfg->line = p->line;
	p->section = config_section_daemon(p->cfg);
	return 0;
}

/* Whether a server may have this name. It is that of a directory below
 * cache_dir, too, so neither ".." nor a hidden one. */
static bool is_server_name(const char *name)
{
	size_t len = strlen(name);

	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
			return false;
	return len > 0 && len <= SERVER_NAME_MAX && *name != '.';
}

static int open_server(struct config_parser *p, const char *name)
{
	struct config *cfg = p->cfg;
	struct config_server *srv = find_server(cfg, name);
	struct config_server *list;

	if (srv)
		return fail_twice(p, srv->file, srv->line);
	if (!is_server_name(name))
		return fail(p, p->line, NULL,
		    "want [server NAME], the name of 1 to %d letters, digits, "
		    "'-', '.' or '_', and no '.' first",
		    SERVER_NAME_MAX);
	if (cfg->nservers == SERVERS_MAX)
		return fail(
		    p, p->line, NULL, "more than %d servers", SERVERS_MAX);
	list = reallocarray(cfg->servers, cfg->nservers + 1, sizeof(*list));
	if (!list)
		return fail_memory(p);
	cfg->servers = list;
	srv = &list[cfg->nservers];
	*srv = (struct config_server){
	    .file = p->file, .line = p->line, .name = strdup(name)};
	if (!srv->name)
		return fail_memory(p);
	cfg->nservers++;
	p->section = config_section_server(srv);
	return 0;
}

/* Splits "nas:/src"; both parts are the caller's to free, also after an error.
 */
static int split_export(
    struct config_parser *p, const char *name, struct config_export *exp)
{
	const char *colon = strchr(name, ':');
	struct config_why why;
	int err;

	if (!colon || colon == name) {
		fail(p, p->line, NULL, "want [export SERVER:/PATH]");
		return -EINVAL;
	}
	exp->server = strndup(name, (size_t)(colon - name));
	if (exp->server && !is_server_name(exp->server)) {
		fail(p, p->line, NULL, "no server can have that name");
		return -EINVAL;
	}
	err = config_value_path(colon + 1, PATH_BYTES, &exp->path, &why);
	if (err == -EINVAL)
		fail(p, p->line, NULL, "%s", why.text);
	else if (err || !exp->server)
		fail_memory(p);
	return exp->server ? err : -ENOMEM;
}

static int check_export_twice(
    struct config_parser *p, const struct config_export *exp)
{
	for (size_t i = 0; i < p->nexports; i++)
		if (strcmp(p->exports[i].server, exp->server) == 0 &&
		    strcmp(p->exports[i].path, exp->path) == 0)
			return fail_twice(
			    p, p->exports[i].file, p->exports[i].line);
	return 0;
}

static void free_export(struct config_export *exp)
{
	free(exp->server);
	free(exp->path);
}

/* Keeps an [export] section aside: its server may stand in a later file. */
static int open_export(struct config_parser *p, const char *name)
{
	struct config_export exp = {.file = p->file, .line = p->line};
	struct config_export *list;

	if (split_export(p, name, &exp) || check_export_twice(p, &exp))
		goto bad;
	if (p->nexports == EXPORTS_MAX) {
		fail(p, p->line, NULL, "more than %d [export] sections",
		    EXPORTS_MAX);
		goto bad;
	}
	list = reallocarray(p->exports, p->nexports + 1, sizeof(*list));
	if (!list) {
		fail_memory(p);
		goto bad;
	}
	p->exports = list;
	list[p->nexports] = exp;
	p->section = config_section_export(&list[p->nexports++]);
	return 0;
bad:
	free_export(&exp);
	return -EINVAL;
}

/* Opens a section, or records why there is none. `line` starts with '[' and
 * ends in no blank; it is cut into pieces. */
static int open_section(struct config_parser *p, char *line)
{
	size_t len = strlen(line);
	char *kind = line + 1 + strspn(line + 1, BLANKS), *name;

	p->title[0] = '\0';
	if (len < 2 || line[len - 1] != ']')
		return fail(p, p->line, NULL, "the section has no closing ']'");
	do {
		line[--len] = '\0';
	} while (len > 0 && strchr(BLANKS, line[len - 1]));
	if (kind > line + len)
		kind = line + len;
	name = kind + strcspn(kind, BLANKS);
	if (*name != '\0')
		*name++ = '\0';
	name += strspn(name, BLANKS);

	set_title(p, kind, name);
	p->cfg->has_main |= p->main;
	if (strcmp(kind, "forefetch") == 0 && *name == '\0')
		return open_daemon(p);
	if (strcmp(kind, "farm") == 0 && *name == '\0')
		return open_farm(p);
	if (strcmp(kind, "server") == 0)
		return open_server(p, name);
	if (strcmp(kind, "export") == 0)
		return open_export(p, name);
	return fail(p, p->line, NULL,
	    "unknown section; want [forefetch], [farm], [server NAME] or "
	    "[export SERVER:/PATH]");
}

static int fail_again(struct config_parser *p, const char *name, size_t k)
{
	const struct config_former *former = config_key_former(k);

	if (!former)
		return fail(p, p->line, name, "duplicate key");
	return fail(p, p->line, name,
	    "duplicate key; '%s' is the former name of '%s'", former->former,
	    former->name);
}

static void warn_former(
    const struct config_parser *p, const struct config_former *former)
{
	log_warn("config file=%s line=%u: %s %s is called %s now%s; the former "
		 "name is accepted until the next release",
	    p->file, p->line, p->title, former->former, former->name,
	    former->type ? ", in bits a second" : "");
}

/* Sets a key of the open section. Even a value that is refused counts as given,
 * so that the section is not blamed for lacking the key as well. */
static int set_key(struct config_parser *p, const char *name, const char *value)
{
	const struct config_former *former;
	size_t k = config_key_find(&p->section, name, &former);
	const struct config_key *key = &config_keys[k];
	struct config_why why;
	void *field;
	int err;

	if (k == config_nkeys) {
		config_key_hint(&p->section, name, &why);
		return fail(p, p->line, name, "unknown key%s", why.text);
	}
	if (*p->section.set >> k & 1)
		return fail_again(p, name, k);
	if (*value == '\0')
		return fail(p, p->line, name, "no value");
	*p->section.set |= UINT64_C(1) << k;
	field = config_section_field(&p->section, k);
	if (former && former->type)
		err = former->type->parse(&former->range, value, field, &why);
	else
		err = key->type->parse(&key->range, value, field, &why);
	if (err == -ENOMEM)
		return fail_memory(p);
	if (err)
		return fail(p, p->line, name, "%s", why.text);
	if (former)
		warn_former(p, former);
	if ((key->flags & CONFIG_KEY_BINDS) &&
	    !config_binds_check(p->cfg, field, &why))
		return fail(p, p->line, name, "%s", why.text);
	return 0;
}

/* Parses a line "KEY = VALUE", which is cut into pieces. */
static int parse_key(struct config_parser *p, char *line)
{
	size_t n = strcspn(line, "=:" BLANKS);
	char *value = line + n + strspn(line + n, BLANKS);

	if (n == 0 || *value != '=')
		return fail(p, p->line, NULL, "want KEY = VALUE");
	value++;
	line[n] = '\0';
	if (p->title[0] == '\0')
		return fail(
		    p, p->line, line, "stands before the first [section]");
	return set_key(p, line, value + strspn(value, BLANKS));
}

static void parse_lines(struct config_parser *p, struct config_lines *lines)
{
	while (!is_full(p) && lines->text < lines->end) {
		char *line = config_lines_next(lines);

		p->line = lines->line;
		if (!line)
			fail(p, lines->wrong, NULL, "%s", lines->why);
		else if (line[0] == '[')
			p->skips = open_section(p, line) != 0;
		else if (line[0] != '\0' && !p->skips)
			parse_key(p, line);
	}
}

/* Hands each [export] to its server, which must exist. Those that are left
 * after an error are freed by config_parser_end(). */
static int attach_exports(struct config_parser *p)
{
	while (p->nexports > 0) {
		struct config_export *exp = &p->exports[0], *list;
		struct config_server *srv = find_server(p->cfg, exp->server);

		if (!srv) {
			char name[PATH_BYTES * 2];

			snprintf(name, sizeof(name), "%s:%s", exp->server,
			    exp->path);
			set_title(p, "export", name);
			p->file = exp->file;
			return fail(p, exp->line, NULL,
			    "there is no section [server %s]", exp->server);
		}
		list = reallocarray(
		    srv->overrides, srv->noverrides + 1, sizeof(*list));
		if (!list)
			return fail_memory(p);
		srv->overrides = list;
		list[srv->noverrides++] = *exp;
		p->nexports--;
		memmove(exp, exp + 1, p->nexports * sizeof(*exp));
	}
	return 0;
}

/* Gives an [export] its server's values of keys that it leaves open. All of
 * these are plain numbers, so they may be copied. */
static void inherit_policy(struct config_server *srv, struct config_export *exp)
{
	struct config_section from = config_section_server(srv);
	struct config_section to = config_section_export(exp);

	for (size_t k = 0; k < config_nkeys; k++) {
		void *field = config_section_field(&to, k);

		if (field && !(exp->set >> k & 1))
			memcpy(field, config_section_field(&from, k),
			    config_keys[k].type->size);
	}
}

/* Checks that no key is missing, and fills in the presets. */
static int finish_section(struct config_parser *p,
    const struct config_section *section, unsigned line)
{
	struct config_why why;
	int err;

	for (size_t k = 0; k < config_nkeys; k++)
		if ((config_keys[k].flags & CONFIG_KEY_REQUIRED) &&
		    config_section_field(section, k) &&
		    !(*section->set >> k & 1))
			return fail(p, line, config_keys[k].name,
			    "the key is missing; it has no default");
	err = config_section_preset(section, &why);
	if (err == -ENOMEM)
		return fail_memory(p);
	if (err)
		return fail(p, 0, NULL, "preset: %s", why.text);
	return 0;
}

static int finish_server(struct config_parser *p, struct config_server *srv)
{
	struct config_section section = config_section_server(srv);

	set_title(p, "server", srv->name);
	p->file = srv->file;
	if (finish_section(p, &section, srv->line))
		return -EINVAL;
	for (size_t i = 0; i < srv->noverrides; i++)
		inherit_policy(srv, &srv->overrides[i]);
	return 0;
}

static void finish_farm(struct config_parser *p)
{
	struct config_farm *farm = &p->cfg->farm;
	struct config_section section = config_section_farm(farm);

	set_title(p, "farm", "");
	p->file = farm->file ? farm->file : p->file;
	if (finish_section(p, &section, farm->line))
		return;
	if (farm->engine.n > 0 && farm->key_file[0] == '\0')
		fail(p, farm->line, "key_file",
		    "the key is missing; \"forefetch farm key FILE\" makes "
		    "such a file, which every machine of the farm needs");
}

/* The checks that need all files to have been read. */
static void finish(struct config_parser *p)
{
	struct config *cfg = p->cfg;
	struct config_section section = config_section_daemon(cfg);

	p->title[0] = '\0';
	if (finish_section(p, &section, cfg->line) || attach_exports(p))
		return;
	finish_farm(p);
	for (size_t i = 0; i < cfg->nservers && !is_full(p); i++)
		finish_server(p, &cfg->servers[i]);
}

struct config_parser *config_parser_new(
    struct config *cfg, unsigned errors_max, char *err, size_t errlen)
{
	struct config_parser *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->cfg = cfg;
	p->errors_max = errors_max;
	p->err = err;
	p->errlen = errlen;
	return p;
}

/* Adds a file's name to those that the configuration keeps, and returns it
 * there; NULL without memory. */
static const char *add_file(struct config *cfg, const char *name)
{
	char **list = reallocarray(cfg->files, cfg->nfiles + 1, sizeof(*list));

	if (!list)
		return NULL;
	cfg->files = list;
	list[cfg->nfiles] = strdup(name);
	return list[cfg->nfiles] ? list[cfg->nfiles++] : NULL;
}

/* Begins with a file: its sections and lines count from here. False without
 * memory. */
static bool begin_file(struct config_parser *p, const char *name)
{
	const char *file = add_file(p->cfg, name);

	p->main = p->cfg->nfiles == 1;
	p->file = file ? file : name;
	p->title[0] = '\0';
	p->skips = false;
	if (!file)
		fail_memory(p);
	return file != NULL;
}

void config_parser_add(
    struct config_parser *p, const char *name, const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	struct config_lines lines;

	if (!begin_file(p, name)) {
		free(copy);
		return;
	}
	if (!copy) {
		fail_memory(p);
		return;
	}
	memcpy(copy, text, len);
	lines = (struct config_lines){.text = copy, .end = copy + len};
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		lines.text += 3; /* a byte order mark */
	parse_lines(p, &lines);
	free(copy);
}

void config_parser_refuse(
    struct config_parser *p, const char *name, const char *why)
{
	if (begin_file(p, name))
		fail(p, 0, NULL, "%s", why);
}

int config_parser_end(struct config_parser *p)
{
	int rc;

	if (p->errors == 0)
		finish(p);
	rc = p->errors > 0 ? -EINVAL : 0;
	for (size_t i = 0; i < p->nexports; i++)
		free_export(&p->exports[i]);
	free(p->exports);
	free(p);
	return rc;
}
