/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request of HTTP/1.x, and whether it may be answered. The page can be asked
 * for by any site that the user's browser visits, so a request must name this
 * machine (else a name was pointed at our address: DNS rebinding), and no other
 * site may have made it. See also https://fetch.spec.whatwg.org/ and
 * https://w3c.github.io/webappsec-fetch-metadata/
 */
#ifndef FOREFETCH_REQUEST_H
#define FOREFETCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum request_method { REQUEST_GET, REQUEST_HEAD, REQUEST_OTHER };

struct request {
	enum request_method method;
	char path[160]; /* without the query */
	char host[256]; /* "": none was given */
	char origin[256];
	char site[24];  /* Sec-Fetch-Site */
	bool navigates; /* Sec-Fetch-Mode: navigate */
};

enum { REQUEST_MAX = 8192 }; /* bytes of a request's line and headers */

enum request_end {
	REQUEST_MORE, /* it is not complete */
	REQUEST_BAD,  /* it will never be one */
	REQUEST_DONE,
};

/* What `len` bytes hold. */
enum request_end request_parse(
    const char *data, size_t len, struct request *out);

/* Whether Host is an IP address, localhost, or one of `names`. */
bool request_names_us(
    const struct request *r, const char *const *names, size_t n);
/* Whether another site's page made the request; if it navigates to a page of
 * ours, that is only a link. */
bool request_is_foreign(const struct request *r);

#endif
