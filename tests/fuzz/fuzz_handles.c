/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a table of handles, and as one of absent names: what comes of it
 * goes into a table again. */
#include "fuzz.h"

#include "base/metrics.h"
#include "base/namemap.h"
#include "cache/caches.h"
#include "farm/farm_private.h"
#include "farm/trees_objects.h"
#include "nfsproto/nfs3_object.h"

/* Nodes of its rows; and these as a table again. */
static void take_handles(const unsigned char *bytes, size_t size)
{
	static const struct config_server config;
	struct metrics *m = metrics_new();
	struct caches *c = m ? caches_new(&config, m, 1 << 20, NULL) : NULL;
	struct bytetable_view v;
	struct bytetable t = {0};

	MUST(c);
	MUST(bytetable_open(&v, bytes, size) == 0);
	while (trees_take_handles(&v, c, 16))
		continue;
	MUST(bytetable_open(&v, bytes, size) == 0);
	while (bytetable_next(&v)) {
		nfs3_fh fh = {.len = v.len, .data = (const char *)v.row};
		uint64_t key = fh_key(&fh);

		MUST(trees_add_handles(&t, c, &key, 1));
	}
	MUST(t.n == v.n);
	MUST(t.n == 0 || bytetable_open(&v, t.data, t.len) == 0);
	while (t.n > 0 && bytetable_next(&v))
		continue;
	MUST(t.n == 0 || (v.n == t.n && !bytetable_bad(&v)));
	bytetable_clear(&t);
	caches_free(c);
	metrics_free(m);
}

/* The same as names of what is absent. */
static void take_names(const unsigned char *bytes, size_t size)
{
	struct namemap *names = namemap_new();
	struct bytetable_view v;
	struct bytetable t = {0};

	MUST(names);
	MUST(bytetable_open(&v, bytes, size) == 0);
	while (trees_take_names(&v, names, 16))
		continue;
	MUST(bytetable_open(&v, bytes, size) == 0);
	while (bytetable_next(&v)) {
		uint64_t hash;

		if (v.len <= sizeof(hash))
			continue;
		hash = farm_get_number(v.row + v.len - sizeof(hash));
		MUST(trees_add_names(&t, names, &hash, 1));
	}
	bytetable_clear(&t);
	namemap_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *bytes = fuzz_copy(data, size);
	struct bytetable_view v;

	if (bytetable_open(&v, bytes, size) == 0) {
		take_handles(bytes, size);
		take_names(bytes, size);
	}
	free(bytes);
	return 0;
}
