/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of a reply's payload to its client. payload.c passes it on as it
 * lies, by reference. With -DFF_COPY=ON there is payload_copy.c in its place,
 * which copies as usual designs do, for bench/copies to compare with.
 */
#ifndef FOREFETCH_PAYLOAD_H
#define FOREFETCH_PAYLOAD_H

#include <stddef.h>

struct metrics;
struct rbuf_piece;
struct svc_client;

/* As `send` of struct svc_client_ops. */
void payload_send(struct metrics *m, struct svc_client *client,
    const void *head, size_t head_len, const struct rbuf_piece *pieces,
    unsigned n);

#endif
