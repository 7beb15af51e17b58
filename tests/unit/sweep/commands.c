/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request for each name. */
#include "sweep/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/hosts.h"
#include "sweep/place.h"

static char listen_at[32];
static char export_path[] = "/";
static char dir[] = "d";
static char file[] = "d/a";

static ProtobufCBinaryData bytes_of(char *s)
{
	return (ProtobufCBinaryData){.data = (uint8_t *)s, .len = strlen(s)};
}

/* All that requests are made of. */
static struct {
	Forefetch__StatusRequest status;
	Forefetch__StatsRequest stats;
	Forefetch__FlushRequest flush;
	Forefetch__WarmRequest warm;
	Forefetch__ExplainRequest explain;
	Forefetch__TreesRequest trees;
	Forefetch__PinRequest pin;
	Forefetch__HintRequest hint;
	Forefetch__CompactRequest compact;
	Forefetch__ReloadRequest reload;
	Forefetch__ActivityRequest activity;
	Forefetch__PauseRequest pause;
	Forefetch__Place place;
	Forefetch__Hint one;
	Forefetch__Hint *hints[1];
} m;

static void make_place(char *path)
{
	char proxy[16];

	hosts_text(HOSTS_PROXY, proxy);
	snprintf(listen_at, sizeof(listen_at), "%s:2050", proxy);
	forefetch__place__init(&m.place);
	m.place.listen = bytes_of(listen_at);
	m.place.export = bytes_of(export_path);
	m.place.path = bytes_of(path);
}

#define MAKE(request, lower, upper)                                            \
	do {                                                                   \
		forefetch__##lower##_request__init(&m.lower);                  \
		(request)->command_case = FOREFETCH__REQUEST__COMMAND_##upper; \
		(request)->lower = &m.lower;                                   \
	} while (0)

static void make_status(Forefetch__Request *r)
{
	MAKE(r, status, STATUS);
}

static void make_stats(Forefetch__Request *r)
{
	MAKE(r, stats, STATS);
}

static void make_flush(Forefetch__Request *r)
{
	MAKE(r, flush, FLUSH);
}

static void make_warm(Forefetch__Request *r)
{
	MAKE(r, warm, WARM);
	make_place(dir);
	m.warm.place = &m.place;
}

static void make_explain(Forefetch__Request *r)
{
	MAKE(r, explain, EXPLAIN);
	make_place(file);
	m.explain.place = &m.place;
}

static void make_trees_list(Forefetch__Request *r)
{
	MAKE(r, trees, TREES);
}

static void make_trees_export(Forefetch__Request *r)
{
	MAKE(r, trees, TREES);
	m.trees.action = FOREFETCH__TREES_ACTION__EXPORT;
}

static void make_pin(Forefetch__Request *r)
{
	MAKE(r, pin, PIN);
	make_place(dir);
	m.pin.action = FOREFETCH__PIN_ACTION__PIN_ADD;
	m.pin.place = &m.place;
}

static void make_hint(Forefetch__Request *r)
{
	MAKE(r, hint, HINT);
	make_place(dir);
	forefetch__hint__init(&m.one);
	m.one.seq = 1;
	m.one.path = bytes_of(file + 2);
	m.hints[0] = &m.one;
	m.hint.place = &m.place;
	m.hint.hints = m.hints;
	m.hint.n_hints = 1;
}

static void make_compact(Forefetch__Request *r)
{
	MAKE(r, compact, COMPACT);
	m.compact.begin = true;
}

static void make_reload(Forefetch__Request *r)
{
	MAKE(r, reload, RELOAD);
}

static void make_activity(Forefetch__Request *r)
{
	MAKE(r, activity, ACTIVITY);
	m.activity.names = true;
	m.activity.past = 8;
}

static void make_pause(Forefetch__Request *r)
{
	MAKE(r, pause, PAUSE);
}

static void make_resume(Forefetch__Request *r)
{
	MAKE(r, pause, PAUSE);
	m.pause.resume = true;
}

static const struct {
	const char *name;
	void (*make)(Forefetch__Request *r);
} commands[] = {
    {"status", make_status},
    {"stats", make_stats},
    {"flush", make_flush},
    {"warm", make_warm},
    {"explain", make_explain},
    {"trees-list", make_trees_list},
    {"trees-export", make_trees_export},
    {"pin", make_pin},
    {"hint", make_hint},
    {"compact", make_compact},
    {"reload", make_reload},
    {"activity", make_activity},
    {"pause", make_pause},
    {"resume", make_resume},
};

bool commands_give(struct place *p, const char *name, char *err)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;

	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			commands[i].make(&request);
	if (request.command_case == FOREFETCH__REQUEST__COMMAND__NOT_SET)
		abort();
	res = place_control(p, &request, err);
	if (!res)
		return false;
	forefetch__response__free_unpacked(res, NULL);
	return true;
}
