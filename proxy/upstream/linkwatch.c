/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out whether the server is away. A NULL asks it when calls wait and
 * nothing comes. server.c in daemon/ calls linkwatch_away() each second and
 * tells svc the outcome. */
#include "upstream/linkwatch.h"

#include <stdlib.h>

#include "base/uint.h"
#include "nfsproto/nfs_proc.h"
#include "upstream/fetch.h"

enum {
	/* The server is away after so long without a connection, or without an
	 * answer to a NULL. */
	AWAY_US = 3000000,
	/* A NULL is sent when nothing came for so long while a call waits. */
	ASK_US = 1000000,
};

struct linkwatch {
	struct fetch *fetch;
	struct upstream *nfs;
	struct upstream *mount;
	uint64_t up_us; /* when there was a connection last */
	/* When the NULL was sent, or the server was last seen to live since
	 * then; 0: no NULL is under way. */
	uint64_t asked_us;
	bool away;
	struct fetch_waiter probe;
	struct rpc_cred cred; /* AUTH_NONE: nobody's */
};

static void on_reply(struct fetch_waiter *w, const struct upstream_result *up)
{
	struct linkwatch *lw = container_of(w, struct linkwatch, probe);

	/* An answer of any kind shows that the server is there. */
	(void)up;
	lw->away = false;
	lw->asked_us = 0;
}

static const struct fetch_ops ops = {.on_reply = on_reply};

struct linkwatch *linkwatch_new(struct fetch *fetch, struct upstream *nfs,
    struct upstream *mount, uint64_t now_us)
{
	struct linkwatch *lw = calloc(1, sizeof(*lw));

	if (!lw)
		return NULL;
	lw->fetch = fetch;
	lw->nfs = nfs;
	lw->mount = mount;
	lw->up_us = now_us;
	lw->probe.ops = &ops;
	return lw;
}

void linkwatch_free(struct linkwatch *lw)
{
	if (lw)
		(void)fetch_cancel(lw->fetch, &lw->probe);
	free(lw);
}

/* Sends a NULL, unless one is under way. It joins no client's call, since those
 * may be given up. */
static void ask(struct linkwatch *lw, uint64_t now_us)
{
	struct upstream_request req = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_NULL),
	    .cred = &lw->cred,
	    .alone = true};

	if (lw->probe.flight)
		return;
	/* Without memory it is asked in the next second. */
	if (fetch_start(lw->fetch, &req, NULL, &lw->probe) == 0)
		lw->asked_us = now_us;
}

/* Returns when bytes last came from the server. */
static uint64_t heard_us(const struct linkwatch *lw)
{
	uint64_t nfs_us = upstream_last_rx_us(lw->nfs);
	uint64_t mount_us = upstream_last_rx_us(lw->mount);

	return nfs_us > mount_us ? nfs_us : mount_us;
}

/* Whether a call waits, and nothing has come for a second. */
static bool silent(
    const struct linkwatch *lw, uint64_t waiting_us, uint64_t now_us)
{
	uint64_t since_us = heard_us(lw);

	if (waiting_us == 0)
		return false;
	if (waiting_us > since_us)
		since_us = waiting_us;
	return now_us > since_us && now_us - since_us >= ASK_US;
}

/*
 * Whether a NULL has been unanswered for too long. It may lie behind what was
 * written before it: as long as that goes out, the server takes it.
 */
static bool unanswered(struct linkwatch *lw, uint64_t now_us)
{
	if (!lw->probe.flight || lw->asked_us == 0)
		return false;
	if (heard_us(lw) > lw->asked_us || upstream_is_sending(lw->nfs))
		lw->asked_us = now_us;
	return now_us - lw->asked_us >= AWAY_US;
}

bool linkwatch_away(struct linkwatch *lw, uint64_t waiting_us, uint64_t now_us)
{
	struct upstream_status st;

	upstream_get_status(lw->nfs, &st);
	if (st.state == UPSTREAM_UP)
		lw->up_us = now_us;
	if (!lw->away)
		lw->away =
		    now_us - lw->up_us >= AWAY_US || unanswered(lw, now_us);
	if (lw->away || silent(lw, waiting_us, now_us))
		ask(lw, now_us);
	return lw->away;
}
