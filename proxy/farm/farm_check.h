/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * People check a farm: whether its engine keeps what it is given, and what else
 * is there.
 */
#ifndef FOREFETCH_FARM_CHECK_H
#define FOREFETCH_FARM_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_sample_node;
struct farm;
struct farm_check;

enum { FARM_CHECK_OTHERS_MAX = 16 };

/* How the trial ended, in which a value is put, had back, and removed. */
enum farm_trial {
	FARM_TRIAL_GOOD,
	FARM_TRIAL_NOT_ASKED,    /* nobody could be asked */
	FARM_TRIAL_NOT_SENT,     /* it was not to be put */
	FARM_TRIAL_NO_ANSWER,    /* it was not to be had in time */
	FARM_TRIAL_NOT_THERE,    /* it was gone at once */
	FARM_TRIAL_NOT_THE_SAME, /* another one was there */
};

/* The keys of a sample of a node's keys, by their kinds. */
struct farm_check_keys {
	uint64_t own;     /* this farm's */
	uint64_t others;  /* those of other farms */
	uint64_t foreign; /* of no farm */
};

/* Begins a check at `now_us`. NULL without memory. */
struct farm_check *farm_check_new(struct farm *f, uint64_t now_us);
/* Ends it; before the farm is freed. NULL is allowed. */
void farm_check_free(struct farm_check *c);
/* To be called again and again, a moment apart: true when it is over, which is
 * so after some seconds in any case. */
bool farm_check_step(struct farm_check *c, uint64_t now_us);

/* How the trial ended; valid when the check is over. */
enum farm_trial farm_check_trial(const struct farm_check *c);
/* The round trip of the fastest of some questions, in microseconds; 0: there
 * was no answer. */
uint64_t farm_check_round_trip_us(const struct farm_check *c);
/* Each node that was asked, and what its keys are: two arrays of as many
 * elements, which live as long as the check. Returns how many. */
size_t farm_check_nodes(const struct farm_check *c,
    const struct engine_sample_node **nodes,
    const struct farm_check_keys **keys);
/* The id of another farm whose keys were seen there; NULL: no more. */
const char *farm_check_other(const struct farm_check *c, size_t i);

#endif
