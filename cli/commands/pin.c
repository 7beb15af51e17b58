/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch pin, pins, unpin: trees whose data stays in the cache. `pin` has
 * the daemon walk each tree and shows how far that is; the daemon goes on
 * without this program, and checks pins by itself after that (warm/pins.h).
 * `pins` and `unpin` are one question each. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/command_list.h"
#include "commands/json_error.h"
#include "commands/walk.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Adds or removes the pin of a place. The answer to PIN_REMOVE is another kind
 * of message than that to PIN_ADD. NULL after a message. */
static Forefetch__Response *ask_at(
    struct ctl_client *c, struct ctl_place *at, Forefetch__PinAction action)
{
	Forefetch__PinRequest pin = FOREFETCH__PIN_REQUEST__INIT;
	Forefetch__Place place;

	ctl_place_fill(at, &place);
	pin.action = action;
	pin.place = &place;
	return ctl_ask_for(c, FOREFETCH__REQUEST__COMMAND_PIN, &pin,
	    action == FOREFETCH__PIN_ACTION__PIN_ADD
		? FOREFETCH__RESPONSE__RESULT_PINS
		: FOREFETCH__RESPONSE__RESULT_UNPIN);
}

/* Makes sure that every pin of the answer has its walk, which all callers read.
 * A daemon of this release always sends it; one that does not is refused with a
 * message, and the result is NULL. */
static Forefetch__Response *check(
    const struct ctl_options *opt, Forefetch__Response *res)
{
	for (size_t i = 0; res && i < res->pins->n_pins; i++)
		if (!res->pins->pins[i]->walk)
			return ctl_refuse(opt->socket, res);
	return res;
}

/* ---- list ------------------------------------------------------------- */

/* One word for the state of a pin: what goes on, or else why it is not
 * complete. */
static const char *state_of(const Forefetch__Pin *p)
{
	const Forefetch__Warmed *w = p->walk;

	if (p->walks)
		return w->waits ? "waiting" : "fetching";
	if (p->complete)
		return "complete";
	if (w->full)
		return "no room";
	return w->status > 0 ? "not found" : "incomplete";
}

/* A row of the table. The user is shown by name where this machine knows
 * one. */
static void add_pin(struct ctl_table *t, const Forefetch__Pin *p)
{
	const struct passwd *pw = getpwuid(p->uid);

	ctl_table_row(t);
	if (pw)
		ctl_table_cell(t, "%s", pw->pw_name);
	else
		ctl_table_cell(t, "%" PRIu32, p->uid);
	ctl_table_put(t, p, "{files}|{bytes:B}|{cached_bytes:B}");
	ctl_table_cell(t, "%s", state_of(p));
	ctl_table_put(t, p->walk, p->walks ? "0|0" : "{refused}|{failed}");
	ctl_table_put(t, p, "{server}:{export_path}");
}

/* Pins of all users count against one limit, so it is shown even to somebody
 * who may see only some of them. */
static void put_list(const Forefetch__Pins *pins)
{
	struct ctl_table *t = ctl_table_new(
	    "user,>files,>size,>cached,state,>refused,>failed,tree");

	for (size_t i = 0; i < pins->n_pins; i++)
		add_pin(t, pins->pins[i]);
	ctl_table_print(t);
	ctl_put(stdout, pins,
	    "{pinned_bytes:B} of {limit_bytes:B} that may be pinned\n");
}

static int pins_run(const struct ctl_options *opt)
{
	Forefetch__PinRequest pin = FOREFETCH__PIN_REQUEST__INIT;
	Forefetch__Response *res;

	pin.server = ctl_bytes(opt->server);
	res = check(
	    opt, ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_PIN, &pin));
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->pins);
	else
		put_list(res->pins);
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command pins_command = {
    .name = "pins",
    .usage = "[--json] [--watch SECONDS] [SERVER]",
    .summary = "show pinned files and directories",
    .help = "Shows what you have pinned at every server, or at SERVER alone: "
	    "how much that is,\n"
	    "how much of it is cached, and what is missing. For root, it shows "
	    "the pins of all\n"
	    "users.\n",
    .options = "watch server json",
    .run = pins_run,
};

/* ---- pin -------------------------------------------------------------- */

/* Asks for the present state of a pin. The daemon leaves sizes out while its
 * walk goes on, since it would have to sum them up each time. */
static Forefetch__Response *ask_again(
    struct ctl_client *c, const Forefetch__Pin *p)
{
	Forefetch__PinRequest pin = FOREFETCH__PIN_REQUEST__INIT;

	pin.server = p->server;
	pin.id = p->id;
	return ctl_ask(c, FOREFETCH__REQUEST__COMMAND_PIN, &pin);
}

/* Pins a place and waits until it was walked, the user stops this, or the pin
 * is gone. Returns the last answer, or NULL after a message. `*lost` is set if
 * there was a message because no more answers came. */
static Forefetch__Response *follow(struct ctl_client *c, struct ctl_place *at,
    const char *path, const struct ctl_options *opt, bool *lost)
{
	struct walk_screen screen;
	Forefetch__Response *next,
	    *res = check(opt, ask_at(c, at, FOREFETCH__PIN_ACTION__PIN_ADD));
	bool more = true;

	walk_init(&screen, opt, c, at);
	if (res && res->pins->n_pins == 0)
		return ctl_refuse(opt->socket, res);
	if (res && res->pins->pins[0]->walks)
		walk_warn(path, res->pins->pins[0]->walk);
	while (res && res->pins->pins[0]->walks && more) {
		more = walk_show(&screen, res->pins->pins[0]->walk);
		next = check(opt, ask_again(c, res->pins->pins[0]));
		*lost = !next || next->pins->n_pins == 0;
		if (*lost) {
			walk_clear(&screen);
			if (next)
				ctl_complain(path, "it was unpinned meanwhile");
			ctl_free(next);
			break;
		}
		ctl_free(res);
		res = next;
	}
	walk_clear(&screen);
	return res;
}

