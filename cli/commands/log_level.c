/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch log-level shows which lines the daemon logs, or changes it while
 * the daemon runs: to look at a fault, a restart would take away what shows it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "config/spelling.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Returns whether the word names a level, and prints what is wrong if not. */
static bool is_level(const char *word)
{
	const char *meant;
	size_t n;

	for (n = 0; log_level_names[n]; n++)
		if (strcmp(log_level_names[n], word) == 0)
			return true;
	meant = spelling_meant(
	    word, log_level_names, n, sizeof(log_level_names[0]));
	if (meant)
		ctl_complain(
		    NULL, "'%s' is not a level; did you mean %s?", word, meant);
	else
		ctl_complain(NULL,
		    "'%s' is not a level: it is error, warn, info or debug",
		    word);
	return false;
}

static int log_level_run(const struct ctl_options *opt)
{
	Forefetch__LogLevelRequest request = FOREFETCH__LOG_LEVEL_REQUEST__INIT;
	Forefetch__Response *res;

	if (opt->arg && !is_level(opt->arg))
		return EXIT_FAILURE;
	if (opt->arg)
		request.level = opt->args[0];
	res = ctl_call(
	    opt->socket, FOREFETCH__REQUEST__COMMAND_LOG_LEVEL, &request);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->log_level);
	else
		ctl_put(stdout, res->log_level, "{level}\n");
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command log_level_command = {
    .name = "log-level",
    .usage = "[--json] [error|warn|info|debug]",
    .summary = "show or set the least severe level that is logged",
    .help = "Shows from which level on lines go to forefetchd's log, after "
	    "setting it if one is\n"
	    "given. The next reload or restart brings back log_level of the "
	    "configuration. Only\n"
	    "root and the user that forefetchd runs as may do this.\n",
    .options = "json",
    .run = log_level_run,
    .args_max = 1,
    .actions = "error warn info debug",
    .completes = "",
};
