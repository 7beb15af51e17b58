/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all keys with their ranges and defaults, and the other names
 * that people use for them. The rest of the folder asks here which keys a
 * section has and where their values are; the order of the rows is the order in
 * which they are printed.
 *
 * A preset must parse within the range of its row: config_section_preset()
 * reads it as if it stood in a file.
 */
#include "config/config_key.h"

#include "config/spelling.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

#define TBIT UINT64_C(1000000000000)

#define SECOND_US UINT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define DAY_US    (24 * HOUR_US)

/* Each gives two members of a row: the scope, and the offset of the value in
 * its struct. */
#define DAEMON(member) CONFIG_SCOPE_DAEMON, offsetof(struct config, member)
#define FARM(member)   CONFIG_SCOPE_FARM, offsetof(struct config_farm, member)
#define SERVER(member)                                                         \
	CONFIG_SCOPE_SERVER, offsetof(struct config_server, member)
#define POLICY(member)                                                         \
	CONFIG_SCOPE_POLICY, offsetof(struct config_policy, member)

#define REQUIRED CONFIG_KEY_REQUIRED
#define FIXED    CONFIG_KEY_FIXED
#define BINDS    CONFIG_KEY_BINDS

#define PATH_BYTES 1024
#define USER_BYTES 128
#define SUN_BYTES  (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* The words of enums; each list is in the order of its enum, and ends with
 * NULL. */
static const char *const consistencies[] = {
    "strict", "bounded", "frozen", NULL};
static const char *const prefetches[] = {
    "off", "metadata", "first-block", "on", NULL};
static const char *const links[] = {"auto", "wired", "wireless", NULL};
static const char *const offlines[] = {"wait", "serve", NULL};
static const char *const exclusives[] = {"guarded", "verified", NULL};
static const char *const metereds[] = {"auto", "yes", "no", NULL};
/* The words of flags, in the order of their bits. */
static const char *const shares[] = {"data", "listings", "trees", NULL};

/* clang-format off */
/* Name; scope and offset; type; least and greatest value, and words; preset;
 * flags. Paths and names have their greatest length in bytes as the greatest
 * value. */
