/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void flush_put_json(const Forefetch__Flushed *flushed)
{
	struct ctl_json j = {.out = stdout};
	const Forefetch__FlushedServer *srv;

	ctl_json_open(&j, NULL, '{');
	ctl_json_open(&j, "servers", '[');
	for (size_t i = 0; i < flushed->n_servers; i++) {
		srv = flushed->servers[i];
		ctl_json_open(&j, NULL, '{');
		ctl_json_bytes(&j, "name", srv->name.data, srv->name.len);
		ctl_json_number(&j, "objects", srv->objects);
		ctl_json_number(&j, "names", srv->names);
		ctl_json_number(&j, "rights", srv->rights);
		ctl_json_number(&j, "listings", srv->listings);
		ctl_json_number(&j, "answers", srv->answers);
		ctl_json_number(&j, "files", srv->files);
		ctl_json_number(&j, "memory_bytes", srv->memory_bytes);
		ctl_json_number(&j, "data_bytes", srv->data_bytes);
		ctl_json_close(&j, '}');
	}
	ctl_json_close(&j, ']');
	ctl_json_close(&j, '}');
	putchar('\n');
}

int ctl_flush(const struct ctl_options *opt)
{
	Forefetch__FlushRequest flush = FOREFETCH__FLUSH_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;

	if (opt->arg) {
		flush.server.data = (uint8_t *)opt->arg;
		flush.server.len = strlen(opt->arg);
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_FLUSH;
	request.flush = &flush;
	res =
	    ctl_call(opt->socket, &request, FOREFETCH__RESPONSE__RESULT_FLUSH);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		flush_put_json(res->flush);
	else
		flush_put_text(res->flush);
	forefetch__response__free_unpacked(res, NULL);
	return EXIT_SUCCESS;
}
