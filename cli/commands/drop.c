/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch drop has the daemon empty its caches, in memory and on disk, or
 * forget what it knows of one path, and shows what was dropped. It is one
 * question and one answer: the daemon forgets everything before it answers, and
 * gives the memory back a part at a time afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
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

/* ---- a path ------------------------------------------------------------- */

/* A server's name has no slash in it, and is not "." or "..". */
static bool is_path(const char *arg)
{
	return arg && (strchr(arg, '/') || strcmp(arg, ".") == 0 ||
			  strcmp(arg, "..") == 0);
}

static void print_forgotten(const char *path, const Forefetch__Forgotten *f)
{
	ctl_put_bytes(stdout, (const uint8_t *)path, strlen(path));
	if (f->found == FOREFETCH__FOUND__OBJECT)
		ctl_put(stdout, f,
		    ": dropped {objects} object{objects:S}, with all that was "
		    "cached of them\n");
	else
		puts(": nothing was cached of it");
}

/* Finds the place without access to the file, as explain does: a look at it
 * would fetch again what is to be dropped. */
static int drop_path(const struct ctl_options *opt, const char *path)
{
	Forefetch__ForgetRequest forget = FOREFETCH__FORGET_REQUEST__INIT;
	Forefetch__Response *res;
	Forefetch__Place place;
	struct ctl_place at;

	if (opt->dry_run) {
		fputs("forefetch: --dry-run takes no PATH; forefetch explain "
		      "says what is cached of that\n",
		    stderr);
		return CTL_EXIT_USAGE;
	}
	if (!ctl_place_guess(path, &at))
		return EXIT_FAILURE;
	ctl_place_fill(&at, &place);
	forget.place = &place;
	res =
	    ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_FORGET, &forget);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		ctl_place_print(path, &at, res->forget);
	else
		print_forgotten(path, res->forget);
	ctl_free(res);
	return EXIT_SUCCESS;
}

/* ---- the command -------------------------------------------------------- */

static int drop_run(const struct ctl_options *opt)
{
	Forefetch__FlushRequest flush = FOREFETCH__FLUSH_REQUEST__INIT;
	Forefetch__Response *res;

	if (is_path(opt->arg))
		return drop_path(opt, opt->arg);
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
    .usage = "[--json] [SERVER | PATH]\n"
	     "       forefetch drop --dry-run [--json] [SERVER]",
    .summary = "empty the caches",
    .help =
	"Empties the caches of every server, or of SERVER alone, in memory and "
	"on disk, and\n"
	"shows what was dropped. With PATH, which has a slash or is \".\", it "
	"drops what is cached\n"
	"of that file or directory and of all below it. No data is lost: "
	"everything that was\n"
	"written is on the server. The client's own caches stay. Only root and "
	"the user that forefetchd runs as may do this. "
	"With --dry-run,\n"
	"which any user may run, it shows what would be dropped.\n",
    .options = "server json dry-run",
    .run = drop_run,
};