const struct config_key config_keys[] = {
	{"cache_dir", DAEMON(cache_dir), &config_type_path,
	    {0, PATH_BYTES, NULL}, "/var/cache/forefetch", FIXED},
	{"cache_size", DAEMON(cache_size), &config_type_size,
	    {MIB, 1024 * TIB, NULL}, "10G", 0},
	/* The former compact_rate went up to 1 TiB/s, which is 8.8 Tbit/s. */
	{"reorder_rate", DAEMON(reorder_rate), &config_type_speed,
	    {512000, 9 * TBIT, NULL}, "64mbit", 0},
	{"memory_size", DAEMON(memory_size), &config_type_size,
	    {16 * MIB, TIB, NULL}, "256M", 0},
	{"control_socket", DAEMON(control), &config_type_path,
	    {0, SUN_BYTES, NULL}, "/run/forefetch/control.sock", FIXED},
	{"metrics_listen", DAEMON(metrics), &config_type_endpoint,
	    {0, 0, NULL}, "off", FIXED | BINDS},
	{"metrics_names", DAEMON(metrics_names), &config_type_names,
	    {0, 0, NULL}, "none", FIXED},
	{"log_level", DAEMON(log_level), &config_type_word,
	    {0, 0, log_level_names}, "info", 0},

	{"engine", FARM(engine), &config_type_engines,
	    {0, 0, NULL}, "none", FIXED},
	{"user", FARM(user), &config_type_user,
	    {0, USER_BYTES, NULL}, "default", FIXED},
	{"password_file", FARM(password_file), &config_type_file,
	    {0, PATH_BYTES, NULL}, "none", FIXED},
	{"key_file", FARM(key_file), &config_type_file,
	    {0, PATH_BYTES, NULL}, "none", FIXED},
	{"share", FARM(share), &config_type_shares,
	    {0, 0, shares}, "data listings trees", FIXED},
	{"publish_cap", FARM(publish_cap), &config_type_bytecap,
	    {80000, UINT64_C(100000000000), NULL}, "400mbit", FIXED},

	{"address", SERVER(address), &config_type_host,
	    {0, 0, NULL}, NULL, REQUIRED | FIXED},
	{"nfs_port", SERVER(nfs_port), &config_type_port,
	    {0, UINT16_MAX, NULL}, "0", FIXED},
	{"mount_port", SERVER(mount_port), &config_type_port,
	    {0, UINT16_MAX, NULL}, "0", FIXED},
	{"exports", SERVER(exports), &config_type_paths,
	    {0, 0, NULL}, NULL, 0},
	{"listen", SERVER(listen), &config_type_addrs,
	    {0, 0, NULL}, NULL, REQUIRED | FIXED | BINDS},
	{"allow", SERVER(allow), &config_type_nets,
	    {0, 0, NULL}, "127.0.0.0/8 ::1/128", 0},
	{"secure", SERVER(secure), &config_type_bool,
	    {0, 0, NULL}, "yes", 0},
	{"rpcbind", SERVER(rpcbind), &config_type_bool,
	    {0, 0, NULL}, "no", FIXED},
	{"connections", SERVER(connections), &config_type_count,
	    {1, 16, NULL}, "2", FIXED},
	{"prefetch_rate", SERVER(prefetch_rate), &config_type_rate,
	    {1000, UINT64_C(100000000000), NULL}, "80%", 0},
	{"prefetch_waste", SERVER(prefetch_waste), &config_type_percent,
	    {1, 1000, NULL}, "100%", 0},
	{"session_pause", SERVER(session_pause_us), &config_type_duration,
	    {0, 30 * DAY_US, NULL}, "10m", 0},
	{"session_time", SERVER(session_time_us), &config_type_duration,
	    {0, HOUR_US, NULL}, "60s", 0},
	{"session_size", SERVER(session_size), &config_type_size,
	    {0, TIB, NULL}, "64M", 0},
	{"link", SERVER(link), &config_type_word,
	    {0, 0, links}, "auto", 0},
	{"offline", SERVER(offline), &config_type_word,
	    {0, 0, offlines}, "wait", 0},
	{"exclusive_create", SERVER(exclusive_create), &config_type_word,
	    {0, 0, exclusives}, "guarded", 0},
	{"metered", SERVER(metered), &config_type_word,
	    {0, 0, metereds}, "auto", 0},
	{"metered_budget", SERVER(metered_budget), &config_type_size,
	    {0, TIB, NULL}, "20M", 0},

	{"consistency", POLICY(consistency), &config_type_word,
	    {0, 0, consistencies}, "bounded", 0},
	{"attr_timeout", POLICY(attr_timeout_us), &config_type_duration,
	    {0, HOUR_US, NULL}, "3s", 0},
	{"negative_timeout", POLICY(negative_timeout_us), &config_type_duration,
	    {0, HOUR_US, NULL}, "3s", 0},
	{"grant_timeout", POLICY(grant_timeout_us), &config_type_duration,
	    {0, 30 * DAY_US, NULL}, "1h", 0},
	{"prefetch", POLICY(prefetch), &config_type_word,
	    {0, 0, prefetches}, "on", 0},
	{"prefetch_block_count", POLICY(prefetch_block_count), &config_type_count,
	    {1, 256, NULL}, "1", 0},
	{"prefetch_block_size", POLICY(prefetch_block_size), &config_type_blocksize,
	    {4 * KIB, MIB, NULL}, "16K", 0},
};

/* Former names, which are accepted until the next release. */
static const struct config_former formers[] = {
	{"compact_rate", "reorder_rate", &config_type_bytespeed,
	    {64 * KIB, TIB, NULL}},
	{"control", "control_socket", NULL, {0, 0, NULL}},
	{"metrics", "metrics_listen", NULL, {0, 0, NULL}},
	{"prefetch_cap", "prefetch_rate", NULL, {0, 0, NULL}},
	{"prefetch_blocks", "prefetch_block_count", NULL, {0, 0, NULL}},
	{"prefetch_block", "prefetch_block_size", NULL, {0, 0, NULL}},
};

