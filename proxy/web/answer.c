/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends answers of HTTP. Their headers forbid: scripts, styles and requests but
 * our own (Content-Security-Policy), being shown in a frame, guessing another
 * type of content, and telling other sites where somebody came from. The page
 * shows texts of servers, so that a mistake in it must not become a script. */
#include <stdio.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "web/answer.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Headers of every answer. Each connection carries one request. */
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

/* False without memory. To 405 belongs which methods there are (RFC 9110
 * section 15.5.6). */
static bool add_headers(
    struct evkeyvalq *headers, int status, const char *type, size_t len)
{
	char length[24];
	int failed = evhttp_add_header(headers, "Content-Type", type);

	snprintf(length, sizeof(length), "%zu", len);
	failed |= evhttp_add_header(headers, "Content-Length", length);
	for (size_t i = 0; i < LENGTH(always); i++)
		failed |=
		    evhttp_add_header(headers, always[i].key, always[i].value);
	if (status == 405)
		failed |= evhttp_add_header(headers, "Allow", "GET, HEAD");
	return !failed;
}

bool answer_send(struct evhttp_request *req, int status, const char *type,
    const char *body, size_t len)
{
	bool head = evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;
	struct evbuffer *out = evbuffer_new();
	bool made = out && (head || evbuffer_add(out, body, len) == 0) &&
		    add_headers(evhttp_request_get_output_headers(req), status,
			type, len);

	/* evhttp would answer a client's wish to keep the connection. */
	evhttp_remove_header(
	    evhttp_request_get_input_headers(req), "Connection");
	if (made)
		evhttp_send_reply(req, status, NULL, out);
	if (out)
		evbuffer_free(out);
	return made;
}
