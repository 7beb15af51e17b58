/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What somebody looks at who checks an engine: what its nodes say of their
 * memory, and a sample of their keys. And a value can be removed.
 */
#ifndef FOREFETCH_ENGINE_SAMPLE_H
#define FOREFETCH_ENGINE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct engine_key;
struct engine_sample;

/* A node that keeps values: of a cluster, a master. */
struct engine_sample_node {
	char name[128];
	char error[160]; /* why not all was said; "" */
	char policy[32]; /* maxmemory-policy; "": not known */
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes; /* maxmemory; 0: none, or not known */
	uint64_t evicted;            /* keys, since it runs */
	uint64_t keys;               /* of all databases */
	uint64_t sampled;            /* keys that were given to on_key() */
};

/* A key of the sample; `node` is the index in engine_sample_nodes(). Keys have
 * any bytes and any length. */
typedef void (*engine_sample_key)(
    void *ctx, size_t node, const char *key, size_t len);

/* Ask all nodes, one after the other; engine_sample_is_done() tells when that
 * is over. NULL without memory. */
struct engine_sample *engine_sample_new(
    struct engine *e, engine_sample_key on_key, void *ctx);
/* Before the engine. NULL is allowed. */
void engine_sample_free(struct engine_sample *s);
bool engine_sample_is_done(const struct engine_sample *s);
/* It has lasted for too long: it is over. */
void engine_sample_stop(struct engine_sample *s);
/* Those that were asked, or begun with. */
const struct engine_sample_node *engine_sample_nodes(
    const struct engine_sample *s, size_t *n);

/* Have the engine remove a value; nobody hears whether it did. */
void engine_remove(struct engine *e, const struct engine_key *key);

#endif
