/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One TCP connection to a server, with the calls that are outstanding on
 * it. A connection that fails stays failed: a reconnect in the middle of a
 * measurement would hide what happened.
 */
#ifndef NFSLOAD_CONNECTION_H
#define NFSLOAD_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

struct connection;

/*
 * Connect to a numeric address and wait for it, `timeout_ns` at most. NULL
 * and a reason in `why` on failure. Run by root, the local port is below
 * 1024.
 */
struct connection *connection_open(const char *address, uint16_t port,
    uint64_t timeout_ns, char *why, size_t why_size);

/* Outstanding calls finish with CALL_LOST. */
void connection_close(struct connection *c);

/* Credential (AUTH_SYS) of the calls that follow. */
void connection_set_cred(struct connection *c, uint32_t uid, uint32_t gid);

/*
 * Queue a call; connection_service() with POLLOUT writes it. 0, or -errno:
 * then `call->done` was not called and the connection has failed.
 */
int connection_send(struct connection *c, struct call *call);

/* For poll(2); -1 once the connection has failed. */
int connection_fd(const struct connection *c);
short connection_events(const struct connection *c);

/*
 * Treat what poll(2) reported and finish what is overdue; to be called at
 * least every 100 ms. Calls `done` of each call that was answered; it must
 * not send. False once the connection has failed: all outstanding calls
 * are finished then.
 */
bool connection_service(struct connection *c, short revents, uint64_t now);

/* Why it failed; an empty string as long as it has not. */
const char *connection_error(const struct connection *c);

uint32_t connection_outstanding(const struct connection *c);

#endif
