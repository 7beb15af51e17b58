/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every command that takes several turns of the loop, with servers that come,
 * leave, are replaced and change their order between any two of these. A server
 * that has left is freed, so that AddressSanitizer sees who still uses it.
 */
#include <errno.h>
#include "unittest.h"
#include "base/iopool.h"
#include "cache/caches.h"
#include "control/control.h"
#include "control/control_activity.h"
#include "control/control_modules.h"
#include "control/control_reply.h"
#include "control/control_turns.h"
#include "datacache/datacache.h"
#include "explain/objnames.h"
#include "predictor/persist/trees.h"

enum { SERVERS_MAX = 8, STEPS = 3 };

/* All modules of a server are this. */
struct fake {
	const char *name;
	uint64_t serial;
	struct predictor *predictor;
};

static struct {
	struct fake *list[SERVERS_MAX];
	size_t n;
	uint64_t made;
	struct iopool_job *job; /* a thread has it */
	unsigned named;
	void *file; /* trees that were exported */
	size_t file_len;
} w;

/* ---- the servers ------------------------------------------------------ */

/* A program of the user, of as many files as the server's number says. */
static void learn(struct fake *f)
{
	struct predictor_obs obs = {.kind = PREDICTOR_READ,
	    .actor = 1,
	    .parent = 100,
	    .now_ns = 1000000000,
	    .count_bytes = 4096};

	for (unsigned run = 0; run < 3; run++)
		for (unsigned i = 0; i < 4 + f->serial; i++) {
			obs.object = 200 + i;
			obs.name_hash = 300 + i;
			obs.exec = i == 0;
			obs.now_ns += i ? 1000000 : UINT64_C(60000000000);
			predictor_observe(f->predictor, &obs);
		}
}

static struct fake *fake_new(const char *name)
{
	const struct predictor_options po = {.budget_bytes = 2 << 20};
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->name = name;
	f->serial = ++w.made;
	f->predictor = predictor_new(&po);
	assert_non_null(f->predictor);
	learn(f);
	return f;
}

static void fake_free(struct fake *f)
{
	predictor_free(f->predictor);
	free(f);
}

static void insert(size_t at, const char *name)
{
	memmove(&w.list[at + 1], &w.list[at], (w.n - at) * sizeof(w.list[0]));
	w.list[at] = fake_new(name);
	w.n++;
}

static struct fake *take(size_t at)
{
	struct fake *f = w.list[at];

	w.n--;
	memmove(&w.list[at], &w.list[at + 1], (w.n - at) * sizeof(w.list[0]));
	return f;
}

static size_t find(const char *name)
{
	size_t i = 0;

	while (i < w.n && strcmp(w.list[i]->name, name) != 0)
		i++;
	return i;
}

/* ---- what becomes of them --------------------------------------------- */

enum change { COMES_FIRST, COMES_LAST, LEAVES, OTHER_LEAVES, REPLACED, SWAP };
enum { CHANGES = SWAP + 1 };

/* As the daemon does it: it tells what the list is now, and only then frees. */
static void change(enum change what, struct control_session *session)
{
	struct fake *gone = NULL, *first = w.list[0];

	switch (what) {
	case COMES_FIRST:
		insert(0, "new");
		break;
	case COMES_LAST:
		insert(w.n, "new");
		break;
	case LEAVES:
		gone = take(find("b"));
		break;
	case OTHER_LEAVES:
		gone = take(0);
		break;
	case REPLACED:
		gone = take(find("b"));
		insert(1, "b");
		break;
	case SWAP:
		w.list[0] = w.list[1];
		w.list[1] = first;
	}
	(void)control_reply_restart(session);
	if (gone)
		fake_free(gone);
}

/* ---- the daemon and the modules --------------------------------------- */

