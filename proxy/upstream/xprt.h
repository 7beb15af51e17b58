/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records over one connected TCP socket, the same for clients that come in
 * (conn) and for the server that we call (upstream).
 *
 * Bytes are received straight into the record reader's buffers, and payloads
 * go out by reference. Records queued in one turn of the event loop leave in
 * one system call.
 */
#ifndef FOREFETCH_XPRT_H
#define FOREFETCH_XPRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "nfsproto/record.h"

struct event_base;
struct xprt;

enum xprt_end {
	XPRT_END_EOF,   /* the peer closed */
	XPRT_END_ERROR, /* the socket failed; an errno says how */
	/* A piece of a reply could not be read (EFAULT): the disk under it
	 * failed. */
	XPRT_END_FAULT,
	XPRT_END_RECORD, /* the stream is no sequence of records */
};

/* Callbacks, from the event loop and never from within a function below. All
 * but on_received() may free the transport. */
struct xprt_ops {
	/* Takes one whole record, good for the length of the call, or longer
	 * under a reference to its buffer. */
	void (*on_record)(void *ctx, const struct record *rec);
	/* Says that no more records will come or go; called once. The callee
	 * frees the transport. `why` is for a log line. */
	void (*on_end)(void *ctx, enum xprt_end end, const char *why);
	/* Says that `bytes` left the queue of outgoing bytes. */
	void (*on_sent)(void *ctx, size_t bytes);
	/* Says that `bytes` came at `now_us`; `begun`: they continue a record
	 * of which some had come before. Called before on_record() of these.
	 * May be NULL. */
	void (*on_received)(
	    void *ctx, size_t bytes, bool begun, uint64_t now_us);
	/* Says that a turn of receiving is over: xprt_partial_bytes() may be
	 * another number. May be NULL. */
	void (*on_read)(void *ctx);
};

/* Makes the transport of `fd`, which must be connected and non-blocking, and is
 * the transport's from now on. NULL and errno on failure: then `fd` is still
 * the caller's. */
struct xprt *xprt_new(struct event_base *base, int fd, struct rbuf_pool *pool,
    const struct xprt_ops *ops, void *ctx);
/* Closes the socket; queued bytes are lost. May be called from callbacks. NULL
 * is allowed. */
void xprt_free(struct xprt *x);

/* Stops receiving or goes on. Records already received wait, too; nobody hears
 * of the peer's end meanwhile (xprt_peer_closed()). */
void xprt_pause(struct xprt *x, bool pause);

/*
 * Queues one record (RFC 5531 section 11): `head` is copied; behind it the `n`
 * pieces go out by reference, or are copied where they have no `hold`, and
 * zeros up to a multiple of four bytes. False where there is no memory: the
 * stream is of no use any more then. After the end of the transport it queues
 * nothing, and returns true.
 */
bool xprt_queue(struct xprt *x, const void *head, size_t head_len,
    const struct rbuf_piece *pieces, unsigned n);

/* Gives the bytes that were not sent yet, in order, as up to `n` pieces;
 * returns how many pieces there are. Good until the loop goes on. */
unsigned xprt_unsent(const struct xprt *x, struct iovec *pieces, unsigned n);
/* Bytes that wait to be sent, with their record marks. */
size_t xprt_queued_bytes(const struct xprt *x);
/* Bytes that were received, and sent, since the transport was made. */
uint64_t xprt_received_bytes(const struct xprt *x);
uint64_t xprt_sent_bytes(const struct xprt *x);
/* Returns how many bytes have come of a record that is not whole yet. */
size_t xprt_partial_bytes(const struct xprt *x);
/* When bytes were last received; 0 where none were. */
uint64_t xprt_last_rx_us(const struct xprt *x);
/* Since when an unfinished record lies there; 0 where none does. */
uint64_t xprt_partial_since_us(const struct xprt *x);
int xprt_fd(const struct xprt *x);
/* Whether the peer has closed: nobody is told of it during a pause. */
bool xprt_peer_closed(const struct xprt *x);

#endif
