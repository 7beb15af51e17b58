/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our codecs against libnfs's, which were made from another set of .x files.
 *
 * libnfs encodes from fields set by name, and that must be the bytes of the
 * known-good row, in which test_nfsproto_fields.c finds the same fields by
 * our names. And what we encode, libnfs must decode to the last byte and
 * encode alike, for every row of every procedure.
 */
#include "unittest.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/nfsproto_wire.h"
#include "nfsproto/nfsproto_zdr.h"

enum { OUT_SIZE = 1 << 16 };

static size_t put_payload(const struct xdr_view *v, unsigned char *to)
{
	memcpy(to, v->data, v->len);
	memset(to + v->len, 0, xdr_pad(v->len));
	return v->len + xdr_pad(v->len);
}

/* Decode and encode by our codecs, the payload put behind as a caller does. */
static size_t our_recode(
    const struct wire_row *row, const void *in, size_t len, unsigned char *out)
{
	const struct nfs_proc *p = nfs_proc_find(row->prog, 3, row->proc);
	bool nfs = row->prog == NFS_PROGRAM;
	union nfs_args args;
	union nfs_res res;
	size_t n;

	if (!row->res) {
		assert_true(nfs_args_decode(p, in, len, &args));
		n = nfs_args_encode(p, &args, out, OUT_SIZE);
		if (nfs && row->proc == NFSPROC3_WRITE)
			n += put_payload(&args.write.data, out + n);
		return n;
	}
	assert_true(nfs_res_decode(p, in, len, &res));
	n = nfs_res_encode(p, &res, out, OUT_SIZE);
	if (nfs && row->proc == NFSPROC3_READ && res.status == NFS3_OK)
		n += put_payload(&res.read.READ3res_u.resok.data, out + n);
	return n;
}

TEST(libnfs_makes_our_rows)
{
	unsigned char *made = malloc(OUT_SIZE), *ours = malloc(OUT_SIZE);
	unsigned count = 0;

	for (size_t i = 0; i < wire_row_count; i++) {
		size_t n = zdr_make(wire_rows[i].name, made, OUT_SIZE);
		ENDS_BY(wire_free) struct wire w = {0};

		if (n == 0)
			continue;
		count++;
		wire_spell(&w, wire_rows[i].spec);
		if (n != w.len || memcmp(made, w.data, n))
			fail_msg("%s differs", wire_rows[i].name);
		assert_int_equal(our_recode(&wire_rows[i], made, n, ours), n);
		assert_memory_equal(ours, made, n);
	}
	assert_int_equal(count, 24);
	free(made);
	free(ours);
}

TEST(libnfs_reads_all_that_we_encode)
{
	unsigned char *ours = malloc(OUT_SIZE), *back = malloc(OUT_SIZE);

	for (size_t i = 0; i < wire_row_count; i++) {
		const struct wire_row *row = &wire_rows[i];
		ENDS_BY(wire_free) struct wire w = {0};
		size_t n, m;

		wire_spell(&w, row->spec);
		n = our_recode(row, w.data, w.len, ours);
		m = zdr_recode(
		    row->prog, row->proc, row->res, ours, n, back, OUT_SIZE);
		if (m != n || memcmp(ours, back, n))
			fail_msg("%s: %zu bytes of ours, %zu of libnfs",
			    row->name, n, m);
	}
	free(ours);
	free(back);
}

TEST(libnfs_reads_our_errors)
{
	unsigned char ours[NFS_RES_SMALL_MAX], back[NFS_RES_SMALL_MAX];

	for (size_t i = 0; i < wire_row_count; i++) {
		const struct wire_row *row = &wire_rows[i];
		size_t n, m;

		if (!strstr(row->name, ".fail"))
			continue;
		n = nfs_res_encode_error(nfs_proc_find(row->prog, 3, row->proc),
		    NFS3ERR_ACCES, ours, sizeof(ours));
		m = zdr_recode(
		    row->prog, row->proc, true, ours, n, back, sizeof(back));
		if (n == 0 || m != n || memcmp(ours, back, n))
			fail_msg("%s: %zu bytes of ours, %zu of libnfs",
			    row->name, n, m);
	}
}
