/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration, read and checked: /etc/forefetch.conf and the files of two
 * directories, INI, see forefetch.conf(5). The structs are plain, since
 * everybody reads them, and nobody writes them after the load; whoever loaded a
 * `struct config` owns all that hangs on it. No member is NULL unless its
 * comment says so.
 *
 * Units: sizes in bytes, times in microseconds, rates in bits a second.
 */
#ifndef FOREFETCH_CONFIG_H
#define FOREFETCH_CONFIG_H

#include "base/log.h"
#include "base/netmatch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

/* Enough for every message of config_load, a long file name included. */
#define CONFIG_ERR_MAX    1024
/* The address that `metrics_listen = on` stands for. */
#define CONFIG_METRICS_ON "127.0.0.1:9899"

enum config_consistency {
	CONFIG_CONSISTENCY_STRICT,
	CONFIG_CONSISTENCY_BOUNDED,
	CONFIG_CONSISTENCY_FROZEN,
};

enum config_prefetch {
	CONFIG_PREFETCH_OFF,
	CONFIG_PREFETCH_METADATA,
	CONFIG_PREFETCH_FIRST_BLOCK,
	CONFIG_PREFETCH_ON,
};

enum config_link {
	CONFIG_LINK_AUTO,
	CONFIG_LINK_WIRED,
	CONFIG_LINK_WIRELESS,
};

enum config_exclusive {
	CONFIG_EXCLUSIVE_GUARDED,
	CONFIG_EXCLUSIVE_VERIFIED,
};

enum config_offline {
	CONFIG_OFFLINE_WAIT,
	CONFIG_OFFLINE_SERVE,
};

enum config_metered {
	CONFIG_METERED_AUTO,
	CONFIG_METERED_YES,
	CONFIG_METERED_NO,
};

/* A share of the estimated rate, or an absolute rate: the other one is 0. */
struct config_rate {
	uint64_t bits_per_second;
	unsigned percent; /* 1..100 */
};

/* Strings in the order of the file; `list` is NULL when `n` is 0. */
struct config_strings {
	char **list;
	size_t n;
};

struct config_addrs {
	struct netmatch_addr *list;
	size_t n;
};

struct config_nets {
	struct netmatch_net *list;
	size_t n;
};

/* Settings that a server has for all its file systems, and an export for its
 * own. */
struct config_policy {
	enum config_consistency consistency;
	enum config_prefetch prefetch;
	uint64_t attr_timeout_us;
	uint64_t negative_timeout_us;
	uint64_t grant_timeout_us;
	uint64_t prefetch_block_size; /* bytes, a multiple of 4096 */
	unsigned prefetch_block_count;
};

/* [export SERVER:PATH] */
struct config_export {
	char *path;       /* absolute, no "//", no "." or "..", no final "/" */
	char *server;     /* the name of the server that it belongs to */
	const char *file; /* one of config.files */
	unsigned line;    /* where the section starts, for messages */
	uint64_t set;     /* keys that the file gives; private to config*.c */
	struct config_policy policy; /* complete: unset keys are the server's */
};

/* [server NAME] */
struct config_server {
	char *name;
	const char *file; /* one of config.files */
	unsigned line;
	uint64_t set;

	char *address;                 /* host name or numeric address */
	uint16_t nfs_port;             /* 0: ask rpcbind */
	uint16_t mount_port;           /* 0: ask rpcbind */
	struct config_strings exports; /* none: all that the server exports */

	struct config_addrs listen; /* at least one; IPv6 ones are V6ONLY */
	struct config_nets allow;   /* at least one */
	bool secure;                /* only source ports below 1024 */
	bool rpcbind;               /* register with the local rpcbind */

	unsigned connections; /* 1..16, to the server */
	enum config_link link;
	enum config_offline offline;
	enum config_exclusive exclusive_create;
	enum config_metered metered;
	uint64_t metered_budget; /* bytes an hour */
	struct config_rate prefetch_rate;
	unsigned prefetch_waste; /* percent of demand */
	uint64_t session_pause_us;
	uint64_t session_time_us; /* 0: there are no sessions */
	uint64_t session_size;    /* bytes */

	struct config_policy policy;
	struct config_export *overrides; /* NULL when noverrides is 0 */
	size_t noverrides;
};

/* Kinds of things that the machines of a farm share. */
enum {
	CONFIG_SHARE_DATA = 1 << 0,
	CONFIG_SHARE_LISTINGS = 1 << 1,
	CONFIG_SHARE_TREES = 1 << 2,
};

