/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests' own encoder, and one message of every kind. */
#include "nfsproto/nfsproto_wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void wire_put(struct wire *w, const void *data, size_t len)
{
	if (w->len + len > w->size) {
		w->size = 2 * (w->len + len) + 64;
		w->data = realloc(w->data, w->size);
		assert(w->data);
	}
	if (len > 0)
		memcpy(w->data + w->len, data, len);
	w->len += len;
}

void wire_u32(struct wire *w, uint32_t v)
{
	unsigned char b[4] = {(unsigned char)(v >> 24),
	    (unsigned char)(v >> 16), (unsigned char)(v >> 8),
	    (unsigned char)v};

	wire_put(w, b, sizeof(b));
}

void wire_u64(struct wire *w, uint64_t v)
{
	wire_u32(w, (uint32_t)(v >> 32));
	wire_u32(w, (uint32_t)v);
}

void wire_opaque(struct wire *w, const void *data, size_t len)
{
	wire_u32(w, (uint32_t)len);
	wire_put(w, data, len);
	if (len % 4)
		wire_put(w, "\0\0\0", 4 - len % 4);
}

void wire_free(struct wire *w)
{
	free(w->data);
	memset(w, 0, sizeof(*w));
}

void *wire_copy(const void *data, size_t len)
{
	void *p = malloc(len ? len : 1);

	assert(p);
	if (len > 0)
		memcpy(p, data, len);
	return p;
}

static void wire_pattern(struct wire *w, size_t len)
{
	unsigned char *p = malloc(len + 1);

	assert(p);
	for (size_t i = 0; i < len; i++)
		p[i] = wire_byte(len, i);
	wire_opaque(w, p, len);
	free(p);
}

static void wire_acl(struct wire *w, size_t count)
{
	wire_u32(w, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		wire_u32(w, 2);
		wire_u32(w, 1000 + (uint32_t)i);
		wire_u32(w, (uint32_t)i % 8);
	}
}

/* Each word is spelled by others, down to numbers. */
static const char *wire_macro(char c)
{
	switch (c) {
	case 'f': /* RFC 1813 section 2.5, fattr3 */
		return "u:1 u:420 u:2 u:1001 u:1002 q:4294967301 q:8589934598 "
		       "u:8 u:9 q:12884901895 q:17179869192 u:11 u:12 u:13 "
		       "u:14 u:15 u:16";
	case 'a':
		return "u:1 f";
	case 'A':
		return "u:0";
	case 'c': /* wcc_attr */
		return "q:21474836489 u:21 u:22 u:23 u:24";
	case 'w':
		return "u:1 c a";
	case 'W':
		return "u:0 u:0";
	case 's': /* sattr3 */
		return "u:1 u:493 u:1 u:31 u:1 u:32 u:1 q:25769803827 u:2 u:41 "
		       "u:42 u:1";
	case 't':
		return "u:0 u:0 u:0 u:0 u:1 u:2 u:43 u:44";
	case 'S':
		return "u:0 u:0 u:0 u:0 u:0 u:0";
	default:
		return NULL;
	}
}

static void wire_word(struct wire *w, const char *word, size_t len)
{
	const char *arg = word + 2;
	unsigned long long n;

	if (len < 3) {
		assert(len == 1 && wire_macro(*word));
		wire_spell(w, wire_macro(*word));
		return;
	}
	n = strtoull(arg, NULL, 0);
	if (*word == 'u') {
		wire_u32(w, (uint32_t)n);
	} else if (*word == 'q') {
		wire_u64(w, n);
	} else if (*word == 'o') {
		wire_pattern(w, n);
	} else if (*word == 'n') {
		wire_opaque(w, arg, len - 2);
	} else if (*word == 'e') {
		wire_acl(w, n);
	} else {
		assert(*word == 'v');
		wire_u64(w, n << 56 | 0x02030405060708);
	}
}

void wire_spell(struct wire *w, const char *spec)
{
	while (*spec) {
		size_t len = strcspn(spec, " ");

		wire_word(w, spec, len);
		spec += len;
		spec += strspn(spec, " ");
	}
}

enum { NFS = 100003, MNT = 100005, ACL = 100227 };

