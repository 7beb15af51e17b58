/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of an estimate; for linkest.c, linkest_rate.c and linkest_route.c.
 * Times are microseconds, rates bytes a second, and bytes are wire bytes.
 *
 * Numbers without a source were chosen on the simulated link of
 * tests/unit/link/linksim.c and checked in bench/linkfollow, which changes a
 * real link's rate and sees how soon the estimate follows.
 */
#ifndef FOREFETCH_LINKEST_PRIVATE_H
#define FOREFETCH_LINKEST_PRIVATE_H

#include "base/uint.h"
#include "link/linkest.h"

#define SECOND_US UINT64_C(1000000)

/* An Ethernet frame of 1500 bytes: headers of Ethernet 14, of IPv4 20, of TCP
 * with timestamps 32, and the rest of TCP's payload. */
enum { SEGMENT_BYTES = 1448, SEGMENT_HEADER_BYTES = 66 };

/*
 * Windowed filters, as BBR has them: the base is the least round trip of the
 * last BASE_BUCKETS seconds, the rate the greatest sample of the last 1.5 s in
 * which the link was busy. A bucket ends only when there is something to put
 * into the next one, so idle time does not count.
 */
enum { BASE_BUCKETS = 6, RATE_BUCKETS = 3, BURSTS = 3 };

/*
 * A call of fewer bytes, with all that is expected ahead of it, tells more of
 * how quick the server is than of the link.
 */
#define HEAVY_BYTES   4096
/*
 * Replies that are shorter than this on average tell more of the server, too,
 * however many there are: on a fast link they come as fast as the server makes
 * them. They can raise the rate only.
 */
#define TELLING_BYTES 1024

/*
 * The replies that came back to back, until they make a sample. All bytes are
 * wire bytes, and `us` is the time that the link was busy with them.
 */
struct train {
	uint64_t last_us; /* when the last reply came; 0: none to follow */
	uint64_t bytes;
	uint64_t us;
	unsigned replies;
	/* The reply before the train, which itself waited for no other. It is
	 * added when a second one comes; see train_head(). */
	uint64_t head_bytes;
	uint64_t head_us;
	bool late; /* the last reply came later than the rate allows */
};

/* Bytes that were received without a long gap between them. */
struct burst {
	uint64_t last_us;
	uint64_t first_bytes; /* received first, in no time that is known */
	uint64_t bytes, us;   /* received after those */
	unsigned gaps;        /* in these */
	/* The part of these that went on with a record which had begun. */
	uint64_t begun_bytes, begun_us;
};

struct rate {
	/* The greatest of each bucket; 0: empty. */
	uint64_t bucket[RATE_BUCKETS];
	unsigned at;
	uint64_t busy_us; /* in the bucket at `at` */
	uint64_t Bps;
	bool known;
	/* It comes from the kind or a file, from bursts, or from before a
	 * silence. */
	bool guessed;
	bool measured; /* by bursts at least, be it long ago */
};

/* Replies that come later than the base, one after the other. */
struct route {
	uint64_t last_us; /* when the last of them came; 0: none did */
	/* They may be a step; false once they grew too often. */
	bool suspected;
	/* How many of them what was under way before them does not explain. */
	unsigned late;
	unsigned windows; /* how many windows agree */
	/* How often they did not agree, but came later still. */
	unsigned grew;
	uint64_t first_us; /* the least of the first window */
	/* The window that is not over. */
	uint64_t begin_us;
	uint64_t least_us;
	unsigned replies;
	struct rate rate; /* the rate as it was before */
};

struct linkest {
	/* Calls under way, and the wire bytes that are expected for them. */
	uint64_t inflight_bytes;
	unsigned calls;
	uint64_t last_us; /* when the last call or reply was */
	/* How much has come of replies that are not whole yet. */
	uint64_t part_bytes;

	/* C.first_sent_time, C.delivered_time and C.delivered of the draft
	 * that linkest.h names. */
	uint64_t first_sent_us;
	uint64_t delivered_us;
	uint64_t delivered_bytes;

	uint64_t base[BASE_BUCKETS]; /* the least of each bucket; 0: empty */
	unsigned base_at;
	uint64_t base_start_us;
	uint64_t base_us;
	/* The rate that the base was corrected by, where the correction was
	 * large: if that rate is too low, the base is too short. 0: none. */
	uint64_t base_rate_Bps;
	/* When the last reply came that hardly stood behind others. */
	uint64_t alone_us;

	uint64_t srtt8_us; /* 8 times srtt, 4 times rttvar: no rounding */
	uint64_t rttvar4_us;
	/* A call has ended a silence, and its reply is still to come: srtt is
	 * of the time before. */
	bool queue_hidden;
	/* The least queue of this round trip and of the one before. */
	uint64_t standing_us[2];
	uint64_t standing_start_us;

	struct rate rate;
	struct train train;
	struct route route;
	unsigned routes; /* steps that were believed */

	uint64_t held4_us; /* 4 times the smoothed wait: no rounding */
	uint64_t held_at_us;

	struct burst burst;
	uint64_t begin_us;    /* when a record's first bytes came last */
	uint64_t begin_bytes; /* and how many these were */
	unsigned burst_at;
	/* Rates of the last bursts; 0: none. */
	uint64_t burst_Bps[BURSTS]; /* of parts of records */
	uint64_t least_Bps[BURSTS]; /* lower bounds, of all bytes */
	uint64_t alone_Bps[BURSTS]; /* of replies that stood behind none */
	unsigned alone_at;

	enum config_link kind;
	/* The base comes from the kind or a file, and was not measured yet. */
	bool base_guessed;
};

/*
 * Takes what a reply of `wire` bytes says of the rate, after the base and the
 * smoothed round trip were updated.
 */
void rate_on_reply(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us);

/*
 * Looks whether a reply of `wire` bytes shows that the route is a longer one
 * now, before the base is updated.
 */
void route_on_reply(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us);

#endif
