/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: a header, then slots of a fixed size, used round robin. A slot is
 * valid where its checksum is right. It is made wrong before a slot is written
 * to and right afterwards, so a kill at any moment leaves a slot as it was, or
 * invalid. Chains and owners are in memory only.
 *
 * svc.c asks for each change and WRITE (drc_begin()), svc_reply.c keeps the
 * reply (drc_finish()).
 */
#include "svc/drc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <xxhash.h>

#include "hashing/hash_key.h"

#define DRC_MAGIC 0x3343524446464651ull /* version 3 */

struct drc_entry {
	uint64_t sum; /* checksum of all that follows */
	struct drc_key key;
	uint32_t state; /* enum drc_state, DRC_NEW where free */
	uint32_t sent_xid;
	uint32_t sent_source;
	uint32_t sent_conn;
	uint32_t reply_len;
	uint32_t zero;
	uint64_t first_us; /* when the call was first sent */
	uint64_t done_us;  /* when it was answered */
	struct drc_object object;
	unsigned char reply[DRC_REPLY_MAX];
};

struct drc_file {
	uint64_t magic;
	uint32_t slots;
	uint32_t entry_bytes;
	uint32_t next; /* where drc_take_slot() looks next */
	/* drc_set_detached(): 1 where the daemon served without its cache_dir.
	 */
	uint32_t detached;
	uint16_t ports[UPSTREAM_CONNECTIONS_MAX];
	struct drc_entry entries[];
};

struct drc {
	struct drc_file *file;
	size_t bytes;
	unsigned slots;
	unsigned recovered;
	unsigned in_state[DRC_STATES]; /* how many entries are in each state */
	int fd;                        /* keeps the lock; -1: memory only */
	uint32_t mask;
	/* Slot + 1 of the first entry by hash of the key; 0: none. */
	uint32_t *heads;
	uint32_t *chain;
	void **owners;
};

static uint64_t entry_sum(const struct drc_entry *e)
{
	size_t used = offsetof(struct drc_entry, reply) + e->reply_len;

	return XXH3_64bits(
	    (const char *)e + sizeof(e->sum), used - sizeof(e->sum));
}

/* Makes the entry valid again after a change to it. */
static void entry_seal(struct drc_entry *e)
{
	uint64_t sum = entry_sum(e);

	/* A kill loses no store that was made, but the compiler may move one
	 * behind another. */
	atomic_signal_fence(memory_order_release);
	e->sum = sum;
	atomic_signal_fence(memory_order_release);
}

/* Makes the entry invalid while it is changed. */
static void entry_open(struct drc_entry *e)
{
	e->sum = ~entry_sum(e);
	atomic_signal_fence(memory_order_release);
}

static void entry_set_state(
    struct drc *drc, struct drc_entry *e, enum drc_state state)
{
	drc->in_state[e->state]--;
	drc->in_state[state]++;
	e->state = state;
}

static uint32_t *drc_head(const struct drc *drc, const struct drc_key *key)
{
	return &drc->heads[hash_bytes(key, sizeof(*key), 0) & drc->mask];
}

static void drc_index(struct drc *drc, uint32_t slot)
{
	uint32_t *head = drc_head(drc, &drc->file->entries[slot].key);

	drc->chain[slot] = *head;
	*head = slot + 1;
}

static void drc_unindex(struct drc *drc, uint32_t slot)
{
	uint32_t *at = drc_head(drc, &drc->file->entries[slot].key);

	while (*at && *at != slot + 1)
		at = &drc->chain[*at - 1];
	if (*at)
		*at = drc->chain[slot];
}

static uint32_t drc_slot(const struct drc *drc, const struct drc_entry *e)
{
	return (uint32_t)(e - drc->file->entries);
}

/* Takes over a slot from a former daemon: a call that it had answered, or sent.
 * One that was in progress and not sent yet did nothing, so it is forgotten,
 * and a repeat of it is a new call. */
static void drc_recover_slot(struct drc *drc, uint32_t slot)
{
	struct drc_entry *e = &drc->file->entries[slot];
	bool sound = e->reply_len <= DRC_REPLY_MAX && e->sum == entry_sum(e) &&
		     (e->state == DRC_DONE || e->state == DRC_IN_PROGRESS ||
			 e->state == DRC_RECOVERED);

	if (sound && e->state != DRC_DONE) {
		entry_open(e);
		e->state = e->sent_xid ? DRC_RECOVERED : DRC_NEW;
		entry_seal(e);
	}
	if (!sound || e->state == DRC_NEW) {
		memset(e, 0, sizeof(*e));
		drc->in_state[DRC_NEW]++;
		return;
	}
	drc->in_state[e->state]++;
	drc_index(drc, slot);
	drc->recovered++;
}

