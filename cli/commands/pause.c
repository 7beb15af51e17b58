/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch pause and resume: the daemon fetches nothing ahead of clients for a
 * while, for users who pay for the link or need all of it. What programs ask
 * for goes on. The daemon keeps the pause in memory only
 * (prefetch/ground/hold.h). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/unit.h"
#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "text/json.h"

/* The longest pause, in milliseconds; the daemon has the same bound. */
#define YEAR_MS UINT64_C(31536000000)

/* Parses a time such as "1h30m" into milliseconds; 0 where it is none, rounds
 * to none, or is longer than a year. */
static uint64_t parse_ms(const char *text)
{
	uint64_t us;

	if (unit_parse(&units_time, text, &us) < 0)
		return 0;
	return us / 1000 <= YEAR_MS ? us / 1000 : 0;
}

/* The state that the server is in from now on, which may differ from what was
 * asked for: resume ends a pause, and nothing else that holds calls back. */
static void put_server(const Forefetch__PausedServer *srv)
{
	if (!srv->hold->paused)
		ctl_put(stdout, srv, "{name}: files are fetched ahead\n");
	else if (srv->hold->pause_left_us > 0)
		ctl_put(stdout, srv,
		    "{name}: nothing is fetched ahead for "
		    "{hold.pause_left_us:A}\n");
	else
		ctl_put(stdout, srv,
		    "{name}: nothing is fetched ahead until forefetch "
		    "resume\n");
}

/* Sends the request for opt->server, or for all servers, and prints the answer.
 * Returns an exit code. */
static int ask(const struct ctl_options *opt, Forefetch__PauseRequest *pause)
{
	Forefetch__Response *res;

	pause->server = ctl_bytes(opt->server);
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_PAUSE, pause);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->pause);
	for (size_t i = 0; !opt->json && i < res->pause->n_servers; i++)
		put_server(res->pause->servers[i]);
	ctl_free(res);
	return EXIT_SUCCESS;
}

static int pause_run(const struct ctl_options *opt)
{
	Forefetch__PauseRequest pause = FOREFETCH__PAUSE_REQUEST__INIT;

	if (opt->duration)
		pause.for_ms = parse_ms(opt->duration);
	if (opt->duration && !pause.for_ms) {
		fprintf(stderr,
		    "forefetch: --for takes a time with its unit, such as "
		    "90s, 30m, 1h30m or 2d, of a year at most, not %s\n",
		    opt->duration);
		return CTL_EXIT_USAGE;
	}
	return ask(opt, &pause);
}

static int resume_run(const struct ctl_options *opt)
{
	Forefetch__PauseRequest pause = FOREFETCH__PAUSE_REQUEST__INIT;

	pause.resume = true;
	return ask(opt, &pause);
}

const struct ctl_command pause_command = {
    .name = "pause",
    .usage = "[--for DURATION] [--json] [SERVER]",
    .summary = "fetch nothing ahead for a while",
    .help = "Stops fetching ahead, from every server or from SERVER alone: "
	    "predictions, sessions\n"
	    "and hints; warm and pin wait. Calls of programs go on as usual. "
	    "The pause lasts until\n"
	    "resume, until DURATION has passed, or until forefetchd is "
	    "restarted. Only root and the user that forefetchd\n"
	    "runs as may do this.\n",
    .options = "for server json",
    .run = pause_run,
};

const struct ctl_command resume_command = {
    .name = "resume",
    .usage = "[--json] [SERVER]",
    .summary = "fetch ahead again after pause",
    .help = "Ends a pause of every server, or of SERVER alone. Only root and "
	    "the user that\nforefetchd runs as may do this.\n",
    .options = "server json",
    .run = resume_run,
};
