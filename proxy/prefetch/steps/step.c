/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a want needs next. In each turn it goes through these, and asks for the
 * first that is missing:
 *
 *	its directory confirmed, so that its name holds
 *	its listing, of a directory
 *	itself confirmed: attributes and rights in one ACCESS
 *	data, if that is missing or of another version
 *
 * What will still be fresh when it is used is not asked for, nor is what is
 * under way already, whoever asked.
 */
#include "base/metrics.h"
#include "base/namemap.h"
#include "config/config.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/observe.h"
#include "prefetch/ground/worth.h"
#include "prefetch/queue/queue.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* A want that could not go out for so long is given up. A pause for
	 * NFS3ERR_JUKEBOX (flight.c) that is as long, or longer, ends all that
	 * wait when it begins. */
	EXPIRED_US = 5000000,
	/* Turns of a want that count; more of them would be a loop. */
	TURNS_MAX = 12,
	/* Between two looks whether a pause is over, at what was asked for. */
	PAUSED_US = 1000000,
	/* Fewer names of a directory are asked for one by one. */
	GROUP_MIN = 3,
};

static bool step_dir(struct turn *t)
{
	uint8_t needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ABSENCE;

	if (!(t->wish->needs & needs) || !t->dir)
		return true;
	if (!turn_confirmed(t, t->dir, true) && !turn_confirm(t, t->dir))
		return false;
	return !observe_listing_is_loose(
		   t->c, t->dir, credential_id(t->wish->cred), t->now_us) ||
	       turn_list(t, t->dir);
}

/* Asks for the name; only once, since then it is known, or cannot be. */
static bool look_up(struct turn *t, const nfs3_name *name)
{
	union nfs_args args = {
	    .dirop = {.dir = node_fh(t->dir), .name = *name}};
	struct fetch_about about = fetch_about_call(
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP), &args,
	    credential_id(t->wish->cred));

	if (t->at->listing == LISTING_ASKED)
		return true;
	if (!fetch_under_way(t->g->fetch, &about) &&
	    !turn_send(t, t->dir, NFSPROC3_LOOKUP, &args, LOOKUP_BYTES))
		return false;
	t->at->listing = LISTING_ASKED;
	(void)want_watch(t->w, &about);
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
		return true;
	to = known_name(t->c, t->dir, &name);
	if (known_absence(&t->k, &name, &to, &b) && known_holds(&t->k, &b))
		return true;
	return look_up(t, &name);
}

/* Its handle is not known: the listing of its directory may bring it. */
static bool step_unknown(struct turn *t)
{
	nfs3_name name = {.data = t->wish->name, .len = t->wish->name_len};

	if (name.data)
		return look_up(t, &name);
	if (t->wish->needs & PREDICTOR_NEEDS_ABSENCE)
		return !t->dir || step_absence(t);
	if (t->at->listing == LISTING_ASKED)
		return true;
	t->at->listing = LISTING_ASKED;
	return !t->dir || turn_list(t, t->dir);
}

/* The attributes of a name are wanted, and no rights. True where those of other
 * names there were wanted just before: a listing brings them all. */
static bool are_grouped(struct turn *t)
{
	const struct node_ext *x = attrcache_ext(t->c->attr, t->dir);
	unsigned wants = dirs_wanted(
	    sources_dirs(t->s->sources), node_key(t->dir), t->now_us);

	return wants >= GROUP_MIN &&
	       worth_listing(t->g, wants, (x ? x->nchildren : 0) * ENTRY_BYTES);
}

/* No more than name and attributes of a file are wanted. */
static bool step_name(struct turn *t)
{
	if (t->dir && turn_under_way(t, t->dir, NFSPROC3_READDIRPLUS))
		return true;
	if (t->dir && are_grouped(t))
		return turn_list(t, t->dir);
	return turn_confirm(t, t->node);
}

/* Whether the file is being read: then its client has its attributes and
 * rights, and the READs ahead bring the attributes anew. */
static bool is_read(const struct turn *t)
{
	uint8_t open = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		       PREDICTOR_NEEDS_ACCESS;

	return t->wish->count > 0 && !(t->wish->needs & open) &&
	       (t->node->flags & NODE_ATTRS);
}

static bool step_rights(struct turn *t)
{
	return turn_confirmed(t, t->node, true) || turn_confirm(t, t->node);
}

/* Whether the listing of the object itself is missing, and is to be asked for.
 */
static bool needs_listing(const struct turn *t)
{
	if (!(t->wish->needs & PREDICTOR_NEEDS_LISTING) ||
	    t->at->listing == LISTING_ASKED)
		return false;
	return t->at->paging || t->at->listing == LISTING_ANEW ||
	       !turn_listing_good(t, t->node);
}

static bool step_listing(struct turn *t)
{
	/* Whoever enters it asks for its rights first. */
	if ((t->wish->needs & PREDICTOR_NEEDS_ACCESS) && !step_rights(t))
		return false;
	if (!turn_list(t, t->node))
		return false;
	t->at->listing = LISTING_ASKED;
	/* Its attributes come with it, its rights do not. */
	return step_rights(t);
}

static bool step_node(struct turn *t)
{
	uint8_t rights = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA;
	bool fresh =
	    is_read(t) || turn_confirmed(t, t->node, t->wish->needs & rights);

	if (needs_listing(t)) {
		if (!step_listing(t))
			return false;
	} else if (!fresh && !(t->wish->needs & rights)) {
		return step_name(t);
	} else if (!fresh && !turn_confirm(t, t->node)) {
		return false;
	}
	if (!turn_wants_data(t))
		return true;
	/* The cached data may be of an older version: the confirmation that is
	 * under way will say so. */
	if (!fresh && want_watched(t->w) > 0 && turn_has_first(t))
		return true;
	return turn_read(t);
}

