/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking the kernel to treat the daemon as a part of its own way to free
 * memory. */
#include "daemon/reclaim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57 /* Linux 5.6 */
#endif

/* Sets how soon the kernel kills this process when memory is out (proc(5),
 * oom_score_adj): 0 or an errno. */
static int oom_adjust(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, score, strlen(score)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Only what is mapped now is locked (MCL_CURRENT): the data caches, which are
 * mapped later, may leave memory, and are larger than it. */
void reclaim_prepare(void)
{
	int err;

	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) < 0)
		log_warn("reclaim: PR_SET_IO_FLUSHER: %s; when memory is "
			 "short, writes through the proxy may stall "
			 "(CAP_SYS_RESOURCE is needed)",
		    strerror(errno));
	err = oom_adjust("-900");
	if (err)
		log_info("reclaim: oom_score_adj: %s", strerror(err));
	if (mlockall(MCL_CURRENT) < 0)
		log_info("reclaim: mlockall: %s", strerror(errno));
}
