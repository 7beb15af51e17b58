/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checksums of what lies in a segment file, read through a small window that
 * stays in the processor's cache. A buffer as large as an extent would be
 * mapped anew by malloc each time, and locked (mlockall), which costs more than
 * reading and summing.
 */
#include "datacache/datacache_request.h"

#include <errno.h>

#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>

#include "datacache/datacache_disk.h"

/* Have the window begin at `pos`; no byte from `end` on is read. */
static int window_move(struct sum_window *w, uint64_t pos)
{
	size_t len = sizeof(w->buf);
	int rc;

	if (pos >= w->end)
		return -ENODATA;
	if (len > w->end - pos)
		len = (size_t)(w->end - pos);
	w->len = 0;
	rc = read_all(w->fd, w->buf, len, pos);
	if (rc < 0)
		return rc;
	w->from = pos;
	w->len = len;
	return 0;
}

int window_sum(struct sum_window *w, uint64_t pos, uint32_t len, uint64_t *sum)
{
	XXH3_state_t state;
	int rc = 0;

	XXH3_64bits_reset(&state);
	while (len > 0) {
		size_t n;

		if (pos < w->from || pos >= w->from + w->len)
			rc = window_move(w, pos);
		if (rc < 0)
			return rc;
		n = (size_t)(w->from + w->len - pos);
		if (n > len)
			n = len;
		XXH3_64bits_update(&state, w->buf + (pos - w->from), n);
		pos += n;
		len -= (uint32_t)n;
	}
	*sum = XXH3_64bits_digest(&state);
	return 0;
}
