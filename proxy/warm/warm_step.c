/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an item of a walk needs next. What the caches have and would give out
 * is not asked for again, so that a walk that was cut off goes on where it was.
 */
#include <string.h>

#include "config/config.h"
#include "warm/warm_private.h"

enum {
	CALL_BYTES = 128,       /* a small reply, headers apart */
	NAME_BYTES = 260,       /* … of LOOKUP */
	PAGE_MAX = 32768,       /* of a listing */
	PIECES = 256,           /* that are looked up in one step */
	PENDING_MAX = 16 << 20, /* bytes that the cache's disk has to write */
	PENDING_US = 10000,
	FULL_PERCENT = 90, /* of the data cache's size, for one tree */
};

/* One step. */
struct todo {
	struct warm_walk *w;
	struct item *it;
	struct caches *c;
	const struct config_policy *policy;
	struct node *node;
	uint64_t now_us;
	uint64_t *wait_us;
};

static bool room(const struct todo *t, uint64_t bytes)
{
	struct warm *wm = t->w->warm;

	return budget_may(wm->p.budget, bytes, t->now_us, t->wait_us) ||
	       warm_probe(wm, bytes, t->now_us);
}

/* BLOCKED, DONE where the call went out, or AGAIN without memory. */
static enum warm_step ask(const struct todo *t, uint32_t proc,
    const union nfs_args *args, uint64_t bytes)
{
	if (!room(t, bytes))
		return WARM_STEP_BLOCKED;
	if (warm_flight_start(t->w, t->it,
		nfs_proc_find(NFS_PROGRAM, NFS_V3, proc), args, bytes,
		t->now_us))
		return WARM_STEP_DONE;
	*t->wait_us = PENDING_US;
	return WARM_STEP_BLOCKED;
}

static struct contract contract_now(const struct todo *t)
{
	struct contract k;

	contract_init(&k, t->policy, false, t->now_us, t->now_us);
	return k;
}

/* ---- rights ----------------------------------------------------------- */

/* Whether a right that is asked for now will still count when it is used. */
static bool rights_last(const struct todo *t)
{
	return t->policy->consistency == CONFIG_CONSISTENCY_FROZEN ||
	       t->c->config->offline == CONFIG_OFFLINE_SERVE;
}

static bool granted(const struct todo *t)
{
	const struct grant *g =
	    accesscache_find(t->c->access, t->node, t->w->cred_id);

	return g && g->known == ACCESS_ALL && g->access_us != 0 &&
	       g->access_us + t->policy->grant_timeout_us / 2 > t->now_us;
}

/* A call beside those that the item itself needs. */
static enum warm_step rights(const struct todo *t)
{
	union nfs_args args = {
	    .access = {.object = item_fh(t->it), .access = ACCESS_ALL}};
	enum warm_step step;

	if (t->it->rights || !rights_last(t) || granted(t))
		return WARM_STEP_DONE;
	t->it->rights = true;
	step = ask(t, NFSPROC3_ACCESS, &args, CALL_BYTES);
	t->it->rights = step == WARM_STEP_DONE;
	return step;
}

/* ---- directories ------------------------------------------------------ */

static struct node *entry_node(const struct todo *t, const struct list_entry *e)
{
	struct dentry *d = namecache_find(t->c->names, t->node, &e->name);

	return d ? dentry_child(t->c->names, d) : NULL;
}

/* Whether the cached listing would go out as it is, attributes too. */
static bool listing_good(const struct todo *t, struct listing *l)
{
	struct contract k = contract_now(t);
	struct binding b = listing_binding(l);
	struct list_entry e;
	struct node *child;
	size_t pos = 0;

	if (!listing_complete(l) ||
	    !contract_fresh(&k, attrcache_sent(t->c->attr, t->node)) ||
	    !contract_bound(&k, t->c->attr, t->node, &b))
		return false;
	while (listing_next(l, &pos, &e)) {
		if (warm_skips(&e.name))
			continue;
		child = entry_node(t, &e);
		if (!child || !(child->flags & NODE_ATTRS) ||
		    !contract_fresh(&k, attrcache_sent(t->c->attr, child)))
			return false;
	}
	return true;
}

static bool enter_listing(const struct todo *t)
{
	struct listing *l =
	    listcache_find(t->c->lists, t->node, t->w->cred_id, true);
	struct list_entry e;
	size_t pos = 0;
	nfs3_fh fh;

	if (!l || !listing_good(t, l))
		return false;
	while (listing_next(l, &pos, &e)) {
		struct node *child;

		if (warm_skips(&e.name))
			continue;
		child = entry_node(t, &e);
		fh = node_fh(child);
		warm_push_object(
		    t->w, &fh, attrcache_type(t->c->attr, child), false);
	}
	return true;
}

