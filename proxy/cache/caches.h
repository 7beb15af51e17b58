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

/* Data of a file that came in and may be kept. */
struct caches_data {
	struct node *node;
	uint32_t cred; /* caches_cred(); 0: none */
	uint64_t offset;
	const void *data; /* good for the length of the call */
	uint32_t len;
	/* It was fetched ahead, and no client has asked for it yet. */
	bool ahead;
	/* It comes from another machine of the farm, which had it from the
	 * server. */
	bool shared;
};

/* Who hears of what comes in; a part of their struct. A member may be NULL. */
struct caches_hook {
	LIST_ENTRY(caches_hook) link;
	/* Hears of data of a file that came and may be kept. */
	void (*on_data)(struct caches_hook *h, const struct caches_data *d);
	/* Hears that the directory's listing came, and is complete. */
	void (*on_listing)(
	    struct caches_hook *h, struct node *dir, uint32_t cred, bool plus);
};

LIST_HEAD(caches_hooks, caches_hook);

/* All caches of one server. Whoever has it may look; changes come in by
 * learn.h. */
struct caches {
	/* Caches that were flushed, and are freed bit by bit. */
	struct caches *buried;
	struct slab *slab;
	struct credtab *creds;
	struct attrcache *attr;
	struct namecache *names;
	struct accesscache *access;
	struct answercache *answers;
	struct listcache *lists;
	struct mounttab *mounts;
	struct datacache *data; /* file data; NULL: there is no data cache */
	const struct config_server *config;
	struct metrics *metrics;
	size_t memory_bytes; /* bytes that all of them may take */
	/* Bytes that they took when caches_trim() looked last. */
	size_t trimmed_bytes;
	size_t bury_bucket; /* the next bucket of those that were flushed */
	/* How often all was forgotten: whatever asks somebody else notes it,
	 * and knows by it whether its node may be gone. */
	uint64_t flushes;
	struct caches_hooks hooks;
	bool dirty; /* something came in since the caches were saved */
	/* For some [export] section, the file system is not known (yet), so all
	 * others are treated as strict. */
	bool exports_unknown;
	/* The server's policy, but for the mode strict. */
	struct config_policy strict;
	struct log_limit clocks_told;
};

/* Makes the caches of one server, which may take `memory_bytes`; `config` and
 * `metrics` outlive them. `data` becomes theirs; it may be NULL. NULL and errno
 * on failure: then `data` is still the caller's. */
struct caches *caches_new(const struct config_server *config,
    struct metrics *metrics, size_t memory_bytes, struct datacache *data);
/* Frees all, which takes as long as there are nodes; caches_take_apart() first
 * spares the loop that. NULL is allowed. */
void caches_free(struct caches *c);
/* Gives them a data cache, which becomes theirs; they have had none until now.
 */
void caches_set_data(struct caches *c, struct datacache *data);
/* Uses a configuration that was reloaded. The former one must still be there.
 */
void caches_set_config(struct caches *c, const struct config_server *config);
/* Sets the bytes that all caches together may use. Where they use more,
 * caches_shrink() gives them back. */
void caches_set_memory(struct caches *c, size_t memory_bytes);
/* Gives up a part of what is too much, some tenths of a millisecond's work; to
 * be called again while it returns true. */
bool caches_shrink(struct caches *c);
/* Forgets everything, data too. The memory is given back by caches_bury(). All
 * nodes are gone after this. */
void caches_flush(struct caches *c);
/* Frees a part of them, before caches_free(), so that no turn of the loop is
 * long; to be called again while it returns true. Nothing else may use them
 * from then on. */
bool caches_take_apart(struct caches *c);
/* Frees a part of what was flushed, some tenths of a millisecond's work; to be
 * called again while it returns true. */
bool caches_bury(struct caches *c);

/* Has a hook hear of what comes in, until it is removed. */
void caches_add_hook(struct caches *c, struct caches_hook *h);
void caches_remove_hook(struct caches_hook *h);

/* Returns the number of a caller's credential; 0: nothing can be kept for it,
 * since memory is short. `auth` is only looked at for AUTH_SYS. */
uint32_t caches_cred(struct caches *c, const struct rpc_cred *cred,
    const struct rpc_auth_sys *auth);
/*
 * Ends all rights of a credential, but for a server that is away. The server
 * took something away, or gave it, that no object shows: a user left a group,
 * or the export has other options. So nothing else that it said counts any
 * more to calls that were sent before `since_us`. A server that contradicts
 * itself all the time has it done ever more rarely.
 */
void caches_end_rights(struct caches *c, uint32_t cred, uint64_t since_us);
/* The same for all credentials of a user, at any time. */
void caches_end_rights_uid(struct caches *c, uint32_t uid, uint64_t since_us);
/* A user of this machine, as a server sees it. */
struct user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t ngroups;
};

/*
 * Makes the AUTH_SYS credential (RFC 5531 appendix A) that the NFS client of
 * this machine would send for the user, so that the same caches answer both;
 * its bytes are in `body`. Of more than 16 groups the first count, as with the
 * kernel's client. Returns its number, as caches_cred(); 0 without memory.
 */
uint32_t user_cred(struct caches *c, const struct user *user,
    struct rpc_cred *cred, char body[RPC_AUTH_BODY_MAX]);
/* Returns the policy that holds for a node: the server's, or that of its
 * [export] section. NULL stands for a node that is not known. Good until
 * caches_set_config(). */
const struct config_policy *caches_policy(
    const struct caches *c, const struct node *node);

/* Finds the root of an export that somebody has mounted. `*root` points into
 * the kept answer to that MNT. False where nobody has. */
bool caches_mounted(struct caches *c, const char *path, nfs3_fh *root);
/* Notes that the root of an [export] section's path is of this file system, for
 * which the section counts from now on. False without memory. */
bool caches_set_export(struct caches *c, const char *path, uint64_t fsid);

/* A bit in ctime_ns: the file system's clock was set back (struct fsys). By it,
 * data from before that was known is of another version. */
#define CACHES_CLOCK_BACK (UINT32_C(1) << 31)

/* The key and version by which the data cache knows a file. The node must have
 * attributes for the version. */
struct data_key caches_data_key(const struct node *node);
struct data_version caches_data_version(
    const struct caches *c, const struct node *node);

/* STALE or BADHANDLE, just now: all of a handle goes, and answers that are on
 * their way do not bring it back. */
void caches_dead(struct caches *c, const nfs3_fh *fh, uint64_t now_us);
/* Give up what is least useful, until the budget holds. */
void caches_trim(struct caches *c);
/* The bytes of all memory, the index of the data included. */
size_t caches_bytes(const struct caches *c);
/* The bytes that a name, its handle and its attributes take on the average. */
size_t caches_entry_bytes(const struct caches *c);

/* Sizes of the caches, as they are now. */
struct caches_stats {
	size_t objects;
	size_t names;        /* names that are known, as absent too */
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
