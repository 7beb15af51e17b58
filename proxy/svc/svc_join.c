/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that find on its way what they want: they wait for it, and then
 * look into the caches again, under the same rules as ever. So an answer to
 * one credential's call never reaches another but under a grant of its own.
 * In strict mode nothing that was sent before a request may answer it, so
 * nothing is joined there.
 *
 * A request waits for these calls:
 *
 *	GETATTR, ACCESS   ACCESS of the object
 *	GETACL, READLINK  the same call
 *	LOOKUP            ACCESS or READDIRPLUS of the directory, the same
 *	                  LOOKUP, or ACCESS of the file that the name is
 *	                  thought to be
 *	READ              READ with the first byte that is missing
 *	READDIR(PLUS)     READDIRPLUS of the directory; READDIR for one only, as
 *	                  its own reply has more names
 *
 * Where only the beginning of a READ is under way, the rest is asked for beside
 * it: on a direct mount the client would have asked for all of it at once.
 *
 * It waits for at most eight calls in turn, or for 64 pieces of a file.
 * svc_answer.c comes here before it asks the server.
 */
#include "cache/known.h"
#include "base/uint.h"
#include "farm/farm.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"
#include "svc/svc_pieces.h"
#include "svc/svc_rqst.h"

/* How many calls a request may wait for, one after the other: some pages of a
 * listing, the directory, then the file. After that it asks by itself, so that
 * no client waits on and on for calls that bring something else. */
enum {
	JOINS_MAX = 8,
	/* A client asks for a megabyte at most, a piece is 16 KiB or so. */
	JOINS_READ_MAX = 64,
	/* A READ is looked through in so many places for calls under way; they
	 * are at least a block apart. */
	SAMPLES = 16,
	SAMPLE_MIN = 4096,
	/* A shorter beginning comes again with the rest (cached_read.c). */
	HEAD_MIN = 4096,
};

static void on_done(struct fetch_watch *w)
{
	struct svc_rqst *rqst = container_of(w, struct svc_rqst, watch);

	svc_rqst_retry(rqst);
}

/* Waits for a call of `proc` about the object with this key, under the
 * credential of the request; of a READ, for one with the first byte that is
 * missing. False where there is none. */
static bool watch(
    struct svc_rqst *rqst, uint64_t key, uint32_t proc, bool range)
{
	struct fetch_about a = {
	    .object = key, .proc = proc, .cred = rqst->cred_id};

	/* The bytes that follow may come in another piece, for which the
	 * request then waits. */
	if (range) {
		a.from = rqst->args.read.offset + rqst->have;
		a.to = a.from + 1;
	}
	rqst->watch.on_done = on_done;
	return fetch_watch(rqst->svc->p.fetch, &a, &rqst->watch);
}

/* Waits for the same call, if it was sent ahead. */
static bool watch_same(struct svc_rqst *rqst)
{
	struct fetch_about a =
	    fetch_about_call(rqst->proc, &rqst->args, rqst->cred_id);

	rqst->watch.on_done = on_done;
	return fetch_watch(rqst->svc->p.fetch, &a, &rqst->watch);
}

/* Whether the last confirmation of the node is too old for this request, so
 * that another one would help. */
static bool stale(const struct svc_rqst *rqst, struct node *node)
{
	struct asker who = svc_asker(rqst);
	struct known k;

	known_node(&k, &who, node);
	return !known_fresh(&k);
}

/* Waits for a call about the directory, or about the file to which the name is
 * thought to lead. A READDIRPLUS helps where it would bring the name, or
 * confirm its absence or its file. */
static bool watch_lookup(struct svc_rqst *rqst, struct node *dir, uint64_t key)
{
	struct named to =
	    known_name(rqst->svc->p.caches, dir, &rqst->args.dirop.name);
	struct node *child = to.child;
	nfs3_fh fh;

	/* The server called stale what the name led to: it has to be asked
	 * where the name leads now, and not a moment before that. */
	if (to.known && !to.absent && !child)
		return false;
	if (watch(rqst, key, NFSPROC3_ACCESS, false))
		return true;
	if (!to.known && watch_same(rqst))
		return true;
	if (to.absent)
		return stale(rqst, dir) &&
		       watch(rqst, key, NFSPROC3_READDIRPLUS, false);
	if (!child || stale(rqst, child)) {
		if (watch(rqst, key, NFSPROC3_READDIRPLUS, false))
			return true;
	}
	if (!child || !stale(rqst, child))
		return false;
	fh = node_fh(child);
	return watch(rqst, fh_key(&fh), NFSPROC3_ACCESS, false);
}