static enum warm_step step_dir(const struct todo *t)
{
	struct item *it = t->it;
	union nfs_args args = {
	    .readdirplus = {.dir = item_fh(it), .cookie = it->dir.cookie}};
	uint64_t page = linkest_unit_bytes(t->w->warm->p.link);
	enum warm_step step;

	if (page > PAGE_MAX)
		page = PAGE_MAX;
	if (t->node && it->dir.cookie == 0) {
		step = rights(t);
		if (step != WARM_STEP_DONE)
			return step;
		if (enter_listing(t)) {
			t->w->p.directories++;
			return WARM_STEP_DONE;
		}
	}
	memcpy(args.readdirplus.cookieverf, it->dir.verf, NFS3_COOKIEVERFSIZE);
	args.readdirplus.dircount = (uint32_t)page;
	args.readdirplus.maxcount = (uint32_t)page;
	return ask(t, NFSPROC3_READDIRPLUS, &args, page);
}

/* ---- files ------------------------------------------------------------ */

static uint64_t have(const struct todo *t, uint64_t offset, uint32_t len)
{
	struct data_version version = caches_data_version(t->c, t->node);
	struct contract k = contract_now(t);
	struct datacache_read rd = {.key = caches_data_key(t->node),
	    .version = &version,
	    .offset = offset,
	    .len = len,
	    .valid_us = contract_data_valid(&k)};

	return datacache_have(t->c->data, &rd);
}

static bool disk_is_busy(const struct todo *t)
{
	struct datacache_stats st;

	datacache_get_stats(t->c->data, &st);
	return st.pending_bytes > PENDING_MAX;
}

static enum warm_step read_piece(
    const struct todo *t, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = item_fh(t->it), .offset = offset, .count = len}};

	if (disk_is_busy(t)) {
		*t->wait_us = PENDING_US;
		return WARM_STEP_BLOCKED;
	}
	return ask(t, NFSPROC3_READ, &args, len + CALL_BYTES);
}

/* The pieces in turn; the item keeps where it stands. */
static enum warm_step data(const struct todo *t)
{
	struct item *it = t->it;
	uint64_t unit = linkest_unit_bytes(t->w->warm->p.link), len;
	enum warm_step step;

	for (int i = 0; i < PIECES; i++) {
		if (it->file.offset >= it->file.end)
			return WARM_STEP_DONE;
		len = it->file.end - it->file.offset;
		if (len > unit)
			len = unit;
		if (have(t, it->file.offset, (uint32_t)len) < len) {
			step = read_piece(t, it->file.offset, (uint32_t)len);
			if (step != WARM_STEP_DONE)
				return step;
			it->file.offset += len;
			return WARM_STEP_AGAIN;
		}
		it->file.offset += len;
	}
	return WARM_STEP_AGAIN;
}

/* Data beyond what the cache can hold would push out what came first. */
static bool count_file(const struct todo *t)
{
	struct warm_walk *w = t->w;

	if (!t->it->file.counted) {
		t->it->file.counted = true;
		t->it->file.end = t->node->size;
		w->p.files++;
		w->p.file_bytes += t->node->size;
	}
	if (w->data &&
	    w->p.file_bytes > w->warm->p.disk_bytes / 100 * FULL_PERCENT)
		w->p.full = true;
	/* What has its pin has its room. */
	return w->data && (!w->p.full || w->pin >= 0);
}

/* Data that is read at once after a version was first seen is not bound to it
 * for good (attrcache_firm()), and would be read again. A tick is waited for,
 * a second not. */
static bool young(const struct todo *t)
{
	uint64_t age_us = TIME48(t->now_us) - t->node->seen_us;

	if (age_us >= GRAIN_US ||
	    attrcache_firm(t->c->attr, t->node, t->now_us))
		return false;
	*t->wait_us = GRAIN_US - age_us + 1;
	return true;
}

/* Whether the user was granted to read it, as far as was answered. */
static bool may_read(const struct todo *t, const struct grant *g)
{
	struct contract k = contract_now(t);

	if (!g || !(g->known & ACCESS3_READ) || !(g->given & ACCESS3_READ))
		return false;
	/* It was asked for this file, however long the answer took. */
	return t->it->proof || contract_granted(&k, g->access_us);
}

