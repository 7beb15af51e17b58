/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs the contents of the caches into records, a few buckets at a time, and
 * unpacks them into empty caches at the start. Records are checked in full when
 * they are read: a file may have been written by anybody who can write there.
 *
 * metasave.c calls this, on the loop. Nodes go before names, so that both nodes
 * of a name are there when it is read. Bindings are saved as firm or not, and
 * as in doubt or not, and are then as old as the loading, by CONTRACT_LOADED
 * and its like; of the times only those of rights and mounts are kept.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/caches.h"
#include "cache/metafile.h"

/* ---- into records ------------------------------------------------------ */

/* Puts a time, by the wall clock, since the daemon's clock begins anew with the
 * machine; 0 stays 0. */
static void put_time(struct metapack *p, uint64_t us)
{
	metabuf_put_u64(p->out, us == 0 ? 0 : us + p->real_us);
}

/* Packs the credentials under their numbers of now, which the next daemon maps
 * to its own. */
static void pack_creds(struct metapack *p)
{
	struct cred_key key;
	uint32_t id;

	for (uint32_t i = 0; credtab_at(p->caches->creds, i, &key, &id); i++) {
		size_t at = metabuf_begin(p->out, METAFILE_CRED);

		metabuf_put_u32(p->out, id);
		metabuf_put(p->out, &key, sizeof(key));
		metabuf_end(p->out, at);
	}
}

static void pack_fsys(struct metapack *p)
{
	const struct fsys *fs;

	for (uint32_t i = 0; (fs = attrcache_fsys_at(p->caches->attr, i));
	     i++) {
		size_t at = metabuf_begin(p->out, METAFILE_FSYS);
		const char *path = "";

		if (fs->export_plus_one > 0)
			path = p->caches->config
				   ->overrides[fs->export_plus_one - 1]
				   .path;
		metabuf_put_u64(p->out, fs->fsid);
		metabuf_put_u8(p->out,
		    (uint8_t)(fs->subseconds | fs->case_known << 1 |
			      fs->case_sensitive << 2 | fs->unlisted << 3 |
			      fs->clock_back << 4 | fs->lists_old << 5));
		metabuf_put_bytes(p->out, path, strlen(path));
		metabuf_end(p->out, at);
	}
}

static void pack_mounts(struct metapack *p)
{
	struct mounttab_entry e;

	for (unsigned i = 0; mounttab_at(p->caches->mounts, i, &e); i++) {
		size_t at = metabuf_begin(p->out, METAFILE_MOUNT);

		metabuf_put_bytes(p->out, e.path, e.path_len);
		metabuf_put(p->out, e.cred, sizeof(*e.cred));
		put_time(p, e.sent_us);
		metabuf_put_bytes(p->out, e.body.data, e.body.len);
		metabuf_end(p->out, at);
	}
}

/* Bits beside those of ACCESS: the first two with `known`, the third one with
 * `given`. A release from before they were there asks for such rights anew. */
enum { GRANT_ACCESS_FIRM = 0x40, GRANT_OWN_FIRM = 0x80, GRANT_ANY_FIRM = 0x40 };

/* Whether a right that was given then is still firm: not after a change of our
 * own, nor where all rights of its credential have ended. */
static bool still_firm(const struct metapack *p, const struct node *node,
    const struct grant *g, uint64_t sent_us)
{
	return attrcache_may_fill(p->caches->attr, node, sent_us) &&
	       sent_us >= credtab_rights_since(p->caches->creds, g->cred);
}

/* Packs all grants of a node, with a number of 0 at the end. */
static void pack_grants(struct metapack *p, const struct node *node)
{
	slab_ref ref;

	for (ref = node->grants; ref != 0;) {
		const struct grant *g = slab_ptr(p->caches->slab, ref);

		uint8_t known = g->known, given = g->given;

		if (g->access_firm && still_firm(p, node, g, g->access_us))
			known |= GRANT_ACCESS_FIRM;
		if (g->own_firm && still_firm(p, node, g, g->own_us))
			known |= GRANT_OWN_FIRM;
		if (g->any_firm && still_firm(p, node, g, g->any_us))
			given |= GRANT_ANY_FIRM;
		metabuf_put_u32(p->out, g->cred);
		metabuf_put_u8(p->out, known);
		metabuf_put_u8(p->out, given);
		put_time(p, g->access_us);
		put_time(p, g->any_us);
		put_time(p, g->own_us);
		ref = g->next;
	}
	metabuf_put_u32(p->out, 0);
}

