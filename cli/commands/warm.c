/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch warm has trees fetched, and shows how far that is. The walk belongs
 * to the connection: the daemon ends it when this program goes. One that is run
 * again finds most of it cached, and so continues. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command_list.h"
#include "commands/walk.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* The line for people at the end of one path. */
static void put_result(const char *path, const Forefetch__Warmed *w)
{
	ctl_put_bytes(stdout, (const uint8_t *)path, strlen(path));
	fputs(": ", stdout);
	walk_put(stdout, w);
	ctl_put(stdout, w,
	    w->done ? ", {elapsed_us:U}\n" : ", {elapsed_us:U}, stopped\n");
	walk_put_errors(w);
	if (w->full)
		puts("  the cache is too small for all of it (cache_size); "
		     "the rest of the data was not fetched");
}

/* Begins a walk at `at`, or with NULL asks how far the one of this connection
 * is. NULL after a message. */
static Forefetch__Response *ask_warm(
    struct ctl_client *c, struct ctl_place *at, const struct ctl_options *opt)
{
	Forefetch__WarmRequest warm = FOREFETCH__WARM_REQUEST__INIT;
	Forefetch__Place place;

	if (at) {
		ctl_place_fill(at, &place);
		warm.place = &place;
		warm.metadata_only = opt->metadata;
	}
	return ctl_ask(c, FOREFETCH__REQUEST__COMMAND_WARM, &warm);
}

/* Begins a walk, and waits until it has ended or the user stops it. Returns the
 * last answer, or NULL after a message. `*lost` is set if there was a message
 * because no more answers came. */
static Forefetch__Response *walk(struct ctl_client *c, struct ctl_place *at,
    const char *path, const struct ctl_options *opt, bool *lost)
{
	Forefetch__Response *next, *res = ask_warm(c, at, opt);
	struct walk_screen screen;
	bool more = true;

	walk_init(&screen, opt, c, at);
	if (res)
		walk_warn(path, res->warm);
	while (res && !res->warm->done && more) {
		more = walk_show(&screen, res->warm);
		next = ask_warm(c, NULL, opt);
		*lost = !next;
		if (*lost)
			break;
		ctl_free(res);
		res = next;
	}
	walk_clear(&screen);
	return res;
}

/* A walk_fn of walk.h. A path that the server does not know has its message
 * already, so no line of counts follows. */
static bool warm_one(struct ctl_client *c, struct ctl_place *at,
    const char *path, const struct ctl_options *opt, struct json *j)
{
	bool good, lost = false;
	Forefetch__Response *res = walk(c, at, path, opt, &lost);

	if (!res)
		return false;
	good = walk_good(path, res->warm) && !lost;
	if (opt->json) {
		ctl_place_json(j, at);
		json_fields(j, res->warm);
	} else if (!res->warm->status) {
		put_result(path, res->warm);
	}
	ctl_free(res);
	return good;
}

static int warm_run(const struct ctl_options *opt)
{
	return walk_all(opt, "trees", warm_one) ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct ctl_command warm_command = {
    .name = "warm",
    .usage = "[--data | --metadata] [--progress] [--json] PATH...",
    .summary = "fetch files and directories before they are needed",
    .help = "Walks the tree at each PATH, on a mount of the proxy, and "
	    "fetches names,\nattributes, rights and data that are not "
	    "cached yet; with --metadata, everything but\nthe data. It "
	    "fetches only what you may see. ^C stops it; if you run it "
	    "again, it\ncontinues.\n",
    .options = "data metadata progress json",
    .run = warm_run,
    .args_min = 1,
    .args_max = CTL_ARGS_MAX,
};
