/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch flush: empties caches, and shows what was given up. */
#include <stdio.h>
#include <stdlib.h>

#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_put.h"

static int flush_run(const struct ctl_options *opt)
{
	Forefetch__FlushRequest flush = FOREFETCH__FLUSH_REQUEST__INIT;
	Forefetch__Response *res;

	flush.server = ctl_bytes(opt->arg);
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_FLUSH, &flush);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		ctl_json_print(res->flush);
	for (size_t i = 0; !opt->json && i < res->flush->n_servers; i++)
		ctl_put(stdout, res->flush->servers[i],
		    "{name}: gave up {objects} object{objects:S}, {names} "
		    "name{names:S}, {rights} right{rights:S}, {listings} "
		    "listing{listings:S}, {answers} answer{answers:S} "
		    "({memory_bytes:B} of memory); data of {files} "
		    "file{files:S} ({data_bytes:B})\n");
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command flush_command = {
    .name = "flush",
    .usage = "[--json] [SERVER]",
    .summary = "empty the caches",
    .help = "Empties the caches of every server, or of SERVER alone, in "
	    "memory and on disk, and\nshows what was dropped. Only root "
	    "and the user that forefetchd runs as may do this.\n",
    .options = "json",
    .run = flush_run,
};
