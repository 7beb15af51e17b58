/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers of a request that say who made it: found, and judged. Each rule
 * is about a browser that a user's other pages may misuse; programs can send
 * any header, and are let in or kept out by the address that is listened at. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <event2/keyvalq_struct.h>

#include "web/request.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Whether a value has no control characters. */
static bool is_text(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < 0x20 || *value == 0x7f)
			return false;
	return true;
}

bool request_read(const struct evkeyvalq *headers, struct http_request *out)
{
	const struct {
		const char *name, **value;
	} wanted[] = {{"Host", &out->host}, {"Origin", &out->origin},
	    {"Sec-Fetch-Site", &out->site}, {"Sec-Fetch-Mode", &out->mode}};
	const struct evkeyval *h;

	*out = (struct http_request){"", "", "", ""};
	TAILQ_FOREACH (h, headers, next) {
		for (size_t i = 0; i < LENGTH(wanted); i++) {
			if (strcasecmp(h->key, wanted[i].name) != 0)
				continue;
			if (**wanted[i].value || !is_text(h->value))
				return false;
			*wanted[i].value = h->value;
		}
	}
	return true;
}

/* Whether a text is such as ":80". */
static bool is_port(const char *text)
{
	return *text == ':' &&
	       strspn(text + 1, "0123456789") == strlen(text + 1);
}

/* The name of "name:port" or "[::1]:port" in `name`; false where it is neither
 * (RFC 9110 section 7.2). */
static bool host_name(const char *host, char *name, size_t size, bool *v6)
{
	const char *end = strchr(host, ':');

	*v6 = *host == '[';
	if (*v6) {
		end = strchr(++host, ']');
		if (!end || (end[1] != '\0' && !is_port(end + 1)))
			return false;
	} else if (!end) {
		end = host + strlen(host);
	} else if (!is_port(end)) {
		return false;
	}
	/* The dot at the end of a full name. */
	if (!*v6 && end > host + 1 && end[-1] == '.')
		end--;
	if ((size_t)(end - host) >= size)
		return false;
	memcpy(name, host, (size_t)(end - host));
	name[end - host] = '\0';
	return true;
}

/* A page whose name was made to lead to our address (DNS rebinding) sends its
 * own name as Host. */
bool request_names_us(
    const struct http_request *r, const char *const *names, size_t n)
{
	struct in6_addr addr;
	char name[256];
	bool v6;

	if (!host_name(r->host, name, sizeof(name), &v6))
		return false;
	if (v6)
		return inet_pton(AF_INET6, name, &addr) == 1;
	if (inet_pton(AF_INET, name, &addr) == 1 ||
	    strcasecmp(name, "localhost") == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Origin stands in requests of scripts, Sec-Fetch-Site in all of newer
 * browsers. */
bool request_is_foreign(const struct http_request *r)
{
	const char *origin = r->origin;

	if (strncasecmp(origin, "http://", 7) == 0)
		origin += 7;
	else if (strncasecmp(origin, "https://", 8) == 0)
		origin += 8;
	if (*origin && strcasecmp(origin, r->host) != 0)
		return true;
	if (!*r->site || strcasecmp(r->site, "same-origin") == 0 ||
	    strcasecmp(r->site, "none") == 0)
		return false;
	return strcasecmp(r->mode, "navigate") != 0;
}
