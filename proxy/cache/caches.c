/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making, flushing and giving up. Memory is given back a little at a time: what
 * was flushed is freed by caches_bury() turn by turn of the event loop, and
 * caches_trim() moves the hands of two clocks, over names and over nodes, by a
 * few buckets with each reply that is learned.
 */
#include "cache/caches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/metrics.h"
#include "nfsproto/nfs_proc.h"

enum {
	/* One in so many bytes of the budget may be of listings. */
	LISTINGS_SHARE = 4,
	/* One in so many may be of the index of the data. */
	DATA_SHARE = 2,
	/* Giving up begins when one in so many bytes of the budget is left. */
	TRIM_MARGIN = 16,
	/* It looks at so many buckets in a turn, and at one more for each
	 * TRIM_STEP_BYTES that came in since the last. So the clock's hands
	 * have been round everything once before the margin is used up, however
	 * fast that is, and no turn is longer than what came in is large. */
	TRIM_STEPS = 64,
	TRIM_STEP_BYTES = 4,
	/* The hands of names and nodes take turns after so many buckets. */
	HAND_STEPS = 4,
	/* Of what was flushed, so much is freed in a turn: buckets whose
	 * answers go, listings, and files of the data cache. */
	BURY_BUCKETS = 1024,
	BURY_LISTINGS = 32,
	BURY_FILES = 1024,
};

/* Makes all parts in memory; false without memory, and caches_unmake() takes
 * what there is. */
static bool caches_make(struct caches *c)
{
	c->slab = slab_new();
	c->creds = credtab_new();
	c->attr = c->slab ? attrcache_new(c->slab) : NULL;
	if (!c->creds || !c->attr)
		return false;
	c->names = namecache_new(c->slab, c->attr);
	c->access = accesscache_new(c->slab, c->attr);
	c->answers = answercache_new(c->attr);
	c->lists = listcache_new(c->attr);
	c->mounts = mounttab_new();
	return c->names && c->access && c->answers && c->lists && c->mounts;
}

static void free_answers(void *arg, struct node *node)
{
	struct caches *c = arg;

	answercache_drop(c->answers, node);
}

/* Forgets the parts in memory, which were freed or have another owner. */
static void clear_parts(struct caches *c)
{
	c->mounts = NULL;
	c->lists = NULL;
	c->answers = NULL;
	c->access = NULL;
	c->names = NULL;
	c->attr = NULL;
	c->creds = NULL;
	c->slab = NULL;
}

/* Frees all parts in memory. Answers are no slab items, so they go one by one
 * first. */
static void caches_unmake(struct caches *c)
{
	size_t bucket = 0;

	if (c->attr && c->answers)
		while (attrcache_each(c->attr, bucket, free_answers, c))
			bucket++;
	mounttab_free(c->mounts);
	listcache_free(c->lists);
	answercache_free(c->answers);
	accesscache_free(c->access);
	namecache_free(c->names);
	attrcache_free(c->attr);
	credtab_free(c->creds);
	slab_delete(c->slab);
	clear_parts(c);
}

static void use_config(struct caches *c, const struct config_server *config)
{
	c->config = config;
	c->strict = config->policy;
	c->strict.consistency = CONFIG_CONSISTENCY_STRICT;
}

struct caches *caches_new(const struct config_server *config,
    struct metrics *metrics, size_t memory_bytes, struct datacache *data)
{
	struct caches *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	use_config(c, config);
	c->metrics = metrics;
	c->memory_bytes = memory_bytes;
	if (caches_make(c)) {
		if (data)
			caches_set_data(c, data);
		return c;
	}
	caches_unmake(c);
	free(c);
	errno = ENOMEM;
	return NULL;
}

void caches_set_data(struct caches *c, struct datacache *data)
{
	c->data = data;
	datacache_set_memory(data, c->memory_bytes / DATA_SHARE);
}

void caches_add_hook(struct caches *c, struct caches_hook *h)
{
	LIST_INSERT_HEAD(&c->hooks, h, link);
}

void caches_remove_hook(struct caches_hook *h)
{
	LIST_REMOVE(h, link);
}