static bool find_server(void *ctx, size_t i, struct control_server *out)
{
	void *f = i < w.n ? w.list[i] : NULL;

	(void)ctx;
	if (f)
		*out = (struct control_server){.name = w.list[i]->name,
		    .serial = w.list[i]->serial,
		    .caches = f,
		    .pins = f,
		    .prefetch = f};
	return f != NULL;
}

static void fill_activity(void *ctx, size_t i, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out)
{
	(void)ctx;
	(void)uid;
	assert_true(i < w.n);
	out->calls = arena_messages(a, &forefetch__client_call__descriptor, 1);
	out->n_calls = 1;
	out->calls[0]->procedure = "READ";
	out->calls[0]->object = w.list[i]->serial;
}

static void submit(void *ctx, struct iopool_job *job)
{
	(void)ctx;
	assert_null(w.job);
	w.job = job;
}

static const struct control_ops ops = {
    .server = find_server, .fill_activity = fill_activity, .submit = submit};

void __wrap_prefetch_edited(struct prefetch *pf);

void __wrap_prefetch_edited(struct prefetch *pf)
{
	(void)pf;
}

bool __wrap_prefetch_loads(const struct prefetch *pf)
{
	(void)pf;
	return false;
}

int __wrap_prefetch_clear(struct prefetch *pf)
{
	return predictor_clear(((struct fake *)pf)->predictor);
}

bool __wrap_pins_sizes_step(
    struct pins *ps, struct datacache_pin_walk *sizes, size_t n)
{
	const struct fake *f = (const struct fake *)ps;

	(void)n;
	if (sizes->at == 0)
		sizes->room = f->serial;
	/* It is of this server. */
	assert_int_equal(sizes->room, f->serial);
	sizes->pins[0].files += f->serial;
	return ++sizes->at == STEPS;
}

bool __wrap_pins_get(struct pins *ps, unsigned id,
    const struct datacache_pin_walk *sizes, struct pins_info *out)
{
	assert_true(((const struct fake *)ps)->serial > 0);
	*out = (struct pins_info){.export = "/e",
	    .path = "",
	    .files = sizes ? sizes->pins[0].files : 0};
	return id == 0;
}

void __wrap_pins_room(struct pins *ps, uint64_t *bytes, uint64_t *limit_bytes)
{
	*bytes = *limit_bytes = ((const struct fake *)ps)->serial;
}

size_t __wrap_prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted)
{
	(void)uid;
	(void)now_us;
	(void)rows;
	*omitted = ((const struct fake *)pf)->serial;
	return 0;
}

size_t __wrap_prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX])
{
	(void)pf;
	(void)uid;
	(void)now_us;
	(void)rows;
	return 0;
}

size_t __wrap_mountuse_list(
    struct caches *c, struct mountuse rows[MOUNTUSE_MAX])
{
	(void)c;
	(void)rows;
	return 0;
}

struct predictor *__wrap_prefetch_predictor(struct prefetch *pf)
{
	return ((struct fake *)pf)->predictor;
}

/* Each object is called by the first letter of its server. */
bool __wrap_objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps)
{
	uint64_t object;

	(void)user;
	(void)now_us;
	(void)steps;
	for (size_t i = 0; objnames_at(on, i, &object); i++)
		objnames_set(on, object, ((struct fake *)c)->name, 1);
	return ++w.named % STEPS == 0;
}

/* ---- commands --------------------------------------------------------- */

struct command {
	const char *name;
	const char *server; /* "": all */
	Forefetch__Request__CommandCase command;
	bool names;                    /* activity */
	Forefetch__TreesAction action; /* trees */
};

