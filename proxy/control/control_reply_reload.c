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

void reply_reload(struct reply *r, const Forefetch__Request *request)
{
	Forefetch__Reloaded *out;
	struct reload_waiting *w;
	bool begun;

	(void)request;
	if (!reply_is_owner(r, "only root and the user that forefetchd runs as "
			       "may reload its configuration"))
		return;
	w = reply_work(r, sizeof(*w), waiting_free, &begun);
	out = arena_message(&r->arena, &forefetch__reloaded__descriptor);
	if (!w || !out)
		return;
	w->work.no_server = true;
	r->later = !r->ops->reload(r->ctx, &w->ticket, &r->arena, out);
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_RELOAD;
	r->res.reload = out;
}
