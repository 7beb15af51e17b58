/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the command line, and says what is wrong with it. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"
#include "usage.h"

#define SIZE_LIMIT        (1u << 20) /* libnfs drops larger replies */
#define FILES_LIMIT       1000000u
#define CONCURRENCY_LIMIT 1024u
#define CONNECTIONS_LIMIT 256u

/* Whether these options were given, whose defaults depend on all others. */
struct given {
	struct target_spec server;
	bool warmup, work;
};

enum {
	OPT_TARGET = 256,
	OPT_SERVER,
	OPT_PORT,
	OPT_MOUNT_PORT,
	OPT_EXPORT,
	OPT_PID,
	OPT_DIR,
	OPT_OP,
	OPT_MIX,
	OPT_SIZE,
	OPT_FILES,
	OPT_FILE_SIZE,
	OPT_ONCE,
	OPT_FRESH,
	OPT_PRIME,
	OPT_STABLE,
	OPT_UIDS,
	OPT_VERIFY,
	OPT_CONCURRENCY,
	OPT_CONNECTIONS,
	OPT_DURATION,
	OPT_COUNT,
	OPT_WARMUP,
	OPT_ROUNDS,
	OPT_SEED,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_KEEP,
	OPT_QUIET,
};

static const struct option long_options[] = {
    {"target", required_argument, NULL, OPT_TARGET},
    {"server", required_argument, NULL, OPT_SERVER},
    {"port", required_argument, NULL, OPT_PORT},
    {"mount-port", required_argument, NULL, OPT_MOUNT_PORT},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"pid", required_argument, NULL, OPT_PID},
    {"dir", required_argument, NULL, OPT_DIR},
    {"op", required_argument, NULL, OPT_OP},
    {"mix", required_argument, NULL, OPT_MIX},
    {"size", required_argument, NULL, OPT_SIZE},
    {"files", required_argument, NULL, OPT_FILES},
    {"file-size", required_argument, NULL, OPT_FILE_SIZE},
    {"once", no_argument, NULL, OPT_ONCE},
    {"fresh", no_argument, NULL, OPT_FRESH},
    {"prime", no_argument, NULL, OPT_PRIME},
    {"stable", no_argument, NULL, OPT_STABLE},
    {"uids", required_argument, NULL, OPT_UIDS},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"concurrency", required_argument, NULL, OPT_CONCURRENCY},
    {"connections", required_argument, NULL, OPT_CONNECTIONS},
    {"duration", required_argument, NULL, OPT_DURATION},
    {"count", required_argument, NULL, OPT_COUNT},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"json", no_argument, NULL, OPT_JSON},
    {"keep", no_argument, NULL, OPT_KEEP},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

__attribute__((format(printf, 1, 2))) static bool complain(const char *fmt, ...)
{
	va_list ap;

	fputs("nfsload: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return false;
}

/* A number between `min` and `max`, then one of the suffixes (or none). */
static bool parse_u64(
    const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	uint64_t v, factor = 1;

	errno = 0;
	v = strtoull(s, &end, 0);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		factor = 1ull << (10 * (unit - units + 1));
		end++;
	}
	if (!isdigit((unsigned char)*s) || *end || errno)
		return complain("%s: '%s' is not a number", what, s);
	if (v > UINT64_MAX / factor || v * factor < min || v * factor > max)
		return complain("%s: %s is out of range (%llu to %llu)", what,
		    s, (unsigned long long)min, (unsigned long long)max);
	*out = v * factor;
	return true;
}

static bool parse_u32(
    const char *what, const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (!parse_u64(what, s, min, max, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool parse_port(const char *what, const char *s, uint16_t *out)
{
	uint64_t v;

	if (!parse_u64(what, s, 1, UINT16_MAX, &v))
		return false;
	*out = (uint16_t)v;
	return true;
}

static bool parse_time(
    const char *what, const char *s, uint64_t min_ns, uint64_t *out)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9},
	    {"m", 60e9}, {"h", 3600e9}};
	char *end;
	double v = strtod(s, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!isdigit((unsigned char)*s) || strcmp(end, units[i].name))
			continue;
		v *= units[i].ns;
		if (v < (double)min_ns || v > 30 * 24 * 3600e9)
			return complain("%s: %s is out of range", what, s);
		*out = (uint64_t)v;
		return true;
	}
	return complain(
	    "%s: '%s' is not a time such as 500ms, 5s or 2m", what, s);
}

