/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of procedures: every known-good message decodes, encodes to the
 * same bytes, and is refused when cut at any byte; bounds; the checks that
 * results must pass; errors. What the fields hold is test_nfsproto_fields.c.
 */
#include "unittest.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/nfsproto_wire.h"

union body {
	union nfs_args args;
	union nfs_res res;
};

static const struct nfs_proc *row_proc(const struct wire_row *row)
{
	const struct nfs_proc *p = nfs_proc_find(row->prog, 3, row->proc);

	assert_non_null(p);
	return p;
}

static bool row_decode(
    const struct wire_row *row, const void *data, size_t len, union body *b)
{
	const struct nfs_proc *p = row_proc(row);

	return row->res ? nfs_res_decode(p, data, len, &b->res)
			: nfs_args_decode(p, data, len, &b->args);
}

static size_t row_encode(
    const struct wire_row *row, const union body *b, void *buf, size_t size)
{
	const struct nfs_proc *p = row_proc(row);

	return row->res ? nfs_res_encode(p, &b->res, buf, size)
			: nfs_args_encode(p, &b->args, buf, size);
}

/* The payload that the encoder leaves to its caller, with padding. */
static size_t row_payload(const struct wire_row *row, const union body *b)
{
	const struct xdr_view *v = NULL;

	if (row->prog != NFS_PROGRAM)
		return 0;
	if (row->proc == NFSPROC3_WRITE && !row->res)
		v = &b->args.write.data;
	if (row->proc == NFSPROC3_READ && row->res && b->res.status == NFS3_OK)
		v = &b->res.read.READ3res_u.resok.data;
	return v ? v->len + xdr_pad(v->len) : 0;
}

TEST(each_message_encodes_to_itself)
{
	for (size_t i = 0; i < wire_row_count; i++) {
		const struct wire_row *row = &wire_rows[i];
		unsigned char *data, *out;
		ENDS_BY(wire_free) struct wire w = {0};
		union body b;
		size_t n;

		wire_spell(&w, row->spec);
		data = wire_copy(w.data, w.len);
		out = wire_copy(w.data, w.len);
		memset(out, 0xee, w.len);
		if (!row_decode(row, data, w.len, &b))
			fail_msg("%s: not decoded", row->name);
		n = row_encode(row, &b, out, w.len);
		if (!row->trailing && n + row_payload(row, &b) != w.len)
			fail_msg("%s: %zu bytes of %zu", row->name, n, w.len);
		assert_memory_equal(out, data, n);
		for (size_t size = 0; size < n; size++)
			assert_int_equal(row_encode(row, &b, out, size), 0);
		free(data);
		free(out);
	}
}

TEST(each_message_cut_is_refused)
{
	for (size_t i = 0; i < wire_row_count; i++) {
		const struct wire_row *row = &wire_rows[i];
		ENDS_BY(wire_free) struct wire w = {0};
		union body b;

		wire_spell(&w, row->spec);
		for (size_t len = 0; len < w.len && !row->trailing; len++) {
			FREED void *cut = wire_copy(w.data, len);

			if (row_decode(row, cut, len, &b))
				fail_msg("%s: taken at %zu of %zu bytes",
				    row->name, len, w.len);
		}
	}
}

TEST(bytes_behind_are_let_through)
{
	for (size_t i = 0; i < wire_row_count; i++) {
		ENDS_BY(wire_free) struct wire w = {0};
		union body b;

		wire_spell(&w, wire_rows[i].spec);
		wire_spell(&w, "u:1 q:2");
		assert_true(row_decode(&wire_rows[i], w.data, w.len, &b));
	}
}

TEST(each_procedure_has_its_row)
{
	static const struct {
		uint32_t prog;
		uint32_t count;
	} programs[] = {{100003, 22}, {100005, 6}, {100227, 3}};

	for (size_t i = 0; i < 3; i++) {
		uint32_t prog = programs[i].prog;

		for (uint32_t n = 0; n < programs[i].count; n++) {
			const struct nfs_proc *p = nfs_proc_find(prog, 3, n);

			assert_non_null(p);
			assert_int_equal(p->prog, prog);
			assert_int_equal(p->vers, 3);
			assert_int_equal(p->proc, n);
			assert_non_null(p->name);
		}
		assert_null(nfs_proc_find(prog, 3, programs[i].count));
		assert_null(nfs_proc_find(prog, 3, UINT32_MAX));
		assert_null(nfs_proc_find(prog, 2, 1));
		assert_null(nfs_proc_find(prog, 4, 1));
	}
	assert_null(nfs_proc_find(100021, 3, 1));
}

