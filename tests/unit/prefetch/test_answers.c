/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers ahead: a client is told some, and these are asked for of the server.
 */
#include "unittest.h"
#include "cache/caches.h"
#include "prefetch/step_fixture.h"
#include "prefetch/steps/answers.h"

enum { FILES = 12, MASK = NFSACL_ACCESS | 2, GROWTH = 4 };

static char texts[FILES][2][16];
static struct answers *answers;

static bool always(void *ctx)
{
	(void)ctx;
	return true;
}

/* "dir" with objects "000", "001" and so on, of which the last two are of type
 * `last`. */
static void begin_with(struct step_world *s, ftype3 last)
{
	static struct entry entries[FILES];
	struct predictor_dirent known[FILES];

	for (int i = 0; i < FILES; i++) {
		snprintf(texts[i][0], sizeof(texts[i][0]), "file-%d", i);
		snprintf(texts[i][1], sizeof(texts[i][1]), "%03d", i);
		entries[i] = (struct entry){
		    texts[i][0], texts[i][1], i < FILES - 2 ? NF3REG : last};
		known[i] =
		    (struct predictor_dirent){.object = key_of(texts[i][1]),
			.name_hash = 1 + (uint64_t)i};
	}
	say_dir(s->w);
	say_access(s, "dir");
	s->w->now_us += SECOND;
	say_page(s->w, entries, FILES, 0, true);
	s->pf.g.ready = always;
	predictor_list(s->pf.g.predictor, 0, key_of("dir"), known, FILES);
	answers = answers_new(&(struct steps_params){
	    .ground = &s->pf.g, .queue = s->pf.queue, .calls = s->calls});
}

static void begin(struct step_world *s)
{
	begin_with(s, NF3DIR);
}

/* Its client is told the list of this file. */
static void told(struct step_world *s, int file, uint32_t mask)
{
	s->pf.g.now_us = s->w->now_us;
	answers_told(answers, s->cred, node_of(s->w, texts[file][1]), mask,
	    s->w->now_us);
}

/* The same; then the pump has its turn. */
static void tell(struct step_world *s, int file, uint32_t mask)
{
	told(s, file, mask);
	(void)pump_run(s->steps, s->w->now_us);
}

/* The server said the list of this file, for whomever. */
static void say_acl(struct step_world *s, int file)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(NFSACL_PROGRAM, NFSACL_V3, NFSACLPROC3_GETACL);
	struct node *node = node_of(s->w, texts[file][1]);
	struct binding b = {
	    .generation = attrcache_generation(s->w->caches->attr, node)};
	struct xdr_view body = {.len = 4, .data = "\0\0\0\0"};

	answercache_put(s->w->caches->answers, node, proc, MASK, &body, &b);
}

static void assert_asked(struct step_world *s, int file)
{
	assert_call(s, "GETACL", texts[file][1]);
	assert_int_equal(s->up.calls[s->seen - 1].args.getacl.mask, MASK);
}

FIXTURE(struct step_world, step_setup, step_teardown);

/* After two files the lists of the next come, in the order of the listing: what
 * is kept or comes already is not asked for, nor a directory's, for which the
 * client has another mask. */
