/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls ahead: nobody waits for them but whoever watches (fetch.h). */
#include "prefetch/calls/flight.h"

#include <stdlib.h>
#include <string.h>

#include "link/budget.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/hold.h"

/* How long a server is left alone that answered with NFS3ERR_JUKEBOX: as long
 * as Linux's client waits (NFS_JUKEBOX_RETRY_TIME). */
enum { PAUSE_US = 5000000 };

struct calls {
	struct ground *g;
	struct flight_list under_way; /* the last one first */
	unsigned n;
};

struct calls *calls_new(struct ground *g)
{
	struct calls *c = calloc(1, sizeof(*c));

	if (c)
		c->g = g;
	return c;
}

void calls_free(struct calls *c)
{
	free(c);
}

unsigned calls_count(const struct calls *c)
{
	return c->n;
}

const struct flight *calls_first(const struct calls *c)
{
	return LIST_FIRST(&c->under_way);
}

static void flight_end(struct flight *fl)
{
	struct flights *of = fl->of;

	LIST_REMOVE(fl, link);
	LIST_REMOVE(fl, under_way);
	of->n--;
	of->calls->n--;
	if (of->on_end)
		of->on_end(fl);
	credential_unref(fl->cred);
	free(fl);
}

static void on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct flight *fl = (void *)((char *)c - offsetof(struct flight, call));
	struct flights *of = fl->of;
	struct ground *g = of->calls->g;
	uint64_t now_us = up->sent_us + up->latency_us;

	ground_set_time(g, now_us);
	if (kind == REPLY_NONE) {
		budget_lost(g->budget, fl->bytes);
	} else {
		metrics_add(g->metrics, of->bytes, up->rec->len);
		if (!fl->asked)
			hold_received(g->hold, fl->bytes, up->rec->len);
		budget_received(g->budget, fl->bytes, up->rec->len, now_us);
	}
	if (res && c->proc->prog != MOUNT_PROGRAM &&
	    res->status == NFS3ERR_JUKEBOX)
		budget_pause(g->budget, now_us + PAUSE_US);
	of->on_reply(fl, kind, res, up, now_us);
	flight_end(fl);
	ground_wake(g, now_us);
}

void *flight_new(struct flights *of, size_t size, struct credential *cred,
    const struct nfs_proc *proc)
{
	struct flight *fl = calloc(1, size);

	if (!fl)
		return NULL;
	fl->of = of;
	fl->call.proc = proc;
	fl->call.cred_id = credential_id(cred);
	fl->call.on_reply = on_reply;
	fl->cred = credential_ref(cred);
	LIST_INSERT_HEAD(&of->list, fl, link);
	LIST_INSERT_HEAD(&of->calls->under_way, fl, under_way);
	of->n++;
	of->calls->n++;
	return fl;
}

void flight_set_args(struct flight *fl, const union nfs_args *args)
{
	fl->call.args = *args;
	if (fl->call.proc->prog == MOUNT_PROGRAM)
		return;
	memcpy(fl->fh, args->object.data, args->object.len);
	fl->call.args.object.data = fl->fh;
}

bool flight_send(struct flight *fl, const struct fetch_about *about,
    uint64_t bytes, uint64_t now_us)
{
	struct ground *g = fl->of->calls->g;

	if (!owncall_send(&fl->call, g->fetch, credential_rpc(fl->cred), about,
		fl->encoded, sizeof(fl->encoded))) {
		flight_end(fl);
		return false;
	}
	fl->bytes = bytes;
	fl->sent_us = now_us;
	budget_sent(g->budget, bytes, now_us);
	if (!fl->asked)
		hold_sent(g->hold, bytes, now_us);
	metrics_add(g->metrics, fl->of->sent, 1);
	return true;
}

void flights_free(struct flights *of)
{
	struct flight *fl;

	/* Calls under way are forgotten with fetch. */
	while ((fl = LIST_FIRST(&of->list)) != NULL) {
		(void)fetch_cancel(of->calls->g->fetch, &fl->call.waiter);
		flight_end(fl);
	}
}
