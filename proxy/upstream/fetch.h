/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one table of what is being asked of the server.
 *
 * Everything that the proxy wants from a server, on a client's behalf or on
 * its own, is a flight in this table with waiters. A call joins a flight
 * that asks the same with the same credential and that was not sent yet: so
 * no answer rests on a call sent before the request came in, whatever the
 * consistency mode.
 *
 * A flight that was sent can be watched: whoever does hears when its answer
 * has reached the caches, and looks there again, under the rules that hold
 * for whatever is cached.
 *
 * svc/, prefetch/, warm/ and farm/ ask and watch here; fetch knows neither
 * clients nor caches, and sends by upstream.h. All of it runs on the event
 * loop. Structs of which others have a part (waiters, watches, claims) are
 * all zeros at first, and must stay where they are while they are in use.
 */
#ifndef FOREFETCH_FETCH_H
#define FOREFETCH_FETCH_H

#include <stdbool.h>
#include <sys/queue.h>

#include "upstream/upstream.h"

struct fetch;
struct fetch_flight;
struct fetch_waiter;
struct fetch_watch;
struct linkest;

TAILQ_HEAD(fetch_watches, fetch_watch);
LIST_HEAD(fetch_claims, fetch_claim);

struct fetch_ops {
	/* Says how the call goes out; only the waiter that began the flight
	 * hears. May be NULL. */
	void (*on_send)(
	    struct fetch_waiter *w, const struct upstream_sent *sent);
	/* As upstream_call_ops.on_distrust. May be NULL. */
	void (*on_distrust)(
	    struct fetch_waiter *w, const struct upstream_sent *sent);
	/* Says how the call ended, as upstream_call_ops.on_reply. The waiter is
	 * free again when this is called. */
	void (*on_reply)(
	    struct fetch_waiter *w, const struct upstream_result *res);
	/* As upstream_call_ops.on_doubt; whoever returns true has to call
	 * fetch_resume() or fetch_release(). For changes only. May be NULL. */
	bool (*on_doubt)(struct fetch_waiter *w);
};

/* A part of the struct of whoever waits for a reply. */
struct fetch_waiter {
	TAILQ_ENTRY(fetch_waiter) link;
	struct fetch_flight *flight; /* NULL while it waits for nothing */
	/* Set for on_reply(): others watch the call, and look into the caches
	 * as soon as it has been dealt with. */
	bool watched;
	const struct fetch_ops *ops;
};

/* The subject of a call, by which others find it while it is under way. */
struct fetch_about {
	uint64_t object; /* fh_key() of the handle; 0: nobody looks for it */
	uint32_t proc;   /* NFSPROC3_…, or FETCH_GETACL */
	uint32_t cred;   /* caches_cred() */
	/* The range: of a READ, the bytes asked for; of a READDIR(PLUS) the
	 * cookie, twice; of a LOOKUP a hash of the name, twice; of a GETACL the
	 * mask, twice. */
	uint64_t from;
	uint64_t to;
	uint32_t reply_bytes; /* the bytes of reply that may be expected */
};

/* The bytes to expect of a reply without payload. */
enum { FETCH_REPLY_BYTES = 160 };

/* The procedure of a GETACL, which is one of another program. */
enum { FETCH_GETACL = 1000 };

/* Returns the subject of a call by the credential whose number is `cred`. The
 * object is 0 for changes, but for WRITE and SETATTR, and for other programs
 * than NFS, but for GETACL. */
struct fetch_about fetch_about_call(
    const struct nfs_proc *proc, const union nfs_args *args, uint32_t cred);

/* A part of the struct of whoever watches a flight or a claim. */
struct fetch_watch {
	TAILQ_ENTRY(fetch_watch) link;
	struct fetch_watches *list; /* NULL while it watches nothing */
	/* Says that the answer has been dealt with, whatever it was, or that
	 * there will be none; the watch is free again when this is called. */
	void (*on_done)(struct fetch_watch *w);
	void *ctx; /* the owner's */
};

/* A range of a file that somebody will ask for, call by call, or that comes
 * from somewhere else. It is a part of the struct of its owner. */
struct fetch_claim {
	LIST_ENTRY(fetch_claim) link;
	struct fetch *fetch;
	struct fetch_watches watches;
	struct fetch_about about;
};

/* Makes the table of a server's two upstreams, which outlive it. `link` is told
 * of every call to NFS; it may be NULL. NULL without memory. */
