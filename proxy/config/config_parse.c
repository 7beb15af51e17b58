/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From text to sections and keys:
 *
 *   text -> next_line(): comments off, continuations joined
 *        -> open_section(): the struct that the next keys are for
 *        -> set_key(): parses the value as the table of config_key.c says
 *
 * After the last line come the defaults, the checks that span keys, and the
 * [export] sections, each of which is handed to its server.
 */
#include "config/config_parse.h"

#include "config/config_key.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX     64
#define EXPORTS_MAX     256 /* [export] sections */
#define SERVER_NAME_MAX 64  /* of a server, bytes */
#define PATH_BYTES      1024
/* A line with all that continues it: a list of some thousand paths. */
#define LINE_BYTES      65536

#define BLANKS " \t\r"

struct parser {
	struct config *cfg;
	struct config_export *exports; /* until their servers are known */
	size_t nexports;

	char *text; /* what is still to be read; lines are cut out of it */
	const char *end;
	unsigned read; /* lines that were read */
	unsigned line; /* where what is being parsed begins */

	struct config_section section; /* the one that is open */
	const char *file;
	char title[200]; /* "[server nas]", or empty before the first */
	bool failed;     /* `err` holds the message */
	char *err;
	size_t errlen;
};

/* Record the first error; later ones may follow from it. Returns -EINVAL. */
__attribute__((format(printf, 4, 5))) static int fail(
    struct parser *p, unsigned line, const char *key, const char *fmt, ...)
{
	char reason[512], at[16] = "", quoted[64] = "";
	va_list ap;

	if (p->failed)
		return -EINVAL;
	p->failed = true;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	if (line > 0)
		snprintf(at, sizeof(at), "%u:", line);
	if (key)
		log_escape(quoted, sizeof(quoted), key, strlen(key));
	snprintf(p->err, p->errlen, "%s:%s %s%s%s%s%s", p->file, at, p->title,
	    key && p->title[0] ? " " : "", quoted,
	    key || p->title[0] ? ": " : "", reason);
	return -EINVAL;
}

static int fail_memory(struct parser *p)
{
	p->title[0] = '\0';
	return fail(p, 0, NULL, "out of memory");
}

static void set_title(struct parser *p, const char *kind, const char *name)
{
	char first[40], second[150];

	log_escape(first, sizeof(first), kind, strlen(kind));
	log_escape(second, sizeof(second), name, strlen(name));
	snprintf(p->title, sizeof(p->title), "[%s%s%s]", first,
	    *name ? " " : "", second);
}

static struct config_server *find_server(struct config *cfg, const char *name)
{
	return (struct config_server *)config_server_find(cfg, name);
}

static int open_daemon(struct parser *p)
{
	if (p->cfg->line > 0)
		return fail(p, p->line, NULL,
		    "duplicate section; the first is at line %u", p->cfg->line);
	p->cfg->line = p->line;
	p->section = config_section_daemon(p->cfg);
	return 0;
}

static bool is_server_name(const char *name)
{
	size_t len = strlen(name);

	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
			return false;
	return len > 0 && len <= SERVER_NAME_MAX;
}

static int open_server(struct parser *p, const char *name)
{
	struct config *cfg = p->cfg;
	struct config_server *srv = find_server(cfg, name);
	struct config_server *list;

	if (srv)
		return fail(p, p->line, NULL,
		    "duplicate section; the first is at line %u", srv->line);
	if (!is_server_name(name))
		return fail(p, p->line, NULL,
		    "want [server NAME], the name of 1 to %d letters, digits, "
		    "'-', '.' or '_'",
		    SERVER_NAME_MAX);
	if (cfg->nservers == SERVERS_MAX)
		return fail(
		    p, p->line, NULL, "more than %d servers", SERVERS_MAX);
	list = reallocarray(cfg->servers, cfg->nservers + 1, sizeof(*list));
	if (!list)
		return fail_memory(p);
	cfg->servers = list;
	srv = &list[cfg->nservers];
	*srv = (struct config_server){.line = p->line, .name = strdup(name)};
	if (!srv->name)
		return fail_memory(p);
	cfg->nservers++;
	p->section = config_section_server(srv);
	return 0;
}

/* Split "nas:/src"; both parts are the caller's, also after an error. */
static int split_export(
    struct parser *p, const char *name, struct config_export *exp)
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

