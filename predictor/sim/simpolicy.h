/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The issue policy that all gated predictors share: a prediction is fetched if
 * it saves more than it costs,
 *
 *	p * (rtt + cost) > price * (1 - p) * cost * (1 + 2 * backlog / rtt)
 *
 * where cost = (bytes + overhead) / rate, and nothing is fetched while the
 * backlog is longer than a few round trips. The object that is wanted soonest
 * goes first.
 */
#ifndef FOREFETCH_SIMPOLICY_H
#define FOREFETCH_SIMPOLICY_H

#include "predictor/predictor.h"

/* The link as a prediction finds it; `price` as in struct sim_options. */
struct simpolicy_link {
	double rtt_s, bytes_per_s, backlog_s, price;
};

/* Sorts by when they are wanted. */
void simpolicy_order(struct prediction *preds, size_t n);
bool simpolicy_worth(const struct simpolicy_link *link,
    const struct prediction *pred, uint32_t bytes);

#endif
