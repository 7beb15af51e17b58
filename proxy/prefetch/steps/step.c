/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which call a want needs next. It looks into the caches, and sends
 * nothing.
 *
 * What will still be fresh when it is used is not asked for, nor is what is
 * under way already, whoever asked.
 */
#include "base/namemap.h"
#include "base/uint.h"
#include "config/config.h"
#include "link/linkest.h"
#include "prefetch/calls/refused.h"
#include "prefetch/ground/observe.h"
#include "prefetch/ground/worth.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* Fewer names of a directory are asked for one by one. */
	GROUP_MIN = 3,
	/* Rights that last are asked for all the same, one in so many: so they
	 * do not all grow too old at once, and one that was taken away without
	 * a sign is found. */
	RIGHTS_CHECKED = 32,
	/* A client that makes things, and writes them, goes on within this
	 * time, or so many round trips. */
	MADE_US = 1000000,
	MADE_TRIPS = 4,
	/* Needs for which a user must have rights. */
	RIGHTS = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA,
};

bool turn_under_way(struct turn *t, struct node *node, uint32_t proc)
{
	struct fetch_about a = {
	    .object = node_key(node), .proc = proc, .cred = t->cred};

	if (!fetch_under_way(t->g->fetch, &a))
		return false;
	(void)want_watch(t->w, &a);
	return true;
}

/* ---- attributes and rights, in one ACCESS ------------------------------ */

const struct known *turn_known(struct turn *t, struct node *node)
{
	struct asker who = asker_now(t->c, t->cred, t->now_us);

	if (node == t->k.node)
		return &t->k;
	if (node != t->other.node)
		known_node(&t->other, &who, node);
	return &t->other;
}

bool turn_confirmed(struct turn *t, struct node *node, bool rights)
{
	const struct known *k = turn_known(t, node);

	/* In strict mode, and whatever the mode is where two machines write it,
	 * a client's call confirms it anyway: it need only be known. */
	if (k->contract.mode == CONFIG_CONSISTENCY_STRICT && k->sent_us)
		return true;
	/* Where the use is far off, it need only be known, too: a confirmation
	 * would be too old by then, and a READ shows the version. */
	if (t->wish->far_off && (node->flags & NODE_ATTRS))
		return true;
	return known_lasts(k, linkest_srtt_us(t->g->link), rights);
}

void turn_confirm(struct turn *t, struct node *node)
{
	if (turn_under_way(t, node, NFSPROC3_ACCESS))
		return;
	t->call = (struct turn_call){.node = node,
	    .proc = NFSPROC3_ACCESS,
	    .awaited = true,
	    .bytes = CONFIRM_BYTES,
	    .args.access = {.object = node_fh(node), .access = ACCESS_ALL}};
}

static void need_rights(struct turn *t, struct node *node)
{
	if (!turn_confirmed(t, node, true))
		turn_confirm(t, node);
}

bool turn_worth(const struct turn *t, uint32_t proc, uint64_t bytes)
{
	const struct wish *w = t->wish;

	if (proc == NFSPROC3_READDIRPLUS && t->listed == t->node &&
	    w->calls_spared > 0)
		return worth_listing(t->g, (double)w->calls_spared, bytes);
	return worth_call(t->g, wish_is_guess(w),
	    (double)(proc == NFSPROC3_READ ? w->data_p : w->p), bytes);
}

/* ---- the directory, and names in it ------------------------------------ */

static bool step_dir(struct turn *t)
{
	uint8_t needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ABSENCE;

	if (!t->dir || !(t->wish->needs & needs))
		return true;
	need_rights(t, t->dir);
	if (observe_listing_is_loose(turn_known(t, t->dir)))
		t->listed = t->dir;
	return true;
}

/* Asks for the name; only once, since then it is known, or cannot be. */
static bool look_up(struct turn *t, const nfs3_name *name)
{
	struct turn_call call = {.node = t->dir,
	    .proc = NFSPROC3_LOOKUP,
	    .awaited = true,
	    .bytes = LOOKUP_BYTES,
	    .args.dirop = {.dir = node_fh(t->dir), .name = *name}};
	struct fetch_about about = fetch_about_call(
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP), &call.args,
	    t->cred);

	if (t->at->listing == LISTING_ASKED)
		return false;
	if (fetch_under_way(t->g->fetch, &about))
		(void)want_watch(t->w, &about);
	else
		t->call = call;
	return true;
}

