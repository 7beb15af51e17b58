/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user asks for the activities of now, and is told only those rows and names
 * that are his business, within the bounds. */
#include <errno.h>
#include <unistd.h>
#include "unittest.h"
#include "cache/caches.h"
#include "control/control.h"
#include "control/control_activity.h"
#include "control/control_modules.h"
#include "control/control_reply.h"
#include "explain/objnames.h"

#define OTHER 4242 /* neither root nor whoever runs the test */

static struct {
	uint32_t uid; /* that rows were asked for */
	uint32_t named_for;
	size_t rows; /* how many each module has */
	unsigned steps;
	unsigned servers;
	unsigned turns;
} w;

/* ---- the daemon ------------------------------------------------------- */

static bool find_server(void *ctx, size_t i, struct control_server *out)
{
	*out = (struct control_server){
	    .name = i == 0 ? "nas" : "src", .caches = ctx, .prefetch = ctx};
	return i < w.servers;
}

static void fill_activity(void *ctx, size_t i, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out)
{
	(void)ctx;
	(void)i;
	w.uid = uid;
	out->calls = arena_messages(a, &forefetch__client_call__descriptor, 1);
	out->n_calls = 1;
	out->calls[0]->procedure = "LOOKUP";
	out->calls[0]->object = 7;
	out->calls[0]->entry = arena_bytes(a, "\x1b[2J\xff");
	out->calls_omitted = 3;
}

size_t __wrap_prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted)
{
	(void)pf;
	(void)now_us;
	assert_int_equal(uid, w.uid);
	for (size_t i = 0; i < w.rows; i++)
		rows[i] = (struct prefetch_ahead){.source = "tree",
		    .procedure = i ? NULL : "READ",
		    .object = 100 + i,
		    .entry = "abc",
		    .entry_len = 2,
		    .p = 0.5};
	*omitted = 5;
	return w.rows;
}

size_t __wrap_prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX])
{
	(void)pf;
	(void)now_us;
	assert_int_equal(uid, w.uid);
	for (size_t i = 0; i < w.rows; i++)
		rows[i] = (struct prefetch_outcome){.object = 200 + i,
		    .uid = UINT32_MAX,
		    .told = {.state = "late", .source = "names"}};
	return w.rows;
}

size_t __wrap_mountuse_list(
    struct caches *c, struct mountuse rows[MOUNTUSE_MAX])
{
	(void)c;
	for (size_t i = 0; i < w.rows; i++)
		rows[i] = (struct mountuse){
		    .path = "/home/x", .path_len = 5, .calls = 9};
	return w.rows;
}

bool __wrap_objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps)
{
	(void)c;
	(void)now_us;
	(void)steps;
	w.named_for = (uint32_t)user->uid;
	objnames_set(on, 7, "dir", 3);
	objnames_set(on, 100, "file", 4);
	objnames_set(on, 200, "used", 4);
	return ++w.steps > 3;
}

/* ---- somebody asks ---------------------------------------------------- */

static Forefetch__Response *ask(uid_t uid, const char *server, bool names)
{
	static const struct control_ops ops = {
	    .server = find_server, .fill_activity = fill_activity};
	const struct control_peer peer = {.uid = uid};
	struct control_session session = {.may_work = true};
	Forefetch__ActivityRequest activity = FOREFETCH__ACTIVITY_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res;
	uint8_t buf[64], *out;
	size_t len;
	int rc;

	activity.server.data = (uint8_t *)server;
	activity.server.len = strlen(server);
	activity.names = names;
	request.version = CONTROL_VERSION;
	request.command_case = FOREFETCH__REQUEST__COMMAND_ACTIVITY;
	request.activity = &activity;
	len = forefetch__request__pack(&request, buf);
	do {
		rc = control_reply_build(
		    buf, len, &peer, &session, &ops, &w, &out, &len);
		w.turns++;
	} while (rc == -EAGAIN);
	assert_int_equal(rc, 0);
	assert_null(session.work);
	assert_true(len <= CONTROL_RESPONSE_MAX);
	res = forefetch__response__unpack(NULL, len, out);
	assert_non_null(res);
	free(out);
	return res;
}