/* Waits for whatever under way would help; see the table above. */
static bool watch_any(struct svc_rqst *rqst, struct node *node)
{
	uint64_t key = fh_key(&rqst->args.object);

	if (rqst->proc->prog != NFS_PROGRAM)
		return watch_same(rqst);
	switch (rqst->proc->proc) {
	case NFSPROC3_GETATTR:
	case NFSPROC3_ACCESS:
		return watch(rqst, key, NFSPROC3_ACCESS, false);
	case NFSPROC3_LOOKUP:
		return watch_lookup(rqst, node, key);
	case NFSPROC3_READLINK:
		return watch_same(rqst);
	case NFSPROC3_READDIR:
		return rqst->joins == 0 &&
		       watch(rqst, key, NFSPROC3_READDIRPLUS, false);
	case NFSPROC3_READDIRPLUS:
		return watch(rqst, key, NFSPROC3_READDIRPLUS, false);
	default:
		return false;
	}
}

static bool joined(struct svc_rqst *rqst)
{
	rqst->joins++;
	metrics_add(rqst->svc->p.metrics, METRICS_CALLS_JOINED, 1);
	svc_rqst_wait(rqst, SVC_WAIT_JOINED);
	return true;
}

/* Whether a directory was not confirmed since its client was told that a handle
 * is stale: calls that are under way may be older than that, too. */
static bool is_of_before(const struct svc_rqst *rqst, const struct node *node)
{
	struct attrcache *ac = rqst->svc->p.caches->attr;

	return (node->flags & NODE_ATTRS) &&
	       attrcache_type(ac, node) == NF3DIR &&
	       attrcache_sent(ac, node) < svc_machine_stale_us(rqst->svc,
					      rqst->machine, rqst->received_us);
}

/* Whether a call that is under way was sent too long ago once it is answered, a
 * round trip later: the object changed so lately that nobody is believed for as
 * long as that. */
static bool is_too_old_then(const struct svc_rqst *rqst, struct node *node)
{
	struct asker who = svc_asker(rqst);
	struct known k;

	known_node(&k, &who, node);
	return k.contract.mode == CONFIG_CONSISTENCY_BOUNDED &&
	       k.contract.age_us < who.trip_us;
}

/* The request's object, if it may wait for calls about that. A READ always may,
 * lest its data come twice. */
static struct node *may_join(struct svc_rqst *rqst)
{
	struct caches *c = rqst->svc->p.caches;
	bool read = rqst->proc->proc == NFSPROC3_READ;
	struct node *node;

	if (!rqst->cred_id || rqst->svc->offline ||
	    rqst->joins >= (read ? JOINS_READ_MAX : JOINS_MAX))
		return NULL;
	node = attrcache_find(c->attr, &rqst->args.object);
	if (!node || is_of_before(rqst, node) ||
	    (!read && is_too_old_then(rqst, node)) ||
	    caches_policy(c, node)->consistency == CONFIG_CONSISTENCY_STRICT)
		return NULL;
	return node;
}

/* ---- the rest of a READ ------------------------------------------------ */

/* Returns up to where the file's bytes from `from` on are under way. */
static uint64_t coming_to(
    struct svc_rqst *rqst, struct node *node, uint64_t from, uint64_t to)
{
	struct fetch_about a = {.object = node_key(node),
	    .proc = NFSPROC3_READ,
	    .cred = rqst->cred_id,
	    .from = from,
	    .to = to};

	return fetch_under_way_to(rqst->svc->p.fetch, &a);
}

/* Returns up to where nothing of the file is cached; it may be less. */
static uint64_t uncached_to(const struct known *k, uint64_t from, uint64_t to)
{
	struct data_version version;
	struct datacache_read rd;

	for (; to > from; to = from + (to - from) / 2) {
		rd = known_data(k, &version, from, (uint32_t)(to - from));
		if (datacache_have(k->caches->data, &rd) == 0)
			break;
	}
	return to;
}

/* Returns up to where nothing of it is under way, as far as samples tell. */
static uint64_t unasked_to(
    struct svc_rqst *rqst, struct node *node, uint64_t from, uint64_t to)
{
	uint64_t step = max_u64((to - from) / SAMPLES, SAMPLE_MIN), at = from;

	while (at < to && coming_to(rqst, node, at, to) == at)
		at += step;
	return min_u64(at, to);
}

/* Whether the beginning of a READ, which is under way, and what is asked for
 * now will make one answer: the file's version was firm when the beginning was
 * sent, as far as can be told, and the attributes that come with that will be
 * fresh. */
static bool will_fit(
    const struct svc_rqst *rqst, const struct known *k, struct node *node)
{
	const struct svc_params *p = &rqst->svc->p;
	uint64_t trips_us = 2 * linkest_srtt_us(p->link);

	return k->contract.mode != CONFIG_CONSISTENCY_STRICT &&
	       !is_too_old_then(rqst, node) &&
	       attrcache_firm(
		   p->caches->attr, node, minus_u64(rqst->now_us, trips_us));
}

/*
 * Asks for what a READ lacks behind its beginning, which is under way up to
 * `from`. It asks up to the first bytes that are cached or under way, too, and
 * once for a request. A farm may have them, and is asked when the beginning has
 * come.
 */
