/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch flush: empties caches, and shows what was given up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_text.h"

static void flush_put_text(const Forefetch__Flushed *flushed)
{
	char memory[CTL_TEXT_MAX], data[CTL_TEXT_MAX];
	const Forefetch__FlushedServer *srv;

	for (size_t i = 0; i < flushed->n_servers; i++) {
		srv = flushed->servers[i];
		ctl_put_bytes(stdout, srv->name.data, srv->name.len);
		printf(": gave up %" PRIu64 " objects, %" PRIu64
		       " names, %" PRIu64 " rights, %" PRIu64
		       " listings, %" PRIu64 " answers (%s of memory); data "
		       "of %" PRIu64 " files (%s)\n",
		    srv->objects, srv->names, srv->rights, srv->listings,
		    srv->answers, ctl_text_bytes(memory, srv->memory_bytes),
		    srv->files, ctl_text_bytes(data, srv->data_bytes));
	}
}

int ctl_flush(const struct ctl_options *opt)
{
	Forefetch__FlushRequest flush = FOREFETCH__FLUSH_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;

	flush.server = ctl_bytes(opt->arg);
	request.command_case = FOREFETCH__REQUEST__COMMAND_FLUSH;
	request.flush = &flush;
	res =
	    ctl_call(opt->socket, &request, FOREFETCH__RESPONSE__RESULT_FLUSH);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		ctl_json_print(res->flush);
	else
		flush_put_text(res->flush);
	ctl_free(res);
	return EXIT_SUCCESS;
}
