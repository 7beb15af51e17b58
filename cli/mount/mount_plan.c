/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which section serves a mount. A section is the server's if it has the name
 * that was typed, or else its address. What a person wrote is never changed;
 * what a mount asks for beyond that goes into files of the run directory:
 *
 *	NAME.conf           [server NAME], where there is none
 *	NAME+exports.conf   [export NAME:PATH] of paths that have options
 *
 * (No server is called NAME+exports.) Two mounts of a server share its section,
 * so the second one may not ask for something else.
 */
#include "mount/mount_plan.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- where a section listens ------------------------------------------ */

/* Where a client of this host reaches a listening address: a wildcard is
 * reached by the loopback address of its family. False for other families. */
static bool address_of(const struct netmatch_addr *na, char address[64],
    unsigned *port, bool *loopback)
{
	const struct sockaddr_in *v4 = (const void *)&na->addr;
	const struct sockaddr_in6 *v6 = (const void *)&na->addr;

	if (na->addr.ss_family == AF_INET) {
		uint32_t addr = ntohl(v4->sin_addr.s_addr);

		if (addr == INADDR_ANY)
			addr = INADDR_LOOPBACK;
		*loopback = addr >> 24 == 127;
		*port = ntohs(v4->sin_port);
		addr = htonl(addr);
		return inet_ntop(AF_INET, &addr, address, 64) != NULL;
	}
	if (na->addr.ss_family != AF_INET6)
		return false;
	*loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		    IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
	*port = ntohs(v6->sin6_port);
	return inet_ntop(AF_INET6,
		   *loopback ? &in6addr_loopback : &v6->sin6_addr, address,
		   64) != NULL;
}

/* A loopback address is taken before others: it is always up, and only this
 * host can send from it. */
bool mount_plan_listen(
    const struct config_server *srv, char address[64], unsigned *port)
{
	bool loopback = false, found = false;

	for (size_t i = 0; i < srv->listen.n && !loopback; i++) {
		char text[64];
		unsigned p;

		if (!address_of(&srv->listen.list[i], text, &p, &loopback) ||
		    (found && !loopback))
			continue;
		found = true;
		strcpy(address, text);
		*port = p;
	}
	return found;
}

/* The port of a section; 0: it listens nowhere. */
static unsigned port_of(const struct config_server *srv)
{
	char address[64];
	unsigned port = 0;

	mount_plan_listen(srv, address, &port);
	return port;
}

/* ---- the section of a server ------------------------------------------ */

/* Whether two names are of one host: case and a final dot are no difference. */
static bool same_host(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	la -= la > 0 && a[la - 1] == '.';
	lb -= lb > 0 && b[lb - 1] == '.';
	return la == lb && strncasecmp(a, b, la) == 0;
}

/* The section of that name, or else the first with that address. */
static const struct config_server *find_section(
    const struct config *cfg, const char *host)
{
	const struct config_server *srv = config_server_find(cfg, host);

	for (size_t i = 0; !srv && i < cfg->nservers; i++)
		if (same_host(cfg->servers[i].address, host))
			srv = &cfg->servers[i];
	return srv;
}

/* Whether the file is the one that a mount writes for `name`, in `dir`. */
static bool is_file(
    const char *file, const char *dir, const char *name, const char *what)
{
	char ours[PATH_MAX];

	snprintf(ours, sizeof(ours), "%s/%s%s.conf", dir, name, what);
	return strcmp(file, ours) == 0;
}

/* Whether a mount wrote the [export] section. */
static bool is_ours(const struct mount_plan_in *in, const char *name,
    const struct config_export *export)
{
	return is_file(export->file, in->dir, name, "+exports");
}

/* Whether a section or a file of that name is there. A file may hold another
 * server, and a person's stays. */
static bool name_taken(const struct mount_plan_in *in, const char *name)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s/%s.conf", in->dir, name);
	return config_server_find(in->cfg, name) ||
	       (*in->dir && access(file, F_OK) == 0);
}

/* Finds a name for the section of `host` that is free: the host's, or that with
 * a number. */
static void free_name(
    const struct mount_plan_in *in, const char *host, char *name)
{
	size_t len;

	mount_source_name(host, name);
	for (unsigned n = 2; n < 1000 && name_taken(in, name); n++) {
		mount_source_name(host, name);
		len = strlen(name);
		if (len > MOUNT_NAME_MAX - 5)
			len = MOUNT_NAME_MAX - 5;
		snprintf(name + len, 5, "-%u", n);
	}
}

/* ---- the port of a new section ---------------------------------------- */

/* Whether no section listens at the port, and nothing else on this host
 * does. */
static bool port_free(const struct mount_plan_in *in, unsigned port)
{
	struct netmatch_addr want;
	char text[NETMATCH_TEXT_MAX];

	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	netmatch_addr_parse(text, &want);
	for (size_t i = 0; i < in->cfg->nservers; i++) {
		const struct config_addrs *listen = &in->cfg->servers[i].listen;

		for (size_t k = 0; k < listen->n; k++)
			if (netmatch_addr_clash(&listen->list[k], &want))
				return false;
	}
	return !in->port_taken(in->ctx, port);
}

