/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `farm check` turns what it saw of a farm into findings, and says of each
 * whether it is wrong. */
#include "unittest.h"
#include "commands/farm.h"
#include "doctor/finding.h"

#define GIB (UINT64_C(1) << 30)

/* A farm that is in order: one node, its keys all its own. */
struct world {
	Forefetch__FarmChecked checked;
	Forefetch__FarmStatus farm;
	Forefetch__FarmLook looks[2], *list[2];
	Forefetch__Status st;
	Forefetch__ServerStatus srv, *servers[1];
	struct findings all;
};

static ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){
	    .len = strlen(text), .data = (uint8_t *)text};
}

static void in_order(struct world *w)
{
	*w = (struct world){.checked = FOREFETCH__FARM_CHECKED__INIT,
	    .farm = FOREFETCH__FARM_STATUS__INIT,
	    .st = FOREFETCH__STATUS__INIT,
	    .srv = FOREFETCH__SERVER_STATUS__INIT};
	w->farm.state = FOREFETCH__FARM_STATUS__STATE__UP;
	w->farm.version = bytes("7.0.15");
	for (int i = 0; i < 2; i++) {
		w->looks[i] = (Forefetch__FarmLook)FOREFETCH__FARM_LOOK__INIT;
		w->looks[i].name = bytes(i ? "b:6379" : "a:6379");
		w->looks[i].policy = bytes("allkeys-lru");
		w->looks[i].memory_bytes = GIB;
		w->looks[i].memory_limit_bytes = 4 * GIB;
		w->looks[i].keys = 1000;
		w->looks[i].sampled = 300;
		w->looks[i].own = 300;
		w->list[i] = &w->looks[i];
	}
	w->checked.status = &w->farm;
	w->checked.round_trip_us = 200;
	w->checked.nodes = w->list;
	w->checked.n_nodes = 1;
	w->srv.name = bytes("nas");
	w->srv.srtt_us = 40000;
	w->servers[0] = &w->srv;
	w->st.servers = w->servers;
	w->st.n_servers = 1;
}

static const struct finding *find(
    struct world *w, enum finding_state state, const char *fact)
{
	findings_free(&w->all);
	farm_judge(&w->checked, &w->st, &w->all);
	for (size_t i = 0; i < w->all.count; i++)
		if (w->all.list[i].state == state &&
		    strstr(w->all.list[i].fact, fact))
			return &w->all.list[i];
	for (size_t i = 0; i < w->all.count; i++)
		print_error("%d %s: %s\n", (int)w->all.list[i].state,
		    w->all.list[i].what, w->all.list[i].fact);
	fail_msg("nothing says: %s", fact);
	return NULL;
}

/* It says so, what to do, and nothing worse. */
static void says(struct world *w, enum finding_state state, const char *fact,
    const char *remedy)
{
	const struct finding *f = find(w, state, fact);

	assert_int_equal(findings_worst(&w->all), state);
	assert_non_null(f->remedy);
	assert_non_null(strstr(f->remedy, remedy));
}

TEST(test_in_order)
{
	struct world w;

	in_order(&w);
	(void)find(&w, FINDING_OK, "Redis 7.0.15");
	(void)find(&w, FINDING_OK, "round trip 200 us");
	(void)find(&w, FINDING_OK, "1.00 GiB of 4.00 GiB");
	(void)find(&w, FINDING_OK, "of 300 that were looked at, 300");
	assert_int_equal(findings_worst(&w.all), FINDING_OK);
	assert_int_equal(w.all.count, 4);
	/* Of a cluster, each node has its lines. */
	w.farm.cluster = true;
	w.checked.n_nodes = 2;
	assert_string_equal(
	    find(&w, FINDING_OK, "1.00 GiB of")->what, "a:6379 memory");
	assert_int_equal(w.all.count, 6);
	findings_free(&w.all);
}

TEST(test_engine)
{
	struct world w;

	in_order(&w);
	w.farm.state = FOREFETCH__FARM_STATUS__STATE__REFUSES;
	w.farm.error = bytes("it wants a password");
	says(&w, FINDING_FAIL, "refuses: it wants a password", "password_file");
	w.farm.state = FOREFETCH__FARM_STATUS__STATE__UP;
	w.farm.error = bytes("b:6379: down");
	(void)find(&w, FINDING_WARN, "up: b:6379: down");
	findings_free(&w.all);
}

