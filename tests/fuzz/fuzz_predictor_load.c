/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes load as nothing or as something that works and saves again, with
 * the checksum and past it.
 */
#include "persist.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
	if (!held)
		abort();
}

static void use(struct predictor *p)
{
	struct prediction out[64];
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .latency_ns = 1000,
	    .actor = 1,
	    .parent = 5,
	    .name_hash = 6};

	for (uint64_t i = 1; i < 64; i++) {
		o.object = i % 20 + 1;
		o.now_ns += 2000;
		predictor_observe(p, &o);
		for (size_t n = predictor_predict(p, out, 64); n > 0; n--)
			check(out[n - 1].p > 0 && out[n - 1].p < 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct predictor_options opt = {.budget_bytes = 1 << 20};
	struct predictor *p = predictor_new(&opt), *q = predictor_new(&opt);
	size_t len;
	void *saved;

	check(p && q);
	predictor_import(p, data, size);
	if (persist_apply(p, data, size) == 0)
		use(p);
	saved = predictor_export(p, &len);
	check(saved != NULL);
	check(predictor_import(q, saved, len) == 0);
	free(saved);
	predictor_free(p);
	predictor_free(q);
	return 0;
}
