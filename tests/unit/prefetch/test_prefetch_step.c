/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A want needs some call next: which one goes out in its turn, given what is
 * known of its object and its directory. The caches are real ones, which
 * learned what a server said; of upstream there is but what fetch asks of it,
 * and no call is answered.
 */
#include "unittest.h"
#include "base/metrics.h"
#include "base/namemap.h"
#include "cache/accesscache.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/refused.h"
#include "prefetch/ground/observe.h"
#include "prefetch/prefetch_fixture.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"
#include "prefetch/step_fixture.h"

/* ---- confirmations ----------------------------------------------------- */

enum {
	OPEN = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
	       PREDICTOR_NEEDS_ACCESS,
};

/* A want to open "file" has nothing to ask. */
static void assert_nothing_asked(struct step_world *s)
{
	assert_step(s, want(s, "file", "dir", OPEN), STEP_DONE, "");
}

FIXTURE(struct step_world, step_setup, step_teardown);

/* A step does not ask for what is fresh. */
TEST(test_fresh, struct step_world *s)
{
	know_all(s);
	assert_nothing_asked(s);
	assert_int_equal(
	    metrics_get(s->pf.g.metrics, METRICS_PREFETCH_FRESH), 1);
}

/* The directory, so that the name holds, and the file, in one turn. */
TEST(test_stale, struct step_world *s)
{
	know_all(s);
	s->w->now_us += 10 * SECOND;
	assert_step(s, want(s, "file", "dir", OPEN), STEP_WAITS,
	    "ACCESS dir, ACCESS file");
}

/* It would be too old when it is used: it is confirmed a second before it is
 * (a third of attr_timeout). */
TEST(test_nearly_stale, struct step_world *s)
{
	struct want *w;

	know_all(s);
	s->w->now_us += 2 * SECOND + SECOND / 2;
	w = want(s, "file", "dir", OPEN);
	assert_int_equal(step(s, w), STEP_WAITS);
	assert_call(s, "ACCESS", "dir");
}

/* Attributes are known, but not what this user may do. */
TEST(test_no_rights, struct step_world *s)
{
	say_dir(s->w);
	say_access(s, "dir");
	say_name(s->w, "file", "file", NF3REG);
	assert_step(s, want(s, "file", "dir", OPEN), STEP_WAITS, "ACCESS file");
}

/* A want waits for a call that another one has sent already. */
TEST(test_under_way, struct step_world *s)
{
	struct want *one;

	know_all(s);
	say_name(s->w, "twin", "twin", NF3REG);
	s->w->now_us += 10 * SECOND;
	one = want(s, "file", "dir", OPEN);
	assert_int_equal(step(s, one), STEP_WAITS);
	s->seen = s->up.n;
	assert_step(s, want(s, "twin", "dir", OPEN), STEP_WAITS, "ACCESS twin");
}

static const char *const SIX[] = {"one", "two", "three", "four", "five", "six"};

/* Some files in "dir", whose rights were given when they had been there for a
 * while, and whose attributes are too old now. */
static void know_files(
    struct step_world *s, const char *const *files, unsigned n, uint32_t given)
{
	s->w->config.policy.grant_timeout_us = UINT64_C(3600) * SECOND;
	say_dir(s->w);
	for (unsigned i = 0; i < n; i++)
		say_name(s->w, files[i], files[i], NF3REG);
	s->w->now_us += SECOND;
	say_access(s, "dir");
	for (unsigned i = 0; i < n; i++)
		say_access_of(s, files[i], given);
	s->w->now_us += 10 * SECOND;
}

/* Rights that were given last, so attributes are all that is wanted; of many
 * names in a directory, its listing brings them for less. */
TEST(test_confirmed_by_the_directory, struct step_world *s)
{
	know_files(s, SIX, 6, ACCESS_ALL);
	assert_step(s, want(s, "one", "dir", OPEN), STEP_WAITS,
	    "ACCESS dir, ACCESS one");
	assert_step(s, want(s, "two", "dir", OPEN), STEP_WAITS, "ACCESS two");
	(void)step(s, want(s, "three", "dir", OPEN));
	(void)step(s, want(s, "four", "dir", OPEN));
	s->seen = s->up.n;
	assert_step(
	    s, want(s, "five", "dir", OPEN), STEP_WAITS, "READDIRPLUS dir");
	assert_step(s, want(s, "six", "dir", OPEN), STEP_WAITS, "");
}