/* [farm] */
struct config_farm {
	/* One of config.files; NULL: there is no such section now, and its keys
	 * are the presets, or those of before a reload. */
	const char *file;
	unsigned line;
	uint64_t set;

	/* redis://HOST:PORT, IPv6 in brackets, or one redis+unix:///PATH;
	 * none: there is no farm */
	struct config_strings engine;
	char *user;           /* of the engine's ACL; "": its default one */
	char *password_file;  /* "": none */
	char *key_file;       /* "": none */
	unsigned share;       /* CONFIG_SHARE_… */
	uint64_t publish_cap; /* bytes a second */
};

/* [forefetch], and the list of servers */
struct config {
	char **files; /* that were read; the first may have [forefetch] */
	size_t nfiles;
	bool has_main; /* there is a section in the first file */
	unsigned line; /* 0: the file has no [forefetch] section */
	uint64_t set;

	char *cache_dir;
	uint64_t cache_size;
	uint64_t reorder_rate; /* 0: off */
	uint64_t memory_size;
	char *control;               /* path of the control socket */
	struct config_addrs metrics; /* none: off; else exactly one */
	/* Names under which it may be asked for metrics. */
	struct config_strings metrics_names;
	enum log_level log_level;

	struct config_farm farm;

	struct config_server *servers; /* NULL when nservers is 0 */
	size_t nservers;
};

#define CONFIG_FILE_DEFAULT    "/etc/forefetch.conf"
#define CONFIG_RUN_DIR_DEFAULT "/run/forefetch.d"

/* Where the configuration is: in FILE, then in the files *.conf of FILE's own
 * directory (NAME.d for NAME.conf), then in those of `run_dir`. */
struct config_source {
	const char *file;
	const char *run_dir; /* NULL: none */
	/* How many errors to tell, a line each; 0: the first only. */
	unsigned errors_max;
	/* The configuration that was read before, by a daemon that goes on with
	 * that after an error; NULL: none. */
	const struct config *former;
};

/*
 * Read and check all of it; blocks. Returns NULL when anything in it is wrong,
 * with the first errors in `err`: "FILE:LINE: [section] key: reason".
 *
 * The default FILE need not be there. After `former`, FILE must be a regular
 * file, and have a section if it had one: a file that is being written must not
 * take all servers away.
 */
struct config *config_load(
    const struct config_source *source, char *err, size_t errlen);

/* The same for a text in memory; `name` is what messages call it. */
struct config *config_parse_string(
    const char *text, const char *name, char *err, size_t errlen);

/* NULL is allowed. */
void config_free(struct config *cfg);

/* Write every key with the value in force, in a form that loads again. */
void config_print(const struct config *cfg, FILE *out);
/* Write a section [export] with the keys that it gives itself. */
void config_export_print(const struct config_export *exp, FILE *out);

enum config_change_kind {
	CONFIG_ADDED,
	CONFIG_REMOVED,
	CONFIG_CHANGED,
};

/* One difference between two configurations. */
struct config_change {
	enum config_change_kind kind;
	const char *server; /* NULL: it is of [forefetch] or [farm] */
	/* The name of a key, or "export"; NULL for a whole server, which was
	 * added or removed. Static text. */
	const char *setting;
	bool fixed; /* what is at work with it cannot change it */
};

/* Calls `on` for all that differs: what was removed first, then in the order
 * of `cfg`. `on` may be NULL. Returns how many there are. */
size_t config_diff(const struct config *old, const struct config *cfg,
    void (*on)(void *ctx, const struct config_change *change), void *ctx);

/* Whether any fixed key of two servers differs. */
bool config_server_differs(
    const struct config_server *old, const struct config_server *now);

/* Give `now` the fixed keys of [forefetch] and [farm] that `old` has; `old`
 * gets its. */
void config_keep_fixed(struct config *old, struct config *now);

/* The server of that name, or NULL. */
const struct config_server *config_server_find(
    const struct config *cfg, const char *name);
/* The section for that path of the server, or NULL. */
const struct config_export *config_export_find(
    const struct config_server *srv, const char *path);

/* Whether its own section gives a value to that key. */
bool config_server_sets(const struct config_server *srv, const char *key);

/* As the file has it. */
const char *config_consistency_name(enum config_consistency consistency);

/*
 * May a client at `peer` connect? The networks only: `secure` is the caller's.
 * v4-mapped IPv6 addresses count as IPv4.
 */
bool config_server_allows(
    const struct config_server *srv, const struct sockaddr *peer);

#endif
