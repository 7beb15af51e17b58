/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lower rooms of prefetch: wants, notes and credentials, and those sources
 * that a test adds. There is no loop, and nobody to ask. */
#ifndef FOREFETCH_TEST_PREFETCH_FIXTURE_H
#define FOREFETCH_TEST_PREFETCH_FIXTURE_H

#include "base/metrics.h"
#include "config/config.h"
#include "link/budget.h"
#include "link/linkest.h"
#include "link/waste.h"
#include "prefetch/credentials/credentials_private.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/worth.h"
#include "prefetch/queue/queue_private.h"
#include "prefetch/sources/source_private.h"

static const uint64_t T0 = UINT64_C(1) << 40;

struct rooms {
	struct ground g;
	struct config_server config;
	struct notes *notes;
	struct queue *queue;
	struct sources *sources;
};

/* The credentials are numbered from 1 on. What a test has itself (caches, a
 * configuration) is set before. */
void rooms_open(struct rooms *pf, struct credential **creds, uint32_t n);
/* Nothing but the fixture holds the credentials in the end. */
void rooms_close(struct rooms *pf, struct credential **creds, uint32_t n);
/* From now on the source hears of calls. */
void rooms_add(struct rooms *pf, const struct source_ops *ops);
/* A call of the client passed, or is about to be asked; `obs.now_ns` does not
 * matter. */
void rooms_hear(struct rooms *pf, const struct passed *p, uint64_t now_us);
void rooms_begin(struct rooms *pf, const struct passed *p, uint64_t now_us);
/* The attributes of `object` are predicted at T0, `lead` accesses ahead. */
struct want *rooms_want_attr(
    struct rooms *pf, struct credential *cred, uint64_t object, uint32_t lead);
/* An actor whose wants stand in that flow of each lane. */
uint64_t rooms_actor_of(unsigned flow);

#endif
