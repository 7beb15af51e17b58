/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch log-level`: which lines go to the log, shown and changed. A reload
 * sets what the configuration says, so that nobody has to remember to undo
 * it. */
#include <string.h>

#include "base/log.h"
#include "control/control_reply_private.h"

void reply_log_level(
    struct reply *r, const Forefetch__Request *request, void *out)
{
	const char *wanted = request->log_level->level;
	Forefetch__LogLevel *answer = out;
	size_t level = 0;

	while (log_level_names[level] &&
	       strcmp(log_level_names[level], wanted) != 0)
		level++;
	if (*wanted && !log_level_names[level]) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "a level is error, warn, info or debug");
		return;
	}
	if (*wanted) {
		log_set_level(LOG_LEVEL_INFO);
		log_info("log level=%s uid=%u: changed until the next reload",
		    wanted, (unsigned)r->peer->uid);
		log_set_level((enum log_level)level);
	}
	answer->level = (char *)log_level_names[log_get_level()];
}
