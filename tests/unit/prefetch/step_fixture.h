/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A want that is taken a step further: the caches are real ones, which learned
 * what a server said; of upstream there is but what fetch asks of it, and no
 * call is answered.
 */
#ifndef FOREFETCH_TEST_STEP_FIXTURE_H
#define FOREFETCH_TEST_STEP_FIXTURE_H

#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_fixture.h"
#include "prefetch/steps/turn_private.h"
#include "upstream/upstream.h"

enum { CALLS = 16, SECOND = 1000000 };

struct upstream_call {
	const struct upstream_call_ops *ops;
	void *arg;
	const struct nfs_proc *proc;
	union nfs_args args;
	unsigned char bytes[1200];
};

struct upstream {
	struct upstream_call calls[CALLS];
	unsigned n;
};

struct step_world {
	struct world *w; /* of learn_fixture.h */
	struct rooms pf;
	struct credential *cred;
	struct calls *calls;
	struct steps *steps;
	struct upstream up;
	unsigned seen; /* calls that were looked at */
};

void step_setup(struct step_world *s);
void step_teardown(struct step_world *s);

/* Of an object by its key, or by its handle; it has left the queue. */
struct want *want_key(
    struct step_world *s, uint64_t object, const char *dir, uint8_t needs);
struct want *want(
    struct step_world *s, const char *object, const char *dir, uint8_t needs);
enum step step(struct step_world *s, struct want *w);
/* A step of it: what comes of it, and the calls that go out, each "PROC OBJECT"
 * and all with ", " between them. */
void assert_step(
    struct step_world *s, struct want *w, enum step is, const char *calls);
/* The next call is this one; NULL: there is none. */
void assert_call(struct step_world *s, const char *proc, const char *object);

void say_access(struct step_world *s, const char *fh);
/* ACCESS gives these bits. */
void say_access_of(struct step_world *s, const char *fh, uint32_t given);
/* A directory and a file in it, that were just confirmed, with all rights. */
void know_all(struct step_world *s);

#endif
