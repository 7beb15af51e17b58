/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of users. They may come over the network (nsswitch.conf(5)), and a page
 * is drawn every second, so each is asked for once. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/protocol.h"
#include "ctl/ctl_text.h"
#include "top/top_text.h"
#include "top/top_view_private.h"

/* Users that are remembered; two with the same place take turns. */
enum { USERS = 256, NAME_MAX_BYTES = 64 };

struct user_slot {
	uint32_t uid;
	char name[NAME_MAX_BYTES]; /* "": the place is free */
};

/* A user without a name, or with a very long one, is shown by number. */
static void look_up(struct user_slot *u, uint32_t uid)
{
	const struct passwd *pw = getpwuid(uid);
	char *clean =
	    pw ? ctl_text_clean(pw->pw_name, strlen(pw->pw_name)) : NULL;

	u->uid = uid;
	if (clean && *clean && strlen(clean) < sizeof(u->name))
		strcpy(u->name, clean);
	else
		snprintf(u->name, sizeof(u->name), "%" PRIu32, uid);
	free(clean);
}

const char *top_user_name(uint32_t uid)
{
	static struct user_slot users[USERS];
	struct user_slot *u = &users[uid % USERS];

	if (uid == UID_NOBODY)
		return "-";
	if (!*u->name || u->uid != uid)
		look_up(u, uid);
	return u->name;
}