static void assert_text(const ProtobufCBinaryData *b, const char *text)
{
	assert_int_equal(b->len, strlen(text));
	assert_memory_equal(b->data, text, b->len);
}

static int begin(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.servers = 2;
	w.rows = 1;
	return 0;
}

FIXTURE_OF_STATE(begin, NULL);

/* Root and the daemon's user are told of all, others of their own. */
TEST(test_whose)
{
	forefetch__response__free_unpacked(ask(0, "", false), NULL);
	assert_int_equal(w.uid, 0);
	forefetch__response__free_unpacked(ask(OTHER, "", false), NULL);
	assert_int_equal(w.uid, OTHER);
	forefetch__response__free_unpacked(ask(geteuid(), "", false), NULL);
	assert_int_equal(w.uid, 0);
}

TEST(test_rows)
{
	Forefetch__Response *res = ask(OTHER, "", false);
	const Forefetch__ServerActivity *srv;

	assert_int_equal(
	    res->result_case, FOREFETCH__RESPONSE__RESULT_ACTIVITY);
	assert_int_equal(res->activity->n_servers, 2);
	srv = res->activity->servers[1];
	assert_text(&srv->name, "src");
	assert_int_equal(srv->calls_omitted, 3);
	assert_int_equal(srv->ahead_omitted, 5);
	assert_text(&srv->calls[0]->entry, "\x1b[2J\xff");
	assert_int_equal(srv->calls[0]->name.len, 0);
	assert_text(&srv->ahead[0]->entry, "ab");
	assert_int_equal(srv->ahead[0]->p_permille, 500);
	assert_int_equal(srv->outcomes[0]->uid, UID_NOBODY);
	assert_string_equal(srv->outcomes[0]->prediction->state, "late");
	assert_text(&srv->mounts[0]->export_path, "/home");
	forefetch__response__free_unpacked(res, NULL);
	assert_int_equal(w.steps, 0);
}

/* A server in each turn of the loop. */
TEST(test_turns)
{
	Forefetch__Response *res = ask(OTHER, "", false);

	assert_int_equal(w.turns, 2);
	forefetch__response__free_unpacked(res, NULL);
	w.turns = 0;
	forefetch__response__free_unpacked(ask(OTHER, "src", false), NULL);
	assert_int_equal(w.turns, 1);
}

/* They are looked up with the rights of whoever asks, in several turns. */
TEST(test_names)
{
	Forefetch__Response *res = ask(OTHER, "nas", true);
	const Forefetch__ServerActivity *srv = res->activity->servers[0];

	assert_int_equal(w.steps, 4);
	assert_int_equal(w.named_for, OTHER);
	assert_int_equal(res->activity->n_servers, 1);
	assert_text(&srv->calls[0]->name, "dir");
	assert_text(&srv->ahead[0]->name, "file");
	assert_text(&srv->outcomes[0]->name, "used");
	forefetch__response__free_unpacked(res, NULL);
}

TEST(test_errors)
{
	Forefetch__Response *res = ask(0, "none", false);

	assert_int_equal(
	    res->error->code, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	forefetch__response__free_unpacked(res, NULL);
	/* Names are those of one server. */
	res = ask(0, "", true);
	assert_int_equal(
	    res->error->code, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	forefetch__response__free_unpacked(res, NULL);
}

/* Nothing is configured yet. */
TEST(test_no_server)
{
	Forefetch__Response *res;

	w.servers = 0;
	res = ask(0, "", false);
	assert_int_equal(res->activity->n_servers, 0);
	forefetch__response__free_unpacked(res, NULL);
	res = ask(0, "", true);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	forefetch__response__free_unpacked(res, NULL);
}

TEST(test_most)
{
	Forefetch__Response *res;

	w.rows = PREFETCH_SHOW_MAX;
	res = ask(0, "nas", true);
	assert_int_equal(res->activity->servers[0]->n_ahead, 64);
	assert_int_equal(res->activity->servers[0]->n_outcomes, 64);
	assert_int_equal(res->activity->servers[0]->n_mounts, 64);
	forefetch__response__free_unpacked(res, NULL);
}
