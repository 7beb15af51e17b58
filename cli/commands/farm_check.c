/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch farm check judges what the daemon found out about the engine of its
 * farm, and says what to do where that is wrong. An engine that is badly
 * configured breaks nothing: the farm only gains little, and nobody notices. So
 * this looks for each way in which that can come about.
 *
 * The daemon does the asking (control_reply_farm.c and farm/farm_check.c there:
 * it puts a value, gets it back, and samples keys); here the answers become
 * findings, as those of `forefetch doctor`, which calls farm_judge() too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/farm.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_text.h"
#include "doctor/finding.h"
#include "text/json.h"

/* ---- the engine -------------------------------------------------------- */

/* An engine that is up may still have an error, such as one node of a cluster
 * that does not answer: that is a warning only. */
static void judge_state(const Forefetch__FarmStatus *farm, struct findings *out)
{
	char state[CTL_TEXT_MAX];
	bool up = farm->state == FOREFETCH__FARM_STATUS__STATE__UP;

	json_word(state, &forefetch__farm_status__state__descriptor,
	    (int)farm->state);
	if (farm->error.len > 0)
		findings_add(out, up ? FINDING_WARN : FINDING_FAIL, "engine",
		    "%s: %.*s", state, (int)farm->error.len,
		    (char *)farm->error.data);
	else
		findings_add(out, up ? FINDING_OK : FINDING_FAIL, "engine",
		    "%s%s%.*s%s", state, farm->version.len ? ", Redis " : "",
		    (int)farm->version.len,
		    farm->version.len ? (char *)farm->version.data : "",
		    farm->cluster ? ", a cluster" : "");
	if (!up)
		findings_remedy(out,
		    "see engine, user and password_file in [farm], and the "
		    "engine's log; forefetch farm status shows each node");
}

/* For each way in which the trial value did not come back: the fact, and the
 * remedy. GOOD is not in the table. */
static const struct {
	const char *fact, *remedy;
} trials[] = {
    [FOREFETCH__FARM_CHECKED__TRIAL__NOT_ASKED] =
	{"the engine could not be asked", "see the line about the engine"},
    [FOREFETCH__FARM_CHECKED__TRIAL__NOT_SENT] = {"it takes no value now",
	"see the line about its memory; maxmemory-policy allkeys-lru makes "
	"room for new values"},
    [FOREFETCH__FARM_CHECKED__TRIAL__NO_ANSWER] =
	{"it did not answer within two seconds",
	    "see what keeps it busy: redis-cli slowlog get, redis-cli "
	    "--latency"},
    [FOREFETCH__FARM_CHECKED__TRIAL__NOT_THERE] =
	{"a value that was put was gone at once",
	    "its user needs +set, +get and keys ff:*; and a full engine "
	    "needs maxmemory-policy allkeys-lru"},
    [FOREFETCH__FARM_CHECKED__TRIAL__NOT_THE_SAME] =
	{"it gave another value than the one that was put",
	    "something between this machine and the engine changes values; "
	    "no client was given any of them"},
};

/* The trial is the one test that nothing else can replace: rights, memory, and
 * whatever stands between this machine and the engine have to be right for a
 * value to come back the same. */
static void judge_trial(
    const Forefetch__FarmChecked *checked, struct findings *out)
{
	size_t trial = (size_t)checked->trial;
	char took[CTL_TEXT_MAX];

	if (checked->trial == FOREFETCH__FARM_CHECKED__TRIAL__GOOD) {
		findings_add(out, FINDING_OK, "value",
		    "one was put, read back and removed; round trip %s",
		    ctl_text_us(took, checked->round_trip_us));
		return;
	}
	if (trial >= sizeof(trials) / sizeof(trials[0])) {
		findings_add(out, FINDING_FAIL, "value",
		    "this release does not know what is wrong");
		return;
	}
	findings_add(out, FINDING_FAIL, "value", "%s", trials[trial].fact);
	findings_remedy(out, "%s", trials[trial].remedy);
}

/* Says where a farm can hardly help. The daemon asks a farm before a server
 * only where that answers in less than half of the time (farm_pays() in
 * farm/farm_value.c), so an engine farther away than that costs memory and
 * saves no time. */
