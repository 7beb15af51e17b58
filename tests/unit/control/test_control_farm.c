/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket tells of a farm, and lets only some users have it checked
 * and emptied. The farm's engine answers as an empty Redis does. */
#include <errno.h>
#include <unistd.h>
#include "unittest.h"

#include <event2/event.h>

#include "config/config.h"
#include "control/control.h"
#include "control/control_reply.h"
#include "engine/fake_engine.h"
#include "farm/farm.h"
#include "farm/seal.h"

#define CHECK   FOREFETCH__FARM_REQUEST__ACTION__CHECK
#define FLUSH   FOREFETCH__FARM_REQUEST__ACTION__FLUSH
#define FLUSHED FOREFETCH__FARM_REQUEST__ACTION__FLUSHED

enum { TURNS_MAX = 60000 };

struct farm_fixture {
	struct event_base *base;
	struct fake_engine *fake;
	struct farm *farm;
	char key_file[64];
	char *url;
	struct config_farm config;
};

static struct farm *find_farm(void *ctx)
{
	return ((struct farm_fixture *)ctx)->farm;
}

static const struct control_ops ops = {.farm = find_farm};

static void turn(struct farm_fixture *fx)
{
	const struct timeval most = {.tv_usec = 1000};

	event_base_loopexit(fx->base, &most);
	event_base_dispatch(fx->base);
}

static void set_up(struct farm_fixture *fx)
{
	struct engine_status st = {.state = ENGINE_DOWN};
	char err[256];

	fx->base = event_base_new();
	fx->fake = fake_new(fx->base);
	snprintf(
	    fx->key_file, sizeof(fx->key_file), "%s/key", unittest_folder());
	assert_int_equal(seal_make_file(fx->key_file), 0);
	fx->url = strdup(fake_url(fx->fake));
	fx->config = (struct config_farm){.engine = {.list = &fx->url, .n = 1},
	    .key_file = fx->key_file,
	    .publish_cap = 50000000,
	    .share = CONFIG_SHARE_DATA | CONFIG_SHARE_TREES};
	fx->farm = farm_new(fx->base, &fx->config, err, sizeof(err));
	if (!fx->farm)
		fail_msg("%s", err);
	for (int i = 0; st.state != ENGINE_UP && i < TURNS_MAX; i++) {
		turn(fx);
		engine_get_status(farm_engine(fx->farm), &st);
	}
	assert_int_equal(st.state, ENGINE_UP);
}

static void tear_down(struct farm_fixture *fx)
{
	farm_free(fx->farm);
	fake_free(fx->fake);
	event_base_free(fx->base);
	free(fx->url);
}

/* -EAGAIN, or 0 and the response. */
static int ask_once(struct farm_fixture *fx, uid_t uid,
    struct control_session *s, Forefetch__FarmRequest__Action action,
    Forefetch__Response **res)
{
	const struct control_peer peer = {.uid = uid};
	Forefetch__FarmRequest farm = FOREFETCH__FARM_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	uint8_t req[64], *out = NULL;
	size_t len, out_len = 0;
	int rc;

	farm.action = action;
	request.version = CONTROL_VERSION;
	request.command_case = FOREFETCH__REQUEST__COMMAND_FARM;
	request.farm = &farm;
	len = forefetch__request__pack(&request, req);
	rc = control_reply_build(req, len, &peer, s, &ops, fx, &out, &out_len);
	*res = rc ? NULL : forefetch__response__unpack(NULL, out_len, out);
	free(out);
	assert_true(rc || *res);
	return rc;
}

static Forefetch__Response *ask(
    struct farm_fixture *fx, uid_t uid, Forefetch__FarmRequest__Action action)
{
	struct control_session s = {.may_work = true};
	Forefetch__Response *res;

	for (int i = 0; i < TURNS_MAX; i++) {
		if (ask_once(fx, uid, &s, action, &res) == 0) {
			assert_null(s.work);
			return res;
		}
		turn(fx);
	}
	fail_msg("it does not end");
	return NULL;
}

static void expect_error(Forefetch__Response *res, Forefetch__ErrorCode code)
{
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	assert_int_equal(res->error->code, code);
	forefetch__response__free_unpacked(res, NULL);
}

