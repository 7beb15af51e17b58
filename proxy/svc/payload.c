/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "svc/payload.h"

#include "svc/svc.h"

void payload_send(struct metrics *m, struct svc_client *client,
    const void *head, size_t head_len, const struct rbuf_piece *pieces,
    unsigned n)
{
	(void)m;
	client->ops->send(client, head, head_len, pieces, n);
}
