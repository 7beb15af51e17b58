/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access trees from a file. When its last part has come, a thread unpacks and
 * checks it, since anybody may have written it; then it is added, a part in
 * each turn of the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/iopool.h"
#include "control/control_reply_trees_private.h"
#include "prefetch/prefetch.h"

/* Bounds of an import. */
enum {
	/* Bytes of a file, which are in memory until they are unpacked. */
	IMPORT_MAX = 4 << 20,
	/* Steps of adding, and of looking for trees, in a turn: about half a
	 * millisecond. */
	IMPORT_STEPS = 64,
	LIST_STEPS = 256,
};

/* A file in the hands of the thread. Whoever finds it done frees it: the work
 * that waits for it, or, if its client has gone, the end of the job. */
struct unpacking {
	struct iopool_job job;
	void *data;
	size_t len;
	struct predictor_import *import;
	int error;
	bool over, abandoned;
};

/* An import whose last part has come; the session owns it. */
struct importing {
	struct control_work work;
	/* Being gone through to see whether the uid has trees; NULL for a
	 * merge, and afterwards. */
	struct trees_list *list;
	/* The file in the hands of a thread; NULL until the list was looked
	 * at. */
	struct unpacking *unpacking;
};

static void unpacking_free(struct unpacking *k)
{
	predictor_import_free(k->import);
	free(k->data);
	free(k);
}

/* Called in a thread of the pool: unpacks the file and checks all of it, so
 * that the loop adds only what is well-formed. */
static void unpacking_on_run(struct iopool_job *job)
{
	struct unpacking *k = (struct unpacking *)job;

	k->import = predictor_import_new(k->data ? k->data : "", k->len);
	k->error = k->import ? 0 : -errno;
	free(k->data);
	k->data = NULL;
}

static void unpacking_on_done(struct iopool_job *job)
{
	struct unpacking *k = (struct unpacking *)job;

	k->over = true;
	if (k->abandoned)
		unpacking_free(k);
}

static void importing_free(struct control_work *w)
{
	struct importing *m = (struct importing *)w;

	trees_list_free(m->list);
	if (m->unpacking && !m->unpacking->over)
		m->unpacking->abandoned = true;
	else if (m->unpacking)
		unpacking_free(m->unpacking);
	free(m);
}

/* Appends the part that the request brings. An offset other than the bytes that
 * are there means that the client has lost its place. 0 or -errno. */
static int take(const struct trees *t)
{
	struct control_session *s = t->r->session;
	const ProtobufCBinaryData *data = &t->request->data;
	void *blob;

	if (t->request->offset == 0)
		trees_drop_blob(s);
	if (t->request->offset != s->blob_len)
		return -EBADMSG;
	if (s->blob_len + data->len > IMPORT_MAX)
		return -EFBIG;
	if (data->len == 0)
		return 0;
	blob = realloc(s->blob, s->blob_len + data->len);
	if (!blob)
		return -ENOMEM;
	memcpy((char *)blob + s->blob_len, data->data, data->len);
	s->blob = blob;
	s->blob_len += data->len;
	return 0;
}

/* The bytes are complete: have a thread unpack them. */
static int unpack(const struct trees *t, struct importing *m)
{
	struct control_session *s = t->r->session;
	struct unpacking *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->job.run = unpacking_on_run;
	k->job.done = unpacking_on_done;
	k->data = s->blob;
	k->len = s->blob_len;
	s->blob = NULL;
	s->blob_len = 0;
	m->unpacking = k;
	t->r->later = true;
	t->r->ops->submit(t->r->ctx, &k->job);
	return 0;
}

/* An import into trees that are there would mix the two without asking, so it
 * is refused: the user has to say merge. */
static int look(const struct trees *t, struct importing *m)
{
	struct predictor_tree none;
	ssize_t trees;
	size_t shown;

	t->r->later = !trees_list_step(m->list, LIST_STEPS);
	if (t->r->later)
		return 0;
	trees = trees_list_end(m->list, &none, &shown);
	trees_list_free(m->list);
	m->list = NULL;
	if (trees != 0)
		return trees < 0 ? (int)trees : -EEXIST;
	return unpack(t, m);
}

/* Adds a part of the file, once it is unpacked. 0 or -errno. */
static int add(const struct trees *t, struct importing *m)
{
	struct unpacking *k = m->unpacking;

	if (k->over && k->error)
		return k->error;
	t->r->later = !k->over || !predictor_import_step(
				      k->import, t->p, t->uid, IMPORT_STEPS);
	if (t->r->later)
		return 0;
	/* An error may have come after a part of it was added. */
	prefetch_edited(t->server.prefetch);
	return predictor_import_error(k->import);
}

/* The last part of the file came: begins with the list for an import, with the
 * thread for a merge. */
static int begin(const struct trees *t, struct importing *m, bool merge)
{
	int rc = take(t);

	if (rc < 0)
		return rc;
	if (merge)
		return unpack(t, m);
	m->list = trees_list_new(t->p, t->uid, 0);
	return m->list ? look(t, m) : -ENOMEM;
}

/* Does as much of the import as fits in this turn: 0, or -errno, after which
 * nothing more is done. */
static int go_on(const struct trees *t, bool merge)
{
	bool begun;
	struct importing *m;

	/* The bytes are gone, and a part of them may have been added. */
	if (t->r->session->restarted)
		return -ESTALE;
	/* It does not count as work until all of it is there. */
	if (t->request->more)
		return take(t);
	m = reply_work(t->r, sizeof(*m), importing_free, &begun);
	if (!m)
		return 0;
	if (begun)
		return begin(t, m, merge);
	return m->list ? look(t, m) : add(t, m);
}

/* Reports an error once, and gives the memory of the file back. */
void trees_import(const struct trees *t, bool merge)
{
	int rc;

	if (!t->r->session->work && !reply_may_carry(t->r))
		return;
	rc = go_on(t, merge);
	if (rc == 0)
		return;
	trees_drop_blob(t->r->session);
	trees_error(t->r, rc);
}
