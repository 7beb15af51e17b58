/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the bytes of each step of a client. */
#include "conversation/client_step.h"

#include <arpa/inet.h>
#include <string.h>

#include "conversation/line.h"
#include "conversation/stranger.h"
#include "nfsproto/rpc_msg.h"
#include "scenario/client.h"

enum { HANDLES = 6, FRAGMENTS = 64 };

#define LAST_FRAGMENT 0x80000000u

static unsigned char record[CLIENT_CALL_MAX];

struct asking {
	struct stranger *s;
	struct memfs *fs;
	char *const *words; /* behind the verb */
	unsigned n;
};

/* ---- odd arguments ----------------------------------------------------- */

static void make_handle_odd(nfs3_fh *fh, unsigned kind)
{
	static char other[NFS3_FHSIZE_MAX];
	static const uint32_t lengths[HANDLES] = {16, 0, 15, 64, 1, 16};

	memset(other, 'h', sizeof(other));
	if (fh->len > 0 && kind != 0)
		memcpy(other, fh->data, fh->len);
	if (kind == HANDLES - 1)
		other[15] ^= 1;
	*fh = (nfs3_fh){.len = lengths[kind], .data = other};
}

static bool has_name(uint32_t proc)
{
	return proc == NFSPROC3_LOOKUP ||
	       (proc >= NFSPROC3_CREATE && proc <= NFSPROC3_RENAME);
}

static void make_name_odd(nfs3_name *name, unsigned kind)
{
	static char longest[NFS3_NAME_MAX];
	const nfs3_name names[] = {{.len = 0}, {.len = 1, .data = "."},
	    {.len = 2, .data = ".."}, {.len = 3, .data = "a/b"},
	    {.len = 3, .data = "a\0b"}, {.len = 255, .data = longest},
	    {.len = 4, .data = "\xff\xfe\n\x1b"},
	    {.len = 8, .data = "%s%n%s%n"},
	    {.len = 21, .data = "../../../../etc/hosts"}};

	memset(longest, 'n', sizeof(longest));
	*name = names[kind % (sizeof(names) / sizeof(names[0]))];
}

static void make_number_odd(uint32_t proc, union nfs_args *args, unsigned kind)
{
	static const uint64_t numbers[] = {UINT64_MAX, UINT32_MAX,
	    (uint64_t)1 << 63, UINT64_MAX - 4095, 1 << 20, 0, 1, 1 << 21};
	uint64_t a = numbers[kind % 8], b = numbers[kind / 8 % 8];

	if (proc == NFSPROC3_READ) {
		args->read.offset = a;
		args->read.count = (uint32_t)b;
	} else if (proc == NFSPROC3_WRITE) {
		args->write.offset = a;
		args->write.count = kind & 1 ? (uint32_t)b : args->write.count;
		args->write.stable = kind & 2 ? FILE_SYNC : (stable_how)kind;
	} else if (proc == NFSPROC3_COMMIT) {
		args->commit.offset = a;
		args->commit.count = (uint32_t)b;
	} else if (proc == NFSPROC3_READDIR) {
		args->readdir.cookie = a;
		args->readdir.count = (uint32_t)b;
	} else if (proc == NFSPROC3_READDIRPLUS) {
		args->readdirplus.cookie = a;
		args->readdirplus.dircount = (uint32_t)b;
		args->readdirplus.maxcount = (uint32_t)b;
	} else if (proc == NFSPROC3_SETATTR) {
		args->setattr.new_attributes.size.set_it = TRUE;
		args->setattr.new_attributes.size.set_size3_u.size = a;
	}
}

static void make_odd(uint32_t proc, union nfs_args *args, unsigned kind)
{
	if (kind < HANDLES)
		make_handle_odd(&args->object, kind);
	else if (has_name(proc))
		make_name_odd(&args->dirop.name, kind - HANDLES);
	else
		make_number_odd(proc, args, kind - HANDLES);
}

/* ---- calls ------------------------------------------------------------- */

/* The call at word `i`, in `record`; 0 where it makes no sense. */
static size_t make_call(const struct asking *a, unsigned i, bool sound, int odd)
{
	const struct nfs_proc *proc;
	char err[CALLTEXT_MAX];
	uint32_t xid = stranger_next_xid(a->s);
	union nfs_args args;
	size_t len;

	if (a->n <= i ||
	    !calltext_parse(a->fs, a->words + i, a->n - i, &proc, &args, err))
		return 0;
	if (odd >= 0)
		make_odd(proc->proc, &args, (unsigned)odd);
	len = client_encode(proc, &args, xid, stranger_uid(a->s), record);
	if (sound)
		stranger_expect(a->s, xid, proc, record, len);
	return len;
}

static void send_record(const struct asking *a, size_t len)
{
	if (len > 0)
		stranger_send_record(a->s, record, len, 1);
}

static void send_call(const struct asking *a)
{
	send_record(a, make_call(a, 0, true, -1));
}

static void send_odd(const struct asking *a)
{
	send_record(a,
	    make_call(a, 1, true, (int)(line_number(a->words, a->n, 0) % 80)));
}

static void send_bend(const struct asking *a)
{
	size_t at = line_number(a->words, a->n, 0);
	size_t len = make_call(a, 2, false, -1);

	if (len == 0)
		return;
	at %= len;
	if (at < 4)
		stranger_blind(a->s);
	record[at] ^= (unsigned char)line_number(a->words, a->n, 1);
	send_record(a, len);
}

