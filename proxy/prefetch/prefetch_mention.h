/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mentions (predictor/mention/mention.h): data that comes is scanned for names
 * in a thread, and what it mentions is wanted. Only where `prefetch = on`.
 */
#ifndef FOREFETCH_PREFETCH_MENTION_H
#define FOREFETCH_PREFETCH_MENTION_H

#include <stdbool.h>
#include <stdint.h>

struct node;
struct pf_cred;
struct pf_mentions;
struct pf_seen;
struct prefetch;

/* NULL without memory; of mention_close(). */
struct pf_mentions *mention_open(struct prefetch *pf);
/* Waits for scans under way. */
void mention_close(struct pf_mentions *x);
/* A complete listing of the directory came for the credential. */
void mention_listing(
    struct prefetch *pf, const struct pf_cred *cred, struct node *dir);
/* What the credential may do in a directory was answered. */
void mention_rights(struct prefetch *pf, uint64_t dir);
void mention_observe(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);
/* What can be done in this turn of the loop. True where more is left. */
bool mention_turn(struct prefetch *pf, uint64_t now_us);

#endif
