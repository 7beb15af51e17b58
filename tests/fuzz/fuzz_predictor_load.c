/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes load as nothing or as something that works and saves again, with
 * the checksum and past it; as trees of a user too, which are then shown,
 * carried on and forgotten.
 */
#include "predictor/persist/persist.h"

#include "predictor/persist/trees.h"
#include "predictor/tree_text.h"
#include "fuzz.h"

static void use(struct predictor *p)
{
	struct prediction out[64];
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .latency_ns = 1000,
	    .actor = 1,
	    .uid = 1,
	    .client = 1,
	    .space = 1,
	    .parent = 5,
	    .name_hash = 6};

	predictor_set_sessions(p, 1000, 1000000000);
	for (uint64_t i = 1; i < 64; i++) {
		o.object = i % 20 + 1;
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

/* The same with the field that says that it is portable behind it. */
static void apply_trees(struct predictor *p, const uint8_t *data, size_t size)
{
	static const uint8_t portable[] = {0xc8, 1, 1};
	uint8_t *all = malloc(size + sizeof(portable));

	MUST(all != NULL);
	if (size > 0)
		memcpy(all, data, size);
	memcpy(all + size, portable, sizeof(portable));
	persist_apply(p, true, 7, all, size + sizeof(portable));
	free(all);
}

static void use_trees(struct predictor *p)
{
	struct predictor_tree t[16];
	ssize_t n = predictor_trees(p, TREES_ALL, t, 16);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	MUST(n >= 0 && out);
	for (ssize_t i = 0; i < n && i < 16; i++)
		MUST(show_tree(p, t[i].uid, t[i].id, out, NULL, NULL) == 0);
	fclose(out);
	free(text);
	for (ssize_t i = 0; i < n && i < 4; i++)
		predictor_clear_tree(p, t[i].uid, t[i].id);
	predictor_clear_uid(p, 7);
	MUST(predictor_trees(p, 7, t, 16) == 0);
}

static void carry(struct predictor *p, struct predictor *q)
{
	size_t len;
	void *data = predictor_export_trees(p, TREES_ALL, &len);

	MUST(data != NULL);
	MUST(predictor_import_trees(q, TREES_ALL, data, len) == 0);
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct predictor_options opt = {.budget_bytes = 1 << 20};
	struct predictor *p = predictor_new(&opt), *q = predictor_new(&opt);
	size_t len;
	void *saved;

	MUST(p && q);
	predictor_import(p, data, size);
	if (persist_apply(p, false, TREES_ALL, data, size) == 0)
		use(p);
	apply_trees(p, data, size);
	use(p);
	carry(p, q);
	use_trees(p);
	use(p);
	saved = predictor_export(p, &len);
	MUST(saved != NULL);
	MUST(predictor_import(q, saved, len) == 0);
	free(saved);
	predictor_free(p);
	predictor_free(q);
	return 0;
}
