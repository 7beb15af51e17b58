/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the states of the server and what it did, and judges replies to
 * changes. */
#include "histories/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "histories/judge_private.h"
#include "scenario/vclock.h"
#include "svc/doubt.h"
#include "sweep/memfs_copy.h"

/* ---- states and deeds -------------------------------------------------- */

void *judge_grow(void *list, unsigned n, size_t size)
{
	if (n > 0 && (n & (n - 1)) != 0)
		return list;
	list = realloc(list, (n ? 2 * n : 1) * size);
	if (!list)
		abort();
	return list;
}

static struct state *add_state(struct judge *j, struct memfs *fs)
{
	struct state *s;

	j->states = judge_grow(j->states, j->nstates, sizeof(j->states[0]));
	s = &j->states[j->nstates++];
	*s = (struct state){.fs = fs, .ns = vclock_wall_ns()};
	return s;
}

struct judge *judge_new(struct judge_rules rules, const struct memfs *fs)
{
	struct judge *j = calloc(1, sizeof(*j));

	j->rules = rules;
	add_state(j, memfs_copy(fs))->ns = 0;
	return j;
}

void judge_free(struct judge *j)
{
	for (unsigned i = 0; i < j->nstates; i++)
		memfs_free(j->states[i].fs);
	free(j->states);
	free(j->deeds);
	free(j->acks);
	free(j->told);
	free(j);
}

void judge_changed(struct judge *j, const struct memfs *fs)
{
	j->seq++;
	(void)add_state(j, memfs_copy(fs));
}

uint64_t judge_key(
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid)
{
	unsigned char bytes[4096];
	size_t len = nfs_args_encode(proc, args, bytes, sizeof(bytes));
	uint64_t key =
	    XXH3_64bits_withSeed(bytes, len, (uint64_t)proc->proc << 32 | uid);

	/* nfs_args_encode() leaves out the bytes that a WRITE carries, so they
	 * are hashed apart. */
	if (proc->proc == NFSPROC3_WRITE)
		key = XXH3_64bits_withSeed(
		    args->write.data.data, args->write.data.len, key);
	return key;
}

static struct deed *add_deed(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid)
{
	struct deed *d;

	j->deeds = judge_grow(j->deeds, j->ndeeds, sizeof(j->deeds[0]));
	d = &j->deeds[j->ndeeds++];
	memset(d, 0, sizeof(*d));
	d->key = judge_key(proc, args, uid);
	d->seq = ++j->seq;
	return d;
}

/* A file's handle is in their arguments. */
static bool has_handle(const struct nfs_proc *proc)
{
	return proc->proc == NFSPROC3_SETATTR || proc->proc == NFSPROC3_WRITE ||
	       proc->proc == NFSPROC3_COMMIT || proc->proc == NFSPROC3_LINK;
}

/* Whether the reply to a change gives a handle to the client that had it. */
static bool gives_handle(const struct nfs_proc *proc)
{
	return proc->proc >= NFSPROC3_CREATE && proc->proc <= NFSPROC3_MKNOD;
}

void judge_serve(struct judge *j, const struct memfs *fs,
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid,
    nfsstat3 status)
{
	struct memfs *next;
	struct state *s;
	union nfs_res res;
	struct deed *d;

	if (!calltext_is_change(proc))
		return;
	next = memfs_copy(fs);
	next->now_ns = vclock_wall_ns();
	memfs_execute(next, proc->proc, args, uid, &res);
	s = add_state(j, next);
	s->ours = true;
	s->known = has_handle(proc);
	d = add_deed(j, proc, args, uid);
	d->done = res.status == NFS3_OK;
	d->state = j->nstates - 1;
	if (status != NFS3_OK)
		calltext_one_fact(&d->reply, calltext_status_name(status));
	else
		calltext_facts(proc, &res, &d->reply);
}

void judge_lose(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, bool gone)
{
	uint64_t key = judge_key(proc, args, uid);

	for (unsigned i = j->ndeeds; i-- > 0;) {
		struct state *s = &j->states[j->deeds[i].state];

		if (j->deeds[i].key != key)
			continue;
		s->lost = true;
		s->known &= !gone;
		return;
	}
}

