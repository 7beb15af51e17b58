/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a want needs next: its directory confirmed, so that the name holds;
 * its listing; itself confirmed, attributes and rights in one ACCESS; then
 * data, if that is missing or of another version. A confirmation that will
 * be fresh when it is wanted is not asked for, nor is what is under way.
 */
#include <string.h>

#include "base/metrics.h"
#include "config/config.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

enum {
	OLD_US = 5000000, /* what could not go out for so long is not wanted */
	STEPS_MAX = 12,
	EXTENTS = 32,
	DEFAULT_RATE_BPS = 1 << 20, /* while nothing is known of the link */
	DEFAULT_RTT_US = 20000,
	LISTING_BYTES = 2048, /* one that is not known, of one block */
	DIR_BLOCK = 4096,
	PAGE_MAX = 8192,
	FIRST_MAX = 131072,
	WINDOW_PARTS = 4,
	LOOK = 16, /* entries that stand for all of a listing */
};

/* A call costs the server and the link so much of a round trip, whatever its
 * size: at even odds it is worth it, at one in five no more. */
#define CALL_SHARE 0.25

/* One turn with a want. */
struct turn {
	struct want *w;
	struct prefetch *pf;
	struct caches *c;
	const struct config_policy *policy;
	struct node *node; /* NULL: not known */
	struct node *dir;
	uint64_t now_us;
	uint64_t *wait_us;
	unsigned asked; /* calls that went out, or were under way */
	bool blocked;
	bool more;  /* it goes on later */
	bool early; /* what would come now would not be bound for good */
};

/* How long before a confirmation grows too old it is asked for again. */
static uint64_t slack_us(const struct config_policy *policy)
{
	return policy->attr_timeout_us / 3;
}

/* Whether an answer that rests on it will be right for some time. */
static bool lasts(const struct turn *t, uint64_t sent_us, uint64_t timeout_us)
{
	if (sent_us == 0)
		return false;
	if (t->policy->consistency == CONFIG_CONSISTENCY_FROZEN)
		return sent_us >= CONTRACT_LOADED_WHOLE_US;
	return sent_us + timeout_us >= t->now_us + slack_us(t->policy);
}

/* What was sent since then lasts. */
static uint64_t fresh_since_us(const struct turn *t)
{
	uint64_t since_us = t->now_us + slack_us(t->policy);

	if (t->policy->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	    since_us <= t->policy->attr_timeout_us)
		return 1;
	return since_us - t->policy->attr_timeout_us;
}

static bool confirmed(const struct turn *t, struct node *node, bool rights)
{
	const struct grant *g;
	uint64_t sent_us = attrcache_sent(t->c->attr, node);

	/* In strict mode it would be asked again: known will do. */
	if (t->policy->consistency == CONFIG_CONSISTENCY_STRICT && sent_us)
		return true;
	/* Long before, too: what is read shows what it is a version of. */
	if (t->w->early && (node->flags & NODE_ATTRS))
		return true;
	if (!lasts(t, sent_us, t->policy->attr_timeout_us))
		return false;
	if (!rights)
		return true;
	g = accesscache_find(t->c->access, node, t->w->cred->id);
	return g && g->known == ACCESS_ALL &&
	       lasts(t, g->access_us,
		   t->policy->consistency == CONFIG_CONSISTENCY_FROZEN
		       ? t->policy->grant_timeout_us
		       : t->policy->attr_timeout_us);
}

/* ---- whether it is worth it ------------------------------------------- */

bool want_worth(const struct prefetch *pf, double p, uint64_t bytes)
{
	const struct linkest *le = pf->p.link;
	double rate = (double)linkest_rate_Bps(le);
	double rtt = (double)linkest_srtt_us(le) / 1e6;
	double cost, backlog;

	if (rate <= 0)
		rate = DEFAULT_RATE_BPS;
	if (rtt <= 0)
		rtt = DEFAULT_RTT_US / 1e6;
	cost = (double)linkest_wire_bytes(bytes) / rate;
	backlog = (double)linkest_backlog_us(le, pf->now_us) / 1e6;
	return p * (rtt + cost) >
	       (1 - p) * (cost + CALL_SHARE * rtt) * (1 + 2 * backlog / rtt);
}

/* A listing is worth the round trips that it spares, whose own bytes hardly
 * count beside its. */
