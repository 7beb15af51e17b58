/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the paths that clients, pins and the control program name.
 * svc/mount3_proc.c asks for each MNT, and warm/, hint/ and control/ for what
 * users want. This is no protection of the server, which has its own exports,
 * but keeps the proxy to what its configuration offers. */
#include "config/exportpath.h"

#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "nfsproto/nfs3_object.h"

/* Whether the path has a part "..", by which it could leave what is offered. */
static bool path_climbs(const mnt3_path *path)
{
	for (uint32_t i = 0; i + 2 <= path->len; i++) {
		if (memcmp(path->data + i, "..", 2) != 0 ||
		    (i > 0 && path->data[i - 1] != '/'))
			continue;
		if (i + 2 == path->len || path->data[i + 2] == '/')
			return true;
	}
	return false;
}

/* Whether `path` is `dir` or lies below it. */
static bool path_within(const mnt3_path *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 0 && dir[len - 1] == '/')
		len--;
	return path->len >= len && memcmp(path->data, dir, len) == 0 &&
	       (path->len == len || path->data[len] == '/');
}

bool exportpath_allowed(const struct config_server *cfg, const mnt3_path *path)
{
	if (cfg->exports.n == 0)
		return true;
	if (path->len == 0 || path_climbs(path))
		return false;
	for (size_t i = 0; i < cfg->exports.n; i++)
		if (path_within(path, cfg->exports.list[i]))
			return true;
	return false;
}

bool exportpath_below_ok(const char *path)
{
	nfs3_name part;

	if (strlen(path) >= EXPORTPATH_BELOW_MAX)
		return false;
	while (*path) {
		part.data = path;
		part.len = (uint32_t)strcspn(path, "/");
		if (part.len == 0 || part.len > NFS3_NAME_MAX ||
		    nfs3_name_is_dots(&part))
			return false;
		path += part.len;
		if (*path && !*++path)
			return false;
	}
	return true;
}

int exportpath_check(
    const struct config_server *config, const char *export, const char *below)
{
	mnt3_path mnt = {.data = export, .len = (uint32_t)strlen(export)};

	if (mnt.len == 0 || mnt.len > MNT3_PATH_MAX ||
	    !exportpath_below_ok(below))
		return EINVAL;
	return exportpath_allowed(config, &mnt) ? 0 : EPERM;
}
