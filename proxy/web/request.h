/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made a request, and whether it may be answered. The page can be asked for
 * by any site that the user's browser visits, so a request must name this
 * machine (else a name was pointed at our address: DNS rebinding), and no other
 * site may have made it. See also https://fetch.spec.whatwg.org/ and
 * https://w3c.github.io/webappsec-fetch-metadata/
 */
#ifndef FOREFETCH_REQUEST_H
#define FOREFETCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct evkeyvalq;

/* Bytes of a request's line and headers, and of the body that it may have,
 * which nobody reads. */
enum { REQUEST_MAX = 8192, REQUEST_BODY_MAX = 4096 };

/* The headers that matter, which belong to the request; "": it was not
 * given. */
struct http_request {
	const char *host, *origin;
	const char *site, *mode; /* Sec-Fetch-Site, Sec-Fetch-Mode */
};

/* Finds the headers. False where one is there twice, since nobody knows which
 * of the two others believe, or has bytes that belong into none. */
bool request_read(const struct evkeyvalq *headers, struct http_request *out);

/* Whether Host is an IP address, localhost, or one of the `n` names. */
bool request_names_us(
    const struct http_request *r, const char *const *names, size_t n);
/* Whether another site's page made the request; if it navigates to a page of
 * ours, that is only a link. */
bool request_is_foreign(const struct http_request *r);

#endif
