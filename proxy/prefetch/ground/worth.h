/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a call ahead is worth what it costs. One that comes to nothing costs
 * the link its bytes, and the server its work; one that is used spares its
 * client a round trip and the same bytes. Probabilities are of use; bytes are
 * of replies, without headers.
 */
#ifndef FOREFETCH_WORTH_H
#define FOREFETCH_WORTH_H

#include <stdbool.h>
#include <stdint.h>

struct caches;
struct ground;
struct node;
struct waste_status;

/* Whether the route is so short that little can be spared on it. */
bool worth_route_is_short(const struct ground *g);

/* Whether what is used with probability `p` is worth a reply of `bytes` when
 * nobody else wants the link: else it need not be queued at all. `guess`:
 * whoever predicts it has not seen it used, but others like it. */
bool worth_call(const struct ground *g, bool guess, double p, uint64_t bytes);

/* Whether bytes of a file that are used with probability `p` may be worth it at
 * all: to keep them takes this machine time, too (datacache_cost_us()), which
 * must be less than the trip that they spare. All are where offline = serve.
 * None are while the disk is behind: the cache would not keep them. */
bool worth_bytes(const struct ground *g, double p, uint64_t bytes);

/* A call that somebody would send, and how much he would pay for it. */
struct worth_bid {
	double p;
	uint64_t bytes;
	bool guess;
	bool bounded; /* waste.h bounds what it may fetch in vain */
};
/* Whether the call is worth it now, given what stands on the link. */
bool worth_now(const struct ground *g, const struct worth_bid *bid);

/* Whether a listing of `bytes` is worth it where it spares so many calls: the
 * bytes of these hardly count beside its own. */
bool worth_listing(const struct ground *g, double calls, uint64_t bytes);

/* Whether a listing of `bytes` confirms so many of its entries for less than a
 * call for each, where nobody waits for these. */
bool worth_confirming_listed(
    const struct ground *g, double calls, uint64_t bytes);

/* How much of a listing is asked for at once. */
uint64_t worth_page_bytes(const struct ground *g);

/* How much was fetched in vain, and how much may be. */
void worth_get_waste(const struct ground *g, struct waste_status *st);

/*
 * Whether bytes or names of the object that are asked for now would be bound
 * to this version for a moment only, but for good after a grain of the
 * server's clock (CONTRACT): that is worth the wait. Not so where the server
 * counts in seconds.
 */
bool worth_waiting(
    const struct caches *c, const struct node *node, uint64_t now_us);

#endif
