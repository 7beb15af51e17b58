/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetching ahead.
 *
 *	calls of clients ─▶ predictor (predictor.h) ─▶ wants (want.h)
 *	                                                 │ not fresh, and the
 *	                                                 ▼ link has room
 *	caches ◀─ learn.h ◀─────────────── server ◀──── calls
 *
 * Calls that clients wait for go first: a want goes out only when the link has
 * room for it (budget.h), and is dropped when that comes too late.
 *
 * 1. Observed: a reply was queued; observe.c makes of the call what the
 *    predictor hears (nothing where `prefetch = off` holds for its object).
 * 2. Predicted: up to 128 objects, each with a probability, a lead (how many
 *    accesses ahead) and needs (name, absence, attributes, rights, first bytes,
 *    later parts, listing). The predictor looks three round trips ahead.
 * 3. Wanted (want.c): a want for each object and credential, in one
 *    of ten lanes by its lead, and by how unlikely it is. In a lane clients
 *    take turns (lane.h).
 * 4. A step (step.c): what is missing next, and whether it is worth a
 *    call (worth.c): p (round trip + wire time) against (1 - p) (wire
 *    time + a quarter of a round trip), the latter weighed by what stands on
 *    the link: next to nothing where it is idle. And p has to be the higher,
 *    the more has come ahead and was not used (waste.h). What costs too much
 *    now waits behind all others.
 * 5. Sent (flight.c), when nobody holds it back (hold.h), the link has spare
 *    capacity (budget.h) and no call of a client waits for a connection; with
 *    a credential that was seen since the daemon started. JUKEBOX stops calls
 *    ahead for 5 s (PAUSE_US).
 * 6. Learned like any reply: that is its only way to a client. The note of the
 *    prediction says what became of it, and the predictor is told
 *    (notes.c).
 *
 * In strict mode only data is fetched: all else would be asked for again.
 */
#ifndef FOREFETCH_PREFETCH_H
#define FOREFETCH_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prefetch/ground/ground.h"

struct calls;
struct credentials;
struct observe_call;
struct prefetch;
struct predictor_obs;
struct queue;

struct prefetch_params {
	struct ground ground; /* `config`: see prefetch_set_config() */
	const char *name;     /* the server's, for log lines; outlives this */
	const char *path;     /* of the learned trees, copied; "": not kept */
	/* Called for each call that the predictor hears of; may be NULL. True
	 * where somebody has said what will be asked next (hint.h): then
	 * nothing is predicted from this call. */
	bool (*on_seen)(void *ctx, const struct predictor_obs *obs);
	void *ctx;
};

/* NULL and errno without memory. Begins to load what was learned before. */
struct prefetch *prefetch_new(const struct prefetch_params *p);
/* Whether that goes on: in a thread, and in parts beside everything else. It
 * may be used meanwhile, but knows only a part, and saves nothing. */
bool prefetch_loads(const struct prefetch *pf);
/* Loads the rest at once; waits for the disk for at most `us`. */
void prefetch_load_wait(struct prefetch *pf, uint64_t us);
/* Whether what was learned is loaded and saved; if not, goes on with that. To
 * be called again until it is true. */
bool prefetch_settle(struct prefetch *pf);
/* Saves what was learned; waits for the disk. */
void prefetch_finish(struct prefetch *pf);
/* Frees it, after prefetch_finish() or prefetch_settle(): what neither of them
 * saved is lost. A thread frees the memory. NULL is allowed. */
void prefetch_free(struct prefetch *pf);
void prefetch_set_config(
    struct prefetch *pf, const struct config_server *config);

/* A call was answered. The predictor hears of it, and the server is asked,
 * in a later turn of the loop, when the reply has gone out. */
void prefetch_observe(struct prefetch *pf, const struct observe_call *call);

/* The server is being asked for GETATTR, ACCESS or READ, or (not `missed`) to
 * confirm the object of one: what follows may be asked beside it. `call` is as
 * far as it is known. */
