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
#include "nfsproto/nfs3_object.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* What could not go out for so long is not wanted any more. A pause for
	 * NFS3ERR_JUKEBOX (flight.c) that is as long, or longer, ends all that
	 * wait when it begins. */
	EXPIRED_US = 5000000,
	/* Turns of a want; more of them would be a loop. */
	STEPS_MAX = 12,
	/* Between two looks whether a pause is over, at what was asked for. */
	PAUSED_US = 1000000,
	/* Such a part of its time a confirmation must still last. */
	SLACK_PARTS = 3,
};

uint64_t confirm_slack_us(const struct config_policy *policy)
{
	return policy->attr_timeout_us / SLACK_PARTS;
}

/* Whether what a call at `sent_us` confirmed may be used for `timeout_us` from
 * then, and for a third of that from now at least. */
static bool lasts(const struct turn *t, uint64_t sent_us, uint64_t timeout_us)
{
	if (sent_us == 0)
		return false;
	if (t->k.policy->consistency == CONFIG_CONSISTENCY_FROZEN)
		return sent_us >= CONTRACT_LOADED_WHOLE_US;
	return sent_us + timeout_us >= t->now_us + timeout_us / SLACK_PARTS;
}

/* How long a confirmation of the node may be used. What changed a moment ago
 * must be confirmed again so soon that two round trips stand for that: else a
 * want would ask for it over and over. */
static uint64_t confirmation_us(const struct turn *t, struct node *node)
{
	uint64_t us = known_age_us(t->c, node, t->now_us);
	uint64_t trips_us = 2 * linkest_srtt_us(t->pf->p.link);
	uint64_t most_us = t->k.policy->attr_timeout_us;

	if (us < trips_us)
		us = trips_us;
	return us < most_us ? us : most_us;
}

uint64_t turn_fresh_since_us(const struct turn *t)
{
	uint64_t since_us = t->now_us + confirm_slack_us(t->k.policy);

	if (t->k.policy->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	    since_us <= t->k.policy->attr_timeout_us)
		return 1;
	return since_us - t->k.policy->attr_timeout_us;
}

bool turn_confirmed(const struct turn *t, struct node *node, bool rights)
{
	const struct grant *g;
	uint64_t sent_us = attrcache_sent(t->c->attr, node);

	/* In strict mode a client's call confirms it anyway: it need only be
	 * known. */
	if (t->k.policy->consistency == CONFIG_CONSISTENCY_STRICT && sent_us)
		return true;
	/* Where the use is far off, it need only be known, too: a confirmation
	 * would be too old by then, and a READ shows the version. */
	if (t->w->far_off && (node->flags & NODE_ATTRS))
		return true;
	if (!lasts(t, sent_us, confirmation_us(t, node)))
		return false;
	if (!rights)
		return true;
	g = accesscache_find(t->c->access, node, t->w->cred->id);
	return g && g->known == ACCESS_ALL &&
	       lasts(t, g->access_us,
		   t->k.policy->consistency == CONFIG_CONSISTENCY_FROZEN
		       ? t->k.policy->grant_timeout_us
		       : t->k.policy->attr_timeout_us);
}

/* ---- calls ------------------------------------------------------------ */

bool turn_worth(const struct turn *t, uint64_t bytes)
{
	return want_worth(t->pf, t->w->guess, t->w->p, bytes);
}

bool turn_send(struct turn *t, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes)
{
	struct prefetch *pf = t->pf;
	double p = (double)(proc == NFSPROC3_READ ? t->w->data_p : t->w->p);

	if (refused_lately(pf, node, proc, t->w->cred->id, t->now_us))
		return false;
	if (!hold_lets(pf->hold, want_is_asked(t->w), bytes, t->now_us)) {
		t->held = true;
		return false;
	}
	if (!want_pays(t->w, p, bytes)) {
		t->dear = true;
		return false;
	}
	if (!budget_may(pf->budget, bytes, t->now_us, t->wait_us)) {
		t->blocked = true;
		return false;
	}
	note_set(pf, t->w->object, NOTE_ASKED, t->now_us);
	if (!pf_flight_start(t->w, node, proc, args, bytes))
		return false;
	budget_likely(pf->budget, bytes, p);
	t->sent++;
	t->counts |= proc != NFSPROC3_READ;
	want_put_off(t->w, false);
	if (t->w->session) {
		t->w->cred->session_bytes += bytes;
		metrics_add(pf->p.metrics, METRICS_SESSION_BYTES, bytes);
	}
	return true;
}

bool turn_under_way(struct turn *t, struct node *node, uint32_t proc)
{
	struct fetch_about a = {
	    .object = node_key(node), .proc = proc, .cred = t->w->cred->id};

	if (!fetch_under_way(t->pf->p.fetch, &a))
		return false;
	(void)want_watch(t->w, &a);
	return true;
}

