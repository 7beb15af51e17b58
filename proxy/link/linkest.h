/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates the capacity of the link to a server, its round trip and its rate,
 * from calls and their replies. Nothing is sent for it. Only replies are
 * counted; calls are taken to be small.
 *
 *   sent                        received
 *    |<-------- base ---------->|<- queue ->|<- own wire time ->|
 *
 * A round trip here is without the reply's own wire time, so that replies of
 * all lengths tell of the same link. No clock: times are microseconds that
 * never run backwards, on any scale. No allocation after linkest_new().
 */
#ifndef FOREFETCH_LINKEST_H
#define FOREFETCH_LINKEST_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct linkest;

/*
 * The state of the estimate when a call was sent. The caller keeps it with the
 * call and reads nothing in it, from linkest_sent() to exactly one of
 * linkest_received() and linkest_lost().
 */
struct linkest_mark {
	uint64_t sent_us;
	uint64_t first_sent_us;   /* as P.first_sent_time of the draft below */
	uint64_t delivered_us;    /* P.delivered_time */
	uint64_t delivered_bytes; /* P.delivered */
	uint64_t ahead_bytes;     /* expected then, of calls sent before */
	uint64_t expected_bytes;
};

/* Makes the estimate of a link of which nothing is known (CONFIG_LINK_AUTO).
 * NULL and errno without memory. */
struct linkest *linkest_new(void);
/* Frees it; NULL is allowed. */
void linkest_free(struct linkest *le);

/*
 * Returns the bytes that a record of `bytes` (RPC header and record mark
 * included) takes on the wire: with the headers of TCP, IP and Ethernet in
 * segments of 1448. All byte counts below but the arguments are of this kind.
 */
uint64_t linkest_wire_bytes(uint64_t bytes);

/*
 * Notes that a call goes out now, for which a reply of about `bytes` is
 * expected. The expected length serves to tell a queue of our own making from a
 * longer route.
 */
void linkest_sent(struct linkest *le, struct linkest_mark *mark, uint64_t bytes,
    uint64_t now_us);

/*
 * Its reply of `bytes` has come whole. Returns for how long the reply was
 * queued, in microseconds: what its round trip took beyond the base; time
 * that the server spent on it cannot be told from that.
 *
 * Smoothing: RFC 6298 section 2 (alpha = 1/8, beta = 1/4). Rate: samples as
 * in draft-cheng-iccrg-delivery-rate-estimation section 3, which can only
 * raise the estimate, since a client seldom fills a pipe; and the rate of
 * replies that waited for one another, which can lower it too. Filters:
 * Cardwell et al., BBR, ACM Queue 14(5), 2016.
 */
uint64_t linkest_received(struct linkest *le, const struct linkest_mark *mark,
    uint64_t bytes, uint64_t now_us);

/*
 * Notes that bytes came over a connection to the server, at a time no earlier
 * than the last ones; `begun` where they go on with a record of which some were
 * there before. To be called before linkest_received() of the records that end
 * with them.
 *
 * The link alone puts time between the parts of one reply, so the first long
 * reply tells a rate (packet dispersion: Dovrolis et al., IEEE/ACM Trans.
 * Networking 12(6), 2004, section II). It holds until replies that waited for
 * one another tell better.
 */
void linkest_arrived(
    struct linkest *le, uint64_t bytes, bool begun, uint64_t now_us);

/* Says how many bytes are there of replies that have not come whole, over all
 * connections. To be called when the whole ones were taken. */
void linkest_set_part(struct linkest *le, uint64_t bytes);

/* Says that no reply will come, since the connection broke or the call was
 * given up. */
void linkest_lost(struct linkest *le, const struct linkest_mark *mark);

/*
 * Sets the kind of link that the configuration names. If it is another one, all
 * estimates begin anew:
 *
 *	AUTO      rate and base round trip are unknown
 *	WIRED     10 Mb/s, 1 ms
 *	WIRELESS   2 Mb/s, 20 ms, and up to 20 ms of jitter
 *
 * So they are told from the first call on. The first reply that can tell
 * replaces the base, and the first sample of a busy link the rate; a higher
 * rate shows even before that.
 */
void linkest_set_kind(struct linkest *le, enum config_link kind);

/* Says that the host is on another network: all estimates are again as the kind
 * of link has them. */
void linkest_forget(struct linkest *le);

/* The estimates that are worth keeping over a restart, or on another machine.
 */