void caches_set_memory(struct caches *c, size_t memory_bytes)
{
	if (c->memory_bytes == memory_bytes)
		return;
	c->memory_bytes = memory_bytes;
	if (c->data)
		datacache_set_memory(c->data, memory_bytes / DATA_SHARE);
}

void caches_free(struct caches *c)
{
	if (!c)
		return;
	while (caches_bury(c))
		;
	caches_unmake(c);
	datacache_close(c->data);
	free(c);
}

/* Puts the old caches aside, to be freed bit by bit: freeing a million names at
 * once would take a tenth of a second. Without memory for that they go now. */
static void bury(struct caches *c, const struct caches *old)
{
	struct caches *grave = malloc(sizeof(*grave));
	struct caches now = *old;

	if (!grave) {
		caches_unmake(&now);
		return;
	}
	*grave = *old;
	c->buried = grave;
}

/* Each frees a part of what was buried; false when nothing is left of its kind.
 */
static bool bury_answers(struct caches *g)
{
	for (int i = 0; i < BURY_BUCKETS; i++)
		if (answercache_count(g->answers) == 0 ||
		    !attrcache_each(g->attr, g->bury_bucket++, free_answers, g))
			return false;
	return true;
}

static bool bury_listings(struct caches *g)
{
	for (int i = 0; i < BURY_LISTINGS; i++)
		if (!listcache_evict(g->lists))
			return false;
	return true;
}

bool caches_bury(struct caches *c)
{
	struct caches *g = c->buried;

	if (!g)
		return c->data && datacache_bury(c->data, BURY_FILES);
	if (bury_answers(g) || bury_listings(g) || slab_shed(g->slab))
		return true;
	c->buried = g->buried;
	/* All answers were freed by bury_answers(), and the nodes that they
	 * hung on are gone now. */
	answercache_free(g->answers);
	g->answers = NULL;
	caches_unmake(g);
	free(g);
	return true;
}

bool caches_take_apart(struct caches *c)
{
	const struct caches old = *c;

	if (c->attr) {
		bury(c, &old);
		clear_parts(c);
	}
	return c->buried && caches_bury(c);
}

void caches_flush(struct caches *c)
{
	struct caches old = *c;

	/* The new caches are made first, so that without memory everything
	 * stays as it is. */
	clear_parts(c);
	if (caches_make(c)) {
		bury(c, &old);
	} else {
		caches_unmake(c);
		*c = old;
	}
	if (c->data)
		datacache_flush(c->data);
	c->flushes++;
	c->dirty = true;
}

/* The number of the [export] section of that path, from 1 on; 0: there is none.
 */
static uint32_t export_index(const struct config_server *cfg, const char *path)
{
	for (size_t i = 0; i < cfg->noverrides; i++)
		if (strcmp(cfg->overrides[i].path, path) == 0)
			return (uint32_t)i + 1;
	return 0;
}

void caches_set_config(struct caches *c, const struct config_server *config)
{
	const struct config_server *old = c->config;
	struct fsys *fs;

	for (uint32_t i = 0; (fs = attrcache_fsys_at(c->attr, i)); i++)
		if (fs->export_plus_one > 0)
			fs->export_plus_one = export_index(config,
			    old->overrides[fs->export_plus_one - 1].path);
	use_config(c, config);
}

uint32_t caches_cred(struct caches *c, const struct rpc_cred *cred,
    const struct rpc_auth_sys *auth)
{
	struct cred_key key;

	cred_key_make(&key, cred->flavor, auth);
	return credtab_get(c->creds, &key);
}

/* A right that is not firm any more is saved so (metapack.c). */
static void rights_ended(struct caches *c)
{
	c->dirty = true;
	metrics_add(c->metrics, METRICS_RIGHTS_ENDED, 1);
}

void caches_end_rights(struct caches *c, uint32_t cred, uint64_t since_us)
{
	if (credtab_end_rights(c->creds, cred, since_us))
		rights_ended(c);
}

