/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out why requests wait, for those who look (`forefetch top`), and how
 * long for each cause (waits.h). Only requests that wait come here: what is
 * answered from the caches at once pays nothing.
 */
#include "base/clock.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"
#include "svc/svc_rqst.h"

/* A quarter of a round trip more than the base is the ordinary course of
 * things. */
enum { JITTER_PART = 4 };

/* While the link's rate is not known, so many bytes are taken to need their
 * time. */
enum { LARGE_BYTES = 32 << 10 };

/* ---- why the server is asked ------------------------------------------- */

/* Whether the caches had the answer, so that it only had to be confirmed. */
static bool was_known(const struct svc_rqst *rqst, const struct known *k)
{
	const struct caches *c = rqst->svc->p.caches;
	uint32_t bits;

	if (!k->grant)
		return false;
	if (rqst->proc->prog != NFS_PROGRAM)
		return answercache_find(c->answers, k->node, rqst->proc,
			   rqst->args.getacl.mask) != NULL;
	switch (rqst->proc->proc) {
	case NFSPROC3_GETATTR:
		return k->node->flags & NODE_ATTRS;
	case NFSPROC3_ACCESS:
		bits = rqst->args.access.access;
		return (k->grant->known & bits) == bits;
	case NFSPROC3_LOOKUP:
		return known_name(c, k->node, &rqst->args.dirop.name).known;
	case NFSPROC3_READ:
		return false;
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		return listcache_find(c->lists, k->node, rqst->cred_id,
			   rqst->proc->proc == NFSPROC3_READDIRPLUS) != NULL;
	default:
		return answercache_find(c->answers, k->node, rqst->proc, 0) !=
		       NULL;
	}
}

/* Whether the call goes to the server whatever the caches know. */
static bool goes_through(const struct svc_rqst *rqst)
{
	return rqst->proc->flags & (NFS_PROC_CHANGE | NFS_PROC_DRC) ||
	       (rqst->proc->prog == NFS_PROGRAM &&
		   rqst->proc->proc == NFSPROC3_COMMIT);
}

static enum waits_cause cause_of(
    const struct svc_rqst *rqst, enum cached_verdict verdict)
{
	struct asker who = svc_asker(rqst);
	struct known k;

	if (verdict == CACHED_WAIT)
		return WAITS_DISK;
	if (verdict == CACHED_REST ||
	    !known_find(&k, &who, &rqst->args.object) ||
	    !(verdict == CACHED_CONFIRM || was_known(rqst, &k)))
		return WAITS_NOT_CACHED;
	return k.policy->consistency == CONFIG_CONSISTENCY_STRICT
		   ? WAITS_STRICT
		   : WAITS_EXPIRED;
}

void svc_waits_why(struct svc_rqst *rqst, enum cached_verdict verdict)
{
	if (rqst->cause == WAITS_NONE)
		rqst->cause = (uint8_t)cause_of(rqst, verdict);
}

void svc_waits_begin(struct svc_rqst *rqst, enum svc_wait wait)
{
	const struct linkest *link = rqst->svc->p.link;
	uint64_t bytes;

	if (wait == SVC_WAIT_JOINED)
		rqst->cause = WAITS_AHEAD;
	else if (rqst->cause == WAITS_NONE)
		rqst->cause = wait == SVC_WAIT_CHANGE || goes_through(rqst)
				  ? WAITS_CHANGE
				  : WAITS_NOT_CACHED;
	if (rqst->turns < UINT8_MAX)
		rqst->turns++;
	if (!link || rqst->turns > 1)
		return;
	/* Sending and receiving do not delay each other, so only the longer one
	 * counts. */
	bytes = linkest_inflight_bytes(link);
	if (rqst->svc->upload_bytes > bytes)
		bytes = rqst->svc->upload_bytes;
	rqst->ahead_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	rqst->svc->upload_bytes += linkest_wire_bytes(rqst->call.body.len);
}

void svc_waits_over(const struct svc_rqst *rqst)
{
	if (rqst->turns > 0 && rqst->svc->p.link)
		rqst->svc->upload_bytes -=
		    linkest_wire_bytes(rqst->call.body.len);
}

void svc_waits_sent(struct svc_rqst *rqst, const struct upstream_result *up)
{
	rqst->away |= up->resent;
}

/* ---- how long it waited ------------------------------------------------ */

/*
 * Shares a wait of `sum_us` microseconds out by cause; `bytes` of replies came
 * from the server for it. Traffic of other hosts on the link is not known here,
 * so a queue of theirs looks like a slow server.
 */
static void share(const struct svc_rqst *rqst, uint64_t sum_us, uint64_t bytes,
    bool away, uint64_t us[WAITS_CAUSES])
{
	const struct linkest *link = rqst->svc->p.link;
	struct waits_split s = {.why = (enum waits_cause)rqst->cause,
	    .sum_us = sum_us,
	    .away = away || rqst->away};
	uint64_t trip_us;

	if (link) {
		trip_us = linkest_base_us(link);
		trip_us += trip_us / JITTER_PART;
		s.busy_us = linkest_wire_us(link, rqst->ahead_bytes);
		bytes += rqst->call.body.len;
		s.must_us = trip_us * rqst->turns +
			    linkest_wire_us(link, linkest_wire_bytes(bytes));
		if (linkest_rate_Bps(link) == 0 && bytes >= LARGE_BYTES)
			s.must_us = sum_us;
	}
	waits_share(&s, us);
}

