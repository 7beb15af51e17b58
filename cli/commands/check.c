/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch status --check`: a line for each thing that is not in order. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/check.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

struct check {
	struct json json;
	bool as_json;
	unsigned problems;
};

static void put_why(const ProtobufCBinaryData *why)
{
	if (why && why->len > 0) {
		fputs(": ", stdout);
		ctl_put_bytes(stdout, why->data, why->len);
	}
	putchar('\n');
}

/* `server` NULL: of the daemon itself. `why` NULL or empty: not known. */
static void report(struct check *ck, const ProtobufCBinaryData *server,
    const char *what, const ProtobufCBinaryData *why)
{
	ck->problems++;
	if (ck->as_json) {
		json_open(&ck->json, NULL, '{');
		json_known(&ck->json, "server", server);
		json_text(&ck->json, "problem", what);
		json_known(&ck->json, "reason", why);
		json_close(&ck->json, '}');
		return;
	}
	if (server)
		ctl_put_bytes(stdout, server->data, server->len);
	else
		fputs("forefetchd", stdout);
	printf(": %s", what);
	put_why(why);
}

/* Not a problem: --check exits as without it. */
static void warn(struct check *ck, const char *what, const char *state,
    const ProtobufCBinaryData *why)
{
	json_open(&ck->json, NULL, '{');
	json_text(&ck->json, "warning", what);
	if (state)
		json_text(&ck->json, "state", state);
	json_known(&ck->json, "reason", why);
	json_close(&ck->json, '}');
}

/* "down for 12 s" */
static const char *lasting(
    char *buf, size_t size, const char *what, uint64_t age_us)
{
	char age[CTL_TEXT_MAX];

	snprintf(buf, size, "%s for %s", what, ctl_text_duration(age, age_us));
	return buf;
}

static void check_mount(struct check *ck, const Forefetch__ServerStatus *srv)
{
	const Forefetch__MountStatus *m = srv->mount;

	if (m && m->reason.len > 0)
		report(ck, &srv->name, "new mounts fail", &m->reason);
}

static void check_server(struct check *ck, const Forefetch__ServerStatus *srv)
{
	char buf[2 * CTL_TEXT_MAX];

	if (srv->state != FOREFETCH__STATE__UP)
		report(ck, &srv->name,
		    lasting(buf, sizeof(buf), "not connected to the server",
			srv->state_age_us),
		    &srv->reason);
	else if (srv->reason.len > 0)
		report(ck, &srv->name, "calls fail", &srv->reason);
	else
		check_mount(ck, srv);
	if (srv->offline_active)
		report(ck, &srv->name,
		    lasting(buf, sizeof(buf), "offline, serving what is cached",
			srv->offline_age_us),
		    NULL);
	if (srv->caches && srv->caches->disk_limit_bytes > 0 &&
	    !srv->caches->disk_on)
		report(ck, &srv->name,
		    lasting(buf, sizeof(buf), "the cache on disk is off",
			srv->caches->disk_problem_age_us),
		    &srv->caches->disk_problem);
	if (srv->rpcbind_error.len > 0)
		report(ck, &srv->name, "not registered", &srv->rpcbind_error);
}

/* Everything goes on without it, as if there were none. */
static bool is_troubled(const Forefetch__FarmStatus *farm)
{
	bool fine = !farm || farm->state == FOREFETCH__FARM_STATUS__STATE__UP ||
		    (farm->state == FOREFETCH__FARM_STATUS__STATE__CONNECTING &&
			farm->error.len == 0);

	return !fine;
}

static void warn_of_restart(
    struct check *ck, const ProtobufCBinaryData *settings)
{
	if (ck->as_json) {
		warn(ck, "a restart is needed", NULL, settings);
		return;
	}
	fputs("warning: a restart is needed for ", stdout);
	ctl_put_bytes(stdout, settings->data, settings->len);
	putchar('\n');
}

static void warn_of_farm(struct check *ck, const Forefetch__FarmStatus *farm)
{
	char state[CTL_TEXT_MAX];

	json_word(state, &forefetch__farm_status__state__descriptor,
	    (int)farm->state);
	if (ck->as_json) {
		warn(ck, "the farm is not up", state, &farm->error);
		return;
	}
	printf("warning: the farm is %s", state);
	put_why(&farm->error);
}

int check_print(const Forefetch__Status *st, bool json)
{
	struct check ck = {.json = {.out = stdout}, .as_json = json};
	size_t i;

	if (json) {
		json_open(&ck.json, NULL, '{');
		json_open(&ck.json, "problems", '[');
	}
	if (st->reload_error.len > 0)
		report(&ck, NULL, "the configuration was not reloaded",
		    &st->reload_error);
	for (i = 0; i < st->n_servers; i++)
		check_server(&ck, st->servers[i]);
	if (json) {
		json_close(&ck.json, ']');
		json_open(&ck.json, "warnings", '[');
	}
	if (st->reload_restart.len > 0)
		warn_of_restart(&ck, &st->reload_restart);
	if (is_troubled(st->farm))
		warn_of_farm(&ck, st->farm);
	if (json) {
		json_close(&ck.json, ']');
		json_bool(&ck.json, "ok", ck.problems == 0);
		json_close(&ck.json, '}');
		putchar('\n');
	}
	return ck.problems ? EXIT_FAILURE : EXIT_SUCCESS;
}
