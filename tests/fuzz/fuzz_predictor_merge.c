/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes of a peer, past their checksum: what they say of the user is taken
 * or refused, once more as well, and what there is then works, goes out to
 * others and can be forgotten; nobody else's changes.
 */
#include "predictor/persist/merge.h"

#include <xxhash.h>

#include "predictor/persist/persist.h"
#include "predictor/persist/persist_format.h"
#include "predictor/persist/trees.h"
#include "fuzz.h"

enum { USER = 1, OTHER = 2 };

static void use(struct predictor *p, uint64_t uid)
{
	struct prediction out[64];
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .latency_ns = 1000,
	    .actor = uid,
	    .uid = uid,
	    .client = 1,
	    .space = 1,
	    .parent = 5};

	predictor_set_sessions(p, 1000, 1000000000);
	for (uint64_t i = 1; i < 48; i++) {
		o.object = i % 20 + 1 + uid * 1000;
		o.name_hash = o.object;
		o.now_ns += 2000;
		predictor_observe(p, &o);
		for (size_t n = predictor_predict(p, out, 64); n > 0; n--)
			MUST(out[n - 1].p > 0 && out[n - 1].p < 1);
		for (size_t n = predictor_replay(
			 p, predictor_session(p), o.now_ns, out, 64);
		     n > 0; n--)
			MUST(out[n - 1].p > 0 && out[n - 1].p < 1);
	}
}

static void merge(struct predictor *p, const void *data, size_t len)
{
	struct predictor_merge *m = predictor_merge_new(USER, data, len);

	while (m && !predictor_merge_step(m, p, 1))
		;
	predictor_merge_free(m);
}

/* Predictor `p` exports all that it knows now of the user, and `q` takes it in.
 */
static void hand_on(struct predictor *p, struct predictor *q)
{
	struct predictor_snapshot *x = predictor_snapshot_user(p, USER);
	uint64_t keys[16];
	size_t len, at = 0;
	void *data;

	if (!x)
		return;
	while (!predictor_snapshot_step(x, 1))
		;
	data = predictor_snapshot_pack(x, &len);
	MUST(data != NULL);
	while (predictor_snapshot_keys(x, &at, false, keys, 16) > 0)
		;
	MUST(predictor_merge_user(q, USER, data, len) == 0);
	predictor_snapshot_free(x);
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct predictor_options opt = {.budget_bytes = 1 << 20};
	struct predictor *p = predictor_new(&opt), *q = predictor_new(&opt);
	struct persist_header h = {.version = PERSIST_VERSION,
	    .checksum = XXH3_64bits_withSeed(data, size, PERSIST_VERSION)};
	uint8_t *all = malloc(sizeof(h) + size);
	struct predictor_tree t;

	MUST(p && q && all);
	memcpy(h.magic, PERSIST_MAGIC, sizeof(h.magic));
	memcpy(all, &h, sizeof(h));
	if (size > 0)
		memcpy(all + sizeof(h), data, size);
	use(p, OTHER);
	use(p, USER);
	merge(p, all, sizeof(h) + size);
	use(p, USER);
	merge(p, all, sizeof(h) + size);
	hand_on(p, q);
	use(q, USER);
	MUST(predictor_trees(p, OTHER, &t, 1) >= 1);
	MUST(predictor_trees(q, OTHER, &t, 1) == 0);
	(void)predictor_clear_uid(p, USER);
	use(p, OTHER);
	free(all);
	predictor_free(p);
	predictor_free(q);
	return 0;
}
