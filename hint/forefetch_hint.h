/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Say to forefetchd what will be read next; forefetch-hint(7).
 *
 * Hints cost their caller a copy of the path and a lock that nobody holds for
 * long: they are sent by a thread of the library's own. Nothing here touches
 * the files that are named, waits for the daemon, prints, or changes errno.
 * Where the daemon is not there, hints are dropped.
 *
 * A program that forks may use what it opened in the parent only; the child
 * opens its own.
 */
#ifndef FOREFETCH_HINT_LIBRARY_H
#define FOREFETCH_HINT_LIBRARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct forefetch_hint;

/*
 * A stream of hints, through the control socket at `socket`; NULL: that of
 * $FOREFETCH_HINT_SOCKET, or the default one. NULL without memory.
 */
struct forefetch_hint *forefetch_hint_open(const char *socket);

/*
 * The next `length` bytes from `offset` on that will be read, of the file at
 * the absolute `path`, in which symbolic links are not followed; 0 for the
 * length: to the end of the file. 0, or
 *
 *   -EAGAIN   1024 hints wait to be sent; this one was dropped
 *   -ENODEV   the path lies on no NFSv3 mount
 *   -EINVAL   it is not absolute, or too long
 *   -ECHILD   opened by another process
 *   -ENOMEM
 *
 * Whether the mount is one of forefetchd is seen only when the hint is sent.
 */
int forefetch_hint_add(struct forefetch_hint *h, const char *path,
    uint64_t offset, uint64_t length);

/* All that was said is no longer so. */
void forefetch_hint_cancel(struct forefetch_hint *h);

/* Ends the stream. Hints that were not sent yet are dropped. NULL is allowed.
 * May wait for the daemon, ten seconds at most. */
void forefetch_hint_close(struct forefetch_hint *h);

#ifdef __cplusplus
}
#endif

#endif