TEST(changes_are_marked)
{
	for (uint32_t n = 0; n < 22; n++) {
		unsigned flags = nfs_proc_find(NFS_PROGRAM, 3, n)->flags;
		bool change = n == 2 || (n >= 8 && n <= 15);

		assert_int_equal(!!(flags & NFS_PROC_CHANGE), change);
		assert_int_equal(!!(flags & NFS_PROC_STATUS), n != 0);
	}
}

TEST(nothing_is_decoded_from_nothing)
{
	const struct nfs_proc *p = nfs_proc_find(NFS_PROGRAM, 3, 0);
	union nfs_args args;
	union nfs_res res;

	assert_true(nfs_args_decode(p, "", 0, &args));
	assert_true(nfs_res_decode(p, "", 0, &res));
	assert_int_equal(nfs_args_encode(p, &args, NULL, 0), 0);
}

static bool takes(uint32_t prog, uint32_t proc, bool res, const char *spec)
{
	struct wire_row row = {"bound", prog, proc, res, false, spec};
	struct wire w = {0};
	union body b;
	void *data;
	bool ok;

	wire_spell(&w, spec);
	data = wire_copy(w.data, w.len);
	ok = row_decode(&row, data, w.len, &b);
	free(data);
	wire_free(&w);
	return ok;
}

static const struct {
	uint32_t prog;
	uint32_t proc;
	bool res;
	const char *good;
	const char *bad;
} bounds[] = {
    {100003, 1, false, "o:64", "o:65"},
    {100003, 1, false, "o:0", "u:4294967295"},
    {100003, 3, false, "o:28 o:255", "o:28 o:256"},
    {100003, 3, false, "o:64 n:a", "o:65 n:a"},
    {100003, 3, false, "o:64 o:0", "o:64 u:4294967293 q:0 q:0"},
    {100003, 3, true, "u:0 o:64 A A", "u:0 o:65 A A"},
    {100003, 5, true, "u:0 A o:4096", "u:0 A o:4097"},
    {100003, 8, true, "u:0 u:1 o:64 A W", "u:0 u:1 o:65 A W"},
    {100003, 8, false, "o:1 n:a u:0 S", "o:1 n:a u:3 S"},
    {100003, 10, false, "o:28 n:a S o:4096", "o:28 n:a S o:4097"},
    {100003, 14, false, "o:28 o:255 o:28 o:255", "o:28 o:255 o:28 o:256"},
    {100003, 15, false, "o:64 o:64 n:a", "o:64 o:65 n:a"},
    {100003, 6, true, "u:0 A u:8 u:0 o:8", "u:0 A u:8 u:0 u:9 q:0"},
    {100003, 6, true, "u:0 A u:0 u:0 o:1048576", "u:0 A u:0 u:0 o:1048577"},
    {100003, 7, false, "o:1 q:0 u:8 u:0 o:8", "o:1 q:0 u:8 u:0 u:9 q:0"},
    {100003, 7, false, "o:1 q:0 u:0 u:0 o:1048576",
	"o:1 q:0 u:0 u:0 o:1048577"},
    {100003, 7, false, "o:1 q:0 u:8 u:0 o:0",
	"o:1 q:0 u:8 u:0 u:4294967295 q:0"},
    {100003, 16, true, "u:0 A v:1 u:1 q:1 o:255 q:2 u:0 u:1",
	"u:0 A v:1 u:1 q:1 o:256 q:2 u:0 u:1"},
    {100003, 17, true, "u:0 A v:1 u:1 q:1 n:a q:2 A u:1 o:64 u:0 u:1",
	"u:0 A v:1 u:1 q:1 n:a q:2 A u:1 o:65 u:0 u:1"},
    {100005, 1, false, "o:1024", "o:1025"},
    {100005, 3, false, "o:1024", "o:1025"},
    {100005, 1, true, "u:0 o:64 u:0", "u:0 o:65 u:0"},
    {100005, 1, true, "u:0 o:8 u:32 o:124", "u:0 o:8 u:33 o:128"},
    {100005, 1, true, "u:0 o:8 u:0", "u:0 o:8 u:1073741825 q:0"},
    {100005, 2, true, "u:1 o:255 n:a u:0", "u:1 o:256 n:a u:0"},
    {100005, 2, true, "u:1 n:a o:1024 u:0", "u:1 n:a o:1025 u:0"},
    {100005, 5, true, "u:1 o:1024 u:0 u:0", "u:1 o:1025 u:0 u:0"},
    {100005, 5, true, "u:1 n:a u:1 o:255 u:0 u:0", "u:1 n:a u:1 o:256 u:0 u:0"},
    {100227, 1, true, "u:0 A u:7 u:1 e:1024 u:0 e:0",
	"u:0 A u:7 u:1 e:1025 u:0 e:0"},
    {100227, 1, true, "u:0 A u:7 u:1 e:0 u:0 e:1024",
	"u:0 A u:7 u:1 e:0 u:0 e:1025"},
    {100227, 2, false, "o:8 u:7 u:1 e:1024 u:0 e:0",
	"o:8 u:7 u:1 e:1025 u:0 e:0"},
    {100227, 2, false, "o:8 u:7 u:1 e:0 u:0 e:0",
	"o:8 u:7 u:1 u:357913942 u:0 e:0"},
};