bool listing_worth(const struct prefetch *pf, uint32_t names, uint64_t bytes)
{
	const struct linkest *le = pf->p.link;
	double rate = (double)linkest_rate_Bps(le);
	double rtt = (double)linkest_srtt_us(le);

	/* Nothing is known of the link yet: a small one does no harm. */
	if (rate <= 0 && bytes <= budget_window_bytes(pf->budget))
		return true;
	if (rate <= 0)
		rate = DEFAULT_RATE_BPS;
	if (rtt <= 0)
		rtt = DEFAULT_RTT_US;
	return names * rtt > (double)bytes / rate * 1e6 +
				 2 * (double)linkest_backlog_us(le, pf->now_us);
}

static bool worth(const struct turn *t, uint64_t bytes)
{
	return want_worth(t->pf, t->w->p, bytes);
}

/* Ask, if the link has room; false where it has not. */
static bool ask(struct turn *t, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes)
{
	struct prefetch *pf = t->pf;

	if (!budget_may(pf->budget, bytes, t->now_us, t->wait_us)) {
		t->blocked = true;
		return false;
	}
	note_set(pf, t->w->object, NOTE_ASKED, t->now_us);
	if (!pf_flight_start(pf, t->w->cred, node, proc, args, bytes))
		return false;
	t->asked++;
	if (t->w->session) {
		t->w->cred->session_bytes += bytes;
		metrics_add(pf->p.metrics, METRICS_SESSION_BYTES, bytes);
	}
	return true;
}

/* ---- the calls -------------------------------------------------------- */

/* One that others sent tells as much. */
static bool under_way(struct turn *t, struct node *node, uint32_t proc)
{
	nfs3_fh fh = node_fh(node);
	struct fetch_about a = {
	    .object = fh_key(&fh), .proc = proc, .cred = t->w->cred->id};

	if (!fetch_under_way(t->pf->p.fetch, &a))
		return false;
	(void)want_watch(t->w, &a);
	return true;
}

static bool confirm(struct turn *t, struct node *node)
{
	union nfs_args args = {
	    .access = {.object = node_fh(node), .access = ACCESS_ALL}};

	if (under_way(t, node, NFSPROC3_ACCESS))
		return true;
	return ask(t, node, NFSPROC3_ACCESS, &args, CONFIRM_BYTES) &&
	       under_way(t, node, NFSPROC3_ACCESS);
}

/* Of a directory that was never listed, its size tells as much; about 40
 * bytes of it are an entry, and a block is there for few, too. */
static uint64_t listing_bytes(const struct turn *t, struct node *dir)
{
	const struct node_ext *x = attrcache_ext(t->c->attr, dir);
	uint64_t bytes = x ? (x->nchildren + 2) * ENTRY_BYTES : 0, least;

	if (listcache_find(t->c->lists, dir, t->w->cred->id, true))
		return bytes;
	least = LISTING_BYTES +
		(dir->size > DIR_BLOCK ? (dir->size - DIR_BLOCK) * 4 : 0);
	return bytes > least ? bytes : least;
}

bool want_too_early(
    const struct caches *c, const struct node *node, uint64_t now_us)
{
	return (node->flags & NODE_ATTRS) &&
	       !attrcache_firm(c->attr, node, now_us) &&
	       attrcache_firm(c->attr, node, now_us + GRAIN_US);
}

static bool too_early(struct turn *t, const struct node *node)
{
	bool early = want_too_early(t->c, node, t->now_us);

	t->early = t->early || early;
	return early;
}

/* While the rate is not known, the window tells what the link bears. */
static uint64_t page_bytes(const struct prefetch *pf)
{
	uint64_t unit = linkest_unit_bytes(pf->p.link);
	uint64_t part = budget_window_bytes(pf->budget) / WINDOW_PARTS;

	if (linkest_rate_Bps(pf->p.link) == 0 && part > unit)
		unit = part;
	return unit < PAGE_MAX ? unit : PAGE_MAX;
}

/* All pages of it for which there is room; false where some are left. */
static bool list_anew(struct turn *t, struct node *dir, struct listing *l)
{
	struct want *w = t->w;
	struct list_span next = w->page;
	union nfs_args args = {.readdirplus = {.dir = node_fh(dir)}};
	READDIRPLUS3args *a = &args.readdirplus;
	uint32_t bytes;

	w->paging = true;
	while ((bytes = listing_page(t->c, dir, l, fresh_since_us(t),
		    page_bytes(t->pf), &next)) > 0) {
		a->cookie = next.from;
		a->dircount = a->maxcount = bytes;
		if (next.from != 0)
			memcpy(a->cookieverf, listing_verf(l),
			    NFS3_COOKIEVERFSIZE);
		if (!ask(t, dir, NFSPROC3_READDIRPLUS, &args, bytes))
			return false;
		w->page = next;
	}
	w->paging = false;
	(void)under_way(t, dir, NFSPROC3_READDIRPLUS);
	return true;
}