static void drc_recover(struct drc *drc)
{
	struct drc_file *f = drc->file;

	if (f->magic != DRC_MAGIC || f->slots != drc->slots ||
	    f->entry_bytes != sizeof(struct drc_entry)) {
		memset(f, 0, drc->bytes);
		f->slots = drc->slots;
		f->entry_bytes = sizeof(struct drc_entry);
		f->magic = DRC_MAGIC;
		drc->in_state[DRC_NEW] = drc->slots;
		return;
	}
	for (uint32_t i = 0; i < drc->slots; i++)
		drc_recover_slot(drc, i);
}

/* Whether the file would lie in memory. Stores into a mapped file of a disk
 * wait for it, and kill the process where a copy-on-write disk is full. */
static bool is_memory(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct statfs fs;

	if (!slash)
		return false;
	snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	return statfs(dir, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* Locks the file and takes its space; 0 or an errno. Nobody else may open it:
 * its replies tell of others' files, and whoever cuts it short would kill the
 * daemon. */
static int take_file(int fd, size_t bytes)
{
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) || st.st_nlink != 1)
		return EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno;
	/* Take the space now: a store into a hole kills the process when the
	 * tmpfs is full. */
	err = posix_fallocate(fd, 0, (off_t)bytes);
	if (err == 0 && ftruncate(fd, (off_t)bytes) < 0)
		err = errno;
	return err;
}

static void *map_file(struct drc *drc, const char *path)
{
	void *p = MAP_FAILED;
	int err;

	if (!is_memory(path)) {
		errno = ENOTSUP;
		return MAP_FAILED;
	}
	drc->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (drc->fd < 0)
		return MAP_FAILED;
	err = take_file(drc->fd, drc->bytes);
	if (!err)
		p = mmap(NULL, drc->bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, drc->fd, 0);
	if (!err && p == MAP_FAILED)
		err = errno;
	/* A change must not wait for swap space that reclaim waits for
	 * (reclaim.h). */
	if (!err)
		(void)mlock(p, drc->bytes);
	errno = err;
	return p;
}

