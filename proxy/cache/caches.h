/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caches of one server together: they know neither each other nor the
 * network, and share one budget of memory here.
 *
 *	reply ─▶ learn.c, the only way in
 *	           ▼
 *	attrcache: a node for each handle ─▶ accesscache: rights of credentials
 *	  ├─▶ namecache, listcache, answercache: bound to the node's version
 *	  └─▶ datacache: file data, by handle and version
 *	           ▼
 *	known.c: what is known to one asker, and may be used (contract.c)
 *
 * Nodes, names and grants are slab items of a few dozen bytes, which refer to
 * each other by 32 bits. Attributes that many nodes share (type, mode, owner,
 * file system) are stored once. A name with its object takes 157 bytes.
 *
 * A quarter of the server's share of memory_size is for what is learned (1 MiB
 * to 64 MiB), the rest for these caches. caches_trim(), after each reply, gives
 * up what was not used lately: clocks' hands over names and nodes begin a
 * sixteenth below the limit and look at as much as came in; the oldest listings
 * go first where listings take more than a quarter.
 *
 * metasave.c takes all but file data over a restart. The folder may use
 * datacache/ and the configuration. It knows no sockets, and time is given.
 */
#ifndef FOREFETCH_CACHES_H
#define FOREFETCH_CACHES_H

#include <sys/queue.h>
#include <sys/types.h>

#include "base/log.h"
#include "cache/accesscache.h"
#include "cache/answercache.h"
#include "cache/attrcache.h"
#include "cache/contract.h"
#include "cache/credtab.h"
#include "cache/listcache.h"
#include "cache/mounttab.h"
#include "cache/namecache.h"
#include "config/config.h"
#include "datacache/datacache.h"

struct metrics;

struct node;

/* Data of a file that came, and may be kept. */
struct caches_data {
	struct node *node;
	uint32_t cred; /* caches_cred(); 0: none */
	uint64_t offset;
	const void *data; /* gone when the call is over */
	uint32_t len;
	bool ahead;  /* nobody asked for it yet */
	bool shared; /* another machine had it from the server */
};

/* Who hears of what comes in; a part of their struct. A member may be NULL. */
struct caches_hook {
	LIST_ENTRY(caches_hook) link;
	/* Data of a file that may be kept. */
	void (*on_data)(struct caches_hook *h, const struct caches_data *d);
	/* The directory's listing came from the server, and is complete. */
	void (*on_listing)(
	    struct caches_hook *h, struct node *dir, uint32_t cred, bool plus);
};

LIST_HEAD(caches_hooks, caches_hook);

struct caches {
	struct caches *buried; /* were flushed, and are freed bit by bit */
	struct slab *slab;
	struct credtab *creds;
	struct attrcache *attr;
	struct namecache *names;
	struct accesscache *access;
	struct answercache *answers;
	struct listcache *lists;
	struct mounttab *mounts;
	struct datacache *data; /* NULL: none */
	const struct config_server *config;
	struct metrics *metrics;
	size_t memory_bytes;  /* what all of them may take */
	size_t trimmed_bytes; /* what they took when it was looked last */
	size_t bury_bucket;   /* of those that were flushed */
	uint64_t flushes;     /* how often all was forgotten */
	struct caches_hooks hooks;
	bool dirty; /* something came in since it was saved */
	/* For some [export] section, the file system is not known (yet). */
	bool exports_unknown;
	struct config_policy strict; /* as the server's, but strict */
	struct log_limit clocks_told;
};

/* `data` becomes theirs; it may be NULL. NULL and errno on failure. */
struct caches *caches_new(const struct config_server *config,
    struct metrics *metrics, size_t memory_bytes, struct datacache *data);
void caches_free(struct caches *c);
/* Give them a data cache; they have had none until now. */
void caches_set_data(struct caches *c, struct datacache *data);
/* The configuration was reloaded. */
void caches_set_config(struct caches *c, const struct config_server *config);
/* Sets the memory that all caches together may use. Where they use more,
 * caches_shrink() gives it back. */
void caches_set_memory(struct caches *c, size_t memory_bytes);
/* Give up a part of what is too much, some tenths of a millisecond; to be
 * called again while it returns true. */
bool caches_shrink(struct caches *c);
/* Forget everything, data too. The memory is given back by caches_bury(). */
void caches_flush(struct caches *c);
/* Free a part of them, before caches_free(), so that no turn is long; to be
 * called again while it returns true. Nothing else may use them from then on.
 */
bool caches_take_apart(struct caches *c);
/* Free a part of what was flushed, some tenths of a millisecond; to be called
 * again while it returns true. */
bool caches_bury(struct caches *c);

void caches_add_hook(struct caches *c, struct caches_hook *h);
void caches_remove_hook(struct caches_hook *h);

/* The number of a caller's credential; 0: nothing can be kept for it. */
uint32_t caches_cred(struct caches *c, const struct rpc_cred *cred,
    const struct rpc_auth_sys *auth);
/* A user of this machine, as a server sees it. */
struct user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t ngroups;
};

/*
 * The AUTH_SYS credential that the NFS client of this machine would send for
 * the user, so that the same caches answer both; its bytes are in `body`. Of
 * more than 16 groups the first count, as with the kernel's client. Returns its
 * number, as caches_cred(); 0 without memory.
 */
uint32_t user_cred(struct caches *c, const struct user *user,
    struct rpc_cred *cred, char body[RPC_AUTH_BODY_MAX]);
/* The policy that holds for a node: the server's, or that of its [export]
 * section. NULL stands for a node that is not known. */
const struct config_policy *caches_policy(
    const struct caches *c, const struct node *node);

/* The root of an export that somebody has mounted. It points into the answer
 * to that MNT. False where nobody has. */
bool caches_mounted(struct caches *c, const char *path, nfs3_fh *root);
/* The root of an [export] section's path is of this file system, for which the
 * section counts from now on. False without memory. */
bool caches_set_export(struct caches *c, const char *path, uint64_t fsid);

/* In ctime_ns: the file system's clock was set back (struct fsys). Data from
 * before that was known is of another version. */
#define CACHES_CLOCK_BACK (UINT32_C(1) << 31)

struct data_key caches_data_key(const struct node *node);
struct data_version caches_data_version(
    const struct caches *c, const struct node *node);

/* STALE or BADHANDLE, just now: all of a handle goes, and answers that are on
 * their way do not bring it back. */
void caches_dead(struct caches *c, const nfs3_fh *fh, uint64_t now_us);
/* Give up what is least useful, until the budget holds. */
void caches_trim(struct caches *c);
/* All memory, the index of the data included. */
size_t caches_bytes(const struct caches *c);
/* Bytes that a name, its handle and its attributes take on the average. */
size_t caches_entry_bytes(const struct caches *c);

/* Sizes of the caches, as they are now. */
struct caches_stats {
	size_t objects;
	size_t names;        /* absent ones too */
	size_t object_bytes; /* objects and names: they share memory */
	size_t grants;       /* of one credential for one object */
	size_t grant_bytes;
	size_t listings;
	size_t listing_bytes;
	size_t answers;
	size_t answer_bytes;
	size_t entry_bytes;          /* caches_entry_bytes() */
	size_t bytes;                /* caches_bytes() */
	struct datacache_stats data; /* zeros where there is none */
};
void caches_get_stats(const struct caches *c, struct caches_stats *st);

#endif
