/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For comparison only, see payload.h. Each payload is copied twice:
 *
 *   - from where it lies into a buffer: as by a read() of the cache's file, or
 *     by a decoder that gives its caller a buffer of his own;
 *   - from there into the reply, behind its header, as by an encoder.
 *
 * Both buffers are used again and again, as a good one of these would do.
 */
#include "svc/payload.h"

#include <string.h>

#include "base/metrics.h"
#include "nfsproto/rbuf.h"
#include "svc/svc.h"

enum { KEEP = 16 /* idle buffers of each size */ };

/* Nothing else of the daemon is to know of this file. */
static struct rbuf_pool *pool;
static unsigned char buffer[RBUF_LARGE];

/* The one place where payload is copied, and counted. */
static void copy(struct metrics *m, void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	metrics_add(m, METRICS_BYTES_COPIED, len);
}

void payload_send(struct metrics *m, struct svc_client *client,
    const void *head, size_t head_len, const struct rbuf_piece *pieces,
    unsigned n)
{
	struct rbuf_piece piece = {0};
	size_t len = 0, at = 0;

	for (unsigned i = 0; i < n; i++)
		len += pieces[i].len;
	if (!pool)
		pool = rbuf_pool_new(0, KEEP);
	/* What has no holder is small, and copied when it is queued. */
	if (n > 0 && pieces[0].hold && len <= RBUF_LARGE && pool)
		piece.hold = rbuf_get(pool, len);
	if (!piece.hold) {
		client->ops->send(client, head, head_len, pieces, n);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		copy(m, buffer + at, pieces[i].data, pieces[i].len);
		at += pieces[i].len;
	}
	copy(m, piece.hold->data, buffer, len);
	piece.data = piece.hold->data;
	piece.len = (uint32_t)len;
	client->ops->send(client, head, head_len, &piece, 1);
	rbuf_unref(piece.hold);
}
