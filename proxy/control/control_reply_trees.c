/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access trees: a user's own; root's are everybody's. Commands about them, and
 * how they are cleared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_reply_trees_private.h"
#include "predictor/persist/persist.h"
#include "prefetch/prefetch.h"

enum {
	CHUNK = 512 << 10, /* of what is exported, in one answer */
	/* In a turn: about half a millisecond. */
	CLEAR_STEPS = 64,
};

/* `error` is a negative errno of the predictor or of this folder. */
void trees_error(struct reply *r, int error)
{
	static const struct reply_why whys[] = {
	    {ENOENT, FOREFETCH__ERROR_CODE__NO_SUCH_TREE,
		"you have no such access tree"},
	    {EEXIST, FOREFETCH__ERROR_CODE__FAILED,
		"you have access trees already; merge, or clear them first"},
	    {ESTALE, FOREFETCH__ERROR_CODE__FAILED,
		"meanwhile the access trees were cleared, or the servers "
		"changed; try again"},
	    {EAGAIN, FOREFETCH__ERROR_CODE__BUSY,
		"what was learned before is being loaded from the disk; try "
		"again"},
	    {EBADMSG, FOREFETCH__ERROR_CODE__FAILED,
		"the file contains no exported access trees, or is damaged"},
	    {EINVAL, FOREFETCH__ERROR_CODE__FAILED,
		"the file contains no exported access trees, or is damaged"},
	    {EPROTONOSUPPORT, FOREFETCH__ERROR_CODE__FAILED,
		"the file was written by a newer release"},
	    {EFBIG, FOREFETCH__ERROR_CODE__TOO_LARGE,
		"the file is larger than one user may import"},
	    {ENOSPC, FOREFETCH__ERROR_CODE__FAILED,
		"access trees of too many users are kept already"},
	    {0},
	};

	reply_errno(r, whys, -error);
}

/* ---- files ------------------------------------------------------------ */

void trees_drop_blob(struct control_session *s)
{
	free(s->blob);
	s->blob = NULL;
	s->blob_len = 0;
}

/* Gives out an export in parts: the first request has it packed into the
 * session's blob, the next ones take a part each, and the last part frees it.
 * An offset beyond the end is answered with nothing. */
static void export(const struct trees *t)
{
	struct control_session *s = t->r->session;
	uint64_t offset = t->request->offset;
	uint8_t *copy;
	size_t len;

	if (!reply_may_carry(t->r) || (offset == 0 && !trees_export(t)))
		return;
	if (offset > s->blob_len)
		offset = s->blob_len;
	len = s->blob_len - (size_t)offset;
	t->out->more = len > CHUNK;
	len = len > CHUNK ? CHUNK : len;
	copy = arena_alloc(&t->r->arena, len + 1, 1);
	if (!copy)
		return;
	if (len > 0)
		memcpy(copy, (char *)s->blob + offset, len);
	t->out->data.data = copy;
	t->out->data.len = len;
	if (!t->out->more)
		trees_drop_blob(s);
}

/* ---- clearing --------------------------------------------------------- */

struct clearing {
	struct control_work work;
	struct predictor_clear *clear;
};

static void clearing_free(struct control_work *w)
{
	predictor_clear_free(((struct clearing *)w)->clear);
	free(w);
}

/* A part of it. Where nobody waits for the end, what is forgotten by then stays
 * so, and is to be saved. */
static int clear_some(const struct trees *t)
{
	struct clearing *k;
	bool begun;
	int rc;

	/* It may have been nearly over: another try would find no such tree. */
	if (t->r->session->restarted)
		return -ESTALE;
	k = reply_work(t->r, sizeof(*k), clearing_free, &begun);
	if (!k)
		return 0;
	if (begun) {
		k->clear = predictor_clear_new(t->p, t->uid, t->request->id);
		t->r->later = k->clear != NULL;
		return k->clear ? 0 : -errno;
	}
	t->r->later = !predictor_clear_step(k->clear, CLEAR_STEPS);
	rc = predictor_clear_error(k->clear);
	if (rc == 0)
		prefetch_edited(t->server.prefetch);
	return rc;
}

static void clear(const struct trees *t)
{
	bool all = t->uid == TREES_ALL && !t->request->id;
	int rc = all ? prefetch_clear(t->server.prefetch) : clear_some(t);

	if (rc < 0)
		trees_error(t->r, rc);
}

/* ---- commands --------------------------------------------------------- */

static void act(const struct trees *t)
{
	switch (t->request->action) {
	case FOREFETCH__TREES_ACTION__LIST:
		trees_list(t);
		return;
	case FOREFETCH__TREES_ACTION__SHOW:
		trees_show(t);
		return;
	case FOREFETCH__TREES_ACTION__EXPORT:
		export(t);
		return;
	case FOREFETCH__TREES_ACTION__IMPORT:
		trees_import(t, false);
		return;
	case FOREFETCH__TREES_ACTION__MERGE:
		trees_import(t, true);
		return;
	case FOREFETCH__TREES_ACTION__CLEAR:
		clear(t);
		return;
	default:
		reply_unknown_command(t->r);
	}
}

void reply_trees(struct reply *r, const Forefetch__Request *request, void *out)
{
	struct trees t = {.r = r, .request = request->trees, .out = out};

	t.uid = r->peer->uid == 0 ? TREES_ALL : r->peer->uid;
	if (!reply_server(r, &request->trees->server, &t.server))
		return;
	t.p = prefetch_predictor(t.server.prefetch);
	/* Half of it must be neither shown nor changed. */
	if (!r->session->work && prefetch_loads(t.server.prefetch)) {
		trees_drop_blob(r->session);
		trees_error(r, -EAGAIN);
		return;
	}
	act(&t);
}
