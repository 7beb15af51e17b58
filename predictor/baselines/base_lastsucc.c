/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Last successor: what followed an object the last time, and what followed
 * that, in a chain of eight. The judge's row fetches all of the chain. In the
 * other row each object knows how often its successor was right, and `p` is the
 * product along the chain.
 */
#include <stdlib.h>

#include "predictor/baselines/ids.h"
#include "predictor/baselines/model.h"

enum { CHAIN = 8 };

struct base_lastsucc_node {
	uint32_t next;         /* number + 1; 0 if none */
	uint32_t tried, right; /* how often `next` was compared, and equal */
};

struct lastsucc {
	struct ids ids;
	struct base_lastsucc_node *nodes;
	uint32_t cap, now;
	bool begun; /* `now` is the last object */
};

static void lastsucc_destroy(void *arg)
{
	struct lastsucc *m = arg;

	ids_done(&m->ids);
	free(m->nodes);
	free(m);
}

static void lastsucc_observe(void *arg, const struct predictor_obs *o)
{
	struct lastsucc *m = arg;
	uint32_t id = ids_get(&m->ids, o->object);

	if (id == KEYMAP_NONE || !VEC_ROOM(m->nodes, m->cap, id))
		return;
	if (m->begun) {
		struct base_lastsucc_node *n = &m->nodes[m->now];

		n->tried += n->next != 0;
		n->right += n->next == id + 1;
		n->next = id + 1;
	}
	m->begun = true;
	m->now = id;
}

static size_t lastsucc_predict(void *arg, struct prediction *out, size_t max)
{
	struct lastsucc *m = arg;
	uint32_t id = m->now;
	float p = 1;
	size_t n = 0;

	if (!m->begun)
		return 0;
	while (n < CHAIN && n < max && m->nodes[id].next) {
		const struct base_lastsucc_node *node = &m->nodes[id];

		p *= ((float)node->right + 1) / ((float)node->tried + 2);
		id = node->next - 1;
		model_predict(out, n++, m->ids.keys[id], p);
	}
	return n;
}

static size_t lastsucc_memory(const void *arg)
{
	const struct lastsucc *m = arg;

	return ids_memory_bytes(&m->ids) +
	       m->cap * sizeof(struct base_lastsucc_node);
}

#define LASTSUCC_OPS                                                           \
	.size = sizeof(struct lastsucc), .destroy = lastsucc_destroy,          \
	.observe = lastsucc_observe, .predict = lastsucc_predict,              \
	.memory_bytes = lastsucc_memory

const struct model_ops model_last_successor = {
    .name = "last-successor",
    .what = "last successor, a chain of 8, gated",
    LASTSUCC_OPS,
};

const struct model_ops model_last_successor_8 = {
    .name = "last-successor-8",
    .what = "last successor, a chain of 8, ungated",
    .ungated = true,
    LASTSUCC_OPS,
};
