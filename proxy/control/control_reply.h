/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CONTROL_REPLY_H
#define FOREFETCH_CONTROL_REPLY_H

#include <stddef.h>
#include <stdint.h>

struct control_ops;
struct control_peer;
struct control_session;

/*
 * From the bytes of a request to the bytes of its response (control.proto);
 * no socket. Any bytes may come in: what is no request, or asks for what is
 * not there, gets a response that says so.
 *
 * `session` is what the same client began before; the request may end it, and
 * begin other things.
 *
 * Returns 0 with `out` allocated (free it), at most CONTROL_RESPONSE_MAX
 * bytes; or -ENOMEM; or -EAGAIN where that takes longer: to be called again
 * with the same request, in another turn of the loop. Then the session has
 * work, or is to wait until others have less (`may_work`).
 */
int control_reply_build(const uint8_t *req, size_t req_len,
    const struct control_peer *peer, struct control_session *session,
    const struct control_ops *ops, void *ctx, uint8_t **out, size_t *out_len);

/* Its work, and what it carries. */
void control_reply_forget(struct control_session *session);

/* The response to a client that is one too many; as above. */
int control_reply_busy(uint8_t **out, size_t *out_len);

#endif
