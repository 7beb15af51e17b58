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

/* Bytes that are enough for any one message of config_load(), with its NUL and
 * a long file name. */
#define CONFIG_ERR_MAX    1024
/* The address that `metrics_listen = on` stands for. */
#define CONFIG_METRICS_ON "127.0.0.1:9899"

/* How old a confirmation may be that an answer rests on (cache/contract.h). */
enum config_consistency {
	/* Each answer rests on a confirmation that was asked for after its
	 * request came. */
	CONFIG_CONSISTENCY_STRICT,
	/* Confirmations count for attr_timeout. */
	CONFIG_CONSISTENCY_BOUNDED,
	/* An object is confirmed once, and taken to stay as it is. */
	CONFIG_CONSISTENCY_FROZEN,
};

/* How much is fetched ahead for each object that is predicted. */
enum config_prefetch {
	CONFIG_PREFETCH_OFF,
	/* Names, attributes and rights. */
	CONFIG_PREFETCH_METADATA,
	/* The same, and the first blocks of files (prefetch_block_size and
	 * _count). */
	CONFIG_PREFETCH_FIRST_BLOCK,
	/* All that is likely to be used. */
	CONFIG_PREFETCH_ON,
};

/* The kind of link to assume until it is measured (link/linkest.h). */
enum config_link {
	CONFIG_LINK_AUTO,
	CONFIG_LINK_WIRED,
	CONFIG_LINK_WIRELESS,
};

/* How an exclusive CREATE goes to the server (svc/svc_create.c). */
enum config_exclusive {
	/* The client is made to ask for a guarded CREATE, which saves a round
	 * trip. */
	CONFIG_EXCLUSIVE_GUARDED,
	/* It is passed on with its verifier, as it came. */
	CONFIG_EXCLUSIVE_VERIFIED,
};

/* The treatment of calls while the server is away. */
enum config_offline {
	/* All calls that the caches cannot answer in the usual way wait. */
	CONFIG_OFFLINE_WAIT,
	/* The caches answer however old their state is; changes wait, and all
	 * else fails. */
	CONFIG_OFFLINE_SERVE,
};

/* Whether the link is metered; AUTO asks NetworkManager. */
enum config_metered {
	CONFIG_METERED_AUTO,
	CONFIG_METERED_YES,
	CONFIG_METERED_NO,
};

/* A share of the link's estimated rate, or an absolute rate: the other one is
 * 0. */
struct config_rate {
	uint64_t bits_per_second;
	unsigned percent; /* 1..100 */
};

/* Strings in the order of the file; `list` is NULL when `n` is 0. So it is in
 * the next two. */
struct config_strings {
	char **list;
	size_t n;
};

/* Addresses to bind, IPv6 ones as V6ONLY. */
struct config_addrs {
	struct netmatch_addr *list;
	size_t n;
};

/* Networks of clients. */
struct config_nets {
	struct netmatch_net *list;
	size_t n;
};

/* Settings that a server has for all its file systems, and an export for its
 * own. */
struct config_policy {
	enum config_consistency consistency;
	enum config_prefetch prefetch;
	/* How old may grow, in microseconds (cache/contract.h): attributes and
	 * rights, in bounded mode; absences, in bounded mode; rights in frozen
	 * mode and while the server is away. */
	uint64_t attr_timeout_us;
	uint64_t negative_timeout_us;
	uint64_t grant_timeout_us;
	uint64_t prefetch_block_size; /* bytes, a multiple of 4096 */
	/* How many such blocks FIRST_BLOCK fetches of each file. */
	unsigned prefetch_block_count;
};

/* [export SERVER:PATH] */
struct config_export {
	/* Of the server's export, absolute, without "//", "." or "..", or a
	 * final "/". */
	char *path;
	char *server;     /* name of the server that it belongs to */
	const char *file; /* one of config.files */
	unsigned line;    /* line where the section starts, for messages */
	/* Keys that the file gives, a bit each by their place in config_keys;
	 * private to config*.c. */
	uint64_t set;
	/* Complete: keys that the section leaves open have the server's values.
	 */
	struct config_policy policy;
};

/* [server NAME] */
struct config_server {
	char *name;
	const char *file; /* one of config.files */
	unsigned line;
	uint64_t set;

	char *address; /* host name or numeric address */
	/* Port of NFS; 0: the server's rpcbind is asked. */
	uint16_t nfs_port;
	/* Port of MOUNT; 0: the server's rpcbind is asked. */
	uint16_t mount_port;
	/* Paths that clients may mount; none: all that the server exports. */
	struct config_strings exports;

	/* Where clients connect; at least one, and IPv6 ones are V6ONLY. */
	struct config_addrs listen;
	/* From where clients may connect; at least one. */
	struct config_nets allow;
	/* Lets clients connect from source ports below 1024 only. */
	bool secure;
	bool rpcbind; /* registers with this machine's rpcbind */