/* Its names hold as far as is known: pages need not be asked for one after
 * the other. */
static struct listing *list_known(const struct turn *t, struct node *dir)
{
	struct listing *l =
	    listcache_find(t->c->lists, dir, t->w->cred->id, true);

	return l && listing_complete(l) && listing_binding(l).firm &&
		       !dir_loose(t->pf, t->w->cred, dir, t->now_us)
		   ? l
		   : NULL;
}

/* The next page of one of which some have come, or the first one. */
static void next_page(
    const struct turn *t, struct node *dir, READDIRPLUS3args *args)
{
	struct listing *l =
	    listcache_find(t->c->lists, dir, t->w->cred->id, true);

	args->dircount = args->maxcount = (uint32_t)page_bytes(t->pf);
	if (!l || listing_complete(l) ||
	    listing_binding(l).generation !=
		attrcache_generation(t->c->attr, dir))
		return;
	args->cookie = listing_last_cookie(l);
	memcpy(args->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
}

/* In pages side by side, or one page; the others follow when that has come
 * (prefetch_flight.c). */
static bool list(struct turn *t, struct node *dir)
{
	uint64_t page = page_bytes(t->pf);
	union nfs_args args = {.readdirplus = {.dir = node_fh(dir)}};
	uint64_t bytes = listing_bytes(t, dir);
	struct listing *l = list_known(t, dir);

	if (l && t->w->paging)
		return list_anew(t, dir, l);
	if (under_way(t, dir, NFSPROC3_READDIRPLUS))
		return true;
	if (t->w->names > 0 ? !listing_worth(t->pf, t->w->names, bytes)
			    : !worth(t, bytes))
		return true;
	if (l)
		return list_anew(t, dir, l);
	if (too_early(t, dir))
		return false;
	next_page(t, dir, &args.readdirplus);
	return ask(t, dir, NFSPROC3_READDIRPLUS, &args,
		   bytes < page ? bytes : page) &&
	       under_way(t, dir, NFSPROC3_READDIRPLUS);
}

/* Whether the listing can go out from here: its names hold, and most of the
 * entries' attributes are fresh. The first few stand for all. */
static bool listing_good(const struct turn *t, struct node *dir)
{
	struct listing *l = list_known(t, dir);

	return l && confirmed(t, dir, false) &&
	       listing_stale(t->c, dir, l, fresh_since_us(t), LOOK) == 0;
}

/* ---- data ------------------------------------------------------------- */

static uint32_t first_bytes(const struct turn *t)
{
	uint64_t n = t->policy->prefetch_block * t->policy->prefetch_blocks;
	uint64_t asked = t->w->first_bytes;

	/* A file that was never read will be read like others. */
	if (asked == 0)
		asked = t->pf->first_read_bytes < FIRST_MAX
			    ? t->pf->first_read_bytes
			    : FIRST_MAX;
	if (asked > n && t->policy->prefetch == CONFIG_PREFETCH_ON)
		n = asked;
	return (uint32_t)(n < t->node->size ? n : t->node->size);
}

/* The next piece that is wanted, from where the want stands; false: none. */
static bool next_piece(struct turn *t, const struct predictor_extent *ext,
    size_t n, uint64_t *offset, uint32_t *len)
{
	struct want *w = t->w;
	uint64_t unit = linkest_unit_bytes(t->pf->p.link);
	uint64_t begin = 0, end = first_bytes(t);

	/* Of a range, nothing else is wanted. */
	if (w->count > 0 && w->extent == 0)
		w->extent = 1;
	while (w->extent <= n) {
		if (w->extent > 0) {
			const struct predictor_extent *x = &ext[w->extent - 1];
			int64_t skip = x->stride_bytes * (int64_t)w->repeat;

			begin = x->offset_bytes + (uint64_t)skip;
			end = begin + x->length_bytes;
		}
		if (end > t->node->size)
			end = t->node->size;
		if (begin + w->into < end) {
			*offset = begin + w->into;
			*len = (uint32_t)(end - *offset < unit ? end - *offset
							       : unit);
			return true;
		}
		w->into = 0;
		w->repeat++;
		if (w->extent == 0 || w->repeat >= ext[w->extent - 1].count) {
			w->repeat = 0;
			w->extent++;
		}
	}
	return false;
}

/* How many bytes from there on are cached. */
static uint32_t have(const struct turn *t, uint64_t offset, uint32_t len)
{
	struct data_version version = caches_data_version(t->c, t->node);
	struct contract k;
	struct datacache_read rd = {.key = caches_data_key(t->node),
	    .version = &version,
	    .offset = offset,
	    .len = len};

	if (len == 0)
		return 0;
	contract_init(&k, t->policy, false, t->now_us, t->now_us);
	rd.valid_us = contract_data_valid(&k);
	rd.len = datacache_prefix(t->c->data, &rd);
	/* Off the disk, and compared with its checksum, before it is wanted. */
	if (rd.len > 0)
		datacache_touch(t->c->data, &rd);
	return rd.len;
}

static bool read_piece(struct turn *t, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = node_fh(t->node), .offset = offset, .count = len}};
	struct fetch_about about;

	about =
	    fetch_about_call(nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READ),
		&args, t->w->cred->id);
	if (fetch_under_way(t->pf->p.fetch, &about))
		return true;
	if (!worth(t, len))
		return true;
	if (too_early(t, t->node))
		return false;
	return ask(t, t->node, NFSPROC3_READ, &args, len + CONFIRM_BYTES);
}

