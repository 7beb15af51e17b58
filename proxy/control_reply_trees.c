/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access trees: a user's own; root's are everybody's. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control_reply_private.h"
#include "objnames.h"
#include "persist.h"
#include "trees.h"

enum {
	LIST_MAX = 1000,
	SHOW_MAX = 512 << 10, /* bytes of a tree, as text */
	NAMES_MAX = 65536,    /* of one tree */
	CHUNK = 512 << 10,    /* of what is exported, in one answer */
	IMPORT_MAX = 4 << 20,
};

/* One command. */
struct trees {
	struct reply *r;
	const Forefetch__TreesRequest *request;
	struct predictor *p;
	const char *server;
	uint64_t uid;
	Forefetch__Trees *out;
};

static void trees_error(struct reply *r, int error)
{
	switch (error) {
	case -ENOENT:
		reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_TREE,
		    "there is no such access tree of yours");
		return;
	case -EEXIST:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "there are access trees of yours already; merge, or clear "
		    "them first");
		return;
	case -EBADMSG:
	case -EINVAL:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "the file does not hold exported access trees, or is "
		    "damaged");
		return;
	case -EPROTONOSUPPORT:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "the file is of a newer release");
		return;
	case -EFBIG:
		reply_error(r, FOREFETCH__ERROR_CODE__TOO_LARGE,
		    "that is more than one user may bring");
		return;
	case -ENOSPC:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "there are access trees of too many users already");
		return;
	default:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd has too little memory to do it");
	}
}

/* ---- list ------------------------------------------------------------- */

static void fill_tree(struct reply *r, const struct predictor_tree *t,
    const char *name, Forefetch__Tree *msg)
{
	char *copy;

	forefetch__tree__init(msg);
	msg->id = t->id;
	msg->all_uids = t->uid == TREES_ALL;
	msg->uid = (uint32_t)t->uid;
	msg->objects = t->objects;
	msg->uses = t->uses;
	msg->age = t->age;
	msg->program = t->program;
	msg->session = t->session;
	copy = name ? reply_alloc(r, strlen(name) + 1, 1) : NULL;
	if (!copy)
		return;
	strcpy(copy, name);
	msg->name.data = (uint8_t *)copy;
	msg->name.len = strlen(name);
}

static void name_them(const struct trees *t, struct objname *names, size_t n)
{
	t->r->ops->name_objects(t->r->ctx, t->server, t->r->peer, names, n);
}

static void list(const struct trees *t)
{
	struct predictor_tree *found =
	    reply_alloc(t->r, LIST_MAX, sizeof(*found));
	struct objname *names = reply_alloc(t->r, LIST_MAX, sizeof(*names));
	Forefetch__Tree *msg = reply_alloc(t->r, LIST_MAX, sizeof(*msg));
	ssize_t n;
	size_t shown;

	t->out->trees = reply_alloc(t->r, LIST_MAX, sizeof(*t->out->trees));
	if (t->r->failed)
		return;
	n = predictor_trees(t->p, t->uid, found, LIST_MAX);
	if (n < 0) {
		trees_error(t->r, (int)n);
		return;
	}
	shown = (size_t)(n < LIST_MAX ? n : LIST_MAX);
	for (size_t i = 0; i < shown; i++)
		names[i].object = found[i].root;
	name_them(t, names, shown);
	for (size_t i = 0; i < shown; i++) {
		fill_tree(t->r, &found[i],
		    objnames_find(names, shown, found[i].root), &msg[i]);
		t->out->trees[i] = &msg[i];
	}
	objnames_clear(names, shown);
	t->out->n_trees = shown;
	t->out->total = (uint64_t)n;
}

/* ---- show ------------------------------------------------------------- */

struct names {
	struct objname *list;
	size_t n;
	bool known;
};

/* In a first pass, objects are gathered; in a second one they have names. */
static const char *name_of(void *ctx, uint64_t object)
{
	struct names *names = ctx;

	if (names->known)
		return objnames_find(names->list, names->n, object);
	if (names->n < NAMES_MAX)
		names->list[names->n++].object = object;
	return NULL;
}

/* The text, to be freed, or NULL. */
static int text_of(
    const struct trees *t, struct names *names, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);
	int rc;

	if (!out)
		return -ENOMEM;
	rc = predictor_show_tree(
	    t->p, t->uid, t->request->id, out, name_of, names);
	if (fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	return rc;
}