static int check_export_twice(struct parser *p, const struct config_export *exp)
{
	for (size_t i = 0; i < p->nexports; i++)
		if (strcmp(p->exports[i].server, exp->server) == 0 &&
		    strcmp(p->exports[i].path, exp->path) == 0)
			return fail(p, p->line, NULL,
			    "duplicate section; the first is at line %u",
			    p->exports[i].line);
	return 0;
}

static void free_export(struct config_export *exp)
{
	free(exp->server);
	free(exp->path);
}

static int open_export(struct parser *p, const char *name)
{
	struct config_export exp = {.line = p->line};
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

/* `line` starts with '[' and ends in no blank; it is cut into pieces. */
static int open_section(struct parser *p, char *line)
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
	if (strcmp(kind, "forefetch") == 0 && *name == '\0')
		return open_daemon(p);
	if (strcmp(kind, "server") == 0)
		return open_server(p, name);
	if (strcmp(kind, "export") == 0)
		return open_export(p, name);
	return fail(p, p->line, NULL,
	    "unknown section; want [forefetch], [server NAME] or "
	    "[export SERVER:/PATH]");
}

/* Does anything that `cfg` binds, but for `mine`, stand in the way of `na`? */
static bool find_clash(const struct config *cfg,
    const struct config_addrs *mine, const struct netmatch_addr *na,
    struct config_why *owner)
{
	for (size_t i = 0; i < cfg->nservers; i++) {
		const struct config_server *srv = &cfg->servers[i];

		for (size_t j = 0; j < srv->listen.n; j++) {
			if (&srv->listen == mine ||
			    !netmatch_addr_clash(&srv->listen.list[j], na))
				continue;
			snprintf(owner->text, sizeof(owner->text),
			    "[server %s]", srv->name);
			return true;
		}
	}
	snprintf(owner->text, sizeof(owner->text), "metrics");
	return &cfg->metrics != mine && cfg->metrics.n > 0 &&
	       netmatch_addr_clash(&cfg->metrics.list[0], na);
}

/* A port belongs to one server: handles of two servers may be equal. */
static int check_binds(
    struct parser *p, const char *key, const struct config_addrs *mine)
{
	char text[NETMATCH_TEXT_MAX];
	struct config_why owner;

	for (size_t i = 0; i < mine->n; i++) {
		netmatch_addr_format(&mine->list[i], text);
		for (size_t j = 0; j < i; j++)
			if (netmatch_addr_clash(&mine->list[i], &mine->list[j]))
				return fail(p, p->line, key,
				    "%s overlaps with another address here",
				    text);
		if (find_clash(p->cfg, mine, &mine->list[i], &owner))
			return fail(p, p->line, key, "%s is taken by %s", text,
			    owner.text);
	}
	return 0;
}

static int set_key(struct parser *p, const char *name, const char *value)
{
	size_t k = config_key_find(&p->section, name);
	const struct config_key *key = &config_keys[k];
	struct config_why why;
	void *field;
	int err;

	if (k == config_nkeys) {
		config_key_hint(&p->section, name, &why);
		return fail(p, p->line, name, "unknown key%s", why.text);
	}
	if (*p->section.set >> k & 1)
		return fail(p, p->line, name, "duplicate key");
	if (*value == '\0')
		return fail(p, p->line, name, "no value");
	*p->section.set |= UINT64_C(1) << k;
	field = config_section_field(&p->section, k);
	err = key->type->parse(&key->range, value, field, &why);
	if (err == -ENOMEM)
		return fail_memory(p);
	if (err)
		return fail(p, p->line, name, "%s", why.text);
	if (key->flags & CONFIG_KEY_BINDS)
		return check_binds(p, name, field);
	return 0;
}

/* Whether text[at] is the first byte, or stands behind a blank. */
static bool is_word_start(const char *text, size_t at)
{
	return at == 0 || strchr(BLANKS, text[at - 1]);
}

/* Cut the next line off the text; NULL after an error. */
static char *cut_line(struct parser *p, size_t *len)
{
	char *line = p->text;
	char *eol = memchr(line, '\n', (size_t)(p->end - line));
	size_t n = (size_t)((eol ? eol : p->end) - line);

	p->text = line + n + (eol != NULL);
	p->read++;
	if (n > 0 && line[n - 1] == '\r')
		n--;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i];

		if (!iscntrl(c) || c == '\t')
			continue;
		fail(p, p->read, NULL, "a control character (byte 0x%02x)", c);
		return NULL;
	}
	*len = n;
	return line;
}