/* All of what is asked for first is there. */
static bool have_first(const struct turn *t)
{
	const struct want *w = t->w;
	uint64_t left = t->node->size;
	uint32_t len = first_bytes(t);

	if (w->count > 0) {
		left = w->offset < left ? left - w->offset : 0;
		len = left < w->count ? (uint32_t)left : w->count;
	}
	return have(t, w->offset, len) == len;
}

static size_t one_extent(
    struct predictor_extent *ext, uint64_t offset, uint64_t len)
{
	*ext = (struct predictor_extent){.offset_bytes = offset,
	    .length_bytes = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
	    .count = 1};
	return 1;
}

/* The parts of the file that are wanted beyond the first bytes. A session has
 * the time for all that was read, where there is no pattern in that. */
static size_t extents(const struct turn *t, struct predictor_extent *ext)
{
	const struct want *w = t->w;
	uint64_t first = first_bytes(t);

	if (w->count > 0)
		return one_extent(ext, w->offset, w->count);
	if (t->policy->prefetch != CONFIG_PREFETCH_ON)
		return 0;
	if (w->needs & PREDICTOR_NEEDS_EXTENTS)
		return predictor_extents(
		    t->pf->predictor, w->object, ext, EXTENTS);
	return w->session && w->read_bytes > first
		   ? one_extent(ext, first, w->read_bytes - first)
		   : 0;
}

/* All pieces that the link has room for; false where some are left. */
static bool data(struct turn *t)
{
	struct predictor_extent ext[EXTENTS];
	struct want *w = t->w;
	size_t n = extents(t, ext);
	uint64_t offset;
	uint32_t len, had;

	while (next_piece(t, ext, n, &offset, &len)) {
		had = have(t, offset, len);
		if (had == 0 && !read_piece(t, offset, len))
			return false;
		w->into += had ? had : len;
		/* Others' first bytes go before this one's last ones. */
		if (w->count == 0 && w->extent > 0 && !w->tail &&
		    want_begins_tail(w)) {
			t->more = true;
			return false;
		}
	}
	return true;
}

static bool wants_data(const struct turn *t)
{
	enum config_prefetch mode =
	    t->w->count > 0 ? CONFIG_PREFETCH_ON : CONFIG_PREFETCH_FIRST_BLOCK;

	return (t->w->needs & PREDICTOR_NEEDS_DATA) && t->c->data &&
	       !(t->w->session && session_spent(t->w)) &&
	       t->policy->prefetch >= mode && (t->node->flags & NODE_ATTRS) &&
	       attrcache_type(t->c->attr, t->node) == NF3REG;
}

/* ---- turns ------------------------------------------------------------ */

static bool step_dir(struct turn *t)
{
	uint8_t needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ABSENCE;

	if (!(t->w->needs & needs) || !t->dir)
		return true;
	if (!confirmed(t, t->dir, true) && !confirm(t, t->dir))
		return false;
	return !dir_loose(t->pf, t->w->cred, t->dir, t->now_us) ||
	       list(t, t->dir);
}

/* Once: then it is known, or known to be absent, or not to be had. */
static bool look_up(struct turn *t)
{
	struct want *w = t->w;
	union nfs_args args = {
	    .dirop = {.dir = node_fh(t->dir),
		.name = {.data = w->name, .len = w->name_len}}};
	struct fetch_about about = fetch_about_call(
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP), &args,
	    w->cred->id);

	if (w->listed)
		return true;
	if (!fetch_under_way(t->pf->p.fetch, &about) &&
	    !ask(t, t->dir, NFSPROC3_LOOKUP, &args, LOOKUP_BYTES))
		return false;
	w->listed = true;
	(void)want_watch(w, &about);
	return true;
}