static void assert_text(const ProtobufCBinaryData *b, const char *text)
{
	assert_int_equal(b->len, strlen(text));
	assert_memory_equal(b->data, text, b->len);
}

FIXTURE(struct farm_fixture, set_up, tear_down);

/* ---- status ------------------------------------------------------------- */

TEST(test_status, struct farm_fixture *fx)
{
	ENDS_BY(arena_clear) struct arena a = {0};
	Forefetch__FarmStatus *st = control_farm_status(&a, fx->farm);
	char prefix[32];

	assert_non_null(st);
	assert_int_equal(st->state, FOREFETCH__FARM_STATUS__STATE__UP);
	assert_int_equal(st->error.len, 0);
	snprintf(prefix, sizeof(prefix), "ff:%s:", st->id);
	assert_string_equal(prefix, farm_prefix(fx->farm));
	assert_false(st->cluster);
	assert_int_equal(st->n_nodes, 1);
	assert_text(&st->nodes[0]->name, fx->url + strlen("redis://"));
	assert_int_equal(
	    st->nodes[0]->state, FOREFETCH__FARM_STATUS__STATE__UP);
	assert_int_equal(st->n_share, 2);
	assert_string_equal(st->share[0], "data");
	assert_string_equal(st->share[1], "trees");
	assert_int_equal(st->publish_cap_bytes_per_second, 50000000);
	assert_false(a.failed);
}

/* The farm's status counts questions, and shows that the engine went away. */
TEST(test_counters, struct farm_fixture *fx)
{
	struct arena a = {0};
	Forefetch__FarmStatus *st;

	forefetch__response__free_unpacked(ask(fx, 0, CHECK), NULL);
	st = control_farm_status(&a, fx->farm);
	assert_true(st->gets > 0 && st->puts > 0 && st->put_bytes > 1000);
	assert_int_equal(st->hits, 0);
	assert_true(st->srtt_us > 0);
	arena_clear(&a);
	fake_free(fx->fake);
	fx->fake = NULL;
	for (int i = 0; i < TURNS_MAX; i++) {
		turn(fx);
		st = control_farm_status(&a, fx->farm);
		if (st->state == FOREFETCH__FARM_STATUS__STATE__DOWN)
			break;
		arena_clear(&a);
	}
	assert_int_equal(st->state, FOREFETCH__FARM_STATUS__STATE__DOWN);
	assert_true(st->error.len > 0);
	assert_true(st->nodes[0]->error.len > 0);
	arena_clear(&a);
	fx->fake = fake_new(fx->base);
}

TEST(test_off, struct farm_fixture *fx)
{
	ENDS_BY(arena_clear) struct arena a = {0};
	Forefetch__FarmStatus *st =
	    control_farm_off(&a, &fx->config, "no such key");

	assert_int_equal(st->state, FOREFETCH__FARM_STATUS__STATE__OFF);
	assert_text(&st->error, "no such key");
	assert_string_equal(st->id, "");
	assert_int_equal(st->n_nodes, 0);
	assert_int_equal(st->n_share, 2);
}

/* ---- check and flush ---------------------------------------------------- */

