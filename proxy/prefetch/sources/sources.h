/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who foretells. Each source hears what clients do, and wants what it thinks
 * comes next; none knows another.
 *
 *	a call passed ──┐                        ┌▶ tree     the predictor
 *	is about to be  ├▶ sources, one by one ──┼▶ habit    kinds of names
 *	asked ──────────┤   (sources_table.c)    ├▶ walk     through trees
 *	was listed ─────┘                        └▶ … ──▶ want_add()
 *
 * A new source is a file with a struct source_ops (source_private.h), and a
 * line in sources_table.c.
 */
#ifndef FOREFETCH_SOURCES_H
#define FOREFETCH_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/predictor.h"

struct credential;
struct credentials;
struct dirs;
struct ground;
struct node;
struct notes;
struct queue;
struct sources;
struct want;

struct sources_params {
	struct ground *ground;
	struct credentials *credentials;
	struct notes *notes;
	struct queue *queue;
	/* Called for each call that passed; may be NULL. True where somebody
	 * has said what will be asked next (hint.h): then nothing is predicted
	 * from this call. */
	bool (*on_seen)(void *ctx, const struct predictor_obs *obs);
	void *ctx;
};

/* NULL without memory. */
struct sources *sources_new(const struct sources_params *p);
void sources_free(struct sources *all);
/* The configuration changed. */
void sources_configure(struct sources *all);

/* A call of a client. */
struct passed {
	struct predictor_obs obs;
	struct credential *cred;
	struct node *node; /* of obs.object; NULL: not known */
	const char *name;  /* that was looked up; "": none, or a long one */
	uint64_t now_us;
	bool late;   /* it waited for what was fetched ahead */
	bool missed; /* the server was asked for it */
	bool hinted; /* somebody has said what will be asked next */
};

/* It was answered. */
void sources_passed(struct sources *all, struct passed *p);
/* The server is about to be asked for it or, not `missed`, to confirm its
 * object: what follows may be asked beside it. */
void sources_begins(struct sources *all, struct passed *p);
/* A client has read some of a listing, as dirs_read() has it. */
void sources_read_listing(struct sources *all, struct credential *cred,
    struct node *dir, uint32_t page_bytes);
/* A listing of the directory came for the credential, or more of its entries.
 */
void sources_listed(
    struct sources *all, struct credential *cred, struct node *dir);
/* The server said what the credential may do in a directory. */
void sources_allowed(struct sources *all, uint64_t dir);
/* Sources do as much as fits into a turn of the loop. True where more is left.
 */
bool sources_turn(struct sources *all, uint64_t now_us);

/* ---- for the steps of wants -------------------------------------------- */

/* The record of directories in which something happened just before. */
struct dirs *sources_dirs(struct sources *all);
/* How many bytes are read first of files, of late. */
uint32_t sources_first_bytes(const struct sources *all);
/* Whether the `rest_bytes` of a file that stand behind its beginning may be
 * worth it; then the want says how much. False where it was read before, as it
 * will be read then. */
bool sources_rest(const struct sources *all, struct want *w,
    uint64_t size_bytes, uint64_t rest_bytes);
/* The next page of a listing of which some have come is wanted. */
void sources_list_on(struct sources *all, struct credential *cred, uint64_t dir,
    float calls_spared);
/* Whether a client reads the listing just now by larger pages than would come
 * ahead, or the names alone where those are short: pages in between would cost
 * it a round trip each. */
bool sources_listing_comes(struct sources *all, uint64_t dir);
/* Whether the credential is in a session, and how much of its share of bytes
 * (`session_size`) that has had. */
bool sources_in_session(struct credential *cred);
bool sources_session_spent(const struct sources *all, struct credential *cred);
void sources_session_spends(
    struct sources *all, struct credential *cred, uint64_t bytes);

#endif