static const struct command commands[] = {
    {"pins", "", FOREFETCH__REQUEST__COMMAND_PIN, false, 0},
    {"pins of one", "b", FOREFETCH__REQUEST__COMMAND_PIN, false, 0},
    {"activity", "", FOREFETCH__REQUEST__COMMAND_ACTIVITY, false, 0},
    {"activity with names", "b", FOREFETCH__REQUEST__COMMAND_ACTIVITY, true, 0},
    {"trees list", "b", FOREFETCH__REQUEST__COMMAND_TREES, false,
	FOREFETCH__TREES_ACTION__LIST},
    {"trees show", "b", FOREFETCH__REQUEST__COMMAND_TREES, false,
	FOREFETCH__TREES_ACTION__SHOW},
    {"trees export", "b", FOREFETCH__REQUEST__COMMAND_TREES, false,
	FOREFETCH__TREES_ACTION__EXPORT},
    {"trees merge", "b", FOREFETCH__REQUEST__COMMAND_TREES, false,
	FOREFETCH__TREES_ACTION__MERGE},
    {"trees clear", "b", FOREFETCH__REQUEST__COMMAND_TREES, false,
	FOREFETCH__TREES_ACTION__CLEAR},
};

static size_t request_of(const struct command *c, uint64_t tree, uint8_t *buf)
{
	Forefetch__ActivityRequest activity = FOREFETCH__ACTIVITY_REQUEST__INIT;
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__PinRequest pin = FOREFETCH__PIN_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	const ProtobufCBinaryData server = {
	    .len = strlen(c->server), .data = (uint8_t *)c->server};

	activity.server = trees.server = pin.server = server;
	activity.names = c->names;
	trees.action = c->action;
	trees.id = tree;
	if (c->action == FOREFETCH__TREES_ACTION__MERGE)
		trees.data =
		    (ProtobufCBinaryData){.len = w.file_len, .data = w.file};
	request.version = CONTROL_VERSION;
	request.command_case = c->command;
	if (c->command == FOREFETCH__REQUEST__COMMAND_PIN)
		request.pin = &pin;
	else if (c->command == FOREFETCH__REQUEST__COMMAND_ACTIVITY)
		request.activity = &activity;
	else
		request.trees = &trees;
	return forefetch__request__pack(&request, buf);
}

static void run_job(void)
{
	struct iopool_job *job = w.job;

	w.job = NULL;
	if (!job)
		return;
	job->run(job);
	job->done(job);
}

/* The answer where the servers change after `turns` turns; NULL where it was
 * there before. */
static Forefetch__Response *ask(
    const struct command *c, enum change what, unsigned turns)
{
	const struct control_peer peer = {.uid = 0};
	struct control_session session = {.may_work = true, .may_carry = true};
	struct predictor_tree tree = {0};
	Forefetch__Response *res = NULL;
	static uint8_t buf[1 << 16];
	uint8_t *out = NULL;
	size_t len, out_len;
	int rc = -EAGAIN;

	(void)predictor_trees(
	    w.list[find("b")]->predictor, TREES_ALL, &tree, 1);
	w.file = predictor_export_trees(
	    w.list[find("b")]->predictor, TREES_ALL, &w.file_len);
	assert_true(w.file && w.file_len < sizeof(buf) / 2);
	len = request_of(c, tree.id, buf);
	free(w.file);
	for (unsigned i = 0; rc == -EAGAIN; i++) {
		if (i == turns)
			change(what, &session);
		/* The thread is slow. */
		if (i % 2 == 1)
			run_job();
		rc = control_reply_build(
		    buf, len, &peer, &session, &ops, NULL, &out, &out_len);
		if (rc == 0 && i >= turns)
			res = forefetch__response__unpack(NULL, out_len, out);
	}
	assert_int_equal(rc, 0);
	assert_null(session.work);
	control_reply_forget(&session);
	run_job();
	free(out);
	return res;
}

/* ---- what it must say ------------------------------------------------- */

static void expect_pins(const struct command *c, const Forefetch__Pins *pins)
{
	uint64_t room = 0;
	size_t n = 0;

	for (size_t i = 0; i < w.n; i++) {
		if (*c->server && strcmp(w.list[i]->name, c->server) != 0)
			continue;
		assert_true(n < pins->n_pins);
		assert_memory_equal(pins->pins[n]->server.data, w.list[i]->name,
		    pins->pins[n]->server.len);
		assert_int_equal(
		    pins->pins[n]->files, STEPS * w.list[i]->serial);
		room += w.list[i]->serial;
		n++;
	}
	assert_int_equal(pins->n_pins, n);
	assert_int_equal(pins->limit_bytes, room);
}