	unsigned connections; /* TCP connections to the server, 1 to 16 */
	enum config_link link;
	enum config_offline offline;
	enum config_exclusive exclusive_create;
	enum config_metered metered;
	/* Bytes that may be fetched ahead in an hour over a metered link. */
	uint64_t metered_budget;
	/* How much of the link calls ahead may take (link/budget.h). */
	struct config_rate prefetch_rate;
	/* How many bytes may be fetched in vain, in percent of the demand
	 * (link/waste.h). */
	unsigned prefetch_waste;
	/* The pause after which a user's next call begins a session; 0: only a
	 * mount does. */
	uint64_t session_pause_us;
	/* How long one is recorded and replayed; 0: there are no sessions. */
	uint64_t session_time_us;
	uint64_t session_size; /* bytes */

	/* For all file systems that no override is about. */
	struct config_policy policy;
	/* The server's [export] sections; NULL when noverrides is 0. */
	struct config_export *overrides;
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
	/* User of the engine's ACL; "": its default one. */
	char *user;
	/* Path of the file with the user's password; "": none. */
	char *password_file;
	/* Path of the file with the farm's key; "": none. */
	char *key_file;
	unsigned share;       /* CONFIG_SHARE_… */
	uint64_t publish_cap; /* bytes a second that may be published */
};

/* [forefetch], and the list of servers */
struct config {
	/* Names of the files that were read; only the first may have
	 * [forefetch]. */
	char **files;
	size_t nfiles;
	bool has_main; /* the first file has a section, of whatever kind */
	/* Where [forefetch] begins; 0: there is no such section. */
	unsigned line;
	uint64_t set;

	char *cache_dir;
	/* Bytes of disk for the data of all servers. */
	uint64_t cache_size;
	/* Bits a second that compact.c may move on the disk; 0: off. */
	uint64_t reorder_rate;
	/* Bytes of memory for the caches of all servers. */
	uint64_t memory_size;
	char *control; /* path of the control socket */
	/* Where metrics and the page are served; none: nowhere, else exactly
	 * one. */
	struct config_addrs metrics;
	/* Further host names that requests to that address may use. */
	struct config_strings metrics_names;
	enum log_level log_level;

	struct config_farm farm;

	struct config_server *servers; /* NULL when nservers is 0 */
	size_t nservers;
};

#define CONFIG_FILE_DEFAULT    "/etc/forefetch.conf"
#define CONFIG_RUN_DIR_DEFAULT "/run/forefetch.d"

/* The places of the configuration: FILE, then the files *.conf of FILE's own
 * directory (NAME.d for NAME.conf), then those of `run_dir`. */
struct config_source {
	const char *file;
	const char *run_dir; /* NULL: none */
	/* How many errors are told, a line each; 0: the first only. */
	unsigned errors_max;
	/* The configuration that was read before, by a daemon that goes on with
	 * that after an error; NULL: none. */
	const struct config *former;
};

/*
 * Reads and checks all of it; blocks. Returns the configuration, which the
 * caller frees by config_free(), or NULL when anything in it is wrong or
 * without memory, with the first errors in `err`: "FILE:LINE: [section] key:
 * reason".
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

/* Frees a configuration and all that hangs on it; NULL is allowed. */
void config_free(struct config *cfg);

/* Writes every key with the value in force, in a form that loads again. */
void config_print(const struct config *cfg, FILE *out);
/* Writes a section [export] with the keys that it gives itself. */
void config_export_print(const struct config_export *exp, FILE *out);

/* A server was added or removed, or the value of a key changed. */
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
	/* The key is one that nothing can change while it is at work with it.
	 */
	bool fixed;
};

/* Calls `on` for all that differs: keys of [forefetch] and [farm], then servers
 * that were removed, then the other servers in the order of `cfg`. `on` may be
 * NULL. Returns how many differences there are. Without memory two values count
 * as different. */
size_t config_diff(const struct config *old, const struct config *cfg,
    void (*on)(void *ctx, const struct config_change *change), void *ctx);

/* Whether any fixed key of two servers differs. */
bool config_server_differs(
    const struct config_server *old, const struct config_server *now);

/* Exchanges the fixed keys of [forefetch] and [farm]: `now` gets those of
 * `old`, by which the daemon works, and `old` frees the others. */
void config_keep_fixed(struct config *old, struct config *now);

/* Finds the server of that name, or NULL. */
const struct config_server *config_server_find(
    const struct config *cfg, const char *name);
/* Finds the section for that path of the server, or NULL. */
const struct config_export *config_export_find(
    const struct config_server *srv, const char *path);

/* Whether the server's own section gives a value to that key, and not its
 * preset. */
bool config_server_sets(const struct config_server *srv, const char *key);

/* Returns the mode as the file has it; static text. */
const char *config_consistency_name(enum config_consistency consistency);

/*
 * Whether a client at `peer` may connect, by its network only: `secure` is for
 * the caller to see to. IPv4 addresses that are mapped into IPv6 count as IPv4.
 */
bool config_server_allows(
    const struct config_server *srv, const struct sockaddr *peer);

#endif
