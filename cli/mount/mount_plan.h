/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which section serves a mount, and what has to be written so that there is
 * one: decided from the configuration and what was typed, nothing else.
 */
#ifndef FOREFETCH_MOUNT_PLAN_H
#define FOREFETCH_MOUNT_PLAN_H

#include "config/config.h"
#include "mount/mount_options.h"
#include "mount/mount_source.h"

/* The first line of a file that is ours to remove. */
#define MOUNT_MARK "# Made by forefetch mount"

/* Ports of listeners, tried in this order; see mount_plan.c. */
enum {
	MOUNT_PORT_FIRST = 288,
	MOUNT_PORT_LAST = 307,
	MOUNT_PORT_END = 511,
};

/* All that a plan is made from. Nothing of it is changed. */
struct mount_plan_in {
	const struct config *cfg;
	const char *run_dir;
	/* Where files are written: run_dir, or with --save another one, where
	 * nothing of run_dir is left then. */
	const char *dir;
	const struct mount_source *source;
	const struct mount_options *options;
	/* Whether something listens at the port already. */
	bool (*port_taken)(void *ctx, unsigned port);
	/* Whether this host has the path mounted through the port. */
	bool (*is_mounted)(void *ctx, unsigned port, const char *path);
	void *ctx;
};

/* The section that serves the mount, and the files that make it so. */
struct mount_plan {
	/* The name of the section. */
	char name[MOUNT_NAME_MAX];
	/* The address at which the daemon listens, for addr=. */
	char address[64];
	unsigned port;
	/* There was no section of this server. */
	bool added;
	/* Files to be written, in this order, as NAME.conf and
	 * NAME+exports.conf of `dir`; NULL: as it is. An empty text: the file
	 * goes. */
	char *server_text;
	char *exports_text;
	/* Where the section stands: "/etc/forefetch.conf:12", for people. */
	char from[512];
};

/* Makes a plan, to be freed by mount_plan_release(). It writes nothing. False
 * with a reason, which says what to do. */
bool mount_plan_make(const struct mount_plan_in *in, struct mount_plan *out,
    struct mount_why *why);
/* Frees the texts; may be called again. */
void mount_plan_release(struct mount_plan *plan);

/* Where a client of this host finds a server's section: address and port; false
 * where it listens nowhere. */
bool mount_plan_listen(
    const struct config_server *srv, char address[64], unsigned *port);

#endif
