/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes of answered calls, and of listings, what the predictor hears. */
#include "prefetch/ground/observe.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "cache/known.h"
#include "nfsproto/nfs3_object.h"

/* A larger directory would hold up the loop for too long. */
enum { LISTING_MAX = 16384 };

uint64_t observe_name(const nfs3_name *name)
{
	uint64_t h = XXH3_64bits(name->data, name->len);

	return h ? h : 1;
}

uint64_t observe_absent(const nfs3_fh *dir, const nfs3_name *name)
{
	return XXH3_64bits_withSeed(name->data, name->len, fh_key(dir)) | 1;
}

/* Of what follows the last dot; 0 where there is none. It may be the first
 * character: the files of settings of one program are a kind of their own. */
static uint64_t type_of(const nfs3_name *name)
{
	for (uint32_t i = name->len; i > 0; i--)
		if (name->data[i - 1] == '.')
			return XXH3_64bits(name->data + i, name->len - i) | 1;
	return 0;
}

void observe_sum(struct observe_sums *s, const struct observe_call *call)
{
	bool change = call->proc->flags & NFS_PROC_DRC;

	s->calls++;
	s->changes += change;
	s->asked += !change && call->asked;
	s->bytes += call->bytes;
}

void observe_count(
    struct caches *c, const struct node *node, const struct observe_sums *s)
{
	struct fsys *f = node && (node->flags & NODE_ATTRS)
			     ? attrcache_fsys(c->attr, node)
			     : NULL;

	if (!f)
		return;
	f->calls += s->calls;
	f->changes += s->changes;
	f->asked += s->asked;
	f->bytes += s->bytes;
}

/* File systems begin sessions of their own. */
static uint64_t space_of(struct caches *c, const struct node *node)
{
	const struct fsys *f =
	    node->flags & NODE_ATTRS ? attrcache_fsys(c->attr, node) : NULL;

	return f ? f->fsid + 1 : 0;
}

static void about_node(
    struct caches *c, const struct node *node, struct predictor_obs *obs)
{
	obs->object = node_key(node);
	if (!(node->flags & NODE_ATTRS))
		return;
	obs->space = space_of(c, node);
	obs->directory = attrcache_type(c->attr, node) == NF3DIR;
	obs->size_bytes = obs->directory ? 0 : node->size;
	obs->exec = node->flags & NODE_PROGRAM;
}

static bool about_lookup(struct caches *c, struct node *dir,
    const struct observe_call *call, struct predictor_obs *obs,
    struct node **child)
{
	const diropargs3 *a = &call->args->dirop;

	if (nfs3_name_is_dots(&a->name))
		return false;
	obs->parent = fh_key(&a->dir);
	obs->name_hash = observe_name(&a->name);
	obs->type_hash = type_of(&a->name);
	if (call->status == NFS3ERR_NOENT) {
		obs->kind = PREDICTOR_ABSENT;
		obs->object = observe_absent(&a->dir, &a->name);
		obs->space = space_of(c, dir);
		return true;
	}
	*child = known_name(c, dir, &a->name).child;
	if (!*child || call->status != NFS3_OK)
		return false;
	obs->kind = PREDICTOR_LOOKUP;
	about_node(c, *child, obs);
	return true;
}

static bool kind_of(uint32_t proc, enum predictor_kind *kind)
{
	switch (proc) {
	case NFSPROC3_READ:
		*kind = PREDICTOR_READ;
		return true;
	case NFSPROC3_GETATTR:
		*kind = PREDICTOR_GETATTR;
		return true;
	case NFSPROC3_ACCESS:
		*kind = PREDICTOR_ACCESS;
		return true;
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		*kind = PREDICTOR_READDIR;
		return true;
	default:
		return false;
	}
}

static bool about_object(struct caches *c, const struct node *node,
    const struct observe_call *call, struct predictor_obs *obs)
{
	if (call->status != NFS3_OK || !kind_of(call->proc->proc, &obs->kind))
		return false;
	/* Later pages come with the first. */
	if ((call->proc->proc == NFSPROC3_READDIR &&
		call->args->readdir.cookie != 0) ||
	    (call->proc->proc == NFSPROC3_READDIRPLUS &&
		call->args->readdirplus.cookie != 0))
		return false;
	about_node(c, node, obs);
	if (obs->kind == PREDICTOR_READ) {
		obs->offset_bytes = call->args->read.offset;
		obs->count_bytes = call->args->read.count;
	}
	return true;
}

struct node *observe_node(struct caches *c, const struct observe_call *call)
{
	return call->proc->prog != MOUNT_PROGRAM
		   ? attrcache_find(c->attr, &call->args->object)
		   : NULL;
}