/* A name is foretold to be absent, but is not known to be, as after a change of
 * its directory, or where another machine learned it. A name that a peer gave
 * counts only if it is the one that is meant. */
static bool step_absence(struct turn *t)
{
	nfs3_fh dir = node_fh(t->dir);
	nfs3_name name;
	struct named to;
	struct binding b;
	size_t len;

	name.data = namemap_get(t->g->absents, t->wish->object, &len);
	name.len = name.data ? (uint32_t)len : 0;
	if (!name.data || observe_absent(&dir, &name) != t->wish->object)
		return false;
	to = known_name(t->c, t->dir, &name);
	if (known_absence(&t->k, &name, &to, &b) && known_holds(&t->k, &b))
		return false;
	return look_up(t, &name);
}

/* Its handle is not known: the listing of its directory may bring it. */
static bool step_unknown(struct turn *t)
{
	nfs3_name name = {.data = t->wish->name, .len = t->wish->name_len};

	if (name.data)
		return look_up(t, &name);
	if (t->wish->needs & PREDICTOR_NEEDS_ABSENCE)
		return t->dir && step_absence(t);
	if (t->at->listing == LISTING_ASKED)
		return false;
	t->at->listing = LISTING_ASKED;
	t->listed = t->dir;
	return t->dir != NULL;
}

/* Whether attributes are all that has to be asked for: no rights are wanted, or
 * those that the server gave still last. */
static bool rights_do(struct turn *t)
{
	if (!(t->wish->needs & RIGHTS))
		return true;
	return known_rights_last(turn_known(t, t->node)) &&
	       ++t->s->rights_kept % RIGHTS_CHECKED != 0;
}

/* Whether the directory's listing would confirm the objects in it: the server
 * gives one, and has not listed old attributes on that file system. */
static bool listing_confirms(struct turn *t)
{
	const struct fsys *fs = attrcache_fsys(t->c->attr, t->dir);
	struct refused_call call = {
	    .node = t->dir, .proc = NFSPROC3_READDIRPLUS, .cred = t->cred};

	return !(fs && fs->lists_old) &&
	       !refused_lately(t->s->refused, t->c, &call, t->now_us);
}

/* The attributes of a name are wanted, and no rights. True where those of other
 * names there are wanted, too, so that a listing, which brings them all, is
 * cheaper. Calls for what was used before go out side by side, so bytes count;
 * `waits`: one would be waited for after the other. */
static bool are_grouped(struct turn *t, bool waits)
{
	uint64_t bytes = turn_listing_bytes(t, t->dir);
	unsigned wants = dirs_wanted(
	    sources_dirs(t->s->sources), node_key(t->dir), t->now_us);

	if (wants < GROUP_MIN || turn_is_made(t, t->dir) ||
	    !listing_confirms(t))
		return false;
	return waits ? worth_listing(t->g, wants, bytes)
		     : worth_confirming_listed(t->g, wants, bytes);
}

/* Counts the want among those of its directory, once. A session says of many
 * names at once that they are wanted. */
static void count_name(struct turn *t)
{
	if (!t->at->counted && !wish_is_of_session(t->wish))
		dirs_want(
		    sources_dirs(t->s->sources), node_key(t->dir), t->now_us);
	t->at->counted = true;
}

/* The object is to be confirmed; `rights_kept`: but for its rights. What a
 * listing did not confirm is asked for by itself. */
static void step_confirm(struct turn *t, bool rights_kept)
{
	bool listed = t->at->listing == LISTING_ASKED;

	if (!t->dir || !rights_kept) {
		turn_confirm(t, t->node);
		return;
	}
	count_name(t);
	if (turn_under_way(t, t->dir, NFSPROC3_READDIRPLUS)) {
		t->listing_waits = true;
		t->at->listing = LISTING_ASKED;
	} else if (!listed && are_grouped(t, !(t->wish->needs & RIGHTS))) {
		t->listed = t->dir;
		t->at->listing = LISTING_ASKED;
	} else {
		turn_confirm(t, t->node);
	}
}

/* ---- the object itself ------------------------------------------------- */

/* Whether the file is being read: then its client has its attributes and
 * rights, and the READs ahead bring the attributes anew. */
static bool is_read(const struct turn *t)
{
	uint8_t open = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		       PREDICTOR_NEEDS_ACCESS;

	return t->wish->count > 0 && !(t->wish->needs & open) &&
	       (t->node->flags & NODE_ATTRS);
}

