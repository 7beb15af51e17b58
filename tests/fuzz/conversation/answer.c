/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes each reply out of the true one. */
#include "conversation/answer.h"

#include <arpa/inet.h>
#include <string.h>

#include "conversation/line.h"
#include "nfsproto/rpc_msg.h"
#include "sweep/place.h"

enum {
	REPLY_MAX = 128 << 10,
	GROW_MAX = 4096,
	FATTR_BYTES = 84, /* RFC 1813 section 2.3.5 */
	FSID_AT = 44,
	FILEID_AT = 52,
	FRAGMENTS = 32,
};

#define LAST_FRAGMENT 0x80000000u

struct telling {
	struct place *place;
	struct fakeserver_call *call;
	char *const *words; /* behind the verb */
	unsigned n;
};

static unsigned char reply[REPLY_MAX];
static unsigned char kept[REPLY_MAX];
static size_t kept_len;

void answer_forget(void)
{
	kept_len = 0;
}

static uint64_t number(const struct telling *t, unsigned i)
{
	return line_number(t->words, t->n, i);
}

/* ---- the truth --------------------------------------------------------- */

/* It is done, and the true reply is in `reply`. */
static size_t make(struct telling *t)
{
	fakeserver_hold(t->place->nfs, t->call);
	memcpy(reply, t->call->held, t->call->held_len);
	return t->call->held_len;
}

static void say(struct telling *t, size_t len)
{
	fakeserver_say(t->place->nfs, t->call->conn, reply, len);
}

static void say_raw(struct telling *t, const void *bytes, size_t len)
{
	fakeserver_say_raw(t->place->nfs, t->call->conn, bytes, len);
}

static void end(struct telling *t)
{
	fakeserver_drop(t->place->nfs, t->call);
}

static bool tell_do(struct telling *t)
{
	/* As a server with a reply cache does it. */
	if (!t->call->again || !fakeserver_repeat(t->place->nfs, t->call))
		fakeserver_do(t->place->nfs, t->call);
	return true;
}

static bool tell_pieces(struct telling *t)
{
	size_t left = make(t);
	const unsigned char *at = reply;

	for (uint64_t i = number(t, 0) % FRAGMENTS + 1; i > 0; i--) {
		size_t n = left / i;
		uint32_t mark = (uint32_t)n;

		if (i == 1)
			mark |= LAST_FRAGMENT;
		mark = htonl(mark);
		say_raw(t, &mark, sizeof(mark));
		say_raw(t, at, n);
		at += n;
		left -= n;
	}
	end(t);
	return true;
}

static bool tell_lose(struct telling *t)
{
	fakeserver_do_silently(t->place->nfs, t->call);
	return true;
}

static bool tell_drop(struct telling *t)
{
	end(t);
	return true;
}

static bool tell_twice(struct telling *t)
{
	size_t len = make(t);

	say(t, len);
	say(t, len);
	end(t);
	return true;
}

static bool tell_keep(struct telling *t)
{
	kept_len = make(t);
	memcpy(kept, reply, kept_len);
	say(t, kept_len);
	end(t);
	return true;
}

/* A reply may be any call's, by its XID. */
static bool tell_old(struct telling *t)
{
	fakeserver_say(t->place->nfs, t->call->conn, kept, kept_len);
	return tell_do(t);
}

/* ---- errors ------------------------------------------------------------ */

static bool tell_error(struct telling *t)
{
	fakeserver_answer(t->place->nfs, t->call, (nfsstat3)number(t, 0));
	return true;
}

static bool tell_badly(struct telling *t)
{
	fakeserver_do_badly(t->place->nfs, t->call, (nfsstat3)number(t, 0));
	return true;
}

static bool tell_rpc(struct telling *t)
{
	fakeserver_answer_rpc(
	    t->place->nfs, t->call, (enum accept_stat)(number(t, 0) % 8));
	return true;
}

static bool tell_deny(struct telling *t)
{
	fakeserver_deny(t->place->nfs, t->call);
	return true;
}

static bool tell_babble(struct telling *t)
{
	fakeserver_babble(t->place->nfs, t->call);
	return true;
}

static bool tell_nonsense(struct telling *t)
{
	fakeserver_break_record(t->place->nfs, t->call);
	return true;
}

/* ---- bytes ------------------------------------------------------------- */

static bool tell_bend(struct telling *t)
{
	size_t len = make(t);

	reply[number(t, 0) % len] ^= (unsigned char)number(t, 1);
	say(t, len);
	end(t);
	return true;
}

static bool tell_cut(struct telling *t)
{
	size_t len = make(t);

	say(t, number(t, 0) % len);
	end(t);
	return true;
}

static bool tell_grow(struct telling *t)
{
	size_t len = make(t), more = number(t, 0) % GROW_MAX;

	memset(reply + len, 0x5a, more);
	say(t, len + more);
	end(t);
	return true;
}

static bool tell_mark(struct telling *t)
{
	size_t len = make(t);
	uint32_t mark =
	    htonl(((uint32_t)len | LAST_FRAGMENT) ^ (uint32_t)number(t, 0));

	say_raw(t, &mark, sizeof(mark));
	say_raw(t, reply, len);
	end(t);
	return true;
}

static bool tell_xid(struct telling *t)
{
	size_t len = make(t);
	uint32_t xid = htonl(t->call->xid ^ (uint32_t)number(t, 0));

	memcpy(reply, &xid, sizeof(xid));
	say(t, len);
	end(t);
	return true;
}