bool observe_call(struct caches *c, struct node *node,
    const struct observe_call *call, struct predictor_obs *obs,
    struct node **about)
{
	*about = NULL;
	if (!node || !call->cred_id || call->proc->prog != NFS_PROGRAM)
		return false;
	*obs = (struct predictor_obs){.now_ns = call->received_us * 1000,
	    .latency_ns = call->latency_us * 1000,
	    .actor =
		(call->actor ^ call->uid * UINT64_C(0x9e3779b97f4a7c15)) | 1,
	    .uid = call->uid,
	    .client = call->actor,
	    .recent_ns = contract_recent_us(caches_policy(c, node)) * 1000};
	if (call->proc->proc == NFSPROC3_LOOKUP)
		return about_lookup(c, node, call, obs, about);
	*about = node;
	return about_object(c, node, call, obs);
}

uint64_t observe_mount(
    struct caches *c, const struct node *node, const struct observe_call *call)
{
	return node && call->status == NFS3_OK &&
		       call->proc->proc == NFSPROC3_FSINFO
		   ? space_of(c, node)
		   : 0;
}

/* ---- listings --------------------------------------------------------- */

struct name {
	nfs3_name name;
	size_t at;
};

static int name_cmp(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	uint32_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
	int c = memcmp(x->name.data, y->name.data, n);

	return c ? c
		 : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static bool entry_fill(struct caches *c, struct node *dir,
    const nfs3_name *name, struct predictor_dirent *e)
{
	struct node *child;

	if (nfs3_name_is_dots(name))
		return false;
	child = known_name(c, dir, name).child;
	if (!child || !(child->flags & NODE_ATTRS))
		return false;
	*e = (struct predictor_dirent){.object = node_key(child),
	    .name_hash = observe_name(name),
	    .type_hash = type_of(name),
	    .exec = child->flags & NODE_PROGRAM,
	    .directory = attrcache_type(c->attr, child) == NF3DIR,
	    .hidden = name->len > 0 && name->data[0] == '.'};
	if (!e->directory)
		e->size_bytes = child->size;
	return true;
}

/* The rank of each entry among the names. */
static void rank(struct predictor_dirent *ents, struct name *names, size_t n)
{
	qsort(names, n, sizeof(*names), name_cmp);
	for (size_t i = 0; i < n; i++)
		ents[names[i].at].rank = (uint32_t)i;
}

static struct listing *find_listing(
    struct caches *c, struct node *dir, uint32_t cred)
{
	struct listing *l = listcache_find(c->lists, dir, cred, true);

	if (!l || !listing_complete(l))
		l = listcache_find(c->lists, dir, cred, false);
	return l && listing_complete(l) &&
		       listing_binding(l).generation ==
			   attrcache_generation(c->attr, dir)
		   ? l
		   : NULL;
}

bool observe_listed(struct caches *c, struct node *dir, uint32_t cred)
{
	return find_listing(c, dir, cred) != NULL;
}

bool observe_listing_is_loose(const struct known *dir)
{
	struct listing *l =
	    listcache_find(dir->caches->lists, dir->node, dir->cred, true);
	struct binding b;

	if (!l)
		return false;
	b = listing_binding(l);
	return !known_holds(dir, &b);
}

size_t observe_listing(struct caches *c, struct node *dir, uint32_t cred,
    struct predictor_dirent **out)
{
	struct listing *l = find_listing(c, dir, cred);
	uint32_t total = l ? listing_count(l) : 0;
	struct name *names = NULL;
	struct list_entry e;
	size_t n = 0, pos = 0;

	*out = NULL;
	if (total == 0 || total > LISTING_MAX)
		return 0;
	*out = calloc(total, sizeof(**out));
	names = calloc(total, sizeof(*names));
	while (*out && names && listing_next(l, &pos, &e)) {
		if (!entry_fill(c, dir, &e.name, &(*out)[n]))
			continue;
		names[n] = (struct name){e.name, n};
		n++;
	}
	if (n > 0) {
		rank(*out, names, n);
	} else {
		free(*out);
		*out = NULL;
	}
	free(names);
	return n;
}

size_t observe_names_count(struct caches *c, struct node *dir, uint32_t cred)
{
	struct listing *l = find_listing(c, dir, cred);

	return l ? listing_count(l) : 0;
}

void observe_names(struct caches *c, struct node *dir, uint32_t cred,
    void (*each)(void *ctx, const nfs3_name *name, const struct node *child),
    void *ctx)
{
	struct listing *l = find_listing(c, dir, cred);
	struct list_entry e;
	size_t pos = 0;

	while (l && listing_next(l, &pos, &e)) {
		struct node *child = nfs3_name_is_dots(&e.name)
					 ? NULL
					 : known_name(c, dir, &e.name).child;

		if (child && (child->flags & NODE_ATTRS))
			each(ctx, &e.name, child);
	}
}