static bool copy(
    const char *what, char *to, size_t size, const char *from, size_t len)
{
	if (len == 0)
		return complain("%s is empty", what);
	if (len >= size)
		return complain("%s is too long", what);
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* HOST or [ADDRESS] at *s; *s is moved behind it. */
static bool parse_host(const char **s, struct target_spec *t)
{
	const char *p = *s;
	size_t len = strcspn(p, ":/");

	if (*p == '[') {
		p++;
		len = strcspn(p, "]");
		if (p[len] != ']')
			return complain("%s: ']' is missing", *s);
		*s = p + len + 1;
	} else {
		*s = p + len;
	}
	return copy("the host of a target", t->host, sizeof(t->host), p, len);
}

/* [:PORT] at *s, possibly empty; *s is moved behind it. */
static bool parse_colon_port(const char **s, const char *stop, uint16_t *port)
{
	char digits[8];
	size_t len;

	if (**s != ':')
		return true;
	++*s;
	len = strcspn(*s, stop);
	if (len >= sizeof(digits))
		return complain("'%s': not a port", *s);
	memcpy(digits, *s, len);
	digits[len] = '\0';
	*s += len;
	return len == 0 || parse_port("port", digits, port);
}

static struct target_spec *new_target(struct options *o)
{
	if (o->targets == TARGETS_MAX) {
		complain("more than %d targets", TARGETS_MAX);
		return NULL;
	}
	return &o->target[o->targets++];
}

static bool parse_target(struct options *o, const char *s)
{
	struct target_spec *t = new_target(o);
	const char *eq = strchr(s, '=');

	if (!t)
		return false;
	if (!eq)
		return complain("--target %s: want "
				"NAME=HOST:PORT:MOUNTPORT:/EXPORT",
		    s);
	if (!copy("the name of a target", t->name, sizeof(t->name), s,
		(size_t)(eq - s)))
		return false;
	eq++;
	if (!parse_host(&eq, t) || !parse_colon_port(&eq, ":/", &t->port) ||
	    !parse_colon_port(&eq, ":/", &t->mount_port))
		return false;
	if (*eq == ':')
		eq++;
	if (*eq != '/')
		return complain(
		    "--target %s: the export must begin with '/'", s);
	return copy("export", t->path, sizeof(t->path), eq, strlen(eq));
}

static void name_after_host(struct target_spec *t)
{
	char host[51], port[8] = "";

	snprintf(host, sizeof(host), "%.50s", t->host);
	if (t->port)
		snprintf(port, sizeof(port), ":%u", t->port);
	snprintf(t->name, sizeof(t->name), "%s%s", host, port);
}

static bool parse_url(struct options *o, const char *url)
{
	static const char scheme[] = "nfs://", query[] = "?mountport=";
	struct target_spec *t = new_target(o);
	const char *s = url + strlen(scheme);
	const char *q;

	if (!t)
		return false;
	if (strncmp(url, scheme, strlen(scheme)))
		return complain("'%s': want nfs://HOST[:PORT]/EXPORT", url);
	if (!parse_host(&s, t) || !parse_colon_port(&s, "/", &t->port))
		return false;
	q = strchr(s, '?');
	if (q && strncmp(q, query, strlen(query)))
		return complain("'%s': only %sPORT is known", url, query);
	if (q && !parse_port("mountport", q + strlen(query), &t->mount_port))
		return false;
	if (*s != '/')
		return complain("'%s': the export is missing", url);
	name_after_host(t);
	return copy("export", t->path, sizeof(t->path), s,
	    q ? (size_t)(q - s) : strlen(s));
}

static bool parse_op(
    struct options *o, const char *name, size_t len, uint32_t weight)
{
	enum call_op op = call_op_parse(name, len);

	if (op == CALL_MEASURED)
		return complain(
		    "'%.*s' is not a procedure; see --help", (int)len, name);
	o->weight[op] = weight;
	return true;
}

static bool parse_mix(struct options *o, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, ",");
		size_t name = strcspn(s, "=,");
		char digits[12] = "1";
		uint32_t weight;

		if (name < len && !copy("a weight", digits, sizeof(digits),
				      s + name + 1, len - name - 1))
			return false;
		if (!parse_u32("--mix", digits, 1, 1000000, &weight) ||
		    !parse_op(o, s, name, weight))
			return false;
		s += len;
		if (*s == ',')
			s++;
	}
	return true;
}

