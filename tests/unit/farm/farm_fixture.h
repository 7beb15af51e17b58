/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two machines with a farm between them: caches, data and all, without a
 * server or an engine of their own (engine_stub.h). What one learns from a
 * server's replies, the other asks for.
 */
#ifndef FOREFETCH_TEST_FARM_FIXTURE_H
#define FOREFETCH_TEST_FARM_FIXTURE_H

#include "farm/farm.h"

#include "cache/caches_fixture.h"
#include "datacache/datacache_fixture.h"
#include "farm/engine_stub.h"
#include "farm/farm_private.h"
#include "link/linkest.h"
#include "upstream/fetch.h"

enum { BIG = 200 << 10, FIRST = 16 << 10, CELL = 60 << 10 };

struct farm_machine {
	struct world *w;
	struct fixture fx;
	struct linkest *link;
	struct fetch *fetch;
	struct farm *farm;
	struct farm_server *server;
};

struct pair {
	char key_file[64];
	struct farm_machine a, b;
};

void begin_pair(struct pair *p);
void end_pair(struct pair *p);
/* Begin the machine's part in the farm of this key file, for a server of that
 * address. */
void begin_farm(struct farm_machine *m, char *key_file, const char *address);
void end_farm(struct farm_machine *m);
void write_key(const char *path, unsigned char first);

/* One turn of its loop, without waiting. */
void turn(struct farm_machine *m);
/* Until so many values of the kind are in the engine. */
void until_published(struct farm_machine *m, char kind, unsigned n);
/* Until nothing that it asked for of a file is open any more. */
void until_answered(struct farm_machine *m);
/* Make this machine believe that no other one is at work. */
void be_alone(struct farm_machine *m);
/* Until all that waits was published, or left out. */
void until_quiet(struct farm_machine *m);

/* "big" of version `ctime`, as the server says; whoever asks may read it. */
fattr3 big_attr(uint32_t ctime);
void say_big(struct farm_machine *m, uint32_t ctime);
/* Its bytes: pattern_byte(30, ctime, offset). */
void say_read(
    struct farm_machine *m, uint32_t ctime, uint64_t offset, uint32_t len);
/* Both; the reply is firm: a second passes after the version was seen. */
void say_firm(
    struct farm_machine *m, uint32_t ctime, uint64_t offset, uint32_t len);
/* Whether there are these bytes for whoever asks. */
bool has_big(struct farm_machine *m, uint64_t offset, uint32_t len);

uint64_t counter(const struct farm_machine *m, enum metrics_counter c);

/* The server's reply to ACCESS. */
void say_access(
    struct world *w, const char *fh, const fattr3 *a, uint32_t given);
/* Its calls are another user's from now on. */
void be_somebody_else(struct world *w);

#endif
