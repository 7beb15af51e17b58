/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The estimate of a link, kept over a restart in the file `link` of a server's
 * directory: one line, replaced as a whole.
 *
 *	VERSION RATE BASE SUM
 *
 * Version 1, bytes a second, microseconds, and XXH3 of what precedes it, in
 * hexadecimal. A file that is damaged, or of another version, counts as none.
 */
#ifndef FOREFETCH_LINKKEEP_H
#define FOREFETCH_LINKKEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "link/linkest.h"

struct linkkeep;
struct statedir;

/* Has the estimate begin with what was kept, the line of the file; NULL: there
 * is none. The first three outlive it. NULL and errno without memory. */
struct linkkeep *linkkeep_new(struct statedir *sd, const char *server,
    struct linkest *le, const char *line);
#define LINKKEEP_FILE "link"
/* Keeps the estimate for the next time, as linkkeep_tick() does, and frees
 * `lk`. */
void linkkeep_free(struct linkkeep *lk);
/* To be called every second or so: every 30 s, an estimate that has changed by
 * more than a quarter is kept. */
void linkkeep_tick(struct linkkeep *lk, uint64_t now_us);

enum { LINKKEEP_TEXT_MAX = 80 };
/* Writes the line of a file. */
void linkkeep_format(
    const struct linkest_kept *kept, char text[LINKKEEP_TEXT_MAX]);
/* Reads such a line; false where it is none, or says what no link is like. */
bool linkkeep_parse(const char *text, struct linkest_kept *kept);

#endif
