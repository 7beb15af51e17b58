/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch warm: has trees fetched, and shows how far that is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_text.h"
#include "ctl/ctl_walk.h"

static void put_result(const char *path, const Forefetch__Warmed *w)
{
	char time[CTL_TEXT_MAX];

	ctl_put_bytes(stdout, (const uint8_t *)path, strlen(path));
	fputs(": ", stdout);
	ctl_walk_put(stdout, w);
	printf(", %s%s\n", ctl_text_us(time, w->elapsed_us),
	    w->done ? "" : ", stopped");
	ctl_walk_put_errors(w);
	if (w->full)
		puts("  the cache is too small for all of it (cache_size); "
		     "the rest of the data was not fetched");
}

static void put_json(
    struct ctl_json *j, const char *path, const Forefetch__Warmed *w)
{
	ctl_json_open(j, NULL, '{');
	ctl_json_text(j, "path", path);
	ctl_json_fields(j, w);
	ctl_json_close(j, '}');
}

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

/* The last answer; NULL after a message. */
static Forefetch__Response *walk(
    struct ctl_client *c, struct ctl_place *at, const struct ctl_options *opt)
{
	struct ctl_walk screen = {.quiet = opt->json};
	Forefetch__Response *res = ask_warm(c, at, opt);

	while (res && !res->warm->done && !ctl_walk_stopped()) {
		ctl_walk_show(&screen, res->warm);
		ctl_free(res);
		res = ask_warm(c, NULL, opt);
	}
	ctl_walk_clear(&screen);
	return res;
}

static bool warm_one(struct ctl_client *c, struct ctl_place *at,
    const char *path, const struct ctl_options *opt, struct ctl_json *j)
{
	Forefetch__Response *res = walk(c, at, opt);
	bool good;

	if (!res)
		return false;
	good = ctl_walk_good(path, res->warm);
	if (opt->json)
		put_json(j, path, res->warm);
	else if (!res->warm->status)
		put_result(path, res->warm);
	ctl_free(res);
	return good;
}

int ctl_warm(const struct ctl_options *opt)
{
	return ctl_walk_all(opt, "trees", warm_one) ? EXIT_SUCCESS
						    : EXIT_FAILURE;
}
