/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests, line by line (RFC 9112, sections 2 to 5), and who made them. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "web/request.h"

/* One line without its end; `next` is behind that. */
struct line {
	const char *text;
	size_t len;
	const char *next;
};

static bool line_get(const char *from, const char *end, struct line *out)
{
	const char *lf = memchr(from, '\n', (size_t)(end - from));

	if (!lf)
		return false;
	*out = (struct line){
	    .text = from, .len = (size_t)(lf - from), .next = lf + 1};
	if (out->len > 0 && lf[-1] == '\r')
		out->len--;
	return true;
}

/* False where it does not fit, or has bytes that belong into no header. */
static bool copy(char *to, size_t size, const char *text, size_t len)
{
	if (len >= size)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	memcpy(to, text, len);
	to[len] = '\0';
	return true;
}

static enum request_method method_of(const char *text, size_t len)
{
	if (len == 3 && memcmp(text, "GET", 3) == 0)
		return REQUEST_GET;
	if (len == 4 && memcmp(text, "HEAD", 4) == 0)
		return REQUEST_HEAD;
	return REQUEST_OTHER;
}

/* "GET /path?query HTTP/1.1" */
static bool parse_first(const struct line *line, struct request *out)
{
	const char *end = line->text + line->len, *path, *version;
	const char *space = memchr(line->text, ' ', line->len);

	if (!space || space == line->text)
		return false;
	path = space + 1;
	version = memchr(path, ' ', (size_t)(end - path));
	if (!version || *path != '/' || end - version != 9 ||
	    memcmp(version, " HTTP/1.", 8) != 0)
		return false;
	out->method = method_of(line->text, (size_t)(space - line->text));
	for (const char *p = path; p < version; p++)
		if (*p == '?')
			version = p;
	/* A long path is none of ours, but no error in the request. */
	if (!copy(out->path, sizeof(out->path), path, (size_t)(version - path)))
		snprintf(out->path, sizeof(out->path), "?");
	return true;
}

/* A header that is there twice is not believed. */
static bool keep(char *to, size_t size, const char *value, size_t len)
{
	return !*to && copy(to, size, value, len);
}

static bool parse_header(const struct line *line, struct request *out)
{
	const char *colon = memchr(line->text, ':', line->len);
	const char *value, *end = line->text + line->len;
	char mode[24] = "";
	size_t name, len;

	if (!colon || colon == line->text)
		return false;
	name = (size_t)(colon - line->text);
	for (value = colon + 1; value < end && strchr(" \t", *value); value++)
		;
	while (end > value && strchr(" \t", end[-1]))
		end--;
	len = (size_t)(end - value);
	if (name == 4 && strncasecmp(line->text, "Host", name) == 0)
		return keep(out->host, sizeof(out->host), value, len);
	if (name == 6 && strncasecmp(line->text, "Origin", name) == 0)
		return keep(out->origin, sizeof(out->origin), value, len);
	if (name == 14 && strncasecmp(line->text, "Sec-Fetch-Site", name) == 0)
		return keep(out->site, sizeof(out->site), value, len);
	if (name == 14 && strncasecmp(line->text, "Sec-Fetch-Mode", name) == 0)
		out->navigates = copy(mode, sizeof(mode), value, len) &&
				 strcasecmp(mode, "navigate") == 0;
	return true;
}

enum request_end request_parse(
    const char *data, size_t len, struct request *out)
{
	const char *end = data + len;
	struct line line;

	*out = (struct request){.method = REQUEST_OTHER};
	if (memchr(data, '\0', len))
		return REQUEST_BAD;
	if (!line_get(data, end, &line))
		return len < REQUEST_MAX ? REQUEST_MORE : REQUEST_BAD;
	if (!parse_first(&line, out))
		return REQUEST_BAD;
	while (line_get(line.next, end, &line)) {
		if (line.len == 0)
			return REQUEST_DONE;
		if (!parse_header(&line, out))
			return REQUEST_BAD;
	}
	return len < REQUEST_MAX ? REQUEST_MORE : REQUEST_BAD;
}

/* ---- who made it ------------------------------------------------------ */

/* ":80" */
static bool is_port(const char *text)
{
	return *text == ':' &&
	       strspn(text + 1, "0123456789") == strlen(text + 1);
}

/* The name of "name:port" or "[::1]:port"; false where it is neither. */
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
	return copy(name, size, host, (size_t)(end - host));
}

bool request_names_us(
    const struct request *r, const char *const *names, size_t n)
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

bool request_is_foreign(const struct request *r)
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
	return !r->navigates;
}