#define ARGS(name, prog, proc, spec)                                           \
	{                                                                      \
		name ".args", prog, proc, false, false, spec                   \
	}
#define RES(name, prog, proc, spec)                                            \
	{                                                                      \
		name ".res", prog, proc, true, false, spec                     \
	}
#define FAIL(name, prog, proc, spec)                                           \
	{                                                                      \
		name ".fail", prog, proc, true, false, spec                    \
	}

const struct wire_row wire_rows[] = {
    /* Arguments: RFC 1813 sections 3.3.1 to 3.3.21, 5.2.1 to 5.2.5. */
    ARGS("GETATTR", NFS, 1, "o:28"),
    ARGS("SETATTR", NFS, 2, "o:28 s u:1 u:51 u:52"),
    ARGS("SETATTR-times", NFS, 2, "o:28 t u:0"),
    ARGS("LOOKUP", NFS, 3, "o:28 n:name.c"),
    ARGS("ACCESS", NFS, 4, "o:28 u:45"),
    ARGS("READLINK", NFS, 5, "o:28"),
    ARGS("READ", NFS, 6, "o:28 q:4294967296 u:16384"),
    ARGS("WRITE", NFS, 7, "o:28 q:4294967296 u:7 u:2 o:7"),
    ARGS("CREATE", NFS, 8, "o:28 n:new u:0 s"),
    ARGS("CREATE-guarded", NFS, 8, "o:28 n:new u:1 S"),
    ARGS("CREATE-exclusive", NFS, 8, "o:28 n:new u:2 v:1"),
    ARGS("MKDIR", NFS, 9, "o:28 n:dir s"),
    ARGS("SYMLINK", NFS, 10, "o:28 n:link S n:../target"),
    ARGS("MKNOD-chr", NFS, 11, "o:28 n:null u:4 s u:1 u:3"),
    ARGS("MKNOD-blk", NFS, 11, "o:28 n:sda u:3 S u:8 u:0"),
    ARGS("MKNOD-fifo", NFS, 11, "o:28 n:pipe u:7 s"),
    ARGS("MKNOD-sock", NFS, 11, "o:28 n:sock u:6 S"),
    ARGS("MKNOD-other", NFS, 11, "o:28 n:what u:1"),
    ARGS("REMOVE", NFS, 12, "o:28 n:gone"),
    ARGS("RMDIR", NFS, 13, "o:64 n:gone"),
    ARGS("RENAME", NFS, 14, "o:28 n:from o:64 n:to"),
    ARGS("LINK", NFS, 15, "o:28 o:64 n:link"),
    ARGS("READDIR", NFS, 16, "o:28 q:4294967297 v:1 u:4096"),
    ARGS("READDIRPLUS", NFS, 17, "o:28 q:4294967297 v:1 u:4096 u:32768"),
    ARGS("FSSTAT", NFS, 18, "o:28"),
    ARGS("FSINFO", NFS, 19, "o:28"),
    ARGS("PATHCONF", NFS, 20, "o:28"),
    ARGS("COMMIT", NFS, 21, "o:28 q:4294967296 u:8192"),
    ARGS("MNT", MNT, 1, "n:/home"),
    ARGS("UMNT", MNT, 3, "n:/home"),
    ARGS("GETACL", ACL, 1, "o:28 u:15"),
    ARGS("SETACL", ACL, 2, "o:28 u:15 u:3 e:3 u:2 e:2"),
    /* Results. */
    RES("GETATTR", NFS, 1, "u:0 f"),
    RES("SETATTR", NFS, 2, "u:0 w"),
    RES("LOOKUP", NFS, 3, "u:0 o:28 a a"),
    RES("ACCESS", NFS, 4, "u:0 a u:13"),
    RES("READLINK", NFS, 5, "u:0 a n:../target"),
    RES("READ", NFS, 6, "u:0 a u:7 u:1 o:7"),
    RES("WRITE", NFS, 7, "u:0 w u:7 u:2 v:1"),
    RES("CREATE", NFS, 8, "u:0 u:1 o:28 a w"),
    RES("MKDIR", NFS, 9, "u:0 u:0 A W"),
    RES("SYMLINK", NFS, 10, "u:0 u:1 o:64 a w"),
    RES("MKNOD", NFS, 11, "u:0 u:1 o:28 a w"),
    RES("REMOVE", NFS, 12, "u:0 w"),
    RES("RMDIR", NFS, 13, "u:0 w"),
    RES("RENAME", NFS, 14, "u:0 w W"),
    RES("LINK", NFS, 15, "u:0 a w"),
    RES("READDIR", NFS, 16,
	"u:0 a v:1 u:1 q:71 n:a q:72 u:1 q:73 n:bcdef q:74 u:0 u:1"),
    RES("READDIRPLUS", NFS, 17,
	"u:0 a v:1 u:1 q:71 n:a q:72 a u:1 o:28 "
	"u:1 q:73 n:bcdef q:74 A u:0 u:0 u:1"),
    RES("FSSTAT", NFS, 18,
	"u:0 a q:4294967297 q:4294967298 q:4294967299 q:4294967300 "
	"q:4294967301 q:4294967302 u:7"),
    RES("FSINFO", NFS, 19,
	"u:0 a u:1 u:2 u:3 u:4 u:5 u:6 u:7 q:4294967304 u:9 u:10 "
	"u:27"),
    RES("PATHCONF", NFS, 20, "u:0 a u:32000 u:255 u:1 u:0 u:1 u:0"),
    RES("COMMIT", NFS, 21, "u:0 w v:1"),
    RES("MNT", MNT, 1, "u:0 o:28 u:3 u:1 u:390003 u:0"),
    RES("DUMP", MNT, 2, "u:1 n:host n:/home u:1 n:h2 n:/src u:0"),
    RES("EXPORT", MNT, 5,
	"u:1 n:/home u:1 n:10.0.0.0/8 u:1 n:* u:0 u:1 n:/src u:0 "
	"u:0"),
    RES("GETACL", ACL, 1, "u:0 a u:15 u:3 e:3 u:2 e:2"),
    RES("GETACL-counts", ACL, 1, "u:0 a u:10 u:4 e:0 u:0 e:0"),
    RES("SETACL", ACL, 2, "u:0 a"),
    /* Each procedure has other words behind the status of a failure. */
    FAIL("GETATTR", NFS, 1, "u:70"),
    FAIL("SETATTR", NFS, 2, "u:10002 w"),
    FAIL("LOOKUP", NFS, 3, "u:2 a"),
    FAIL("ACCESS", NFS, 4, "u:70 a"),
    FAIL("READLINK", NFS, 5, "u:22 a"),
    FAIL("READ", NFS, 6, "u:13 a"),
    FAIL("WRITE", NFS, 7, "u:28 w"),
    FAIL("CREATE", NFS, 8, "u:17 w"),
    FAIL("MKDIR", NFS, 9, "u:17 w"),
    FAIL("SYMLINK", NFS, 10, "u:17 w"),
    FAIL("MKNOD", NFS, 11, "u:10007 w"),
    FAIL("REMOVE", NFS, 12, "u:2 w"),
    FAIL("RMDIR", NFS, 13, "u:66 w"),
    FAIL("RENAME", NFS, 14, "u:18 w w"),
    FAIL("LINK", NFS, 15, "u:31 a w"),
    FAIL("READDIR", NFS, 16, "u:10003 a"),
    FAIL("READDIRPLUS", NFS, 17, "u:10004 a"),
    FAIL("FSSTAT", NFS, 18, "u:70 a"),
    FAIL("FSINFO", NFS, 19, "u:70 a"),
    FAIL("PATHCONF", NFS, 20, "u:70 a"),
    FAIL("COMMIT", NFS, 21, "u:5 w"),
    FAIL("MNT", MNT, 1, "u:13"),
    /* Linux and Solaris put attributes there, libnfs and Ganesha do not. */
    FAIL("GETACL", ACL, 1, "u:13"),
    FAIL("SETACL", ACL, 2, "u:13"),
    {"GETACL.linux", ACL, 1, true, true, "u:13 a"},
    {"SETACL.linux", ACL, 2, true, true, "u:13 A"},
};

const size_t wire_row_count = sizeof(wire_rows) / sizeof(wire_rows[0]);