void caches_end_rights_uid(struct caches *c, uint32_t uid, uint64_t since_us)
{
	if (credtab_end_rights_uid(c->creds, uid, since_us))
		rights_ended(c);
}

uint32_t user_cred(struct caches *c, const struct user *user,
    struct rpc_cred *cred, char body[RPC_AUTH_BODY_MAX])
{
	char machine[RPC_MACHINE_MAX + 1] = "";
	struct rpc_auth_sys auth = {
	    .uid = (uint32_t)user->uid, .gid = (uint32_t)user->gid};

	(void)gethostname(machine, sizeof(machine) - 1);
	auth.machine.data = machine;
	auth.machine.len = (uint32_t)strlen(machine);
	for (size_t i = 0; i < user->ngroups && i < RPC_GIDS_MAX; i++)
		auth.gids[auth.ngids++] = (uint32_t)user->groups[i];
	cred->flavor = AUTH_SYS;
	cred->body.data = body;
	cred->body.len =
	    (uint32_t)rpc_auth_sys_encode(&auth, body, RPC_AUTH_BODY_MAX);
	return caches_cred(c, cred, &auth);
}

bool caches_mounted(struct caches *c, const char *path, nfs3_fh *root)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT);
	struct mounttab_entry e;
	union nfs_res res;

	for (unsigned i = 0; mounttab_at(c->mounts, i, &e); i++) {
		if (e.path_len != strlen(path) ||
		    memcmp(e.path, path, e.path_len) != 0 ||
		    !nfs_res_decode(proc, e.body.data, e.body.len, &res) ||
		    res.mnt.status != MNT3_OK)
			continue;
		*root = res.mnt.MNT3res_u.resok.fhandle;
		return root->len <= NFS3_FHSIZE_MAX;
	}
	return false;
}

const struct config_policy *caches_policy(
    const struct caches *c, const struct node *node)
{
	const struct fsys *fs = node ? attrcache_fsys(c->attr, node) : NULL;

	if (fs && fs->export_plus_one > 0)
		return &c->config->overrides[fs->export_plus_one - 1].policy;
	return c->exports_unknown ? &c->strict : &c->config->policy;
}

bool caches_set_export(struct caches *c, const char *path, uint64_t fsid)
{
	struct fsys *fs = attrcache_get_fsys(c->attr, fsid), *other;
	uint32_t index = export_index(c->config, path);

	/* The path leads to this one now, and to no other. */
	for (uint32_t i = 0; (other = attrcache_fsys_at(c->attr, i)); i++)
		if (index > 0 && other->export_plus_one == index)
			other->export_plus_one = 0;
	if (fs)
		fs->export_plus_one = index;
	return fs != NULL;
}

struct data_key caches_data_key(const struct node *node)
{
	XXH128_hash_t h = XXH3_128bits(node->fh, node->fh_len);

	return (struct data_key){.h = {h.low64, h.high64}};
}

struct data_version caches_data_version(
    const struct caches *c, const struct node *node)
{
	const struct fsys *fs = attrcache_fsys(c->attr, node);

	return (struct data_version){.fsid = fs->fsid,
	    .fileid = node->fileid,
	    .size = node->size,
	    .mtime_s = node->mtime.seconds,
	    .mtime_ns = node->mtime.nseconds,
	    .ctime_s = node->ctime.seconds,
	    .ctime_ns = node->ctime.nseconds ^
			(fs->clock_back ? CACHES_CLOCK_BACK : 0)};
}

/* Takes off the node all that hangs on it but names. */
static void node_strip(struct caches *c, struct node *node)
{
	accesscache_drop(c->access, node);
	answercache_drop(c->answers, node);
	listcache_drop(c->lists, node);
}

void caches_dead(struct caches *c, const nfs3_fh *fh, uint64_t now_us)
{
	struct node *node = attrcache_find(c->attr, fh);

	attrcache_died(c->attr, fh, now_us);
	if (!node)
		return;
	/* A saved file that has it still is not all that is known. */
	c->dirty = true;
	if (c->data) {
		struct data_key key = caches_data_key(node);

		datacache_drop(c->data, &key);
	}
	node_strip(c, node);
	attrcache_dead(c->attr, node);
}