/* ---- the end of a turn ------------------------------------------------- */

static void drop_for(
    struct turn *t, enum note_state why, enum metrics_counter counter)
{
	metrics_add(t->g->metrics, counter, 1);
	notes_set(t->s->notes, t->wish->object, why, t->now_us);
}

/* Why there is nothing more to ask for it. */
static void note_end(struct turn *t)
{
	const struct wish *w = t->wish;

	if (t->end == TURN_HELD)
		drop_for(t, NOTE_UNLIKELY, METRICS_PREFETCH_HELD);
	else if (!t->node && !w->name && !(w->needs & PREDICTOR_NEEDS_ABSENCE))
		drop_for(t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
	/* It was its first turn, and nothing was missing. */
	else if (t->sent == 0 && t->at->turns == 1)
		drop_for(t, NOTE_FRESH, METRICS_PREFETCH_FRESH);
}

/* It has its turn again when there is nothing else: no reply may come that
 * would make it cheaper. */
static enum step put_off(struct turn *t)
{
	bool again = want_is_put_off(t->w);

	if (!again)
		metrics_add(t->g->metrics, METRICS_PREFETCH_PUT_OFF, 1);
	want_put_off(t->w, true);
	*t->wait_us = DEAR_US;
	return again ? STEP_BLOCKED : STEP_MORE;
}

/* A turn that ended early counts only if it asked for what may have to be asked
 * for again. */
static bool counts(const struct turn *t)
{
	if (t->farmed || t->passes)
		return false;
	return t->confirms || (t->end != TURN_BLOCKED && t->end != TURN_DEAR);
}

static enum step step_end(struct turn *t)
{
	if (want_watched(t->w) > 0)
		turn_ends(t, TURN_WAITS);
	if (!counts(t))
		t->at->turns--;
	switch (t->end) {
	case TURN_TOO_EARLY:
		return STEP_LATER;
	case TURN_BLOCKED:
		return STEP_BLOCKED;
	case TURN_DEAR:
		return put_off(t);
	case TURN_GOES_ON:
		return STEP_MORE;
	case TURN_WAITS:
		return STEP_WAITS;
	default:
		note_end(t);
		return STEP_DONE;
	}
}

/* A want that somebody asked for waits while calls ahead are paused; any other
 * would be of no use by then. */
static enum step step_held(struct turn *t)
{
	if (!wish_is_asked(t->wish)) {
		drop_for(t, NOTE_UNLIKELY, METRICS_PREFETCH_HELD);
		return STEP_DONE;
	}
	t->at->turns--;
	*t->wait_us = PAUSED_US;
	return STEP_BLOCKED;
}

/* ---- a turn ------------------------------------------------------------ */

/* Of which file system an object is, is known by its attributes. Where only its
 * handle is known (farm/trees_objects.h), it is that of its directory. */
static struct node *policy_node(const struct turn *t)
{
	if (!t->node || (t->dir && !(t->node->flags & NODE_ATTRS)))
		return t->dir;
	return t->node;
}

/* NULL where nothing is known of the object, or it is none of that type. */
static struct node *directory(struct caches *c, uint64_t key)
{
	struct node *n = key ? attrcache_by_key(c->attr, key) : NULL;

	return n && (n->flags & NODE_ATTRS) &&
		       attrcache_type(c->attr, n) != NF3DIR
		   ? NULL
		   : n;
}

/* Looks its objects and their policy up; false where the turn ends with that.
 */
static bool look(struct turn *t)
{
	const struct wish *w = t->wish;
	struct asker who;

	t->node = w->name ? NULL : attrcache_by_key(t->c->attr, w->object);
	t->dir = directory(t->c, w->parent);
	if (!t->node && !t->dir) {
		drop_for(t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
		return false;
	}
	who = asker_now(t->c, credential_id(w->cred), t->now_us);
	known_node(&t->k, &who, policy_node(t));
	if (t->k.policy->prefetch == CONFIG_PREFETCH_OFF ||
	    (wish_is_of_session(w) && !sources_in_session(w->cred)))
		return false;
	/* A confirmation would not last until it is used: data only. */
	if (t->k.policy->consistency == CONFIG_CONSISTENCY_STRICT || w->far_off)
		want_narrow(
		    t->w, PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS);
	return true;
}

enum step step_want(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct turn t = {.s = s,
	    .g = s->g,
	    .w = w,
	    .wish = want_wish(w),
	    .at = want_progress(w),
	    .c = s->g->caches,
	    .now_us = now_us,
	    .wait_us = wait_us};
	bool old = now_us - t.wish->born_us > EXPIRED_US;

	if (!look(&t))
		return STEP_DONE;
	if (old || ++t.at->turns > TURNS_MAX) {
		drop_for(&t, NOTE_OLD, METRICS_PREFETCH_OLD);
		return old ? STEP_OLD : STEP_DONE;
	}
	if (!hold_lets(t.g->hold, wish_is_asked(t.wish), CONFIRM_BYTES, now_us))
		return step_held(&t);
	if (!turn_worth(&t, CONFIRM_BYTES)) {
		drop_for(&t, NOTE_UNLIKELY, METRICS_PREFETCH_UNLIKELY);
		return STEP_DONE;
	}
	if (step_dir(&t)) {
		if (t.node)
			(void)step_node(&t);
		else
			(void)step_unknown(&t);
	}
	return step_end(&t);
}
