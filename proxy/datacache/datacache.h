/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data cache: file data of one server, on disk.
 *
 * The data of a READ is appended to a segment file as an extent, and found
 * again by handle, version and offset. The version is what the server said of
 * the file's size and times; extents of two versions of a file never exist side
 * by side. Segments are written once, front to back, and given up as a whole.
 * They are mapped, so that a hit is sent from the mapping without a copy.
 *
 * The folder uses base/ and nfsproto's buffers. It knows no NFS, no clock and
 * no network: the caller says whether an extent may be used, by times that it
 * gave itself. All functions are for the event loop's thread and do not block;
 * jobs of an iopool wait for the disk. When the disk fails, the cache is
 * switched off with a warning, and everything is a miss. datacache_private.h
 * has the map of the files and a drawing.
 */
#ifndef FOREFETCH_DATACACHE_H
#define FOREFETCH_DATACACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsproto/rbuf.h"

struct datacache;
struct iopool;

/* XXH3, 128 bits, of a handle. */
struct data_key {
	uint64_t h[2];
};

/* The version of a file, as the server told it. Two versions are equal where
 * all members are. */
struct data_version {
	uint64_t fsid;
	uint64_t fileid;
	uint64_t size;
	uint32_t mtime_s;
	uint32_t mtime_ns;
	uint32_t ctime_s;
	uint32_t ctime_ns;
};

struct datacache_params {
	const char *dir;     /* made where it is missing, mode 0700 */
	const char *server;  /* for log lines; outlives the cache */
	uint64_t size_bytes; /* what the files take on disk, at most */
	struct iopool *iopool;
	/* A few bytes are not written before more come, or the next tick does:
	 * a kill may lose what came within a second. */
	bool gathers;
};

/*
 * Open the directory and read its index; what is of another layout, or not
 * ours, is begun anew or refused. NULL and a sentence in `err` where there
 * can be no cache; the daemon goes on without one then. May run in a thread;
 * datacache_begin() follows on the loop.
 */
struct datacache *datacache_load(
    const struct datacache_params *p, char *err, size_t errlen);
void datacache_begin(struct datacache *dc);
/* Begins to write all that waits for more, as will be done at once from now on.
 * To be called before a close, which then need not wait for that. */
void datacache_settle(struct datacache *dc);
/* Writes what is queued, and waits for that; waiters are forgotten without a
 * word. */
void datacache_close(struct datacache *dc);

enum { DATA_PIECES_MAX = 64 };

struct datacache_waiter {
	TAILQ_ENTRY(datacache_waiter) link;
	/* Ask again; the waiter is free when this is called. Never called
	 * from within a function of this header but datacache_tick(). */
	void (*on_ready)(struct datacache_waiter *w);
	void *request; /* NULL while it waits for nothing; private */
	bool woken;    /* it has waited: find will not say WAIT again */
	bool late;     /* it was woken since the disk hangs */
};

enum datacache_found {
	DATACACHE_MISS, /* not all of it is there */
	DATACACHE_HIT,
	DATACACHE_WAIT, /* it is read or verified; the waiter will hear */
};

struct datacache_read {
	struct data_key key;
	const struct data_version *version;
	uint64_t offset;
	uint32_t len; /* > 0, and offset + len <= the file's size */
	/* An extent that is not firm counts where it was sent at or after
	 * this; see datacache_add(). 0: all count. */
	uint64_t valid_us;
	/* There is nobody else to ask: wait, however long the disk takes. */
	bool patient;
};

/*
 * Find all of [offset, offset + len): `pieces`, to whose `hold` the caller
 * takes a reference; or nothing. Data of another version is dropped. Extents
 * that are not firm are not put together: they may be of two moments. `w` may
 * be NULL: then WAIT starts the disk and nobody is told. A waiter waits once:
 * when it asks again, what is verified is a HIT and all else a MISS.
 */
enum datacache_found datacache_find(struct datacache *dc,
    const struct datacache_read *rd, struct rbuf_piece *pieces, unsigned *n,
    struct datacache_waiter *w);
void datacache_cancel(struct datacache *dc, struct datacache_waiter *w);

/* As datacache_have(), of the whole file; of its first `max` extents only. */
uint64_t datacache_have_file(struct datacache *dc, const struct data_key *key,
    const struct data_version *version, uint64_t valid_us, unsigned max);

