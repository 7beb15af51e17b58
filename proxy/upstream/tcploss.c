/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads TCP_INFO as linux/tcp.h has it: that of the C library ends before
 * segments are counted, and the two headers cannot be included together. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "upstream/tcploss.h"

void tcploss_add(int fd, struct tcploss *sum)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
	    len < offsetof(struct tcp_info, tcpi_data_segs_out) +
		      sizeof(info.tcpi_data_segs_out))
		return;
	sum->sent += info.tcpi_data_segs_out;
	sum->resent += info.tcpi_total_retrans;
}