/* Other words for a key: those of other programs, and of nfs(5). They are for
 * advice only. One word may stand for keys of several sections. */
static const struct {
	const char *word;
	const char *name;
} synonyms[] = {
	{"port", "nfs_port"},
	{"mountport", "mount_port"},
	{"ip", "address"},
	{"host", "address"},
	{"hostname", "address"},
	{"server", "address"},
	{"addr", "address"},
	{"bind", "listen"},
	{"listen_address", "listen"},
	{"allowed", "allow"},
	{"allow_from", "allow"},
	{"clients", "allow"},
	{"networks", "allow"},
	{"path", "exports"},
	{"nconnect", "connections"},
	{"cache", "cache_dir"},
	{"cache_path", "cache_dir"},
	{"disk_size", "cache_size"},
	{"max_size", "cache_size"},
	{"memory", "memory_size"},
	{"socket", "control_socket"},
	{"prometheus", "metrics_listen"},
	{"verbosity", "log_level"},
	{"debug", "log_level"},
	{"bandwidth", "prefetch_rate"},
	{"rate", "prefetch_rate"},
	{"prefetch_limit", "prefetch_rate"},
	{"waste", "prefetch_waste"},
	{"readahead", "prefetch"},
	{"ttl", "attr_timeout"},
	{"timeout", "attr_timeout"},
	{"actimeo", "attr_timeout"},
	{"acregmin", "attr_timeout"},
	{"mode", "consistency"},
	{"redis", "engine"},
	{"valkey", "engine"},
	{"url", "engine"},
	{"uri", "engine"},
	{"engines", "engine"},
	{"nodes", "engine"},
	{"host", "engine"},
	{"hostname", "engine"},
	{"server", "engine"},
	{"address", "engine"},
	{"username", "user"},
	{"password", "password_file"},
	{"requirepass", "password_file"},
	{"auth", "password_file"},
	{"key", "key_file"},
	{"keyfile", "key_file"},
	{"secret", "key_file"},
	{"shares", "share"},
	{"publish_rate", "publish_cap"},
	{"rate", "publish_cap"},
	{"bandwidth", "publish_cap"},
};
/* clang-format on */

const size_t config_nkeys = sizeof(config_keys) / sizeof(config_keys[0]);

_Static_assert(
    sizeof(config_keys) / sizeof(config_keys[0]) <= 64, "one bit a key");

struct config_section config_section_daemon(struct config *cfg)
{
	return (struct config_section){.daemon = cfg, .set = &cfg->set};
}

struct config_section config_section_farm(struct config_farm *farm)
{
	return (struct config_section){.farm = farm, .set = &farm->set};
}

struct config_section config_section_server(struct config_server *srv)
{
	return (struct config_section){
	    .server = srv, .policy = &srv->policy, .set = &srv->set};
}

struct config_section config_section_export(struct config_export *exp)
{
	return (struct config_section){
	    .policy = &exp->policy, .set = &exp->set};
}

void *config_section_field(const struct config_section *section, size_t k)
{
	const struct config_key *key = &config_keys[k];
	void *base = NULL;

	switch (key->scope) {
	case CONFIG_SCOPE_DAEMON:
		base = section->daemon;
		break;
	case CONFIG_SCOPE_FARM:
		base = section->farm;
		break;
	case CONFIG_SCOPE_SERVER:
		base = section->server;
		break;
	case CONFIG_SCOPE_POLICY:
		base = section->policy;
		break;
	}
	return base ? (char *)base + key->offset : NULL;
}

/* The key that has this as its former name; NULL: none has. */
static const struct config_former *find_former(const char *name)
{
	for (size_t i = 0; i < sizeof(formers) / sizeof(formers[0]); i++)
		if (strcmp(formers[i].former, name) == 0)
			return &formers[i];
	return NULL;
}

