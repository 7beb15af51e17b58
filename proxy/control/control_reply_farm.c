/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The farm: how it does, `forefetch farm check` and `flush`. The check is long
 * work, which goes on in each turn while the engine answers; a flush goes on in
 * the farm by itself, as it must not end with its client. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/control_reply_private.h"
#include "engine/engine.h"
#include "farm/farm.h"
#include "farm/farm_check.h"

/* Nodes that a status lists; a cluster of Redis has a thousand at most, mostly
 * a handful. */
enum { NODES_MAX = 256 };

/* The protocol's numbers for the states of engine.h. */
static const Forefetch__FarmStatus__State states[] = {
    [ENGINE_CONNECTING] = FOREFETCH__FARM_STATUS__STATE__CONNECTING,
    [ENGINE_UP] = FOREFETCH__FARM_STATUS__STATE__UP,
    [ENGINE_FULL] = FOREFETCH__FARM_STATUS__STATE__FULL,
    [ENGINE_SLOW] = FOREFETCH__FARM_STATUS__STATE__SLOW,
    [ENGINE_DOWN] = FOREFETCH__FARM_STATUS__STATE__DOWN,
    [ENGINE_REFUSES] = FOREFETCH__FARM_STATUS__STATE__REFUSES,
};

/* ---- status ---------------------------------------------------------- */

/* Fills in the farm's part of the configuration. */
static void fill_config(struct arena *a, const struct config_farm *config,
    Forefetch__FarmStatus *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} words[] = {{CONFIG_SHARE_DATA, "data"},
	    {CONFIG_SHARE_LISTINGS, "listings"}, {CONFIG_SHARE_TREES, "trees"}};
	const size_t n = sizeof(words) / sizeof(words[0]);

	out->publish_cap_bytes_per_second = config->publish_cap;
	out->share = arena_alloc(a, n, sizeof(*out->share));
	for (size_t i = 0; out->share && i < n; i++)
		if (config->share & words[i].bit)
			out->share[out->n_share++] = (char *)words[i].name;
}

static void fill_counters(
    const struct engine_status *st, Forefetch__FarmStatus *out)
{
	out->gets = st->gets;
	out->hits = st->hits;
	out->timeouts = st->timeouts;
	out->got_bytes = st->got_bytes;
	out->puts = st->puts;
	out->put_bytes = st->put_bytes;
	out->refused_puts = st->refused_puts;
	out->rejected_puts = st->rejected_puts;
	out->redirects = st->redirects;
	out->reconnects = st->reconnects;
}

static void fill_nodes(
    struct arena *a, const struct engine *e, Forefetch__FarmStatus *out)
{
	struct engine_node_status *nodes =
	    arena_alloc(a, NODES_MAX, sizeof(*nodes));
	size_t n = nodes ? engine_get_nodes(e, nodes, NODES_MAX) : 0;

	if (n > NODES_MAX)
		n = NODES_MAX;
	out->nodes = arena_messages(a, &forefetch__farm_node__descriptor, n);
	for (size_t i = 0; out->nodes && i < n; i++) {
		Forefetch__FarmNode *to = out->nodes[out->n_nodes++];

		to->name = arena_bytes(a, "%s", nodes[i].name);
		to->state = states[nodes[i].state];
		to->error = arena_bytes(a, "%s", nodes[i].error);
		to->slots = nodes[i].slots;
		to->srtt_us = nodes[i].srtt_us;
	}
}

/* The id of a farm, from a prefix "ff:ID:". */
static char *id_of(struct arena *a, const char *prefix)
{
	const char *begin = strchr(prefix, ':');
	size_t len = begin ? strcspn(begin + 1, ":") : 0;
	char *id = arena_alloc(a, len + 1, 1);

	if (!id)
		return "";
	if (begin)
		memcpy(id, begin + 1, len);
	return id;
}

Forefetch__FarmStatus *control_farm_status(struct arena *a, struct farm *farm)
{
	Forefetch__FarmStatus *out =
	    arena_message(a, &forefetch__farm_status__descriptor);
	struct engine_status st;

	if (!out)
		return NULL;
	engine_get_status(farm_engine(farm), &st);
	out->state = states[st.state];
	out->error = arena_bytes(a, "%s", st.error);
	out->id = id_of(a, farm_prefix(farm));
	out->version = arena_bytes(a, "%s", st.version);
	out->cluster = st.cluster;
	out->srtt_us = st.srtt_us;
	fill_counters(&st, out);
	fill_nodes(a, farm_engine(farm), out);
	fill_config(a, farm_config(farm), out);
	return out;
}

/* The state is OFF, which is 0. */
Forefetch__FarmStatus *control_farm_off(
    struct arena *a, const struct config_farm *config, const char *error)
{
	Forefetch__FarmStatus *out =
	    arena_message(a, &forefetch__farm_status__descriptor);

	if (!out)
		return NULL;
	out->error = arena_bytes(a, "%s", error);
	fill_config(a, config, out);
	return out;
}

/* ---- check ------------------------------------------------------------ */

/* The protocol's numbers for the results of farm_check.h. */
static const Forefetch__FarmChecked__Trial trials[] = {
    [FARM_TRIAL_GOOD] = FOREFETCH__FARM_CHECKED__TRIAL__GOOD,
    [FARM_TRIAL_NOT_ASKED] = FOREFETCH__FARM_CHECKED__TRIAL__NOT_ASKED,
    [FARM_TRIAL_NOT_SENT] = FOREFETCH__FARM_CHECKED__TRIAL__NOT_SENT,
    [FARM_TRIAL_NO_ANSWER] = FOREFETCH__FARM_CHECKED__TRIAL__NO_ANSWER,
    [FARM_TRIAL_NOT_THERE] = FOREFETCH__FARM_CHECKED__TRIAL__NOT_THERE,
    [FARM_TRIAL_NOT_THE_SAME] = FOREFETCH__FARM_CHECKED__TRIAL__NOT_THE_SAME,
};

