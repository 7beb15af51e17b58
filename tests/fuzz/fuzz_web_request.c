/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a request of HTTP: more bytes are asked for only while there is
 * room, what is understood are texts without control characters, and no name
 * but ours is taken for ours.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "web/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
	if (!held)
		abort();
}

static void check_text(const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	check(len < room);
	for (size_t i = 0; i < len; i++)
		check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"nas.example.org"};
	static const char foreign[] = ".evil.example";
	struct request r;
	size_t len;

	switch (request_parse((const char *)data, size, &r)) {
	case REQUEST_MORE:
		check(size < REQUEST_MAX);
		return 0;
	case REQUEST_BAD:
		return 0;
	default:
		break;
	}
	check_text(r.path, sizeof(r.path));
	check_text(r.host, sizeof(r.host));
	check_text(r.origin, sizeof(r.origin));
	check_text(r.site, sizeof(r.site));
	len = strlen(r.host);
	if (len > sizeof(foreign) &&
	    strcmp(r.host + len - strlen(foreign), foreign) == 0)
		check(!request_names_us(&r, names, 1));
	(void)request_names_us(&r, names, 1);
	(void)request_is_foreign(&r);
	return 0;
}
