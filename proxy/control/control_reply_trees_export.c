/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access trees as a file. They are copied, a part in each turn of the loop,
 * since the predictor learns on meanwhile; then a thread packs the copy, which
 * takes too long for the loop. */
#include <errno.h>
#include <stdlib.h>

#include "base/iopool.h"
#include "control/control_reply_trees_private.h"
#include "predictor/persist/persist.h"

/* Steps of the copy in a turn: about half a millisecond. */
enum { EXPORT_STEPS = 64 }; /* in a turn: about half a millisecond */

/* The thread's part of an export. While the job is under way it belongs to
 * nobody else: a client that goes marks it `abandoned`, and it frees itself at
 * the end. */
struct packing {
	struct iopool_job job;
	struct predictor_snapshot *snapshot;
	void *data;
	size_t len;
	/* Read and written on the loop alone, after `done` was called there. */
	bool over, abandoned;
};

/* An export that is under way; the session owns it. */
struct exporting {
	struct control_work work;
	struct predictor_snapshot *snapshot; /* while it is made */
	struct packing *packing;             /* once the snapshot is complete */
};

static void packing_free(struct packing *k)
{
	predictor_snapshot_free(k->snapshot);
	free(k->data);
	free(k);
}

/* Called in a thread of the pool, which alone touches the packing until
 * packing_on_done() is called on the loop. */
static void packing_on_run(struct iopool_job *job)
{
	struct packing *k = (struct packing *)job;

	k->data = predictor_snapshot_pack(k->snapshot, &k->len);
	predictor_snapshot_free(k->snapshot);
	k->snapshot = NULL;
}

static void packing_on_done(struct iopool_job *job)
{
	struct packing *k = (struct packing *)job;

	k->over = true;
	if (k->abandoned)
		packing_free(k);
}

static void exporting_free(struct control_work *w)
{
	struct exporting *e = (struct exporting *)w;

	predictor_snapshot_free(e->snapshot);
	if (e->packing && !e->packing->over)
		e->packing->abandoned = true;
	else if (e->packing)
		packing_free(e->packing);
	free(e);
}

/* The export that is under way, or a new one; NULL: later, or after an error.
 */
static struct exporting *exporting_get(const struct trees *t)
{
	bool begun;
	struct exporting *e =
	    reply_work(t->r, sizeof(*e), exporting_free, &begun);

	if (!e || !begun)
		return e;
	trees_drop_blob(t->r->session);
	e->snapshot = predictor_snapshot_trees(t->p, t->uid);
	if (e->snapshot)
		return e;
	trees_error(t->r, -errno);
	return NULL;
}

/* The copy is complete: has a thread pack it, or makes the response an error
 * where the trees were cleared meanwhile. */
static void pack(const struct trees *t, struct exporting *e)
{
	struct packing *k;

	if (predictor_snapshot_error(e->snapshot)) {
		trees_error(t->r, predictor_snapshot_error(e->snapshot));
		return;
	}
	k = calloc(1, sizeof(*k));
	if (!k) {
		t->r->arena.failed = true;
		return;
	}
	k->job.run = packing_on_run;
	k->job.done = packing_on_done;
	k->snapshot = e->snapshot;
	e->snapshot = NULL;
	e->packing = k;
	t->r->later = true;
	t->r->ops->submit(t->r->ctx, &k->job);
}

bool trees_export(const struct trees *t)
{
	struct control_session *s = t->r->session;
	struct exporting *e = exporting_get(t);

	if (!e)
		return false;
	if (e->snapshot) {
		t->r->later =
		    !predictor_snapshot_step(e->snapshot, EXPORT_STEPS);
		if (!t->r->later)
			pack(t, e);
		return false;
	}
	t->r->later = !e->packing->over;
	if (t->r->later)
		return false;
	s->blob = e->packing->data;
	s->blob_len = e->packing->len;
	e->packing->data = NULL;
	if (!s->blob)
		trees_error(t->r, -ENOMEM);
	return s->blob != NULL;
}
