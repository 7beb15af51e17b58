/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_text.h"

/* Between two questions. */
enum { ASK_MS = 100 };

/* How it was when it began, and how it ended; both of the same servers. */
struct pass {
	const Forefetch__Compacted *begun;
	const Forefetch__Compacted *over;
};

static const struct {
	const char *name; /* for JSON */
	const char *text;
} ends[] = {
    [FOREFETCH__COMPACT_END__LAID_OUT] = {"laid-out", "laid out"},
    [FOREFETCH__COMPACT_END__IN_ORDER] = {"in-order", "it was in order"},
    [FOREFETCH__COMPACT_END__NO_ROOM] = {"no-room",
	"the cache has no more room to lay it out"},
    [FOREFETCH__COMPACT_END__DISK_FAILED] = {"disk-failed",
	"the disk is full, or failed; see the daemon's log"},
    [FOREFETCH__COMPACT_END__STOPPED] = {"stopped", "stopped"},
    [FOREFETCH__COMPACT_END__NOT_USED] = {"not-used",
	"nothing was read since the start"},
    [FOREFETCH__COMPACT_END__NO_DISK] = {"no-disk", "no data cache on disk"},
    [FOREFETCH__COMPACT_END__NO_MEMORY] = {"no-memory",
	"too little memory for it"},
};

/* What began nothing has said then why. */
static Forefetch__CompactEnd pass_end(const struct pass *p, size_t i)
{
	if (i >= p->begun->n_servers || p->begun->servers[i]->busy)
		return p->over->servers[i]->end;
	return p->begun->servers[i]->end;
}

static bool end_known(Forefetch__CompactEnd end)
{
	return (size_t)end < sizeof(ends) / sizeof(ends[0]);
}

static bool end_good(Forefetch__CompactEnd end)
{
	return end == FOREFETCH__COMPACT_END__LAID_OUT ||
	       end == FOREFETCH__COMPACT_END__IN_ORDER;
}

static uint64_t moved_bytes(const struct pass *p, size_t i)
{
	uint64_t all = p->over->servers[i]->moved_bytes;

	return i < p->begun->n_servers ? all - p->begun->servers[i]->moved_bytes
				       : all;
}

static double share(const Forefetch__SequentialShare *s)
{
	return s && s->bytes > 0
		   ? (double)s->sequential_bytes * 100 / (double)s->bytes
		   : 0;
}

static void put_text(const struct pass *p)
{
	char moved[CTL_TEXT_MAX], all[CTL_TEXT_MAX];

	for (size_t i = 0; i < p->over->n_servers; i++) {
		const Forefetch__CompactedServer *srv = p->over->servers[i];
		Forefetch__CompactEnd end = pass_end(p, i);

		ctl_put_bytes(stdout, srv->name.data, srv->name.len);
		printf(": %s", end_known(end) ? ends[end].text : "?");
		if (srv->before && srv->after && srv->after->bytes > 0)
			printf("; %s moved; of %s, %.1f%% in sequence, %" PRIu64
			       " runs; before %.1f%%, %" PRIu64 " runs",
			    ctl_text_bytes(moved, moved_bytes(p, i)),
			    ctl_text_bytes(all, srv->after->bytes),
			    share(srv->after), srv->after->runs,
			    share(srv->before), srv->before->runs);
		putchar('\n');
	}
}

static void put_json_share(
    struct ctl_json *j, const char *name, const Forefetch__SequentialShare *s)
{
	if (!s)
		return;
	ctl_json_open(j, name, '{');
	ctl_json_number(j, "bytes", s->bytes);
	ctl_json_number(j, "sequential_bytes", s->sequential_bytes);
	ctl_json_number(j, "runs", s->runs);
	ctl_json_close(j, '}');
}

static void put_json(const struct pass *p)
{
	struct ctl_json j = {.out = stdout};

	ctl_json_open(&j, NULL, '{');
	ctl_json_open(&j, "servers", '[');
	for (size_t i = 0; i < p->over->n_servers; i++) {
		const Forefetch__CompactedServer *srv = p->over->servers[i];
		Forefetch__CompactEnd end = pass_end(p, i);

		ctl_json_open(&j, NULL, '{');
		ctl_json_bytes(&j, "name", srv->name.data, srv->name.len);
		ctl_json_text(&j, "end", end_known(end) ? ends[end].name : "?");
		ctl_json_number(&j, "moved_bytes", moved_bytes(p, i));
		put_json_share(&j, "before", srv->before);
		put_json_share(&j, "after", srv->after);
		ctl_json_close(&j, '}');
	}
	ctl_json_close(&j, ']');
	ctl_json_close(&j, '}');
	putchar('\n');
}

static Forefetch__Response *ask(const struct ctl_options *opt, bool begin)
{
	Forefetch__CompactRequest compact = FOREFETCH__COMPACT_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;

	compact.begin = begin;
	if (opt->arg) {
		compact.server.data = (uint8_t *)opt->arg;
		compact.server.len = strlen(opt->arg);
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_COMPACT;
	request.compact = &compact;
	return ctl_call(
	    opt->socket, &request, FOREFETCH__RESPONSE__RESULT_COMPACT);
}

static bool is_busy(const Forefetch__Compacted *c)
{
	for (size_t i = 0; i < c->n_servers; i++)
		if (c->servers[i]->busy)
			return true;
	return false;
}

int ctl_compact(const struct ctl_options *opt)
{
	const struct timespec rest = {.tv_nsec = ASK_MS * 1000000L};
	Forefetch__Response *first = ask(opt, true), *last = first;
	int code = EXIT_FAILURE;
	struct pass p;

	while (last && is_busy(last->compact)) {
		nanosleep(&rest, NULL);
		if (last != first)
			forefetch__response__free_unpacked(last, NULL);
		last = ask(opt, false);
	}
	if (last) {
		p = (struct pass){first->compact, last->compact};
		if (opt->json)
			put_json(&p);
		else
			put_text(&p);
		code = EXIT_SUCCESS;
		for (size_t i = 0; i < p.over->n_servers; i++)
			if (!end_good(pass_end(&p, i)))
				code = EXIT_FAILURE;
	}
	if (last && last != first)
		forefetch__response__free_unpacked(last, NULL);
	if (first)
		forefetch__response__free_unpacked(first, NULL);
	return code;
}
