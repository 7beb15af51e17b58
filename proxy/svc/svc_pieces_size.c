/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the pieces of a READ are, and how many of them are under way. */
#include "link/linkest.h"
#include "svc/svc_pieces.h"

/*
 * A READ whose reply takes less than these microseconds on the wire is no
 * burden.
 */
#define SPLIT_US 20000

/*
 * The microseconds of the link's time that a piece may take: a small call waits
 * for two of them at most. But each costs some 200 bytes of headers on the
 * wire, 1.2% of 16 KiB, which is the least. And it should lie in a small
 * receive buffer with its headers, since a piece keeps its buffer until the
 * last one has come.
 */
#define PIECE_US 20000
enum {
	PIECE_STEP = 4096,
	PIECE_MAX = 60 << 10,
	/* A reply has headers of RPC, attributes and lengths beside its data.
	 */
	REPLY_BYTES = 132,
};

/* The time that the server may take to think without the link running dry. */
#define SLACK_US 10000

/* Pieces under way at most while the rate is not known any more. */
enum { PIECES_UNKNOWN = 4 };

uint32_t svc_pieces_unit(const struct linkest *le, uint32_t count)
{
	uint64_t most, n;

	if (linkest_wire_us(le, linkest_wire_bytes(count)) < SPLIT_US)
		return 0;
	most = linkest_rate_Bps(le) * PIECE_US / 1000000;
	most -= most % PIECE_STEP;
	if (most < SVC_PIECE_MIN)
		most = SVC_PIECE_MIN;
	if (most > PIECE_MAX)
		most = PIECE_MAX;
	if (count <= most)
		return 0;
	/* The pieces are to be of about equal length. */
	n = (count + most - 1) / most;
	most = (count + n - 1) / n + PIECE_STEP - 1;
	return (uint32_t)(most - most % PIECE_STEP);
}

uint64_t svc_pieces_wire_bytes(uint32_t count)
{
	return linkest_wire_bytes(REPLY_BYTES + count);
}

/*
 * Where a piece lost a segment, TCP gives nothing of what came behind it until
 * that has come again, a round trip later. That is rare on a wire; else as much
 * once more has to be under way, lest the link be idle then.
 */
uint64_t svc_pieces_window(const struct linkest *le, uint32_t unit)
{
	uint64_t rate = linkest_rate_Bps(le), jitter_us = linkest_jitter_us(le);
	uint64_t us = linkest_base_us(le);

	if (rate == 0)
		return PIECES_UNKNOWN * svc_pieces_wire_bytes(unit);
	us = jitter_us > 0 ? 2 * (us + jitter_us) : us + SLACK_US;
	/* One piece more, since nobody knows how much of a piece has come
	 * before it is complete. */
	return rate * us / 1000000 + svc_pieces_wire_bytes(unit);
}
