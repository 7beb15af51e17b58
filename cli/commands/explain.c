/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch explain shows what the daemon knows of one file: which of it is
 * cached and how old that is, and what became of the last prediction of it. It
 * answers "why was this slow?" for one user and one path.
 *
 * The daemon tells only what the server has been seen to give the asking user
 * access to, and asks the server nothing; so a line here may say that something
 * is not known, which is no error. explain/ in the daemon fills the message
 * Explained, and this file only words it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "control/protocol.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* How people are told that the cache has an answer, but one that is too old. */
#define EXPIRED "expired: the next use asks the server"

/* A word of the protocol, and the sentence that people read in its place. */
struct word {
	const char *key;
	const char *text;
};

/* The rights by the bits of ACCESS3, least significant first (RFC 1813 section
 * 3.3.4). */
static const char *const rights[] = {
    "read", "lookup", "modify", "extend", "delete", "execute"};

/* The parts of an object that a prediction asks for, by the bits of
 * PREDICTOR_NEEDS_… (predictor/predictor.h), least significant first. */
static const char *const needs[] = {"name", "attributes", "rights",
    "first bytes", "listing", "absence", "later parts"};

/* Names of the types, by the numbers of Explained.Type, which are those of
 * ftype3 (RFC 1813 section 2.5) with 0 for unknown. */
static const char *const types[] = {"unknown", "regular file", "directory",
    "block", "character", "link", "socket", "fifo"};

/* The daemon sends one of these words for the outcome of a prediction
 * (Prediction.state). */
static const struct word states[] = {
    {"wanted", "waits for room on the link"},
    {"asked", "is under way"},
    {"ready", "was fetched, and not used yet"},
    {"used", "was cached when it was used"},
    {"late", "was used before all of it had arrived"},
    {"unused", "was fetched, and not used within ten seconds"},
    {"fresh", "was not fetched: it was cached already"},
    {"unlikely", "was not fetched: too unlikely to be worth a call"},
    {"withdrawn", "was not fetched: its prediction was withdrawn"},
    {"old", "was not fetched: the link had no spare capacity in time"},
    {"unknown", "was not fetched: its handle is not known"},
    {"failed", "was refused by the server"},
};

/* Who predicted it (Prediction.source); ARCHITECTURE.md says which file in
 * prefetch/sources/ each one is. */
static const struct word sources[] = {
    {"tree", "an access tree: a program or job that used it before"},
    {"graph", "what followed such accesses before"},
    {"names", "its name: names like it were used before"},
    {"pattern", "the pattern in which it is being read"},
    {"hint", "a hint of a program or user"},
    {"mention", "its name in other files that were read"},
    {"walk", "a walk through the directories around it"},
    {"kind", "how files of its kind are read"},
    {"session", "the beginnings of the user's former sessions"},
};

/* Writes the sentence of `key`. A word that this release does not know is
 * written as it came: a newer daemon may have more of them. */
static void put_word(const struct word *list, size_t n, const char *key)
{
	const char *text = key;

	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].key, key) == 0)
			text = list[i].text;
	ctl_put_bytes(stdout, (const uint8_t *)text, strlen(text));
}

#define PUT_WORD(list, key)                                                    \
	put_word(list, sizeof(list) / sizeof((list)[0]), key)

static void put_bits(const char *const *names, size_t n, uint32_t bits)
{
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		if (!(bits >> i & 1))
			continue;
		printf("%s%s", first ? "" : ", ", names[i]);
		first = false;
	}
	if (first)
		fputs("none", stdout);
}

/* Ends a line with the age of a confirmation. `fresh` is whether an answer may
 * be based on it now, by the consistency mode of the server. */
static void put_age(uint64_t us, bool fresh)
{
	char buf[CTL_TEXT_MAX];

	if (us == AGE_UNKNOWN)
		fputs("not confirmed since the daemon started", stdout);
	else
		printf("confirmed %s ago", ctl_text_us(buf, us));
	puts(fresh ? ": fresh" : ": expired");
}

/* Says why an object that was confirmed a moment ago may count as old again
 * already: another client writes to it, or it changed recently, so that the
 * proxy believes it for a short time only. */
static void put_limit(const Forefetch__Explained *x)
{
	if (x->contested)
		puts("  age limit    none is kept: another client changed it "
		     "while it was written here, so the server is asked each "
		     "time");
	else if (strcmp(x->consistency, "bounded") == 0 &&
		 x->attr_age_us != AGE_UNKNOWN)
		ctl_put(stdout, x,
		    "  age limit    {attr_limit_us:U} after each confirmation; "
		    "it had not changed for {attr_still_us:T}\n");
}

/* Attributes, and of a file its data, of a directory its listing. Whether data
 * is cached would tell a user who may not read the file that somebody else
 * reads it, so the daemon hides the number (SIZE_UNKNOWN) from whoever was not
 * seen to read. */
