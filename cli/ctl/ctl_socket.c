/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of the control socket, and whether root may believe it. */
#include "ctl/ctl_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_DEFAULT "/run/forefetch/control.sock"

/* The daemon's user is below it, people are not (UID_MIN of login.defs(5)). */
enum { PEOPLE_FROM = 1000 };

/* To be freed: the part of a path that is there, without symbolic links; NULL
 * where there is none. */
static char *existing_part(const char *path, bool *whole)
{
	char *way = strdup(path), *real = NULL, *slash;

	*whole = true;
	while (way && !(real = realpath(way, NULL)) &&
	       (slash = strrchr(way, '/')) && slash[1]) {
		slash[slash == way] = '\0';
		*whole = false;
	}
	free(way);
	return real;
}

/* In a sticky directory, such as /tmp, everybody may make something, and nobody
 * can replace what others made. So what is there is judged by its own owner;
 * what is not there yet may become anybody's. */
static bool is_safe(const char *path, bool whole)
{
	struct stat st;

	if (lstat(path, &st) < 0 || st.st_uid >= PEOPLE_FROM)
		return false;
	return !S_ISDIR(st.st_mode) || (whole && (st.st_mode & S_ISVTX)) ||
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

bool ctl_socket_is_safe(const char *path)
{
	bool whole;
	char *part = existing_part(path, &whole), *slash;
	bool safe = part && is_safe(part, whole);

	while (safe && strcmp(part, "/") != 0) {
		slash = strrchr(part, '/');
		slash[slash == part] = '\0';
		safe = is_safe(part, true);
	}
	free(part);
	return safe;
}

const char *ctl_socket_path(void)
{
	const char *path = secure_getenv("FOREFETCH_SOCKET");

	if (!path || !*path)
		return SOCKET_DEFAULT;
	if (geteuid() != 0 || ctl_socket_is_safe(path))
		return path;
	fprintf(stderr,
	    "forefetch: FOREFETCH_SOCKET is ignored, since a user could have "
	    "made what is there, and root would believe it; if it is right, "
	    "give it with --socket\n");
	return SOCKET_DEFAULT;
}