/* Whether the listing of the object itself is missing, and is to be asked for.
 */
static bool needs_listing(struct turn *t)
{
	if (!(t->wish->needs & PREDICTOR_NEEDS_LISTING) ||
	    t->at->listing == LISTING_ASKED)
		return false;
	return t->at->paging || t->at->listing == LISTING_ANEW ||
	       !turn_listing_good(t, t->node);
}

static bool step_node(struct turn *t)
{
	t->listed = NULL;
	if (!t->node)
		return step_unknown(t);
	t->fresh =
	    is_read(t) || turn_confirmed(t, t->node, t->wish->needs & RIGHTS);
	if (needs_listing(t)) {
		t->listed = t->node;
		/* Whoever enters it asks for its rights first. */
		if (t->wish->needs & PREDICTOR_NEEDS_ACCESS)
			need_rights(t, t->node);
	} else if (!t->fresh) {
		step_confirm(t, rights_do(t));
	}
	return true;
}

/* The listing of the object, or its name, is asked for. */
static bool step_listed(struct turn *t)
{
	if (t->listed && t->listed != t->node && t->node) {
		/* It stood for a confirmation; no call may have come of it. */
		if (!turn_under_way(t, t->dir, NFSPROC3_READDIRPLUS))
			turn_confirm(t, t->node);
		return true;
	}
	if (t->listed != t->node)
		return !t->listed;
	t->at->listing = LISTING_ASKED;
	/* Its attributes come with it, its rights do not. */
	if (t->node)
		need_rights(t, t->node);
	return t->node != NULL;
}

/* ---- the stages -------------------------------------------------------- */

/* A stage asks for what is missing, unless nothing is; then comes the next. */
static bool (*const stages[])(struct turn *t) = {
    step_dir,    /* its directory confirmed, so that its name holds */
    turn_list,   /* and listed, if its listing does not hold any more */
    step_node,   /* itself confirmed, or looked up */
    turn_list,   /* its listing, of a directory: a page */
    turn_pages,  /* or all, where they are known from the last time */
    step_listed, /* its rights, which a listing does not bring */
    turn_data,   /* data, if that is missing or of another version: */
    turn_read,   /* piece after piece */
};

enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

bool step_want(struct turn *t)
{
	t->call.node = NULL;
	while (!t->call.node && t->stage < STAGES)
		if (!stages[t->stage++](t))
			t->stage = STAGES;
	return t->call.node != NULL;
}

bool turn_is_made(struct turn *t, struct node *node)
{
	const struct node_ext *x = attrcache_ext(t->c->attr, node);
	uint64_t trips_us = MADE_TRIPS * linkest_srtt_us(t->g->link);

	return x && !wish_is_asked(t->wish) &&
	       x->changed_us + max_u64(MADE_US, trips_us) > t->now_us;
}

/* NULL where nothing is known of the object, or it is none of that type. */
static struct node *directory(struct caches *c, uint64_t key)
{
	struct node *n = key ? attrcache_by_key(c->attr, key) : NULL;

	if (n && (n->flags & NODE_ATTRS) &&
	    attrcache_type(c->attr, n) != NF3DIR)
		return NULL;
	return n;
}

bool step_begin(struct turn *t)
{
	const struct wish *w = t->wish;
	struct asker who = asker_now(t->c, t->cred, t->now_us);
	bool by_dir;

	t->node = w->name ? NULL : attrcache_by_key(t->c->attr, w->object);
	t->dir = directory(t->c, w->parent);
	if (!t->node && !t->dir)
		return false;
	if (t->node && w->count == 0 && turn_is_made(t, t->node))
		return false;
	/* Of which file system an object is, is known by its attributes. Where
	 * only its handle is known (farm/trees_objects.h), it is that of its
	 * directory. */
	by_dir = !t->node || (t->dir && !(t->node->flags & NODE_ATTRS));
	known_node(&t->k, &who, by_dir ? t->dir : t->node);
	if (t->k.policy->prefetch == CONFIG_PREFETCH_OFF)
		return false;
	/* A confirmation would not last until it is used: data only. */
	if (t->k.policy->consistency == CONFIG_CONSISTENCY_STRICT || w->far_off)
		want_narrow(
		    t->w, PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS);
	return true;
}