/* A free port below 512: only root and the daemon may listen there, and no
 * client takes it as its own (README). 288 to 307 are assigned to nobody
 * (IANA); behind them, what /etc/services does not name. 0: there is none. */
static unsigned find_port(const struct mount_plan_in *in)
{
	for (unsigned port = MOUNT_PORT_FIRST; port <= MOUNT_PORT_END; port++)
		if ((port <= MOUNT_PORT_LAST ||
			!getservbyport(htons((uint16_t)port), "tcp")) &&
		    port_free(in, port))
			return port;
	return 0;
}

/* ---- conflicts -------------------------------------------------------- */

/* Whether the setting is in force already; refuses where somebody said
 * otherwise: the section is shared by all mounts of the server. */
static bool check_server_setting(const struct mount_plan_in *in,
    const struct config_server *srv, const struct config_setting *setting,
    struct mount_why *why)
{
	char value[CONFIG_SETTING_MAX];

	if (!config_setting_get(srv, NULL, setting->key, value))
		return mount_refuse(why, "%s: not known", setting->key);
	if (strcmp(value, setting->value) == 0)
		return true;
	if (is_file(srv->file, in->run_dir, srv->name, ""))
		return mount_refuse(why,
		    "%s=%s is asked for, but %s has %s=%s from its first "
		    "mount (%s), and all mounts of a server share it; unmount "
		    "the others first, or leave it out",
		    setting->key, setting->value, srv->name, setting->key,
		    value, srv->file);
	return mount_refuse(why,
	    "%s=%s is asked for, but [server %s] has %s = %s (%s:%u); set it "
	    "there and run forefetch reload, or leave it out",
	    setting->key, setting->value, srv->name, setting->key, value,
	    srv->file, srv->line);
}

/* Checks a setting that an [export] section may have of its own. `export` is
 * the section that stays in force for the path, or NULL. Sets `*differs` if the
 * setting has to be written. */
static bool check_policy_setting(const struct mount_plan_in *in,
    const struct config_server *srv, const struct config_export *export,
    const struct config_setting *setting, bool *differs, struct mount_why *why)
{
	const char *path = in->source->path, *key = setting->key;
	char value[CONFIG_SETTING_MAX];

	*differs = false;
	if (!config_setting_get(srv, export, key, value))
		return mount_refuse(why, "%s: not known", key);
	if (strcmp(value, setting->value) == 0)
		return true;
	*differs = true;
	if (export && !is_ours(in, srv->name, export))
		return mount_refuse(why,
		    "%s=%s is asked for, but [export %s:%s] has %s = %s "
		    "(%s:%u); set it there and run forefetch reload, or leave "
		    "it out",
		    key, setting->value, srv->name, path, key, value,
		    export->file, export->line);
	if (in->is_mounted(in->ctx, port_of(srv), path))
		return mount_refuse(why,
		    "%s=%s is asked for, but %s:%s is mounted already with "
		    "%s=%s, and both would share it; unmount that first, or "
		    "leave it out",
		    key, setting->value, srv->name, path, key, value);
	if (config_server_sets(srv, key))
		return mount_refuse(why,
		    "%s=%s is asked for, but [server %s] has %s = %s (%s:%u); "
		    "write a section [export %s:%s] with %s = %s, run "
		    "forefetch "
		    "reload, and leave it out here",
		    key, setting->value, srv->name, key, value, srv->file,
		    srv->line, srv->name, path, key, setting->value);
	return true;
}

/* ---- texts ------------------------------------------------------------ */

/* Writes the settings that are, or are not, of a policy, as lines of the
 * configuration. */
static void put_settings(
    FILE *out, const struct mount_options *options, bool policy)
{
	for (unsigned i = 0; i < options->nsettings; i++)
		if (options->settings[i].policy == policy)
			fprintf(out, "%s = %s\n", options->settings[i].key,
			    options->settings[i].value);
}

/* Whether the mount asks for a policy of its own. */
static bool has_policy(const struct mount_options *options)
{
	for (unsigned i = 0; i < options->nsettings; i++)
		if (options->settings[i].policy)
			return true;
	return false;
}

/* The file of a new section; to be freed, NULL without memory. */
static char *server_text(
    const struct mount_plan_in *in, const struct mount_plan *plan)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out,
	    MOUNT_MARK ".\n[server %s]\naddress = %s\n"
		       "listen = 127.0.0.1:%u\n",
	    plan->name, in->source->host, plan->port);
	put_settings(out, in->options, false);
	fclose(out);
	return text;
}

/* The file of the [export] sections that mounts wrote of `srv`, without the one
 * of this path, and with the one that this mount asks for; an empty text where
 * that is none. To be freed, NULL without memory. */
static char *exports_text(const struct mount_plan_in *in,
    const struct config_server *srv, const char *name)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool any = has_policy(in->options);

	if (!out)
		return NULL;
	fputs(MOUNT_MARK ".\n", out);
	for (size_t i = 0; srv && i < srv->noverrides; i++) {
		const struct config_export *export = &srv->overrides[i];

		if (!is_ours(in, name, export) ||
		    strcmp(export->path, in->source->path) == 0)
			continue;
		config_export_print(export, out);
		any = true;
	}
	if (has_policy(in->options)) {
		fprintf(out, "[export %s:%s]\n", name, in->source->path);
		put_settings(out, in->options, true);
	}
	fclose(out);
	if (text && !any)
		*text = '\0';
	return text;
}

