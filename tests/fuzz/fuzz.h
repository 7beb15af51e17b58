/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All fuzzers use these helpers: an invariant, and copies of their input whose
 * ends the sanitizer sees. */
#ifndef FOREFETCH_FUZZ_H
#define FOREFETCH_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An invariant; assert() would be the code's own. */
#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond))                                                   \
			abort();                                               \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aligned, and as exact as the sanitizer sees it. */
static inline unsigned char *fuzz_copy(const void *data, size_t size)
{
	unsigned char *p = malloc(size ? size : 1);

	MUST(p);
	if (size > 0)
		memcpy(p, data, size);
	return p;
}

#endif