/* To be called every second. While the disk does not answer, whatever would
 * have to wait for it is a MISS; `patient`: those who wait already go on
 * waiting. */
void datacache_tick(struct datacache *dc, uint64_t now_us, bool patient);

/* Begin to verify data that was not verified since the start, so that nobody
 * has to wait for that later. */
void datacache_touch(struct datacache *dc, const struct datacache_read *rd);

/* Bytes of [offset, offset + len) that find would not have to fetch. */
uint64_t datacache_have(struct datacache *dc, const struct datacache_read *rd);

enum datacache_flags {
	/* Bound to the version for good; else for as long as the caller says
	 * at find. Only firm extents are used after a restart. */
	DATACACHE_FIRM = 1,
	/* Not asked for by anybody yet: first to go, until it is used. */
	DATACACHE_PREFETCHED = 2,
};

struct datacache_add {
	struct data_key key;
	const struct data_version *version;
	uint64_t offset;
	const void *data;
	uint32_t len;
	struct rbuf *hold; /* keeps `data`; NULL: copied (counted) */
	uint64_t sent_us;  /* when the call that brought it was sent */
	/* How long the server would take to send it again, in microseconds; 0:
	 * that is not known, or does not matter. */
	uint64_t again_us;
	unsigned flags; /* enum datacache_flags */
};

/* Keep it, if there is room in the queue to the disk, and if the server does
 * not send it again sooner than the disk writes and reads it; pinned data is
 * kept in any case. It is found at once, in memory; where older data overlaps,
 * the new counts. */
void datacache_add(struct datacache *dc, const struct datacache_add *add);

/* Returns the microseconds that this machine needs to keep so many bytes and to
 * give them, by the time that the last writes took. 0: no write was measured
 * yet, or they are less than 128 KiB: such data is always kept, since the
 * server may search for it longer than the disk. */
uint64_t datacache_cost_us(const struct datacache *dc, uint64_t bytes);

/* Whether the disk is so far behind that the cache soon keeps nothing of what
 * comes in. NULL: it is not. */
bool datacache_is_behind(const struct datacache *dc);

/* Bytes from the beginning of the range on that find would not have to
 * fetch, up to the first one that it would. */
uint32_t datacache_prefix(
    struct datacache *dc, const struct datacache_read *rd);

/* Forget a file, or what is known of a range of it. */
void datacache_drop(struct datacache *dc, const struct data_key *key);
void datacache_cut(struct datacache *dc, const struct data_key *key,
    uint64_t offset, uint64_t len);
/* The file's version changed though its bytes did not: firm extents are firm
 * no longer, and count as sent at `sent_us`; others are dropped, as is data of
 * a version other than `from`. */
void datacache_rebind(struct datacache *dc, const struct data_key *key,
    const struct data_version *from, const struct data_version *to,
    uint64_t sent_us);
/*
 * Pins. The data of a pinned file is not evicted, as long as all pinned data is
 * at most half of `size_bytes`, of which an eighth is kept for the owner of the
 * daemon (places.h). A file may have several pins, which are numbers below
 * DATACACHE_PINS; they are forgotten at the end, and to be set again after a
 * start. Pins stay where data is dropped or flushed.
 */
enum { DATACACHE_PINS = 32 };

/* `bytes`: the file's size, for the limit; `owner`: up to what is kept for him.
 * False where the limit, of bytes or of files, is reached, or without memory:
 * then the file has not this pin. */
bool datacache_pin(struct datacache *dc, const struct data_key *key,
    uint64_t bytes, unsigned pin, bool owner);
bool datacache_is_pinned(
    const struct datacache *dc, const struct data_key *key, unsigned pin);
/* Files that are not given to datacache_pin() between these two lose the
 * pin. */
void datacache_pin_begin(struct datacache *dc, unsigned pin);
void datacache_pin_end(struct datacache *dc, unsigned pin);
/* All files lose the pin; their data is as any other then. */
void datacache_unpin(struct datacache *dc, unsigned pin);
/* A bit for each pin of which data was lost since the last call, since it was
 * dropped, changed or damaged. */
uint32_t datacache_pins_changed(struct datacache *dc);
/* The most that all pins together may have. */
uint64_t datacache_pin_limit_bytes(const struct datacache *dc);
/* The sizes of all pinned files. */
uint64_t datacache_pinned_bytes(const struct datacache *dc);

