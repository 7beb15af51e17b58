/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch reorder has the daemon lay cached data out on disk in the order of
 * its use, and waits until it has. The daemon works in the background
 * (datacache/compact.h) and is asked ten times a second how far it is, so that
 * ^C ends the waiting alone. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "commands/command_list.h"
#include "commands/progress.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Milliseconds between two questions. */
enum { ASK_MS = 100 };

/* Sentences for the ends of a pass, by the numbers of CompactEnd. */
static const char *const ends[] = {
    [FOREFETCH__COMPACT_END__LAID_OUT] = "laid out",
    [FOREFETCH__COMPACT_END__IN_ORDER] = "was in order already",
    [FOREFETCH__COMPACT_END__NO_ROOM] = "the cache is too full to lay it out",
    [FOREFETCH__COMPACT_END__DISK_FAILED] =
	"the disk is full or failed; see the daemon's log",
    [FOREFETCH__COMPACT_END__STOPPED] = "stopped",
    [FOREFETCH__COMPACT_END__NOT_USED] =
	"nothing was read since the start, so there is nothing to do",
    [FOREFETCH__COMPACT_END__NO_DISK] = "there is no data cache on disk",
    [FOREFETCH__COMPACT_END__NO_MEMORY] = "too little memory",
};

/* How the pass ended. Shares are those of the bytes that were read since the
 * daemon started: only their order is known. */
static void put_server(const Forefetch__CompactedServer *srv)
{
	bool known = (size_t)srv->end < sizeof(ends) / sizeof(ends[0]);

	ctl_put(stdout, srv, "{name}: ");
	fputs(known ? ends[srv->end] : "?", stdout);
	if (srv->before && srv->after && srv->after->bytes > 0) {
		ctl_put(stdout, srv, "; {moved_bytes:B} moved");
		ctl_put(stdout, srv->after,
		    "; of {bytes:B}, {sequential_bytes/bytes} in sequence, "
		    "{runs} run{runs:S}");
		ctl_put(stdout, srv->before,
		    "; before {sequential_bytes/bytes}, {runs} run{runs:S}");
	}
	putchar('\n');
}

/* The server of that name in another answer; NULL where it is not in it, since
 * a reload came between the two. */
static const Forefetch__CompactedServer *same_server(
    const Forefetch__Compacted *c, const Forefetch__CompactedServer *srv)
{
	for (size_t i = 0; i < c->n_servers; i++) {
		const ProtobufCBinaryData *name = &c->servers[i]->name;

		if (name->len == srv->name.len &&
		    memcmp(name->data, srv->name.data, name->len) == 0)
			return c->servers[i];
	}
	return NULL;
}

/* The bytes that were moved since `first`. A server that was replaced since
 * counts from nothing again. */
static uint64_t moved_since(const Forefetch__CompactedServer *first,
    const Forefetch__CompactedServer *now)
{
	bool goes_on = first && first->moved_bytes <= now->moved_bytes;

	return now->moved_bytes - (goes_on ? first->moved_bytes : 0);
}

/* Makes the last answer, whose moved bytes are of all passes, one about this
 * pass; `first` is the answer of its beginning. A server that did not begin one
 * said then why. */
static void subtract(
    Forefetch__Compacted *last, const Forefetch__Compacted *first)
{
	for (size_t i = 0; i < last->n_servers; i++) {
		Forefetch__CompactedServer *srv = last->servers[i];
		const Forefetch__CompactedServer *was = same_server(first, srv);

		if (was && !was->busy)
			srv->end = was->end;
		srv->moved_bytes = moved_since(was, srv);
	}
}

/* Begins a pass, or asks how it does. NULL after a message. */
static Forefetch__Response *ask_compact(
    const struct ctl_options *opt, bool begin)
{
	Forefetch__CompactRequest compact = FOREFETCH__COMPACT_REQUEST__INIT;

	compact.begin = begin;
	compact.server = ctl_bytes(opt->server);
	return ctl_call(
	    opt->socket, FOREFETCH__REQUEST__COMMAND_COMPACT, &compact);
}

static bool is_busy(const Forefetch__Compacted *c)
{
	for (size_t i = 0; i < c->n_servers; i++)
		if (c->servers[i]->busy)
			return true;
	return false;
}

/* An end after which nothing is left to be done. */
static bool is_good(const Forefetch__CompactedServer *srv)
{
	return srv->end == FOREFETCH__COMPACT_END__LAID_OUT ||
	       srv->end == FOREFETCH__COMPACT_END__IN_ORDER ||
	       srv->end == FOREFETCH__COMPACT_END__NOT_USED;
}

/* Puts how much of what lay out of order was moved since `first`, if a line is
 * due. */
static void show(struct progress *p, const Forefetch__Compacted *first,
    const Forefetch__Compacted *now)
{
	uint64_t now_us = clock_now_us(), moved = 0, all = 0, rate;
	char text[256];
	FILE *out;

	for (size_t i = 0; i < now->n_servers; i++) {
		const Forefetch__CompactedServer *srv = now->servers[i];
		const Forefetch__SequentialShare *before = srv->before;

		moved += moved_since(same_server(first, srv), srv);
		if (srv->busy && before)
			all += before->bytes - before->sequential_bytes;
	}
	rate = progress_rate(p, now_us, moved);
	if (!progress_due(p, now_us))
		return;
	out = fmemopen(text, sizeof(text), "w");
	if (!out)
		return;
	if (moved > all) /* long runs are moved with what is between them */
		all = 0;
	progress_head(out, moved, all, rate,
	    rate && all ? (uint64_t)((double)(all - moved) * 1e6 / (double)rate)
			: 0);
	fprintf(
	    out, "%s moved", ctl_text_bytes((char[CTL_TEXT_MAX]){0}, moved));
	if (fclose(out) == 0)
		progress_put(p, text);
}

/* The second question follows at once, since a pass over little data is over by
 * then. */
static int reorder_run(const struct ctl_options *opt)
{
	const struct timespec rest = {.tv_nsec = ASK_MS * 1000000L};
	struct progress progress;
	Forefetch__Response *first = ask_compact(opt, true);
	Forefetch__Response *last = first ? ask_compact(opt, false) : NULL;
	int code = last ? EXIT_SUCCESS : EXIT_FAILURE;

	progress_init(&progress, opt);
	while (last && is_busy(last->compact)) {
		show(&progress, first->compact, last->compact);
		nanosleep(&rest, NULL);
		ctl_free(last);
		last = ask_compact(opt, false);
	}
	progress_clear(&progress);
	if (last)
		subtract(last->compact, first->compact);
	if (last && opt->json)
		json_print(last->compact);
	for (size_t i = 0; last && i < last->compact->n_servers; i++) {
		if (!opt->json)
			put_server(last->compact->servers[i]);
		if (!is_good(last->compact->servers[i]))
			code = EXIT_FAILURE;
	}
	ctl_free(last);
	ctl_free(first);
	return code;
}

const struct ctl_command reorder_command = {
    .name = "reorder",
    .former = "compact",
    .usage = "[--progress] [--json] [SERVER]",
    .summary = "put cached data on disk in the order of its use",
    .help = "Moves cached data of every server, or of SERVER alone, so that it "
	    "lies on disk in\n"
	    "the order in which it was read, and shows how much lay so before "
	    "and does now. The\n"
	    "daemon does this by itself when it is idle; see reorder_rate in "
	    "forefetch.conf(5).\n"
	    "Only root and the user that forefetchd runs as may do this. ^C "
	    "stops waiting for it,\n"
	    "not the work itself.\n",
    .options = "progress server json",
    .run = reorder_run,
};
