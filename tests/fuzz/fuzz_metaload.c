/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the records of a saved file: they are loaded or refused, and
 * what was loaded can be packed and given up again. */
#include "fuzz.h"

#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/metafile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config_server config;
	struct metrics *m = metrics_new();
	struct caches *c = m ? caches_new(&config, m, 4 << 20, NULL) : NULL;
	unsigned char *bytes = fuzz_copy(data, size);
	struct metaview v = {.data = bytes, .len = size};
	struct metabuf out = {.data = NULL};
	struct metapack pack = {.caches = c, .out = &out};

	MUST(c);
	(void)metapack_load(c, &v, size % 2 == 0, UINT64_C(1) << 41);
	while (metapack_some(&pack, 65536))
		continue;
	c->memory_bytes = 0;
	for (int i = 0; i < 100; i++)
		caches_trim(c);
	free(out.data);
	free(bytes);
	caches_free(c);
	metrics_free(m);
	return 0;
}