/* Without a handle: its directory's listing may bring it. */
static bool step_unknown(struct turn *t)
{
	if (t->w->name)
		return look_up(t);
	if ((t->w->needs & PREDICTOR_NEEDS_ABSENCE) || t->w->listed)
		return true;
	t->w->listed = true;
	return !t->dir || list(t, t->dir);
}

/* Of a file, of which no more than name and attributes are wanted. */
static bool step_name(struct turn *t)
{
	if (t->dir && under_way(t, t->dir, NFSPROC3_READDIRPLUS))
		return true;
	if (t->dir && dir_groups(t->pf, t->dir, t->now_us))
		return list(t, t->dir);
	return confirm(t, t->node);
}

/* Whoever reads the file has had its attributes and rights, and the READs
 * that are asked ahead bring them anew. */
static bool is_read(const struct turn *t)
{
	uint8_t open = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		       PREDICTOR_NEEDS_ACCESS;

	return t->w->count > 0 && !(t->w->needs & open) &&
	       (t->node->flags & NODE_ATTRS);
}

static bool step_node(struct turn *t)
{
	uint8_t rights = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA;
	bool fresh = is_read(t) || confirmed(t, t->node, t->w->needs & rights);

	if ((t->w->needs & PREDICTOR_NEEDS_LISTING) && !t->w->listed &&
	    (t->w->paging || !listing_good(t, t->node))) {
		if (!list(t, t->node))
			return false;
		t->w->listed = true;
		/* Its attributes come with it, its rights do not. */
		if (!confirmed(t, t->node, true) && !confirm(t, t->node))
			return false;
	} else if (!fresh && !(t->w->needs & rights)) {
		return step_name(t);
	} else if (!fresh && !confirm(t, t->node)) {
		return false;
	}
	if (!wants_data(t))
		return true;
	/* What is there may be of an older version: that shows first. */
	if (!fresh && t->w->pending > 0 && have_first(t))
		return true;
	return data(t);
}

static enum step drop(
    struct turn *t, enum note_state why, enum metrics_counter counter)
{
	metrics_add(t->pf->p.metrics, counter, 1);
	note_set(t->pf, t->w->object, why, t->now_us);
	return STEP_DONE;
}

static enum step step_end(struct turn *t)
{
	struct want *w = t->w;

	if (w->pending > 0)
		return STEP_WAITS;
	if (t->early)
		return STEP_LATER;
	if (t->blocked) {
		w->steps--;
		return STEP_BLOCKED;
	}
	if (t->more)
		return STEP_MORE;
	if (!t->node && !w->name && !(w->needs & PREDICTOR_NEEDS_ABSENCE))
		return drop(t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
	if (t->asked == 0 && w->steps == 1)
		return drop(t, NOTE_FRESH, METRICS_PREFETCH_FRESH);
	return STEP_DONE;
}

enum step want_step(struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct prefetch *pf = w->pf;
	struct turn t = {.w = w,
	    .pf = pf,
	    .c = pf->p.caches,
	    .now_us = now_us,
	    .wait_us = wait_us};

	t.node = w->name ? NULL : attrcache_by_key(t.c->attr, w->object);
	t.dir = w->parent ? attrcache_by_key(t.c->attr, w->parent) : NULL;
	if (!t.node && !t.dir)
		return drop(&t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
	t.policy = caches_policy(t.c, t.node ? t.node : t.dir);
	if (t.policy->prefetch == CONFIG_PREFETCH_OFF ||
	    (w->session && !w->cred->session))
		return STEP_DONE;
	/* Only data can be there before it is asked for. */
	if (t.policy->consistency == CONFIG_CONSISTENCY_STRICT || w->early)
		w->needs &= PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS;
	if (now_us - w->born_us > OLD_US || ++w->steps > STEPS_MAX) {
		w->old = w->steps <= STEPS_MAX;
		return drop(&t, NOTE_OLD, METRICS_PREFETCH_OLD);
	}
	if (!worth(&t, CONFIRM_BYTES))
		return drop(&t, NOTE_UNLIKELY, METRICS_PREFETCH_UNLIKELY);
	if (step_dir(&t)) {
		if (t.node)
			(void)step_node(&t);
		else
			(void)step_unknown(&t);
	}
	return step_end(&t);
}
