/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of forefetch.conf(5) as options of a mount. What keys there are, and
 * which values, is asked of the parser of the configuration itself, with a
 * small text that has the one setting.
 */
#ifndef FOREFETCH_MOUNT_VALUE_H
#define FOREFETCH_MOUNT_VALUE_H

#include "config/config.h"
#include "mount/mount_job.h"

enum { MOUNT_KEY_MAX = 32, MOUNT_VALUE_MAX = 128 };

enum mount_kind {
	MOUNT_KIND_NONE,   /* no such key; `why` may have a hint, or is empty */
	MOUNT_KIND_SERVER, /* of a [server] alone */
	MOUNT_KIND_POLICY, /* of an [export], too */
	MOUNT_KIND_BAD,    /* such a key, but not that value: `why` */
};

struct mount_setting {
	char key[MOUNT_KEY_MAX];
	char value[MOUNT_VALUE_MAX]; /* in the form in which it is printed */
	enum mount_kind kind;
};

/* What `key` = `value` would be; `out` only where it is SERVER or POLICY. */
enum mount_kind mount_value_look(const char *key, const char *value,
    struct mount_setting *out, struct mount_why *why);

/* The value in force of a setting of `srv`, or of its export `path` (NULL: of
 * the server), in the form in which it is printed. An export need not have a
 * section. */
bool mount_value_get(const struct config *cfg, const struct config_server *srv,
    const char *path, const char *key, char value[MOUNT_VALUE_MAX]);

/* Does the text hold exactly what was meant: that server, and these paths? */
bool mount_value_check(const char *text, const char *server,
    const char *const *paths, unsigned npaths, struct mount_why *why);

#endif
