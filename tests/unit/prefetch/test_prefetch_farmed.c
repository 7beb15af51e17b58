/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listings of which a farm gives the names: what is asked of the server then.
 * The farm is the test's. */
#include "unittest.h"
#include "cache/caches.h"
#include "farm/farm.h"
#include "prefetch/step_fixture.h"
#include "upstream/fetch.h"

enum { ENTRIES = 60, FIRST_PAGE = 20 };

static struct fetch_claim claim;
static bool farm_has;

/* It is asked for what is not under way, and answers later. */
enum farm_answer __wrap_farm_ask_listing(struct farm_server *s,
    const struct node *dir, uint32_t cred, bool plus, bool ahead);
enum farm_answer __wrap_farm_ask_listing(struct farm_server *s,
    const struct node *dir, uint32_t cred, bool plus, bool ahead)
{
	struct fetch_about about = {.object = node_key(dir),
	    .proc = NFSPROC3_READDIRPLUS,
	    .cred = cred,
	    .to = UINT64_MAX};

	assert_true(plus && ahead);
	if (!farm_has)
		return FARM_NO;
	fetch_claim((struct fetch *)(void *)s, &claim, &about);
	return FARM_ASKED;
}

static char texts[ENTRIES][2][16];
static struct entry entries[ENTRIES];

/* Of those behind the first page only the names, as from the farm. */
static void make_entries(int known)
{
	for (int i = 0; i < ENTRIES; i++) {
		snprintf(texts[i][0], sizeof(texts[i][0]), "file-%d", i);
		snprintf(texts[i][1], sizeof(texts[i][1]), "%03d", i);
		entries[i] = (struct entry){
		    texts[i][0], i < known ? texts[i][1] : NULL, NF3REG};
	}
}

FIXTURE(struct step_world, step_setup, step_teardown);

/* Behind a first page the farm is asked for the names. The entries of that page
 * are fresh, which is no reason to leave all others to lookups. */
TEST(test_behind_first_page, struct step_world *s)
{
	struct want *w;

	make_entries(FIRST_PAGE);
	say_dir(s->w);
	say_access(s, "dir");
	s->w->now_us += SECOND;
	say_page(s->w, entries, FIRST_PAGE, 0, false);
	s->pf.g.farm = (struct farm_server *)(void *)s->pf.g.fetch;
	farm_has = true;
	w = want(s, "dir", NULL, PREDICTOR_NEEDS_LISTING);
	assert_step(s, w, STEP_WAITS, "");
	say_page(s->w, entries, ENTRIES, 0, true);
	farm_has = false;
	fetch_claim_end(&claim);
	assert_ptr_equal(queue_next(s->pf.queue), w);
	assert_int_not_equal(step(s, w), STEP_DONE);
	assert_call(s, "READDIRPLUS", "dir");
	assert_true(s->up.calls[0].args.readdirplus.cookie > 0);
	s->pf.g.farm = NULL;
	steps_forget_farmed(s->steps);
}

/* The predictor is replaced by these counters of listings and of names in the
 * last. */
static unsigned told;
static size_t told_names;

void __wrap_predictor_list(struct predictor *p, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n);
void __wrap_predictor_list(struct predictor *p, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n)
{
	(void)p;
	(void)uid;
	(void)dir;
	(void)ents;
	told++;
	told_names = n;
}

static void listed(struct step_world *s)
{
	nfs3_fh fh = fh_of("dir");

	s->pf.g.now_us = s->w->now_us;
	sources_listed(
	    s->pf.sources, s->cred, attrcache_find(s->w->caches->attr, &fh));
}

/* A farm's entries have no attributes. Once these have come, the predictor
 * hears of the listing again, and then no more. */
TEST(test_predictor_hears_of_all, struct step_world *s)
{
	rooms_add(&s->pf, &source_walk);
	rooms_add(&s->pf, &source_tree);
	told = 0;
	make_entries(FIRST_PAGE);
	say_dir(s->w);
	say_access(s, "dir");
	say_page(s->w, entries, ENTRIES, 0, true);
	listed(s);
	assert_int_equal(told_names, FIRST_PAGE);
	listed(s);
	assert_int_equal(told, 1);
	make_entries(ENTRIES);
	for (int i = FIRST_PAGE; i < ENTRIES; i++)
		say_name(s->w, entries[i].name, entries[i].fh, NF3REG);
	s->w->now_us += SECOND;
	listed(s);
	assert_int_equal(told_names, ENTRIES);
	s->w->now_us += SECOND;
	listed(s);
	assert_int_equal(told, 2);
}

/* Its first entries are fresh, and a client misses names behind them. */
TEST(test_missed_behind_fresh, struct step_world *s)
{
	struct passed seen = {.cred = s->cred,
	    .missed = true,
	    .obs = {.kind = PREDICTOR_LOOKUP, .parent = key_of("dir")}};
	struct want *w;

	rooms_add(&s->pf, &source_miss);
	make_entries(FIRST_PAGE);
	say_dir(s->w);
	say_access(s, "dir");
	say_page(s->w, entries, ENTRIES, 0, true);
	for (int i = 0; i < 3; i++)
		rooms_hear(&s->pf, &seen, s->w->now_us);
	w = queue_next(s->pf.queue);
	assert_non_null(w);
	assert_int_not_equal(step(s, w), STEP_DONE);
	assert_call(s, "READDIRPLUS", "dir");
	assert_true(s->up.calls[0].args.readdirplus.cookie > 0);
	assert_call(s, NULL, NULL);
}