void judge_refuse(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, nfsstat3 status)
{
	struct deed *d = add_deed(j, proc, args, uid);

	d->state = j->nstates - 1;
	calltext_one_fact(&d->reply, calltext_status_name(status));
}

void judge_reboot(struct judge *j, const struct memfs *fs)
{
	judge_changed(j, fs);
	j->rebooted_seq = j->seq;
}

void judge_killed(struct judge *j)
{
	j->killed_seq = ++j->seq;
	judge_forgot(j);
}

void judge_forgot(struct judge *j)
{
	j->known_state = j->nstates - 1;
}

void judge_sent(struct judge *j, struct judge_op *op)
{
	op->key = judge_key(op->proc, &op->args, op->uid);
	op->sent_ns = vclock_wall_ns();
	op->sent_state = j->nstates - 1;
	op->sent_seq = ++j->seq;
}

/* ---- verdicts ---------------------------------------------------------- */

const char *judge_wrong(struct judge *j, const char *what,
    const struct calltext_facts *got, const struct calltext_facts *right)
{
	char a[200], b[200] = "nothing";

	calltext_say_facts(got, a, sizeof(a));
	if (right)
		calltext_say_facts(right, b, sizeof(b));
	snprintf(j->why, sizeof(j->why), "%s: got %s; the server says %s", what,
	    a, b);
	return j->why;
}

static void add_ack(struct judge *j, const struct judge_op *op, unsigned state)
{
	struct ack *k;

	j->acks = judge_grow(j->acks, j->nacks, sizeof(j->acks[0]));
	k = &j->acks[j->nacks++];
	*k = (struct ack){.state = state, .seq = ++j->seq};
	judge_touched(j, op, k);
}

/* Changes that make a difference when they are done twice. */
static bool is_once(const struct nfs_proc *proc)
{
	return proc->proc >= NFSPROC3_CREATE && proc->proc <= NFSPROC3_LINK;
}

/* An unguarded SETATTR is not repeated over what somebody else has changed
 * since the daemon noted it. */
static bool is_contested_set(const struct judge *j, const struct judge_op *op)
{
	return op->proc->proc == NFSPROC3_SETATTR && op->noted &&
	       !op->args.setattr.guard.check &&
	       judge_changed_before(j, op, judge_id(j, &op->args.object));
}

/* Whether the reply is right for a change of which nobody can know whether the
 * server did it: the error of a repeat, or OK where the effect is there. */
static bool is_doubtful_reply(const struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	int status = calltext_status(got->list[0]);
	union nfs_res res = {.status = (nfsstat3)status};

	if (!op->doubtful || status < 0)
		return false;
	return doubt_ambiguous(op->proc, &op->args, &res) ||
	       (res.status == NFS3ERR_IO && is_contested_set(j, op)) ||
	       (res.status == NFS3_OK && judge_has_effect(j, op));
}

/* The judge gathers here what the server did with a call since it was sent. */
struct outcome {
	unsigned done;           /* so many times */
	bool others;             /* it did it to different objects */
	bool answered;           /* it gave this very reply */
	bool answered_done;      /* it gave it when it did the change */
	unsigned state;          /* after it was done last */
	const struct deed *last; /* NULL: it never had the call */
};

static void add_deed_to(struct outcome *o, const struct judge *j,
    const struct judge_op *op, const struct deed *d,
    const struct calltext_facts *got)
{
	bool same = calltext_same_facts(&d->reply, got);

	if (!o->last)
		o->last = d;
	if (d->done && o->done > 0)
		o->others |=
		    judge_victim(
			&j->states[d->state - 1], op->proc, &op->args) !=
		    judge_victim(&j->states[o->state - 1], op->proc, &op->args);
	else if (d->done)
		o->state = d->state;
	o->done += d->done;
	o->answered |= same;
	o->answered_done |= same && d->done;
}

