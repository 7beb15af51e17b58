/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of pins (its layout is in pins_private.h): packed on the loop,
 * written by a thread, and checked when it is read. It names each pinned file,
 * so that data is not evicted before the first walk after a restart has met
 * it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/statefile.h"
#include "cache/caches.h"
#include "cache/metafile.h"
#include "config/exportpath.h"
#include "config/places.h"
#include "warm/pins_private.h"

/* The last two digits are the version of the layout. */
#define MAGIC "ffpins01"

enum { FILE_BYTES = 28 }; /* one file */

/* ---- out -------------------------------------------------------------- */

static void put_pin(struct metabuf *b, uint32_t id, const struct pin *pin)
{
	metabuf_put_u32(b, id);
	metabuf_put_u32(b, pin->uid);
	metabuf_put_u32(b, pin->gid);
	metabuf_put_u32(b, pin->ngroups);
	for (uint32_t i = 0; i < pin->ngroups; i++)
		metabuf_put_u32(b, (uint32_t)pin->groups[i]);
	metabuf_put_u64(b, pin->walked_s);
	metabuf_put_u8(b, pin->whole);
	metabuf_put_bytes(b, pin->export, strlen(pin->export));
	metabuf_put_bytes(b, pin->path, strlen(pin->path));
}

/* Where the files go while they are packed. */
struct put {
	struct metabuf *b;
	uint64_t files;
};

static void put_file(
    void *ctx, const struct data_key *key, uint64_t bytes, uint32_t pins)
{
	struct put *put = ctx;

	put->files++;
	metabuf_put_u64(put->b, key->h[0]);
	metabuf_put_u64(put->b, key->h[1]);
	metabuf_put_u64(put->b, bytes);
	metabuf_put_u32(put->b, pins);
}

/* Packs all pins and their files; false without memory. This goes through all
 * pinned files in one turn (see ARCHITECTURE, the exceptions). */
static bool pack(struct pins *ps, struct metabuf *b)
{
	struct put put = {.b = b};
	uint32_t n = 0;
	size_t at;

	for (uint32_t i = 0; i < PINS_MAX; i++)
		n += ps->pins[i].export != NULL;
	metabuf_put(b, MAGIC, 8);
	metabuf_put_u32(b, n);
	for (uint32_t i = 0; i < PINS_MAX; i++)
		if (ps->pins[i].export)
			put_pin(b, i, &ps->pins[i]);
	at = b->len;
	metabuf_put_u64(b, 0);
	if (ps->p.caches->data)
		datacache_each_pinned(ps->p.caches->data, put_file, &put);
	if (!b->failed)
		memcpy(b->data + at, &put.files, sizeof(put.files));
	metabuf_put_u64(b, b->failed ? 0 : XXH3_64bits(b->data, b->len));
	return !b->failed;
}

/* Blocks. Where a damaged file cannot be set aside, it is replaced. */
static int write_file(struct pins *ps, const void *data, size_t len)
{
	if (ps->damaged)
		(void)statefile_set_aside(ps->path);
	ps->damaged = false;
	return statefile_write(ps->path, data, len);
}

static void job_run(struct iopool_job *job)
{
	struct pins *ps = container_of(job, struct pins, job);

	ps->job_error = write_file(ps, ps->data, ps->len);
}

static void warn(const struct pins *ps)
{
	if (ps->error)
		log_warn("pins server=%s file=%s: %s: pins would not survive a "
			 "restart",
		    ps->p.server, ps->path, strerror(-ps->error));
}

/* The file was written, or that failed, which is tried again later. If the pins
 * changed meanwhile, it is written once more. */
static void job_done(struct iopool_job *job)
{
	struct pins *ps = container_of(job, struct pins, job);

	free(ps->data);
	ps->data = NULL;
	ps->saving = false;
	ps->error = ps->job_error;
	warn(ps);
	if (ps->error)
		ps->dirty = true; /* again, in a while: pins_tick() */
	else if (ps->dirty)
		pins_file_save(ps, ps->saved_us);
}

void pins_file_save(struct pins *ps, uint64_t now_us)
{
	struct metabuf b = {0};

	ps->dirty = true;
	if (ps->saving || !ps->path[0])
		return;
	ps->saved_us = now_us;
	if (!pack(ps, &b)) {
		free(b.data);
		return;
	}
	ps->dirty = false;
	ps->saving = true;
	ps->data = b.data;
	ps->len = b.len;
	ps->job.run = job_run;
	ps->job.done = job_done;
	iopool_submit(ps->p.iopool, &ps->job);
}