TEST(items_have_bounds)
{
	for (size_t i = 0; i < LENGTH(bounds); i++) {
		if (!takes(bounds[i].prog, bounds[i].proc, bounds[i].res,
			bounds[i].good))
			fail_msg("refused: %s", bounds[i].good);
		if (takes(bounds[i].prog, bounds[i].proc, bounds[i].res,
			bounds[i].bad))
			fail_msg("taken: %s", bounds[i].bad);
	}
}

TEST(small_results_fit_their_bound)
{
	static const struct wire_row largest[] = {
	    {"SYMLINK", 100003, 10, false, false, "o:64 o:255 s o:4096"},
	    {"MKNOD", 100003, 11, false, false, "o:64 o:255 u:3 s q:0"},
	    {"RENAME", 100003, 14, false, false, "o:64 o:255 o:64 o:255"},
	    {"READLINK", 100003, 5, true, false, "u:0 a o:4096"},
	    {"RENAME", 100003, 14, true, false, "u:0 w w"},
	    {"CREATE", 100003, 8, true, false, "u:0 u:1 o:64 a w"},
	    {"MNT", 100005, 1, true, false, "u:0 o:64 u:0"},
	};

	for (size_t i = 0; i < LENGTH(largest); i++) {
		unsigned char buf[NFS_RES_SMALL_MAX];
		ENDS_BY(wire_free) struct wire w = {0};
		union body b;

		wire_spell(&w, largest[i].spec);
		assert_true(row_decode(&largest[i], w.data, w.len, &b));
		assert_int_equal(
		    row_encode(&largest[i], &b, buf, sizeof(buf)), w.len);
	}
}

static bool check(
    uint32_t prog, uint32_t proc, const char *args_spec, const char *res_spec)
{
	const struct nfs_proc *p = nfs_proc_find(prog, 3, proc);
	struct wire a = {0}, r = {0};
	union nfs_args args;
	union nfs_res res;
	bool ok;

	wire_spell(&a, args_spec);
	wire_spell(&r, res_spec);
	assert_true(nfs_args_decode(p, a.data, a.len, &args));
	assert_true(nfs_res_decode(p, r.data, r.len, &res));
	ok = nfs_res_check(p, &args, &res);
	wire_free(&a);
	wire_free(&r);
	return ok;
}

