/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes the next step of an item of a walk. The server is not asked for
 * anything that the caches would give out, so that a walk that was cut off
 * continues where it was.
 */
#include <limits.h>
#include <string.h>

#include "cache/known.h"
#include "config/config.h"
#include "config/places.h"
#include "link/budget.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/worth.h"
#include "prefetch/prefetch.h"
#include "warm/warm_private.h"

enum {
	LINK_BYTES = 260,       /* of READLINK's reply, headers apart */
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
	struct known k; /* of the item's object */
	uint64_t now_us;
	uint64_t *wait_us;
};

/* Sends the item's call, as far as calls ahead are not held back and the link
 * has room: STEP_DONE where it went out. */
static enum step send_call(const struct todo *t, const struct nfs_proc *proc,
    const union nfs_args *args, uint64_t bytes)
{
	struct warm *wm = t->w->warm;
	struct budget *b = prefetch_budget(wm->p.prefetch);

	if (!hold_lets(
		prefetch_hold(wm->p.prefetch), t->w->asked, bytes, t->now_us))
		return STEP_BLOCKED;
	if (!budget_may(b, bytes, t->now_us, t->wait_us) &&
	    !warm_probe(wm, bytes, t->now_us))
		return STEP_BLOCKED;
	if (warm_flight_start(t->w, t->it, proc, args, bytes, t->now_us))
		return STEP_DONE;
	*t->wait_us = PENDING_US;
	return STEP_BLOCKED;
}

static enum step send_nfs(const struct todo *t, uint32_t proc,
    const union nfs_args *args, uint64_t bytes)
{
	return send_call(
	    t, nfs_proc_find(NFS_PROGRAM, NFS_V3, proc), args, bytes);
}

/* Attributes and rights at once. */
static enum step confirm(const struct todo *t)
{
	union nfs_args args = {
	    .access = {.object = item_fh(t->it), .access = ACCESS_ALL}};

	return send_nfs(t, NFSPROC3_ACCESS, &args, CONFIRM_BYTES);
}

/* ---- rights ----------------------------------------------------------- */

/* Whether a right that is asked for now will still count when it is used. */
static bool rights_last(const struct todo *t)
{
	return t->k.policy->consistency == CONFIG_CONSISTENCY_FROZEN ||
	       t->c->config->offline == CONFIG_OFFLINE_SERVE;
}

/* Whether the user's rights are known for at least half of the time that they
 * last. */
static bool granted(const struct todo *t)
{
	const struct grant *g = t->k.grant;

	return g && g->known == ACCESS_ALL && g->access_us != 0 &&
	       g->access_us + t->k.policy->grant_timeout_us / 2 > t->now_us;
}

/* Asks for the user's rights, where these will be of use later: a call beside
 * those that the item itself needs. */
static enum step rights(const struct todo *t)
{
	enum step step;

	if (t->it->rights || !rights_last(t) || granted(t))
		return STEP_DONE;
	t->it->rights = true;
	step = confirm(t);
	t->it->rights = step == STEP_DONE;
	return step;
}

/* ---- directories ------------------------------------------------------ */

/* The cached listing, if it would go out as it is, attributes too. */
static struct listing *good_listing(const struct todo *t)
{
	struct listing *l =
	    listcache_find(t->c->lists, t->k.node, t->k.cred, true);
	uint64_t oldest_us = contract_data_valid(&t->k.contract);
	struct list_entry e;
	struct binding b;
	size_t pos = 0;

	if (!l || !listing_complete(l) || !known_fresh(&t->k))
		return NULL;
	b = listing_binding(l);
	if (!known_holds(&t->k, &b))
		return NULL;
	while (listing_next(l, &pos, &e))
		if (!warm_skips(&e.name) &&
		    !known_entry_since(
			t->c, t->k.node, &e, oldest_us > 0 ? oldest_us : 1))
			return NULL;
	return l;
}

/* Puts the entries of a cached listing on the stack. All of them have a node:
 * good_listing() has seen it. */
