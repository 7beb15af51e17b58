/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the proxy's own traces (trace.proto). Keys are taken as they are, and
 * paths are made of them. A run is what one actor does between two marks. Where
 * there are no marks, pauses of 2 s divide runs; forefetch-sim(1) says so.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/predictor.h"
#include "predictor/trace/trace.pb-c.h"
#include "predictor/trace/trace_format.h"
#include "predictor/trace/trace_private.h"

enum { PAUSE_US = 2000000, LEVELS_MAX = 256 };

struct blocks {
	struct reader *r;
	char label[TRACE_LABEL_MAX + 1];
	uint64_t segment; /* marks and pauses so far */
	uint64_t last_us;
	bool marked;
};

static uint64_t key_mix(uint64_t a, uint64_t b)
{
	uint64_t words[2] = {a, b};

	return XXH3_64bits(words, sizeof(words));
}

/* The directory of that key; its path is the key, since the proxy's traces have
 * no names. */
static uint32_t block_dir(struct reader *r, uint64_t key)
{
	uint32_t id = keymap_get(r->dirs, key);
	char path[32];

	if (id != KEYMAP_NONE)
		return id;
	snprintf(path, sizeof(path), "%016lx", (unsigned long)key);
	return trace_dir_new(r, key, path, strlen(path));
}

/* The same for a file. It lies in the topmost directory until an event says
 * where it is. */
static uint32_t block_file(struct reader *r, uint64_t key)
{
	uint32_t id = keymap_get(r->files, key), dir;
	char path[32];

	if (id != KEYMAP_NONE)
		return id;
	snprintf(path, sizeof(path), "%016lx", (unsigned long)key);
	id = trace_file_new(r, key, path);
	dir = block_dir(r, 0);
	if (id == UINT32_MAX || dir == UINT32_MAX)
		return UINT32_MAX;
	r->t->files[id].dir = dir;
	return id;
}

/* Keeps what the event says of its object; false without memory. */
static bool file_learn(
    struct reader *r, uint32_t id, const Forefetch__TraceEvent *e)
{
	struct trace_file *f = &r->t->files[id];
	bool directory =
	    e->flags & TRACE_FLAG_DIRECTORY || e->kind == PREDICTOR_READDIR;

	f->exec |= (e->flags & TRACE_FLAG_EXEC) != 0;
	f->directory |= directory;
	f->exists |= e->kind != PREDICTOR_ABSENT;
	if (!f->first_size_bytes)
		f->first_size_bytes = e->size;
	if (e->type_hash)
		f->type_hash = e->type_hash;
	if (!e->parent || e->parent == e->object)
		return true;
	f->parent = e->parent;
	f->dir = block_dir(r, e->parent);
	if (e->name_hash)
		f->name_hash = e->name_hash;
	if (f->dir == UINT32_MAX)
		return false;
	if (directory) {
		uint32_t own = block_dir(r, e->object);
		struct trace_dir *d;

		if (own == UINT32_MAX)
			return false;
		d = &r->t->dirs[own];
		d->up = f->dir;
		d->parent = e->parent;
		d->name_hash = f->name_hash;
	}
	return true;
}

/* The event's run: that of its actor since the last mark or pause. */
static uint32_t block_run(struct blocks *b, const Forefetch__TraceEvent *e)
{
	char name[48];

	snprintf(name, sizeof(name), "%lu.%016lx", (unsigned long)b->segment,
	    (unsigned long)e->actor);
	return trace_run_get(b->r, key_mix(b->segment + 1, e->actor), name,
	    b->label, e->time_us);
}

static void block_mark(struct blocks *b, const Forefetch__TraceEvent *e)
{
	b->segment++;
	b->marked = true;
	snprintf(b->label, sizeof(b->label), "%s", e->label);
	if (!b->label[0])
		snprintf(b->label, sizeof(b->label), "unnamed");
}

