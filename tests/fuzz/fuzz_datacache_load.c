/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as index and segment files: a start never fails, and what is
 * found has the checksum that a sound entry says. The input is a list of
 * entries, most of them sealed, since a checksum is not guessed; or raw.
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>
#include <xxhash.h>

#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"

enum { SEGMENTS = 3, SEG_BYTES = 8192, ENTRIES_MAX = 64, KEYS = 4 };

static char dir[] = "/dev/shm/ff-fuzz-XXXXXX";
static struct event_base *base;
static struct iopool *pool;
static unsigned char payload[SEG_BYTES];

static struct datacache *must_open(void)
{
	struct datacache_params p = {.dir = dir,
	    .server = "nas",
	    .size_bytes = 16 << 20,
	    .iopool = pool};
	char err[256];
	struct datacache *dc = datacache_load(&p, err, sizeof(err));

	MUST(dc);
	datacache_begin(dc);
	return dc;
}

static void remove_dir(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	MUST(system(cmd) == 0);
}

static uint64_t setup(void)
{
	static uint64_t id;
	struct datacache *dc;

	if (base)
		return id;
	MUST(mkdtemp(dir));
	atexit(remove_dir);
	base = event_base_new();
	pool = iopool_new(base, 1);
	MUST(base && pool);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (unsigned char)(i * 167 + (i >> 8) * 59);
	dc = must_open();
	id = dc->id;
	datacache_close(dc);
	return id;
}

static void put_file(
    uint32_t number, const char *suffix, const void *data, size_t len)
{
	char name[SEGMENT_NAME_MAX], path[64];
	int fd;

	segment_name(name, number, suffix);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static struct data_version version_of(unsigned n)
{
	return (struct data_version){.fsid = n % 2};
}

/* Ten bytes make an entry that could be. */
static void make_entry(
    struct seg_entry *e, const uint8_t in[10], uint32_t slot, uint64_t id)
{
	struct data_version v = version_of(in[1]);
	uint32_t len = (uint32_t)(in[2] | in[3] << 8) + 1;

	memset(e, 0, sizeof(*e));
	e->seq = slot * 256 + in[4];
	e->key.h[0] = in[1] / 2 % KEYS;
	version_hash(&v, e->version);
	e->offset = in[5] * UINT64_C(64);
	e->pos = (uint32_t)(in[6] | in[7] << 8);
	e->len_kind =
	    len | (uint32_t)(in[8] & 1 ? ENTRY_TOMB : ENTRY_DATA | ENTRY_FIRM)
		      << 24;
	e->extra = len;
	if (in[8] & 2)
		e->len_kind ^= (uint32_t)in[9] << 20;
	if (!(in[8] & 1) && e->pos + (uint64_t)len <= SEG_BYTES)
		e->extra = XXH3_64bits(payload + e->pos, len) ^ (in[8] & 4);
	if (in[8] & 8)
		e->offset = ~e->offset;
	e->sum = entry_sum(e, id) ^ (in[8] & 16);
}

/* The head, and what the input makes of the rest. */
static size_t make_index(struct seg_entry *e, uint32_t number, uint64_t id,
    const uint8_t **in, size_t *size)
{
	uint32_t n = 1;

	memset(e, 0, sizeof(*e));
	e->seq = number;
	e->offset = SEG_BYTES;
	e->pos = number;
	e->len_kind = (uint32_t)ENTRY_HEAD << 24;
	e->sum = entry_sum(e, id);
	for (; *size >= 10 && n < ENTRIES_MAX; n++) {
		uint8_t last = (*in)[0];

		make_entry(&e[n], *in, n * SEGMENTS + number, id);
		*in += 10;
		*size -= 10;
		if (last & 0x80)
			return n + 1;
	}
	return n;
}

/* Every piece that is found must be what a sound entry has there. */
static void check_hit(const struct seg_entry (*idx)[ENTRIES_MAX],
    const size_t *n, const struct datacache_read *rd, uint64_t id,
    unsigned char byte)
{
	uint64_t version[2];

	version_hash(rd->version, version);
	for (unsigned s = 0; s < SEGMENTS; s++) {
		for (size_t i = 1; i < n[s]; i++) {
			const struct seg_entry *e = &idx[s][i];
			uint64_t at = rd->offset - e->offset;

			if (e->sum == entry_sum(e, id) &&
			    memcmp(&e->key, &rd->key, sizeof(e->key)) == 0 &&
			    memcmp(e->version, version, sizeof(version)) == 0 &&
			    (entry_kind(e) & ENTRY_DATA) &&
			    rd->offset >= e->offset && at < entry_len(e) &&
			    (uint64_t)e->pos + entry_len(e) <= SEG_BYTES &&
			    payload[e->pos + at] == byte &&
			    XXH3_64bits(payload + e->pos, entry_len(e)) ==
				e->extra)
				return;
		}
	}
	abort();
}

static void find_all(struct datacache *dc,
    const struct seg_entry (*idx)[ENTRIES_MAX], const size_t *n)
{
	for (unsigned i = 0; i < KEYS * 2 * 256; i++) {
		struct data_version v = version_of(i);
		struct datacache_read rd = {.key = {{i / 2 % KEYS, 0}},
		    .version = &v,
		    .offset = i / (2 * KEYS) * 64,
		    .len = 1};
		struct rbuf_piece pieces[DATA_PIECES_MAX];
		enum datacache_found found;
		unsigned k;

		while ((found = datacache_find(dc, &rd, pieces, &k, NULL)) ==
		       DATACACHE_WAIT)
			iopool_drain(pool);
		if (found == DATACACHE_HIT)
			check_hit(idx, n, &rd, dc->id,
			    *(const unsigned char *)pieces[0].data);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seg_entry idx[SEGMENTS][ENTRIES_MAX];
	uint64_t id = setup();
	size_t n[SEGMENTS] = {0};
	struct datacache *dc;
	bool raw = size > 0 && data[0] == 0xff;

	for (uint32_t s = 0; s < SEGMENTS; s++) {
		put_file(s, "seg", payload, sizeof(payload));
		if (raw) {
			put_file(s, "idx", data + 1, size - 1);
			continue;
		}
		n[s] = make_index(idx[s], s, id, &data, &size);
		/* A torn tail, too. */
		put_file(s, "idx", idx[s], n[s] * sizeof(idx[s][0]) - size % 3);
	}
	dc = must_open();
	MUST(dc->id == id);
	find_all(dc, (const struct seg_entry(*)[ENTRIES_MAX])idx, n);
	datacache_close(dc);
	return 0;
}
