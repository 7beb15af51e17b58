/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Max-min fair shares of what all servers have together. Shares follow what is
 * in use, so a server that is busy grows into what others leave; each step is
 * small, so that a cache is not emptied for a server that needs it for a
 * minute. */
#include "daemon/shares.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "config/config.h"
#include "daemon/server.h"
#include "datacache/datacache.h"

enum {
	SERVERS_MAX = 64, /* as the configuration has */
	/* A server may grow by this part of an equal share, */
	BEGIN_SHARE = 8,
	/* or by this part of what it uses, if that is more. */
	GROW_SHARE = 4,
	/* Shares that differ by less, of the whole, stay. */
	STEP_SHARE = 64,
	/* Pins may take half of a data cache. */
	PIN_SHARE = 2,
	/* The predictor may use this part of memory_size, within these bounds
	 * for each server, */
	LEARN_SHARE = 4,
	LEARN_MIN_BYTES = 1 << 20,
	LEARN_MAX_BYTES = 64 << 20,
	/* and no more than this part, however many come and go, */
	LEARN_ALL_SHARE = 3,
	/* which leaves the caches this one at least. */
	CACHES_SHARE = 4,
	/* Calls and replies of clients may take another one. */
	CLIENTS_SHARE = 4,
	CLIENTS_MIN_BYTES = 16 << 20,
};

void shares_divide(
    uint64_t total, const uint64_t *want, uint64_t *get, size_t n)
{
	bool given[SERVERS_MAX] = {false};
	uint64_t left = total;
	size_t open = n;

	for (bool more = true; more && open > 0;) {
		uint64_t level = left / open;

		more = false;
		for (size_t i = 0; i < n; i++) {
			if (given[i] || want[i] > level)
				continue;
			given[i] = more = true;
			get[i] = want[i];
			left -= want[i];
			open--;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!given[i])
			get[i] = left / open;
		else if (open == 0)
			get[i] += left / n;
	}
}

/* The amount that a server which uses `use` would like to have: some more than
 * it has, so that it can grow. */
static uint64_t wanted(uint64_t total, uint64_t use, size_t n)
{
	uint64_t begin = total / n / BEGIN_SHARE, grow = use / GROW_SHARE;

	return use + (grow > begin ? grow : begin);
}

/* Whether two shares differ by more than a step of the whole. */
static bool differs(uint64_t total, uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) > total / STEP_SHARE;
}

/* Bytes of all servers together for what is learned. */
static uint64_t learned(struct server *const *list, size_t n)
{
	struct server_use use;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		server_get_use(list[i], &use);
		sum += use.learn_bytes;
	}
	return sum;
}

/* The part of memory_size that the caches may have, behind what is learned. */
static uint64_t caches_memory(
    const struct config *c, struct server *const *list, size_t n)
{
	uint64_t sum = learned(list, n), least = c->memory_size / CACHES_SHARE;

	return sum + least < c->memory_size ? c->memory_size - sum : least;
}

/* Changes all shares or none, so that their sum stays what it is. */
void shares_set(const struct config *c, struct server *const *list, size_t n)
{
	uint64_t disk_want[SERVERS_MAX] = {0}, memory_want[SERVERS_MAX] = {0};
	uint64_t disk[SERVERS_MAX], memory[SERVERS_MAX];
	uint64_t memory_total = caches_memory(c, list, n);
	struct server_use use[SERVERS_MAX];
	uint64_t disk_sum = 0, memory_sum = 0;
	bool change;

	assert(n <= SERVERS_MAX);
	for (size_t i = 0; i < n; i++) {
		uint64_t pinned;

		server_get_use(list[i], &use[i]);
		pinned = PIN_SHARE * use[i].pinned_bytes;
		disk_want[i] = wanted(c->cache_size, use[i].disk_bytes, n);
		if (disk_want[i] < pinned)
			disk_want[i] = pinned;
		memory_want[i] = wanted(memory_total, use[i].memory_bytes, n);
		disk_sum += use[i].disk_share_bytes;
		memory_sum += use[i].memory_share_bytes;
	}
	change = disk_sum > c->cache_size || memory_sum > memory_total;
	shares_divide(c->cache_size, disk_want, disk, n);
	shares_divide(memory_total, memory_want, memory, n);
	for (size_t i = 0; i < n; i++)
		change |=
		    differs(c->cache_size, disk[i], use[i].disk_share_bytes) ||
		    differs(memory_total, memory[i], use[i].memory_share_bytes);
	/* All or none, so that the sum stays what it is. */
	for (size_t i = 0; change && i < n; i++)
		server_set_shares(list[i], disk[i], memory[i]);
}

uint64_t shares_learn(
    const struct config *c, struct server *const *list, size_t n)
{
	uint64_t sum = learned(list, n);
	uint64_t all = c->memory_size / LEARN_ALL_SHARE;
	uint64_t part = c->memory_size / LEARN_SHARE / c->nservers;

	if (part > LEARN_MAX_BYTES)
		part = LEARN_MAX_BYTES;
	if (sum + part > all)
		part = sum < all ? all - sum : 0;
	return part > LEARN_MIN_BYTES ? part : LEARN_MIN_BYTES;
}

uint64_t shares_disk_bytes(const struct config *c)
{
	size_t n = c->nservers > 0 ? c->nservers : 1;

	return n * datacache_need_bytes(c->cache_size / n);
}

uint64_t shares_clients_bytes(const struct config *c)
{
	uint64_t bytes = c->memory_size / CLIENTS_SHARE;

	return bytes > CLIENTS_MIN_BYTES ? bytes : CLIENTS_MIN_BYTES;
}