/* Flags with which a binding is saved. A release ignores those that it does not
 * know, so a new one needs no new METAFILE_MAGIC. */
enum {
	BOUND_FIRM = 1, /* it holds without a bound of time */
	BOUND_DOUBT = 2,
};

/* Whether something was loaded after a kill, and nobody has confirmed it since.
 * That this daemon ends in good order makes it no better, so the next one is
 * told. */
static bool in_doubt(uint64_t sent_us)
{
	return sent_us == CONTRACT_LOADED_US;
}

/* Whether what is bound to a node is of its present generation. `*how` gets the
 * flags that it is saved with. The node must have an ext. */
static bool current(struct attrcache *ac, const struct node *node,
    const struct binding *b, uint8_t *how)
{
	const struct node_ext *x = attrcache_ext(ac, node);

	*how = b->firm && b->sent_us > x->changed_us ? BOUND_FIRM : 0;
	if (in_doubt(contract_held_us(ac, node, b)))
		*how |= BOUND_DOUBT;
	return b->generation == attrcache_generation(ac, node);
}

/* Packs the answers of a node that still hold, with a program of 0 at the end.
 */
static void pack_answers(struct metapack *p, const struct node *node)
{
	struct attrcache *ac = p->caches->attr;
	const struct node_ext *x = attrcache_ext(ac, node);
	uint8_t how;

	for (const struct answer *a = x ? x->answers : NULL; a; a = a->next) {
		if ((!current(ac, node, &a->bound, &how) &&
			answer_of_version(a->proc)) ||
		    answer_is_past(ac, node, a))
			continue;
		metabuf_put_u32(p->out, a->proc->prog);
		metabuf_put_u32(p->out, a->proc->proc);
		metabuf_put_u32(p->out, a->key);
		metabuf_put_u8(p->out, how);
		metabuf_put_bytes(p->out, a->body, a->len);
	}
	metabuf_put_u32(p->out, 0);
}

struct pack_list {
	struct metapack *p;
	const struct node *node;
};

static void pack_listing(void *arg, const struct listing *l)
{
	const struct pack_list *pl = arg;
	struct metabuf *out = pl->p->out;
	struct binding b = listing_binding(l);
	const void *data;
	size_t len;
	uint8_t how;

	if (!listing_complete(l) ||
	    !current(pl->p->caches->attr, pl->node, &b, &how))
		return;
	data = listing_data(l, &len);
	metabuf_put_u32(out, listing_cred(l));
	metabuf_put_u8(out, listing_plus(l));
	metabuf_put_u8(out, how);
	metabuf_put(out, listing_verf(l), NFS3_COOKIEVERFSIZE);
	metabuf_put_bytes(out, data, len);
}

static void pack_node(void *arg, struct node *node)
{
	struct metapack *p = arg;
	struct attrcache *ac = p->caches->attr;
	struct pack_list pl = {.p = p, .node = node};
	fattr3 a;
	size_t at;

	/* Attributes that must not be used now are not saved: the next
	 * daemon would use them. */
	if (attrcache_sent(ac, node) == 0)
		return;
	at = metabuf_begin(p->out, in_doubt(attrcache_sent(ac, node))
				       ? METAFILE_NODE_DOUBT
				       : METAFILE_NODE);
	attrcache_fattr(ac, node, &a);
	metabuf_put_bytes(p->out, node->fh, node->fh_len);
	metabuf_put(p->out, &a, sizeof(a));
	pack_grants(p, node);
	pack_answers(p, node);
	listcache_each(p->caches->lists, node, pack_listing, &pl);
	metabuf_put_u32(p->out, 0);
	metabuf_end(p->out, at);
}

