/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How cache_size and memory_size are divided between the servers that there
 * are. Each may have an equal part if it needs it; what some do not need, the
 * others may use. A server that is new or idle is left an eighth of its part to
 * begin with, so that a full cache gives up little until others fill theirs.
 */
#ifndef FOREFETCH_SHARES_H
#define FOREFETCH_SHARES_H

#include <stddef.h>
#include <stdint.h>

struct config;
struct server;

/* Gives each of `n` servers its shares; to be called now and then, since they
 * depend on what is in use. */
void shares_set(const struct config *c, struct server *const *list, size_t n);
/* How much one more may have for what is learned, for as long as it is there.
 */
uint64_t shares_learn(
    const struct config *c, struct server *const *list, size_t n);

/* How many bytes of disk the data caches need at least. */
uint64_t shares_disk_bytes(const struct config *c);
/* How many bytes the calls and replies of all clients may hold. memory_size is
 * for the caches, but it shows how large the machine is. */
uint64_t shares_clients_bytes(const struct config *c);

/* `total` divided: nobody gets less than it wants while another gets more than
 * it wants, or than the first. The sum is at most `total`. */
void shares_divide(
    uint64_t total, const uint64_t *want, uint64_t *get, size_t n);

#endif
