/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of HTTP: a status, the headers that keep other sites out, a body. */
#ifndef FOREFETCH_ANSWER_H
#define FOREFETCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp_request;

/* Queues the answer to a request, with a body of `len` bytes, which is copied;
 * to HEAD without its body, but with the length. False without memory, and then
 * nothing was queued. */
bool answer_send(struct evhttp_request *req, int status, const char *type,
    const char *body, size_t len);

#endif
