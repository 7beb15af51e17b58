/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches, and a server whose words they learn: replies as they come, 40 ms
 * after the call. The directory "dir" has the file number 1.
 */
#ifndef FOREFETCH_TEST_LEARN_FIXTURE_H
#define FOREFETCH_TEST_LEARN_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/learn_said.h"
#include "config/config.h"
#include "predictor/predictor.h"

struct caches;
struct metrics;

struct world {
	struct caches *caches;
	struct metrics *metrics;
	struct config_server config;
	uint64_t now_us;
	uint32_t cred;
	uint32_t version; /* of directories: their times */
	char verf;        /* of cookies: the first byte */
	struct predictor_obs obs;
};

static inline nfs3_name name_of(const char *text)
{
	return fh_of(text);
}

void set_up(struct world *w);
void tear_down(struct world *w);

uint64_t key_of(const char *fh);
struct node *node_of(struct world *w, const char *fh);

void say(struct world *w, uint32_t proc, const union nfs_args *args,
    const union nfs_res *res);
/* GETATTR of any object; of "dir". */
void say_attr(struct world *w, const char *fh, ftype3 type, uint64_t fileid);
void say_dir(struct world *w);
/* LOOKUP in "dir"; absent where there is no child. */
void say_name(
    struct world *w, const char *name, const char *child, ftype3 type);

struct entry {
	const char *name;
	const char *fh; /* NULL: without handle and attributes */
	ftype3 type;
};

/* One page of "dir" from cookie `from` on; `eof` after the last of them.
 * Cookies count entries, file numbers are 30 more than the place. */
void say_page(
    struct world *w, const struct entry *e, size_t n, uint64_t from, bool eof);

#endif