struct linkest_kept {
	uint64_t rate_Bps;
	uint64_t base_us;
};
/* Whether a link can be like that: the values may come from a file or another
 * machine. */
bool linkest_kept_makes_sense(const struct linkest_kept *kept);

/* Gives the estimates as they are now. False where the rate or the base round
 * trip was not measured. */
bool linkest_keep(const struct linkest *le, struct linkest_kept *kept);
/*
 * Begins with estimates that were kept, and with half of their rate, in place
 * of what the kind says: it may be another link by now. Measurements replace
 * them as they replace that.
 */
void linkest_begin(struct linkest *le, const struct linkest_kept *kept);

/*
 * Returns the rate in bytes a second, the greatest of the last seconds in which
 * the link was busy. 0 until replies have waited for one another, or one came
 * in parts.
 */
uint64_t linkest_rate_Bps(const struct linkest *le);
/* Whether the rate was measured, be it long ago; else it is as the kind or a
 * file says. */
bool linkest_measured(const struct linkest *le);
/*
 * Returns a lower bound of the rate, in bytes a second, which short replies
 * behind one another have shown while the rate itself is not known; 0: none
 * yet.
 */
uint64_t linkest_least_Bps(const struct linkest *le);
/* Returns the base round trip, in microseconds; 0 while it is not known. Before
 * the first reply it may be a guess: of the kind of link, or of a file. Whether
 * it was measured, only linkest_keep() tells, together with the rate. */
uint64_t linkest_base_us(const struct linkest *le);
/*
 * Counts how often the route has become longer all at once, which is believed
 * within half a second. Replies that come later little by little, or that
 * waver, are in a queue until the base of the last seconds says otherwise.
 */
unsigned linkest_routes(const struct linkest *le);
/* Whether the route may just have become longer: short replies that stand
 * behind nothing would tell. */
bool linkest_suspects(const struct linkest *le, uint64_t now_us);
/*
 * Returns when the last reply came that hardly stood behind others; without
 * such ones, a queue of our own making cannot be told from the route.
 */
uint64_t linkest_alone_us(const struct linkest *le);
/* The smoothed round trip, and how much it varies, in microseconds (RFC 6298).
 */
uint64_t linkest_srtt_us(const struct linkest *le);
uint64_t linkest_rttvar_us(const struct linkest *le);
/* Returns how much later replies may come without a queue, in microseconds;
 * this is of the kind of link, and not measured. */
uint64_t linkest_jitter_us(const struct linkest *le);
/*
 * Returns the smoothed round trip beyond the base, in microseconds. After a
 * second in which nothing was under way it is 0, until a reply tells anew: the
 * former replies stood in a queue that is likely gone, and where it made calls
 * ahead too dear, no call would go out to show that.
 */
uint64_t linkest_queue_us(const struct linkest *le, uint64_t now_us);
/*
 * Notes that a client's call has waited so long on this side for room on the
 * link; 0: it has not, though it might have had to.
 */
void linkest_held(struct linkest *le, uint64_t us, uint64_t now_us);
/*
 * Returns the delay that a byte ahead would add to demand, in microseconds: the
 * queue on the link, and the one on this side, smoothed by 1/4 a call. The
 * latter ends a second after the calls that waited could have gone, as
 * linkest_held() told.
 */
uint64_t linkest_backlog_us(const struct linkest *le, uint64_t now_us);
/*
 * Returns the least that a reply of the last one or two round trips was queued,
 * in microseconds. A queue that stands delays all replies; jitter and a
 * server's disk only some.
 */
uint64_t linkest_standing_us(const struct linkest *le);
/* Returns the bytes that are expected for all calls under way. */
uint64_t linkest_inflight_bytes(const struct linkest *le);
/* Returns how many calls these are. */
unsigned linkest_calls(const struct linkest *le);
/* Returns how many of the expected bytes have arrived already, of replies that
 * have not come whole; 60 KiB at most. */
uint64_t linkest_arrived_bytes(const struct linkest *le);
/*
 * Returns the most that one speculative call should ask for: the bytes that the
 * link carries in 5 ms, from 4 KiB to 1 MiB, a multiple of 4 KiB; 4 KiB while
 * the rate is not known. Payload, not wire bytes.
 */
uint64_t linkest_unit_bytes(const struct linkest *le);
/* Returns the wire time of so many wire bytes, in microseconds; 0 while the
 * rate is not known. */
uint64_t linkest_wire_us(const struct linkest *le, uint64_t wire_bytes);

#endif