/* A client has just read the listing, so its own calls bring it: but a program
 * comes to the files later than that. */
TEST(test_confirmed_after_reading, struct step_world *s)
{
	know_files(s, SIX, 6, ACCESS_ALL);
	dirs_read(
	    sources_dirs(s->pf.sources), key_of("dir"), 1 << 20, s->w->now_us);
	for (int i = 0; i < 4; i++)
		(void)step(s, want(s, SIX[i], "dir", OPEN));
	s->seen = s->up.n;
	assert_step(
	    s, want(s, "five", "dir", OPEN), STEP_WAITS, "READDIRPLUS dir");
}

/* The listing came, without some name: that is asked for by itself. */
TEST(test_not_confirmed_by_the_directory, struct step_world *s)
{
	struct want *w;

	know_files(s, SIX, 6, ACCESS_ALL);
	for (int i = 0; i < 4; i++)
		dirs_want(
		    sources_dirs(s->pf.sources), key_of("dir"), s->w->now_us);
	w = want(s, "five", "dir", OPEN);
	want_progress(w)->listing = LISTING_ASKED;
	assert_step(s, w, STEP_WAITS, "ACCESS dir, ACCESS five");
}

/* The server may give by now what it denied then. */
TEST(test_denied_rights_are_asked_for, struct step_world *s)
{
	static const char *const files[] = {"one", "two", "three"};

	know_files(s, files, 3, ACCESS3_READ);
	assert_step(s, want(s, "one", "dir", OPEN), STEP_WAITS,
	    "ACCESS dir, ACCESS one");
	assert_step(s, want(s, "two", "dir", OPEN), STEP_WAITS, "ACCESS two");
	assert_step(
	    s, want(s, "three", "dir", OPEN), STEP_WAITS, "ACCESS three");
}

/* A server that refuses to list it is asked for each. */
TEST(test_confirmed_without_a_listing, struct step_world *s)
{
	static const char *const files[] = {"one", "two", "three"};
	struct refused_call call = {
	    .proc = NFSPROC3_READDIRPLUS, .cred = credential_id(s->cred)};

	know_files(s, files, 3, ACCESS_ALL);
	call.node = node_of(s->w, "dir");
	refused_add(s->steps->refused, s->w->caches, &call, s->w->now_us);
	(void)step(s, want(s, "one", "dir", OPEN));
	(void)step(s, want(s, "two", "dir", OPEN));
	s->seen = s->up.n;
	assert_step(
	    s, want(s, "three", "dir", OPEN), STEP_WAITS, "ACCESS three");
}

/* ---- consistency ------------------------------------------------------- */

/* In frozen nothing that was confirmed once grows old. */
TEST(test_frozen, struct step_world *s)
{
	s->w->config.policy.consistency = CONFIG_CONSISTENCY_FROZEN;
	s->w->config.policy.grant_timeout_us = UINT64_C(3600) * SECOND;
	know_all(s);
	s->w->now_us += 600 * (uint64_t)SECOND;
	assert_nothing_asked(s);
}

/* But rights do: clients ask for them again after grant_timeout. */
TEST(test_frozen_rights, struct step_world *s)
{
	s->w->config.policy.consistency = CONFIG_CONSISTENCY_FROZEN;
	s->w->config.policy.grant_timeout_us = UINT64_C(3600) * SECOND;
	know_all(s);
	s->w->now_us += UINT64_C(3600) * SECOND;
	assert_step(s, want(s, "file", "dir", OPEN), STEP_WAITS,
	    "ACCESS dir, ACCESS file");
}

/* In strict no confirmation would be of use: its client's own call confirms. */
TEST(test_strict, struct step_world *s)
{
	s->w->config.policy.consistency = CONFIG_CONSISTENCY_STRICT;
	know_all(s);
	s->w->now_us += 10 * SECOND;
	assert_nothing_asked(s);
}

