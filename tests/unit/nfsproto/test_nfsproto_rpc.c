/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RPC headers and AUTH_SYS, against bytes spelled from RFC 5531. */
#include "unittest.h"
#include "nfsproto/nfsproto_wire.h"
#include "nfsproto/rpc_msg.h"

/* Decode an exactly sized copy; views of the outcome are not to be used. */
static enum rpc_call_status call_decode(
    const struct wire *w, size_t len, struct rpc_call *call)
{
	void *p = wire_copy(w->data, len);
	enum rpc_call_status st = rpc_call_decode(p, len, call);

	free(p);
	return st;
}

static bool reply_decode(
    const struct wire *w, size_t len, struct rpc_reply *reply)
{
	void *p = wire_copy(w->data, len);
	bool ok = rpc_reply_decode(p, len, reply);

	free(p);
	return ok;
}

TEST(call_is_decoded)
{
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_call call;

	wire_spell(&w, "u:77 u:0 u:2 u:100003 u:3 u:6 u:1 o:20 u:0 o:0 u:5");
	assert_int_equal(rpc_call_decode(w.data, w.len, &call), RPC_CALL_OK);
	assert_int_equal(call.xid, 77);
	assert_int_equal(call.prog, 100003);
	assert_int_equal(call.vers, 3);
	assert_int_equal(call.proc, 6);
	assert_int_equal(call.cred.flavor, AUTH_SYS);
	assert_int_equal(call.cred.body.len, 20);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(
		    (unsigned char)call.cred.body.data[i], wire_byte(20, i));
	assert_int_equal(call.body.len, 4);
	assert_memory_equal(call.body.data, "\0\0\0\5", 4);
}

TEST(call_is_encoded)
{
	unsigned char buf[RPC_CALL_HEADER_MAX];
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_call call;
	size_t n;

	wire_spell(&w, "u:77 u:0 u:2 u:100003 u:3 u:6 u:1 o:21 u:0 o:0");
	assert_int_equal(rpc_call_decode(w.data, w.len, &call), RPC_CALL_OK);
	n = rpc_call_encode(&call, buf, sizeof(buf));
	assert_int_equal(n, w.len);
	assert_memory_equal(buf, w.data, n);
	for (size_t size = 0; size < n; size++) {
		FREED void *p = wire_copy(buf, size);

		assert_int_equal(rpc_call_encode(&call, p, size), 0);
	}
}

TEST(longest_call_fits_the_header_bound)
{
	unsigned char buf[RPC_CALL_HEADER_MAX];
	char body[RPC_AUTH_BODY_MAX] = "x";
	struct rpc_call call = {.cred.body = {sizeof(body), body}};

	assert_int_equal(
	    rpc_call_encode(&call, buf, sizeof(buf)), RPC_CALL_HEADER_MAX);
}

TEST(other_rpc_version_is_told_apart)
{
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_call call;

	wire_spell(&w, "u:78 u:0 u:3");
	assert_int_equal(call_decode(&w, w.len, &call), RPC_CALL_MISMATCH);
	assert_int_equal(call.xid, 78);
}

TEST(reply_is_no_call)
{
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_call call;

	wire_spell(&w, "u:78 u:1 u:2 u:100003 u:3 u:0 u:0 o:0 u:0 o:0");
	assert_int_equal(call_decode(&w, w.len, &call), RPC_CALL_NOT_A_CALL);
}

static enum rpc_call_status call_with(const char *cred, const char *verf)
{
	struct wire w = {0};
	struct rpc_call call = {0};
	enum rpc_call_status st;

	wire_spell(&w, "u:79 u:0 u:2 u:100003 u:3 u:0 u:1");
	wire_spell(&w, cred);
	wire_spell(&w, "u:0");
	wire_spell(&w, verf);
	st = call_decode(&w, w.len, &call);
	assert_int_equal(call.xid, 79);
	wire_free(&w);
	return st;
}