/* A check that is under way; the session owns it. */
struct check_work {
	struct control_work work;
	struct farm_check *check;
};

static void free_check(struct control_work *w)
{
	farm_check_free(((struct check_work *)w)->check);
	free(w);
}

/* The engine tells of memory and policy, the farm whose the sampled keys are;
 * both have one row a node, in the same order. */
static void fill_looks(struct reply *r, const struct farm_check *check,
    Forefetch__FarmChecked *out)
{
	const struct engine_sample_node *nodes;
	const struct farm_check_keys *keys;
	size_t n = farm_check_nodes(check, &nodes, &keys);

	out->nodes =
	    arena_messages(&r->arena, &forefetch__farm_look__descriptor, n);
	for (size_t i = 0; out->nodes && i < n; i++) {
		Forefetch__FarmLook *to = out->nodes[out->n_nodes++];

		to->name = arena_bytes(&r->arena, "%s", nodes[i].name);
		to->error = arena_bytes(&r->arena, "%s", nodes[i].error);
		to->policy = arena_bytes(&r->arena, "%s", nodes[i].policy);
		to->memory_bytes = nodes[i].memory_bytes;
		to->memory_limit_bytes = nodes[i].memory_limit_bytes;
		to->evicted = nodes[i].evicted;
		to->keys = nodes[i].keys;
		to->sampled = nodes[i].sampled;
		to->own = keys[i].own;
		to->others = keys[i].others;
		to->foreign = keys[i].foreign;
	}
}

static void fill_others(struct reply *r, const struct farm_check *check,
    Forefetch__FarmChecked *out)
{
	const char *id;

	out->other_farms = arena_alloc(
	    &r->arena, FARM_CHECK_OTHERS_MAX, sizeof(*out->other_farms));
	for (size_t i = 0;
	     out->other_farms && (id = farm_check_other(check, i)); i++) {
		char *copy = arena_alloc(&r->arena, strlen(id) + 1, 1);

		if (!copy)
			return;
		strcpy(copy, id);
		out->other_farms[out->n_other_farms++] = copy;
	}
}

/* The status is that of now: a check may have brought the engine up, or
 * down. */
static void fill_checked(struct reply *r, struct farm *farm,
    const struct farm_check *check, Forefetch__FarmChecked *out)
{
	out->status = control_farm_status(&r->arena, farm);
	out->trial = trials[farm_check_trial(check)];
	out->round_trip_us = farm_check_round_trip_us(check);
	fill_looks(r, check, out);
	fill_others(r, check, out);
}

/* Begins a check, or goes on with it. It has to do with no server, so it
 * survives a reload; the farm itself changes only with a restart. */
static void check(struct reply *r, struct farm *farm, Forefetch__Farmed *out)
{
	uint64_t now_us = clock_now_us();
	struct check_work *w;
	bool begun;

	w = reply_work(r, sizeof(*w), free_check, &begun);
	if (!w)
		return;
	w->work.no_server = true;
	if (begun)
		w->check = farm_check_new(farm, now_us);
	if (!w->check) {
		r->arena.failed = true;
		return;
	}
	r->later = !farm_check_step(w->check, now_us);
	if (r->later)
		return;
	out->checked =
	    arena_message(&r->arena, &forefetch__farm_checked__descriptor);
	if (out->checked)
		fill_checked(r, farm, w->check, out->checked);
}

/* ---- flush ------------------------------------------------------------ */

/* Begins a flush, or tells how the last one did. Whoever comes second hears of
 * the one that is under way. */
static void flush(
    struct reply *r, struct farm *farm, bool begin, Forefetch__Farmed *out)
{
	struct farm_flush_status st;

	farm_get_flush(farm, &st);
	/* Whoever comes second hears of the one that is under way. */
	if (begin && !st.busy && !farm_flush(farm)) {
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "the engine cannot be asked now; see forefetch farm "
		    "status");
		return;
	}
	farm_get_flush(farm, &st);
	out->flushed =
	    arena_message(&r->arena, &forefetch__farm_flushed__descriptor);
	if (!out->flushed)
		return;
	out->flushed->busy = st.busy;
	out->flushed->removed = st.removed;
	out->flushed->error = arena_bytes(&r->arena, "%s", st.error);
}

/* ---- the command ------------------------------------------------------ */

/* A later release may ask for more; it is told so instead of being given
 * something else. */
static bool is_known(const Forefetch__FarmRequest *req)
{
	return req->action == FOREFETCH__FARM_REQUEST__ACTION__CHECK ||
	       req->action == FOREFETCH__FARM_REQUEST__ACTION__FLUSH ||
	       req->action == FOREFETCH__FARM_REQUEST__ACTION__FLUSHED;
}

void reply_farm(struct reply *r, const Forefetch__Request *request, void *out)
{
	const Forefetch__FarmRequest *req = request->farm;
	struct farm *farm = r->ops->farm(r->ctx);

	if (!is_known(req))
		reply_unknown_command(r);
	else if (!farm)
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "there is no farm in use; see forefetch farm status");
	else if (req->action == FOREFETCH__FARM_REQUEST__ACTION__CHECK)
		check(r, farm, out);
	else
		flush(r, farm,
		    req->action == FOREFETCH__FARM_REQUEST__ACTION__FLUSH, out);
}
