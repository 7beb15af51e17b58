/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waking the pump, for rooms that do not know it. */
#include "prefetch/ground/ground.h"

void ground_wake(struct ground *g, uint64_t now_us)
{
	ground_set_time(g, now_us);
	if (g->wake)
		g->wake(g->wake_ctx);
}
