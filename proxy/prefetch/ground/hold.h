/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether calls ahead are held back: because a user paused them, or because
 * the link is metered and what it may carry ahead in this hour is used up.
 *
 *	predictions, checks of pins   held by both
 *	warm, pin, hint               held by a pause; else sent, not counted
 *	calls of clients              sent
 *
 * An hour begins with the first byte that counts after the one before has
 * ended. Bytes are wire bytes of replies (linkest_wire_bytes()); times are
 * clock_now_us().
 */
#ifndef FOREFETCH_HOLD_H
#define FOREFETCH_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#define HOLD_NO_END UINT64_MAX

struct hold;

struct hold *hold_new(void); /* nothing is held; NULL without memory */
void hold_free(struct hold *h);

/* Until `until_us`; HOLD_NO_END: until it is told otherwise; 0: no more. */
void hold_pause(struct hold *h, uint64_t until_us);
void hold_set_metered(struct hold *h, bool metered, uint64_t budget_bytes);

/* As it was told; 0 where it is over, or never was. */
uint64_t hold_paused_until_us(const struct hold *h, uint64_t now_us);
/* Whether everything is held. */
bool hold_is_paused(const struct hold *h, uint64_t now_us);
/* Whether a call may go out whose reply will be of about `bytes`; `asked`:
 * somebody asked for it. One that does not fit any more ends the hour for those
 * that would. Counts nothing. */
bool hold_lets(struct hold *h, bool asked, uint64_t bytes, uint64_t now_us);
/* A call goes out that nobody asked for; its reply is of `got_bytes`, where
 * `bytes` were expected. */
void hold_sent(struct hold *h, uint64_t bytes, uint64_t now_us);
void hold_received(struct hold *h, uint64_t bytes, uint64_t got_bytes);

struct hold_status {
	bool paused;
	uint64_t pause_left_us; /* HOLD_NO_END: no end was set */
	bool metered;
	uint64_t used_bytes; /* in this hour, while it was metered */
	uint64_t budget_bytes;
	uint64_t hour_left_us; /* until none of it is used; 0: none is */
};
void hold_get_status(
    const struct hold *h, uint64_t now_us, struct hold_status *st);

#endif
