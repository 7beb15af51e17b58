/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record marking (RFC 5531 section 11): a stream of bytes into records.
 *
 * The reader has no socket: it says where the next bytes belong, is told how
 * many came, and gives records as they become whole. A record lies in one
 * piece, four-byte aligned, in a buffer that it shares with its neighbours;
 * only a record in several fragments or one that outgrows its buffer is
 * moved, and what was moved is counted.
 */
#ifndef FOREFETCH_RECORD_H
#define FOREFETCH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsproto/rbuf.h"

enum {
	RECORD_MARK_BYTES = 4,
	/* RFC 5531 sets no bound. Each fragment behind the first has its bytes
	 * moved, so a peer that sends very many only makes work. */
	RECORD_FRAGMENTS_MAX = 16,
	/* The largest WRITE or READ, and its headers. */
	RECORD_BYTES_MAX = (1 << 20) + (8 << 10),
};
#define RECORD_LAST_FRAGMENT 0x80000000u

/* A whole record, without its marks. */
struct record {
	struct rbuf *buf; /* borrowed: take a reference to keep the bytes */
	const unsigned char *data;
	size_t len;
	uint64_t received_us; /* the caller's to set */
};

/* The reader ends where a status says that the stream cannot be read on: nobody
 * can tell where the next record begins. */
enum record_status {
	RECORD_MORE,      /* receive more */
	RECORD_READY,     /* `rec` is filled */
	RECORD_TOO_LONG,  /* the stream cannot be read on: close it */
	RECORD_FRAGMENTS, /* too many of them */
	RECORD_ODD,       /* no multiple of four bytes long */
	RECORD_NO_MEMORY,
};

struct record_reader;

/* Makes the reader of one stream, whose buffers come from `pool`; the pool has
 * to outlive it. NULL without memory. */
struct record_reader *record_reader_new(struct rbuf_pool *pool);
void record_reader_free(struct record_reader *r);

/* Returns where to put the next bytes, and in `len` how many at most (at least
 * one); NULL without memory. The caller asks when record_reader_next() has no
 * more records. */
void *record_reader_space(struct record_reader *r, size_t *len);
/* Says that `len` bytes were put there. */
void record_reader_filled(struct record_reader *r, size_t len);
/* Gives the next whole record: RECORD_READY and `rec`, or another status. Its
 * bytes are valid until the next call of record_reader_space(), or longer under
 * a reference to its buffer. */
enum record_status record_reader_next(
    struct record_reader *r, struct record *rec);

/* Returns how many bytes have come of a record that is not whole yet. */
size_t record_reader_partial_bytes(const struct record_reader *r);
/* Bytes moved in memory since the reader was made. */
uint64_t record_reader_moved_bytes(const struct record_reader *r);

#endif
