/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SOURCE of a mount. It goes into a file that the daemon reads, and into the
 * options of mount(2), so what could mean anything there is refused here.
 */
#include "mount/mount_source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define HINT "want HOST:/PATH, such as nas:/home or [2001:db8::1]:/home"

/* Whether a name or an address could mean nothing else in the file and in the
 * options. False with a reason. */
static bool check_host(const char *host, bool bracketed, struct mount_why *why)
{
	const char *more = bracketed ? ":.%-_" : ".-_";

	if (!*host)
		return mount_refuse(
		    why, "the name of the server is missing; " HINT);
	if (!bracketed && !isalnum((unsigned char)*host))
		return mount_refuse(
		    why, "'%s' is not a name of a server; " HINT, host);
	for (const char *c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr(more, *c))
			return mount_refuse(why,
			    "'%s' is not a name or address of a server; " HINT,
			    host);
	return true;
}

/* The path goes to the server as it is, so one that names a directory in a
 * roundabout way would not be found in the list of mounts, or in the
 * configuration. False with a reason. */
static bool check_path(const char *path, struct mount_why *why)
{
	for (const char *c = path; *c; c++) {
		size_t n = strcspn(c + 1, "/");

		if (iscntrl((unsigned char)*c))
			return mount_refuse(why,
			    "the path has a control character (byte 0x%02x); "
			    "such a path cannot be mounted",
			    (unsigned)(unsigned char)*c);
		if (*c != '/' || c[1] == '\0')
			continue;
		if (n == 0 || (n == 1 && c[1] == '.') ||
		    (n == 2 && c[1] == '.' && c[2] == '.'))
			return mount_refuse(why,
			    "the path %s has '//', '.' or '..' in it; name it "
			    "as the server exports it",
			    path);
	}
	return true;
}

/* Where the path begins: behind the colon that ends the host; NULL: nowhere.
 * Sets where the host begins and how long it is. */
static const char *split(const char *text, size_t *host, size_t *hostlen)
{
	const char *end;

	*host = *text == '[';
	end = *host ? strstr(text, "]:") : strchr(text, ':');
	if (!end)
		return NULL;
	*hostlen = (size_t)(end - text) - *host;
	return end + 1 + *host;
}

bool mount_source_parse(
    const char *text, struct mount_source *out, struct mount_why *why)
{
	size_t host, hostlen = 0, len;
	const char *path = split(text, &host, &hostlen);

	if (!path)
		return mount_refuse(
		    why, "'%s' has no path of a server; " HINT, text);
	if (*path != '/')
		return mount_refuse(why,
		    strchr(path, ':')
			? "'%s': an IPv6 address must be in brackets; " HINT
			: "'%s': the path must begin with a slash; " HINT,
		    text);
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (hostlen >= sizeof(out->host) || len >= sizeof(out->path) ||
	    strlen(text) >= sizeof(out->text))
		return mount_refuse(why, "the name of the server or the path "
					 "is too long; " HINT);
	snprintf(
	    out->host, sizeof(out->host), "%.*s", (int)hostlen, text + host);
	snprintf(out->path, sizeof(out->path), "%.*s", (int)len, path);
	snprintf(out->text, sizeof(out->text), "%.*s%s", (int)(path - text),
	    text, out->path);
	return check_host(out->host, host > 0, why) &&
	       check_path(out->path, why);
}

void mount_source_name(const char *host, char name[MOUNT_NAME_MAX])
{
	size_t n = 0;

	for (; host[n] && n < MOUNT_NAME_MAX - 1; n++)
		name[n] =
		    isalnum((unsigned char)host[n]) || strchr(".-_", host[n])
			? host[n]
			: '-';
	name[n] = '\0';
	/* A file that begins with a dot, or with a dash, is not read. */
	if (*name == '.' || *name == '-')
		*name = '_';
}
