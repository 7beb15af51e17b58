/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access trees as published (Lei and Duchamp 1997), as far as they can be had
 * without seeing fork and exec: a program's first read begins a working tree
 * and is a child of the tree before. The last five patterns of a program are
 * kept. The current pattern is followed while it fits; then the best one above
 * the threshold is taken, and of equal ones the newest. Where pids are known,
 * each process has its own working tree.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/baselines/atree.h"
#include "predictor/baselines/ids.h"
#include "predictor/baselines/model.h"

enum { PATTERNS = 5, NODES_MAX = 1024 };
#define THRESHOLD 0.5

struct tree {
	struct atree_node *nodes;
	uint32_t n, cap;
};

struct program {
	struct tree patterns[PATTERNS];
	uint8_t next;
};

struct process {
	struct tree working;
	uint32_t program; /* number of its object + 1; 0 before the first */
	int8_t current;   /* the pattern that it follows; -1 if none */
};

struct atree {
	struct ids ids, pids;
	struct program *programs;
	struct process *processes;
	uint32_t cap_programs, cap_processes, now;
	bool begun; /* `now` is the process of the last event */
	size_t node_bytes;
};

static void atree_destroy(void *arg)
{
	struct atree *m = arg;

	for (uint32_t i = 0; i < m->cap_programs; i++)
		for (int j = 0; j < PATTERNS; j++)
			free(m->programs[i].patterns[j].nodes);
	for (uint32_t i = 0; i < m->cap_processes; i++)
		free(m->processes[i].working.nodes);
	free(m->programs);
	free(m->processes);
	ids_done(&m->ids);
	ids_done(&m->pids);
	free(m);
}

/* Appends the read; a tree that is too long stays as it is. */
static void tree_add(struct atree *m, struct tree *t, uint32_t id, bool exec)
{
	uint32_t cap = t->cap;

	if (t->n >= NODES_MAX || !VEC_ROOM(t->nodes, t->cap, t->n))
		return;
	m->node_bytes += (t->cap - cap) * sizeof(*t->nodes);
	t->nodes[t->n++] = (struct atree_node){.object = id, .exec = exec};
}

/* The working tree is complete and becomes its program's newest pattern. */
static void process_finish(struct atree *m, struct process *p)
{
	struct program *prog;
	struct tree *old;

	if (!p->program || p->working.n < 2) {
		p->working.n = 0;
		return;
	}
	prog = &m->programs[p->program - 1];
	old = &prog->patterns[prog->next];
	m->node_bytes -= old->cap * sizeof(*old->nodes);
	free(old->nodes);
	*old = p->working;
	memset(&p->working, 0, sizeof(p->working));
	prog->next = (uint8_t)((prog->next + 1) % PATTERNS);
}

/* How well a pattern fits the working tree: 0 to 1. */
static double pattern_fit(const struct tree *t, const struct tree *w)
{
	size_t pivot = atree_pivot(t->nodes, t->n, w->nodes, w->n);

	return pivot ? atree_compat(t->nodes, pivot, w->nodes, w->n) : 0;
}

/* Stays with the current pattern while it fits, as the paper does. */
static void process_choose(struct atree *m, struct process *p)
{
	struct program *prog = &m->programs[p->program - 1];
	double best = THRESHOLD;

	if (p->current >= 0 &&
	    pattern_fit(&prog->patterns[p->current], &p->working) >= THRESHOLD)
		return;
	p->current = -1;
	for (int age = 1; age <= PATTERNS; age++) {
		int i = (prog->next + PATTERNS - age) % PATTERNS;
		double fit = pattern_fit(&prog->patterns[i], &p->working);

		if (fit > best || (fit == best && p->current < 0)) {
			best = fit;
			p->current = (int8_t)i;
		}
	}
}

static void atree_observe(void *arg, const struct predictor_obs *o)
{
	struct atree *m = arg;
	uint32_t id = ids_get(&m->ids, o->object);
	uint32_t pid = ids_get(&m->pids, o->pid);
	struct process *p;

	m->begun = false;
	if (id == KEYMAP_NONE || pid == KEYMAP_NONE ||
	    !VEC_ROOM(m->programs, m->cap_programs, id) ||
	    !VEC_ROOM(m->processes, m->cap_processes, pid))
		return;
	p = &m->processes[pid];
	m->begun = true;
	m->now = pid;
	if (p->program)
		tree_add(m, &p->working, id, o->exec);
	if (o->exec) {
		process_finish(m, p);
		p->program = id + 1;
		p->current = -1;
		tree_add(m, &p->working, id, true);
	}
	if (p->program)
		process_choose(m, p);
}

static size_t atree_predict(void *arg, struct prediction *out, size_t max)
{
	struct atree *m = arg;
	const struct process *p;
	const struct tree *t;
	size_t pivot, n = 0;
	float fit;

	if (!m->begun)
		return 0;
	p = &m->processes[m->now];
	if (!p->program || p->current < 0)
		return 0;
	t = &m->programs[p->program - 1].patterns[p->current];
	pivot = atree_pivot(t->nodes, t->n, p->working.nodes, p->working.n);
	fit = (float)pattern_fit(t, &p->working);
	for (size_t i = pivot; i < t->n && n < max; i++, n++)
		model_predict(out, n, m->ids.keys[t->nodes[i].object],
		    fit < P_MOST ? fit : P_MOST);
	return n;
}

static size_t atree_memory(const void *arg)
{
	const struct atree *m = arg;

	return ids_memory_bytes(&m->ids) + ids_memory_bytes(&m->pids) +
	       m->cap_programs * sizeof(struct program) +
	       m->cap_processes * sizeof(struct process) + m->node_bytes;
}

const struct model_ops model_atree = {
    .name = "access-trees",
    .what = "access trees as published",
    .size = sizeof(struct atree),
    .destroy = atree_destroy,
    .observe = atree_observe,
    .predict = atree_predict,
    .memory_bytes = atree_memory,
};
