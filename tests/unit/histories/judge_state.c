/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which states of the server a reply may tell of. */
#include <string.h>

#include "histories/judge_private.h"

/* A program reads the clock a few times in no more than this. */
#define READINGS_NS UINT64_C(1000000)
#define BOUND_NS    (UINT64_C(3000000000) + READINGS_NS) /* attr_timeout */

enum { AGE_SHARE = 10 };

/* A client knew of the change when it asked. Without a server, what the caches
 * hold after a kill may lack the last changes before it. */
static bool is_known(
    const struct judge *j, const struct judge_op *op, const struct ack *k)
{
	return k->seq < op->sent_seq && !(op->away && j->killed_seq > k->seq);
}

static bool is_about(const struct ack *k, uint64_t object, const char *name)
{
	for (unsigned i = 0; !name && i < ACK_OBJECTS; i++)
		if (k->objects[i] == object)
			return true;
	for (unsigned i = 0; name && i < ACK_NAMES; i++)
		if (k->names[i].dir == object &&
		    strcmp(k->names[i].name, name) == 0)
			return true;
	return false;
}

/* The first state that has every known change of the object, or of the name in
 * it. `rights`: only changes that may have changed who may do what. */
static unsigned after_changes(const struct judge *j, const struct judge_op *op,
    uint64_t object, const char *name, bool rights)
{
	unsigned first = 0;

	for (unsigned i = 0; i < j->nacks; i++) {
		const struct ack *k = &j->acks[i];

		if ((k->rights || !rights) && is_about(k, object, name) &&
		    is_known(j, op, k) && k->state > first)
			first = k->state;
	}
	return first;
}

/* The state that the object's attributes were told of. What the caches hold
 * without a server may be older after a kill. */
static unsigned after_told(
    const struct judge *j, const struct judge_op *op, uint64_t object)
{
	unsigned first = 0;

	for (unsigned i = 0; i < j->ntold && !op->away; i++) {
		const struct told *t = &j->told[i];

		if (t->object == object && t->seq < op->sent_seq &&
		    t->state > first)
			first = t->state;
	}
	return first;
}

/* The oldest state that the mode allows. */
static unsigned allowed(const struct judge *j, const struct judge_op *op)
{
	unsigned i = op->sent_state;

	if (op->away || j->rules.mode == JUDGE_FROZEN)
		return 0;
	if (j->rules.mode == JUDGE_STRICT)
		return i;
	while (i > 0 && j->states[i].ns + BOUND_NS > op->sent_ns)
		i--;
	return i;
}

/* The first state that has the change which the call is behind. */
static unsigned after_own(const struct judge *j, const struct judge_op *op)
{
	const struct deed *d =
	    op->behind.key && op->behind.sure ? judge_before(j, op) : NULL;

	return d ? d->state : 0;
}

unsigned judge_first(const struct judge *j, const struct judge_op *op,
    uint64_t object, const char *name)
{
	unsigned first = allowed(j, op);
	unsigned after = after_changes(j, op, object, name, false);
	unsigned told = name ? 0 : after_told(j, op, object);
	unsigned behind = name ? after_own(j, op) : 0;

	if (after > first)
		first = after;
	if (told > first)
		first = told;
	return behind > first ? behind : first;
}

unsigned judge_first_right(const struct judge *j, const struct judge_op *op)
{
	uint64_t object = judge_id(j, &op->args.object);
	unsigned first = allowed(j, op);
	unsigned after = after_changes(j, op, object, NULL, true);

	return after > first ? after : first;
}

unsigned judge_first_room(const struct judge *j, const struct judge_op *op)
{
	unsigned first = allowed(j, op);

	for (unsigned i = 0; i < j->nacks; i++) {
		const struct ack *k = &j->acks[i];

		if (k->room && is_known(j, op, k) && k->state > first)
			first = k->state;
	}
	return first;
}

/* ---- ages ---------------------------------------------------------------- */

