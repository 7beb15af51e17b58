/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of a data cache, for datacache_load.c: whether it may be used,
 * which segments are in it, and its file FORMAT. */
#ifndef FOREFETCH_DATACACHE_DIR_H
#define FOREFETCH_DATACACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct datacache;

/* The directory of `dc`, and where a sentence goes that says what is wrong. */
struct segment_dir {
	struct datacache *dc;
	char *err;
	size_t errlen;
};
typedef int (*dir_on_segment)(void *ctx, uint32_t number);

/* Make and open it: dc->dirfd. This and the next two: 0, or what dir_refuse()
 * returns. */
int dir_open(const struct segment_dir *d);
/* Call `each` for every file of a segment; it may stop that with an error. */
int dir_scan(const struct segment_dir *d, dir_on_segment each, void *ctx);
/* Write FORMAT with dc->id, which is made at random where it is 0. */
int dir_format_write(const struct segment_dir *d);
/* Whether FORMAT is there and right; dc->id is read from it. */
bool dir_format_read(struct datacache *dc);
/* Say why `file` ("": the directory itself) cannot be used: -EPERM. */
int dir_refuse(
    const struct segment_dir *d, const char *file, const char *cause);

#endif
