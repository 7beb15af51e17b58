/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract of docs/CONTRACT.md, sentence by sentence: what the age of an
 * answer, the server's clock, a user's rights and the memory's limit allow.
 */
#include "cache/caches_fixture.h"
#include "cache/known.h"
#include "nfsproto/nfs3_object.h"

FIXTURE(struct world, setup, teardown);

/* ---- consistency ------------------------------------------------------ */

TEST(test_bounded_counts_from_sending, struct world *w)
{
	say_dir(w, "dir", 10);
	assert_true(fresh(w, "dir"));
	w->now_us += 3 * S - 40 * MS;
	assert_true(fresh(w, "dir"));
	w->now_us += 1;
	assert_false(fresh(w, "dir"));
}

TEST(test_strict_wants_a_later_call, struct world *w)
{
	struct contract c;
	uint64_t received_us = w->now_us;

	set_mode(w, CONFIG_CONSISTENCY_STRICT);
	say_dir(w, "dir", 10);
	assert_false(fresh(w, "dir"));
	/* A request that came in before the call was sent. */
	contract_init(&c, &w->config.policy, false, received_us, w->now_us);
	assert_true(contract_fresh(
	    &c, attrcache_sent(w->caches->attr, node_of(w, "dir"))));
}

TEST(test_frozen_asks_once, struct world *w)
{
	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_dir(w, "dir", 10);
	w->now_us += UINT64_C(86400) * S;
	assert_true(fresh(w, "dir"));
}

TEST(test_offline_takes_any, struct world *w)
{
	struct contract c;

	say_dir(w, "dir", 10);
	w->now_us += UINT64_C(600) * S;
	contract_init(&c, &w->config.policy, true, w->now_us, w->now_us);
	assert_true(contract_fresh(&c, T0));
	assert_true(contract_right(&c, T0));
	w->now_us += UINT64_C(3600) * S;
	contract_init(&c, &w->config.policy, true, w->now_us, w->now_us);
	assert_false(contract_right(&c, T0));
}

/* ---- grains ----------------------------------------------------------- */

TEST(test_binding_is_firm_after_a_grain, struct world *w)
{
	say_dir(w, "dir", 10);
	w->now_us += GRAIN_US;
	say_lookup(w, "late", "f", 10, round_trip(w));
	w->now_us += 20 * S;
	say_dir(w, "dir", 10);
	assert_true(holds(w, "late"));
}

TEST(test_binding_is_provisional_within_a_grain, struct world *w)
{
	say_dir(w, "dir", 10);
	w->now_us += GRAIN_US - 1;
	say_lookup(w, "soon", "f", 10, round_trip(w));
	assert_true(holds(w, "soon"));
	w->now_us += 3 * S;
	say_dir(w, "dir", 10);
	assert_false(holds(w, "soon"));
}

TEST(test_grain_is_a_second_for_whole_seconds, struct world *w)
{
	fattr3 a = attr_of(NF3DIR, 1, 10);
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("x")}};
	union nfs_res res = {.status = NFS3ERR_NOENT};

	a.mtime.nseconds = a.ctime.nseconds = 0;
	say_getattr(w, "dir", &a);
	w->now_us += 900 * MS;
	res.lookup.LOOKUP3res_u.dir_attributes.attributes_follow = TRUE;
	res.lookup.LOOKUP3res_u.dir_attributes.post_op_attr_u.attributes = a;
	say(w, NFSPROC3_LOOKUP, &args, &res, round_trip(w));
	w->now_us += 3 * S;
	say_getattr(w, "dir", &a);
	assert_false(holds(w, "x"));
}

/* ---- rights ----------------------------------------------------------- */

static void say_access(
    struct world *w, const char *fh, uint32_t given, uint32_t ctime)
{
	union nfs_args args = {
	    .access = {.object = fh_of(fh), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3_OK};