static void send_cut(const struct asking *a)
{
	size_t len = make_call(a, 1, false, -1);

	if (len > 0)
		send_record(a, line_number(a->words, a->n, 0) % len);
}

static void send_mark(const struct asking *a)
{
	size_t len = make_call(a, 1, false, -1);
	uint32_t mark = htonl(((uint32_t)len | LAST_FRAGMENT) ^
			      (uint32_t)line_number(a->words, a->n, 0));

	if (len == 0)
		return;
	stranger_blind(a->s);
	stranger_send(a->s, &mark, sizeof(mark));
	stranger_send(a->s, record, len);
}

static void send_pieces(const struct asking *a)
{
	size_t len = make_call(a, 1, true, -1);
	uint64_t pieces = line_number(a->words, a->n, 0) % FRAGMENTS + 1;

	if (len > 0)
		stranger_send_record(a->s, record, len, (unsigned)pieces);
}

static void send_part(const struct asking *a)
{
	size_t len = make_call(a, 1, false, -1);
	uint32_t mark = htonl((uint32_t)len | LAST_FRAGMENT);

	if (len == 0)
		return;
	stranger_blind(a->s);
	stranger_send(a->s, &mark, sizeof(mark));
	stranger_send(a->s, record, line_number(a->words, a->n, 0) % len);
}

/* ---- other programs ---------------------------------------------------- */

static void ask_side(const struct asking *a, uint32_t prog)
{
	const char *path = line_word(a->words, a->n, 1);
	uint32_t number = (uint32_t)line_number(a->words, a->n, 0);
	const struct nfs_proc *proc = nfs_proc_find(prog, 3, number);
	const struct memfs_object *o = memfs_find(a->fs, path);
	uint32_t xid = stranger_next_xid(a->s);
	union nfs_args args;
	size_t len;

	if (!proc)
		return;
	memset(&args, 0, sizeof(args));
	if (prog == MOUNT_PROGRAM)
		args.mnt.dirpath = (struct xdr_view){
		    .len = (uint32_t)strlen(path), .data = path};
	else if (o)
		args.getacl.object = memfs_fh(o);
	if (number == NFSACLPROC3_GETACL && prog == NFSACL_PROGRAM)
		args.getacl.mask = 15;
	len = client_encode(proc, &args, xid, stranger_uid(a->s), record);
	stranger_expect(a->s, xid, proc, record, len);
	send_record(a, len);
}

static void send_mount(const struct asking *a)
{
	ask_side(a, MOUNT_PROGRAM);
}

static void send_acl(const struct asking *a)
{
	ask_side(a, NFSACL_PROGRAM);
}

static size_t put(size_t len, uint32_t word)
{
	word = htonl(word);
	memcpy(record + len, &word, sizeof(word));
	return len + sizeof(word);
}

/* By hand: rpc_call_encode() takes no credential that is too long. */
static void send_rpc(const struct asking *a)
{
	unsigned char bytes[LINE_BYTES];
	size_t len = put(0, stranger_next_xid(a->s)), n;

	len = put(len, CALL);
	len = put(len, RPC_MSG_VERSION);
	for (unsigned i = 0; i < 4; i++)
		len = put(len, (uint32_t)line_number(a->words, a->n, i));
	n = line_bytes(a->words, a->n, 4, bytes);
	len = put(len, (uint32_t)n);
	memcpy(record + len, bytes, n);
	memset(record + len + n, 0, 4);
	len += n + xdr_pad((uint32_t)n);
	len = put(put(len, AUTH_NONE), 0);
	n = line_bytes(a->words, a->n, 5, bytes);
	memcpy(record + len, bytes, n);
	send_record(a, len + n);
}

/* ---- the rest ---------------------------------------------------------- */

static void send_raw(const struct asking *a)
{
	unsigned char bytes[LINE_BYTES];

	stranger_blind(a->s);
	stranger_send(a->s, bytes, line_bytes(a->words, a->n, 0, bytes));
}

static void send_again(const struct asking *a)
{
	stranger_repeat(a->s);
}

static void send_close(const struct asking *a)
{
	stranger_close(a->s);
}

static void send_half(const struct asking *a)
{
	stranger_shut(a->s);
}

static void send_deaf(const struct asking *a)
{
	stranger_turn_deaf(a->s);
}

static const struct {
	const char *verb;
	void (*send)(const struct asking *a);
} verbs[] = {
    {"call", send_call},
    {"odd", send_odd},
    {"bend", send_bend},
    {"cut", send_cut},
    {"mark", send_mark},
    {"pieces", send_pieces},
    {"part", send_part},
    {"mount", send_mount},
    {"acl", send_acl},
    {"rpc", send_rpc},
    {"raw", send_raw},
    {"again", send_again},
    {"close", send_close},
    {"half", send_half},
    {"deaf", send_deaf},
};

void client_step(
    struct stranger *s, struct memfs *fs, char *const *words, unsigned n)
{
	struct asking a = {.s = s, .fs = fs, .words = words + 1, .n = n - 1};

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (n > 0 && strcmp(verbs[i].verb, words[0]) == 0)
			verbs[i].send(&a);
}
