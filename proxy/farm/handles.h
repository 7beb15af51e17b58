/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_HANDLES_H
#define FOREFETCH_HANDLES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
struct caches;
struct handles;
struct handles *handles_new(void);
void handles_free(struct handles *h);
bool handles_add(struct handles *h, struct caches *c, const uint64_t *keys, size_t n);
const void *handles_data(const struct handles *h, size_t *len);
bool handles_apply(struct caches *c, const void *data, size_t len, size_t *at, size_t max);
#endif