static bool is_same_version(
    const struct judge *j, unsigned a, unsigned b, uint64_t object)
{
	const struct memfs_object *x = judge_object(&j->states[a], object);
	const struct memfs_object *y = judge_object(&j->states[b], object);

	if (!x || !y)
		return !x && !y;
	return x->ctime_ns == y->ctime_ns && x->mtime_ns == y->mtime_ns &&
	       x->size == y->size && x->mode == y->mode &&
	       x->nlink == y->nlink && x->uid == y->uid;
}

/* The version is that of a directory, and came by a call of a client's. */
static bool is_ours(const struct judge *j, unsigned state, uint64_t object)
{
	if (judge_object(&j->states[state], object)->type != NF3DIR)
		return false;
	while (state > 0 && is_same_version(j, state - 1, state, object))
		state--;
	return j->states[state].ours;
}

/* A client changed the object before the state, or made it, and the daemon knew
 * which one it was, and still does. */
static bool was_written(const struct judge *j, unsigned state, uint64_t object)
{
	for (unsigned i = j->known_state + 1; i <= state; i++)
		if (j->states[i].known && judge_object(&j->states[i], object) &&
		    (!judge_object(&j->states[i - 1], object) ||
			!is_same_version(j, i - 1, i, object)))
			return true;
	return false;
}

/*
 * A version that ended may be told for a tenth of the time that it had been
 * there, if it is of a directory, or of a file that a client changed. The
 * daemon may have confirmed it at any time before, when it was younger.
 */
bool judge_may(const struct judge *j, const struct judge_op *op,
    uint64_t object, unsigned state)
{
	const struct memfs_object *o = judge_object(&j->states[state], object);
	unsigned end = state;
	uint64_t end_ns;

	if (!j->rules.ages || op->away || !o || state >= op->sent_state ||
	    (j->rules.mode != JUDGE_BOUNDED && j->rules.mode != JUDGE_OFFLINE))
		return true;
	while (end <= op->sent_state && is_same_version(j, state, end, object))
		end++;
	if (end > op->sent_state || is_ours(j, state, object))
		return true;
	if (o->type != NF3DIR && !was_written(j, state, object))
		return true;
	end_ns = j->states[end].ns;
	return op->sent_ns <=
	       end_ns + (end_ns - o->ctime_ns) / AGE_SHARE + READINGS_NS;
}

/* Whether the state came by the call itself, which the server did. */
static bool came_by(
    const struct judge *j, const struct judge_op *op, unsigned state)
{
	for (unsigned i = 0; i < j->ndeeds; i++)
		if (j->deeds[i].state == state && j->deeds[i].done &&
		    j->deeds[i].key == op->key)
			return true;
	return false;
}

bool judge_changed_before(
    const struct judge *j, const struct judge_op *op, uint64_t object)
{
	struct judge_op any = *op;

	/* The daemon may have noted a state of any age, in each mode. */
	any.away = true;
	for (unsigned i = judge_first(j, &any, object, NULL) + 1;
	     i < j->nstates; i++)
		if (!is_same_version(j, i - 1, i, object) && !came_by(j, op, i))
			return true;
	return false;
}

/* Whether the told attributes are the last that this client was told of the
 * object at this address: the daemon cannot know that one which came is the
 * client that left. */
static bool is_last(const struct judge *j, unsigned told)
{
	const struct told *t = &j->told[told];

	for (unsigned i = told + 1; i < j->ntold; i++)
		if (j->told[i].object == t->object &&
		    j->told[i].uid == t->uid &&
		    j->told[i].address == t->address)
			return false;
	return true;
}

static bool changed_by_others(
    const struct judge *j, unsigned since, uint64_t object)
{
	for (unsigned i = since + 1; i < j->nstates; i++)
		if ((!j->states[i].ours || j->states[i].lost) &&
		    !is_same_version(j, i - 1, i, object))
			return true;
	return false;
}

bool judge_changed_behind(const struct judge *j, uint64_t object)
{
	for (unsigned i = j->ntold; i-- > 0;)
		if (j->told[i].object == object && is_last(j, i) &&
		    (j->told[i].refused ||
			changed_by_others(j, j->told[i].state, object)))
			return true;
	return false;
}
