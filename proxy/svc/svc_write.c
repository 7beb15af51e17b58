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
 *
 * A WRITE that was put off, or whose connection broke while it waited, comes
 * again as a new call. It still rests on what its client knew when it first
 * came, so the daemon remembers when that was (struct svc_waited).
 */
#include <stdlib.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/caches.h"
#include "config/config.h"
#include "svc/svc_rqst.h"

enum { WAITED = 1024 };

/* The daemon forgets a WRITE if its client does not send it again within this
 * time. */
#define WAITED_US UINT64_C(600000000)

/* WRITEs that wait at their clients, by the hash of their arguments. Two may
 * need the same place: then the former one counts as new when it comes. */
struct svc_waited {
	uint64_t until_us; /* the daemon has forgotten all of them by then */
	struct waited {
		uint64_t hash;
		uint64_t since_us; /* when it first came */
		uint64_t until_us;
	} at[WAITED];
};

static uint64_t write_hash(const struct svc_rqst *rqst)
{
	const struct rpc_call *c = &rqst->call;
	size_t len =
	    c->body.len < SVC_SMALL_BYTES ? c->body.len : SVC_SMALL_BYTES;

	return XXH3_64bits_withSeed(c->body.data, len, c->body.len);
}

/* Returns the entry of a WRITE that has come before; NULL: it is new. */
static struct waited *waited_find(const struct svc_rqst *rqst)
{
	struct svc_waited *ws = rqst->svc->waited;
	struct waited *w;
	uint64_t hash;

	if (!ws || rqst->received_us > ws->until_us)
		return NULL;
	hash = write_hash(rqst);
	w = &ws->at[hash % WAITED];
	return w->hash == hash && rqst->received_us <= w->until_us ? w : NULL;
}

static void waited_note(const struct svc_rqst *rqst)
{
	struct svc *svc = rqst->svc;
	struct waited *w = waited_find(rqst);
	uint64_t since_us = w ? w->since_us : rqst->received_us, hash;
	uint64_t until_us = clock_now_us() + WAITED_US;

	if (!svc->waited)
		svc->waited = calloc(1, sizeof(*svc->waited));
	if (!svc->waited)
		return;
	hash = write_hash(rqst);
	svc->waited->at[hash % WAITED] =
	    (struct waited){hash, since_us, until_us};
	svc->waited->until_us = until_us;
}

/* The WRITE is sent or refused, so it will not come again. */
static void waited_forget(const struct svc_rqst *rqst)
{
	struct waited *w = waited_find(rqst);

	if (w)
		*w = (struct waited){0};
}

/* Refuses a WRITE that rests on contents which somebody has replaced. From now
 * on no answer about this file rests on an older confirmation (NODE_CONTESTED).
 */
static void refuse(struct svc_rqst *rqst, struct node *node)
{
	struct svc *svc = rqst->svc;
	unsigned suppressed;

	waited_forget(rqst);
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

/* Returns what the client went by when the WRITE first came. What it was told
 * since then does not count for it. */
static enum attr_told told_before(
    const struct svc_rqst *rqst, const struct node *node)
{
	struct attrcache *ac = rqst->svc->p.caches->attr;
	const struct waited *w = waited_find(rqst);
	enum attr_told told = attrcache_told(node, rqst->machine);
	uint64_t since_us = w ? w->since_us : rqst->received_us;

	if (!w && !(rqst->tried & SVC_TRIED_CONFIRM))
		return told;
	if (attrcache_was_replaced(ac, node, since_us))
		return ATTR_TOLD_WRONGLY;
	return w && told == ATTR_TOLD ? ATTR_TOLD_FROM_OLD : told;
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
		waited_forget(rqst);
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
		waited_note(rqst);
		put_off(rqst, k.node);
		return;
	}
	known_tell(&k);
	waited_forget(rqst);
	svc_forward(rqst);
}

void svc_write_left(const struct svc_rqst *rqst)
{
	if (rqst->wait == SVC_WAIT_ASKED && rqst->row->call == svc_write)
		waited_note(rqst);
}