/* Two machines write it, so each client's own call confirms it, in any mode. */
static void contest(struct step_world *s, enum config_consistency mode)
{
	s->w->config.policy.consistency = mode;
	s->w->config.policy.grant_timeout_us = UINT64_C(3600) * SECOND;
	know_all(s);
	node_of(s->w, "file")->flags |= NODE_CONTESTED;
}

TEST(test_contested, struct step_world *s)
{
	contest(s, CONFIG_CONSISTENCY_BOUNDED);
	s->w->now_us += SECOND;
	assert_nothing_asked(s);
}

TEST(test_frozen_contested, struct step_world *s)
{
	contest(s, CONFIG_CONSISTENCY_FROZEN);
	s->w->now_us += 600 * (uint64_t)SECOND;
	assert_nothing_asked(s);
}

TEST(test_off, struct step_world *s)
{
	know_all(s);
	s->w->now_us += 10 * SECOND;
	s->w->config.policy.prefetch = CONFIG_PREFETCH_OFF;
	assert_nothing_asked(s);
}

/* ---- what is not known ------------------------------------------------- */

TEST(test_unknown, struct step_world *s)
{
	assert_step(s, want(s, "file", "dir", OPEN), STEP_DONE, "");
	assert_int_equal(
	    metrics_get(s->pf.g.metrics, METRICS_PREFETCH_UNKNOWN), 1);
}

static uint64_t absent_key(const char *name)
{
	nfs3_name text = {.data = name, .len = (uint32_t)strlen(name)};
	nfs3_fh dir = fh_of("dir");

	return observe_absent(&dir, &text);
}

/* The predictor has no names. What nobody has asked for here can be asked ahead
 * if its name is known, and is the one that is meant; and it need not be where
 * its absence is known already. */
TEST(test_absence, struct step_world *s)
{
	static const char *const cases[][2] = {{"unknown", ""},
	    {"other", "another"}, {"known", "known"}, {"new", "new"}};
	struct want *w;

	say_dir(s->w);
	say_access(s, "dir");
	say_name(s->w, "known", NULL, NF3REG);
	for (size_t i = 0; i < 4; i++) {
		uint64_t key = absent_key(cases[i][0]);

		namemap_put(
		    s->pf.g.absents, key, cases[i][1], strlen(cases[i][1]));
		w = want_key(s, key, "dir", PREDICTOR_NEEDS_ABSENCE);
		assert_int_equal(step(s, w), i < 3 ? STEP_DONE : STEP_WAITS);
	}
	assert_call(s, "LOOKUP", "dir");
	assert_step(s, w, STEP_WAITS, "");
}

/* A name that nobody has looked up: its LOOKUP goes out once. */
TEST(test_name, struct step_world *s)
{
	struct want_name name = {.dir = key_of("dir"),
	    .name = "news",
	    .len = 4,
	    .p = 0.9f,
	    .lead = 1,
	    .source = NOTE_FROM_HINT};
	struct want *w;

	say_dir(s->w);
	say_access(s, "dir");
	w = want_add_name(s->pf.queue, s->cred, &name, s->w->now_us);
	assert_ptr_equal(queue_next(s->pf.queue), w);
	assert_step(s, w, STEP_WAITS, "LOOKUP dir");
}

/* ---- what is known by its handle alone --------------------------------- */

static struct node *know_handle(struct step_world *s, const char *fh)
{
	nfs3_fh handle = fh_of(fh);
	struct node *node = attrcache_get(s->w->caches->attr, &handle);

	assert_non_null(node);
	return node;
}

/* It is asked for, wherever it may be. */
TEST(test_handle, struct step_world *s)
{
	know_handle(s, "file");
	assert_step(s, want(s, "file", "dir", OPEN | PREDICTOR_NEEDS_DATA),
	    STEP_WAITS, "ACCESS file");
}

/* So is its directory, side by side. */
TEST(test_handles, struct step_world *s)
{
	struct want *w;

	know_handle(s, "file");
	know_handle(s, "dir");
	w = want(s, "file", "dir", OPEN);
	assert_step(s, w, STEP_WAITS, "ACCESS dir, ACCESS file");
	/* The step does not ask again for what the replies have brought. */
	know_all(s);
	assert_step(s, w, STEP_WAITS, "");
}

