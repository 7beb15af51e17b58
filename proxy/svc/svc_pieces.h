/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * READs of clients that would occupy the link for long: they are asked of the
 * server in pieces, and put together by reference.
 *
 *	READ ──▶ pieces ─▶ wait in one queue ─▶ under way ─▶ kept ──▶ reply
 *	                   │ in turns for each   │ as many as the
 *	                   │ file                │ pipe holds
 *
 * So the queue of a slow link stands here, where small calls pass it, and not
 * in the network. All pieces of a reply must show one version of the file, one
 * that was known for a grain of the server's clock before they were sent; else
 * the READ is asked whole.
 *
 * At 2 Mb/s a READ of 128 KiB occupies the link for half a second, and its
 * client has several under way. Where the rate is not known, or the link is
 * fast, READs pass whole.
 *
 * A piece is a flight like any other: it is learned from, and can be joined and
 * watched. One that is not sent yet is claimed (fetch_claim()), so that nobody
 * else asks for it. An error of the first piece is the answer; a short piece
 * ends it, and with it the pieces that were not sent.
 */
#ifndef FOREFETCH_SVC_PIECES_H
#define FOREFETCH_SVC_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/nfs_proc.h"

struct linkest;
struct svc_params;
struct svc_pieces;
struct svc_rqst;

/* Makes the queue of a service's pieces. NULL and errno without memory. */
struct svc_pieces *svc_pieces_new(const struct svc_params *p);
/* Frees it; all requests must be gone. Whoever watches a piece is forgotten.
 * NULL is allowed. */
void svc_pieces_free(struct svc_pieces *ps);

/*
 * Asks for what a request wants in pieces, if it is a READ and long for the
 * link. True: the request has been taken care of, and will be answered, or its
 * row tried again where the pieces do not make an answer. False: nothing was
 * done.
 */
bool svc_pieces_forward(struct svc_rqst *rqst);
/* The same for a part of the READ; its row is tried again when all of that is
 * there. */
bool svc_pieces_rest(struct svc_rqst *rqst, const READ3args *args);
/* Asks in one call for a part of the READ that lies behind what is under way:
 * `args->count` > 0. The request does not wait for it, but finds it on its way
 * later. False, and nothing is asked for, where it would be a burden for the
 * link, or would not be sure to be of one version. */
bool svc_pieces_behind(struct svc_rqst *rqst, const READ3args *args);
/* Has a request wait for its pieces no more, if it does. Pieces that were not
 * sent will not be, unless others wait for them. */
void svc_pieces_leave(struct svc_rqst *rqst);

/* Whether some pieces wait for room on the link. */
bool svc_pieces_waiting(const struct svc_pieces *ps);

/* A READ is cut into no more pieces than there would be of this length, in
 * bytes of payload. */
enum { SVC_PIECE_MIN = 16 << 10 };

/* Returns the wire bytes of the reply to a piece of `count` bytes. */
uint64_t svc_pieces_wire_bytes(uint32_t count);
/* Returns how long the pieces of a READ of `count` bytes are, from 4 KiB to 60
 * KiB of payload; 0: it is asked whole. */
uint32_t svc_pieces_unit(const struct linkest *le, uint32_t count);
/* Returns the wire bytes of pieces under way from which on no further piece is
 * sent. */
uint64_t svc_pieces_window(const struct linkest *le, uint32_t unit);

#endif
