/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machines of a farm take over from each other the runs that belong to the
 * user, once, however often they come, and from whatever bytes.
 */
#include "predictor/persist/merge.h"

#include <xxhash.h>

#include "predictor/core/core.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/persist_format.h"
#include "predictor/persist/predictor.pb-c.h"
#include "predictor/persist/trees.h"
#include "predictor/sessions_fixture.h"

enum { FIRST = 100, OTHER = 5000 };

static void *packed(struct predictor *p, uint64_t uid, size_t *len)
{
	struct predictor_snapshot *x = predictor_snapshot_user(p, uid);
	void *data;

	while (!predictor_snapshot_step(x, 3))
		;
	assert_int_equal(predictor_snapshot_error(x), 0);
	data = predictor_snapshot_pack(x, len);
	predictor_snapshot_free(x);
	return data;
}

/* Takes over what `from` knows of Alice; returns how much was new. */
static struct predictor_merge_stats take(
    struct predictor *to, struct predictor *from)
{
	struct predictor_merge_stats st;
	size_t len;
	void *data = packed(from, ALICE, &len);
	struct predictor_merge *m = predictor_merge_new(ALICE, data, len);

	assert_non_null(m);
	free(data);
	while (!predictor_merge_step(m, to, 1))
		;
	assert_int_equal(predictor_merge_error(m), 0);
	predictor_merge_get_stats(m, &st);
	predictor_merge_free(m);
	return st;
}

static void assert_nothing(struct predictor_merge_stats st)
{
	assert_int_equal(st.objects, 0);
	assert_int_equal(st.uses, 0);
	assert_int_equal(st.sessions, 0);
}

/* How many uses of the object the log has, by what is listed as trees. */
static unsigned uses_of(const struct predictor *p, uint64_t object)
{
	uint32_t id = objects_find(p->objects, object), place;
	unsigned n = 0;

	if (id == OBJECT_NONE)
		return 0;
	for (place = objects_at(p->objects, id)->last;
	     place != TRAIL_NONE && trails_holds(p->trails, place, id);
	     place = trails_earlier(p->trails, place))
		n++;
	return n;
}

static unsigned count_of(const struct predictor *p, uint64_t object)
{
	uint32_t id = objects_find(p->objects, object);

	return id == OBJECT_NONE ? 0 : objects_at(p->objects, id)->count;
}

static bool foretells(struct desk *d, uint64_t first, uint64_t then)
{
	struct prediction out[256];
	size_t n;

	desk_call(d, first, PREDICTOR_READ);
	n = predictor_predict(d->p, out, 256);
	for (size_t i = 0; i < n; i++)
		if (out[i].object == then)
			return true;
	return false;
}

/* ---- all of it --------------------------------------------------------- */

/* A machine that has seen nothing knows the other one's trails and sessions. */
TEST(test_fresh)
{
	struct desk *a = desk_taught(FIRST, 60), *b = desk_new();
	struct predictor_merge_stats st = take(b->p, a->p);

	assert_int_equal(st.objects, 60);
	assert_int_equal(st.uses, 180);
	assert_int_equal(st.sessions, 3);
	assert_int_equal(count_of(b->p, FIRST), count_of(a->p, FIRST));
	assert_int_equal(uses_of(b->p, FIRST + 30), 3);
	predictor_mounted(a->p, CLIENT, SPACE);
	predictor_mounted(b->p, CLIENT, SPACE);
	desk_leave(a);
	b->now_ns = a->now_ns;
	desk_use(a, FIRST);
	desk_use(b, FIRST);
	assert_int_equal(desk_look(a), 59);
	assert_int_equal(desk_look(b), 59);
	for (size_t i = 0; i < a->n; i++) {
		const struct prediction *of = told(b, a->got[i].object);

		assert_non_null(of);
		assert_true(of->p == a->got[i].p);
		assert_int_equal(of->needs, a->got[i].needs);
		assert_int_equal(of->read_bytes, a->got[i].read_bytes);
		assert_true(of->parent == a->got[i].parent);
	}
	assert_true(foretells(b, FIRST, FIRST + 1));
}

