/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes, looks up and removes the files that calls are about; workset.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "clock.h"
#include "workset.h"

#define RING_BYTES  1048583u /* the first prime above 1 MiB */
#define RING_SPREAD 40503u   /* bytes between the starts of two files */
#define CHUNK       262144u  /* bytes of a WRITE in set-up */
#define NAME_ROOM   24

struct workset {
	const struct options *o;
	char name[48];
	char *ring; /* RING_BYTES and, once more, the first MiB */
	uint32_t items_per_file;
	bool has_content;
	bool made;
};

struct view {
	struct workset *ws;
	struct target *t;
	struct fhandle dir, new_dir;
	struct fhandle *file;
	uint32_t created; /* names given to CREATE calls */
	uint32_t swept;   /* of them, removed again */
};

static void file_name(char *buf, size_t size, uint32_t i)
{
	snprintf(buf, size, "f%06u", i);
}

static void new_name(char *buf, size_t size, uint32_t i)
{
	snprintf(buf, size, "n%08u", i);
}

static const char *content_at(
    const struct workset *ws, uint32_t file, uint64_t offset)
{
	return ws->ring + ((uint64_t)file * RING_SPREAD + offset) % RING_BYTES;
}

struct workset *workset_new(const struct options *o)
{
	struct workset *ws = calloc(1, sizeof(*ws));
	uint64_t state = o->seed;

	if (!ws)
		return NULL;
	ws->o = o;
	ws->has_content = o->weight[CALL_READ] || o->weight[CALL_WRITE];
	ws->items_per_file =
	    ws->has_content ? (uint32_t)(o->file_size / o->size) : 1;
	ws->ring = malloc(RING_BYTES + (1u << 20));
	if (!ws->ring) {
		free(ws);
		return NULL;
	}
	for (uint32_t i = 0; i < RING_BYTES; i++)
		ws->ring[i] = (char)(prng_next(&state) >> 56);
	memcpy(ws->ring + RING_BYTES, ws->ring, 1u << 20);
	return ws;
}

void workset_free(struct workset *ws)
{
	if (!ws)
		return;
	free(ws->ring);
	free(ws);
}

const char *workset_name(const struct workset *ws)
{
	return ws->name;
}

uint32_t workset_items(const struct workset *ws)
{
	return ws->items_per_file * ws->o->files;
}

/* --dir, one name after the other. */
static int find_parent(struct workset *ws, struct target *t,
    struct fhandle *dir, char *why, size_t why_size)
{
	char path[sizeof(ws->o->dir)];
	char *rest = path, *name;

	memcpy(path, ws->o->dir, sizeof(path));
	*dir = *target_root(t);
	while ((name = strsep(&rest, "/"))) {
		struct call c = {.op = CALL_LOOKUP, .fh = dir, .name = name};
		int err;

		if (!*name)
			continue;
		err = batch_call(target_connection(t, 0), &c, ws->o->timeout_ns,
		    why, why_size);
		if (err) {
			size_t len = strlen(why);

			snprintf(why + len, why_size - len, " for %s of --dir",
			    name);
			return err;
		}
		*dir = c.found;
	}
	return 0;
}

static int make_dir(struct target *t, const struct fhandle *parent,
    const char *name, struct fhandle *dir, char *why, size_t why_size,
    uint64_t timeout_ns)
{
	struct call c = {.op = CALL_MKDIR, .fh = parent, .name = name};
	int err =
	    batch_call(target_connection(t, 0), &c, timeout_ns, why, why_size);

	if (!err)
		*dir = c.found;
	return err;
}

/* Batches over the files of a view. */
struct files_job {
	struct view *v;
	enum call_op op;
	uint32_t first;
	uint32_t chunks; /* of a file */
	/* One for all: libnfs encodes a name as its call is queued. */
	char name[NAME_ROOM];
};

static void job_fill(void *arg, uint32_t i, struct call *c)
{
	struct files_job *j = arg;

	c->op = j->op;
	c->fh = &j->v->dir;
	c->name = j->name;
	file_name(j->name, sizeof(j->name), i);
}