/* False where the file is done with; or `*again`. */
static bool pin_file(const struct todo *t, bool *again)
{
	struct warm_walk *w = t->w;
	struct item *it = t->it;
	struct data_key key = caches_data_key(t->node);
	const struct grant *g =
	    accesscache_find(t->c->access, t->node, w->cred_id);

	if (w->pin < 0 || it->file.pinned || !t->c->data)
		return true;
	if (!datacache_is_pinned(t->c->data, &key, (unsigned)w->pin) &&
	    !may_read(t, g)) {
		*again = !it->proof;
		if (*again)
			it->kind = ITEM_OBJECT;
		else if (g && (g->known & ACCESS3_READ))
			w->p.refused++;
		else
			w->p.failed++;
		it->proof = true;
		return *again;
	}
	it->file.pinned =
	    datacache_pin(t->c->data, &key, t->node->size, (unsigned)w->pin);
	if (!it->file.pinned)
		w->p.full = true;
	return it->file.pinned;
}

static enum warm_step step_file(const struct todo *t)
{
	bool wanted = count_file(t), again = false;
	enum warm_step step;

	if (!pin_file(t, &again))
		return WARM_STEP_DONE;
	if (again)
		return WARM_STEP_AGAIN;
	step = rights(t);
	if (step != WARM_STEP_DONE)
		return step;
	if (!wanted || !t->c->data)
		return WARM_STEP_DONE;
	return young(t) ? WARM_STEP_BLOCKED : data(t);
}

/* ---- the rest --------------------------------------------------------- */

static enum warm_step step_link(const struct todo *t)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READLINK);
	const struct answer *a =
	    answercache_find(t->c->answers, t->node, proc, 0);
	union nfs_args args = {.object = item_fh(t->it)};
	struct contract k = contract_now(t);
	enum warm_step step = WARM_STEP_DONE;

	if (!a || !contract_bound(&k, t->c->attr, t->node, &a->bound))
		step = ask(t, NFSPROC3_READLINK, &args, NAME_BYTES);
	if (step == WARM_STEP_DONE)
		t->w->p.others++;
	return step;
}

static enum warm_step step_object(const struct todo *t)
{
	union nfs_args args = {
	    .access = {.object = item_fh(t->it), .access = ACCESS_ALL}};

	return ask(t, NFSPROC3_ACCESS, &args, CALL_BYTES);
}

static enum warm_step step_name(const struct todo *t)
{
	union nfs_args args = {.dirop = {.dir = item_fh(t->it)}};

	args.dirop.name.data = t->it->name;
	args.dirop.name.len = (uint32_t)strcspn(t->it->name, "/");
	return ask(t, NFSPROC3_LOOKUP, &args, NAME_BYTES);
}

/* What somebody mounted is known; else the server is asked. */
static bool known_mount(const struct todo *t)
{
	nfs3_fh root;

	if (!caches_mounted(t->c, t->w->export, &root))
		return false;
	t->it->fh_len = (uint8_t)root.len;
	memcpy(t->it->fh, root.data, root.len);
	t->it->kind = *t->it->name ? ITEM_NAME : ITEM_OBJECT;
	return true;
}

static enum warm_step step_mount(const struct todo *t)
{
	union nfs_args args = {
	    .mnt = {.dirpath = {.len = (uint32_t)strlen(t->w->export),
			.data = t->w->export}}};

	if (known_mount(t))
		return WARM_STEP_AGAIN;
	if (!room(t, NAME_BYTES) ||
	    !warm_flight_start(t->w, t->it,
		nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT), &args,
		NAME_BYTES, t->now_us))
		return WARM_STEP_BLOCKED;
	return WARM_STEP_DONE;
}

/* Given up for memory meanwhile, or never known: asked for once more. */
static enum warm_step look_again(struct item *it)
{
	it->kind = ITEM_OBJECT;
	return WARM_STEP_AGAIN;
}

enum warm_step warm_step(
    struct warm_walk *w, struct item *it, uint64_t now_us, uint64_t *wait_us)
{
	nfs3_fh fh = item_fh(it);
	struct todo t = {.w = w,
	    .it = it,
	    .c = w->warm->p.caches,
	    .now_us = now_us,
	    .wait_us = wait_us};
	bool known;

	if (it->kind == ITEM_MOUNT)
		return step_mount(&t);
	t.node = attrcache_find(t.c->attr, &fh);
	t.policy = caches_policy(t.c, t.node);
	known = t.node && (t.node->flags & NODE_ATTRS);
	switch (it->kind) {
	case ITEM_NAME:
		return step_name(&t);
	case ITEM_OBJECT:
		return step_object(&t);
	case ITEM_DIR:
		return known || it->dir.cookie ? step_dir(&t) : look_again(it);
	case ITEM_FILE:
		return known ? step_file(&t) : look_again(it);
	default:
		return known ? step_link(&t) : look_again(it);
	}
}