/* Appends the event. NULL, or what is wrong. */
static const char *block_take(struct blocks *b, const Forefetch__TraceEvent *e)
{
	struct trace_event *out;
	uint32_t run, file;

	if (e->kind == TRACE_KIND_MARK) {
		block_mark(b, e);
		return NULL;
	}
	if (e->kind >= PREDICTOR_KINDS)
		return "an event of a kind that is not known";
	if (!e->object)
		return "an event without an object";
	if (!b->marked && e->time_us > b->last_us + PAUSE_US)
		b->segment++;
	if (e->time_us > b->last_us)
		b->last_us = e->time_us;
	run = block_run(b, e);
	file = block_file(b->r, e->object);
	out = trace_event_new(b->r, run, file, e->time_us);
	if (!out || !file_learn(b->r, file, e))
		return "out of memory";
	out->pid = (uint32_t)e->pid;
	out->size_bytes = e->size;
	out->kind = (uint8_t)e->kind;
	out->exec = e->flags & TRACE_FLAG_EXEC;
	/* A client thinks from the reply on. */
	b->r->run_time_us[run] += e->latency_us;
	return NULL;
}

/* Unpacks one block, and takes its events; 0, or -EINVAL and the message. */
static int block_read(struct blocks *b, const void *data, size_t len,
    const char *name, unsigned long nr, char *err)
{
	Forefetch__TraceBlock *block =
	    forefetch__trace_block__unpack(NULL, len, data);
	int ret = 0;

	if (!block)
		return trace_fail(
		    err, "%s: block %lu: is no TraceBlock", name, nr);
	for (size_t i = 0; !ret && i < block->n_event; i++) {
		const char *why = block_take(b, block->event[i]);

		if (why)
			ret = trace_fail(err, "%s: block %lu, event %zu: %s",
			    name, nr, i + 1, why);
	}
	forefetch__trace_block__free_unpacked(block, NULL);
	return ret;
}

static int blocks_read(struct blocks *b, FILE *in, const char *name,
    unsigned char *data, char *err)
{
	struct trace_frame frame;
	unsigned long nr = 0;
	int ret = 0;

	while (!ret && fread(&frame, sizeof(frame), 1, in) == 1) {
		uint32_t len = le32toh(frame.len);

		nr++;
		if (len > TRACE_BLOCK_MAX)
			return trace_fail(err,
			    "%s: block %lu: %u bytes are too many", name, nr,
			    len);
		/* A kill cut the file off here; the blocks before count. */
		if (len > 0 && fread(data, len, 1, in) != 1)
			break;
		if ((uint32_t)XXH3_64bits(data, len) != le32toh(frame.checksum))
			return trace_fail(err,
			    "%s: block %lu: the checksum is wrong", name, nr);
		ret = block_read(b, data, len, name, nr, err);
	}
	if (!ret && ferror(in))
		ret = trace_fail(err, "%s: %s", name, strerror(errno));
	return ret;
}

/* No file system has a directory below itself, but a damaged trace may say so:
 * such a directory is taken for a topmost one. */
static void dirs_untangle(struct trace *t)
{
	for (size_t i = 0; i < t->ndirs; i++) {
		uint32_t dir = (uint32_t)i;

		for (int n = 0; n < LEVELS_MAX && dir != UINT32_MAX; n++)
			dir = t->dirs[dir].up;
		if (dir != UINT32_MAX)
			t->dirs[i].up = UINT32_MAX;
	}
}

int trace_read_blocks(struct reader *r, FILE *in, const char *name, char *err)
{
	struct blocks b = {.r = r, .label = "trace"};
	unsigned char head[TRACE_HEAD_BYTES], *data;
	int ret;

	if (fread(head, sizeof(head), 1, in) != 1 ||
	    memcmp(head, TRACE_MAGIC, TRACE_MAGIC_BYTES) != 0)
		return trace_fail(err, "%s: is no trace", name);
	if (head[TRACE_MAGIC_BYTES] != TRACE_VERSION)
		return trace_fail(err, "%s: version %u of traces is not known",
		    name, head[TRACE_MAGIC_BYTES]);
	data = malloc(TRACE_BLOCK_MAX);
	if (!data)
		return trace_fail(err, "%s: out of memory", name);
	ret = blocks_read(&b, in, name, data, err);
	free(data);
	if (!ret)
		dirs_untangle(r->t);
	return ret;
}