static bool job_take(void *arg, uint32_t i, const struct call *c)
{
	struct files_job *j = arg;

	if (c->result != CALL_OK)
		return false;
	j->v->file[i] = c->found;
	return true;
}

static void write_fill(void *arg, uint32_t i, struct call *c)
{
	struct files_job *j = arg;
	const struct workset *ws = j->v->ws;
	uint32_t file = i / j->chunks;
	uint64_t left;

	c->op = CALL_WRITE;
	c->fh = &j->v->file[file];
	c->offset = (uint64_t)(i % j->chunks) * CHUNK;
	left = ws->o->file_size - c->offset;
	c->count = left < CHUNK ? (uint32_t)left : CHUNK;
	c->content = content_at(ws, file, c->offset);
}

static bool write_take(void *arg, uint32_t i, const struct call *c)
{
	(void)arg;
	(void)i;
	/* No server known takes less than it was offered. */
	return c->result == CALL_OK && c->value == c->count;
}

static void remove_fill(void *arg, uint32_t i, struct call *c)
{
	struct files_job *j = arg;

	c->op = CALL_REMOVE;
	c->name = j->name;
	if (j->op == CALL_CREATE) {
		c->fh = &j->v->new_dir;
		new_name(j->name, sizeof(j->name), j->first + i);
	} else {
		c->fh = &j->v->dir;
		file_name(j->name, sizeof(j->name), i);
	}
}

static bool remove_take(void *arg, uint32_t i, const struct call *c)
{
	(void)arg;
	(void)i;
	return c->result == CALL_OK ||
	       (c->result == CALL_STATUS && c->status == STATUS_NOENT);
}

static int run_job(struct view *v, struct batch *b, char *why, size_t why_size)
{
	b->timeout_ns = v->ws->o->timeout_ns;
	return batch_run(b, target_connection(v->t, 0), why, why_size);
}

static int on_files(struct view *v, enum call_op op, char *why, size_t why_size)
{
	struct files_job j = {.v = v, .op = op};
	struct batch b = {
	    .count = v->ws->o->files,
	    .fill = op == CALL_REMOVE ? remove_fill : job_fill,
	    .take = op == CALL_REMOVE ? remove_take : job_take,
	    .arg = &j,
	};

	return run_job(v, &b, why, why_size);
}

static int write_files(struct view *v, char *why, size_t why_size)
{
	const struct options *o = v->ws->o;
	struct files_job j = {.v = v};
	struct batch b = {
	    .fill = write_fill,
	    .take = write_take,
	    .arg = &j,
	};

	j.chunks = (uint32_t)((o->file_size + CHUNK - 1) / CHUNK);
	b.count = j.chunks * o->files;
	return run_job(v, &b, why, why_size);
}

static struct view *view_new(struct workset *ws, struct target *t)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->ws = ws;
	v->t = t;
	v->file = calloc(ws->o->files, sizeof(*v->file));
	if (!v->file) {
		free(v);
		return NULL;
	}
	return v;
}

void view_close(struct view *v)
{
	if (!v)
		return;
	free(v->file);
	free(v);
}

int workset_make(struct workset *ws, struct target *t, uint64_t unique,
    char *why, size_t why_size)
{
	struct view *v = view_new(ws, t);
	struct fhandle parent;
	uint64_t patience = ws->o->timeout_ns;
	int err = -ENOMEM;

	if (!v)
		return err;
	snprintf(ws->name, sizeof(ws->name), "nfsload-%016llx",
	    (unsigned long long)unique);
	err = find_parent(ws, t, &parent, why, why_size);
	if (!err)
		err = make_dir(
		    t, &parent, ws->name, &v->dir, why, why_size, patience);
	ws->made = !err;
	if (!err)
		err = make_dir(
		    t, &v->dir, "new", &v->new_dir, why, why_size, patience);
	if (!err)
		err = on_files(v, CALL_CREATE, why, why_size);
	if (!err && ws->has_content)
		err = write_files(v, why, why_size);
	view_close(v);
	return err;
}