/* The engine says OK to what it is given, and has none of it afterwards. */
TEST(test_check, struct farm_fixture *fx)
{
	Forefetch__Response *res;
	Forefetch__FarmChecked *checked;

	fake_say_text(fx->fake, "INFO",
	    "$101\r\nused_memory:100\r\nmaxmemory:200\r\n"
	    "maxmemory_policy:noeviction\r\nevicted_keys:5\r\n"
	    "db0:keys=3\r\ndb1:keys=4\r\n\r\n");
	fake_say_text(fx->fake, "SCAN",
	    "*2\r\n$1\r\n0\r\n*2\r\n$44\r\n"
	    "ff:AbC-_9:d:0123456789abcdefghijABCDEFGHIJ-_\r\n$1\r\nx\r\n");
	res = ask(fx, 0, CHECK);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_FARM);
	assert_null(res->farm->flushed);
	checked = res->farm->checked;
	assert_non_null(checked);
	assert_non_null(checked->status);
	assert_int_equal(
	    checked->trial, FOREFETCH__FARM_CHECKED__TRIAL__NOT_THERE);
	assert_int_equal(checked->n_nodes, 1);
	assert_text(&checked->nodes[0]->policy, "noeviction");
	assert_int_equal(checked->nodes[0]->memory_bytes, 100);
	assert_int_equal(checked->nodes[0]->memory_limit_bytes, 200);
	assert_int_equal(checked->nodes[0]->evicted, 5);
	assert_int_equal(checked->nodes[0]->keys, 7);
	assert_int_equal(checked->nodes[0]->sampled, 2);
	assert_int_equal(checked->nodes[0]->own, 0);
	assert_int_equal(checked->nodes[0]->others, 1);
	assert_int_equal(checked->nodes[0]->foreign, 1);
	assert_int_equal(checked->n_other_farms, 1);
	assert_string_equal(checked->other_farms[0], "AbC-_9");
	forefetch__response__free_unpacked(res, NULL);
}

/* It waits while others' work goes on, and ends with its connection. */
TEST(test_check_is_work, struct farm_fixture *fx)
{
	struct control_session s = {.may_work = false};
	Forefetch__Response *res;

	assert_int_equal(ask_once(fx, 0, &s, CHECK, &res), -EAGAIN);
	assert_null(s.work);
	s.may_work = true;
	assert_int_equal(ask_once(fx, 0, &s, CHECK, &res), -EAGAIN);
	assert_non_null(s.work);
	/* A server that goes does not end it. */
	assert_false(control_reply_restart(&s));
	assert_non_null(s.work);
	control_reply_forget(&s);
	assert_null(s.work);
	for (int i = 0; i < 20; i++)
		turn(fx);
}

TEST(test_flush, struct farm_fixture *fx)
{
	Forefetch__Response *res;
	char scan[128], id[32];

	snprintf(id, sizeof(id), "%s", farm_prefix(fx->farm));
	snprintf(scan, sizeof(scan),
	    "*2\r\n$1\r\n0\r\n*2\r\n$%zu\r\n%sx\r\n$1\r\nx\r\n", strlen(id) + 1,
	    id);
	fake_say_text(fx->fake, "SCAN", scan);
	fake_say_text(fx->fake, "UNLINK", ":1\r\n");
	res = ask(fx, 0, FLUSH);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_FARM);
	assert_null(res->farm->checked);
	assert_true(res->farm->flushed->busy);
	forefetch__response__free_unpacked(res, NULL);
	/* Whoever comes second hears of the same. */
	res = ask(fx, 0, FLUSH);
	assert_true(res->farm->flushed->busy);
	for (int i = 0; res->farm->flushed->busy && i < TURNS_MAX; i++) {
		forefetch__response__free_unpacked(res, NULL);
		turn(fx);
		res = ask(fx, 0, FLUSHED);
	}
	assert_false(res->farm->flushed->busy);
	assert_int_equal(res->farm->flushed->removed, 1);
	assert_int_equal(res->farm->flushed->error.len, 0);
	forefetch__response__free_unpacked(res, NULL);
	assert_int_equal(fake_asked(fx->fake, "UNLINK"), 1);
	assert_int_equal(fake_asked(fx->fake, "SCAN"), 1);
}

TEST(test_refused, struct farm_fixture *fx)
{
	struct farm *farm = fx->farm;
	unsigned asked = fake_asked(fx->fake, "SCAN");

	for (int action = CHECK; action <= FLUSHED; action++)
		expect_error(ask(fx, geteuid() + 1,
				 (Forefetch__FarmRequest__Action)action),
		    FOREFETCH__ERROR_CODE__NOT_PERMITTED);
	expect_error(ask(fx, 0, (Forefetch__FarmRequest__Action)77),
	    FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND);
	fx->farm = NULL;
	expect_error(ask(fx, 0, CHECK), FOREFETCH__ERROR_CODE__FAILED);
	expect_error(ask(fx, 0, FLUSH), FOREFETCH__ERROR_CODE__FAILED);
	fx->farm = farm;
	assert_int_equal(fake_asked(fx->fake, "SCAN"), asked);
}
