/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A farm: what one machine had from a server, or learned of its users, is
 * there for all machines that share an engine and a key.
 *
 *	svc, prefetch ── farm_ask_…() ──▶ engine ──▶ seal ──▶ cache/learn.h
 *	      ▲                                                  │
 *	      └───────── a claim in fetch's table ends ◀─────────┘
 *
 *	cache/ ── caches_hook ──▶ farm_publish ──▶ seal ──▶ engine
 *
 * Whoever lacks something asks here before the server; while the engine is
 * being asked, a claim in fetch's table says so (fetch.h). When that ends,
 * what came is in the caches, under the rules that hold for all that is there:
 * attributes are the server's, and so are rights. What has not come within
 * the deadline is asked of the server, as without a farm.
 *
 * Only what the server said, and what is firm, is published; see
 * docs/FARM.md. engine.h and seal.h know neither NFS nor servers.
 *
 *	farm_begin.c    the begin and end of the farm, and of a server's part
 *	farm_check.c    what people ask of it: a check
 *	farm_publish.c  file data: what is to be published, and when
 *	farm_data.c     file data: asked for
 *	farm_list.c     listings: asked for, and published
 *	farm_question.c one value, asked for; waiting for who fetches it now
 *	farm_others.c   who else is there, and marks of what is being fetched
 *	farm_trees.c    what was learned, of each user
 *	farm_value.c    what is common to all values: does asking pay, open, put
 *	farm_kept.c     what the engine has by now
 *	farm_name.c     which value has which key
 *	trees_job.c     what threads do for what was learned
 *	trees_objects.c handles and absent names that go with it
 *	bytetable.c     these as bytes
 *	seal.c          sealed values
 *
 * engine/ has the engine: a Redis server, or a cluster.
 */
#ifndef FOREFETCH_FARM_H
#define FOREFETCH_FARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

struct caches;
struct event_base;
struct farm;
struct farm_server;
struct fetch;
struct iopool;
struct linkest;
struct metrics;
struct namemap;
struct node;
struct predictor;

/* Begins the farm of the whole daemon. NULL and a sentence in `err` where the
 * configuration has a farm that cannot be begun, since its key file is missing,
 * say: the daemon goes on without one. `config` is copied, `base` outlives the
 * farm. All functions here are for the loop's thread, and none waits. */
struct farm *farm_new(struct event_base *base, const struct config_farm *config,
    char *err, size_t errlen);
/* Whether all that is to be published is in the engine, or that takes nothing;
 * if not, it is on its way. For the end of the daemon: a runner that lives for
 * one job leaves what it learned. NULL is allowed. */
bool farm_settle(struct farm *f);
/* After all its servers. NULL is allowed. */
void farm_free(struct farm *f);
/* The farm's engine, which lives as long as the farm. */
struct engine *farm_engine(struct farm *f);
/* The keys of this farm begin with this. */
const char *farm_prefix(const struct farm *f);
/* The farm's configuration as it was when the farm was begun. */
const struct config_farm *farm_config(const struct farm *f);

/* How the removal of all values does, or how the last one ended. */
struct farm_flush_status {
	bool busy;
	uint64_t removed; /* by the last one, when it is over */
	char error[160];  /* why not all were; "" */
};

/* Begins to remove all values of this farm from the engine; false where that is
 * under way, or nobody can be asked. */
bool farm_flush(struct farm *f);
void farm_get_flush(const struct farm *f, struct farm_flush_status *st);

/* The daemon fills this in to make a server's part. All that is pointed to, but
 * for the address, outlives it. */
struct farm_server_params {
	struct farm *farm;
	struct caches *caches;
	struct fetch *fetch;
	struct linkest *link;
	struct metrics *metrics;
	const char
	    *address;  /* of the server, as all machines call it; copied */
	uint16_t port; /* that is configured; 0: rpcbind is asked */
};

/* Makes one server's part. From here on what the caches learn is published.
 * NULL and errno without memory. */
struct farm_server *farm_server_new(const struct farm_server_params *p);
/* Ends it; claims of questions under way are dropped. NULL is allowed. */
void farm_server_free(struct farm_server *s);

/* The predictor whose learned trees are shared, from farm_trees_begin() to
 * farm_trees_end(), and what belongs to it. All that is pointed to lives until
 * then. */
struct farm_trees_params {
	struct predictor *predictor;
	struct namemap *names; /* of absences, by observe_absent() */
	struct iopool *iopool;
	void (*on_merged)(void *ctx); /* the predictor knows more now */
	void *ctx;
};
/* Begins to share what is learned. Without memory, or where `share` in the
 * configuration leaves trees out, nothing of it is shared. */
void farm_trees_begin(struct farm_server *s, const struct farm_trees_params *p);
void farm_trees_end(struct farm_server *s);
/* Other machines know what was learned by now: it is not published for itself.
 */
void farm_trees_know(struct farm_server *s);
/* A user's call came: what other machines have learned of it is taken over,
 * if it was not yet. */
void farm_trees_seen(struct farm_server *s, uint32_t uid);

/* Tells the caller how to go on. */
enum farm_answer {
	FARM_NO,    /* the farm has nothing, or is of no use: ask the server */
	FARM_ASKED, /* a claim in fetch's table covers the beginning */
	FARM_BUSY,  /* ask again in a moment; only what is `ahead` */
};

/* All functions below do nothing without a server's part (NULL). */

/*
 * Ask for bytes of a file whose version is known. `offset` is the first byte
 * that is missing. `ahead`: no client waits for it.
 */
enum farm_answer farm_ask_data(struct farm_server *s, const struct node *node,
    uint32_t cred, uint64_t offset, uint32_t len, bool ahead);
/* Ask for a directory's listing, as READDIR or READDIRPLUS gives it. The claim
 * is one of READDIRPLUS in any case. */
enum farm_answer farm_ask_listing(struct farm_server *s, const struct node *dir,
    uint32_t cred, bool plus, bool ahead);

#endif
