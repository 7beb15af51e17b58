/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers forbid: scripts, styles and requests but our own (CSP), being
 * shown in a frame, guessing another type of content, and telling other sites
 * where somebody came from.
 */
#include <stdio.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "web/answer.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *key, *value;
} always[] = {
    {"Connection", "close"},
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy",
	"default-src 'none'; script-src 'self'; style-src 'self'; "
	"connect-src 'self'; img-src data:; base-uri 'none'; "
	"form-action 'none'; frame-ancestors 'none'"},
    {"X-Frame-Options", "DENY"},
    {"X-Content-Type-Options", "nosniff"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
};

static bool add_headers(struct evkeyvalq *headers, const struct http_answer *a)
{
	char len[24];
	int failed = 0;

	snprintf(len, sizeof(len), "%zu", a->len);
	failed |= evhttp_add_header(headers, "Content-Type",
	    a->type ? a->type : "text/plain; charset=utf-8");
	failed |= evhttp_add_header(headers, "Content-Length", len);
	for (size_t i = 0; i < LENGTH(always); i++)
		failed |=
		    evhttp_add_header(headers, always[i].key, always[i].value);
	if (a->status == 405)
		failed |= evhttp_add_header(headers, "Allow", "GET, HEAD");
	return !failed;
}

bool answer_send(struct evhttp_request *req, const struct http_answer *a)
{
	bool head = evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;
	struct evbuffer *body = evbuffer_new();
	bool made = body &&
		    (head || evbuffer_add(body, a->body, a->len) == 0) &&
		    add_headers(evhttp_request_get_output_headers(req), a);

	/* evhttp would answer a client's wish to keep the connection. */
	evhttp_remove_header(
	    evhttp_request_get_input_headers(req), "Connection");
	if (made)
		evhttp_send_reply(req, a->status, NULL, body);
	if (body)
		evbuffer_free(body);
	return made;
}