/* An absent name needs its directory only. */
TEST(test_handle_of_directory, struct step_world *s)
{
	know_handle(s, "dir");
	assert_step(s, want(s, "nothing", "dir", PREDICTOR_NEEDS_ABSENCE),
	    STEP_WAITS, "ACCESS dir");
}

/* Its use is far off, and only its data worth fetching: what it is has to be
 * known first. */
TEST(test_handle_far_off, struct step_world *s)
{
	struct want *w;

	know_handle(s, "file");
	know_handle(s, "dir");
	w = want(s, "file", "dir", OPEN | PREDICTOR_NEEDS_DATA);
	w->wish.far_off = true;
	assert_step(s, w, STEP_WAITS, "ACCESS file");
}

/* The server does not know it any more. */
TEST(test_handle_stale, struct step_world *s)
{
	union nfs_args args = {
	    .access = {.object = fh_of("file"), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3ERR_STALE};

	know_handle(s, "file");
	say(s->w, NFSPROC3_ACCESS, &args, &res);
	assert_nothing_asked(s);
	assert_int_equal(
	    metrics_get(s->pf.g.metrics, METRICS_PREFETCH_UNKNOWN), 1);
}

/* As long as nothing else is known of it, it is of its directory's file system.
 */
TEST(test_handle_off, struct step_world *s)
{
	char path[] = "/quiet";
	struct config_export quiet = {
	    .path = path, .policy = s->w->config.policy};

	quiet.policy.prefetch = CONFIG_PREFETCH_OFF;
	s->w->config.overrides = &quiet;
	s->w->config.noverrides = 1;
	say_dir(s->w);
	assert_true(caches_set_export(s->w->caches, path, 7));
	know_handle(s, "file");
	assert_nothing_asked(s);
	s->w->config.overrides = NULL;
	s->w->config.noverrides = 0;
}

/* ---- listings ---------------------------------------------------------- */

TEST(test_listing, struct step_world *s)
{
	say_dir(s->w);
	say_access(s, "dir");
	s->w->now_us += SECOND;
	assert_step(s, want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING),
	    STEP_WAITS, "READDIRPLUS dir");
}

/* Its names would be bound for a moment only, so it waits for a grain. */
TEST(test_listing_too_early, struct step_world *s)
{
	say_dir(s->w);
	assert_step(
	    s, want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING), STEP_LATER, "");
}

/* The file system has shown a later time: they are bound for good at once. */
TEST(test_listing_right_away, struct step_world *s)
{
	union nfs_args args = {.object = fh_of("newer")};
	union nfs_res res = {.status = NFS3_OK};
	struct want *w;

	res.getattr.GETATTR3res_u.resok.obj_attributes =
	    (fattr3){.type = NF3REG, .fsid = 7, .fileid = 50, .ctime = {20, 0}};
	say(s->w, NFSPROC3_GETATTR, &args, &res);
	say_dir(s->w);
	w = want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING);
	assert_int_equal(step(s, w), STEP_WAITS);
	assert_call(s, "READDIRPLUS", "dir");
}

/* Whoever predicts may be wrong: what is known as a file is neither listed nor
 * looked into, what is known as a directory is not read. */
TEST(test_type, struct step_world *s)
{
	uint8_t data = PREDICTOR_NEEDS_DATA;
	struct want_name name = {
	    .dir = key_of("file"), .name = "name", .len = 4, .p = 0.9f};
	struct want *w;

	know_all(s);
	s->w->now_us += SECOND;
	assert_step(
	    s, want(s, "file", "dir", PREDICTOR_NEEDS_LISTING), STEP_DONE, "");
	assert_step(s, want(s, "dir", NULL, data | PREDICTOR_NEEDS_EXTENTS),
	    STEP_DONE, "");
	w = want_add_name(s->pf.queue, s->cred, &name, s->w->now_us);
	assert_ptr_equal(queue_next(s->pf.queue), w);
	assert_step(s, w, STEP_DONE, "");
}