static bool any_work(const struct options *o)
{
	for (enum call_op op = 0; op < CALL_MEASURED; op++)
		if (o->weight[op])
			return true;
	return complain("--mix: no procedure is given");
}

static bool parse_uids(struct options *o, const char *s)
{
	char one[32];

	o->creds = 0;
	while (*s) {
		size_t len = strcspn(s, ",");
		struct cred *c = &o->cred[o->creds];
		char *gid;

		if (o->creds == CREDS_MAX)
			return complain("--uids: more than %d", CREDS_MAX);
		if (!copy("a uid", one, sizeof(one), s, len))
			return false;
		gid = strchr(one, ':');
		if (gid)
			*gid++ = '\0';
		if (!parse_u32("--uids", one, 0, UINT32_MAX, &c->uid) ||
		    !parse_u32(
			"--uids", gid ? gid : one, 0, UINT32_MAX, &c->gid))
			return false;
		o->creds++;
		s += len;
		if (*s == ',')
			s++;
	}
	return o->creds > 0 || complain("--uids: none given");
}

static struct target_spec *find_target(
    struct options *o, const char *name, size_t len)
{
	for (uint32_t i = 0; i < o->targets; i++)
		if (strlen(o->target[i].name) == len &&
		    !strncmp(o->target[i].name, name, len))
			return &o->target[i];
	return NULL;
}

/* NAME=PID[,PID]..., of a target that was given before. */
static bool parse_pids(struct options *o, const char *s)
{
	struct target_spec *t = find_target(o, s, strcspn(s, "="));
	char one[16];

	if (!t)
		return complain("--pid %s: want NAME=PID, of a --target", s);
	s += strcspn(s, "=");
	while (*s) {
		size_t len = strcspn(++s, ",");

		if (t->pids == PIDS_MAX)
			return complain("--pid: more than %d", PIDS_MAX);
		if (!copy("a process id", one, sizeof(one), s, len) ||
		    !parse_u32("--pid", one, 1, INT32_MAX, &t->pid[t->pids]))
			return false;
		t->pids++;
		s += len;
	}
	return t->pids > 0 || complain("--pid: none given");
}

static bool parse_target_option(
    struct options *o, struct given *g, int opt, const char *arg)
{
	size_t len = arg ? strlen(arg) : 0;

	switch (opt) {
	case OPT_TARGET:
		return parse_target(o, arg);
	case OPT_SERVER:
		return copy("--server", g->server.host, sizeof(g->server.host),
		    arg, len);
	case OPT_PORT:
		return parse_port("--port", arg, &g->server.port);
	case OPT_MOUNT_PORT:
		return parse_port("--mount-port", arg, &g->server.mount_port);
	case OPT_EXPORT:
		return copy("--export", g->server.path, sizeof(g->server.path),
		    arg, len);
	case OPT_PID:
		return parse_pids(o, arg);
	default:
		return copy("--dir", o->dir, sizeof(o->dir), arg, len);
	}
}

static bool parse_work_option(
    struct options *o, struct given *g, int opt, const char *arg)
{
	switch (opt) {
	case OPT_OP:
		g->work = true;
		return parse_op(o, arg, strlen(arg), 1);
	case OPT_MIX:
		g->work = true;
		return parse_mix(o, arg);
	case OPT_SIZE:
		return parse_u32("--size", arg, 1, SIZE_LIMIT, &o->size);
	case OPT_FILES:
		return parse_u32("--files", arg, 1, FILES_LIMIT, &o->files);
	case OPT_FILE_SIZE:
		return parse_u64(
		    "--file-size", arg, 1, 1ull << 40, &o->file_size);
	case OPT_UIDS:
		return parse_uids(o, arg);
	case OPT_SEED:
		return parse_u64("--seed", arg, 0, UINT64_MAX, &o->seed);
	default:
		return false;
	}
}

