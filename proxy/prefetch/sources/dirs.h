/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table knows what happened in each of 256 directories within a short time: a
 * directory has one place by its key, where another one gives way.
 */
#ifndef FOREFETCH_DIRS_H
#define FOREFETCH_DIRS_H

#include <stdbool.h>
#include <stdint.h>

struct dirs;

/* In place of bytes, for dirs_read(): the client reads names alone, by READDIR.
 */
#define DIRS_NAMES UINT32_MAX

/* NULL without memory; of free(). */
struct dirs *dirs_new(void);
/* A call about a directory, or a name in it, went to the server. Returns how
 * many did just before, with this one. */
unsigned dirs_missed(struct dirs *ds, uint64_t dir, uint64_t now_us);
/* The attributes of a name in the directory are wanted. */
void dirs_want(struct dirs *ds, uint64_t dir, uint64_t now_us);
/* Returns how many were just before. */
unsigned dirs_wanted(struct dirs *ds, uint64_t dir, uint64_t now_us);
/* Whether a directory that has changed is listed again ahead: one that changes
 * all the time would be for ever. */
bool dirs_list_anew(struct dirs *ds, uint64_t dir, uint64_t now_us);
/* Whether what came ahead of it is confirmed again: once in a while. */
bool dirs_renew(struct dirs *ds, uint64_t dir, uint64_t now_us);
/* A client reads the listing by READDIRPLUS, `page_bytes` at once, or by
 * READDIR: DIRS_NAMES; 0: it reads on no more. */
void dirs_read(
    struct dirs *ds, uint64_t dir, uint32_t page_bytes, uint64_t now_us);
/* Returns what dirs_read() was told of the directory within the last second; 0:
 * nothing. */
uint32_t dirs_read_page(const struct dirs *ds, uint64_t dir, uint64_t now_us);

#endif