static void expect_activity(
    const struct command *c, const Forefetch__Activity *activity)
{
	size_t n = 0;

	for (size_t i = 0; i < w.n; i++) {
		const Forefetch__ServerActivity *srv;

		if (*c->server && strcmp(w.list[i]->name, c->server) != 0)
			continue;
		assert_true(n < activity->n_servers);
		srv = activity->servers[n++];
		assert_memory_equal(
		    srv->name.data, w.list[i]->name, srv->name.len);
		assert_int_equal(srv->ahead_omitted, w.list[i]->serial);
		assert_int_equal(srv->calls[0]->object, w.list[i]->serial);
		assert_int_equal(srv->calls[0]->name.len, c->names);
	}
	assert_int_equal(activity->n_servers, n);
}

static void expect_trees(const struct command *c, const Forefetch__Trees *trees)
{
	const struct predictor *p = w.list[find("b")]->predictor;
	struct predictor_tree tree;
	size_t len;
	void *data;

	assert_true(predictor_trees(p, TREES_ALL, &tree, 1) > 0);
	if (c->action == FOREFETCH__TREES_ACTION__LIST) {
		assert_int_equal(trees->list->trees[0]->objects, tree.objects);
	} else if (c->action == FOREFETCH__TREES_ACTION__SHOW) {
		assert_int_equal(trees->shown->text.data[0], 'b');
	} else {
		data = predictor_export_trees(p, TREES_ALL, &len);
		assert_int_equal(trees->data.len, len);
		assert_memory_equal(trees->data.data, data, len);
		free(data);
	}
}

static bool is_edit(const struct command *c)
{
	return c->action == FOREFETCH__TREES_ACTION__MERGE ||
	       c->action == FOREFETCH__TREES_ACTION__CLEAR;
}

static void expect(const struct command *c, const Forefetch__Response *res)
{
	if (*c->server && find(c->server) == w.n) {
		assert_int_equal(
		    res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
		assert_int_equal(
		    res->error->code, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	} else if (is_edit(c) &&
		   res->result_case == FOREFETCH__RESPONSE__RESULT_ERROR) {
		/* It is not done twice, nor said to be damaged or not there. */
		assert_non_null(strstr(res->error->text, "servers changed"));
	} else if (is_edit(c)) {
		assert_int_equal(
		    res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	} else if (c->command == FOREFETCH__REQUEST__COMMAND_PIN) {
		assert_non_null(res->pins);
		expect_pins(c, res->pins);
	} else if (c->command == FOREFETCH__REQUEST__COMMAND_ACTIVITY) {
		assert_non_null(res->activity);
		expect_activity(c, res->activity);
	} else {
		assert_int_equal(
		    res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
		expect_trees(c, res->trees);
	}
}

static void set_servers(void)
{
	memset(&w, 0, sizeof(w));
	insert(0, "a");
	insert(1, "b");
	insert(2, "c");
}

static void drop_servers(void)
{
	while (w.n > 0)
		fake_free(take(0));
}

TEST(test_servers_change_between_turns)
{
	Forefetch__Response *res;
	unsigned turns;

	for (size_t i = 0; i < LENGTH(commands); i++)
		for (int what = 0; what < CHANGES; what++) {
			for (turns = 1;; turns++) {
				set_servers();
				res =
				    ask(&commands[i], (enum change)what, turns);
				if (!res)
					break;
				expect(&commands[i], res);
				forefetch__response__free_unpacked(res, NULL);
				drop_servers();
			}
			drop_servers();
			if (turns < 2)
				fail_msg("%s takes one turn", commands[i].name);
		}
}
