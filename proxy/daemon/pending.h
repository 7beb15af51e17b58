/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mark of pending writes: a file of the state directory that says that a
 * later release of forefetchd has answered writes which the server does not
 * have yet, and where it keeps them. This release cannot send them, and would
 * show the server's former contents beside them, so it serves nothing while
 * the mark is there. docs/ARCHITECTURE.md, "The mark of pending writes", has
 * the format.
 */
#ifndef FOREFETCH_PENDING_H
#define FOREFETCH_PENDING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether no state directory has the mark. These are the directories that
 * systemd names in STATE_DIRECTORY; without that, /var/lib/forefetch. One that
 * this user may not look into belongs to another daemon, and counts as without
 * a mark. False, and a sentence in `err` that says what to do. May block.
 */
bool pending_check(char *err, size_t errlen);

#endif