struct fetch *fetch_new(struct upstream *nfs, struct upstream *mount,
    struct metrics *metrics, struct linkest *link);
/* Forgets all calls, without a word to those who wait for them or watch them.
 * Owners of waiters that are about to go need that: fetch_cancel() may refuse.
 * NULL is allowed. */
void fetch_forget(struct fetch *f);
/* Forgets all calls, and frees the table. The upstreams are freed after it.
 * NULL is allowed. */
void fetch_free(struct fetch *f);

/* Has `on_send` called whenever a call goes out that is about an object, with
 * `ctx`, the request, the `cred` of its fetch_about, and when that is. There is
 * one at a time; NULL: nobody hears. */
typedef void (*fetch_on_send)(void *ctx, const struct upstream_request *req,
    uint32_t cred, uint64_t sent_us);
void fetch_tell(struct fetch *f, fetch_on_send on_send, void *ctx);

/*
 * Asks the server, or joins a flight that asks the same. The first waiter of a
 * flight keeps what the request points to until the reply; `w->ops` must be
 * set. `about` may be NULL. Returns 0, or -ENOMEM, and then the waiter waits
 * for nothing.
 */
int fetch_start(struct fetch *f, const struct upstream_request *req,
    const struct fetch_about *about, struct fetch_waiter *w);

/*
 * Watches a flight of the same procedure, object and credential, whose range
 * covers that of `about`; or else such a claim. False where there is neither.
 */
bool fetch_watch(struct fetch *f, const struct fetch_about *about,
    struct fetch_watch *watch);
/* Whether fetch_watch() would find something. */
bool fetch_under_way(struct fetch *f, const struct fetch_about *about);
/* Returns up to where the range of a READ is under way from its beginning on,
 * perhaps in several calls: `about->from` where its first byte is not. */
uint64_t fetch_under_way_to(struct fetch *f, const struct fetch_about *about);
/* Watches no longer; nothing for a watch that watches nothing. */
void fetch_unwatch(struct fetch_watch *watch);

/* The same for a list of the caller's own. The first watches it; the second has
 * another list, which is initialised, take all who do; the third tells them,
 * after which nobody watches it. The list may be gone by then. */
void fetch_watch_list(struct fetch_watches *list, struct fetch_watch *watch);
void fetch_take_watches(struct fetch_watches *from, struct fetch_watches *to);
void fetch_ring(struct fetch_watches *list);

/* Claims a range that will be asked for, so that others watch it and do not ask
 * for it themselves. */
void fetch_claim(
    struct fetch *f, struct fetch_claim *c, const struct fetch_about *about);
/* Ends a claim, since all of its range was answered, or will not be asked for,
 * and tells those who watch it. The claim may be gone by then. */
void fetch_claim_end(struct fetch_claim *c);
/* The same, but tells nobody. */
void fetch_claim_drop(struct fetch_claim *c);

/*
 * Waits no longer. False where a change is on its way, or where others wait
 * for, or watch, a flight for which this waiter keeps the request: then it
 * hears the reply all the same. True for a waiter that waits for nothing.
 */
bool fetch_cancel(struct fetch *f, struct fetch_waiter *w);

/* As upstream_call_waited_us(), of the waiter's call, in microseconds; 0 where
 * it has none. */
uint64_t fetch_waited_us(const struct fetch_waiter *w, uint64_t now_us);

/* Whether a WRITE or a SETATTR of the object (fh_key()) is on its way to the
 * server, whoever sent it. */
bool fetch_is_changing(struct fetch *f, uint64_t object);

/*
 * Says that the waiter's call was sent and runs its course, but is not repeated
 * any more: what the request points to may go. The waiter hears the reply, or
 * one without a record where none will come; perhaps before this returns.
 */
void fetch_abandon(struct fetch_waiter *w);

/* Each ends what on_doubt() began: fetch_resume() repeats the call all the
 * same, as upstream_resume(); fetch_release() forgets it, after which the
 * waiter is free again. */
void fetch_resume(struct fetch_waiter *w);
void fetch_release(struct fetch_waiter *w);

/* Returns the call that it waits for; NULL: none. */
const struct upstream_call *fetch_call(const struct fetch_waiter *w);

/* Counts the flights that are not answered yet. */
unsigned fetch_in_flight(const struct fetch *f);

#endif