static void ask_rest(struct svc_rqst *rqst, struct node *node, uint64_t from)
{
	const struct svc_params *p = &rqst->svc->p;
	READ3args rest = rqst->args.read;
	uint64_t to = rest.offset + rest.count;
	struct asker who = svc_asker(rqst);
	struct known k;

	if (node->flags & NODE_ATTRS)
		to = min_u64(to, node->size);
	if ((rqst->tried & SVC_TRIED_TAIL) || p->farm || !p->caches->data ||
	    from < rest.offset + HEAD_MIN || from >= to)
		return;
	known_node(&k, &who, node);
	if (!will_fit(rqst, &k, node))
		return;
	rest.offset = from;
	to = uncached_to(&k, rest.offset, to);
	to = unasked_to(rqst, node, rest.offset, to);
	rest.count = (uint32_t)(to - rest.offset);
	if (rest.count > 0 && svc_pieces_behind(rqst, &rest))
		rqst->tried |= SVC_TRIED_TAIL | SVC_TRIED_SERVER;
}

static bool join_read(struct svc_rqst *rqst, struct node *node)
{
	const READ3args *read = &rqst->args.read;
	uint64_t from = read->offset + rqst->have;
	uint64_t end = max_u64(read->offset + read->count, from + 1);
	uint64_t to = coming_to(rqst, node, from, end);

	if (to == from)
		return false;
	/* Sending may ring whatever a request watches. So this one watches
	 * nothing until the rest has been asked for. */
	ask_rest(rqst, node, to);
	return watch(rqst, node_key(node), NFSPROC3_READ, true) && joined(rqst);
}

bool svc_join_rest(struct svc_rqst *rqst)
{
	struct node *node = may_join(rqst);

	return node && join_read(rqst, node);
}

bool svc_join_confirm(struct svc_rqst *rqst)
{
	return may_join(rqst) &&
	       watch(
		   rqst, fh_key(&rqst->args.object), NFSPROC3_ACCESS, false) &&
	       joined(rqst);
}

/* Whether a complete listing would say that the name is absent
 * (known_absence()), and there is none yet. */
static bool listing_would_tell(struct svc_rqst *rqst, struct node *dir)
{
	struct caches *c = rqst->svc->p.caches;
	const nfs3_name *name = &rqst->args.dirop.name;
	struct listing *l =
	    listcache_find_current(c->lists, dir, rqst->cred_id, true);

	return fsys_lists_all(attrcache_fsys(c->attr, dir)) && name->len > 0 &&
	       name->data[0] != '.' && !(l && listing_complete(l));
}

/* Asks the farm for the data or listing that the call lacks, if that may be
 * shared at all. Machines never share attributes, so a listing of theirs can
 * answer a LOOKUP only where the name is absent. */
static bool ask_farm(struct svc_rqst *rqst, struct node *node)
{
	struct farm_server *farm = rqst->svc->p.farm;
	const READ3args *read = &rqst->args.read;

	switch (rqst->proc->proc) {
	case NFSPROC3_READ:
		return farm_ask_data(farm, node, rqst->cred_id,
			   read->offset + rqst->have, read->count - rqst->have,
			   false) == FARM_ASKED;
	case NFSPROC3_LOOKUP:
		return !stale(rqst, node) && listing_would_tell(rqst, node) &&
		       !known_name(
			   rqst->svc->p.caches, node, &rqst->args.dirop.name)
			    .known &&
		       farm_ask_listing(farm, node, rqst->cred_id, true,
			   false) == FARM_ASKED;
	case NFSPROC3_READDIR:
		return rqst->args.readdir.cookie == 0 &&
		       farm_ask_listing(farm, node, rqst->cred_id, false,
			   false) == FARM_ASKED;
	default:
		return false;
	}
}

bool svc_join_farm(struct svc_rqst *rqst)
{
	bool read = rqst->proc->proc == NFSPROC3_READ;
	struct node *node;

	if (!rqst->svc->p.farm || !rqst->cred_id || rqst->svc->offline ||
	    rqst->proc->prog != NFS_PROGRAM || (rqst->tried & SVC_TRIED_FARM))
		return false;
	node = attrcache_find(rqst->svc->p.caches->attr, &rqst->args.object);
	if (!node || !ask_farm(rqst, node))
		return false;
	rqst->tried |= SVC_TRIED_FARM;
	if (!watch(rqst, fh_key(&rqst->args.object),
		read ? NFSPROC3_READ : NFSPROC3_READDIRPLUS, read))
		return false;
	svc_rqst_wait(rqst, SVC_WAIT_JOINED);
	return true;
}

bool svc_join(struct svc_rqst *rqst)
{
	struct node *node;

	if (rqst->proc->prog == MOUNT_PROGRAM ||
	    (rqst->proc->flags & NFS_PROC_DRC) ||
	    rqst->proc->proc == NFSPROC3_NULL)
		return false;
	node = may_join(rqst);
	if (node && rqst->proc->proc == NFSPROC3_READ)
		return join_read(rqst, node);
	return node && watch_any(rqst, node) && joined(rqst);
}