static bool parse_load_option(
    struct options *o, struct given *g, int opt, const char *arg)
{
	switch (opt) {
	case OPT_CONCURRENCY:
		return parse_u32("--concurrency", arg, 1, CONCURRENCY_LIMIT,
		    &o->concurrency);
	case OPT_CONNECTIONS:
		return parse_u32("--connections", arg, 1, CONNECTIONS_LIMIT,
		    &o->connections);
	case OPT_DURATION:
		return parse_time(
		    "--duration", arg, NS_PER_MS, &o->duration_ns);
	case OPT_COUNT:
		return parse_u64("--count", arg, 1, UINT64_MAX, &o->count);
	case OPT_WARMUP:
		g->warmup = true;
		return parse_time("--warmup", arg, 0, &o->warmup_ns);
	case OPT_ROUNDS:
		return parse_u32("--rounds", arg, 1, 10000, &o->rounds);
	default:
		return parse_time("--timeout", arg, NS_PER_MS, &o->timeout_ns);
	}
}

static bool *find_flag(struct options *o, int opt)
{
	switch (opt) {
	case OPT_ONCE:
		return &o->once;
	case OPT_FRESH:
		return &o->fresh;
	case OPT_PRIME:
		return &o->prime;
	case OPT_STABLE:
		return &o->stable;
	case OPT_VERIFY:
		return &o->verify;
	case OPT_JSON:
		return &o->json;
	case OPT_KEEP:
		return &o->keep;
	case OPT_QUIET:
		return &o->quiet;
	default:
		return NULL;
	}
}

static bool parse_one(
    struct options *o, struct given *g, int opt, const char *arg)
{
	bool *flag = find_flag(o, opt);

	if (flag) {
		*flag = true;
		return true;
	}
	if (opt >= OPT_TARGET && opt <= OPT_DIR)
		return parse_target_option(o, g, opt, arg);
	if (opt >= OPT_CONCURRENCY && opt <= OPT_ROUNDS)
		return parse_load_option(o, g, opt, arg);
	if (opt == OPT_TIMEOUT)
		return parse_load_option(o, g, opt, arg);
	return parse_work_option(o, g, opt, arg);
}

static bool add_server(struct options *o, const struct given *g)
{
	const struct target_spec *s = &g->server;
	struct target_spec *t;

	if (!s->host[0]) {
		if (!s->path[0] && !s->port && !s->mount_port)
			return true;
		return complain("--port, --mount-port and --export belong to "
				"--server");
	}
	if (s->path[0] != '/')
		return complain("--server needs --export /PATH");
	t = new_target(o);
	if (!t)
		return false;
	*t = *s;
	name_after_host(t);
	return true;
}

static bool finish(struct options *o, const struct given *g)
{
	if (!add_server(o, g))
		return false;
	if (o->targets == 0)
		return complain("no target is given; try nfsload --help");
	for (uint32_t i = 0; i < o->targets; i++)
		for (uint32_t j = 0; j < i; j++)
			if (!strcmp(o->target[i].name, o->target[j].name))
				return complain("two targets are called %s; "
						"name them with --target",
				    o->target[i].name);
	if (!g->work)
		o->weight[CALL_GETATTR] = 1;
	if (!any_work(o))
		return false;
	if (!o->file_size)
		o->file_size = o->size;
	if (o->file_size < o->size)
		return complain("--file-size is smaller than --size");
	if (o->file_size / o->size * o->files > UINT32_MAX / 2)
		return complain("the working set has too many blocks");
	if (!o->rounds)
		o->rounds = o->targets > 1 ? 5 : 1;
	if (o->fresh && g->warmup && o->warmup_ns)
		return complain("--warmup would touch what --fresh keeps new");
	if (o->fresh && o->prime)
		return complain("--prime would touch what --fresh keeps new");
	if (o->fresh) {
		o->once = true;
		o->warmup_ns = 0;
	}
	return true;
}

enum options_verdict options_parse(struct options *o, int argc, char **argv)
{
	struct given g = {0};
	int opt;

	*o = (struct options){
	    .size = 65536,
	    .files = 64,
	    .concurrency = 1,
	    .connections = 1,
	    .cred = {{geteuid(), getegid()}},
	    .creds = 1,
	    .duration_ns = 2 * NS_PER_SEC,
	    .warmup_ns = 200 * NS_PER_MS,
	    .timeout_ns = 10 * NS_PER_SEC,
	    .seed = 1,
	};
	while ((opt = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (opt == 'h') {
			usage_print();
			return OPTIONS_HELP;
		}
		if (opt == '?' || !parse_one(o, &g, opt, optarg))
			return OPTIONS_USAGE;
	}
	for (; optind < argc; optind++)
		if (!parse_url(o, argv[optind]))
			return OPTIONS_USAGE;
	return finish(o, &g) ? OPTIONS_RUN : OPTIONS_USAGE;
}