void pins_file_finish(struct pins *ps)
{
	struct metabuf b = {0};

	if (ps->saving)
		iopool_drain(ps->p.iopool);
	if (!ps->dirty || !ps->path[0])
		return;
	ps->error = pack(ps, &b) ? write_file(ps, b.data, b.len) : -ENOMEM;
	free(b.data);
	warn(ps);
}

/* ---- in --------------------------------------------------------------- */

/* A path of the file, to be freed; NULL where it is none. */
static char *get_text(struct metaview *v)
{
	uint32_t len;
	const char *text = metaview_get_bytes(v, &len);

	if (v->bad || len >= EXPORTPATH_BELOW_MAX || memchr(text, '\0', len))
		return NULL;
	return strndup(text, len);
}

/* A pin of the file. The checksum tells of damage, not of sense: whatever could
 * not have been added is refused. */
static bool get_pin(struct metaview *v, struct pins *ps)
{
	uint32_t id = metaview_get_u32(v);
	struct pin pin = {0};

	pin.uid = metaview_get_u32(v);
	pin.gid = metaview_get_u32(v);
	pin.ngroups = metaview_get_u32(v);
	if (v->bad || id >= PINS_MAX || ps->pins[id].export ||
	    pin.ngroups > PIN_GROUPS_MAX)
		return false;
	for (uint32_t i = 0; i < pin.ngroups; i++)
		pin.groups[i] = (gid_t)metaview_get_u32(v);
	pin.walked_s = metaview_get_u64(v);
	pin.whole = metaview_get_u8(v) != 0;
	pin.export = get_text(v);
	pin.path = get_text(v);
	if (pin.export && pin.path && *pin.export &&
	    exportpath_below_ok(pin.path)) {
		ps->pins[id] = pin;
		return true;
	}
	pin_clear(&pin);
	return false;
}

/* Logs once how many files have no room any more, and leaves them out. */
static void get_files(struct metaview *v, struct pins *ps, uint64_t files)
{
	uint64_t left_out = 0;

	for (uint64_t i = 0; i < files; i++) {
		struct data_key key;
		uint64_t bytes;
		uint32_t pins;

		key.h[0] = metaview_get_u64(v);
		key.h[1] = metaview_get_u64(v);
		bytes = metaview_get_u64(v);
		pins = metaview_get_u32(v);
		for (unsigned k = 0; k < PINS_MAX && ps->p.caches->data; k++)
			if ((pins >> k & 1) && ps->pins[k].export &&
			    !datacache_pin(ps->p.caches->data, &key, bytes, k,
				places_owner(ps->pins[k].uid))) {
				ps->pins[k].whole = false;
				left_out++;
			}
	}
	if (left_out > 0)
		log_warn("pins server=%s: %llu files lose their pins: fewer "
			 "may be pinned now",
		    ps->p.server, (unsigned long long)left_out);
}

/* Takes over what the file has; false where it makes no sense. */
static bool unpack(struct metaview *v, struct pins *ps)
{
	uint32_t n;
	uint64_t files;

	n = metaview_get_u32(v);
	for (uint32_t i = 0; i < n; i++)
		if (!get_pin(v, ps))
			return false;
	files = metaview_get_u64(v);
	if (v->bad || files != v->len / FILE_BYTES || v->len % FILE_BYTES != 0)
		return false;
	get_files(v, ps, files);
	return true;
}

/* Whether the file is whole: its magic and its checksum. */
static bool sound(const unsigned char *data, size_t len)
{
	uint64_t sum;

	if (len < 8 + 4 + 8 + 8 || memcmp(data, MAGIC, 8) != 0)
		return false;
	memcpy(&sum, data + len - 8, 8);
	return sum == XXH3_64bits(data, len - 8);
}

int pins_file_load(struct pins *ps, const struct statefile_text *text)
{
	const unsigned char *data = (const unsigned char *)text->data;
	struct metaview v = {
	    .data = data ? data + 8 : NULL, .len = text->len - 16};

	/* A file that is there and could not be read is not written over. */
	ps->damaged = !data && text->error != -ENOENT;
	if (!data && text->error != -EBADMSG)
		return text->error;
	if (data && sound(data, text->len) && unpack(&v, ps))
		return 0;
	for (unsigned i = 0; i < PINS_MAX; i++)
		pin_clear(&ps->pins[i]);
	ps->damaged = true;
	pins_file_save(ps, clock_now_us());
	return -EBADMSG;
}