static void judge_distance(const Forefetch__FarmChecked *checked,
    const Forefetch__Status *st, struct findings *out)
{
	char engine[CTL_TEXT_MAX], server[CTL_TEXT_MAX];

	for (size_t i = 0; st && i < st->n_servers; i++) {
		const Forefetch__ServerStatus *srv = st->servers[i];

		if (checked->round_trip_us == 0 || srv->srtt_us == 0 ||
		    2 * checked->round_trip_us <= srv->srtt_us)
			continue;
		findings_add(out, FINDING_NOTE, "distance",
		    "the engine answers in %s, and the server %.*s in %s",
		    ctl_text_us(engine, checked->round_trip_us),
		    (int)srv->name.len, (char *)srv->name.data,
		    ctl_text_us(server, srv->srtt_us));
		findings_remedy(out, "a farm saves little time there; put the "
				     "engine near the machines of the farm");
	}
}

/* ---- a node ------------------------------------------------------------ */

/* Whether maxmemory-policy begins with `name`; there are several of each family
 * (volatile-lru, volatile-ttl and others). */
static bool policy_begins(const Forefetch__FarmLook *n, const char *name)
{
	return n->policy.len >= strlen(name) &&
	       memcmp(n->policy.data, name, strlen(name)) == 0;
}

/*
 * A farm is a cache: when its engine is full, the values that were not used for
 * the longest time have to give way. The default of Redis, noeviction, refuses
 * new ones instead, and the volatile-… policies find nothing to evict, since
 * values of a farm have no expiry. See "Key eviction" in the Redis
 * documentation.
 */
static void judge_policy(
    const Forefetch__FarmLook *n, const char *what, struct findings *out)
{
	static const char remedy[] =
	    "maxmemory-policy allkeys-lru in redis.conf, or redis-cli config "
	    "set maxmemory-policy allkeys-lru";

	if (n->policy.len == 0 || n->memory_limit_bytes == 0)
		return; /* of no matter; or told with the memory */
	if (ctl_is(&n->policy, "noeviction")) {
		findings_add(out, FINDING_FAIL, what,
		    "when its memory is full, it refuses new values "
		    "(maxmemory-policy noeviction)");
		findings_remedy(out, "%s", remedy);
	} else if (policy_begins(n, "volatile-")) {
		findings_add(out, FINDING_FAIL, what,
		    "when its memory is full, it evicts only keys with a time "
		    "limit, and those of a farm have none (maxmemory-policy "
		    "%.*s)",
		    (int)n->policy.len, (char *)n->policy.data);
		findings_remedy(out, "%s", remedy);
	} else if (ctl_is(&n->policy, "allkeys-random")) {
		findings_add(out, FINDING_NOTE, what,
		    "it evicts any keys, even those that were just used "
		    "(maxmemory-policy allkeys-random)");
		findings_remedy(out, "%s", remedy);
	}
}

/* Without maxmemory, Redis grows until the kernel kills it or its machine
 * swaps. That more keys were evicted than are there means that the whole
 * content was replaced at least once. */
static void judge_memory(
    const Forefetch__FarmLook *n, const char *what, struct findings *out)
{
	char used[CTL_TEXT_MAX], most[CTL_TEXT_MAX];

	ctl_text_bytes(used, n->memory_bytes);
	ctl_text_bytes(most, n->memory_limit_bytes);
	if (n->policy.len == 0) {
		findings_add(out, FINDING_SKIP, what,
		    "it does not say what it does when its memory is full");
		return;
	}
	if (n->memory_limit_bytes == 0) {
		findings_add(out, FINDING_WARN, what,
		    "it has no maxmemory, so it grows (%s now) until its "
		    "machine has none left",
		    used);
		findings_remedy(out,
		    "maxmemory, such as 4gb, and maxmemory-policy allkeys-lru "
		    "in redis.conf");
	} else if (n->evicted > n->keys) {
		findings_add(out, FINDING_NOTE, what,
		    "%s of %s used; %" PRIu64 " keys were evicted for room "
		    "since it runs, and %" PRIu64 " are there",
		    used, most, n->evicted, n->keys);
		findings_remedy(out,
		    "a larger maxmemory, if jobs find too little in the farm");
	} else {
		findings_add(out, FINDING_OK, what,
		    "%s of %s used, %" PRIu64 " keys; %" PRIu64
		    " were evicted for room since it runs",
		    used, most, n->keys, n->evicted);
	}
	judge_policy(n, what, out);
}

/* `n` tells of a sample of the keys (SCAN), not of all of them. Keys that do
 * not begin as those of any farm belong to another program, whose data a farm
 * would push out. */
