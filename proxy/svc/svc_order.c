/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One client's calls in their order. A client may send calls before it has the
 * reply to a change: Linux does not wait for the REMOVE of a file that was
 * unlinked while it was open, nor for the change of a program that was killed.
 * A server executes what comes behind a change after it; the caches know of the
 * change only when it is answered. So while a change is under way, a call of
 * the same client about what it touches is not answered from the caches. It
 * waits for the change's reply, and is looked at again then:
 *
 *	a change ─▶ svc_order_enter() ─▶ the server
 *	                                     │
 *	svc_answer() ─▶ svc_order_look() ··· ▼
 *	     ▲                           svc_order_leave(): it is answered
 *	     └───── svc_rqst_retry() ◀───────┘
 *
 * The reply holds the answer most often, and a server of several threads may
 * take a call first that is sent behind the change. After two seconds, or
 * three, since this is looked at once a second, the call is sent behind it all
 * the same, over its connection. So a lost reply holds nobody up for long.
 *
 * Linux hands the REMOVE of such a file to a worker of its own, so it may come
 * a moment after the next look at the directory, which a server gets half a
 * round trip later. So each look of a client is confirmed in a directory where
 * it renamed a file to ".nfs" and a number, and has not removed it; and what
 * comes until that is answered counts as having come before the look.
 *
 * A change that gets no further is none: one that waits for the server, or for
 * its client, and any other while the server is silent. Else nothing could be
 * told from the caches there for as long as the link is down. WRITEs are none
 * either: they may take long, and a client that wants to see what it wrote
 * waits for them itself.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <xxhash.h>

#include "cache/caches.h"
#include "base/uint.h"
#include "cache/known.h"
#include "nfsproto/nfs3_object.h"
#include "svc/svc_rqst.h"

enum {
	HASH_SIZE = 1024, /* a power of two */
	/* The most keys that are compared for a call: more than the calls of
	 * one connection can have in one directory. */
	LOOK_MAX = 256,
	/* For so long a call waits for a change that came before it. */
	WAIT_MAX_US = 2000000,
	/* The key of the room in a file system, which FSSTAT asks for and every
	 * change touches. */
	ANY = 0,
	SILLY_SIZE = 256, /* a power of two */
};

/* Counts the files that a client has renamed to ".nfs" and a number in one
 * directory, and not removed yet. */
struct silly {
	/* client_key() of the directory that needed this place last. */
	uint64_t dir;
	unsigned files;
};

struct svc_order {
	uint64_t seed;
	unsigned n; /* changes that are not answered yet; most often none */
	struct svc_rqsts waited; /* the changes that others wait for */
	struct svc_order_keys keys[HASH_SIZE];
	struct silly silly[SILLY_SIZE];
	unsigned nsilly; /* files in all of them; most often none */
};

struct svc_order *svc_order_new(void)
{
	struct svc_order *o = calloc(1, sizeof(*o));

	if (o)
		(void)!getrandom(&o->seed, sizeof(o->seed), 0);
	return o;
}

void svc_order_free(struct svc_order *o)
{
	free(o);
}

/* ---- what calls are about ---------------------------------------------- */

/* Makes a key that is this client's alone: another client's calls wait for no
 * change of it, since no server orders them either. Seeded, so that nobody can
 * choose keys that meet in one place of the table. */
static uint64_t client_key(const struct svc_rqst *rqst, uint64_t key)
{
	return XXH3_64bits_withSeed(&key, sizeof(key),
	    rqst->svc->order->seed ^ rqst->client->address_hash);
}

static uint64_t name_key(const diropargs3 *where)
{
	return XXH3_64bits_withSeed(
	    where->name.data, where->name.len, fh_key(&where->dir));
}

/* Returns the key of the object that the name leads to; 0 where nobody knows
 * it. */
static uint64_t child_key(const struct svc_rqst *rqst, const diropargs3 *where)
{
	const struct caches *c = rqst->svc->p.caches;
	struct node *dir = attrcache_find(c->attr, &where->dir);
	struct node *child =
	    dir ? known_name(c, dir, &where->name).child : NULL;

	return child ? node_key(child) : 0;
}

/* Enters one thing that the change touches. */
static void enter_key(struct svc_rqst *rqst, uint64_t key)
{
	struct svc_order_key *k = &rqst->order.keys[rqst->order.n++];
	struct svc_order *o = rqst->svc->order;

	k->key = client_key(rqst, key);
	k->rqst = rqst;
	LIST_INSERT_HEAD(&o->keys[k->key & (HASH_SIZE - 1)], k, link);
}

/* Enters a name that the change touches, with its directory and the object that
 * it leads to, as far as that is known. */
static void enter_name(struct svc_rqst *rqst, const diropargs3 *where)
{
	uint64_t child = child_key(rqst, where);

	enter_key(rqst, fh_key(&where->dir));
	enter_key(rqst, name_key(where));
	if (child != 0)
		enter_key(rqst, child);
}

/* ---- changes ------------------------------------------------------------ */