TEST(test_run, struct step_world *s)
{
	begin(s);
	say_acl(s, 0);
	tell(s, 0, MASK);
	assert_call(s, NULL, NULL);
	say_acl(s, 1);
	say_acl(s, 4);
	tell(s, 1, MASK);
	for (int i = 2; i < FILES - 2; i++)
		if (i != 4)
			assert_asked(s, i);
	assert_call(s, NULL, NULL);
	tell(s, 2, MASK);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* How many come grows with how many the client was told. */
TEST(test_growth, struct step_world *s)
{
	begin(s);
	tell(s, 0, MASK);
	tell(s, 11, MASK);
	for (int i = 0; i < GROWTH * 2; i++)
		assert_asked(s, i);
	assert_call(s, NULL, NULL);
	tell(s, 1, MASK);
	for (int i = GROWTH * 2; i < FILES; i++)
		assert_asked(s, i);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* ls asks for a link's target, and for no list of it. */
TEST(test_link, struct step_world *s)
{
	begin_with(s, NF3LNK);
	for (int i = 0; i < FILES - 2; i++)
		say_acl(s, i);
	tell(s, 0, MASK);
	tell(s, 1, MASK);
	assert_call(s, "READLINK", texts[FILES - 2][1]);
	assert_call(s, "READLINK", texts[FILES - 1][1]);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* A path may lead over several links of one directory. Only where its client
 * has listed that, others come. */
TEST(test_links_alone, struct step_world *s)
{
	begin_with(s, NF3LNK);
	tell(s, FILES - 2, 0);
	tell(s, FILES - 1, 0);
	assert_call(s, NULL, NULL);
	answers_listed(answers, s->cred, node_of(s->w, "dir"), s->w->now_us);
	tell(s, FILES - 2, 0);
	tell(s, FILES - 1, 0);
	assert_call(s, "READLINK", texts[FILES - 2][1]);
	assert_call(s, "READLINK", texts[FILES - 1][1]);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* The predictor does not know where the files of a very large directory are:
 * they are in the one that the client has listed. */
TEST(test_large_directory, struct step_world *s)
{
	struct predictor_options po = {.budget_bytes = 2 << 20};

	begin(s);
	predictor_free(s->pf.g.predictor);
	s->pf.g.predictor = predictor_new(&po);
	tell(s, 0, MASK);
	tell(s, 1, MASK);
	assert_call(s, NULL, NULL);
	answers_listed(answers, s->cred, node_of(s->w, "dir"), s->w->now_us);
	tell(s, 0, MASK);
	tell(s, 1, MASK);
	for (int i = 0; i < GROWTH * 2; i++)
		assert_asked(s, i);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* Linux asks for a directory's default list alone before it makes a file. */
TEST(test_before_creates, struct step_world *s)
{
	begin(s);
	for (int i = 0; i < FILES; i++)
		tell(s, i, 4);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* In strict mode the client's own calls would be sent all the same. */
TEST(test_strict, struct step_world *s)
{
	begin(s);
	s->w->config.policy.consistency = CONFIG_CONSISTENCY_STRICT;
	for (int i = 0; i < FILES; i++)
		tell(s, i, MASK);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* One file, however often, says nothing of the others. */
TEST(test_one_file, struct step_world *s)
{
	begin(s);
	for (int i = 0; i < 100; i++)
		tell(s, 3, MASK);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* The server refuses the list of this file. */
static void refuse(struct step_world *s, const struct upstream_call *call)
{
	static const unsigned char acces[] = {0, 0, 0, NFS3ERR_ACCES};
	struct record rec = {.len = sizeof(acces)};
	struct rpc_reply rpc = {.accepted = true,
	    .status = SUCCESS,
	    .body = {.data = (const char *)acces, .len = sizeof(acces)}};

	call->ops->on_reply(
	    call->arg, &(struct upstream_result){
			   .rec = &rec, .rpc = &rpc, .sent_us = s->w->now_us});
}

/* After a pause, the next run does not ask for what was refused just before. */
TEST(test_refused, struct step_world *s)
{
	begin(s);
	tell(s, 0, MASK);
	tell(s, 1, MASK);
	for (int i = 0; i < GROWTH * 2; i++)
		assert_asked(s, i);
	refuse(s, &s->up.calls[2]);
	s->w->now_us += 6 * SECOND;
	tell(s, 0, MASK);
	tell(s, 1, MASK);
	/* The calls for the other files are still under way. */
	assert_asked(s, 8);
	assert_asked(s, 9);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* One file now and then is no run. */
TEST(test_pause, struct step_world *s)
{
	begin(s);
	for (int i = 0; i < FILES; i++) {
		tell(s, i, MASK);
		s->w->now_us += 6 * SECOND;
	}
	assert_call(s, NULL, NULL);
	answers_free(answers);
}

/* The pump looks at the server often while there is a job: so one ends when its
 * client has. */
TEST(test_job_ends, struct step_world *s)
{
	begin(s);
	told(s, 0, MASK);
	told(s, 1, MASK);
	answers_age(answers, s->w->now_us + SECOND);
	assert_true(queue_has_jobs(s->pf.queue));
	answers_age(answers, s->w->now_us + 6 * SECOND);
	assert_false(queue_has_jobs(s->pf.queue));
	answers_free(answers);
}

/* The daemon ends, or the export is not served any more, in the midst of a run.
 */
TEST(test_end_in_a_run, struct step_world *s)
{
	begin(s);
	told(s, 0, MASK);
	told(s, 1, MASK);
	assert_true(queue_has_jobs(s->pf.queue));
	answers_free(answers);
	assert_false(queue_has_jobs(s->pf.queue));
	(void)pump_run(s->steps, s->w->now_us);
	assert_call(s, NULL, NULL);
}

/* A directory that is not listed has no next. */
TEST(test_no_listing, struct step_world *s)
{
	begin(s);
	s->w->version++;
	say_dir(s->w);
	for (int i = 0; i < FILES; i++)
		tell(s, i, MASK);
	assert_call(s, NULL, NULL);
	answers_free(answers);
}