TEST(test_trials)
{
	static const struct {
		Forefetch__FarmChecked__Trial trial;
		const char *fact;
	} bad[] = {{FOREFETCH__FARM_CHECKED__TRIAL__NOT_ASKED, "not be asked"},
	    {FOREFETCH__FARM_CHECKED__TRIAL__NOT_SENT, "takes no value"},
	    {FOREFETCH__FARM_CHECKED__TRIAL__NO_ANSWER, "did not answer"},
	    {FOREFETCH__FARM_CHECKED__TRIAL__NOT_THERE, "gone at once"},
	    {FOREFETCH__FARM_CHECKED__TRIAL__NOT_THE_SAME, "another value"}};
	struct world w;

	in_order(&w);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		w.checked.trial = bad[i].trial;
		says(&w, FINDING_FAIL, bad[i].fact, "");
	}
	/* Of a daemon that knows more than this program. */
	w.checked.trial = (Forefetch__FarmChecked__Trial)77;
	(void)find(&w, FINDING_FAIL, "does not know");
	findings_free(&w.all);
}

TEST(test_memory)
{
	struct world w;

	in_order(&w);
	w.looks[0].policy = bytes("noeviction");
	says(&w, FINDING_FAIL, "refuses new values", "allkeys-lru");
	w.looks[0].policy = bytes("volatile-lru");
	says(&w, FINDING_FAIL, "have none", "allkeys-lru");
	w.looks[0].policy = bytes("allkeys-random");
	says(&w, FINDING_NOTE, "allkeys-random", "allkeys-lru");
	w.looks[0].policy = bytes("allkeys-lfu");
	(void)find(&w, FINDING_OK, "1.00 GiB of");
	assert_int_equal(findings_worst(&w.all), FINDING_OK);
	/* It never gives up anything then, so that is said once. */
	w.looks[0].policy = bytes("noeviction");
	w.looks[0].memory_limit_bytes = 0;
	says(&w, FINDING_WARN, "no maxmemory", "allkeys-lru");
	findings_free(&w.all);
	in_order(&w);
	w.looks[0].evicted = 5000;
	says(&w, FINDING_NOTE, "5000 keys were evicted", "maxmemory");
	findings_free(&w.all);
}

/* A fact that the check could not see is skipped, and is not called wrong. */
TEST(test_unseen)
{
	struct world w;

	in_order(&w);
	w.looks[0] = (Forefetch__FarmLook)FOREFETCH__FARM_LOOK__INIT;
	w.looks[0].error = bytes("it refuses INFO: its user needs +info");
	(void)find(&w, FINDING_SKIP, "+info");
	assert_int_equal(findings_worst(&w.all), FINDING_SKIP);
	w.checked.n_nodes = 0;
	(void)find(&w, FINDING_OK, "round trip");
	assert_int_equal(w.all.count, 2);
	findings_free(&w.all);
}

TEST(test_keys)
{
	char *ids[] = {"AbC-_9", "zzzzzz"};
	struct world w;

	in_order(&w);
	w.looks[0].own = 200;
	w.looks[0].foreign = 100;
	says(&w, FINDING_WARN, "100 of 300 keys", "for the farm alone");
	findings_free(&w.all);
	in_order(&w);
	w.looks[0].own = 0;
	w.looks[0].others = 300;
	w.checked.other_farms = ids;
	w.checked.n_other_farms = 2;
	says(&w, FINDING_NOTE, "AbC-_9, zzzzzz", "the same key_file");
	findings_free(&w.all);
}

/* A farm as far away as the server is of no use. */
TEST(test_distance)
{
	struct world w;

	in_order(&w);
	w.checked.round_trip_us = 30000;
	says(&w, FINDING_NOTE, "the server nas in 40.0 ms", "near");
	w.srv.srtt_us = 0;
	(void)find(&w, FINDING_OK, "round trip 30.0 ms");
	assert_int_equal(findings_worst(&w.all), FINDING_OK);
	findings_free(&w.all);
}