static bool confirm(struct turn *t, struct node *node)
{
	union nfs_args args = {
	    .access = {.object = node_fh(node), .access = ACCESS_ALL}};

	if (turn_under_way(t, node, NFSPROC3_ACCESS))
		return true;
	return turn_send(t, node, NFSPROC3_ACCESS, &args, CONFIRM_BYTES) &&
	       turn_under_way(t, node, NFSPROC3_ACCESS);
}

bool turn_may_list(struct turn *t, struct node *node)
{
	if (node->flags & NODE_ATTRS)
		return attrcache_type(t->c->attr, node) == NF3DIR;
	/* Only its handle is known, as from another machine: the server says
	 * first of which type it is. It may say nothing of that for ever. */
	if (!t->w->typed)
		t->w->typed = confirm(t, node);
	return false;
}

bool turn_too_early(struct turn *t, const struct node *node)
{
	bool early = want_too_early(t->c, node, t->now_us);

	t->too_early = t->too_early || early;
	return early;
}

/* ---- turns ------------------------------------------------------------ */

static bool step_dir(struct turn *t)
{
	uint8_t needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ABSENCE;

	if (!(t->w->needs & needs) || !t->dir)
		return true;
	if (!turn_confirmed(t, t->dir, true) && !confirm(t, t->dir))
		return false;
	return !dir_loose(t->pf, t->w->cred, t->dir, t->now_us) ||
	       turn_list(t, t->dir);
}

/* Asks for the name; only once, since then it is known, or cannot be. */
static bool look_up(struct turn *t, const nfs3_name *name)
{
	struct want *w = t->w;
	union nfs_args args = {
	    .dirop = {.dir = node_fh(t->dir), .name = *name}};
	struct fetch_about about = fetch_about_call(
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP), &args,
	    w->cred->id);

	if (w->listed)
		return true;
	if (!fetch_under_way(t->pf->p.fetch, &about) &&
	    !turn_send(t, t->dir, NFSPROC3_LOOKUP, &args, LOOKUP_BYTES))
		return false;
	w->listed = true;
	(void)want_watch(w, &about);
	return true;
}

/* What is foretold to be absent is not known to be, as after a change of its
 * directory, or where another machine learned it. A name that a peer gave
 * counts only if it is the one that is meant. */
static bool step_absence(struct turn *t)
{
	nfs3_fh dir = node_fh(t->dir);
	nfs3_name name;
	struct named to;
	struct binding b;
	size_t len;

	name.data = namemap_get(t->pf->absents, t->w->object, &len);
	name.len = name.data ? (uint32_t)len : 0;
	if (!name.data || observe_absent(&dir, &name) != t->w->object)
		return true;
	to = known_name(t->c, t->dir, &name);
	if (known_absence(&t->k, &name, &to, &b) && known_holds(&t->k, &b))
		return true;
	return look_up(t, &name);
}

/* Its handle is not known: the listing of its directory may bring it. */
static bool step_unknown(struct turn *t)
{
	nfs3_name name = {.data = t->w->name, .len = t->w->name_len};

	if (name.data)
		return look_up(t, &name);
	if (t->w->needs & PREDICTOR_NEEDS_ABSENCE)
		return !t->dir || step_absence(t);
	if (t->w->listed)
		return true;
	t->w->listed = true;
	return !t->dir || turn_list(t, t->dir);
}

/* No more than name and attributes of a file are wanted. */
static bool step_name(struct turn *t)
{
	if (t->dir && turn_under_way(t, t->dir, NFSPROC3_READDIRPLUS))
		return true;
	if (t->dir && dir_groups(t->pf, t->dir, t->now_us))
		return turn_list(t, t->dir);
	return confirm(t, t->node);
}

/* Whether the file is being read: then its client has its attributes and
 * rights, and the READs ahead bring the attributes anew. */
static bool is_read(const struct turn *t)
{
	uint8_t open = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		       PREDICTOR_NEEDS_ACCESS;

	return t->w->count > 0 && !(t->w->needs & open) &&
	       (t->node->flags & NODE_ATTRS);
}

static bool step_rights(struct turn *t)
{
	return turn_confirmed(t, t->node, true) || confirm(t, t->node);
}