const struct config_former *config_key_former(size_t k)
{
	for (size_t i = 0; i < sizeof(formers) / sizeof(formers[0]); i++)
		if (strcmp(formers[i].name, config_keys[k].name) == 0)
			return &formers[i];
	return NULL;
}

size_t config_key_find(const struct config_section *section, const char *name,
    const struct config_former **former)
{
	size_t k;

	*former = find_former(name);
	if (*former)
		name = (*former)->name;
	for (k = 0; k < config_nkeys; k++)
		if (config_section_field(section, k) &&
		    strcmp(config_keys[k].name, name) == 0)
			break;
	return k;
}

/* The section's heading, for messages. */
static const char *scope_name(enum config_scope scope)
{
	switch (scope) {
	case CONFIG_SCOPE_DAEMON:
		return "[forefetch]";
	case CONFIG_SCOPE_FARM:
		return "[farm]";
	default:
		return "[server NAME]";
	}
}

/* Whether that section has a key of this name, or any section where it is NULL.
 */
static bool is_key(const struct config_section *section, const char *name)
{
	for (size_t k = 0; k < config_nkeys; k++)
		if (strcmp(config_keys[k].name, name) == 0 &&
		    (!section || config_section_field(section, k)))
			return true;
	return false;
}

/* Returns the key that is meant by another word, or by its former name: one of
 * the section rather than one of another. NULL: nobody knows, or it is a key's
 * own name. */
static const char *find_meant(
    const struct config_section *section, const char *name)
{
	const struct config_former *former = find_former(name);
	const char *meant = former ? former->name : NULL;

	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
		if (strcasecmp(synonyms[i].word, name) != 0)
			continue;
		if (is_key(section, synonyms[i].name))
			return synonyms[i].name;
		meant = meant ? meant : synonyms[i].name;
	}
	/* A word that is the name of a key is meant as that one. */
	return is_key(NULL, name) ? NULL : meant;
}

void config_key_hint(const struct config_section *section, const char *name,
    struct config_why *hint)
{
	const char *meant = find_meant(section, name);
	size_t nearest = SPELLING_SLIPS_MAX + 1;

	hint->text[0] = '\0';
	for (size_t k = 0; meant && k < config_nkeys; k++) {
		if (strcmp(config_keys[k].name, meant) != 0)
			continue;
		snprintf(hint->text, sizeof(hint->text),
		    "; did you mean '%s'%s%s?", meant,
		    config_section_field(section, k) ? "" : " in ",
		    config_section_field(section, k)
			? ""
			: scope_name(config_keys[k].scope));
		return;
	}
	for (size_t k = 0; k < config_nkeys; k++) {
		const struct config_key *key = &config_keys[k];
		size_t distance = spelling_distance(name, key->name);

		if (!config_section_field(section, k)) {
			if (distance != 0)
				continue;
			snprintf(hint->text, sizeof(hint->text),
			    "; it belongs in %s", scope_name(key->scope));
			return;
		}
		if (distance >= nearest || distance >= strlen(name))
			continue;
		nearest = distance;
		snprintf(hint->text, sizeof(hint->text), "; did you mean '%s'?",
		    key->name);
	}
}

int config_section_preset(
    const struct config_section *section, struct config_why *why)
{
	for (size_t k = 0; k < config_nkeys; k++) {
		const struct config_key *key = &config_keys[k];
		void *field = config_section_field(section, k);
		int err;

		if (!field || !key->preset || (*section->set >> k & 1))
			continue;
		err = key->type->parse(&key->range, key->preset, field, why);
		if (err)
			return err;
	}
	return 0;
}

void config_section_release(const struct config_section *section)
{
	for (size_t k = 0; k < config_nkeys; k++) {
		void *field = config_section_field(section, k);

		if (field && config_keys[k].type->release)
			config_keys[k].type->release(field);
	}
}
