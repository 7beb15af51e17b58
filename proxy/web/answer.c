/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers forbid: scripts, styles and requests but our own (CSP), being
 * shown in a frame, guessing another type of content, and telling other sites
 * where somebody came from.
 */
#include <event2/buffer.h>

#include "web/answer.h"

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Service Unavailable";
	}
}

bool answer_write(struct evbuffer *out, const struct answer *a)
{
	int rc = evbuffer_add_printf(out,
	    "HTTP/1.1 %d %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Connection: close\r\n"
	    "Cache-Control: no-store\r\n"
	    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
	    "style-src 'self'; connect-src 'self'; img-src data:; "
	    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
	    "X-Frame-Options: DENY\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Cross-Origin-Resource-Policy: same-origin\r\n"
	    "Cross-Origin-Opener-Policy: same-origin\r\n"
	    "Referrer-Policy: no-referrer\r\n"
	    "%s\r\n",
	    a->status, reason(a->status),
	    a->type ? a->type : "text/plain; charset=utf-8", a->len,
	    a->status == 405 ? "Allow: GET, HEAD\r\n" : "");

	return rc >= 0 && (a->head || evbuffer_add(out, a->body, a->len) == 0);
}