	res.access.ACCESS3res_u.resok.obj_attributes = post(NF3REG, 20, ctime);
	res.access.ACCESS3res_u.resok.access = given;
	say(w, NFSPROC3_ACCESS, &args, &res, round_trip(w));
}

TEST(test_rights_are_one_credentials, struct world *w)
{
	struct rpc_auth_sys auth = {.uid = 1001, .gid = 1000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};
	uint32_t other = caches_cred(w->caches, &cred, &auth);

	say_access(w, "f", ACCESS3_READ, 5);
	assert_non_null(
	    accesscache_find(w->caches->access, node_of(w, "f"), w->cred));
	assert_null(
	    accesscache_find(w->caches->access, node_of(w, "f"), other));
}

TEST(test_groups_count_in_any_order, struct world *w)
{
	struct rpc_cred cred = {.flavor = AUTH_SYS};
	struct rpc_auth_sys a = {
	    .uid = 5, .gid = 6, .ngids = 3, .gids = {9, 7, 8}};
	struct rpc_auth_sys b = {
	    .uid = 5, .gid = 6, .ngids = 4, .gids = {8, 9, 7, 7}};
	struct rpc_auth_sys c = {
	    .uid = 5, .gid = 6, .ngids = 2, .gids = {9, 7}};

	assert_int_equal(caches_cred(w->caches, &cred, &a),
	    caches_cred(w->caches, &cred, &b));
	assert_int_not_equal(caches_cred(w->caches, &cred, &a),
	    caches_cred(w->caches, &cred, &c));
}

/* Whether ACCESS's answer about the bits may be told now. */
static bool may_tell(struct world *w, const char *fh, uint32_t bits)
{
	struct asker who = asker_now(w->caches, w->cred, w->now_us);
	struct known k;

	known_node(&k, &who, node_of(w, fh));
	return known_fresh(&k) && known_access(&k, bits);
}

/* The server gives rights to a file that has been there for a while, and
 * `later_us` afterwards it confirms its attributes. */
static void say_rights(struct world *w, uint32_t given, uint64_t later_us)
{
	fattr3 a = attr_of(NF3REG, 20, 5);

	say_getattr(w, "f", &a);
	w->now_us += S;
	say_access(w, "f", given, 5);
	w->now_us += later_us;
	say_getattr(w, "f", &a);
}

/* Nobody can take it away without a sign at the file, while it is the same. */
TEST(test_what_was_granted_is_kept, struct world *w)
{
	say_rights(w, ACCESS3_READ, 3590 * (uint64_t)S);
	assert_true(may_tell(w, "f", ACCESS3_READ));
}

TEST(test_an_hour_is_over, struct world *w)
{
	say_rights(w, ACCESS3_READ, 3600 * (uint64_t)S);
	assert_true(fresh(w, "f"));
	assert_false(may_tell(w, "f", ACCESS3_READ));
}

TEST(test_a_right_needs_fresh_attributes, struct world *w)
{
	say_rights(w, ACCESS3_READ, 10 * S);
	assert_true(may_tell(w, "f", ACCESS3_READ));
	w->now_us += 3 * S;
	assert_false(may_tell(w, "f", ACCESS3_READ));
}

/* A user who joins a group leaves no sign there. What may be executed goes with
 * what may be read. */
TEST(test_what_was_denied_is_not_kept, struct world *w)
{
	say_rights(w, ACCESS3_READ, 10 * S);
	assert_false(may_tell(w, "f", ACCESS3_READ | ACCESS3_MODIFY));
	assert_true(may_tell(w, "f", ACCESS3_READ | ACCESS3_EXECUTE));
}

/* A later change could have met the same tick of the server's clock. */
TEST(test_a_right_to_a_new_file_is_not_kept, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);

	say_access(w, "f", ACCESS3_READ, 5);
	w->now_us += 10 * S;
	say_getattr(w, "f", &a);
	assert_true(fresh(w, "f"));
	assert_false(may_tell(w, "f", ACCESS3_READ));
}

/* It met it: the mode is another one, the ctime is not. */
TEST(test_mode_changed_within_a_tick, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);

	say_rights(w, ACCESS3_READ, S);
	a.mode = 0;
	say_getattr(w, "f", &a);
	assert_false(may_tell(w, "f", ACCESS3_READ));
}

/* The server takes a right away, or gives one, and no object shows it: nothing
 * else that it said to this user counts any more. */
/* The server takes a right away, or gives one, and no object shows it: nothing
 * else that it said to this user counts any more. */
TEST(test_a_contradiction_ends_all_rights, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);

	say_getattr(w, "g", &a);
	w->now_us += S;
	say_access(w, "g", ACCESS3_READ, 5);
	say_rights(w, ACCESS3_READ, S);
	say_access(w, "f", ACCESS3_READ, 5);
	say_getattr(w, "g", &a);
	assert_true(may_tell(w, "g", ACCESS3_READ));
	say_access(w, "f", 0, 5);
	assert_false(may_tell(w, "g", ACCESS3_READ));
	assert_int_equal(metrics_get(w->metrics, METRICS_RIGHTS_ENDED), 1);
	/* It counts if it is said from then on. */
	say_access(w, "g", ACCESS3_READ, 5);
	assert_true(may_tell(w, "g", ACCESS3_READ));
}

/* A server that contradicts itself all the time does not have a user's rights
 * asked for all the time. */
TEST(test_contradictions_rest, struct world *w)
{
	uint64_t ended;

	for (int i = 0; i < 24 * 60 * 60 / 10; i++) {
		say_access(w, "f", i % 2 ? ACCESS3_READ : 0, 5);
		w->now_us += 10 * S;
	}
	ended = metrics_get(w->metrics, METRICS_RIGHTS_ENDED);
	assert_in_range(ended, 24, 32);
	/* After some quiet hours the first contradiction counts at once. */
	w->now_us += 3 * 3600 * (uint64_t)S;
	say_access(w, "f", ACCESS3_READ, 5);
	say_access(w, "f", 0, 5);
	assert_int_equal(
	    metrics_get(w->metrics, METRICS_RIGHTS_ENDED), ended + 1);
}

