/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the states of the server, and compares replies with them. */
#include "histories/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histories/judge_private.h"
#include "scenario/vclock.h"
#include "sweep/memfs_copy.h"

/* ---- states and what the server did -------------------------------------- */

static void *grow(void *list, unsigned n, size_t size)
{
	/* By powers of two. */
	if (n > 0 && (n & (n - 1)) != 0)
		return list;
	list = realloc(list, (n ? 2 * n : 1) * size);
	if (!list)
		abort();
	return list;
}

static void add_state(struct judge *j, struct memfs *fs)
{
	j->states = grow(j->states, j->nstates, sizeof(j->states[0]));
	j->states[j->nstates++] =
	    (struct state){.fs = fs, .ns = vclock_wall_ns()};
}

struct judge *judge_new(enum judge_mode mode, const struct memfs *fs)
{
	struct judge *j = calloc(1, sizeof(*j));

	j->mode = mode;
	add_state(j, memfs_copy(fs));
	j->states[0].ns = 0;
	return j;
}

void judge_free(struct judge *j)
{
	for (unsigned i = 0; i < j->nstates; i++)
		memfs_free(j->states[i].fs);
	free(j->states);
	free(j->deeds);
	free(j);
}

void judge_changed(struct judge *j, const struct memfs *fs)
{
	j->seq++;
	add_state(j, memfs_copy(fs));
}

bool judge_is_change(const struct nfs_proc *proc)
{
	return proc->proc == NFSPROC3_SETATTR ||
	       (proc->proc >= NFSPROC3_WRITE && proc->proc <= NFSPROC3_LINK) ||
	       proc->proc == NFSPROC3_COMMIT;
}

/* FNV-1a of what the arguments are on the wire. */
static uint64_t key_of(
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid)
{
	unsigned char bytes[4096];
	size_t len = nfs_args_encode(proc, args, bytes, sizeof(bytes));
	uint64_t h =
	    UINT64_C(14695981039346656037) ^ uid ^ (uint64_t)proc->proc << 32;

	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * UINT64_C(1099511628211);
	for (size_t i = 0;
	     proc->proc == NFSPROC3_WRITE && i < args->write.data.len; i++)
		h = (h ^ (unsigned char)args->write.data.data[i]) *
		    UINT64_C(1099511628211);
	return h;
}

static struct deed *add_deed(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid)
{
	struct deed *d;

	j->deeds = grow(j->deeds, j->ndeeds, sizeof(j->deeds[0]));
	d = &j->deeds[j->ndeeds++];
	memset(d, 0, sizeof(*d));
	d->key = key_of(proc, args, uid);
	d->seq = ++j->seq;
	return d;
}

void judge_serve(struct judge *j, const struct memfs *fs,
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid,
    nfsstat3 status)
{
	struct memfs *next;
	union nfs_res res;
	struct deed *d;

	if (!judge_is_change(proc))
		return;
	next = memfs_copy(fs);
	next->now_ns = vclock_wall_ns();
	memfs_execute(next, proc->proc, args, uid, &res);
	add_state(j, next);
	d = add_deed(j, proc, args, uid);
	d->done = res.status == NFS3_OK;
	d->state = j->nstates - 1;
	if (status != NFS3_OK)
		calltext_one_fact(&d->facts, calltext_status_name(status));
	else
		calltext_facts(proc, &res, &d->facts);
}

void judge_refuse(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, nfsstat3 status)
{
	struct deed *d;

	d = add_deed(j, proc, args, uid);
	d->state = j->nstates - 1;
	calltext_one_fact(&d->facts, calltext_status_name(status));
}

void judge_reboot(struct judge *j, const struct memfs *fs)
{
	judge_changed(j, fs);
	j->rebooted_seq = j->seq;
}

void judge_killed(struct judge *j)
{
	j->killed_seq = ++j->seq;
}

void judge_sent(struct judge *j, struct judge_op *op)
{
	op->sent_ns = vclock_wall_ns();
	op->sent_state = j->nstates - 1;
	op->sent_seq = ++j->seq;
}

/* ---- verdicts -------------------------------------------------------------
 */

const char *judge_wrong(struct judge *j, const char *what,
    const struct calltext_facts *got, const struct calltext_facts *right)
{
	char a[200], b[200] = "nothing";

	calltext_say_facts(got, a, sizeof(a));
	if (right)
		calltext_say_facts(right, b, sizeof(b));
	snprintf(j->why, sizeof(j->why), "%s: got %s; the server now says %s",
	    what, a, b);
	return j->why;
}

static void note_ack(struct judge *j, const struct judge_op *op, unsigned state)
{
	struct ack *k;

	if (j->nacks == ACKS)
		return;
	k = &j->acks[j->nacks++];
	*k = (struct ack){
	    .proc = op->proc->proc, .state = state, .seq = ++j->seq};
	judge_touched(op, k);
}

/* The deeds that may be this one's. */
const char *judge_change(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	uint64_t key = key_of(op->proc, &op->args, op->uid);
	const struct deed *last = NULL;
	unsigned done = 0, tried = 0;
	bool right = false, ok = strcmp(got->list[0], "OK") == 0;

	for (unsigned i = 0; i < j->ndeeds; i++) {
		const struct deed *d = &j->deeds[i];

		if (d->key != key || d->seq < op->sent_seq)
			continue;
		tried++;
		done += d->done;
		right |= calltext_same_facts(&d->facts, got) || (ok && d->done);
		last = d;
	}
	if (!last)
		return judge_wrong(j, "answered, and never done", got, NULL);
	if (done > 1 && judge_is_once(op->proc) &&
	    j->rebooted_seq < op->sent_seq)
		return judge_wrong(j, "done twice", got, &last->facts);
	if (!right)
		return judge_wrong(
		    j, "not what the server answered", got, &last->facts);
	note_ack(j, op, last->state);
	return NULL;
}

/* An error that the server gave to a look of this client's is right. */
static bool was_refused(const struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	for (unsigned i = j->ndeeds; i-- > 0;) {
		const struct deed *d = &j->deeds[i];

		if (d->seq < op->sent_seq)
			return false;
		if (!d->done && calltext_same_facts(&d->facts, got) &&
		    d->key == key_of(op->proc, &op->args, op->uid))
			return true;
	}
	return false;
}

const char *judge_reply(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	j->seq++;
	if (judge_is_change(op->proc))
		return judge_change(j, op, got);
	return was_refused(j, op, got) ? NULL : judge_look(j, op, got);
}
