/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the estimate of a link in a file: when, and as which line of text.
 * daemon/ has one for each server; statedir.c writes the line in a thread. */
#include "link/linkkeep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/statedir.h"

/* It is kept every 30 s at most: whoever restarts sooner loses little. */
enum { VERSION = 1, INTERVAL_US = 30000000 };

void linkkeep_format(
    const struct linkest_kept *kept, char text[LINKKEEP_TEXT_MAX])
{
	int n = snprintf(text, LINKKEEP_TEXT_MAX, "%d %" PRIu64 " %" PRIu64,
	    VERSION, kept->rate_Bps, kept->base_us);

	snprintf(text + n, LINKKEEP_TEXT_MAX - (size_t)n, " %016" PRIx64,
	    (uint64_t)XXH3_64bits(text, (size_t)n));
}

bool linkkeep_parse(const char *text, struct linkest_kept *kept)
{
	char again[LINKKEEP_TEXT_MAX];
	int version;

	if (sscanf(text, "%d %" SCNu64 " %" SCNu64, &version, &kept->rate_Bps,
		&kept->base_us) != 3 ||
	    version != VERSION)
		return false;
	/* A line that is not what would be written for it is damaged. */
	linkkeep_format(kept, again);
	return strcmp(text, again) == 0 && linkest_kept_makes_sense(kept);
}

struct linkkeep {
	struct statedir *sd;
	const char *server;
	struct linkest *le;
	/* The estimate in the file; zeros: there is none. */
	struct linkest_kept kept;
	uint64_t saved_us;
};

struct linkkeep *linkkeep_new(struct statedir *sd, const char *server,
    struct linkest *le, const char *line)
{
	struct linkkeep *lk = calloc(1, sizeof(*lk));
	struct linkest_kept kept;

	if (!lk)
		return NULL;
	lk->sd = sd;
	lk->server = server;
	lk->le = le;
	if (line && linkkeep_parse(line, &kept)) {
		lk->kept = kept;
		linkest_begin(le, &kept);
	}
	return lk;
}

/* Whether they differ by more than a quarter. */
static bool differs(uint64_t now, uint64_t was)
{
	return now > was + was / 4 || now < was - was / 4;
}

static void save(struct linkkeep *lk)
{
	char text[LINKKEEP_TEXT_MAX];
	struct linkest_kept now;

	if (!linkest_keep(lk->le, &now) ||
	    (!differs(now.rate_Bps, lk->kept.rate_Bps) &&
		!differs(now.base_us, lk->kept.base_us)))
		return;
	lk->kept = now;
	linkkeep_format(&now, text);
	statedir_save_line(lk->sd, lk->server, LINKKEEP_FILE, text);
}

void linkkeep_tick(struct linkkeep *lk, uint64_t now_us)
{
	if (now_us < lk->saved_us + INTERVAL_US)
		return;
	lk->saved_us = now_us;
	save(lk);
}

void linkkeep_free(struct linkkeep *lk)
{
	if (lk)
		save(lk);
	free(lk);
}