static void put_object(const Forefetch__Explained *x)
{
	bool known = (size_t)x->type < sizeof(types) / sizeof(types[0]);

	if (x->type == FOREFETCH__EXPLAINED__TYPE__UNKNOWN) {
		puts("  attributes   not cached");
		return;
	}
	printf("  attributes   %s", types[known ? x->type : 0]);
	ctl_put(stdout, x, ", {size:B}; ");
	put_age(x->attr_age_us, x->attr_fresh);
	put_limit(x);
	if (x->type == FOREFETCH__EXPLAINED__TYPE__FILE &&
	    x->data_bytes == SIZE_UNKNOWN)
		puts("  data         not told: you have not been seen to read "
		     "it");
	else if (x->type == FOREFETCH__EXPLAINED__TYPE__FILE)
		ctl_put(stdout, x,
		    "  data         {data_bytes:B} of {size:B} cached\n");
	if (x->type != FOREFETCH__EXPLAINED__TYPE__DIRECTORY)
		return;
	if (x->listed)
		ctl_put(stdout, x,
		    x->list_complete ? "  listing      {list_entries} "
				       "entr{list_entries:Y}, all; "
				     : "  listing      {list_entries} "
				       "entr{list_entries:Y}, not all; ");
	if (x->listed)
		puts(x->list_fresh ? "fresh" : EXPIRED);
	else
		puts("  listing      not cached for you");
}

/* The server's answers to ACCESS, as far as this user has caused the question.
 * The proxy never derives rights from mode bits, since a server may have ACLs
 * and may squash users. */
static void put_rights(const Forefetch__Explained *x)
{
	if (!x->rights_known) {
		puts("  rights       you have not asked the server for them "
		     "yet");
		return;
	}
	fputs("  rights       ", stdout);
	put_bits(rights, sizeof(rights) / sizeof(rights[0]), x->rights_given);
	fputs("; ", stdout);
	put_age(x->rights_age_us, x->rights_fresh);
}

static void put_prediction(const Forefetch__Prediction *p)
{
	if (!p) {
		puts("  prefetch     not predicted recently");
		return;
	}
	fputs("  prefetch     ", stdout);
	PUT_WORD(states, p->state);
	ctl_put(stdout, p, " ({age_us:T} ago)\n");
	printf(
	    "               predicted at %.0f%%", (double)p->p_permille / 10);
	ctl_put(stdout, p, ", {lead} access{lead:E} ahead");
	fputs(", by ", stdout);
	PUT_WORD(sources, p->source);
	fputs("\n               for its ", stdout);
	put_bits(needs, sizeof(needs) / sizeof(needs[0]), p->needs);
	ctl_put(stdout, p, "; {bytes:B} arrived\n");
}

/* `x->left` bytes of the path, counted from its end, could not be resolved; the
 * line begins with that part, so that a user sees which directory of a long
 * path is the one that is not cached. */
static void put_not_found(const char *path, const Forefetch__Explained *x)
{
	static const char *const why[] = {
	    [FOREFETCH__FOUND__ABSENT] = "known to be absent",
	    [FOREFETCH__FOUND__UNKNOWN] = "not cached",
	    [FOREFETCH__FOUND__HIDDEN] =
		"you have not yet been seen to have access to its directory",
	    [FOREFETCH__FOUND__UNMOUNTED] =
		"nothing is known of what is mounted there until it is "
		"used"};
	size_t len = strlen(path);

	fputs("  name         ", stdout);
	if (x->left > 0 && x->left < len) {
		ctl_put_bytes(
		    stdout, (const uint8_t *)path + len - x->left, x->left);
		fputs(": ", stdout);
	}
	printf("%s%s\n",
	    x->found <= FOREFETCH__FOUND__UNMOUNTED ? why[x->found]
						    : "not known",
	    x->found == FOREFETCH__FOUND__ABSENT && !x->name_fresh
		? "; " EXPIRED
		: "");
}

static void put_text(const char *path, const Forefetch__Explained *x)
{
	ctl_put_bytes(stdout, (const uint8_t *)path, strlen(path));
	ctl_put(stdout, x, "\n  consistency  {consistency}\n");
	if (x->found == FOREFETCH__FOUND__OBJECT) {
		printf(
		    "  name         %s\n", x->name_fresh ? "fresh" : EXPIRED);
		put_object(x);
		put_rights(x);
	} else {
		put_not_found(path, x);
	}
	put_prediction(x->prefetch);
}

/* The place of the path is found without access to the file
 * (ctl_place_guess()): a look at it would have the kernel ask the proxy, and so
 * change what is to be explained. */
static int explain_run(const struct ctl_options *opt)
{
	Forefetch__ExplainRequest explain = FOREFETCH__EXPLAIN_REQUEST__INIT;
	Forefetch__Response *res;
	Forefetch__Place place;
	struct ctl_place at;

	if (!ctl_place_guess(opt->arg, &at))
		return EXIT_FAILURE;
	ctl_place_fill(&at, &place);
	explain.place = &place;
	res = ctl_call(
	    opt->socket, FOREFETCH__REQUEST__COMMAND_EXPLAIN, &explain);
	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		ctl_place_print(opt->arg, &at, res->explain);
	else
		put_text(opt->arg, res->explain);
	ctl_free(res);
	return EXIT_SUCCESS;
}

const struct ctl_command explain_command = {
    .name = "explain",
    .usage = "[--json] [--watch SECONDS] PATH",
    .summary = "show what is cached of a file, and its last prediction",
    .help =
	"Shows what is cached of the file at PATH, on a mount of the proxy, "
	"how old that is,\n"
	"and the outcome of its last prediction. The server is not asked.\n",
    .options = "watch json",
    .run = explain_run,
    .args_min = 1,
    .args_max = 1,
};