static int look_up(struct view *v, const struct fhandle *parent,
    const char *name, struct fhandle *found, char *why, size_t why_size)
{
	struct call c = {.op = CALL_LOOKUP, .fh = parent, .name = name};
	int err = batch_call(target_connection(v->t, 0), &c,
	    v->ws->o->timeout_ns, why, why_size);

	if (!err)
		*found = c.found;
	return err;
}

/* The set's directory, and the one that it is in. */
static int look_up_dir(
    struct view *v, struct fhandle *parent, char *why, size_t why_size)
{
	int err = find_parent(v->ws, v->t, parent, why, why_size);

	if (err)
		return err;
	return look_up(v, parent, v->ws->name, &v->dir, why, why_size);
}

static int remove_dir(struct view *v, const struct fhandle *parent,
    const char *name, char *why, size_t why_size)
{
	struct call c = {.op = CALL_RMDIR, .fh = parent, .name = name};
	int err = batch_call(target_connection(v->t, 0), &c,
	    v->ws->o->timeout_ns, why, why_size);

	/* Gone already: an earlier removal was cut short. */
	if (c.result == CALL_STATUS && c.status == STATUS_NOENT)
		err = 0;
	return err;
}

int workset_remove(
    struct workset *ws, struct target *t, char *why, size_t why_size)
{
	struct view *v;
	struct fhandle parent;
	int err;

	if (!ws->made)
		return 0;
	v = view_new(ws, t);
	if (!v)
		return -ENOMEM;
	err = look_up_dir(v, &parent, why, why_size);
	if (!err)
		err = on_files(v, CALL_REMOVE, why, why_size);
	if (!err)
		err = remove_dir(v, &v->dir, "new", why, why_size);
	if (!err)
		err = remove_dir(v, &parent, ws->name, why, why_size);
	if (!err)
		ws->made = false;
	view_close(v);
	return err;
}

struct view *view_open(
    struct workset *ws, struct target *t, char *why, size_t why_size)
{
	struct view *v = view_new(ws, t);
	struct fhandle parent;

	if (!v) {
		snprintf(why, why_size, "out of memory");
		return NULL;
	}
	if (!look_up_dir(v, &parent, why, why_size) &&
	    !look_up(v, &v->dir, "new", &v->new_dir, why, why_size) &&
	    !on_files(v, CALL_LOOKUP, why, why_size))
		return v;
	view_close(v);
	return NULL;
}

void view_fill(struct view *v, enum call_op op, uint32_t item, struct call *c,
    char *name, size_t name_size)
{
	const struct workset *ws = v->ws;
	uint32_t file = item / ws->items_per_file;

	assert(file < ws->o->files);
	c->op = op;
	c->item = file;
	c->fh = &v->file[file];
	c->content = NULL;
	c->stable = ws->o->stable;
	c->offset = (uint64_t)(item % ws->items_per_file) * ws->o->size;
	c->count = ws->o->size;
	if (op == CALL_WRITE || (op == CALL_READ && ws->o->verify))
		c->content = content_at(ws, file, c->offset);
	if (op == CALL_LOOKUP) {
		c->fh = &v->dir;
		file_name(name, name_size, file);
	} else if (op == CALL_CREATE) {
		c->fh = &v->new_dir;
		new_name(name, name_size, v->created++);
	} else if (op == CALL_READDIR || op == CALL_READDIRPLUS) {
		c->fh = &v->dir;
	}
	c->name = name;
}

int view_sweep(struct view *v, char *why, size_t why_size)
{
	struct files_job j = {
	    .v = v,
	    .op = CALL_CREATE,
	    .first = v->swept,
	};
	struct batch b = {
	    .count = v->created - v->swept,
	    .fill = remove_fill,
	    .take = remove_take,
	    .arg = &j,
	};

	v->swept = v->created;
	return b.count ? run_job(v, &b, why, why_size) : 0;
}