static void enter_listing(const struct todo *t, struct listing *l)
{
	struct list_entry e;
	size_t pos = 0;

	while (listing_next(l, &pos, &e)) {
		struct node *child;
		nfs3_fh fh;

		if (warm_skips(&e.name))
			continue;
		child = known_name(t->c, t->k.node, &e.name).child;
		fh = node_fh(child);
		warm_push_object(
		    t->w, &fh, attrcache_type(t->c->attr, child), false);
	}
}

/* A directory: its cached listing, or the next page of the server's. */
static enum step step_dir(const struct todo *t)
{
	struct item *it = t->it;
	union nfs_args args = {
	    .readdirplus = {.dir = item_fh(it), .cookie = it->dir.cookie}};
	uint64_t page = linkest_unit_bytes(t->w->warm->p.link);
	struct listing *l;
	enum step step;

	if (page > PAGE_MAX)
		page = PAGE_MAX;
	if (t->k.node && it->dir.cookie == 0) {
		step = rights(t);
		if (step != STEP_DONE)
			return step;
		l = good_listing(t);
		if (l) {
			t->w->p.directories++;
			enter_listing(t, l);
			return STEP_DONE;
		}
	}
	memcpy(args.readdirplus.cookieverf, it->dir.verf, NFS3_COOKIEVERFSIZE);
	args.readdirplus.dircount = (uint32_t)page;
	args.readdirplus.maxcount = (uint32_t)page;
	return send_nfs(t, NFSPROC3_READDIRPLUS, &args, page);
}

/* ---- files ------------------------------------------------------------ */

/* Whether all of a piece is cached. */
static bool have(const struct todo *t, uint64_t offset, uint32_t len)
{
	struct data_version version;
	struct datacache_read rd = known_data(&t->k, &version, offset, len);

	return datacache_have(t->c->data, &rd) >= len;
}

/* A link may be faster than the disk; what waits to be written is in memory. */
static bool disk_is_busy(const struct todo *t)
{
	struct datacache_stats st;

	datacache_get_stats(t->c->data, &st);
	return st.pending_bytes > PENDING_MAX;
}

/* Asks for a piece. */
static enum step read_piece(const struct todo *t, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = item_fh(t->it), .offset = offset, .count = len}};

	if (disk_is_busy(t)) {
		*t->wait_us = PENDING_US;
		return STEP_BLOCKED;
	}
	return send_nfs(t, NFSPROC3_READ, &args, len + CONFIRM_BYTES);
}

/* The pieces in turn; the item keeps where it stands. */
static enum step data(const struct todo *t)
{
	struct item *it = t->it;
	uint64_t unit = linkest_unit_bytes(t->w->warm->p.link), len;

	for (int i = 0; i < PIECES; i++) {
		enum step step = STEP_DONE;
		bool asked;

		if (it->file.offset >= it->file.end)
			return STEP_DONE;
		len = it->file.end - it->file.offset;
		if (len > unit)
			len = unit;
		asked = !have(t, it->file.offset, (uint32_t)len);
		if (asked)
			step = read_piece(t, it->file.offset, (uint32_t)len);
		if (step != STEP_DONE)
			return step;
		it->file.offset += len;
		if (asked)
			break;
	}
	return STEP_MORE;
}

/* Counts the file once, and says whether its data is wanted. Data beyond what
 * the cache can hold would push out what came first. */
static bool count_file(const struct todo *t)
{
	struct warm_walk *w = t->w;

	if (!t->it->file.counted) {
		t->it->file.counted = true;
		t->it->file.end = t->k.node->size;
		w->p.files++;
		w->p.file_bytes += t->k.node->size;
	}
	if (w->data &&
	    w->p.file_bytes > w->warm->p.disk_bytes / 100 * FULL_PERCENT)
		w->p.full = true;
	/* A file that has its pin has its room. */
	return w->data && (!w->p.full || w->pin >= 0);
}

/* Whether the user was granted to read it, as far as was answered. */
static bool may_read(const struct todo *t)
{
	const struct grant *g = t->k.grant;

	/* It was asked for this file, however long the answer took. */
	return known_granted(&t->k, ACCESS3_READ) ||
	       (t->it->proof && grant_read(g));
}

/* False where the walk is done with the file. `*again`: the rights to it are to
 * be asked for first. */
