/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a mount, which mount.c calls one after the other. */
#ifndef FOREFETCH_MOUNT_PRIVATE_H
#define FOREFETCH_MOUNT_PRIVATE_H

#include <limits.h>
#include <signal.h>

#include "mount/mount_store.h"

/* One call of mount, and what its steps have found. */
struct mount_job {
	struct mount_talk talk;
	const char *socket;
	bool fake, sloppy, no_utab, save, json, helper;
	/* The options of all -o together; NULL: there were none. */
	char *text;
	struct mount_source source;
	struct mount_options options;
	char dir[PATH_MAX];

	/* The steps fill these; release() in mount.c frees them. */
	Forefetch__Response *status;
	struct mount_store *store;
	struct config *cfg;
	struct mount_plan plan;
	/* Files were written for this mount, and would have to be taken
	 * back. */
	bool written;
	/* Keeps the section's files while this mount is under way
	 * (mount_store_hold()); -1: nothing is held. */
	int hold;
	/* The mask of signals from before they were held. */
	sigset_t signals;
};

/* Each returns an exit status, after a message if it is not MOUNT_GOOD. */

/* See that the daemon has a section for the server, mount_section.c. */
int mount_section(struct mount_job *job);
/* The mount is made, and protects the section from now on; or it failed: undo
 * what was done for it alone. */
void mount_section_end(struct mount_job *job, bool failed);

/* Whether exactly this is there already, mount_now.c. */
int mount_check(struct mount_job *job);
/* See that the server is up, and lets us mount the path. */
int mount_reach(struct mount_job *job);
/* Mounts (mount_now.c). */
int mount_now(struct mount_job *job);
/* See that options for the path hold for nothing else. */
int mount_check_sharing(struct mount_job *job);
/* Remounts with other flags (mount_now.c). */
int mount_again(struct mount_job *job);

#endif