static void judge_keys(
    const Forefetch__FarmLook *n, const char *what, struct findings *out)
{
	if (n->foreign > 0) {
		findings_add(out, FINDING_WARN, what,
		    "%" PRIu64 " of %" PRIu64 " keys that were looked at are "
		    "no farm's: somebody else keeps things there, and a full "
		    "engine gives up theirs, too",
		    n->foreign, n->sampled);
		findings_remedy(out, "use a Redis server for the farm alone");
	} else if (n->sampled > 0) {
		findings_add(out, FINDING_OK, what,
		    "of %" PRIu64 " that were looked at, %" PRIu64
		    " are this farm's%s",
		    n->sampled, n->own,
		    n->others > 0 ? ", all others of other farms" : "");
	}
}

/* Judges one node. The lines of a cluster carry the name of the node; `alone`
 * means that there is no other, and that the name would only be noise. What the
 * node refuses to tell (INFO and CONFIG need rights, see ACL SETUSER) is
 * skipped, not counted as wrong. */
static void judge_node(
    const Forefetch__FarmLook *n, bool alone, struct findings *out)
{
	char memory[192] = "memory", keys[192] = "keys";

	if (!alone) {
		snprintf(memory, sizeof(memory), "%.*s memory",
		    (int)n->name.len, (char *)n->name.data);
		snprintf(keys, sizeof(keys), "%.*s keys", (int)n->name.len,
		    (char *)n->name.data);
	}
	if (n->error.len > 0) {
		findings_add(out, FINDING_SKIP, memory,
		    "not all is known: %.*s", (int)n->error.len,
		    (char *)n->error.data);
	}
	if (n->policy.len > 0 || n->error.len == 0)
		judge_memory(n, memory, out);
	judge_keys(n, keys, out);
}

/* ---- all of it --------------------------------------------------------- */

/* Another farm in the same engine is mostly an accident: two machines whose key
 * files were made separately, so that neither can open the other's values. The
 * list is cut at 255 bytes. */
static void judge_others(
    const Forefetch__FarmChecked *checked, struct findings *out)
{
	char ids[256] = "";

	for (size_t i = 0; i < checked->n_other_farms; i++) {
		size_t len = strlen(ids);

		snprintf(ids + len, sizeof(ids) - len, "%s%s",
		    i > 0 ? ", " : "", checked->other_farms[i]);
	}
	if (checked->n_other_farms == 0)
		return;
	findings_add(out, FINDING_NOTE, "other farms",
	    "values of others are in the same engine: %s", ids);
	findings_remedy(out,
	    "none reads another's, but they take each other's room; if these "
	    "machines were to be one farm, give all of them the same "
	    "key_file");
}

void farm_judge(const Forefetch__FarmChecked *checked,
    const Forefetch__Status *st, struct findings *out)
{
	if (checked->status)
		judge_state(checked->status, out);
	judge_trial(checked, out);
	judge_distance(checked, st, out);
	for (size_t i = 0; i < checked->n_nodes; i++)
		judge_node(checked->nodes[i], checked->n_nodes == 1, out);
	judge_others(checked, out);
}

static void print_json(
    const Forefetch__FarmChecked *checked, const struct findings *all, bool ok)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_open(&j, "findings", '[');
	findings_json(all, &j);
	json_close(&j, ']');
	json_bool(&j, "ok", ok);
	json_fields(&j, checked);
	json_close(&j, '}');
	putchar('\n');
}

/* Prints the findings. Warnings and failures make the exit code EXIT_FAILURE,
 * notes do not, so that a script can act on it. */
static int tell(const struct ctl_options *opt,
    const Forefetch__FarmChecked *checked, const Forefetch__Status *st)
{
	struct findings all = {0};
	bool ok;

	farm_judge(checked, st, &all);
	ok = findings_worst(&all) < FINDING_WARN;
	if (opt->json)
		print_json(checked, &all, ok);
	else
		findings_print(&all, stdout, ctl_colour(stdout));
	findings_free(&all);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Asks for the check first, which the daemon refuses to anybody but root and
 * its own user, and then for the status, which only judge_distance() needs. */
int farm_check(const struct ctl_options *opt)
{
	Forefetch__FarmRequest farm = FOREFETCH__FARM_REQUEST__INIT;
	Forefetch__Response *res, *st;
	int code = EXIT_FAILURE;

	farm.action = FOREFETCH__FARM_REQUEST__ACTION__CHECK;
	res = ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_FARM, &farm);
	if (res && !res->farm->checked)
		res = ctl_refuse(opt->socket, res);
	if (!res)
		return EXIT_FAILURE;
	st = ctl_status(opt->socket, NULL);
	if (st)
		code = tell(opt, res->farm->checked, st->status);
	ctl_free(st);
	ctl_free(res);
	return code;
}
