/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of HTTP: a status, the headers that keep other sites out, a body. */
#ifndef FOREFETCH_ANSWER_H
#define FOREFETCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp_request;

struct http_answer {
	int status;
	const char *type; /* NULL: text */
	const char *body;
	size_t len;
};

/* Queues it; to HEAD without its body, but with the length. False without
 * memory, and then nothing was queued. */
bool answer_send(struct evhttp_request *req, const struct http_answer *a);

#endif