static void *drc_map(struct drc *drc, const char *path)
{
	if (path)
		return map_file(drc, path);
	return mmap(NULL, drc->bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

struct drc *drc_open(const char *path, unsigned slots)
{
	struct drc *drc = calloc(1, sizeof(*drc));
	size_t heads = 1;
	int err;

	if (!drc)
		return NULL;
	while (heads < slots)
		heads *= 2;
	drc->fd = -1;
	drc->slots = slots;
	drc->mask = (uint32_t)heads - 1;
	drc->bytes = sizeof(struct drc_file) + slots * sizeof(struct drc_entry);
	drc->heads = calloc(heads, sizeof(*drc->heads));
	drc->chain = calloc(slots, sizeof(*drc->chain));
	drc->owners = calloc(slots, sizeof(*drc->owners));
	drc->file = drc->heads && drc->chain && drc->owners ? drc_map(drc, path)
							    : MAP_FAILED;
	if (drc->file == MAP_FAILED) {
		err = errno;
		drc->file = NULL;
		drc_close(drc);
		errno = err;
		return NULL;
	}
	drc_recover(drc);
	return drc;
}

void drc_close(struct drc *drc)
{
	if (!drc)
		return;
	if (drc->file)
		munmap(drc->file, drc->bytes);
	if (drc->fd >= 0)
		close(drc->fd);
	free(drc->heads);
	free(drc->chain);
	free(drc->owners);
	free(drc);
}

unsigned drc_recovered(const struct drc *drc)
{
	return drc->recovered;
}

static struct drc_entry *drc_find(struct drc *drc, const struct drc_key *key)
{
	uint32_t at = *drc_head(drc, key);

	while (at &&
	       memcmp(&drc->file->entries[at - 1].key, key, sizeof(*key)) != 0)
		at = drc->chain[at - 1];
	return at ? &drc->file->entries[at - 1] : NULL;
}

static void drc_clear(struct drc *drc, struct drc_entry *e)
{
	uint32_t slot = drc_slot(drc, e);

	if (e->state != DRC_NEW)
		drc_unindex(drc, slot);
	drc->owners[slot] = NULL;
	entry_open(e);
	entry_set_state(drc, e, DRC_NEW);
	memset((char *)e + sizeof(e->sum), 0, sizeof(*e) - sizeof(e->sum));
}

/*
 * Returns an empty slot, taken from a call that is not in progress now; slots
 * are tried round robin, so it is about the oldest. NULL where all are in
 * progress. Calls that nobody has repeated since the restart are given up last:
 * without its entry a repeat would be a new call, sent in another way than the
 * first try.
 */
static struct drc_entry *drc_take_slot(struct drc *drc)
{
	bool settled = drc->in_state[DRC_NEW] + drc->in_state[DRC_DONE] > 0;

	if (drc->in_state[DRC_IN_PROGRESS] == drc->slots)
		return NULL;
	for (unsigned i = 0; i < drc->slots; i++) {
		struct drc_entry *e =
		    &drc->file->entries[drc->file->next % drc->slots];

		drc->file->next = (drc->file->next + 1) % drc->slots;
		if (e->state == DRC_IN_PROGRESS ||
		    (e->state == DRC_RECOVERED && settled))
			continue;
		drc_clear(drc, e);
		return e;
	}
	return NULL;
}

/* Whether the reply was kept for long enough. A time in the future was noted
 * before the machine was booted, when the clock began anew. */
static bool drc_expired(const struct drc_entry *e, uint64_t now_us)
{
	return e->state == DRC_DONE &&
	       (now_us < e->done_us || now_us - e->done_us > DRC_KEEP_US);
}

enum drc_state drc_begin(struct drc *drc, const struct drc_key *key,
    uint64_t now_us, struct drc_entry **entry)
{
	struct drc_entry *e = drc_find(drc, key);
	enum drc_state found;

	if (e && drc_expired(e, now_us)) {
		drc_clear(drc, e);
		e = NULL;
	}
	found = e ? (enum drc_state)e->state : DRC_NEW;
	if (!e)
		e = drc_take_slot(drc);
	*entry = e;
	if (!e || found == DRC_IN_PROGRESS || found == DRC_DONE)
		return found;
	entry_open(e);
	e->key = *key;
	entry_set_state(drc, e, DRC_IN_PROGRESS);
	entry_seal(e);
	if (found == DRC_NEW)
		drc_index(drc, drc_slot(drc, e));
	return found;
}

void drc_set_owner(struct drc *drc, struct drc_entry *e, void *owner)
{
	drc->owners[drc_slot(drc, e)] = owner;
}

void *drc_owner(const struct drc *drc, const struct drc_entry *e)
{
	return drc->owners[drc_slot(drc, e)];
}

void drc_set_sent(struct drc_entry *e, const struct upstream_sent *sent)
{
	entry_open(e);
	e->sent_xid = sent->xid;
	e->sent_conn = sent->conn;
	e->sent_source = sent->source;
	e->first_us = sent->first_us;
	entry_seal(e);
}

void drc_get_sent(const struct drc_entry *e, struct upstream_sent *sent)
{
	sent->xid = e->sent_xid;
	sent->conn = (uint16_t)e->sent_conn;
	sent->source = e->sent_source;
	sent->first_us = e->first_us;
}

void drc_set_object(struct drc_entry *e, const struct drc_object *object)
{
	entry_open(e);
	e->object = *object;
	entry_seal(e);
}

struct drc_object drc_object(const struct drc_entry *e)
{
	return e->object;
}

void drc_finish(struct drc *drc, struct drc_entry *e, const void *reply,
    size_t len, uint64_t now_us)
{
	assert(e->state == DRC_IN_PROGRESS);
	if (len > DRC_REPLY_MAX) {
		drc_drop(drc, e);
		return;
	}
	entry_open(e);
	memcpy(e->reply, reply, len);
	e->reply_len = (uint32_t)len;
	e->done_us = now_us;
	entry_set_state(drc, e, DRC_DONE);
	entry_seal(e);
	drc->owners[drc_slot(drc, e)] = NULL;
}

void drc_drop(struct drc *drc, struct drc_entry *e)
{
	drc_clear(drc, e);
}

const void *drc_reply(const struct drc_entry *e, size_t *len)
{
	*len = e->reply_len;
	return e->reply;
}

void drc_set_detached(struct drc *drc, bool detached)
{
	drc->file->detached = detached;
}

bool drc_detached(const struct drc *drc)
{
	return drc->file->detached != 0;
}

uint16_t drc_port(const struct drc *drc, unsigned conn)
{
	return drc->file->ports[conn % UPSTREAM_CONNECTIONS_MAX];
}

void drc_set_port(struct drc *drc, unsigned conn, uint16_t port)
{
	drc->file->ports[conn % UPSTREAM_CONNECTIONS_MAX] = port;
}