TEST(credential_has_a_bound)
{
	assert_int_equal(call_with("o:400", "o:0"), RPC_CALL_OK);
	assert_int_equal(call_with("o:0", "o:400"), RPC_CALL_OK);
	assert_int_equal(call_with("o:401", "o:0"), RPC_CALL_BAD_CRED);
	assert_int_equal(call_with("o:0", "o:401"), RPC_CALL_BAD_CRED);
	assert_int_equal(call_with("u:4294967295", "o:0"), RPC_CALL_BAD_CRED);
}

TEST(call_cut_anywhere_is_refused)
{
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_call call;

	wire_spell(&w, "u:77 u:0 u:2 u:100003 u:3 u:6 u:1 o:22 u:0 o:9");
	for (size_t len = 0; len < w.len; len++)
		assert_int_equal(call_decode(&w, len, &call),
		    len < 24 ? RPC_CALL_NOT_A_CALL : RPC_CALL_BAD_CRED);
	assert_int_equal(call_decode(&w, w.len, &call), RPC_CALL_OK);
	assert_int_equal(call.body.len, 0);
}

static bool auth_decode(
    const struct wire *w, size_t len, struct rpc_auth_sys *auth)
{
	char *p = wire_copy(w->data, len);
	struct xdr_view v = {(uint32_t)len, p};
	bool ok = rpc_auth_sys_decode(&v, auth);

	free(p);
	return ok;
}

static void spell_auth(struct wire *w, const char *machine, uint32_t gids)
{
	wire_spell(w, "u:5");
	wire_spell(w, machine);
	wire_spell(w, "u:1000 u:100");
	wire_u32(w, gids);
	for (uint32_t i = 0; i < gids; i++)
		wire_u32(w, 2000 + i);
}

static void auth_sys_round_trip(const char *machine, uint32_t gids, bool good)
{
	unsigned char buf[RPC_AUTH_BODY_MAX];
	struct rpc_auth_sys auth;
	ENDS_BY(wire_free) struct wire w = {0};
	struct xdr_view v;

	spell_auth(&w, machine, gids);
	v = (struct xdr_view){(uint32_t)w.len, (char *)w.data};
	assert_int_equal(rpc_auth_sys_decode(&v, &auth), good);
	if (good) {
		assert_int_equal(auth.stamp, 5);
		assert_int_equal(auth.uid, 1000);
		assert_int_equal(auth.gid, 100);
		assert_int_equal(auth.ngids, gids);
		for (uint32_t i = 0; i < gids; i++)
			assert_int_equal(auth.gids[i], 2000 + i);
		assert_int_equal(
		    rpc_auth_sys_encode(&auth, buf, sizeof(buf)), w.len);
		assert_memory_equal(buf, w.data, w.len);
		assert_int_equal(rpc_auth_sys_encode(&auth, buf, w.len - 1), 0);
	}
	for (size_t len = 0; len < w.len; len++)
		assert_false(auth_decode(&w, len, &auth));
}

TEST(auth_sys_has_bounds)
{
	struct rpc_auth_sys auth = {.ngids = RPC_GIDS_MAX + 1};
	unsigned char buf[RPC_AUTH_BODY_MAX];

	auth_sys_round_trip("n:host", 0, true);
	auth_sys_round_trip("n:host", 16, true);
	auth_sys_round_trip("n:host", 17, false);
	auth_sys_round_trip("o:0", 3, true);
	auth_sys_round_trip("o:255", 16, true);
	auth_sys_round_trip("o:256", 1, false);
	auth_sys_round_trip("u:4294967295", 1, false);
	assert_int_equal(rpc_auth_sys_encode(&auth, buf, sizeof(buf)), 0);
}

TEST(auth_sys_with_more_behind_is_refused)
{
	struct rpc_auth_sys auth;
	ENDS_BY(wire_free) struct wire w = {0};

	spell_auth(&w, "n:host", 2);
	assert_true(auth_decode(&w, w.len, &auth));
	wire_u32(&w, 0);
	assert_false(auth_decode(&w, w.len, &auth));
}

/* `made` bytes at `buf` are `spec`, decode, and do not when cut anywhere. */
static void check_reply(const char *spec, const unsigned char *buf, size_t made,
    struct rpc_reply *reply)
{
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_reply cut;