static struct waits_actor actor_of(const struct svc_rqst *rqst)
{
	return (struct waits_actor){.client = rqst->client->address_hash,
	    .uid = svc_rqst_uid(rqst),
	    .address = rqst->client->name};
}

void svc_waits_end(struct svc_rqst *rqst, uint64_t waited_us, uint64_t bytes)
{
	struct waits_actor who;
	uint64_t us[WAITS_CAUSES];

	if (!rqst->client || !rqst->svc->waits)
		return;
	who = actor_of(rqst);
	share(rqst, waited_us, bytes, false, us);
	waits_add(rqst->svc->waits, &who, us, rqst->received_us + waited_us);
}

/* ---- what is under way ------------------------------------------------- */

static const char *wait_name(const struct svc_rqst *rqst)
{
	switch (rqst->wait) {
	case SVC_WAIT_REPLY:
		return "reply";
	case SVC_WAIT_ASKED:
		return "confirmation";
	case SVC_WAIT_PIECES:
		return "pieces";
	case SVC_WAIT_JOINED:
		return "ahead";
	case SVC_WAIT_CHANGE:
		return "change";
	case SVC_WAIT_LOOK:
		return "doubt";
	default:
		return "other";
	}
}

/* Returns the name in the directory with which the arguments begin, or the path
 * of a mount; empty for other calls. */
static struct xdr_view entry_of(const struct svc_rqst *rqst)
{
	const union nfs_args *args = &rqst->args;

	if (rqst->proc->prog == MOUNT_PROGRAM)
		return rqst->proc->proc == MOUNTPROC3_MNT ||
			       rqst->proc->proc == MOUNTPROC3_UMNT
			   ? args->mnt.dirpath
			   : (struct xdr_view){0};
	if (rqst->proc->prog != NFS_PROGRAM)
		return (struct xdr_view){0};
	switch (rqst->proc->proc) {
	case NFSPROC3_LOOKUP:
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_RENAME:
		return args->dirop.name;
	default:
		return (struct xdr_view){0};
	}
}

static void fill_range(const struct svc_rqst *rqst, struct svc_call *out)
{
	if (rqst->proc->prog != NFS_PROGRAM)
		return;
	if (rqst->proc->proc == NFSPROC3_READ) {
		out->offset = rqst->args.read.offset;
		out->bytes = rqst->args.read.count;
	} else if (rqst->proc->proc == NFSPROC3_WRITE) {
		out->offset = rqst->args.write.offset;
		out->bytes = rqst->args.write.count;
	}
}

static void fill(
    const struct svc_rqst *rqst, uint64_t now_us, struct svc_call *out)
{
	*out = (struct svc_call){.procedure = rqst->proc->name,
	    .waits_for = wait_name(rqst),
	    .cause = waits_cause_name((enum waits_cause)rqst->cause),
	    .age_us =
		now_us > rqst->received_us ? now_us - rqst->received_us : 0,
	    .uid = svc_rqst_uid(rqst),
	    .client = rqst->client->name,
	    .entry = entry_of(rqst)};
	fill_range(rqst, out);
	if (rqst->proc->prog != MOUNT_PROGRAM && rqst->args.object.len > 0)
		out->object = fh_key(&rqst->args.object);
}

/* Keeps the `max` requests that have waited longest, in their order; `*n` are
 * in `list`. */
static void insert(const struct svc_rqst **list, size_t *n, size_t max,
    const struct svc_rqst *rqst)
{
	size_t i = *n;

	if (i == max && rqst->received_us >= list[i - 1]->received_us)
		return;
	if (i == max)
		i--;
	else
		++*n;
	for (; i > 0 && list[i - 1]->received_us > rqst->received_us; i--)
		list[i] = list[i - 1];
	list[i] = rqst;
}

size_t svc_list_calls(const struct svc *svc, uint32_t uid, uint64_t now_us,
    struct svc_call rows[SVC_CALLS_MAX], uint64_t *omitted)
{
	const struct svc_rqst *list[SVC_CALLS_MAX], *rqst;
	uint64_t all = 0;
	size_t n = 0;

	LIST_FOREACH (rqst, &svc->waiting, wait_link) {
		if (!rqst->client)
			continue;
		all++;
		if (uid == 0 || svc_rqst_uid(rqst) == uid)
			insert(list, &n, SVC_CALLS_MAX, rqst);
	}
	for (size_t i = 0; i < n; i++)
		fill(list[i], now_us, &rows[i]);
	*omitted = all - n;
	return n;
}

/* Adds a call under way, which has waited until now. */
static void add_call(
    const struct svc_rqst *rqst, uint64_t now_us, bool away, struct waits *sum)
{
	struct waits_actor who = actor_of(rqst);
	uint64_t us[WAITS_CAUSES];

	if (now_us <= rqst->received_us)
		return;
	share(rqst, now_us - rqst->received_us, 0, away, us);
	waits_add(sum, &who, us, now_us);
}

size_t svc_list_waits(const struct svc *svc, bool away, uint64_t now_us,
    struct waits_row rows[WAITS_ACTORS])
{
	struct waits *sum = svc->waits ? waits_copy(svc->waits) : NULL;
	const struct svc_rqst *rqst;
	size_t n;

	if (!sum)
		return 0;
	LIST_FOREACH (rqst, &svc->waiting, wait_link)
		if (rqst->client)
			add_call(rqst, now_us, away, sum);
	n = waits_rows(sum, now_us, rows);
	waits_free(sum);
	return n;
}