/*
 * Take the comment off a line and the blanks around the rest. Returns whether
 * there was nothing but a comment.
 */
static bool trim(char **line, size_t *len)
{
	size_t n = 0;
	bool comment;

	while (
	    n < *len && !(strchr("#;", (*line)[n]) && is_word_start(*line, n)))
		n++;
	comment = n < *len;
	while (n > 0 && strchr(BLANKS, (*line)[n - 1]))
		n--;
	for (; n > 0 && strchr(BLANKS, **line); n--)
		++*line;
	*len = n;
	return comment && n == 0;
}

/* Does the line go on with the next one? Its '\' is taken off then. */
static bool is_continued(const char *line, size_t *len)
{
	if (*len == 0 || line[*len - 1] != '\\' ||
	    !is_word_start(line, *len - 1))
		return false;
	--*len;
	return true;
}

/*
 * The next line, with all that continues it: the parts are moved together
 * where they lie, each behind the blank that was before the '\'. Lines that
 * are only a comment do not end what is continued. NULL after an error.
 */
static char *next_line(struct parser *p)
{
	size_t len, more;
	char *line = cut_line(p, &len), *part;
	bool comment;

	p->line = p->read;
	if (!line)
		return NULL;
	trim(&line, &len);
	for (comment = false; comment || is_continued(line, &len);) {
		if (p->text == p->end) {
			fail(p, p->read, NULL, "nothing follows the '\\'");
			return NULL;
		}
		part = cut_line(p, &more);
		if (!part)
			return NULL;
		comment = trim(&part, &more);
		memmove(line + len, part, more);
		len += more;
	}
	if (len > LINE_BYTES) {
		fail(p, p->line, NULL,
		    "the line is too long (%zu bytes, want %d at most)", len,
		    LINE_BYTES);
		return NULL;
	}
	while (len > 0 && strchr(BLANKS, line[len - 1]))
		len--;
	line[len] = '\0';
	return line;
}

/* "KEY = VALUE"; it is cut into pieces. */
static int parse_key(struct parser *p, char *line)
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

static void parse_lines(struct parser *p)
{
	while (!p->failed && p->text < p->end) {
		char *line = next_line(p);

		if (line && line[0] == '[')
			open_section(p, line);
		else if (line && line[0] != '\0')
			parse_key(p, line);
	}
}

/* Hand each [export] to its server, which must exist. */
static int attach_exports(struct parser *p)
{
	while (p->nexports > 0) {
		struct config_export *exp = &p->exports[0], *list;
		struct config_server *srv = find_server(p->cfg, exp->server);

		if (!srv) {
			char name[PATH_BYTES * 2];

			snprintf(name, sizeof(name), "%s:%s", exp->server,
			    exp->path);
			set_title(p, "export", name);
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

/* Keys that an [export] leaves open are its server's. */
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

static int finish_section(
    struct parser *p, const struct config_section *section, unsigned line)
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

static int finish(struct parser *p)
{
	struct config *cfg = p->cfg;
	struct config_section section = config_section_daemon(cfg);

	p->title[0] = '\0';
	if (cfg->nservers == 0)
		return fail(p, 0, NULL, "there is no [server NAME] section");
	if (finish_section(p, &section, cfg->line) || attach_exports(p))
		return -EINVAL;
	for (size_t i = 0; i < cfg->nservers; i++) {
		struct config_server *srv = &cfg->servers[i];

		set_title(p, "server", srv->name);
		section = config_section_server(srv);
		if (finish_section(p, &section, srv->line))
			return -EINVAL;
		for (size_t j = 0; j < srv->noverrides; j++)
			inherit_policy(srv, &srv->overrides[j]);
	}
	return 0;
}

int config_parse_text(struct config *cfg, const char *text, size_t len,
    const char *name, char *err, size_t errlen)
{
	char *copy = malloc(len + 1);
	struct parser p = {
	    .cfg = cfg,
	    .text = copy,
	    .end = copy + len,
	    .file = name,
	    .err = err,
	    .errlen = errlen,
	};

	if (!copy)
		return fail_memory(&p);
	memcpy(copy, text, len);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		p.text += 3; /* a byte order mark */
	parse_lines(&p);
	if (!p.failed)
		finish(&p);
	for (size_t i = 0; i < p.nexports; i++)
		free_export(&p.exports[i]);
	free(p.exports);
	free(copy);
	return p.failed ? -EINVAL : 0;
}