static bool tell_raw(struct telling *t)
{
	unsigned char bytes[LINE_BYTES];

	say_raw(t, bytes, line_bytes(t->words, t->n, 0, bytes));
	end(t);
	return true;
}

/* ---- results ----------------------------------------------------------- */

static size_t make_header(struct telling *t)
{
	return rpc_reply_encode_accepted(
	    t->call->xid, SUCCESS, 0, 0, reply, sizeof(reply));
}

/* All its fields are nought, but for a handle where there has to be one. */
static bool tell_other(struct telling *t)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, (uint32_t)(number(t, 0) % 22));
	size_t len = make_header(t);
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	if (proc->proc == NFSPROC3_LOOKUP)
		res.lookup.LOOKUP3res_u.resok.object =
		    memfs_fh(t->place->fs->objects);
	len += nfs_res_encode(proc, &res, reply + len, sizeof(reply) - len);
	say(t, len);
	end(t);
	return true;
}

/* By the marks of memfs's attributes: their file system is 1, and none of its
 * files has a number of more than two bytes. */
static bool is_fattr(const unsigned char *at)
{
	static const unsigned char fsid[] = {0, 0, 0, 0, 0, 0, 0, 1},
				   zeros[6] = {0};

	return memcmp(at + FSID_AT, fsid, sizeof(fsid)) == 0 &&
	       memcmp(at + FILEID_AT, zeros, sizeof(zeros)) == 0;
}

static bool tell_word(struct telling *t)
{
	size_t len = make(t), word = number(t, 0) % (FATTR_BYTES / 4) * 4;
	uint32_t value = htonl((uint32_t)number(t, 1));

	for (size_t at = 0; at + FATTR_BYTES <= len; at += 4)
		if (is_fattr(reply + at)) {
			memcpy(reply + at + word, &value, sizeof(value));
			at += FATTR_BYTES - 4;
		}
	say(t, len);
	end(t);
	return true;
}

static bool tell_read(struct telling *t)
{
	const struct memfs_object *o =
	    memfs_object_of(t->place->fs, &t->call->args.read.file);
	READ3resok *r;
	union nfs_res res;
	size_t len, n = number(t, 2) % (REPLY_MAX / 2);

	if (t->call->proc->proc != NFSPROC3_READ || !o)
		return false;
	memset(&res, 0, sizeof(res));
	r = &res.read.READ3res_u.resok;
	r->file_attributes = memfs_attr(t->place->fs, o);
	r->count = (uint32_t)number(t, 0);
	r->data.len = (uint32_t)number(t, 1);
	r->eof = number(t, 2) & 1;
	len = make_header(t);
	len +=
	    nfs_res_encode(t->call->proc, &res, reply + len, NFS_RES_SMALL_MAX);
	memset(reply + len, 'r', n);
	say(t, len + n);
	end(t);
	return true;
}

static bool tell_list(struct telling *t)
{
	static unsigned char list[ANSWER_LIST_MAX];
	bool plus = t->call->proc->proc == NFSPROC3_READDIRPLUS;
	unsigned kind = (unsigned)number(t, 0);
	uint64_t cookie = plus ? t->call->args.readdirplus.cookie
			       : t->call->args.readdir.cookie;
	struct xdr_view view = {.data = (const char *)list};
	union nfs_res res;
	size_t len;

	if (!plus && t->call->proc->proc != NFSPROC3_READDIR)
		return false;
	view.len =
	    (uint32_t)answer_list(t->place->fs, plus, kind, cookie, list);
	memset(&res, 0, sizeof(res));
	if (plus)
		res.readdirplus.READDIRPLUS3res_u.resok.reply = view;
	else
		res.readdir.READDIR3res_u.resok.reply = view;
	len = make_header(t);
	len += nfs_res_encode(
	    t->call->proc, &res, reply + len, sizeof(reply) - len);
	say(t, len);
	end(t);
	return true;
}

static const struct {
	const char *verb;
	bool (*tell)(struct telling *t);
	bool is_true;
} verbs[] = {
    {"do", tell_do, true},
    {"pieces", tell_pieces, true},
    {"lose", tell_lose, true},
    {"drop", tell_drop, true},
    {"twice", tell_twice, true},
    {"keep", tell_keep, true},
    {"old", tell_old, false},
    {"error", tell_error, false},
    {"badly", tell_badly, false},
    {"rpc", tell_rpc, false},
    {"deny", tell_deny, false},
    {"babble", tell_babble, false},
    {"nonsense", tell_nonsense, false},
    {"bend", tell_bend, false},
    {"cut", tell_cut, false},
    {"grow", tell_grow, false},
    {"mark", tell_mark, false},
    {"xid", tell_xid, false},
    {"raw", tell_raw, false},
    {"other", tell_other, false},
    {"word", tell_word, false},
    {"read", tell_read, false},
    {"list", tell_list, false},
};

bool answer_call(struct place *p, struct fakeserver_call *call,
    char *const *words, unsigned n, bool *lied)
{
	struct telling t = {
	    .place = p, .call = call, .words = words + 1, .n = n - 1};
	bool told = false;

	for (unsigned i = 0; n > 0 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].verb, words[0]) == 0) {
			told = verbs[i].tell(&t);
			*lied |= told && !verbs[i].is_true;
		}
	return told;
}
