/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch mount without arguments: what is mounted through the daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "mount/mount_command.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"

struct list {
	const Forefetch__Status *status;
	struct ctl_table *table;
	struct ctl_json *json;
	unsigned n;
};

static const Forefetch__ServerStatus *find(
    const struct list *l, const struct mount_entry *entry)
{
	for (size_t i = 0; i < l->status->n_servers; i++)
		if (mount_daemon_listens(l->status->servers[i], entry->port))
			return l->status->servers[i];
	return NULL;
}

/* ---- what holds where --------------------------------------------------- */

struct search {
	const struct mount_entry *entry;
	const Forefetch__ServerStatus *srv;
	const char *mode;
};

static const char *override_of(
    const Forefetch__ServerStatus *srv, const char *path)
{
	for (size_t i = 0; i < srv->n_overrides; i++) {
		const Forefetch__ExportStatus *ex = srv->overrides[i];

		if (ex->export_path.len == strlen(path) &&
		    memcmp(ex->export_path.data, path, ex->export_path.len) ==
			0)
			return ex->consistency;
	}
	return NULL;
}

static bool on_same(void *ctx, const struct mount_entry *entry)
{
	struct search *s = ctx;

	if (mount_entry_shares(entry, s->entry))
		s->mode = override_of(s->srv, mount_entry_path(entry));
	return s->mode == NULL;
}

/* A section of an export holds for the whole file system of its path, so also
 * for other paths of it that are mounted. */
static const char *consistency_of(
    const Forefetch__ServerStatus *srv, const struct mount_entry *entry)
{
	struct search s = {.entry = entry, .srv = srv};

	s.mode = override_of(srv, mount_entry_path(entry));
	if (!s.mode)
		mount_kernel_list(on_same, &s);
	return s.mode ? s.mode : srv->consistency;
}

/* ---- the list ----------------------------------------------------------- */

static void put_json(struct ctl_json *j, const struct mount_entry *entry,
    const Forefetch__ServerStatus *srv, const char *mode, const char *state)
{
	ctl_json_open(j, NULL, '{');
	ctl_json_bytes(
	    j, "source", (const uint8_t *)entry->source, strlen(entry->source));
	ctl_json_bytes(
	    j, "dir", (const uint8_t *)entry->dir, strlen(entry->dir));
	ctl_json_bytes(j, "server", srv->name.data, srv->name.len);
	ctl_json_text(j, "consistency", mode);
	ctl_json_text(j, "state", state);
	ctl_json_number(j, "state_age_us", srv->state_age_us);
	ctl_json_number(j, "port", entry->port);
	ctl_json_close(j, '}');
}

static bool put(void *ctx, const struct mount_entry *entry)
{
	struct list *l = ctx;
	const Forefetch__ServerStatus *srv = find(l, entry);
	char state[CTL_TEXT_MAX];
	const char *mode;

	if (!srv)
		return true;
	l->n++;
	ctl_text_word(state, &forefetch__state__descriptor, (int)srv->state);
	mode = consistency_of(srv, entry);
	if (l->json) {
		put_json(l->json, entry, srv, mode, state);
		return true;
	}
	ctl_table_row(l->table);
	ctl_table_bytes(
	    l->table, (const uint8_t *)entry->source, strlen(entry->source));
	ctl_table_bytes(
	    l->table, (const uint8_t *)entry->dir, strlen(entry->dir));
	ctl_table_bytes(l->table, srv->name.data, srv->name.len);
	ctl_table_cell(l->table, "%s", mode);
	ctl_table_cell(l->table, "%s", state);
	return true;
}

int mount_list(const char *socket, bool json)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	Forefetch__Response *res =
	    ctl_call(socket, FOREFETCH__REQUEST__COMMAND_STATUS, &status);
	struct ctl_json j = {.out = stdout};
	struct list l = {.json = json ? &j : NULL};
	bool good;

	if (!res)
		return EXIT_FAILURE;
	l.status = res->status;
	if (json) {
		ctl_json_open(&j, NULL, '{');
		ctl_json_open(&j, "mounts", '[');
	} else {
		l.table = ctl_table_new("source,at,server,consistency,state");
	}
	good = mount_kernel_list(put, &l);
	if (json) {
		ctl_json_close(&j, ']');
		ctl_json_close(&j, '}');
		putchar('\n');
	} else {
		if (l.n == 0)
			puts("nothing is mounted through forefetchd");
		ctl_table_print(l.table);
	}
	ctl_free(res);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