/* ---- memory ----------------------------------------------------------- */

/* The bytes of nodes, names and grants: they share the slab. */
static size_t entry_bytes(const struct caches *c)
{
	return slab_used_bytes(c->slab) + attrcache_bytes(c->attr) +
	       namecache_bytes(c->names);
}

size_t caches_bytes(const struct caches *c)
{
	return entry_bytes(c) + listcache_bytes(c->lists) +
	       answercache_bytes(c->answers) +
	       (c->data ? datacache_memory_bytes(c->data) : 0);
}

size_t caches_entry_bytes(const struct caches *c)
{
	size_t n = namecache_count(c->names);
	size_t grants = accesscache_count(c->access) * sizeof(struct grant);

	if (n < attrcache_count(c->attr))
		n = attrcache_count(c->attr);
	return n > 0 ? (entry_bytes(c) - grants) / n : 0;
}

void caches_get_stats(const struct caches *c, struct caches_stats *st)
{
	size_t grants = accesscache_count(c->access);

	*st = (struct caches_stats){.objects = attrcache_count(c->attr),
	    .names = namecache_count(c->names),
	    .object_bytes = entry_bytes(c) - grants * sizeof(struct grant),
	    .grants = grants,
	    .grant_bytes = grants * sizeof(struct grant),
	    .listings = listcache_count(c->lists),
	    .listing_bytes = listcache_bytes(c->lists),
	    .answers = answercache_count(c->answers),
	    .answer_bytes = answercache_bytes(c->answers),
	    .entry_bytes = caches_entry_bytes(c),
	    .bytes = caches_bytes(c)};
	if (c->data)
		datacache_get_stats(c->data, &st->data);
}

static void evict_node(struct caches *c, struct node *node)
{
	node_strip(c, node);
	attrcache_remove(c->attr, node);
	metrics_add(c->metrics, METRICS_ATTR_EVICTED, 1);
}

static bool evict_listing(struct caches *c)
{
	if (!listcache_evict(c->lists))
		return false;
	metrics_add(c->metrics, METRICS_LIST_EVICTED, 1);
	return true;
}

/* Moves both hands on a little, and gives up what they find. `*steps` counts
 * down by the buckets that were looked at. */
static void move_hands(struct caches *c, size_t *steps)
{
	size_t few = HAND_STEPS, more = HAND_STEPS;
	struct node *node;

	--*steps;
	if (namecache_evict(c->names, &few, &node)) {
		metrics_add(c->metrics, METRICS_NAME_EVICTED, 1);
		/* An object to which only that name led has lost most of its
		 * use. */
		if (node && attrcache_is_idle(c->attr, node))
			evict_node(c, node);
	}
	node = attrcache_sweep(c->attr, &more);
	if (node)
		evict_node(c, node);
	few = 2 * HAND_STEPS - few - more;
	*steps -= few < *steps ? few : *steps;
}

void caches_trim(struct caches *c)
{
	size_t most = c->memory_bytes - c->memory_bytes / TRIM_MARGIN;
	size_t steps = TRIM_STEPS, bytes;

	c->dirty = true;
	while (listcache_bytes(c->lists) > c->memory_bytes / LISTINGS_SHARE &&
	       evict_listing(c))
		;
	bytes = caches_bytes(c);
	if (bytes > c->trimmed_bytes)
		steps += (bytes - c->trimmed_bytes) / TRIM_STEP_BYTES;
	while (bytes > most && steps > 0) {
		move_hands(c, &steps);
		bytes = caches_bytes(c);
	}
	while (bytes > c->memory_bytes && evict_listing(c))
		bytes = caches_bytes(c);
	c->trimmed_bytes = bytes;
}

bool caches_shrink(struct caches *c)
{
	bool dirty = c->dirty;
	size_t before = caches_bytes(c);

	if (before <= c->memory_bytes)
		return false;
	caches_trim(c);
	/* The file of metasave still has what was given up, and may keep it. */
	c->dirty = dirty;
	return caches_bytes(c) < before;
}
