/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a table of handles: nodes are made of it or not; a table of
 * these nodes is read again. */
#include "fuzz.h"

#include "base/metrics.h"
#include "cache/caches.h"
#include "farm/handles.h"
#include "nfsproto/nfs3_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config_server config;
	struct metrics *m = metrics_new();
	struct caches *c = m ? caches_new(&config, m, 1 << 20, NULL) : NULL;
	unsigned char *bytes = fuzz_copy(data, size);
	struct handles_view v;
	struct handles h = {0};
	nfs3_fh fh;

	MUST(c);
	if (handles_open(&v, bytes, size) == 0) {
		while (handles_take(&v, c, 16))
			continue;
		MUST(handles_open(&v, bytes, size) == 0);
		while (handles_next(&v, &fh)) {
			uint64_t key = fh_key(&fh);

			MUST(handles_add(&h, c, &key, 1));
		}
		MUST(h.n == v.n);
		MUST(h.n == 0 || handles_open(&v, h.data, h.len) == 0);
		while (h.n > 0 && handles_next(&v, &fh))
			continue;
		MUST(h.n == 0 || (v.n == h.n && !handles_bad(&v)));
	}
	handles_clear(&h);
	free(bytes);
	caches_free(c);
	metrics_free(m);
	return 0;
}