void svc_order_enter(struct svc_rqst *rqst)
{
	const union nfs_args *args = &rqst->args;

	rqst->svc->order->n++;
	TAILQ_INIT(&rqst->order.behind);
	enter_key(rqst, ANY);
	if (rqst->proc->prog != NFS_PROGRAM ||
	    rqst->proc->proc == NFSPROC3_SETATTR ||
	    rqst->proc->proc == NFSPROC3_LINK)
		enter_key(rqst, fh_key(&args->object));
	if (rqst->proc->prog != NFS_PROGRAM ||
	    rqst->proc->proc == NFSPROC3_SETATTR)
		return;
	/* The directory and name stand first in the arguments of all others. */
	enter_name(rqst, rqst->proc->proc == NFSPROC3_LINK ? &args->link.link
							   : &args->dirop);
	if (rqst->proc->proc == NFSPROC3_RENAME)
		enter_name(rqst, &args->rename.to);
}

static bool is_silly_name(const nfs3_name *name)
{
	static const char begin[] = ".nfs";
	size_t len = sizeof(begin) - 1;

	return name->len > len && memcmp(name->data, begin, len) == 0;
}

/* Counts the files that Linux has unlinked while they were open: a RENAME to
 * such a name adds one, a REMOVE of such a name that succeeded, or found none,
 * takes one off. */
static void silly_note(struct svc_rqst *rqst)
{
	bool renamed = rqst->proc->proc == NFSPROC3_RENAME;
	const diropargs3 *name =
	    renamed ? &rqst->args.rename.to : &rqst->args.dirop;
	struct silly *s;
	uint64_t key;

	if (rqst->proc->prog != NFS_PROGRAM || !rqst->client ||
	    (rqst->status != NFS3_OK &&
		(renamed || rqst->status != NFS3ERR_NOENT)) ||
	    !(renamed || rqst->proc->proc == NFSPROC3_REMOVE) ||
	    !is_silly_name(&name->name))
		return;
	key = client_key(rqst, fh_key(&name->dir));
	s = &rqst->svc->order->silly[key & (SILLY_SIZE - 1)];
	if (renamed && s->dir != key) {
		rqst->svc->order->nsilly -= s->files;
		*s = (struct silly){.dir = key};
	}
	if (renamed) {
		s->files++;
		rqst->svc->order->nsilly++;
	} else if (s->dir == key && s->files > 0) {
		s->files--;
		rqst->svc->order->nsilly--;
	}
}

void svc_order_leave(struct svc_rqst *rqst, struct fetch_watches *behind)
{
	TAILQ_INIT(behind);
	if (rqst->order.n == 0)
		return;
	silly_note(rqst);
	for (unsigned i = 0; i < rqst->order.n; i++)
		LIST_REMOVE(&rqst->order.keys[i], link);
	rqst->order.n = 0;
	if (rqst->order.waited)
		LIST_REMOVE(rqst, order.waited_link);
	rqst->svc->order->n--;
	fetch_take_watches(&rqst->order.behind, behind);
}

/* Whether the change is on its way, and the server not silent: only such a
 * change is worth waiting for. */
static bool is_moving(const struct svc_rqst *change, uint64_t now_us)
{
	return change->wait == SVC_WAIT_REPLY &&
	       upstream_call_is_moving(fetch_call(&change->waiter), now_us);
}

/* Whether a call may still wait for the change, which it does for WAIT_MAX_US
 * from when the change came. */
static bool may_wait(const struct svc_rqst *change, uint64_t now_us)
{
	return now_us < change->received_us + WAIT_MAX_US &&
	       is_moving(change, now_us);
}

void svc_order_expire(struct svc *svc, uint64_t now_us)
{
	struct fetch_watches behind;
	struct svc_rqst *change;

	TAILQ_INIT(&behind);
	LIST_FOREACH (change, &svc->order->waited, order.waited_link)
		if (!may_wait(change, now_us))
			fetch_take_watches(&change->order.behind, &behind);
	fetch_ring(&behind);
}

/* ---- those behind them --------------------------------------------------- */

/* Returns, of the changes of the request's client that came before it and touch
 * this key, the last one that is on its way; NULL where there is none. With
 * `silent`, the server may be silent. */
static struct svc_rqst *change_of(
    const struct svc_rqst *rqst, uint64_t key, bool silent)
{
	struct svc_order *o = rqst->svc->order;
	struct svc_order_key *k;
	unsigned looks = 0;

	key = client_key(rqst, key);
	LIST_FOREACH (k, &o->keys[key & (HASH_SIZE - 1)], link) {
		if (looks++ == LOOK_MAX)
			break;
		if (k->key == key && k->rqst->number < rqst->number &&
		    is_moving(k->rqst, silent ? 0 : rqst->now_us))
			return k->rqst;
	}
	return NULL;
}

/* The same for a name. Changes of other names in its directory do not touch it,
 * where names have one spelling; where case may not count, the whole directory
 * does. */
