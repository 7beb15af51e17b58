/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the file. libinih splits a line into key and value; the rest is done
 * by the reader that feeds it, because libinih as distributions build it has
 * no line numbers, cuts section names at 49 bytes and lines at 199 without a
 * word, does not report sections without keys, and knows '#' only at the start
 * of a line. So the reader counts lines, drops comments, opens sections and
 * refuses what would be cut; libinih gets to see lines with keys only.
 */
#include "config/config_parse.h"

#include "config/config_key.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX     64
#define EXPORTS_MAX     256 /* [export] sections */
#define SERVER_NAME_MAX 64  /* of a server, bytes */
#define PATH_BYTES      1024

#define BLANKS " \t\r"

struct parser {
	struct config *cfg;
	struct config_export *exports; /* until their servers are known */
	size_t nexports;

	const char *text; /* what is still to be read */
	const char *end;
	unsigned line;

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
	for (size_t i = 0; i < cfg->nservers; i++)
		if (strcmp(cfg->servers[i].name, name) == 0)
			return &cfg->servers[i];
	return NULL;
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

/* For libinih: 1 goes on, 0 is an error. */
static int parser_on_key(
    void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;

	(void)section; /* libinih saw none */
	if (p->failed)
		return 0;
	if (p->title[0] == '\0') {
		fail(p, p->line, name, "stands before the first [section]");
		return 0;
	}
	return set_key(p, name, value) == 0;
}

static void fail_length(struct parser *p, size_t len, size_t most)
{
	fail(p, p->line, NULL,
	    "the line is too long (%zu bytes, want %zu at most)", len, most);
}

/*
 * Copy the next line without its comment and the blanks around it. Returns
 * false when it does not fit or holds what no text file holds.
 */
static bool copy_line(struct parser *p, char *out, size_t outlen)
{
	const char *eol = memchr(p->text, '\n', (size_t)(p->end - p->text));
	const char *start = p->text, *stop = eol ? eol : p->end;
	size_t len = 0;

	p->text = eol ? eol + 1 : p->end;
	p->line++;
	if (stop > start && stop[-1] == '\r')
		stop--;
	for (const char *c = start; c < stop; c++) {
		if (!iscntrl((unsigned char)*c) || *c == '\t')
			continue;
		fail(p, p->line, NULL, "a control character (byte 0x%02x)",
		    (unsigned char)*c);
		return false;
	}
	while (start < stop && strchr(BLANKS, *start))
		start++;
	for (; start + len < stop; len++)
		if (strchr("#;", start[len]) &&
		    (len == 0 || strchr(BLANKS, start[len - 1])))
			break;
	while (len > 0 && strchr(BLANKS, start[len - 1]))
		len--;
	if (len >= outlen) {
		fail_length(p, len, outlen - 1);
		return false;
	}
	memcpy(out, start, len);
	out[len] = '\0';
	return true;
}

/* libinih takes ':' for '=' too; a missing '=' must not pass by that door. */
static bool looks_like_key(const char *line)
{
	size_t n = strcspn(line, "=:" BLANKS);

	if (n == 0)
		return false;
	n += strspn(line + n, BLANKS);
	return line[n] == '=';
}

/*
 * For libinih, like fgets(3): the next line that holds a key, or NULL at the
 * end or after an error.
 */
static char *parser_on_read(char *out, int outlen, void *user)
{
	char line[PATH_BYTES + 256];
	struct parser *p = user;
	size_t len;

	while (!p->failed && p->text < p->end) {
		if (!copy_line(p, line, sizeof(line)))
			return NULL;
		if (line[0] == '\0')
			continue;
		if (line[0] == '[') {
			open_section(p, line);
			continue;
		}
		if (!looks_like_key(line)) {
			fail(p, p->line, NULL, "want KEY = VALUE");
			return NULL;
		}
		/* libinih wants room for a line break and the NUL. */
		len = strlen(line);
		if (len + 3 > (size_t)outlen) {
			fail_length(p, len, (size_t)outlen - 3);
			return NULL;
		}
		memcpy(out, line, len + 1);
		return out;
	}
	return NULL;
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
	struct parser p = {
	    .cfg = cfg,
	    .text = text,
	    .end = text + len,
	    .file = name,
	    .err = err,
	    .errlen = errlen,
	};

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		p.text += 3; /* a byte order mark */
	if (ini_parse_stream(parser_on_read, &p, parser_on_key, &p) != 0)
		fail(&p, p.line, NULL, "want KEY = VALUE");
	if (!p.failed)
		finish(&p);
	for (size_t i = 0; i < p.nexports; i++)
		free_export(&p.exports[i]);
	free(p.exports);
	return p.failed ? -EINVAL : 0;
}
