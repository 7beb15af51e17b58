/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds which mount of the proxy a path lies on. */
#ifndef FOREFETCH_CTL_MOUNT_H
#define FOREFETCH_CTL_MOUNT_H

#include <stdbool.h>
#include <stdio.h>

#include "control/protocol.h"
#include "control/control.pb-c.h"

/* A file on a mount of the proxy, as Place in control.proto has it: the address
 * that the client mounted from, the path that it mounted, and the path of the
 * file below that. */
struct ctl_place {
	char listen[CONTROL_PATH_MAX];
	char export[CONTROL_PATH_MAX];
	char path[CONTROL_PATH_MAX];
};

/* Finds the place of a path that has no symbolic links, "." or "..", by the
 * lines of `mounts` (fstab(5)). False where it lies on no NFSv3 mount. */
bool ctl_mount_find(FILE *mounts, const char *path, struct ctl_place *out);

/* The mounts as they are now, for many paths; NULL and errno. */
struct ctl_mounts;
struct ctl_mounts *ctl_mounts_load(void);
void ctl_mounts_free(struct ctl_mounts *m);
/* ctl_mount_find() of them; says nothing. */
bool ctl_mounts_place(
    struct ctl_mounts *m, const char *path, struct ctl_place *out);

/* Finds the place of any path, of which symbolic links are followed; false
 * after a message. */
bool ctl_place_find(const char *path, struct ctl_place *out);
/* The same, but without access to the file, so that the kernel does not ask the
 * server about it; symbolic links are not followed. */
bool ctl_place_guess(const char *path, struct ctl_place *out);
/* An absolute path without ".", ".." and doubled slashes, to be freed; NULL
 * without memory, or where there is no working directory. */
char *ctl_path_plain(const char *path);
/* Makes it a part of a request, which points into `place`. */
void ctl_place_fill(struct ctl_place *place, Forefetch__Place *out);

struct json;
/* Where it is at the server, as the member "export_path". */
void ctl_place_json(struct json *j, const struct ctl_place *place);
/* Prints an answer about one path as JSON: "path" as the user typed it, where
 * that is at the server, and the fields of the message. */
void ctl_place_print(
    const char *path, const struct ctl_place *at, const void *message);

#endif