/* The user has begun to work when it comes: the session gets its plan. */
TEST(test_session_goes_on)
{
	struct desk *a = desk_taught(FIRST, 60), *b = desk_new();

	desk_work(b, FIRST, 12);
	assert_int_equal(desk_look(b), 0);
	take(b->p, a->p);
	desk_use(b, FIRST + 12);
	assert_int_equal(desk_look(b), 47);
	assert_non_null(told(b, FIRST + 59));
	assert_null(told(b, FIRST + 5));
	/* One that is told already goes on as it was. */
	desk_work(b, FIRST + 13, 10);
	desk_work(a, OTHER, 40);
	desk_leave(a);
	take(b->p, a->p);
	desk_use(b, FIRST + 23);
	b->n = 0;
	desk_look(b);
	assert_null(told(b, OTHER + 5));
}

/* Twice is once; and what comes back from a peer is known. */
TEST(test_twice)
{
	struct desk *a = desk_taught(FIRST, 60), *b = desk_taught(OTHER, 50);
	struct predictor_merge_stats st = take(b->p, a->p);

	assert_int_equal(st.objects, 60);
	assert_int_equal(st.uses, 180);
	assert_nothing(take(b->p, a->p));
	st = take(a->p, b->p);
	assert_int_equal(st.objects, 50);
	assert_int_equal(st.uses, 150);
	for (int i = 0; i < 5; i++) {
		assert_nothing(take(a->p, b->p));
		assert_nothing(take(b->p, a->p));
	}
	assert_int_equal(count_of(a->p, FIRST), 3);
	assert_int_equal(count_of(b->p, FIRST), 3);
	assert_int_equal(uses_of(b->p, FIRST), 3);
	assert_int_equal(uses_of(a->p, OTHER), 3);
	assert_true(foretells(a, OTHER, OTHER + 1));
	assert_true(foretells(b, FIRST, FIRST + 1));
}

/* Both have done the same work: the larger number counts, four at most. */
TEST(test_same_work)
{
	struct desk *a = desk_taught(FIRST, 60), *b = desk_new();

	desk_work(b, FIRST, 60);
	desk_leave(b);
	assert_int_equal(take(b->p, a->p).uses, 120);
	assert_int_equal(uses_of(b->p, FIRST), 3);
	assert_int_equal(count_of(b->p, FIRST), 3);
	assert_nothing(take(a->p, b->p));
	for (int i = 0; i < 20; i++) {
		desk_work(a, FIRST, 60);
		desk_leave(a);
	}
	assert_int_equal(take(b->p, a->p).uses, 60);
	assert_int_equal(uses_of(b->p, FIRST), 4);
	assert_int_equal(count_of(b->p, FIRST), 23);
	assert_nothing(take(b->p, a->p));
}

/* A run and a session that go on are not new ones each time. */
TEST(test_grows)
{
	struct desk *a = desk_new(), *b = desk_new(), *c = desk_new();

	for (unsigned n = 0; n < 200; n += 20) {
		desk_work(a, FIRST + n, 20);
		assert_int_equal(take(b->p, a->p).uses, 20);
		assert_nothing(take(b->p, a->p));
		assert_nothing(take(a->p, b->p));
		take(c->p, n % 40 ? a->p : b->p);
	}
	for (unsigned n = 0; n < 200; n++) {
		assert_int_equal(uses_of(b->p, FIRST + n), 1);
		assert_int_equal(uses_of(c->p, FIRST + n), 1);
	}
	assert_int_equal(sessions_book(b->p->sessions, 0)->n, 1);
	assert_int_equal(sessions_book(b->p->sessions, 0)->kept[0].n, 200);
	assert_int_equal(sessions_book(c->p->sessions, 0)->n, 1);
	/* It goes on where it is taken over, too, in a run of its own. */
	desk_work(b, FIRST, 30);
	assert_int_equal(uses_of(b->p, FIRST), 2);
}

/* The log of the machine that takes over goes on meanwhile. */
TEST(test_learns_meanwhile)
{
	struct desk *a = desk_taught(FIRST, 200), *b = desk_new();
	struct predictor_merge *m;
	uint64_t next = OTHER;
	size_t len;
	FREED void *data = packed(a->p, ALICE, &len);

	m = predictor_merge_new(ALICE, data, len);
	assert_non_null(m);
	while (!predictor_merge_step(m, b->p, 1))
		desk_use(b, next++);
	assert_int_equal(predictor_merge_error(m), 0);
	predictor_merge_free(m);
	assert_true(next > OTHER + 20);
	assert_int_equal(uses_of(b->p, FIRST + 150), 3);
	assert_int_equal(uses_of(b->p, OTHER + 10), 1);
	desk_leave(b);
	assert_true(foretells(b, FIRST, FIRST + 1));
	/* Forgotten in the middle: it ends. */
	m = predictor_merge_new(ALICE, data, len);
	assert_false(predictor_merge_step(m, b->p, 2));
	assert_int_equal(predictor_clear(b->p), 0);
	assert_true(predictor_merge_step(m, b->p, 2));
	assert_int_equal(predictor_merge_error(m), -ESTALE);
	predictor_merge_free(m);
}