/* A user logs in while the server is away: what is cached can still be read. */
TEST(test_rights_do_not_end_offline, struct world *w)
{
	struct asker who;
	struct known k;

	say_rights(w, ACCESS3_READ, S);
	caches_end_rights_uid(w->caches, 1000, w->now_us);
	assert_false(may_tell(w, "f", ACCESS3_READ));
	who = asker_now(w->caches, w->cred, w->now_us);
	who.offline = true;
	known_node(&k, &who, node_of(w, "f"));
	assert_true(known_access(&k, ACCESS3_READ));
}

/* An answer that was under way when the server refused something to a later
 * call grants nothing. */
TEST(test_refused_meanwhile, struct world *w)
{
	union nfs_args args = {.read = {.file = fh_of("f"), .count = 1}};
	union nfs_res res = {.status = NFS3ERR_ACCES};
	struct asker who;
	struct known k;
	uint64_t sent_us = w->now_us;

	say_access(w, "f", ACCESS3_READ, 5);
	say(w, NFSPROC3_READ, &args, &res, round_trip(w));
	res.status = NFS3_OK;
	res.read.READ3res_u.resok.file_attributes = post(NF3REG, 20, 5);
	say(w, NFSPROC3_READ, &args, &res, sent_us);
	who = asker_now(w->caches, w->cred, w->now_us);
	known_node(&k, &who, node_of(w, "f"));
	assert_false(known_own(&k));
	assert_false(known_granted(&k, ACCESS3_READ));
}

TEST(test_own_chmod_ends_grants, struct world *w)
{
	union nfs_args args = {.setattr = {.object = fh_of("f")}};
	union nfs_res res = {.status = NFS3_OK};
	const struct grant *g;

	say_access(w, "f", ACCESS3_READ, 5);
	res.wccstat.wcc.after = post(NF3REG, 20, 6);
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	g = accesscache_find(w->caches->access, node_of(w, "f"), w->cred);
	assert_true(!g || g->known == 0);
}

/* ---- memory ----------------------------------------------------------- */

TEST(test_budget_holds, struct world *w)
{
	char name[32], fh[32];

	w->caches->memory_bytes = 4 << 20;
	say_dir(w, "dir", 10);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		snprintf(fh, sizeof(fh), "handle-of-28-bytes--%08d", i);
		say_lookup(w, name, fh, 10, w->now_us);
		w->now_us += MS;
	}
	assert_true(caches_bytes(w->caches) <= 4 << 20);
	/* The latest are there, and the directory that all went through. */
	assert_non_null(node_of(w, "dir"));
	assert_true(holds(w, name));
	assert_true(attrcache_count(w->caches->attr) > 10000);
}

TEST(test_entry_is_small, struct world *w)
{
	char name[32], fh[32];

	w->cred = 0;
	say_dir(w, "dir", 10);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "name-%07d", i);
		snprintf(fh, sizeof(fh), "handle-of-28-bytes--%08d", i);
		say_lookup(w, name, fh, 10, w->now_us);
	}
	assert_int_equal(attrcache_count(w->caches->attr), 100001);
	print_message("%zu bytes an entry\n", caches_entry_bytes(w->caches));
	assert_true(caches_entry_bytes(w->caches) <= 160);
}

/* ---- handles that somebody made ----------------------------------------- */

/* Handles of one key: the first eight bytes make XXH3 multiply the next eight
 * by zero, since they are the first ones of its own secret. */
static nfs3_fh same_key(uint32_t i, char fh[32])
{
	static const unsigned char zero[8] = {
	    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe};

	memset(fh, 1, 32);
	memcpy(fh, zero, sizeof(zero));
	memcpy(fh + 8, &i, sizeof(i));
	return (nfs3_fh){.len = 32, .data = fh};
}

/* A server that hands them out gets few of them cached. */
TEST(test_handles_of_one_key, struct world *w)
{
	struct attrcache *ac = w->caches->attr;
	unsigned kept = 0;
	char fh[32], other[32];

	for (uint32_t i = 0; i < 1000; i++) {
		nfs3_fh one = same_key(i, fh), first = same_key(0, other);

		assert_true(fh_key(&one) == fh_key(&first));
		kept += attrcache_get(ac, &one) != NULL;
		assert_true(!attrcache_find(ac, &one) ||
			    node_key(attrcache_find(ac, &one)) == fh_key(&one));
	}
	assert_in_range(kept, 1, 64);
	/* Others are cached as ever. */
	say_dir(w, "dir", 10);
	assert_true(fresh(w, "dir"));
}

/* A client may ask for the ACL of one file by any mask. */
TEST(test_answers_by_any_mask, struct world *w)
{
	struct answercache *answers = w->caches->answers;
	const struct nfs_proc *getacl =
	    nfs_proc_find(NFSACL_PROGRAM, NFSACL_V3, 1);
	const struct binding bound = {.firm = true};
	const struct xdr_view body = {.data = "acl", .len = 4};
	struct node *node;

	say_dir(w, "dir", 10);
	node = node_of(w, "dir");
	for (uint32_t mask = 0; mask < 1000; mask++) {
		answercache_put(answers, node, getacl, mask, &body, &bound);
		assert_non_null(answercache_find(answers, node, getacl, mask));
	}
	assert_in_range(answercache_count(answers), 16, 32);
}
