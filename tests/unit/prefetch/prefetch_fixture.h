/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A prefetch with nothing but wants, notes and credentials: no loop, and
 * nobody to ask. */
#ifndef FOREFETCH_TEST_PREFETCH_FIXTURE_H
#define FOREFETCH_TEST_PREFETCH_FIXTURE_H

#include "prefetch/prefetch_private.h"

static const uint64_t T0 = UINT64_C(1) << 40;

/* The credentials are numbered from 1 on. */
void prefetch_open(struct prefetch *pf, struct pf_cred **creds, uint32_t n);
/* … and nothing but the fixture holds them in the end. */
void prefetch_close(struct prefetch *pf, struct pf_cred **creds, uint32_t n);
/* The attributes of `object` are predicted at T0, `lead` accesses ahead. */
struct want *prefetch_want_attr(
    struct prefetch *pf, struct pf_cred *cred, uint64_t object, uint32_t lead);

#endif