/* ---- whose it is ------------------------------------------------------- */

/* The message has 60 objects of hers, and nothing of anybody else. */
static void assert_of_alice(const unsigned char *data, size_t len)
{
	Forefetch__TreeFile *f = forefetch__tree_file__unpack(
	    NULL, len - HEADER_BYTES, data + HEADER_BYTES);

	assert_non_null(f);
	assert_int_equal(f->n_object_key, 60);
	for (size_t i = 0; i < f->n_object_key; i++)
		assert_true(f->object_key[i] < OTHER);
	for (size_t i = 0; i < f->n_session_uid; i++)
		assert_int_equal(f->session_uid[i], ALICE);
	for (size_t i = 0; i < f->n_uid; i++)
		assert_int_not_equal(f->uid[i], BOB);
	forefetch__tree_file__free_unpacked(f, NULL);
}

/* Alice's snapshot has nothing of Bob's, and Bob gets nothing of it. */
TEST(test_walls)
{
	struct desk *a = desk_taught(FIRST, 60), *b = desk_new();
	size_t len;
	unsigned char *data;

	a->uid = BOB;
	desk_work(a, OTHER, 40);
	desk_leave(a);
	desk_work(a, OTHER, 40);
	data = AFTER(free, packed(a->p, ALICE, &len));
	assert_of_alice(data, len);
	assert_int_equal(predictor_merge_user(b->p, BOB, data, len), 0);
	assert_int_equal(b->p->wall.n, 0);
	assert_int_equal(uses_of(b->p, FIRST), 0);
	assert_int_equal(predictor_merge_user(b->p, ALICE, data, len), 0);
	b->uid = BOB;
	assert_false(foretells(b, FIRST, FIRST + 1));
	/* Nor does Alice, of a file that has both. */
	b = desk_new();
	data = AFTER(free, predictor_export(a->p, &len));
	assert_int_equal(predictor_merge_user(b->p, ALICE, data, len), 0);
	assert_int_equal(uses_of(b->p, FIRST), 3);
	assert_int_equal(objects_find(b->p->objects, OTHER), OBJECT_NONE);
	assert_int_equal(wall_find(&b->p->wall, BOB), 0);
	assert_null(predictor_snapshot_user(b->p, BOB));
	assert_int_equal(errno, ENOENT);
}

/* How many keys a snapshot has, of what is absent or of the rest. */
static size_t count_keys(
    const struct predictor_snapshot *x, bool absent, uint64_t below)
{
	size_t at = 0, n = 0, got;
	uint64_t keys[7];

	while ((got = predictor_snapshot_keys(x, &at, absent, keys, 7)) > 0)
		for (size_t i = 0; i < got; i++, n++)
			assert_true(keys[i] < below);
	return n;
}

/* The keys of a snapshot: those of 60 objects and 3 directories; and of a name
 * that is absent. */
TEST(test_keys)
{
	struct desk *a = desk_taught(FIRST, 60);
	struct predictor_snapshot *x;
	size_t len;

	desk_work(a, FIRST, 30);
	desk_call(a, 77777, PREDICTOR_ABSENT);
	desk_work(a, FIRST + 30, 30);
	desk_leave(a);
	x = predictor_snapshot_user(a->p, ALICE);
	while (!predictor_snapshot_step(x, 64))
		;
	free(predictor_snapshot_pack(x, &len));
	assert_int_equal(count_keys(x, false, FIRST + 60), 63);
	assert_int_equal(count_keys(x, true, 77778), 1);
	predictor_snapshot_free(x);
}

/* ---- what is known here stays ------------------------------------------ */

