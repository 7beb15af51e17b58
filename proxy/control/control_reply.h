/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of the control socket answered, without a socket. */
#ifndef FOREFETCH_CONTROL_REPLY_H
#define FOREFETCH_CONTROL_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct control_ops;
struct control_peer;
struct control_session;

/*
 * From the bytes of a request to the bytes of its response (control.proto).
 * Any bytes may come in: if they are no request, or ask for something that does
 * not exist, the response says so.
 *
 * `session` is what the same client has begun; the request may end that, and
 * begin other things.
 *
 * Returns 0 with `out` allocated (free it), at most CONTROL_RESPONSE_MAX
 * bytes; or -ENOMEM; or -EAGAIN where it takes longer: call it again with the
 * same request in another turn of the loop. The session has work then, or waits
 * until others have less (`may_work`).
 */
int control_reply_build(const uint8_t *req, size_t req_len,
    const struct control_peer *peer, struct control_session *session,
    const struct control_ops *ops, void *ctx, uint8_t **out, size_t *out_len);

/* The servers are others now, or in another order: a session's work that has to
 * do with them ends, and the same request, asked again, begins it anew. False
 * where there was none. */
bool control_reply_restart(struct control_session *session);

/* Free a session's work, and the file that it carries in parts. */
void control_reply_forget(struct control_session *session);

/* The response to a client that is one too many; as above. */
int control_reply_busy(uint8_t **out, size_t *out_len);

#endif
