/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch mount without arguments lists what is mounted through the daemon:
 * the kernel's mounts, joined with the daemon's servers by the addresses at
 * which these listen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "mount/mount_command.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"
#include "text/json.h"

/* ---- what holds where --------------------------------------------------- */

/* The consistency of the [export] section for that path; NULL: there is
 * none. */
static const char *override_of(
    const Forefetch__ServerStatus *srv, const char *path)
{
	for (size_t i = 0; i < srv->n_overrides; i++) {
		const Forefetch__ExportStatus *ex = srv->overrides[i];

		if (ctl_is(&ex->export_path, path))
			return ex->consistency;
	}
	return NULL;
}

/* The mode that holds for a mount. A section of an export holds for the whole
 * file system of its path, so also for other paths of it that are mounted. */
static const char *consistency_of(const Forefetch__ServerStatus *srv,
    const struct mount_entry *entry, const struct mount_entry *all, size_t n)
{
	const char *mode = override_of(srv, mount_entry_path(entry));

	for (size_t i = 0; i < n && !mode; i++)
		if (mount_entry_shares(&all[i], entry))
			mode = override_of(srv, mount_entry_path(&all[i]));
	return mode ? mode : srv->consistency;
}

/* ---- the list ----------------------------------------------------------- */

static void put_json(struct json *j, const struct mount_entry *entry,
    const Forefetch__ServerStatus *srv, const char *mode, const char *state)
{
	json_open(j, NULL, '{');
	json_bytes(
	    j, "source", (const uint8_t *)entry->source, strlen(entry->source));
	json_bytes(j, "dir", (const uint8_t *)entry->dir, strlen(entry->dir));
	json_bytes(j, "server", srv->name.data, srv->name.len);
	json_text(j, "consistency", mode);
	json_text(j, "state", state);
	json_number(j, "state_age_us", srv->state_age_us);
	json_number(j, "port", entry->port);
	json_close(j, '}');
}

static void put_row(struct ctl_table *t, const struct mount_entry *entry,
    const Forefetch__ServerStatus *srv, const char *mode, const char *state)
{
	ctl_table_row(t);
	ctl_table_cell(t, "%s", entry->source);
	ctl_table_cell(t, "%s", entry->dir);
	ctl_table_bytes(t, srv->name.data, srv->name.len);
	ctl_table_cell(t, "%s", mode);
	ctl_table_cell(t, "%s", state);
}

/* Writes every mount whose address is a listener's, as JSON if `j` is set, else
 * into the table; returns how many there are. */
static unsigned put_all(const Forefetch__Status *status,
    const struct mount_entry *all, size_t n, struct ctl_table *t,
    struct json *j)
{
	unsigned count = 0;

	for (size_t i = 0; i < n; i++) {
		const Forefetch__ServerStatus *srv =
		    ctl_server_at(status, all[i].listen);
		char state[CTL_TEXT_MAX];
		const char *mode;

		if (!srv)
			continue;
		count++;
		json_word(
		    state, &forefetch__state__descriptor, (int)srv->state);
		mode = consistency_of(srv, &all[i], all, n);
		if (j)
			put_json(j, &all[i], srv, mode, state);
		else
			put_row(t, &all[i], srv, mode, state);
	}
	return count;
}

/* The exit code says whether the kernel's list could be read. */
int mount_list(const char *socket, bool json)
{
	Forefetch__Response *res = ctl_status(socket, NULL);
	struct json j = {.out = stdout};
	struct mount_entry *all;
	struct ctl_table *t;
	size_t n;
	int code;

	if (!res)
		return EXIT_FAILURE;
	all = mount_kernel_list(&n);
	if (json) {
		json_open(&j, NULL, '{');
		json_open(&j, "mounts", '[');
		put_all(res->status, all, n, NULL, &j);
		json_close(&j, ']');
		json_close(&j, '}');
		putchar('\n');
	} else {
		t = ctl_table_new("source,at,server,consistency,state");
		if (put_all(res->status, all, n, t, NULL) == 0)
			puts("nothing is mounted through forefetchd");
		ctl_table_print(t);
	}
	code = all ? EXIT_SUCCESS : EXIT_FAILURE;
	free(all);
	ctl_free(res);
	return code;
}