TEST(test_known_stays)
{
	struct desk *a = desk_taught(FIRST, 60), *b = desk_new();
	struct predictor_obs o = {.kind = PREDICTOR_LOOKUP,
	    .now_ns = SECOND,
	    .actor = 99,
	    .uid = ALICE,
	    .object = 77777,
	    .parent = 1 + 110 % 3,
	    .name_hash = 110 * 31,
	    .size_bytes = 12};
	uint32_t id;

	/* A name that has another handle here keeps it. */
	predictor_observe(b->p, &o);
	take(b->p, a->p);
	assert_int_equal(objects_find(b->p->objects, 110), OBJECT_NONE);
	id = objects_find(b->p->objects, 77777);
	assert_int_not_equal(id, OBJECT_NONE);
	assert_int_equal(objects_at(b->p->objects, id)->size, 12);
	assert_int_equal(uses_of(b->p, 77777), 4);
	assert_nothing(take(b->p, a->p));
	/* An object that is gone does not come back, nor do the runs that had
	 * it. */
	predictor_forget(b->p, FIRST + 5);
	assert_nothing(take(b->p, a->p));
	assert_int_equal(objects_find(b->p->objects, FIRST + 5), OBJECT_NONE);
}

/* ---- bytes that are not what they should be ---------------------------- */

static int merged(struct predictor *p, Forefetch__TreeFile *f)
{
	size_t n = forefetch__tree_file__get_packed_size(f);
	unsigned char *data = malloc(HEADER_BYTES + n);
	struct persist_header h = {.version = PERSIST_VERSION};
	int rc;

	memcpy(h.magic, PERSIST_MAGIC, sizeof(h.magic));
	forefetch__tree_file__pack(f, data + HEADER_BYTES);
	h.checksum =
	    XXH3_64bits_withSeed(data + HEADER_BYTES, n, PERSIST_VERSION);
	memcpy(data, &h, sizeof(h));
	rc = predictor_merge_user(p, ALICE, data, HEADER_BYTES + n);
	free(data);
	return rc;
}

/* Each number of the message is replaced by others, one at a time; whatever
 * comes of it, the sanitizers find nothing, and the next merge is well. */
TEST(test_wild)
{
	static const uint32_t wild[] = {0, 1, 2, 61, 63, 4096, UINT32_MAX};
	struct desk *a = desk_taught(FIRST, 60), *b = desk_new();
	Forefetch__TreeFile *f;
	size_t len;
	FREED unsigned char *data = packed(a->p, ALICE, &len);

	f = forefetch__tree_file__unpack(
	    NULL, len - HEADER_BYTES, data + HEADER_BYTES);
	for (size_t k = 0; k < LENGTH(wild); k++) {
		uint32_t *columns[] = {f->dir_parent, f->dir_name,
		    f->object_dir, f->object_name, f->object_flags, f->trail,
		    f->trail_owner, f->session, f->session_needs, f->dir_known,
		    f->object_known, f->trail_needs};
		size_t n[] = {f->n_dir_parent, f->n_dir_name, f->n_object_dir,
		    f->n_object_name, f->n_object_flags, f->n_trail,
		    f->n_trail_owner, f->n_session, f->n_session_needs,
		    f->n_dir_known, f->n_object_known, f->n_trail_needs};

		for (size_t c = 0; c < LENGTH(n); c++)
			for (size_t i = 0; i < n[c]; i += n[c] / 7 + 1) {
				uint32_t was = columns[c][i];
				int rc;

				columns[c][i] = wild[k];
				rc = merged(b->p, f);
				assert_true(rc == 0 || rc == -EBADMSG);
				columns[c][i] = was;
			}
	}
	forefetch__tree_file__free_unpacked(f, NULL);
	assert_int_equal(predictor_merge_user(b->p, ALICE, data, len), 0);
	assert_true(foretells(b, FIRST, FIRST + 1));
}

TEST(test_damaged)
{
	struct desk *a = desk_taught(FIRST, 20), *b = desk_new();
	size_t len;
	unsigned char *data = AFTER(free, packed(a->p, ALICE, &len));
	struct persist_header h;

	for (size_t cut = 0; cut < len; cut++) {
		FREED unsigned char *part = malloc(cut + 1);

		memcpy(part, data, cut);
		assert_int_equal(
		    predictor_merge_user(b->p, ALICE, part, cut), -EBADMSG);
	}
	for (size_t i = 0; i < len; i++) {
		data[i] ^= 0x20;
		assert_true(predictor_merge_user(b->p, ALICE, data, len) < 0);
		data[i] ^= 0x20;
	}
	memcpy(&h, data, sizeof(h));
	h.version = PERSIST_VERSION + 1;
	h.checksum = XXH3_64bits_withSeed(
	    data + HEADER_BYTES, len - HEADER_BYTES, h.version);
	memcpy(data, &h, sizeof(h));
	assert_int_equal(
	    predictor_merge_user(b->p, ALICE, data, len), -EPROTONOSUPPORT);
	data = AFTER(free, predictor_export_trees(a->p, ALICE, &len));
	assert_int_equal(
	    predictor_merge_user(b->p, ALICE, data, len), -EBADMSG);
	assert_int_equal(objects_count(b->p->objects), 0);
}