static void pack_name(void *arg, const struct dentry *d)
{
	struct metapack *p = arg;
	struct attrcache *ac = p->caches->attr;
	const struct node *dir = attrcache_node(ac, d->dir);
	const struct node *child = dentry_child(p->caches->names, d);
	struct binding b = dentry_binding(d);
	uint8_t how;
	size_t at;

	/* A name that is only a guess (learn_change.c) is not saved. */
	if (b.sent_us == 0 || (dir->flags & NODE_DEAD) ||
	    attrcache_sent(ac, dir) == 0 || !current(ac, dir, &b, &how) ||
	    (d->child != 0 && !child))
		return;
	at = metabuf_begin(p->out, METAFILE_NAME);
	metabuf_put_bytes(p->out, dir->fh, dir->fh_len);
	metabuf_put_bytes(
	    p->out, child ? child->fh : NULL, child ? child->fh_len : 0);
	metabuf_put_bytes(p->out, d->name, d->len);
	metabuf_put_u8(p->out, how);
	metabuf_end(p->out, at);
}

bool metapack_some(struct metapack *p, size_t bytes)
{
	size_t end = p->out->len + bytes;

	if (!p->begun) {
		p->begun = true;
		p->real_us = clock_real_us() - clock_now_us();
		metabuf_put(p->out, METAFILE_MAGIC, 8);
		pack_creds(p);
		pack_fsys(p);
		pack_mounts(p);
	}
	while (p->out->len < end && !p->out->failed) {
		if (attrcache_each(p->caches->attr, p->nodes, pack_node, p))
			p->nodes++;
		else if (namecache_each(
			     p->caches->names, p->names, pack_name, p))
			p->names++;
		else
			return false;
	}
	return !p->out->failed;
}

/* ---- out of records ---------------------------------------------------- */

/* A credential's number in the file, and the one that it has now. */
struct cred_map {
	uint32_t saved;
	uint32_t now;
};

/* A load under way; the file's bytes stay with the caller. */
struct metaload {
	struct caches *caches;
	struct metaview left;
	struct cred_map *creds; /* sorted by `saved` */
	size_t ncreds;
	uint64_t now_us;
	uint64_t real_us;
	uint64_t sent_us; /* CONTRACT_LOADED_… */
};

/* Takes a saved time, by the daemon's own clock; 0: never, or it cannot be
 * told, since the wall clock was set back. */
static uint64_t get_time(const struct metaload *ld, struct metaview *v)
{
	uint64_t saved = metaview_get_u64(v), age;

	if (saved == 0 || saved > ld->real_us)
		return 0;
	age = ld->real_us - saved;
	return age < ld->now_us ? ld->now_us - age : 0;
}

/* Returns the index of the first credential whose number is not below `saved`,
 * which is the end where there is none. */
static size_t find_cred(const struct metaload *ld, uint32_t saved)
{
	size_t low = 0, high = ld->ncreds;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ld->creds[mid].saved < saved)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool cred_is_at(const struct metaload *ld, size_t at, uint32_t saved)
{
	return at < ld->ncreds && ld->creds[at].saved == saved;
}

/* The number that a credential of the file has now; 0: it is not known. */
static uint32_t map_cred(const struct metaload *ld, uint32_t saved)
{
	size_t at = find_cred(ld, saved);

	return cred_is_at(ld, at, saved) ? ld->creds[at].now : 0;
}

/* Whether the key is one that cred_key_make() could have made, as far as its
 * length goes: rests of groups would make a credential that nobody has. */
static bool cred_key_ok(const struct cred_key *key)
{
	if (key->ngids > CREDTAB_GIDS_MAX)
		return false;
	for (uint32_t i = key->ngids; i < CREDTAB_GIDS_MAX; i++)
		if (key->gids[i] != 0)
			return false;
	return true;
}

static void load_cred(struct metaload *ld, struct metaview *v)
{
	uint32_t saved = metaview_get_u32(v);
	size_t at = find_cred(ld, saved);
	struct cred_map *m = &ld->creds[at];
	struct cred_key key;

	metaview_get(v, &key, sizeof(key));
	if (v->bad || ld->ncreds == CREDTAB_MAX || !cred_key_ok(&key) ||
	    cred_is_at(ld, at, saved))
		return;
	memmove(m + 1, m, (ld->ncreds - at) * sizeof(*m));
	ld->ncreds++;
	*m = (struct cred_map){
	    .saved = saved, .now = credtab_get(ld->caches->creds, &key)};
}

