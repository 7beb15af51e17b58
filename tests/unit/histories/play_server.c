/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server deals here with the calls that wait at it, as the history says. */
#include <string.h>

#include "histories/play_private.h"
#include "scenario/vclock.h"

static bool is_silent(const struct play *p)
{
	return vclock_wall_ns() < p->silent_until_ns;
}

static void on_call(void *arg, struct fakeserver_call *call)
{
	struct play *p = arg;
	uint64_t key = judge_key(call->proc, &call->args, call->uid);
	const char *wrong = NULL;

	if (calltext_is_change(call->proc))
		wrong = play_take_change(p, key, call->proc);
	else
		play_take_look(p, key);
	if (wrong)
		script_wrong("the server gets %s: %s", call->text, wrong);
}

void play_take_server(struct play *p)
{
	fakeserver_serve(p->place.nfs, false);
	fakeserver_answer_by(p->place.nfs, on_call, p);
}

/* Whether the server does the calls of one connection in their order: what a
 * client changes and then looks at, and WRITEs to one file. */
static bool is_in_order(
    const struct fakeserver_call *first, const struct fakeserver_call *call)
{
	if (first->held || first->conn != call->conn ||
	    first->uid != call->uid || !calltext_is_change(first->proc))
		return false;
	if (!calltext_is_change(call->proc))
		return true;
	return first->proc->proc == NFSPROC3_WRITE &&
	       call->proc->proc == NFSPROC3_WRITE &&
	       memcmp(first->args.write.file.data, call->args.write.file.data,
		   call->args.write.file.len) == 0;
}

/* The one that the server does before it, or the call itself. */
static struct fakeserver_call *first_of(
    struct fakeserver *nfs, struct fakeserver_call *call)
{
	unsigned i = 0;

	for (;;) {
		struct fakeserver_call *c = fakeserver_nth(nfs, i++);

		if (c == call || is_in_order(c, call))
			return c;
	}
}

/* Most often the oldest. */
static struct fakeserver_call *pick_call(struct play *p, const struct event *e)
{
	unsigned n = fakeserver_waiting(p->place.nfs);

	if (n == 0 || is_silent(p))
		return NULL;
	return first_of(p->place.nfs,
	    fakeserver_nth(p->place.nfs, e->a % 3 ? 0 : e->b % n));
}

/* Whether the server's reply cache answers, as knfsd's does: it keeps replies
 * to changes, but not to COMMIT. */
static bool is_replayed(struct play *p, struct fakeserver_call *call)
{
	return calltext_is_change(call->proc) &&
	       call->proc->proc != NFSPROC3_COMMIT &&
	       p->defect != DEFECT_TWICE &&
	       fakeserver_repeat(p->place.nfs, call);
}

/* The server sends a reply, so it is not silent. Callers leave out replies that
 * it keeps back or that are lost, since the daemon does not hear of these. */
static void note_reply(struct play *p)
{
	p->answered_ns = vclock_wall_ns();
}

static void lost(struct play *p, const struct fakeserver_call *call)
{
	judge_lose(p->judge, call->proc, &call->args, call->uid,
	    call->conn < p->first_conn);
}

static void serve(struct play *p, struct fakeserver_call *call, nfsstat3 status)
{
	play_lose_held(p);
	play_turns_look(p, call);
	judge_serve(
	    p->judge, p->place.fs, call->proc, &call->args, call->uid, status);
	if (!fakeserver_connected(p->place.nfs, call->conn))
		lost(p, call);
}

static void lose(struct play *p, struct fakeserver_call *call)
{
	unsigned conn = call->conn;

	serve(p, call, NFS3_OK);
	lost(p, call);
	fakeserver_do_silently(p->place.nfs, call);
	fakeserver_break_one(p->place.nfs, conn);
	p->lost_ns = vclock_wall_ns();
}

static void fail(struct play *p, struct fakeserver_call *call, bool done)
{
	static const nfsstat3 list[] = {
	    NFS3ERR_IO, NFS3ERR_NOSPC, NFS3ERR_DQUOT, NFS3ERR_SERVERFAULT};
	nfsstat3 status = list[p->next.detail % 4];

	if (done) {
		serve(p, call, status);
		fakeserver_do_badly(p->place.nfs, call, status);
	} else {
		judge_refuse(
		    p->judge, call->proc, &call->args, call->uid, status);
		fakeserver_answer(p->place.nfs, call, status);
	}
	note_reply(p);
}

/* The call meets the fault that waits for one, if it may. */
static bool meets_fault(struct play *p, struct fakeserver_call *call)
{
	switch (p->next.kind) {
	case EVENT_LOSE:
		lose(p, call);
		break;
	case EVENT_REFUSE:
		if (call->proc->proc == NFSPROC3_NULL)
			return false;
		fail(p, call, false);
		break;
	case EVENT_HALF:
		if (!calltext_is_change(call->proc))
			return false;
		fail(p, call, true);
		break;
	default:
		return false;
	}
	p->out->faults[p->next.kind]++;
	p->next.kind = EVENT_SERVE;
	return true;
}

/* A REMOVE is answered by OK, and what it should remove stays. */
static bool is_left_undone(struct play *p, struct fakeserver_call *call)
{
	if (p->defect != DEFECT_UNDONE || call->proc->proc != NFSPROC3_REMOVE)
		return false;
	fakeserver_answer(p->place.nfs, call, NFS3_OK);
	note_reply(p);
	return true;
}

void play_lose_held(struct play *p)
{
	struct fakeserver *nfs = p->place.nfs;

	for (unsigned i = 0; i < fakeserver_waiting(nfs);) {
		struct fakeserver_call *call = fakeserver_nth(nfs, i);

		if (!call->held || fakeserver_connected(nfs, call->conn)) {
			i++;
			continue;
		}
		lost(p, call);
		fakeserver_drop(nfs, call);
	}
}

bool play_serve(struct play *p, const struct event *e)
{
	struct fakeserver_call *call = pick_call(p, e);

	if (!call)
		return false;
	if (call->held) {
		fakeserver_release(p->place.nfs, call);
		note_reply(p);
		return true;
	}
	if (is_replayed(p, call)) {
		note_reply(p);
		return true;
	}
	p->served++;
	if (is_left_undone(p, call) || meets_fault(p, call))
		return true;
	serve(p, call, NFS3_OK);
	if (!p->prompt && e->place % 8 == 0) {
		fakeserver_hold(p->place.nfs, call);
	} else {
		fakeserver_do(p->place.nfs, call);
		note_reply(p);
	}
	return true;
}