/* Few bytes that stand for much memory are not unpacked. */
TEST(test_bomb)
{
	enum { FIELD_ORDER_PIECES = 32, PIECES = 6 << 20 };
	size_t len = HEADER_BYTES + PIECES * 3;
	FREED unsigned char *data = calloc(1, len);
	struct persist_header h = {.version = PERSIST_VERSION};
	struct desk *b = desk_new();

	/* A field of bytes, empty. */
	for (size_t i = HEADER_BYTES; i < len; i += 3) {
		data[i] = ((FIELD_ORDER_PIECES << 3 | 2) & 0x7f) | 0x80;
		data[i + 1] = FIELD_ORDER_PIECES << 3 >> 7;
	}
	for (int cut = 0; cut < 2; cut++) {
		memcpy(h.magic, PERSIST_MAGIC, sizeof(h.magic));
		h.checksum = XXH3_64bits_withSeed(
		    data + HEADER_BYTES, len - HEADER_BYTES, PERSIST_VERSION);
		memcpy(data, &h, sizeof(h));
		assert_int_equal(predictor_merge_user(b->p, ALICE, data, len),
		    cut ? -EBADMSG : -EFBIG);
		len = HEADER_BYTES + PIECES / 2 * 3;
	}
}

/* More than there is room for: the newest of it, and not the others' share. */
TEST(test_too_much)
{
	struct predictor_options small = {.budget_bytes = 1 << 20};
	struct predictor *q = AFTER(predictor_free, predictor_new(&small));
	struct desk *a = desk_new();

	for (unsigned i = 0; i < 40; i++) {
		desk_work(a, FIRST + i * 100, 100);
		desk_leave(a);
	}
	take(q, a->p);
	assert_true(uses_of(q, FIRST + 3950) == 1);
	assert_true(uses_of(q, FIRST) == 0);
	assert_true(objects_count(q->objects) <= objects_limit(q->objects));
}

/* Two machines that have learned more than they have room for: none drives out
 * what the other has just learned, again and again. */
TEST(test_full)
{
	struct predictor_options small = {.budget_bytes = 1 << 20};
	struct desk *d[2] = {desk_new(), desk_new()};
	size_t most;

	for (int i = 0; i < 2; i++) {
		predictor_free(d[i]->p);
		d[i]->p = predictor_new(&small);
		predictor_set_sessions(d[i]->p, PAUSE, TIME);
		for (unsigned k = 0; k < 400; k++) {
			desk_work(d[i],
			    FIRST + (unsigned)i * OTHER + k % 40 * 60, 60);
			desk_leave(d[i]);
		}
		assert_true(objects_full(d[i]->p->objects));
		assert_true(trails_full(d[i]->p->trails));
	}
	most = trails_limit(d[0]->p->trails) / 16;
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 2; i++)
			assert_true(take(d[i]->p, d[!i]->p).uses <= most);
	/* The latest work is still there, whole. */
	for (unsigned i = 0; i < 60; i++)
		assert_true(uses_of(d[0]->p, FIRST + 39 * 60 + i) > 0);
}

/* A run that loses objects does not become another run. */
TEST(test_full_lost)
{
	struct predictor_options small = {.budget_bytes = 1 << 20};
	struct desk *d[2] = {desk_new(), desk_new()};

	for (int i = 0; i < 2; i++) {
		predictor_free(d[i]->p);
		d[i]->p = predictor_new(&small);
	}
	desk_work(d[0], FIRST, 200);
	take(d[1]->p, d[0]->p);
	for (unsigned i = 0; i < 40; i++)
		objects_drop(d[1]->p->objects,
		    objects_find(d[1]->p->objects, FIRST + 5 * i));
	desk_work(d[1], OTHER,
	    (unsigned)(objects_limit(d[1]->p->objects) -
		       objects_count(d[1]->p->objects)));
	assert_true(objects_full(d[1]->p->objects));
	assert_int_equal(take(d[1]->p, d[0]->p).uses, 0);
}