static struct outcome outcome_of(const struct judge *j,
    const struct judge_op *op, const struct calltext_facts *got)
{
	struct outcome o = {0};

	for (unsigned i = j->ndeeds;
	     i-- > 0 && j->deeds[i].seq >= op->sent_seq;)
		if (j->deeds[i].key == op->key)
			add_deed_to(&o, j, op, &j->deeds[i], got);
	return o;
}

/* The server's reply cache answers a repeat of a change until the server
 * reboots. It keeps none of COMMIT, and a daemon that was killed repeats WRITEs
 * as new calls. */
static bool is_kept(const struct judge *j, const struct judge_op *op)
{
	return op->proc->proc != NFSPROC3_COMMIT &&
	       op->proc->proc != NFSPROC3_WRITE &&
	       j->rebooted_seq < op->sent_seq;
}

/* Whether the server did it more often than it may. */
static bool is_repeated(
    const struct judge *j, const struct judge_op *op, const struct outcome *o)
{
	if (o->done < 2)
		return false;
	return (is_once(op->proc) && is_kept(j, op)) ||
	       (o->others && op->noted);
}

/*
 * The daemon may refuse a WRITE that rests on attributes which it told from its
 * cache, where somebody else has changed the file behind them, and each one
 * after it until the client is told the attributes again. What the client is
 * told of the file from then on is no older than that.
 */
static bool is_refused_write(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	uint64_t object = judge_id(j, &op->args.object);

	if (op->proc->proc != NFSPROC3_WRITE ||
	    strcmp(got->list[0], "IO") != 0 || !judge_changed_behind(j, object))
		return false;
	judge_add_told(j, op, object, op->sent_state);
	j->told[j->ntold - 1].refused = true;
	return true;
}

/* The proxy may have the client of a WRITE come again, where the server did not
 * confirm the file. */
static bool is_put_off(
    const struct judge_op *op, const struct calltext_facts *got)
{
	return op->proc->proc == NFSPROC3_WRITE &&
	       strcmp(got->list[0], "JUKEBOX") == 0;
}

static const char *judge_change(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	struct outcome o = outcome_of(j, op, got);
	bool ok = strcmp(got->list[0], "OK") == 0;
	const struct calltext_facts *right = o.last ? &o.last->reply : NULL;
	bool repaired = ok && o.done && op->doubtful;

	if (is_repeated(j, op, &o))
		return judge_wrong(j, "the server did it twice", got, right);
	if (!o.answered && !repaired && is_doubtful_reply(j, op, got))
		return NULL;
	if (!o.last && (is_refused_write(j, op, got) || is_put_off(op, got)))
		return NULL;
	if (!o.last)
		return judge_wrong(
		    j, "answered, but the server never did it", got, NULL);
	if (!o.answered && !repaired)
		return judge_wrong(
		    j, "not what the server answered", got, right);
	if (o.done && !ok && !o.answered_done && is_kept(j, op) &&
	    !op->doubtful)
		return judge_wrong(
		    j, "an error, though the server did it", got, right);
	if (o.done)
		add_ack(j, op, o.state);
	/* The caches learn nothing from the reply to a call in doubt. */
	if (o.done && ok && gives_handle(op->proc) && !op->doubtful)
		j->states[o.state].known = true;
	return judge_attrs(j, op, got);
}

const struct deed *judge_before(
    const struct judge *j, const struct judge_op *op)
{
	for (unsigned i = j->ndeeds;
	     i-- > 0 && j->deeds[i].seq > op->behind.seq;)
		if (j->deeds[i].key == op->behind.key)
			return &j->deeds[i];
	return NULL;
}

/* Whether the server answered this error to the same look meanwhile. */
static bool was_refused(const struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	struct outcome o = outcome_of(j, op, got);

	return o.answered && strcmp(got->list[0], "OK") != 0;
}

const char *judge_reply(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	j->seq++;
	if (calltext_is_change(op->proc))
		return judge_change(j, op, got);
	if (op->away && strcmp(got->list[0], "IO") == 0)
		return NULL;
	if (op->behind.key && op->behind.sure && !judge_before(j, op))
		return judge_wrong(j,
		    "answered before the change that this client had sent", got,
		    NULL);
	return was_refused(j, op, got) ? NULL : judge_look(j, op, got);
}
