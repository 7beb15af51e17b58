/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow. */
#include "predictor/store/vec.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 256 };

/* realloc() keeps the elements, so on failure nothing has changed. */
bool vec_grow(
    void **vec, uint32_t *cap, uint32_t want, uint32_t limit, size_t each)
{
	void *more;

	if (*cap >= limit)
		return false;
	if (want > limit)
		want = limit;
	more = realloc(*vec, want * each);
	if (!more)
		return false;
	*vec = more;
	*cap = want;
	return true;
}

bool vec_room(void **vec, uint32_t *cap, size_t n, size_t each)
{
	uint64_t want = *cap ? *cap : ROOM_FIRST;
	uint32_t had = *cap;

	if (n < had)
		return true;
	while (want <= n)
		want *= 2;
	if (want > UINT32_MAX ||
	    !vec_grow(vec, cap, (uint32_t)want, UINT32_MAX, each))
		return false;
	memset((char *)*vec + had * each, 0, (want - had) * each);
	return true;
}