TEST(results_keep_what_was_asked)
{
	const char *read = "o:8 q:0 u:8", *write = "o:8 q:0 u:8 u:2 o:8";

	assert_true(check(100003, 6, read, "u:0 A u:8 u:0 o:8"));
	assert_true(check(100003, 6, read, "u:0 A u:3 u:1 o:3"));
	assert_true(check(100003, 6, read, "u:0 A u:0 u:1 o:0"));
	assert_false(check(100003, 6, read, "u:0 A u:9 u:0 o:9"));
	assert_false(check(100003, 6, read, "u:0 A u:8 u:0 o:7"));
	assert_false(check(100003, 6, read, "u:0 A u:7 u:0 o:8"));
	assert_true(check(100003, 6, read, "u:13 A"));
	assert_true(check(100003, 7, write, "u:0 W u:8 u:2 v:1"));
	assert_true(check(100003, 7, write, "u:0 W u:5 u:0 v:1"));
	assert_false(check(100003, 7, write, "u:0 W u:9 u:2 v:1"));
	assert_false(check(100003, 7, write, "u:0 W u:8 u:3 v:1"));
	assert_true(check(100003, 7, write, "u:28 W"));
	assert_true(check(100003, 4, "o:8 u:45", "u:0 A u:45"));
	assert_true(check(100003, 4, "o:8 u:45", "u:0 A u:0"));
	/* Unasked bits say nothing, but break nothing either. */
	assert_true(check(100003, 4, "o:8 u:45", "u:0 A u:47"));
	assert_true(check(100003, 3, "o:8 n:a", "u:0 o:1 A A"));
	assert_false(check(100003, 3, "o:8 n:a", "u:0 o:0 A A"));
	assert_true(check(100003, 3, "o:8 n:a", "u:2 A"));
	assert_true(check(100005, 1, "n:/a", "u:0 o:1 u:0"));
	assert_false(check(100005, 1, "n:/a", "u:0 o:0 u:0"));
	assert_true(check(100005, 1, "n:/a", "u:13"));
	assert_true(check(100003, 1, "o:8", "u:0 f"));
	assert_true(check(100227, 1, "o:8 u:1", "u:0 A u:1 u:1 e:1 u:0 e:0"));
}

static const nfsstat3 statuses[] = {NFS3ERR_PERM, NFS3ERR_NOENT, NFS3ERR_IO,
    NFS3ERR_NXIO, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_XDEV, NFS3ERR_NODEV,
    NFS3ERR_NOTDIR, NFS3ERR_ISDIR, NFS3ERR_INVAL, NFS3ERR_FBIG, NFS3ERR_NOSPC,
    NFS3ERR_ROFS, NFS3ERR_MLINK, NFS3ERR_NAMETOOLONG, NFS3ERR_NOTEMPTY,
    NFS3ERR_DQUOT, NFS3ERR_STALE, NFS3ERR_REMOTE, NFS3ERR_BADHANDLE,
    NFS3ERR_NOT_SYNC, NFS3ERR_BAD_COOKIE, NFS3ERR_NOTSUPP, NFS3ERR_TOOSMALL,
    NFS3ERR_SERVERFAULT, NFS3ERR_BADTYPE, NFS3ERR_JUKEBOX};

/* Errors are as long as the shortest failure of their row: nothing follows. */
TEST(errors_carry_the_status_alone)
{
	for (size_t i = 0; i < wire_row_count; i++) {
		const struct wire_row *row = &wire_rows[i];

		if (!strstr(row->name, ".fail"))
			continue;
		for (size_t s = 0; s < 28; s++) {
			unsigned char buf[NFS_RES_SMALL_MAX], *exact;
			ENDS_BY(wire_free) struct wire w = {0};
			union nfs_res res;
			size_t n;

			wire_u32(&w, statuses[s]);
			for (const char *c = row->spec; *c; c++)
				if (*c == 'a' || *c == 'w')
					wire_spell(&w, *c == 'a' ? "A" : "W");
			n = nfs_res_encode_error(
			    row_proc(row), statuses[s], buf, sizeof(buf));
			assert_int_equal(n, w.len);
			assert_memory_equal(buf, w.data, n);
			exact = wire_copy(buf, n);
			assert_true(
			    nfs_res_decode(row_proc(row), exact, n, &res));
			assert_int_equal(res.status, statuses[s]);
			free(exact);
		}
	}
}
