/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch reload`: begins a reload, and tells what came of it. The request
 * waits until each server that is added or replaced serves or has failed, which
 * takes seconds; the ticket tells the daemon which reload it waits for. */
#include <stdlib.h>

#include "control/control_reply_private.h"

/* The wait of one request. */
struct reload_waiting {
	struct control_work work; /* first */
	/* The daemon's number of this reload; 0: it was not begun yet. */
	uint64_t ticket;
};

static void waiting_free(struct control_work *w)
{
	free(w);
}

void reply_reload(struct reply *r, const Forefetch__Request *request, void *out)
{
	bool begun;
	struct reload_waiting *w =
	    reply_work(r, sizeof(*w), waiting_free, &begun);

	(void)request;
	if (!w)
		return;
	w->work.no_server = true;
	r->later = !r->ops->reload(r->ctx, &w->ticket, &r->arena, out);
}
