/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a request: whose it is, what it waits for, and how it ends. A
 * request is in its client's list, or among the orphans of svc once the client
 * is gone and a call of it runs its course; and in svc.waiting while the server
 * is to answer it. svc.c makes requests, and the other files of the folder move
 * and end them by the functions here alone, so these lists and the client's
 * counts stay right.
 */
#include "svc/svc_rqst.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/learn.h"
#include "link/linkest.h"
#include "svc/svc_pieces.h"

/* Puts the request into its client's list, or among the orphans, and counts it.
 */
static void rqst_enter(struct svc_rqst *rqst, struct svc_client *client)
{
	rqst->client = client;
	if (client) {
		LIST_INSERT_HEAD(&client->rqsts, rqst, link);
		client->calls++;
		client->bytes += rqst->charge_bytes;
	} else {
		LIST_INSERT_HEAD(&rqst->svc->orphans, rqst, link);
		rqst->svc->norphans++;
	}
}

static void rqst_leave(struct svc_rqst *rqst)
{
	LIST_REMOVE(rqst, link);
	if (rqst->client) {
		rqst->client->calls--;
		rqst->client->bytes -= rqst->charge_bytes;
	} else {
		rqst->svc->norphans--;
	}
}

struct svc_rqst *svc_rqst_new(
    struct svc *svc, struct svc_client *client, const struct record *rec)
{
	/* Room for the record, and for arguments that are edited from it. */
	struct svc_rqst *rqst = malloc(sizeof(*rqst) + 2 * SVC_SMALL_BYTES);

	if (!rqst)
		return NULL;
	memset(rqst, 0, sizeof(*rqst));
	rqst->svc = svc;
	rqst->number = ++svc->received;
	rqst->charge_bytes = rec->len;
	rqst->received_us = rec->received_us;
	rqst->asked_us = rec->received_us;
	rqst->now_us = rec->received_us;
	if (rec->len <= SVC_SMALL_BYTES)
		memcpy(rqst->small, rec->data, rec->len);
	else
		rqst->hold = rbuf_ref(rec->buf);
	rqst->machine = svc_machine(svc, client, rec->received_us);
	rqst_enter(rqst, client);
	return rqst;
}

void svc_rqst_drop(struct svc_rqst *rqst)
{
	struct fetch_watches behind;

	assert(!rqst->split && !rqst->watch.list && !rqst->disk.request);
	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	svc_waits_over(rqst);
	svc_order_leave(rqst, &behind);
	rqst_leave(rqst);
	rbuf_unref(rqst->hold);
	free(rqst->look);
	free(rqst);
	fetch_ring(&behind);
}

void svc_rqst_end(struct svc_rqst *rqst)
{
	struct svc_client *client = rqst->client;

	svc_rqst_drop(rqst);
	if (client)
		client->ops->done(client);
}

void svc_rqst_charge(struct svc_rqst *rqst, size_t bytes)
{
	rqst->charge_bytes += bytes;
	rqst->client->bytes += bytes;
}

void svc_rqst_move(struct svc_rqst *rqst, struct svc_client *client)
{
	rqst_leave(rqst);
	rqst_enter(rqst, client);
}

/* ---- waiting ---------------------------------------------------------- */

/* Whether only the server's answer ends such a wait. Nobody counts a request as
 * waiting for the server that waits for the disk, or is held for its client. */
static bool needs_server(enum svc_wait wait)
{
	return wait != SVC_WAIT_NONE && wait != SVC_WAIT_DISK &&
	       wait != SVC_WAIT_CLIENT;
}

void svc_rqst_wait(struct svc_rqst *rqst, enum svc_wait wait)
{
	bool was = needs_server(rqst->wait), is = needs_server(wait);

	if (is && !was)
		LIST_INSERT_HEAD(&rqst->svc->waiting, rqst, wait_link);
	else if (was && !is)
		LIST_REMOVE(rqst, wait_link);
	rqst->wait = wait;
	if (wait == SVC_WAIT_NONE)
		return;
	rqst->tried |= SVC_TRIED_WAIT;
	svc_waits_begin(rqst, wait);
}

bool svc_rqst_stop(struct svc_rqst *rqst)
{
	const struct svc_params *p = &rqst->svc->p;

	switch (rqst->wait) {
	case SVC_WAIT_REPLY:
	case SVC_WAIT_ASKED:
		if (!fetch_cancel(p->fetch, &rqst->waiter))
			return false;
		break;
	case SVC_WAIT_PIECES:
		svc_pieces_leave(rqst);
		break;
	case SVC_WAIT_JOINED:
	case SVC_WAIT_CHANGE:
		fetch_unwatch(&rqst->watch);
		break;
	case SVC_WAIT_DISK:
		datacache_cancel(p->caches->data, &rqst->disk);
		break;
	default:
		return false;
	}
	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	return true;
}

void svc_rqst_retry(struct svc_rqst *rqst)
{
	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	rqst->now_us = clock_now_us();
	if (rqst->client) {
		rqst->row->call(rqst);
		return;
	}
	svc_rqst_forget(rqst);
	svc_rqst_end(rqst);
}

/* ---- what is known of its call ----------------------------------------- */

struct drc *svc_rqst_cache(const struct svc_rqst *rqst)
{
	const struct svc_params *p = &rqst->svc->p;

	return rqst->proc->flags & NFS_PROC_CHANGE ? p->drc : p->write_drc;
}

void svc_rqst_forget(struct svc_rqst *rqst)
{
	if (rqst->drc)
		drc_drop(svc_rqst_cache(rqst), rqst->drc);
	rqst->drc = NULL;
}

void svc_rqst_learn(const struct svc_rqst *rqst, struct learn *l)
{
	*l = (struct learn){.caches = rqst->svc->p.caches,
	    .proc = rqst->proc,
	    .args = &rqst->args,
	    .cred = rqst->cred_id,
	    .machine = rqst->machine,
	    .now_us = clock_now_us()};
}

void svc_rqst_unknown(struct svc_rqst *rqst, uint64_t sent_us)
{
	struct learn l;

	if (!(rqst->proc->flags & NFS_PROC_DRC))
		return;
	svc_rqst_learn(rqst, &l);
	l.sent_us = sent_us;
	learn_unknown(&l);
}

struct asker svc_asker(const struct svc_rqst *rqst)
{
	return (struct asker){.caches = rqst->svc->p.caches,
	    .cred = rqst->cred_id,
	    .machine = rqst->machine,
	    .apart = rqst->machine.own == 0,
	    .offline = rqst->svc->offline && rqst->machine.own != 0,
	    .received_us = rqst->received_us,
	    .now_us = rqst->now_us,
	    .stale_us = svc_machine_stale_us(
		rqst->svc, rqst->machine, rqst->received_us),
	    .trip_us = linkest_srtt_us(rqst->svc->p.link)};
}