static void load_fsys(struct metaload *ld, struct metaview *v)
{
	uint64_t fsid = metaview_get_u64(v);
	uint8_t flags = metaview_get_u8(v);
	uint32_t len;
	const char *path = metaview_get_bytes(v, &len);
	struct fsys *fs =
	    v->bad ? NULL : attrcache_get_fsys(ld->caches->attr, fsid);
	char *text;

	if (!fs)
		return;
	fs->subseconds = (flags & 1) != 0;
	fs->case_known = (flags & 2) != 0;
	fs->case_sensitive = (flags & 4) != 0;
	fs->unlisted = (flags & 8) != 0;
	fs->clock_back = (flags & 16) != 0;
	fs->lists_old = (flags & 32) != 0;
	text = len > 0 ? strndup(path, len) : NULL;
	if (text)
		(void)caches_set_export(ld->caches, text, fsid);
	free(text);
}

static void load_mount(struct metaload *ld, struct metaview *v)
{
	struct mounttab_entry e;
	struct cred_key key;
	uint32_t len;

	e.path = metaview_get_bytes(v, &len);
	e.path_len = len;
	metaview_get(v, &key, sizeof(key));
	e.sent_us = get_time(ld, v);
	e.body.data = metaview_get_bytes(v, &e.body.len);
	e.cred = &key;
	if (!v->bad && e.sent_us != 0 && len <= MNT3_PATH_MAX)
		mounttab_put(ld->caches->mounts, &e);
}

static void load_grants(
    const struct metaload *ld, struct node *node, struct metaview *v)
{
	uint32_t saved;

	while ((saved = metaview_get_u32(v)) != 0 && !v->bad) {
		struct grant g = {.cred = map_cred(ld, saved)};
		uint8_t known = metaview_get_u8(v);
		uint8_t given = metaview_get_u8(v);
		/* After a kill the last save may lack that rights ended. */
		bool whole = ld->sent_us == CONTRACT_LOADED_WHOLE_US;

		g.known = known & ACCESS_ALL;
		g.given = given & ACCESS_ALL;
		g.access_firm = whole && (known & GRANT_ACCESS_FIRM);
		g.own_firm = whole && (known & GRANT_OWN_FIRM);
		g.any_firm = whole && (given & GRANT_ANY_FIRM);
		g.access_us = TIME48(get_time(ld, v));
		g.any_us = TIME48(get_time(ld, v));
		g.own_us = TIME48(get_time(ld, v));
		if (!v->bad && g.cred != 0)
			accesscache_load(ld->caches->access, node, &g);
	}
}

/* Takes how a binding was saved; its generation is the node's, which the caller
 * sets. */
static struct binding get_binding(const struct metaload *ld, struct metaview *v)
{
	uint8_t how = metaview_get_u8(v);

	return (struct binding){.firm = (how & BOUND_FIRM) != 0,
	    .sent_us = how & BOUND_DOUBT ? CONTRACT_LOADED_US : ld->sent_us};
}

static void load_answers(
    const struct metaload *ld, struct node *node, struct metaview *v)
{
	uint32_t prog;

	while ((prog = metaview_get_u32(v)) != 0 && !v->bad) {
		uint32_t proc = metaview_get_u32(v);
		uint32_t key = metaview_get_u32(v);
		struct binding b = get_binding(ld, v);
		const struct nfs_proc *row = nfs_proc_find(prog, 3, proc);
		struct xdr_view body;

		body.data = metaview_get_bytes(v, &body.len);
		if (v->bad || !row ||
		    !attrcache_make_ext(ld->caches->attr, node))
			continue;
		b.generation = attrcache_generation(ld->caches->attr, node);
		answercache_put(ld->caches->answers, node, row, key, &body, &b);
	}
}

static void load_listings(
    const struct metaload *ld, struct node *node, struct metaview *v)
{
	uint32_t saved, len;

	while ((saved = metaview_get_u32(v)) != 0 && !v->bad) {
		uint32_t cred = map_cred(ld, saved);
		bool plus = metaview_get_u8(v) != 0;
		struct binding b = get_binding(ld, v);
		char verf[NFS3_COOKIEVERFSIZE];
		const void *data;

		metaview_get(v, verf, sizeof(verf));
		data = metaview_get_bytes(v, &len);
		if (!v->bad && cred != 0)
			listcache_load(ld->caches->lists, node, cred, plus,
			    verf, data, len, &b);
	}
}

