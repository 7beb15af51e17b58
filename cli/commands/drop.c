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

static int drop_run(const struct ctl_options *opt)
{
	Forefetch__FlushRequest flush = FOREFETCH__FLUSH_REQUEST__INIT;
	Forefetch__Response *res;

	flush.server = ctl_bytes(opt->server);
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_FLUSH, &flush);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->flush);
	for (size_t i = 0; !opt->json && i < res->flush->n_servers; i++)
		ctl_put(stdout, res->flush->servers[i],
		    "{name}: dropped {objects} object{objects:S}, {names} "
		    "name{names:S}, {rights} right{rights:S}, {listings} "
		    "listing{listings:S}, {answers} answer{answers:S} "
		    "({memory_bytes:B} of memory); data of {files} "
		    "file{files:S} ({data_bytes:B})\n");
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command drop_command = {
    .name = "drop",
    .former = "flush",
    .usage = "[--json] [SERVER]",
    .summary = "empty the caches",
    .help =
	"Empties the caches of every server, or of SERVER alone, in memory and "
	"on disk, and\n"
	"shows what was dropped. No data is lost: everything that was written "
	"is on the\n"
	"server. Only root and the user that forefetchd runs as may do this.\n",
    .options = "server json",
    .run = drop_run,
};
