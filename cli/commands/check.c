/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `forefetch status --check` judges a status that the daemon has sent, and
 * prints a line for each problem, so that a script or a monitor need not know
 * which of the many fields of a status matter.
 *
 * status.c asks the daemon and calls check_print(). A problem is a state in
 * which programs on the mount wait, fail, or get less than the configuration
 * promises them; it decides the exit code. A warning is printed, and does not:
 * the daemon serves all the same without a farm, and with the settings that it
 * has.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/check.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Where the lines go while one status is judged. With --json all of them are
 * parts of one value: report() adds to the array "problems", warn() to the
 * array "warnings", whichever is open. */
struct check {
	struct json json;
	bool as_json;
	unsigned problems;
};

/* Ends a line, with ": REASON" before its end if there is a reason. Reasons
 * hold texts of servers and of the system, so they are written escaped. */
static void put_why(const ProtobufCBinaryData *why)
{
	if (why && why->len > 0) {
		fputs(": ", stdout);
		ctl_put_bytes(stdout, why->data, why->len);
	}
	putchar('\n');
}

/* Prints one problem and counts it. `server` is the name of a server, or NULL
 * if the problem is the daemon's own; `why` is NULL or empty if nobody knows
 * the reason. */
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

/* Adds a warning to the JSON value. Warnings are not counted, so `forefetch
 * status --check` exits as it would without them. `state` is NULL where the
 * warning is not about a state. */
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

/* Writes "WHAT for 12 s" into `buf` and returns it. The age tells a person
 * whether a disconnected server is an incident or the second in which it
 * restarts. */
static const char *lasting(
    char *buf, size_t size, const char *what, uint64_t age_us)
{
	char age[CTL_TEXT_MAX];

	snprintf(buf, size, "%s for %s", what, ctl_text_duration(age, age_us));
	return buf;
}

/* New mounts go to another port of the server (the MOUNT protocol, RFC 1813
 * appendix I), so they can fail while everything that is mounted works.
 * check_server() asks only while NFS itself works: otherwise the same cause
 * would be printed twice. */
static void check_mount(struct check *ck, const Forefetch__ServerStatus *srv)
{
	const Forefetch__MountStatus *m = srv->mount;

	if (m && m->reason.len > 0)
		report(ck, &srv->name, "new mounts fail", &m->reason);
}

/* Reports what is not in order with one server. The first three are
 * alternatives, the worst first, since a connection that is down also makes
 * calls fail; the others can come on top of any of them. */
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

/* Whether machines of a farm cannot share now. A farm that is being connected
 * to for the first time has no error yet, and is no reason to warn: a check
 * that runs right after the start of the daemon would cry wolf. */
static bool is_troubled(const Forefetch__FarmStatus *farm)
{
	bool fine = !farm || farm->state == FOREFETCH__FARM_STATUS__STATE__UP ||
		    (farm->state == FOREFETCH__FARM_STATUS__STATE__CONNECTING &&
			farm->error.len == 0);

	return !fine;
}

/* `settings` are those of the last reload that the daemon cannot change while
 * it runs, as "a, b"; it goes on with the values that it has. */
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

/* Without its farm the daemon asks the server for everything, as if it had
 * none: this costs time, and no client can see it otherwise. */
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

void check_away(int error)
{
	if (error == ENOENT || error == ENOTDIR || error == ECONNREFUSED)
		puts("forefetchd: it is not running; start it with sudo "
		     "systemctl start forefetchd");
	else if (error)
		puts("forefetchd: it cannot be asked");
}

/* The order of the calls is that of the JSON value: all problems, then all
 * warnings, then "ok". */
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
