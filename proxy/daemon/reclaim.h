/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life beside its own client. When the machine is short of memory, the
 * kernel writes dirty NFS pages out, and they leave through this daemon. So
 * the daemon must get by without the memory that it is about to free.
 */
#ifndef FOREFETCH_RECLAIM_H
#define FOREFETCH_RECLAIM_H

/* Large buffers that are set aside at start for records on their way. */
enum { RECLAIM_BUFFERS = 16 };

/*
 * Tell the kernel that this process is on the way of reclaim
 * (PR_SET_IO_FLUSHER), that it should be the last to be killed, and that what
 * it has now stays in memory. Each step that is not permitted is logged.
 */
void reclaim_prepare(void);

#endif
