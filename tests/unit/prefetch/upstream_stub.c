/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests that send calls themselves have no use for these functions of
 * upstream.h: each call was sent, and none is in doubt. The tests define
 * upstream_send() and upstream_drop() themselves. */
#include "upstream/upstream.h"

bool upstream_call_sent(const struct upstream_call *call)
{
	(void)call;
	return true;
}

bool upstream_call_is_moving(const struct upstream_call *call, uint64_t now_us)
{
	(void)call;
	(void)now_us;
	return true;
}

uint64_t upstream_call_waited_us(
    const struct upstream_call *call, uint64_t now_us)
{
	(void)call;
	(void)now_us;
	return 0;
}

void upstream_abandon(struct upstream_call *call)
{
	(void)call;
}

void upstream_resume(struct upstream_call *call)
{
	(void)call;
}

void upstream_release(struct upstream_call *call)
{
	(void)call;
}
