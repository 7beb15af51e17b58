/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch reload`: begins a reload, and tells what came of it. */
#include <stdlib.h>

#include "control/control_reply_private.h"

struct reload_waiting {
	struct control_work work; /* first */
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
