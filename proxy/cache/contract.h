/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whether an answer from the caches is fresh enough: the consistency
 * contract in one place.
 *
 * A confirmation has the age of the call that brought it, counted from when
 * that was sent. `strict` wants one that was sent after the request came in,
 * `bounded` one that is at most attr_timeout old, `frozen` any of this daemon
 * or of one before it that ended in good order. Without a
 * link to the server, `offline = serve` takes any, too. Rights have times of
 * their own: contract_right(), contract_right_kept().
 */
#ifndef FOREFETCH_CONTRACT_H
#define FOREFETCH_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/attrcache.h"
#include "config/config.h"

/*
 * Objects that were loaded at the start count as confirmed at these times, by
 * which frozen mode tells them apart. After a kill or a crash, changes of our
 * own that were answered may be missing from the saved state: then each object
 * is confirmed once, and bindings stay valid if its version is still the same.
 */
enum {
	CONTRACT_LOADED_US = 1,
	CONTRACT_LOADED_WHOLE_US = 2, /* saved at the end, nothing missing */
};

/* The rules for one request and one object; plain numbers, and nobody owns it.
 */
struct contract {
	enum config_consistency mode;
	bool offline;
	uint64_t now_us;
	uint64_t received_us;
	/* The policy's, in microseconds. In bounded mode, nothing is believed
	 * for longer. Rights are believed for this long, whatever age_us is. */
	uint64_t attr_timeout_us;
	/* Bounds the age of confirmations; no more than attr_timeout_us. */
	uint64_t age_us;
	uint64_t negative_timeout_us;
	uint64_t grant_timeout_us;
	/* No older answer will do, however young it is, unless the server is
	 * away; 0: none. As in struct asker (known.h). */
	uint64_t stale_us;
};

/* Fills in the rules of a policy, for a request that came in at `received_us`;
 * `offline`: there is no link to the server. */
void contract_init(struct contract *c, const struct config_policy *policy,
    bool offline, uint64_t received_us, uint64_t now_us);

/* Says that the object had not changed for `still_us` when it was confirmed:
 * then the confirmation may grow a tenth as old, as HTTP caches have it (RFC
 * 9111 section 4.2.2). An object that changed a moment ago is likely to change
 * again; one that has been unchanged for ten times attr_timeout is held to that
 * alone. */
void contract_set_still(struct contract *c, uint64_t still_us);

/* Whether an answer may rest on attributes that a call sent at `sent_us`
 * confirmed; 0: none did. */
bool contract_fresh(const struct contract *c, uint64_t sent_us);
/* The same for an absence that such a call found. */
bool contract_absent(const struct contract *c, uint64_t sent_us);
/* The same for what such a call says of somebody's rights: attr_timeout in
 * bounded mode; grant_timeout in frozen mode and offline, where attributes have
 * no bound of time. */
bool contract_right(const struct contract *c, uint64_t sent_us);
/* The same for a right that it gave, where the object's attributes are fresh:
 * they show that nobody changed its mode, owner or ACL since, so it counts for
 * grant_timeout in bounded mode, too. A right that it denied may come without
 * such a sign, as when a user joins a group: contract_right(). */
bool contract_right_kept(const struct contract *c, uint64_t sent_us);

/*
 * Ahead of clients: how long what is confirmed now is of use to one that comes
 * later. By the policy that holds for the object, in microseconds. Repeat and
 * serves are asked of directories only (source_walk.c), though what is wanted
 * of one includes its entries' attributes; slack of any object
 * (source_renew.c); recent once for all objects of a call (observe.c);
 * lasts_since once for all entries of a listing, of whatever type
 * (step_list.c):
 *
 *	confirmed                                             too old
 *	    ├──── repeat ────┤                                   │
 *	    ├──────────── recent ───────┤                        │
 *	    │                               ├─────── slack ──────┤
 */
/* Returns for how many microseconds a source leaves out an object that was
 * wanted ahead already. */
uint64_t contract_repeat_us(const struct config_policy *policy);
/* Returns for how many microseconds the predictor does not foretell to a user
 * an object that this user has used. */
uint64_t contract_recent_us(const struct config_policy *policy);
/* Returns the time before an object is too old in which calls ahead confirm it
 * again. */
uint64_t contract_slack_us(const struct config_policy *policy);
/* Whether what was confirmed at `us` has not grown too old at `now_us`: only in
 * bounded mode anything does. */
bool contract_serves(
    const struct config_policy *policy, uint64_t us, uint64_t now_us);
/* Returns since when the entries of a listing must have been confirmed so that
 * calls ahead do not confirm them again now. It goes by the policy alone, not
 * by how long an entry has been unchanged. In other modes than bounded, 1. */
uint64_t contract_lasts_since_us(
    const struct config_policy *policy, uint64_t now_us);
/* Whether attributes that a call sent then confirmed last for a third of their
 * age from now on. What changed a moment ago is believed for `least_us` at
 * least, but never for longer than attr_timeout: else it would be confirmed
 * over and over. */
bool contract_lasts(
    const struct contract *c, uint64_t sent_us, uint64_t least_us);
/* The same for a right that the server gave; `kept`: by contract_right_kept().
 */
bool contract_right_lasts(
    const struct contract *c, uint64_t sent_us, bool kept);

/* How a name, an absence, a listing, an answer or data hangs on a node: for
 * which generation it counts, whether any later change of the node would show
 * as another version (firm), and when the call was sent that brought it. */
struct binding {
	uint32_t generation;
	bool firm;
	uint64_t sent_us;
};

/*
 * Whether what is bound to `node` holds, given attributes of the node that are
 * confirmed: firm ones by that alone, provisional ones by their own age. A
 * binding that was firm before a change of our own to the node is provisional
 * after it (another change may have met the same tick of the server's clock).
 */
bool contract_bound(const struct contract *c, struct attrcache *ac,
    const struct node *node, const struct binding *b);
/* Returns when `b` was last known to hold: when its own call was sent, or the
 * first change of ours after it, which found the directory as that call had
 * shown it. */
uint64_t contract_held_us(
    struct attrcache *ac, const struct node *node, const struct binding *b);
/* For datacache_find(): data that is not firm counts only if its call was sent
 * at this time or later. Walks of warm hold the entries of a listing to it, by
 * the contract of their directory (warm_step.c). */
uint64_t contract_data_valid(const struct contract *c);

#endif