static bool step_node(struct turn *t)
{
	uint8_t rights = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA;
	bool fresh =
	    is_read(t) || turn_confirmed(t, t->node, t->w->needs & rights);

	if ((t->w->needs & PREDICTOR_NEEDS_LISTING) && !t->w->listed &&
	    (t->w->paging || t->w->missed || !turn_listing_good(t, t->node))) {
		/* Whoever enters it asks for its rights first. */
		if ((t->w->needs & PREDICTOR_NEEDS_ACCESS) && !step_rights(t))
			return false;
		if (!turn_list(t, t->node))
			return false;
		t->w->listed = true;
		/* Its attributes come with it, its rights do not. */
		if (!step_rights(t))
			return false;
	} else if (!fresh && !(t->w->needs & rights)) {
		return step_name(t);
	} else if (!fresh && !confirm(t, t->node)) {
		return false;
	}
	if (!turn_wants_data(t))
		return true;
	/* What is cached may be of an older version: the confirmation that is
	 * under way will say so. */
	if (!fresh && t->w->pending > 0 && turn_has_first(t))
		return true;
	return turn_read(t);
}

static enum step drop(
    struct turn *t, enum note_state why, enum metrics_counter counter)
{
	metrics_add(t->pf->p.metrics, counter, 1);
	note_set(t->pf, t->w->object, why, t->now_us);
	return STEP_DONE;
}

/* A turn that ended early counts only if it asked for what may have to be asked
 * for again: a file's pieces may take any number of turns. */
static void ended_early(struct turn *t)
{
	if (!t->counts && !t->farmed)
		t->w->steps--;
}

/* It has its turn when there is nothing else. What makes it dear need not be a
 * call, whose reply would be heard of. */
static enum step put_off(struct turn *t)
{
	bool again = t->w->dear;

	ended_early(t);
	if (!again)
		metrics_add(t->pf->p.metrics, METRICS_PREFETCH_PUT_OFF, 1);
	want_put_off(t->w, true);
	*t->wait_us = DEAR_US;
	return again ? STEP_BLOCKED : STEP_MORE;
}

static enum step step_end(struct turn *t)
{
	struct want *w = t->w;

	if (t->farmed)
		w->steps--;
	/* What else of it can go out soon does not wait for what is under way
	 * already, which takes a round trip. */
	if (t->too_early)
		return STEP_LATER;
	if (t->blocked) {
		ended_early(t);
		return STEP_BLOCKED;
	}
	if (t->dear)
		return put_off(t);
	if (t->more)
		return STEP_MORE;
	if (w->pending > 0)
		return STEP_WAITS;
	if (t->held)
		return drop(t, NOTE_UNLIKELY, METRICS_PREFETCH_HELD);
	if (!t->node && !w->name && !(w->needs & PREDICTOR_NEEDS_ABSENCE))
		return drop(t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
	/* It was its first turn, and nothing was missing. */
	if (t->sent == 0 && w->steps == 1)
		return drop(t, NOTE_FRESH, METRICS_PREFETCH_FRESH);
	return STEP_DONE;
}

/* What was asked for waits while calls ahead are paused; anything else would be
 * of no use by then. */
static enum step step_held(struct turn *t)
{
	if (!want_is_asked(t->w))
		return drop(t, NOTE_UNLIKELY, METRICS_PREFETCH_HELD);
	t->w->steps--;
	*t->wait_us = PAUSED_US;
	return STEP_BLOCKED;
}

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

enum step want_step(struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct prefetch *pf = w->pf;
	struct turn t = {.w = w,
	    .pf = pf,
	    .c = pf->p.caches,
	    .now_us = now_us,
	    .wait_us = wait_us};
	struct asker who;

	t.node = w->name ? NULL : attrcache_by_key(t.c->attr, w->object);
	t.dir = directory(t.c, w->parent);
	if (!t.node && !t.dir)
		return drop(&t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
	who = asker_now(t.c, w->cred->id, now_us);
	known_node(&t.k, &who, policy_node(&t));
	if (t.k.policy->prefetch == CONFIG_PREFETCH_OFF ||
	    (w->session && !w->cred->session))
		return STEP_DONE;
	/* A confirmation would not last until it is used: data only. */
	if (t.k.policy->consistency == CONFIG_CONSISTENCY_STRICT || w->far_off)
		w->needs &= PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS;
	if (now_us - w->born_us > EXPIRED_US || ++w->steps > STEPS_MAX) {
		w->expired = w->steps <= STEPS_MAX;
		return drop(&t, NOTE_OLD, METRICS_PREFETCH_OLD);
	}
	if (!hold_lets(pf->hold, want_is_asked(w), CONFIRM_BYTES, now_us))
		return step_held(&t);
	if (!turn_worth(&t, CONFIRM_BYTES))
		return drop(&t, NOTE_UNLIKELY, METRICS_PREFETCH_UNLIKELY);
	if (step_dir(&t)) {
		if (t.node)
			(void)step_node(&t);
		else
			(void)step_unknown(&t);
	}
	return step_end(&t);
}