static void show(const struct trees *t)
{
	struct names names = {
	    .list = reply_alloc(t->r, NAMES_MAX, sizeof(*names.list))};
	char *text = NULL, *copy;
	size_t len = 0;
	int rc;

	if (!names.list)
		return;
	rc = text_of(t, &names, &text, &len);
	free(text);
	text = NULL;
	if (rc == 0) {
		name_them(t, names.list, names.n);
		names.known = true;
		rc = text_of(t, &names, &text, &len);
	}
	objnames_clear(names.list, names.n);
	if (rc < 0) {
		free(text);
		trees_error(t->r, rc);
		return;
	}
	t->out->more = len > SHOW_MAX;
	len = len > SHOW_MAX ? SHOW_MAX : len;
	copy = reply_alloc(t->r, len + 1, 1);
	if (copy)
		memcpy(copy, text, len);
	free(text);
	t->out->data.data = (uint8_t *)copy;
	t->out->data.len = len;
}

/* ---- files ------------------------------------------------------------ */

static void drop(struct control_session *s)
{
	free(s->blob);
	s->blob = NULL;
	s->blob_len = 0;
}

/* What is exported at first is given out in parts. */
static void export(const struct trees *t)
{
	struct control_session *s = t->r->session;
	uint64_t offset = t->request->offset;
	uint8_t *copy;
	size_t len;

	if (offset == 0) {
		drop(s);
		s->blob = predictor_export_trees(t->p, t->uid, &s->blob_len);
		if (!s->blob) {
			trees_error(t->r, -errno);
			return;
		}
	}
	if (offset > s->blob_len)
		offset = s->blob_len;
	len = s->blob_len - (size_t)offset;
	t->out->more = len > CHUNK;
	len = len > CHUNK ? CHUNK : len;
	copy = reply_alloc(t->r, len + 1, 1);
	if (!copy)
		return;
	if (len > 0)
		memcpy(copy, (char *)s->blob + offset, len);
	t->out->data.data = copy;
	t->out->data.len = len;
	if (!t->out->more)
		drop(s);
}

static int take(const struct trees *t)
{
	struct control_session *s = t->r->session;
	const ProtobufCBinaryData *data = &t->request->data;
	void *blob;

	if (t->request->offset == 0)
		drop(s);
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

static void import(const struct trees *t, bool merge)
{
	struct control_session *s = t->r->session;
	int rc = take(t);

	if (rc == 0 && t->request->more)
		return;
	if (rc == 0 && !merge && predictor_trees(t->p, t->uid, NULL, 0) > 0)
		rc = -EEXIST;
	if (rc == 0)
		rc = predictor_import_trees(
		    t->p, t->uid, s->blob ? s->blob : "", s->blob_len);
	drop(s);
	if (rc < 0)
		trees_error(t->r, rc);
	else
		t->r->ops->trees_changed(t->r->ctx, t->server);
}

static void clear(const struct trees *t)
{
	int rc;

	if (t->request->id)
		rc = predictor_clear_tree(t->p, t->uid, t->request->id);
	else if (t->uid == TREES_ALL)
		rc = predictor_clear(t->p);
	else
		rc = predictor_clear_uid(t->p, t->uid);
	if (rc < 0)
		trees_error(t->r, rc);
	else
		t->r->ops->trees_changed(t->r->ctx, t->server);
}

static void act(const struct trees *t)
{
	switch (t->request->action) {
	case FOREFETCH__TREES_ACTION__LIST:
		list(t);
		return;
	case FOREFETCH__TREES_ACTION__SHOW:
		show(t);
		return;
	case FOREFETCH__TREES_ACTION__EXPORT:
		export(t);
		return;
	case FOREFETCH__TREES_ACTION__IMPORT:
		import(t, false);
		return;
	case FOREFETCH__TREES_ACTION__MERGE:
		import(t, true);
		return;
	case FOREFETCH__TREES_ACTION__CLEAR:
		clear(t);
		return;
	default:
		reply_error(t->r, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND,
		    "forefetchd does not know this command");
	}
}

void reply_trees(struct reply *r, const Forefetch__TreesRequest *request)
{
	struct trees t = {.r = r, .request = request};

	t.uid = r->peer->uid == 0 ? TREES_ALL : r->peer->uid;
	t.server = reply_one_server(r, &request->server);
	if (!t.server)
		return;
	t.p = r->ops->predictor(r->ctx, t.server);
	t.out = reply_alloc(r, 1, sizeof(*t.out));
	if (!t.out)
		return;
	forefetch__trees__init(t.out);
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_TREES;
	r->res.trees = t.out;
	act(&t);
}