static struct svc_rqst *change_of_name(
    const struct svc_rqst *rqst, const diropargs3 *where, bool silent)
{
	const struct caches *c = rqst->svc->p.caches;
	struct node *dir = attrcache_find(c->attr, &where->dir);
	bool one = dir && fsys_lists_all(attrcache_fsys(c->attr, dir));
	struct svc_rqst *change = change_of(
	    rqst, one ? name_key(where) : fh_key(&where->dir), silent);
	uint64_t child;

	if (change)
		return change;
	child = child_key(rqst, where);
	return child != 0 ? change_of(rqst, child, silent) : NULL;
}

/* Returns the change that the request has to come behind; NULL: none. Changes
 * of other clients, and calls about what no change can change, come behind
 * nothing. */
static struct svc_rqst *change_before(const struct svc_rqst *rqst, bool silent)
{
	const union nfs_args *args = &rqst->args;

	if (rqst->svc->order->n == 0 || rqst->svc->offline || !rqst->client ||
	    rqst->proc->prog == MOUNT_PROGRAM)
		return NULL;
	if (rqst->proc->prog == NFSACL_PROGRAM)
		return rqst->proc->proc == NFSACLPROC3_NULL
			   ? NULL
			   : change_of(rqst, fh_key(&args->object), silent);
	switch (rqst->proc->proc) {
	case NFSPROC3_NULL:
	case NFSPROC3_FSINFO:
	case NFSPROC3_PATHCONF:
		return NULL; /* no change changes them */
	case NFSPROC3_LOOKUP:
		return change_of_name(rqst, &args->dirop, silent);
	case NFSPROC3_FSSTAT:
		return change_of(rqst, ANY, silent);
	default:
		/* The handle stands first in all others. */
		return change_of(rqst, fh_key(&args->object), silent);
	}
}

const struct upstream_call *svc_order_behind(const struct svc_rqst *rqst)
{
	const struct svc_rqst *change = change_before(rqst, true);

	return change ? fetch_call(&change->waiter) : NULL;
}

/* In strict mode every answer is confirmed anyway, so a call is sent behind the
 * change instead of waiting for its reply. */
static bool is_strict(const struct svc_rqst *rqst)
{
	struct caches *c = rqst->svc->p.caches;
	struct node *node = attrcache_find(c->attr, &rqst->args.object);

	return caches_policy(c, node)->consistency == CONFIG_CONSISTENCY_STRICT;
}

static void on_done(struct fetch_watch *w)
{
	svc_rqst_retry(container_of(w, struct svc_rqst, watch));
}

enum svc_order_verdict svc_order_look(struct svc_rqst *rqst)
{
	struct svc_rqst *change = change_before(rqst, false);

	if (!change)
		return SVC_ORDER_FREE;
	if (!may_wait(change, rqst->now_us) || is_strict(rqst))
		return SVC_ORDER_ASK;
	if (!change->order.waited)
		LIST_INSERT_HEAD(
		    &rqst->svc->order->waited, change, order.waited_link);
	change->order.waited = true;
	rqst->watch.on_done = on_done;
	fetch_watch_list(&change->order.behind, &rqst->watch);
	if (!(rqst->tried & SVC_TRIED_ORDER))
		metrics_add(
		    rqst->svc->p.metrics, METRICS_CALLS_BEHIND_CHANGE, 1);
	rqst->tried |= SVC_TRIED_ORDER;
	svc_rqst_wait(rqst, SVC_WAIT_CHANGE);
	return SVC_ORDER_WAIT;
}

bool svc_order_is_early(struct svc_rqst *rqst)
{
	const struct silly *s;
	uint64_t key;

	if (rqst->svc->order->nsilly == 0 || rqst->proc->prog != NFS_PROGRAM ||
	    (rqst->proc->proc != NFSPROC3_GETATTR &&
		rqst->proc->proc != NFSPROC3_ACCESS &&
		rqst->proc->proc != NFSPROC3_READDIR &&
		rqst->proc->proc != NFSPROC3_READDIRPLUS) ||
	    rqst->tried & (SVC_TRIED_CONFIRM | SVC_TRIED_ORDER) ||
	    !rqst->client || rqst->svc->offline)
		return false;
	key = client_key(rqst, fh_key(&rqst->args.object));
	s = &rqst->svc->order->silly[key & (SILLY_SIZE - 1)];
	return s->dir == key && s->files > 0 && !is_strict(rqst);
}

/* ---- what comes along -------------------------------------------------- */

bool svc_order_hides(const void *ctx, const struct node *node)
{
	const struct svc_rqst *rqst = ctx;

	return rqst->svc->order->n > 0 && !rqst->svc->offline &&
	       change_of(rqst, node_key(node), false) != NULL;
}

void svc_order_edit(const struct svc_rqst *rqst, union nfs_res *res)
{
	LOOKUP3res *r = &res->lookup;
	post_op_attr *dir = r->status == NFS3_OK
				? &r->LOOKUP3res_u.resok.dir_attributes
				: &r->LOOKUP3res_u.dir_attributes;

	if (rqst->svc->order->n > 0 && !rqst->svc->offline &&
	    rqst->proc->prog == NFS_PROGRAM &&
	    rqst->proc->proc == NFSPROC3_LOOKUP &&
	    change_of(rqst, fh_key(&rqst->args.dirop.dir), false))
		dir->attributes_follow = FALSE;
}
