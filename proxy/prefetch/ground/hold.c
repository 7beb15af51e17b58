/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pause, and the bytes of an hour on a metered link. */
#include "prefetch/ground/hold.h"

#include <stdlib.h>

#include "base/uint.h"
#include "link/linkest.h"

#define HOUR_US UINT64_C(3600000000)

struct hold {
	uint64_t paused_until_us; /* 0: it is not */
	bool metered;
	bool full; /* something did not fit into this hour */
	uint64_t budget_bytes;
	uint64_t used_bytes;
	uint64_t hour_us; /* when the hour began; 0: nothing was used yet */
};

struct hold *hold_new(void)
{
	return calloc(1, sizeof(struct hold));
}

void hold_free(struct hold *h)
{
	free(h);
}

void hold_pause(struct hold *h, uint64_t until_us)
{
	h->paused_until_us = until_us;
}

void hold_set_metered(struct hold *h, bool metered, uint64_t budget_bytes)
{
	h->metered = metered;
	h->budget_bytes = budget_bytes;
	h->full = false;
}

bool hold_is_paused(const struct hold *h, uint64_t now_us)
{
	return now_us < h->paused_until_us;
}

uint64_t hold_paused_until_us(const struct hold *h, uint64_t now_us)
{
	return hold_is_paused(h, now_us) ? h->paused_until_us : 0;
}

static bool hour_is_over(const struct hold *h, uint64_t now_us)
{
	return h->hour_us != 0 && now_us - h->hour_us >= HOUR_US;
}

static void hour_end(struct hold *h, uint64_t now_us)
{
	if (!hour_is_over(h, now_us))
		return;
	h->hour_us = 0;
	h->used_bytes = 0;
	h->full = false;
}

bool hold_lets(struct hold *h, bool asked, uint64_t bytes, uint64_t now_us)
{
	if (hold_is_paused(h, now_us))
		return false;
	if (asked || !h->metered)
		return true;
	hour_end(h, now_us);
	if (h->used_bytes + linkest_wire_bytes(bytes) > h->budget_bytes)
		h->full = true;
	return !h->full;
}

void hold_sent(struct hold *h, uint64_t bytes, uint64_t now_us)
{
	if (!h->metered)
		return;
	hour_end(h, now_us);
	if (h->hour_us == 0)
		h->hour_us = now_us;
	h->used_bytes += linkest_wire_bytes(bytes);
}

void hold_received(struct hold *h, uint64_t bytes, uint64_t got_bytes)
{
	uint64_t wire = linkest_wire_bytes(bytes);

	if (!h->metered)
		return;
	/* It was sent in another hour, or on another link: then less was
	 * counted. */
	h->used_bytes -= min_u64(wire, h->used_bytes);
	h->used_bytes += linkest_wire_bytes(got_bytes);
}

void hold_get_status(
    const struct hold *h, uint64_t now_us, struct hold_status *st)
{
	bool over = hour_is_over(h, now_us);

	*st = (struct hold_status){.paused = hold_is_paused(h, now_us),
	    .metered = h->metered,
	    .used_bytes = over ? 0 : h->used_bytes,
	    .budget_bytes = h->budget_bytes};
	if (st->paused && h->paused_until_us == HOLD_NO_END)
		st->pause_left_us = HOLD_NO_END;
	else if (st->paused)
		st->pause_left_us = h->paused_until_us - now_us;
	if (h->hour_us != 0 && !over)
		st->hour_left_us = h->hour_us + HOUR_US - now_us;
}