/* Of which type it is, is not known: that is asked first, and once. */
TEST(test_type_unknown, struct step_world *s)
{
	know_handle(s, "dir");
	assert_step(s, want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING),
	    STEP_WAITS, "ACCESS dir");
}

/* The server refused the call: it is not asked again for a while, but for what
 * else is wanted, for others, and once the object has changed. */
TEST(test_refused, struct step_world *s)
{
	struct refused_call call = {
	    .proc = NFSPROC3_READDIRPLUS, .cred = credential_id(s->cred)};
	struct want *w;

	say_dir(s->w);
	say_access(s, "dir");
	s->w->now_us += SECOND;
	call.node = attrcache_by_key(s->w->caches->attr, key_of("dir"));
	refused_add(s->steps->refused, s->w->caches, &call, s->w->now_us);
	w = want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING);
	assert_step(s, w, STEP_DONE, "");
	want_drop(w);
	call.cred++;
	assert_false(refused_lately(
	    s->steps->refused, s->w->caches, &call, s->w->now_us));
	call.cred--;
	call.proc = NFSPROC3_ACCESS;
	assert_false(refused_lately(
	    s->steps->refused, s->w->caches, &call, s->w->now_us));
	s->w->now_us += 61 * SECOND;
	w = want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING);
	assert_int_equal(step(s, w), STEP_WAITS);
	assert_call(s, "READDIRPLUS", "dir");
}

/* ---- what a client is making ------------------------------------------- */

static void say_setattr(struct step_world *s, const char *fh)
{
	union nfs_args args = {.setattr = {.object = fh_of(fh)}};
	union nfs_res res = {.status = NFS3_OK};

	say(s->w, NFSPROC3_SETATTR, &args, &res);
}

/* Its client has just written it, and knows what is there. */
TEST(test_file_that_is_being_made, struct step_world *s)
{
	struct want *w;

	know_all(s);
	say_setattr(s, "file");
	w = want(s, "file", "dir", OPEN);
	assert_step(s, w, STEP_DONE, "");
	want_drop(w);
	s->w->now_us += SECOND;
	assert_step(s, want(s, "file", "dir", OPEN), STEP_WAITS, "ACCESS file");
}

/* The next name that its client makes there would make a listing old. */
TEST(test_directory_that_is_being_filled, struct step_world *s)
{
	struct want *w;

	know_all(s);
	say_setattr(s, "dir");
	w = want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING);
	assert_step(s, w, STEP_DONE, "");
	want_drop(w);
	s->w->now_us += SECOND;
	assert_step(s, want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING),
	    STEP_WAITS, "READDIRPLUS dir, ACCESS dir");
}

/* ---- when it is given up ----------------------------------------------- */

TEST(test_expired, struct step_world *s)
{
	struct want *w;

	know_all(s);
	w = want(s, "file", "dir", OPEN);
	s->w->now_us += 6 * SECOND;
	assert_step(s, w, STEP_OLD, "");
	assert_int_equal(metrics_get(s->pf.g.metrics, METRICS_PREFETCH_OLD), 1);
}

TEST(test_unlikely, struct step_world *s)
{
	struct want *w;

	know_all(s);
	s->w->now_us += 10 * SECOND;
	w = want(s, "file", "dir", OPEN);
	w->wish.p = 0.02f;
	assert_step(s, w, STEP_DONE, "");
	assert_int_equal(
	    metrics_get(s->pf.g.metrics, METRICS_PREFETCH_UNLIKELY), 1);
}

/* The server asked for patience: the turn does not count. */
TEST(test_blocked, struct step_world *s)
{
	struct want *w;
	uint64_t wait_us = 0;

	know_all(s);
	s->w->now_us += 10 * SECOND;
	budget_pause(s->pf.g.budget, s->w->now_us + SECOND);
	w = want(s, "file", "dir", OPEN);
	assert_int_equal(
	    turn_take(s->steps, w, s->w->now_us, &wait_us), STEP_BLOCKED);
	assert_int_equal(wait_us, SECOND);
	assert_int_equal(w->progress.turns, 0);
	assert_call(s, NULL, NULL);
}