/* The line for people at the end. If the user stopped the waiting, the daemon
 * goes on, and the line says so. */
static void put_result(const char *path, const Forefetch__Pin *p)
{
	ctl_put_bytes(stdout, (const uint8_t *)path, strlen(path));
	fputs(": ", stdout);
	walk_put(stdout, p->walk);
	ctl_put(stdout, p->walk,
	    p->walks ? ", {elapsed_us:U}; forefetchd continues\n"
		     : ", {elapsed_us:U}\n");
	walk_put_errors(p->walk);
}

/* Whether all of the tree is in the cache; if not, a message says why and what
 * to do. */
static bool is_good(const char *path, const Forefetch__Pin *p)
{
	bool good = walk_good(path, p->walk);

	if (p->walk->full)
		fprintf(stderr,
		    "forefetch: %s: pinned data may take half of cache_size, "
		    "and its index half of the memory for that; the rest of "
		    "this tree is not pinned. Unpin something, or increase "
		    "cache_size or memory_size\n",
		    path);
	return good && !p->walk->full;
}

/* A walk_fn of walk.h: pins one path. */
static bool pin_one(struct ctl_client *c, struct ctl_place *at,
    const char *path, const struct ctl_options *opt, struct json *j)
{
	bool good, lost = false;
	Forefetch__Response *res = follow(c, at, path, opt, &lost);

	if (!res)
		return false;
	good = !lost && is_good(path, res->pins->pins[0]);
	if (opt->json)
		json_fields(j, res->pins->pins[0]);
	else if (!lost && !res->pins->pins[0]->walk->status)
		put_result(path, res->pins->pins[0]);
	ctl_free(res);
	return good;
}

/* `pin --list` is the former form of `pins`. */
static int pin_run(const struct ctl_options *opt)
{
	if (opt->list) {
		fputs("forefetch: `forefetch pins` lists them now; pin --list "
		      "is accepted until the next release\n",
		    stderr);
		return pins_run(opt);
	}
	return walk_all(opt, "pins", pin_one) ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct ctl_command pin_command = {
    .name = "pin",
    .usage = "[--progress] [--json] PATH...",
    .summary = "keep files and directories in the cache",
    .help = "Fetches the tree at each PATH, on a mount of the proxy, as "
	    "warm does, and keeps its\ndata in the cache until unpin, "
	    "whatever else is cached. Pins survive a restart, and\nthe "
	    "trees are checked for changes while they are in use. pins "
	    "lists them.\n",
    .options = "list progress json",
    .run = pin_run,
    .args_min = 1,
    .args_max = CTL_ARGS_MAX,
};

/* ---- unpin ------------------------------------------------------------ */

/* A path is unpinned by the name without symbolic links, under which it was
 * pinned; if it does not exist any more, by the path as given, so that a pin
 * whose tree was removed can be removed as well. */
static Forefetch__Response *unpin(struct ctl_client *c, const char *path)
{
	char *real = realpath(path, NULL);
	struct ctl_place at;
	bool found = ctl_place_guess(real ? real : path, &at);

	free(real);
	return found ? ask_at(c, &at, FOREFETCH__PIN_ACTION__PIN_REMOVE) : NULL;
}

/* Removes the pins of a path, and returns how many there were: root removes
 * those of all users. After a message it is 0, and `errors` has an element
 * more. */
static uint64_t unpin_one(
    struct ctl_client *c, const char *path, struct json *errors)
{
	Forefetch__Response *res;
	uint64_t removed = 0;

	json_error_part();
	res = unpin(c, path);
	if (res) {
		removed = res->unpin->removed;
	} else {
		json_open(errors, NULL, '{');
		json_text(errors, "path", path);
		json_error_put(errors, true, "");
		json_close(errors, '}');
	}
	ctl_free(res);
	return removed;
}

/* The errors are collected while the paths are gone through, since their array
 * follows the count in the JSON value. */
static int unpin_run(const struct ctl_options *opt)
{
	struct ctl_client *c = ctl_open(opt->socket);
	char *text = NULL;
	size_t len;
	struct json errors = {.out = c ? open_memstream(&text, &len) : NULL};
	uint64_t removed = 0;
	bool good = false;

	for (int i = 0; errors.out && i < opt->nargs; i++)
		removed += unpin_one(c, opt->args[i], &errors);
	ctl_close(c);
	if (errors.out && fclose(errors.out) == 0) {
		good = len == 0;
		if (opt->json)
			printf("{\"removed\":%" PRIu64 ",\"errors\":[%s]}\n",
			    removed, text);
	}
	free(text);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct ctl_command unpin_command = {
    .name = "unpin",
    .usage = "[--json] PATH...",
    .summary = "stop keeping files and directories in the cache",
    .help =
	"Each PATH is one that you have pinned; root may name those of all "
	"users. The data\n"
	"stays in the cache until its space is needed for something else.\n",
    .options = "json",
    .run = unpin_run,
    .args_min = 1,
    .args_max = CTL_ARGS_MAX,
};