	wire_spell(&w, spec);
	assert_int_equal(made, w.len);
	assert_memory_equal(buf, w.data, w.len);
	for (size_t len = 0; len < w.len; len++)
		assert_false(reply_decode(&w, len, &cut));
	assert_true(reply_decode(&w, w.len, reply));
	assert_int_equal(reply->xid, 99);
	assert_int_equal(reply->body.len, 0);
}

TEST(accepted_replies)
{
	static const struct {
		uint32_t stat;
		const char *spec;
	} kinds[] = {
	    {SUCCESS, "u:99 u:1 u:0 u:0 u:0 u:0"},
	    {PROG_UNAVAIL, "u:99 u:1 u:0 u:0 u:0 u:1"},
	    {PROG_MISMATCH, "u:99 u:1 u:0 u:0 u:0 u:2 u:3 u:4"},
	    {PROC_UNAVAIL, "u:99 u:1 u:0 u:0 u:0 u:3"},
	    {GARBAGE_ARGS, "u:99 u:1 u:0 u:0 u:0 u:4"},
	    {SYSTEM_ERR, "u:99 u:1 u:0 u:0 u:0 u:5"},
	};
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	struct rpc_reply reply;

	for (size_t i = 0; i < 6; i++) {
		size_t n = rpc_reply_encode_accepted(
		    99, kinds[i].stat, 3, 4, buf, sizeof(buf));

		check_reply(kinds[i].spec, buf, n, &reply);
		assert_true(reply.accepted);
		assert_int_equal(reply.status, kinds[i].stat);
		assert_int_equal(rpc_reply_encode_accepted(
				     99, kinds[i].stat, 3, 4, buf, n - 1),
		    0);
	}
}

TEST(denied_replies)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	struct rpc_reply reply;
	size_t n;

	n = rpc_reply_encode_mismatch(99, buf, sizeof(buf));
	check_reply("u:99 u:1 u:1 u:0 u:2 u:2", buf, n, &reply);
	assert_false(reply.accepted);
	assert_int_equal(reply.status, RPC_MISMATCH);
	assert_int_equal(rpc_reply_encode_mismatch(99, buf, n - 1), 0);
	for (uint32_t why = AUTH_BADCRED; why <= AUTH_FAILED; why++) {
		char spec[64];

		n = rpc_reply_encode_auth_error(99, why, buf, sizeof(buf));
		snprintf(spec, sizeof(spec), "u:99 u:1 u:1 u:1 u:%u", why);
		check_reply(spec, buf, n, &reply);
		assert_false(reply.accepted);
		assert_int_equal(reply.status, AUTH_ERROR);
		assert_int_equal(reply.auth_status, why);
		assert_int_equal(
		    rpc_reply_encode_auth_error(99, why, buf, n - 1), 0);
	}
}

TEST(results_stand_behind_the_verifier)
{
	ENDS_BY(wire_free) struct wire w = {0};
	struct rpc_reply reply;

	wire_spell(&w, "u:99 u:1 u:0 u:2 o:13 u:0 u:41 u:42");
	assert_true(rpc_reply_decode(w.data, w.len, &reply));
	assert_true(reply.accepted);
	assert_int_equal(reply.body.len, 8);
	assert_ptr_equal(reply.body.data, (char *)w.data + w.len - 8);
}

TEST(malformed_replies)
{
	static const char *const bad[] = {
	    "u:99 u:0 u:0 u:0 u:0 u:0",   /* a call */
	    "u:99 u:2 u:0 u:0 u:0 u:0",   /* neither */
	    "u:99 u:1 u:2 u:0 u:0 u:0",   /* neither accepted nor denied */
	    "u:99 u:1 u:0 u:0 u:0 u:6",   /* no accept_stat */
	    "u:99 u:1 u:1 u:2 u:1 u:1",   /* no reject_stat */
	    "u:99 u:1 u:0 u:0 o:401 u:0", /* verifier too long */
	    "u:99 u:1 u:0 u:0 u:4294967292 u:0",
	};
	struct rpc_reply reply;

	for (size_t i = 0; i < LENGTH(bad); i++) {
		ENDS_BY(wire_free) struct wire w = {0};

		wire_spell(&w, bad[i]);
		assert_false(reply_decode(&w, w.len, &reply));
	}
}
