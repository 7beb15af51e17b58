/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch drop has the daemon empty its caches, in memory and on disk, and
 * shows what was dropped. It is one question and one answer: the daemon forgets
 * everything before it answers, and gives the memory back a part at a time
 * afterwards. */
#include <stdio.h>
#include <stdlib.h>

#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "text/json.h"

/* Prints what a server's caches hold; `verb` is "dropped" or "would drop". */
static void print_server(const void *server, const char *verb)
{
	ctl_put(stdout, server, "{name}: ");
	fputs(verb, stdout);
	ctl_put(stdout, server,
	    " {objects} object{objects:S}, {names} name{names:S}, {rights} "
	    "right{rights:S}, {listings} listing{listings:S}, {answers} "
	    "answer{answers:S} ({memory_bytes:B} of memory); data of {files} "
	    "file{files:S} ({data_bytes:B})\n");
}

/* Makes of a server's gauges what the answer to a drop would say. */
static Forefetch__FlushedServer held_by(const Forefetch__ServerStats *srv)
{
	Forefetch__FlushedServer held = FOREFETCH__FLUSHED_SERVER__INIT;
	const struct {
		const char *gauge;
		uint64_t *value;
	} rows[] = {{"attr_entries", &held.objects},
	    {"name_entries", &held.names}, {"access_entries", &held.rights},
	    {"list_entries", &held.listings}, {"answer_entries", &held.answers},
	    {"data_files", &held.files}, {"memory_bytes", &held.memory_bytes},
	    {"data_live_bytes", &held.data_bytes}};

	held.name = srv->name;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		(void)ctl_find(srv, rows[i].gauge, rows[i].value);
	return held;
}

/* Asks for the stats, and not for a drop that changes nothing: a daemon of an
 * earlier release would overlook that word, and drop. */
static int dry_run(const struct ctl_options *opt)
{
	Forefetch__StatsRequest stats = FOREFETCH__STATS_REQUEST__INIT;
	struct json j = {.out = stdout};
	Forefetch__Response *res;

	stats.server = ctl_bytes(opt->server);
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_STATS, &stats);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json) {
		json_open(&j, NULL, '{');
		json_open(&j, "servers", '[');
	}
	for (size_t i = 0; i < res->stats->n_servers; i++) {
		Forefetch__FlushedServer held = held_by(res->stats->servers[i]);

		if (opt->json)
			json_message(&j, NULL, &held);
		else
			print_server(&held, "would drop");
	}
	if (opt->json) {
		json_close(&j, ']');
		json_close(&j, '}');
		putchar('\n');
	}
	ctl_free(res);
	return EXIT_SUCCESS;
}

static int drop_run(const struct ctl_options *opt)
{
	Forefetch__FlushRequest flush = FOREFETCH__FLUSH_REQUEST__INIT;
	Forefetch__Response *res;

	if (opt->dry_run)
		return dry_run(opt);
	flush.server = ctl_bytes(opt->server);
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_FLUSH, &flush);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->flush);
	for (size_t i = 0; !opt->json && i < res->flush->n_servers; i++)
		print_server(res->flush->servers[i], "dropped");
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command drop_command = {
    .name = "drop",
    .former = "flush",
    .usage = "[--dry-run] [--json] [SERVER]",
    .summary = "empty the caches",
    .help =
	"Empties the caches of every server, or of SERVER alone, in memory and "
	"on disk, and\n"
	"shows what was dropped. No data is lost: everything that was written "
	"is on the\n"
	"server. Only root and the user that forefetchd runs as may do this. "
	"With --dry-run,\n"
	"which anybody may say, it shows what would be dropped.\n",
    .options = "server json dry-run",
    .run = drop_run,
};
