/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "linkwatch.h"

#include <stdlib.h>

#include "fetch.h"
#include "nfs_proc.h"

enum { AWAY_US = 3000000 };

struct linkwatch {
	struct fetch *fetch;
	struct upstream *nfs;
	struct upstream *mount;
	uint64_t up_us; /* when there was a connection last */
	bool away;
	struct fetch_waiter probe;
	struct rpc_cred cred; /* AUTH_NONE: nobody's */
};

static void on_reply(struct fetch_waiter *w, const struct upstream_result *up)
{
	struct linkwatch *lw =
	    (void *)((char *)w - offsetof(struct linkwatch, probe));

	/* Whatever it says, it is there. */
	(void)up;
	lw->away = false;
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
	if (lw && lw->probe.flight)
		(void)fetch_cancel(lw->fetch, &lw->probe);
	free(lw);
}

static void ask(struct linkwatch *lw)
{
	struct upstream_request req = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_NULL),
	    .cred = &lw->cred,
	    .alone = true};

	/* Without memory the next second will do. */
	if (!lw->probe.flight)
		(void)fetch_start(lw->fetch, &req, NULL, &lw->probe);
}

static bool silent(
    const struct linkwatch *lw, uint64_t waiting_us, uint64_t now_us)
{
	uint64_t nfs_us = upstream_last_rx_us(lw->nfs);
	uint64_t mount_us = upstream_last_rx_us(lw->mount);

	return waiting_us != 0 && now_us - waiting_us >= AWAY_US &&
	       nfs_us < waiting_us && mount_us < waiting_us;
}

bool linkwatch_away(struct linkwatch *lw, uint64_t waiting_us, uint64_t now_us)
{
	struct upstream_status st;

	upstream_get_status(lw->nfs, &st);
	if (st.state == UPSTREAM_UP)
		lw->up_us = now_us;
	if (!lw->away)
		lw->away = now_us - lw->up_us >= AWAY_US ||
			   silent(lw, waiting_us, now_us);
	if (lw->away)
		ask(lw);
	return lw->away;
}
