/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Odds of mentions, by what became of those that looked alike. A class leans on
 * its group, which leaves out the target's kind, and the group on a prior; both
 * lie in tables by a hash, where classes that meet share their counts. */
#include "predictor/mention/odds.h"

enum { COUNT_MAX = 64 }; /* then both halves are halved */

/* How many mentions what was assumed before weighs. */
#define GROUP_WEIGHT 3.0
#define CLASS_WEIGHT 2.0

/* The odds before any outcome is known, by form and strength. */
static const float priors[MENTION_FORMS][MENTION_STRENGTHS] = {
    [MENTION_NAME] = {0.4f, 0.6f, 0.9f},
    [MENTION_PLAIN] = {0.1f, 0.4f, 0.7f},
    [MENTION_STEM] = {0.1f, 0.4f, 0.8f},
    [MENTION_PATH] = {0.6f, 0.7f, 0.9f},
    [MENTION_PATH_STEM] = {0.4f, 0.6f, 0.85f},
    [MENTION_MODULE] = {0.2f, 0.5f, 0.5f},
    [MENTION_TAIL] = {0.1f, 0.1f, 0.1f},
};

/* Factors by which the relation to the mentioning file lowers the odds. */
static const float nearness[MENTION_RELATIONS] = {[MENTION_SAME] = 1.0f,
    [MENTION_ABOVE] = 0.6f,
    [MENTION_SEARCHED] = 0.8f,
    [MENTION_NAMED] = 1.0f};

double odds_count_p(const struct odds_count *n, double prior, double weight)
{
	return (n->true_ + weight * prior) / (n->all + weight);
}

void odds_count_add(struct odds_count *n, bool came_true)
{
	if (n->all >= COUNT_MAX) {
		n->all /= 2;
		n->true_ /= 2;
	}
	n->all++;
	n->true_ += came_true;
}

static uint32_t group_of(const struct mention_class *c)
{
	uint32_t x = c->source_kind;

	x = x * MENTION_RELATIONS + c->relation;
	x = x * MENTION_FORMS + c->form;
	return x * MENTION_STRENGTHS + c->strength;
}

static uint32_t group_slot(const struct mention_class *c)
{
	return group_of(c) * 2654435761u >> 22;
}

static uint32_t class_slot(const struct mention_class *c)
{
	return (group_of(c) << 6 | c->target_kind) * 2654435761u >> 20;
}

double odds_p(const struct odds *o, const struct mention_class *c)
{
	double prior = (double)priors[c->form][c->strength];

	if (c->strength != MENTION_HERE)
		prior *= (double)nearness[c->relation];
	prior = odds_count_p(&o->groups[group_slot(c)], prior, GROUP_WEIGHT);
	return odds_count_p(&o->classes[class_slot(c)], prior, CLASS_WEIGHT);
}

void odds_add(struct odds *o, const struct mention_class *c, bool came_true)
{
	odds_count_add(&o->groups[group_slot(c)], came_true);
	odds_count_add(&o->classes[class_slot(c)], came_true);
}

static void correct(struct odds_count *n)
{
	if (n->true_ < n->all)
		n->true_++;
}

void odds_correct(struct odds *o, const struct mention_class *c)
{
	correct(&o->groups[group_slot(c)]);
	correct(&o->classes[class_slot(c)]);
}