/* Whether attributes from a file are harmless. The type is an index elsewhere;
 * the other members are plain numbers, of which any value will do. */
static bool fattr_ok(const fattr3 *a)
{
	return a->type >= NF3REG && a->type <= NF3FIFO;
}

static void load_node(struct metaload *ld, struct metaview *v, uint64_t sent_us)
{
	struct node *node;
	nfs3_fh fh;
	fattr3 a;

	fh.data = metaview_get_bytes(v, &fh.len);
	metaview_get(v, &a, sizeof(a));
	if (v->bad || !fattr_ok(&a))
		return;
	node = attrcache_get(ld->caches->attr, &fh);
	if (!node)
		return;
	attrcache_load(ld->caches->attr, node, &a, sent_us, ld->now_us);
	load_grants(ld, node, v);
	load_answers(ld, node, v);
	load_listings(ld, node, v);
}

static void load_name(struct metaload *ld, struct metaview *v)
{
	struct attrcache *ac = ld->caches->attr;
	struct node *dir, *child;
	nfs3_fh fh, of;
	struct binding b;
	nfs3_name name;

	fh.data = metaview_get_bytes(v, &fh.len);
	of.data = metaview_get_bytes(v, &of.len);
	name.data = metaview_get_bytes(v, &name.len);
	b = get_binding(ld, v);
	if (v->bad)
		return;
	/* The nodes came before the names, so a name whose node is missing
	 * is of no use. */
	dir = attrcache_find(ac, &fh);
	child = of.len > 0 ? attrcache_find(ac, &of) : NULL;
	if (dir && (child || of.len == 0))
		namecache_bind(
		    ld->caches->names, dir, &name, child, b.sent_us, b.firm);
}

static void load_record(
    struct metaload *ld, enum metafile_type type, struct metaview *v)
{
	switch (type) {
	case METAFILE_CRED:
		load_cred(ld, v);
		break;
	case METAFILE_FSYS:
		load_fsys(ld, v);
		break;
	case METAFILE_NODE:
		load_node(ld, v, ld->sent_us);
		break;
	case METAFILE_NODE_DOUBT:
		load_node(ld, v, CONTRACT_LOADED_US);
		break;
	case METAFILE_NAME:
		load_name(ld, v);
		break;
	case METAFILE_MOUNT:
		load_mount(ld, v);
		break;
	default:
		v->bad = true;
	}
}

struct metaload *metaload_new(struct caches *c, const struct metaview *records,
    bool whole, uint64_t now_us)
{
	struct metaload *ld = calloc(1, sizeof(*ld));

	if (!ld)
		return NULL;
	*ld = (struct metaload){.caches = c,
	    .left = *records,
	    .now_us = now_us,
	    .real_us = clock_real_us(),
	    .sent_us = whole ? CONTRACT_LOADED_WHOLE_US : CONTRACT_LOADED_US};
	ld->creds = calloc(CREDTAB_MAX, sizeof(*ld->creds));
	if (ld->creds)
		return ld;
	free(ld);
	return NULL;
}

int metaload_some(struct metaload *ld, unsigned n)
{
	struct metaview *v = &ld->left, record;
	enum metafile_type type;

	for (; n > 0 && !v->bad; n--) {
		if (!metaview_next(v, &type, &record)) {
			ld->caches->dirty = false;
			return v->bad ? -EINVAL : 0;
		}
		load_record(ld, type, &record);
		v->bad = v->bad || record.bad;
		/* The file may have been written when the budget was larger, so
		 * room is made on the way. */
		if (n % 64 == 0)
			caches_trim(ld->caches);
	}
	return v->bad ? -EINVAL : 1;
}

void metaload_free(struct metaload *ld)
{
	if (!ld)
		return;
	free(ld->creds);
	free(ld);
}

bool metapack_load(struct caches *c, const struct metaview *records, bool whole,
    uint64_t now_us)
{
	struct metaload *ld = metaload_new(c, records, whole, now_us);
	int rc = 1;

	while (ld && rc > 0)
		rc = metaload_some(ld, UINT_MAX);
	metaload_free(ld);
	c->dirty = false;
	return ld && rc == 0;
}
