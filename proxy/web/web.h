/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A look at the daemon over HTTP: numbers for Prometheus, and a page for
 * people. Nothing can be changed here.
 *
 *	/            the page (page/), which asks for the others
 *	/metrics     prometheus.h
 *	/api/...     document.h: what the page shows, as JSON
 *
 *	socket ─▶ web ─▶ request: well-formed? ours? ─▶ document ─▶ control_ops
 *
 * Whoever reaches the port may look, so there is no name of a file, a user or a
 * client in what is answered. It must not hold up files: one connection is
 * accepted and one request answered in 5 ms, after long work a longer rest
 * follows, and an answer is sent again for a second.
 */
#ifndef FOREFETCH_WEB_H
#define FOREFETCH_WEB_H

#include <stddef.h>

struct control_ops;
struct event_base;
struct sockaddr;
struct web;

/* Bounds of what clients may have. */
enum {
	WEB_CONNECTIONS_MAX = 32,
	/* Half a request, or an answer that is not taken, for so long. */
	WEB_STALL_S = 10,
};

/* Listens at `addr`, on the loop of `base`. Requests have to name an IP
 * address, localhost, this machine's host name or one of the `n` names, which
 * are copied. NULL, a sentence in `err` and errno set on failure. `ops` and
 * `ctx` must outlive the result. */
struct web *web_new(struct event_base *base, const struct sockaddr *addr,
    const char *const *names, size_t n, const struct control_ops *ops,
    void *ctx, char *err, size_t errlen);
/* Closes all connections. NULL is allowed. */
void web_free(struct web *w); /* NULL is allowed */

/* To be called before a server goes or comes: nothing is kept of those that
 * were there. NULL is allowed. */
void web_forget(struct web *w);

#endif
