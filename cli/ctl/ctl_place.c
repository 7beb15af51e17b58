/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The place of a path, with a message where it has none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl_mount.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

#define MOUNTS "/proc/self/mounts"

/* `real` is freed. */
static bool find(const char *path, char *real, struct ctl_place *out)
{
	FILE *mounts = real ? fopen(MOUNTS, "re") : NULL;
	bool found;

	if (!mounts) {
		ctl_complain(real ? MOUNTS : path, "%s", strerror(errno));
		free(real);
		return false;
	}
	found = ctl_mount_find(mounts, real, out);
	/* It is asked only now, since a mount may not answer. */
	if (!found && access(path, F_OK) < 0 && errno == ENOENT)
		ctl_complain(path, "%s", strerror(errno));
	else if (!found)
		ctl_complain(path,
		    "it is on no NFSv3 mount; name a file below the mount "
		    "point of the proxy");
	fclose(mounts);
	free(real);
	return found;
}

bool ctl_place_find(const char *path, struct ctl_place *out)
{
	return find(path, realpath(path, NULL), out);
}

bool ctl_place_guess(const char *path, struct ctl_place *out)
{
	return find(path, ctl_path_plain(path), out);
}

void ctl_place_json(struct json *j, const struct ctl_place *at)
{
	size_t len = strlen(at->export);
	bool slash = *at->path && (len == 0 || at->export[len - 1] != '/');
	char path[2 * CONTROL_PATH_MAX + 1];

	snprintf(path, sizeof(path), "%s%s%s", at->export, slash ? "/" : "",
	    at->path);
	json_text(j, "export_path", path);
}

void ctl_place_print(
    const char *path, const struct ctl_place *at, const void *message)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_text(&j, "path", path);
	ctl_place_json(&j, at);
	json_fields(&j, message);
	json_close(&j, '}');
	putchar('\n');
}
