/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as the headers of a request of HTTP, as evhttp gives them, a name
 * and a value on two lines: what is understood are texts without control
 * characters, and no name but ours is taken for ours.
 */
#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "web/request.h"
#include "fuzz.h"

enum { TEXT_MAX = 4096 };

static void check_text(const char *text)
{
	for (; *text; text++)
		MUST((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_request(const struct http_request *r)
{
	static const char *const names[] = {"nas.example.org"};
	static const char foreign[] = ".evil.example";
	size_t len = strlen(r->host);

	check_text(r->host);
	check_text(r->origin);
	check_text(r->site);
	check_text(r->mode);
	if (len > sizeof(foreign) &&
	    strcmp(r->host + len - strlen(foreign), foreign) == 0)
		MUST(!request_names_us(r, names, 1));
	(void)request_names_us(r, names, 1);
	(void)request_is_foreign(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX + 1], *at = text, *key, *value;
	struct evkeyvalq headers;
	struct http_request r;

	if (size > TEXT_MAX)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	TAILQ_INIT(&headers);
	while ((key = strsep(&at, "\n")) && (value = strsep(&at, "\n")))
		evhttp_add_header(&headers, key, value);
	if (request_read(&headers, &r))
		check_request(&r);
	evhttp_clear_headers(&headers);
	return 0;
}
