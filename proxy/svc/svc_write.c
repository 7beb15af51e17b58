/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WRITEs to files whose attributes a client was told from the cache. It writes
 * where it was told that the file ends; if somebody else appended in between,
 * it would overwrite that. On a direct mount the GETATTR of its open() would
 * have shown the change. So the first WRITE has the file confirmed:
 *
 *	told from the cache, WRITE ─▶ GETATTR ─┬▶ unchanged: WRITE goes on
 *	                                       ├▶ replaced: NFS3ERR_IO
 *	                                       └▶ error: NFS3ERR_JUKEBOX
 *
 * After either error no WRITE is sent. Later WRITEs go out as they come, until
 * the client is told the attributes from the cache again. Linux widens a WRITE
 * to the beginning of its page, so the offset does not tell appends from other
 * WRITEs.
 */
#include "base/clock.h"
#include "base/log.h"
#include "cache/caches.h"
#include "config/config.h"
#include "svc/svc_rqst.h"

/* Refuses a WRITE that rests on contents which somebody has replaced. From now
 * on no answer about this file rests on an older confirmation (NODE_CONTESTED).
 */
static void refuse(struct svc_rqst *rqst, struct node *node)
{
	struct svc *svc = rqst->svc;
	unsigned suppressed;

	node->flags |= NODE_CONTESTED;
	metrics_add(svc->p.metrics, METRICS_WRITES_REFUSED, 1);
	if (log_limit_ok(&svc->refused, rqst->now_us, &suppressed))
		log_warn("svc server=%s client=%s fileid=%llu suppressed=%u: "
			 "somebody else changed a file after its attributes "
			 "were told from the cache; a WRITE that was based on "
			 "them is refused, so that it overwrites nothing",
		    svc->p.config->name, rqst->client->name,
		    (unsigned long long)node->fileid, suppressed);
	svc_reply_status(rqst, NFS3ERR_IO);
}

/* Puts a WRITE off, since the server did not tell whether the file has changed.
 * Clients send a call that is answered NFS3ERR_JUKEBOX again after some
 * seconds, and lose nothing (RFC 1813 section 2.6). If that never ends, as with
 * a server that answers no GETATTR, only the log tells why their WRITE hangs.
 */
static void put_off(struct svc_rqst *rqst, const struct node *node)
{
	struct svc *svc = rqst->svc;
	unsigned suppressed;

	if (log_limit_ok(&svc->put_off, rqst->now_us, &suppressed))
		log_warn("svc server=%s client=%s fileid=%llu suppressed=%u: "
			 "the server did not say whether somebody else changed "
			 "a file after its attributes were told from the "
			 "cache; a WRITE that was based on them is put off, "
			 "and its client has to come again",
		    svc->p.config->name, rqst->client->name,
		    (unsigned long long)node->fileid, suppressed);
	svc_rqst_forget(rqst);
	svc_reply_status(rqst, NFS3ERR_JUKEBOX);
}

/* Returns what the client went by when it sent the WRITE. What it is told
 * while the WRITE waits for its confirmation does not count for it. */
static enum attr_told told_before(
    const struct svc_rqst *rqst, const struct node *node)
{
	if ((rqst->tried & SVC_TRIED_CONFIRM) &&
	    attrcache_was_replaced(
		rqst->svc->p.caches->attr, node, rqst->received_us))
		return ATTR_TOLD_WRONGLY;
	return attrcache_told(node, rqst->machine);
}

void svc_write(struct svc_rqst *rqst)
{
	struct asker who = svc_asker(rqst);
	enum attr_told told;
	struct known k;

	/* A change of ours that is under way shows as a new version, too, and
	 * its client knows of it. */
	if (!known_find(&k, &who, &rqst->args.write.file) ||
	    (told = told_before(rqst, k.node)) == ATTR_TOLD ||
	    fetch_is_changing(rqst->svc->p.fetch, node_key(k.node))) {
		svc_forward(rqst);
		return;
	}
	if (told == ATTR_TOLD_WRONGLY) {
		refuse(rqst, k.node);
		return;
	}
	if (!(rqst->tried & SVC_TRIED_CONFIRM)) {
		/* There the node remembers that it was replaced meanwhile. */
		if (!attrcache_make_ext(rqst->svc->p.caches->attr, k.node)) {
			put_off(rqst, k.node);
			return;
		}
		metrics_add(rqst->svc->p.metrics, METRICS_WRITES_CONFIRMED, 1);
		svc_ask_attributes(rqst);
		return;
	}
	/* A change of ours to another file may have made the confirmation void
	 * for other uses; but it did tell of these contents. */
	if (k.node->sent_us < rqst->received_us) {
		put_off(rqst, k.node);
		return;
	}
	known_tell(&k);
	svc_forward(rqst);
}

void svc_write_left(const struct svc_rqst *rqst)
{
	struct attrcache *ac = rqst->svc->p.caches->attr;
	struct node *node;

	if (!(rqst->tried & SVC_TRIED_CONFIRM) || rqst->row->call != svc_write)
		return;
	node = attrcache_find(ac, &rqst->args.write.file);
	if (node)
		attrcache_tell_again(
		    ac, node, rqst->machine, rqst->received_us, clock_now_us());
}
