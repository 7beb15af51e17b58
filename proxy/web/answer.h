/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of HTTP: a status, the headers that keep other sites out, a body. */
#ifndef FOREFETCH_ANSWER_H
#define FOREFETCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

struct evbuffer;

struct answer {
	int status;
	const char *type; /* NULL: text */
	const char *body;
	size_t len;
	bool head; /* the body is not sent, but its length is told */
};

/* False without memory. */
bool answer_write(struct evbuffer *out, const struct answer *a);

#endif