void prefetch_begins(struct prefetch *pf, const struct observe_call *call);

struct predictor *prefetch_predictor(struct prefetch *pf);
/* Gives a file to one that had none. What the file holds is added to what was
 * learned: see prefetch_loads(). */
void prefetch_set_file(struct prefetch *pf, const char *path);
/* Forgets all that was learned: 0, or -ENOMEM and nothing has changed. Not
 * while the file of it is read. */
int prefetch_clear(struct prefetch *pf);
/* Somebody else changed what was learned: it is to be saved. */
void prefetch_edited(struct prefetch *pf);
/* The budget that all calls ahead share. */
struct budget *prefetch_budget(struct prefetch *pf);
/* Whether they may go out at all: pauses, metered links. */
struct hold *prefetch_hold(struct prefetch *pf);
/* Its wants (want.h), their credentials, and its calls (flight.h). */
struct queue *prefetch_queue(struct prefetch *pf);
struct credentials *prefetch_credentials(struct prefetch *pf);
struct calls *prefetch_calls(struct prefetch *pf);
/* Have the queue looked at in a later turn of the loop. */
void prefetch_wake(struct prefetch *pf, uint64_t now_us);
/* Whether jobs (want.h) have to wait now: the server cannot be asked, or wants
 * wait for room on the link. */
bool prefetch_holds_jobs(const struct prefetch *pf);
/* Whether calls are under way that were not sent ahead. */
bool prefetch_sees_demand(const struct prefetch *pf);

/* How the last prediction of an object ended. Texts are static. */
struct prefetch_told {
	bool predicted;
	const char *state; /* "used", "late", … */
	/* "tree", "graph", "names", "session", "pattern", "hint" */
	const char *source;
	uint64_t age_us; /* of the state */
	double p;
	uint32_t lead;  /* in accesses */
	uint32_t needs; /* PREDICTOR_NEEDS_… */
	uint32_t bytes; /* that came */
};
/* Root hears of each; another user only of what its own calls led to, and only
 * while nobody else has used the object. */
void prefetch_tell(struct prefetch *pf, uint64_t object, uint32_t uid,
    uint64_t now_us, struct prefetch_told *out);

/*
 * `forefetch top` is told here what is being fetched ahead, for whom and why,
 * and what became of the last predictions (prefetch_show.c). Nothing is marked
 * as used. Root (uid 0) hears of all; another user only of what its own calls
 * led to.
 */
enum { PREFETCH_SHOW_MAX = 64 };

/* Texts are static; `entry` is good until the event loop goes on. */
struct prefetch_ahead {
	/* The call that is under way; NULL: it waits for its turn. */
	const char *procedure;
	/* As in struct prefetch_told, or "directory" (what misses and listings
	 * say of one), "warm", "other". */
	const char *source;
	uint64_t object;   /* fh_key(); 0: none */
	const char *entry; /* a name in the object; not terminated */
	size_t entry_len;
	uint64_t age_us; /* since it was sent, or wanted */
	uint32_t uid;
	uint32_t bytes; /* that are expected; 0: not known */
	double p;       /* 0: not predicted */
};

/* Calls under way first, then what will go out next; `omitted`: how many others
 * are under way or wanted. */
size_t prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted);

struct prefetch_outcome {
	uint64_t object;
	uint32_t uid; /* for whom; UINT32_MAX: several have used it */
	struct prefetch_told told;
};

/* The predictions of which something became last, the newest first. */
size_t prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX]);

/* Wants, calls and memory as they are now, for gauges. */
struct prefetch_stats {
	size_t wants;
	unsigned flights;
	uint64_t flight_bytes;
	uint64_t flight_bytes_max;
	uint64_t window_bytes;
	uint64_t waste_bytes; /* waste.h */
	uint64_t waste_limit_bytes;
	size_t memory_bytes; /* of what is learned */
	size_t objects;
};
void prefetch_get_stats(const struct prefetch *pf, struct prefetch_stats *st);

#endif
