/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes may be data of a file, in any pieces, and names of a directory.
 * Work ends, and what is told is of what was listed.
 */
#include "predictor/mention/mention.h"
#include "fuzz.h"

enum { DIRS = 8, NAMES = 64, STEPS_MAX = 100000 };

static struct tokens tokens;

static bool may_search(void *ctx, uint32_t cred, uint64_t dir)
{
	(void)ctx;
	return (cred + dir) % 7 != 0;
}

/* Names between bytes below 0x20; every fourth one is a directory. */
static void list(struct mention *m, uint64_t dir, const char *at, size_t len)
{
	struct nameindex_name names[NAMES];
	size_t n = 0, from = 0;

	for (size_t i = 0; i < len && n < NAMES; i++) {
		if ((unsigned char)at[i] >= 0x20)
			continue;
		if (i > from && i - from < 256) {
			names[n] = (struct nameindex_name){
			    .object = n % 4 == 3 ? 1 + n % DIRS : dir * 100 + n,
			    .size_bytes = (uint32_t)len,
			    .directory = n % 4 == 3};
			nameindex_fill(&names[n], at + from, i - from);
			n++;
		}
		from = i + 1;
	}
	mention_listed(m, dir, names, n, dir);
}

static void work(struct mention *m, uint64_t now_ns)
{
	struct mention_want wants[16];

	for (int i = 0; mention_has_work(m); i++) {
		size_t n = mention_step(m, now_ns, wants, 16);

		MUST(n <= 16 && i < STEPS_MAX);
		for (size_t k = 0; k < n; k++) {
			MUST(wants[k].pred.p > 0 && wants[k].pred.p < 1);
			if (k % 2)
				mention_accepted(m, wants[k].pred.object);
			else
				mention_refused(m, wants[k].pred.object);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mention_params p = {
	    .memory_bytes = 16384, .may_search = may_search};
	struct mention *m = mention_new(&p);
	uint64_t now_ns = 1;

	for (size_t i = 0; m && i + 4 < size; i += 4 + data[i + 3]) {
		size_t len = size - i - 4;
		struct predictor_obs o = {.kind = data[i] % PREDICTOR_KINDS,
		    .object = data[i + 1] * 100u + data[i + 2] + 1,
		    .parent = data[i + 1] % DIRS + 1,
		    .name_hash = data[i + 2],
		    .count_bytes = 100};
		struct mention_data d = {.object = o.object,
		    .version = data[i + 2] % 2,
		    .len = (uint32_t)len,
		    .cred = data[i + 2] % 3 + 1,
		    .p = data[i + 2] % 2 ? 1 : 0.5f};

		now_ns += data[i + 3] * (uint64_t)20000000;
		list(m, o.parent, (const char *)data + i, size - i);
		mention_seen(m, &o, d.cred, now_ns);
		if (mention_may_scan(m, &d, now_ns)) {
			tokens_scan(&tokens, data + i + 4, len);
			MUST(tokens.n <= TOKENS_MAX);
			mention_scanned(m, &d, &tokens, now_ns);
		}
		work(m, now_ns);
	}
	mention_free(m);
	return 0;
}
