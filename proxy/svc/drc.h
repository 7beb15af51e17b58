/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The duplicate request cache: replies to changes, so that a client that
 * repeats a call gets the first call's reply and not a second effect
 * (Juszczak, "Improving the Performance and Correctness of an NFS Server",
 * USENIX 1989; Linux's fs/nfsd/nfscache.c).
 *
 * The key is knfsd's (XID, program, version, procedure, length and checksum
 * of the arguments, address), but without the source port, which changes
 * when a client reconnects, and with the principal.
 *
 * Entries live in a mapped file, so that they survive kill -9. One that was
 * in progress then says how its call went to the server, so that it can be
 * repeated in a way that the server's own cache recognises.
 *
 * A reply is kept for DRC_KEEP_US, or until its slot is needed: that of the
 * oldest answered call is taken first, then that of a recovered one, and never
 * that of one in progress. A client repeats a call within seconds of
 * coming back; a call that looks the same much later is another one, of a
 * program that counts its XIDs from the same number at each start.
 *
 *	(none) ──drc_begin──▶ IN_PROGRESS ──drc_finish──▶ DONE ─5 min─▶ (none)
 *	                        │     ▲
 *	         daemon killed, │     │ the client repeats the call
 *	         call was sent  ▼     │
 *	                       RECOVERED
 *
 * The file lies beside the control socket, on a tmpfs only: a store into a
 * mapping of a disk waits for the disk, and kills where a copy-on-write disk is
 * full. Its space is allocated when it is made, since a store into a hole of a
 * full tmpfs kills, too. It outlives the process, not the machine.
 */
#ifndef FOREFETCH_DRC_H
#define FOREFETCH_DRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upstream/upstream.h"

struct drc;
struct drc_entry;

enum {
	/* The most bytes of a reply that is kept, without the XID. */
	DRC_REPLY_MAX = 400,
	DRC_KEEP_US = 300000000, /* five minutes */
};

/* Two calls with equal keys are copies of one call. It is compared as bytes. */
struct drc_key {
	uint64_t client; /* hash of address and principal */
	/* Hash of the first SVC_SMALL_BYTES of the arguments. */
	uint64_t args;
	uint32_t args_len;
	uint32_t xid;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	uint32_t zero; /* no padding with arbitrary bytes */
};

enum drc_state {
	DRC_NEW,         /* not seen before: the caller goes on with the call */
	DRC_IN_PROGRESS, /* a former copy is not answered yet */
	DRC_DONE,        /* answered: drc_reply() has the reply */
	DRC_RECOVERED,   /* it was sent, and not answered, before a restart */
};

enum { DRC_STATES = DRC_RECOVERED + 1 };

/*
 * Opens or makes the file at `path` (NULL: memory only) for `slots` entries. A
 * file of another version or size, or a damaged one, is begun anew. NULL and
 * errno on failure: ENOTSUP where the file would not be on a tmpfs, EPERM where
 * it is not ours alone, EWOULDBLOCK where another daemon has it, or what
 * open(2), posix_fallocate(3) and mmap(2) say.
 */
struct drc *drc_open(const char *path, unsigned slots);
/* Closes the file, which stays for the next daemon; NULL is allowed. */
void drc_close(struct drc *drc);
/* Counts the entries that were found in the file when it was opened. */
unsigned drc_recovered(const struct drc *drc);

/* Looks a call up, and enters it as in progress where it is new or recovered.
 * With DRC_NEW `*entry` is NULL where all slots are in progress: then copies of
 * the call will not be known. `now_us` is of a clock that goes on while the
 * machine sleeps, and begins anew when it is booted. */
enum drc_state drc_begin(struct drc *drc, const struct drc_key *key,
    uint64_t now_us, struct drc_entry **entry);

/* The call's owner, which is the request, while it is in progress; NULL: it has
 * none. */
void drc_set_owner(struct drc *drc, struct drc_entry *e, void *owner);
void *drc_owner(const struct drc *drc, const struct drc_entry *e);

/* How the call went out to the server last, so that a daemon that comes after
 * this one can repeat it in the same way. `at_us` is not kept. */
void drc_set_sent(struct drc_entry *e, const struct upstream_sent *sent);
void drc_get_sent(const struct drc_entry *e, struct upstream_sent *sent);

/* The object that a change was about, as it was known when the change was first
 * sent. The object's handle identifies it, because file systems use the number
 * of a removed file again at once. SETATTR has the handle in its arguments, so
 * for it the object's version is kept. */
struct drc_object {
	uint64_t key;    /* fh_key(), or SETATTR's ctime; 0: it was not known */
	uint32_t nlink;  /* LINK: the file's names */
	uint32_t values; /* SETATTR: a hash of what it would change */
};
void drc_set_object(struct drc_entry *e, const struct drc_object *object);
struct drc_object drc_object(const struct drc_entry *e);

/* Ends a call that is in progress: drc_finish() keeps its `reply`, the bytes
 * behind the XID, or forgets a call whose reply is longer than DRC_REPLY_MAX;
 * drc_drop() forgets it. `e` must not be used after either. */
void drc_finish(struct drc *drc, struct drc_entry *e, const void *reply,
    size_t len, uint64_t now_us);
void drc_drop(struct drc *drc, struct drc_entry *e);
/* The reply of a call that is DRC_DONE; good until the next drc_begin(). */
const void *drc_reply(const struct drc_entry *e, size_t *len);

/* Notes that this daemon serves without its cache_dir. The files there then
 * know nothing of what it answers, and the next daemon must be told so. */
void drc_set_detached(struct drc *drc, bool detached);
bool drc_detached(const struct drc *drc);

/* The source port of each connection to the server, kept for the next start; 0
 * where none was noted. */
uint16_t drc_port(const struct drc *drc, unsigned conn);
void drc_set_port(struct drc *drc, unsigned conn, uint16_t port);

#endif