struct datacache_pin_stats {
	uint64_t files;
	uint64_t bytes;        /* their sizes */
	uint64_t cached_bytes; /* what of it is there */
};
/* Of all pins; looks at all pinned files. */
struct datacache_pin_walk {
	struct datacache_pin_stats pins[DATACACHE_PINS];
	size_t at, room; /* private; zero at first */
};
/* Looks at some `n` files or extents; true at the end. Where the table of files
 * is made anew meanwhile, it begins again. */
bool datacache_pin_stats_step(
    struct datacache *dc, struct datacache_pin_walk *w, size_t n);
/* Every pinned file, with a bit for each of its pins. */
void datacache_each_pinned(const struct datacache *dc,
    void (*each)(
	void *ctx, const struct data_key *key, uint64_t bytes, uint32_t pins),
    void *ctx);

/* How sequentially something lies on disk; see datacache_layout.h. */
struct datacache_sequence {
	uint64_t bytes, sequential_bytes;
	uint64_t runs; /* stretches that are read without a gap */
};

/* How the last layout pass ended. */
enum datacache_layout_end {
	DATACACHE_LAYOUT_DONE,
	DATACACHE_LAYOUT_GOOD, /* nine tenths were sequential; none moved */
	DATACACHE_LAYOUT_ROOM, /* there was no more room */
	DATACACHE_LAYOUT_DISK, /* the disk is full, or failed */
	DATACACHE_LAYOUT_STOPPED
};

/* Forget everything, files on disk too. The index's memory is given back by
 * datacache_bury(). */
void datacache_flush(struct datacache *dc);
/* Free up to `n` files of that; false where none is left. */
bool datacache_bury(struct datacache *dc, unsigned n);
/* Something else on the same disk has failed, with this errno. */
void datacache_disk_failed(struct datacache *dc, int error);
/*
 * Switch a cache on again that was switched off since the disk failed (`failed`
 * in the stats); it begins empty. First datacache_renew() in a thread: 0, or
 * -errno and a sentence in `err`. If it was 0, then datacache_renewed() on the
 * loop.
 */
int datacache_renew(struct datacache *dc, char *err, size_t errlen);
void datacache_renewed(struct datacache *dc);
/* The least disk space that the files of a cache of that size need. */
uint64_t datacache_need_bytes(uint64_t size_bytes);
/* `size_bytes` anew; evicts where it is less. */
void datacache_resize(struct datacache *dc, uint64_t size_bytes);
/* Sets the memory that the index may use. Evicts where it uses more, as for
 * want of disk space. Without a call there is no bound. */
void datacache_set_memory(struct datacache *dc, uint64_t memory_bytes);
/* memory_bytes of datacache_stats alone, cheap enough for every reply. */
uint64_t datacache_memory_bytes(const struct datacache *dc);

/* Sending failed with EFAULT. Where these bytes are of the cache and cannot be
 * read, all of their segment is forgotten; else false. */
bool datacache_suspect(struct datacache *dc, const void *data, size_t len);

struct datacache_stats {
	bool on;                 /* false: the disk failed, or is full */
	int failed;              /* then: how it did, an errno; 0: it is full */
	uint64_t hangs_since_us; /* it does not answer; 0: it does */
	uint64_t files;
	uint64_t extents;
	uint64_t disk_bytes;    /* that the files take */
	uint64_t live_bytes;    /* payload that can be found */
	uint64_t pinned_bytes;  /* what of it is to stay */
	uint64_t memory_bytes;  /* index and all else in memory */
	uint64_t pending_bytes; /* on their way to the disk */
	uint64_t hits, misses, waits;
	uint64_t hit_bytes;
	uint64_t added_bytes, refused_bytes; /* refused: the queue was full */
	uint64_t spared_bytes; /* not kept: the server sends them sooner */
	uint64_t copied_bytes;
	uint64_t evicted_extents, evicted_bytes,
	    kept_bytes;        /* kept: moved on */
	uint64_t unused_bytes; /* prefetched, and evicted without a use */
	uint64_t verified_extents, bad_extents;
	uint64_t loaded_extents;       /* found at start */
	struct datacache_sequence run; /* what this run read first */
	uint64_t layout_passes;        /* that moved something */
	uint64_t layout_moved_bytes;
	/* Of the last pass: what it looked at. */
	struct datacache_sequence layout_before, layout_after;
	enum datacache_layout_end layout_end;
};
void datacache_get_stats(
    const struct datacache *dc, struct datacache_stats *st);

#endif