/* Parses a text that is to be written, and makes sure that it holds one section
 * of that server, and one of that path of it (NULL: none), whatever is in their
 * names: a path with a bracket or a newline might otherwise add a section. */
static bool check_text(
    const char *text, const char *name, const char *path, struct mount_why *why)
{
	char err[CONFIG_ERR_MAX];
	struct config *cfg = config_parse_string(text, "", err, sizeof(err));
	const struct config_server *srv = cfg ? cfg->servers : NULL;
	bool good = cfg && cfg->nservers == 1 && cfg->line == 0 &&
		    strcmp(srv->name, name) == 0 &&
		    srv->noverrides == (path != NULL) &&
		    (!path || strcmp(srv->overrides[0].path, path) == 0);

	if (cfg && !good)
		snprintf(err, sizeof(err),
		    "a section of the configuration cannot name that path");
	config_free(cfg);
	return good || mount_refuse(why, "%s", err);
}

/* Whether the configuration can name the path at all. */
static bool check_path(
    const struct mount_plan_in *in, const char *name, struct mount_why *why)
{
	const char *path = in->source->path;
	struct mount_why parsed;
	char *text = NULL;
	bool good = asprintf(&text,
			"[server %s]\naddress = x\nlisten = 127.0.0.1:1\n"
			"[export %s:%s]\n",
			name, name, path) >= 0;

	good = good && check_text(text, name, path, &parsed);
	free(text);
	return good ||
	       mount_refuse(why,
		   "options for %s cannot be kept, since the configuration "
		   "cannot have its name; leave out those of forefetch.conf(5)",
		   path);
}

/* ---- the plan --------------------------------------------------------- */

/* Plans a section for a server that has none. */
static bool plan_new(const struct mount_plan_in *in, struct mount_plan *out,
    struct mount_why *why)
{
	free_name(in, in->source->host, out->name);
	out->port = find_port(in);
	if (out->port == 0)
		return mount_refuse(why,
		    "no port between %u and %u is free for its listener",
		    (unsigned)MOUNT_PORT_FIRST, (unsigned)MOUNT_PORT_END);
	out->added = true;
	strcpy(out->address, "127.0.0.1");
	snprintf(out->from, sizeof(out->from), "%s/%s.conf, which is new",
	    in->dir, out->name);
	out->server_text = server_text(in, out);
	if (!out->server_text)
		return mount_refuse(why, "out of memory");
	return check_text(out->server_text, out->name, NULL, why);
}

/* Plans the [export] section of the path, where this mount asks for one, or
 * where a former mount has left one that nobody uses. */
static bool plan_policy(const struct mount_plan_in *in,
    const struct config_server *srv, struct mount_plan *out,
    struct mount_why *why)
{
	const struct mount_options *options = in->options;
	const char *path = in->source->path;
	const struct config_export *export =
	    srv ? config_export_find(srv, path) : NULL;
	bool ours = export && is_ours(in, srv->name, export), any = !srv;

	/* Options that a former mount of this path left are not this one's. */
	if (ours && !in->is_mounted(in->ctx, out->port, path)) {
		export = NULL;
		any = true;
	}
	for (unsigned i = 0; srv && i < options->nsettings; i++) {
		const struct config_setting *setting = &options->settings[i];
		bool differs;

		if (!setting->policy)
			continue;
		if (!check_policy_setting(
			in, srv, export, setting, &differs, why))
			return false;
		any |= differs;
	}
	if (!any || (!ours && !has_policy(options)))
		return true;
	if (has_policy(options) && !check_path(in, out->name, why))
		return false;
	out->exports_text = exports_text(in, srv, out->name);
	return out->exports_text || mount_refuse(why, "out of memory");
}

bool mount_plan_make(const struct mount_plan_in *in, struct mount_plan *out,
    struct mount_why *why)
{
	const struct config_server *srv =
	    find_section(in->cfg, in->source->host);
	bool good = true;

	*out = (struct mount_plan){.port = 0};
	if (!srv)
		return plan_new(in, out, why) &&
		       plan_policy(in, NULL, out, why);
	snprintf(out->name, sizeof(out->name), "%s", srv->name);
	snprintf(out->from, sizeof(out->from), "%s:%u", srv->file, srv->line);
	if (!mount_plan_listen(srv, out->address, &out->port))
		return mount_refuse(
		    why, "[server %s] listens nowhere", srv->name);
	for (unsigned i = 0; good && i < in->options->nsettings; i++)
		if (!in->options->settings[i].policy)
			good = check_server_setting(
			    in, srv, &in->options->settings[i], why);
	return good && plan_policy(in, srv, out, why);
}

void mount_plan_release(struct mount_plan *plan)
{
	free(plan->server_text);
	free(plan->exports_text);
	plan->server_text = plan->exports_text = NULL;
}