static bool pin_file(const struct todo *t, bool *again)
{
	struct warm_walk *w = t->w;
	struct item *it = t->it;
	struct data_key key = caches_data_key(t->k.node);

	if (w->pin < 0 || it->file.pinned || !t->c->data)
		return true;
	if (!datacache_is_pinned(t->c->data, &key, (unsigned)w->pin) &&
	    !may_read(t)) {
		*again = !it->proof;
		if (*again)
			it->kind = ITEM_OBJECT;
		else if (t->k.grant && (t->k.grant->known & ACCESS3_READ))
			w->p.refused++;
		else
			w->p.failed++;
		it->proof = true;
		return *again;
	}
	it->file.pinned = datacache_pin(t->c->data, &key, t->k.node->size,
	    (unsigned)w->pin, places_owner(w->uid));
	if (!it->file.pinned)
		w->p.full = true;
	return it->file.pinned;
}

/* A file: its pin, the user's rights to it, and its data. */
static enum step step_file(const struct todo *t)
{
	bool wanted = count_file(t), again = false;
	enum step step;

	if (!pin_file(t, &again))
		return STEP_DONE;
	if (again)
		return STEP_MORE;
	step = rights(t);
	if (step != STEP_DONE || !wanted || !t->c->data)
		return step;
	return worth_waiting(t->c, t->k.node, t->now_us) ? STEP_LATER : data(t);
}

/* ---- the rest --------------------------------------------------------- */

/* A symbolic link: its target, unless it is cached. */
static enum step step_link(const struct todo *t)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READLINK);
	const struct answer *a =
	    answercache_find(t->c->answers, t->k.node, proc, 0);
	union nfs_args args = {.object = item_fh(t->it)};
	enum step step = STEP_DONE;

	if (!a || !known_holds(&t->k, &a->bound))
		step = send_call(t, proc, &args, LINK_BYTES);
	if (step == STEP_DONE)
		t->w->p.others++;
	return step;
}

/* Looks up the first part of a path. */
static enum step step_name(const struct todo *t)
{
	union nfs_args args = {.dirop = {.dir = item_fh(t->it)}};

	args.dirop.name.data = t->it->name;
	args.dirop.name.len = (uint32_t)strcspn(t->it->name, "/");
	return send_nfs(t, NFSPROC3_LOOKUP, &args, LOOKUP_BYTES);
}

/* Takes the root of an export from the caches if somebody mounted it; else asks
 * the server. */
static enum step step_mount(const struct todo *t)
{
	union nfs_args args = {
	    .mnt = {.dirpath = {.len = (uint32_t)strlen(t->w->export),
			.data = t->w->export}}};
	struct item *it = t->it;
	nfs3_fh root;

	if (!caches_mounted(t->c, t->w->export, &root))
		return send_call(t,
		    nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT),
		    &args, LOOKUP_BYTES);
	it->fh_len = (uint8_t)root.len;
	memcpy(it->fh, root.data, root.len);
	it->kind = *it->name ? ITEM_NAME : ITEM_OBJECT;
	return STEP_MORE;
}

/* Looks anew in each step at how the caches know the item's object, as that may
 * have changed since the last. */
enum step warm_step(
    struct warm_walk *w, struct item *it, uint64_t now_us, uint64_t *wait_us)
{
	nfs3_fh fh = item_fh(it);
	struct todo t = {.w = w,
	    .it = it,
	    .c = w->warm->p.caches,
	    .now_us = now_us,
	    .wait_us = wait_us};
	struct asker who = asker_now(t.c, credential_id(w->cred), now_us);
	bool attrs;

	if (it->kind == ITEM_MOUNT)
		return step_mount(&t);
	known_node(&t.k, &who, attrcache_find(t.c->attr, &fh));
	attrs = t.k.node && (t.k.node->flags & NODE_ATTRS);
	if (it->kind == ITEM_NAME)
		return step_name(&t);
	if (it->kind == ITEM_DIR && (attrs || it->dir.cookie))
		return step_dir(&t);
	if (it->kind == ITEM_FILE && attrs)
		return step_file(&t);
	if (it->kind == ITEM_LINK && attrs)
		return step_link(&t);
	/* Never known, or given up for memory meanwhile: ask what it is. */
	it->kind = ITEM_OBJECT;
	return confirm(&t);
}
