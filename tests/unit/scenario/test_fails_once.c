/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls by which the daemon and its clients find out what a server is like:
 * each of them fails once, in the same way, and succeeds from then on; and so
 * for each way in which a call can fail. Whatever the daemon concludes from a
 * failure must not outlive it: some minutes later the same calls of a client
 * have the server asked the same, and are answered the same, as where no call
 * ever failed.
 */
#include "unittest.h"
#include "base/log.h"
#include "scenario/script.h"
#include "scenario/vclock.h"
#include "scenario/world.h"

enum { LOG_BYTES = 16384, SECOND_US = 1000000 };

/* The client asks for these one after the other. The first call also has the
 * daemon look for the file system of the section. */
static const char *const asks[] = {"GETATTR /f", "MNT /srv", "EXPORT",
    "PATHCONF /", "FSINFO /", "FSSTAT /", "NULL"};

enum { ASKS = LENGTH(asks) };

/* The calls that fail, as the server describes them. */
static const char *const targets[] = {"MNT /section", "GETATTR /", "GETATTR /f",
    "MNT /srv", "EXPORT", "PATHCONF /", "FSINFO /", "FSSTAT /"};

enum { TARGETS = LENGTH(targets) };

/* ---- how a call fails -------------------------------------------------- */

static void say_acces(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_ACCES);
}

static void say_noent(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_NOENT);
}

static void say_io(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_IO);
}

static void say_stale(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_STALE);
}

static void say_notsupp(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_NOTSUPP);
}

static void say_serverfault(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_SERVERFAULT);
}

static void say_jukebox(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer(s, call, NFS3ERR_JUKEBOX);
}

static void no_program(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer_rpc(s, call, PROG_UNAVAIL);
}

static void other_version(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer_rpc(s, call, PROG_MISMATCH);
}

static void no_procedure(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer_rpc(s, call, PROC_UNAVAIL);
}

static void garbage_args(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer_rpc(s, call, GARBAGE_ARGS);
}

static void system_err(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_answer_rpc(s, call, SYSTEM_ERR);
}

/* The connection is cut under the call, outside of this callback. */
static void cut(struct fakeserver *s, struct fakeserver_call *call)
{
	(void)s;
	call->claimed = true;
}

static void done_and_cut(struct fakeserver *s, struct fakeserver_call *call)
{
	fakeserver_hold(s, call);
	call->claimed = true;
}

static const struct {
	const char *name;
	bool is_status;
	void (*answer)(struct fakeserver *s, struct fakeserver_call *call);
} faults[] = {
    {"ACCES", true, say_acces},
    {"NOENT", true, say_noent},
    {"IO", true, say_io},
    {"STALE", true, say_stale},
    {"NOTSUPP", true, say_notsupp},
    {"SERVERFAULT", true, say_serverfault},
    {"JUKEBOX", true, say_jukebox},
    {"PROG_UNAVAIL", false, no_program},
    {"PROG_MISMATCH", false, other_version},
    {"PROC_UNAVAIL", false, no_procedure},
    {"GARBAGE_ARGS", false, garbage_args},
    {"SYSTEM_ERR", false, system_err},
    {"an error of authentication", false, fakeserver_deny},
    {"results that do not decode", false, fakeserver_babble},
    {"no record of RPC", false, fakeserver_break_record},
    {"a cut connection", false, cut},
    {"a cut connection, and it is done", false, done_and_cut},
};

enum { FAULTS = LENGTH(faults) };

/* ---- a run ------------------------------------------------------------- */

struct run {
	struct world *w;
	int fault;            /* FAULTS: nothing fails */
	bool failed[TARGETS]; /* those that have */
	bool recording;       /* what happens, in `log` */
	char log[LOG_BYTES];
	size_t len;
};

static void record(struct run *r, const char *who, const char *what)
{
	if (!r->recording || r->len >= LOG_BYTES)
		return;
	r->len += (size_t)snprintf(
	    r->log + r->len, LOG_BYTES - r->len, "%s: %s\n", who, what);
	assert_true(r->len < LOG_BYTES);
}

/* Whether the call fails now, and from now on no more. EXPORT has no status
 * that could say so. */
static bool fails(struct run *r, const struct fakeserver_call *call)
{
	bool status = call->proc->flags & NFS_PROC_STATUS;

	if (r->fault == FAULTS || (!status && faults[r->fault].is_status))
		return false;
	for (int i = 0; i < TARGETS; i++)
		if (!r->failed[i] && strcmp(call->text, targets[i]) == 0) {
			r->failed[i] = true;
			return true;
		}
	return false;
}

static void on_call(void *arg, struct fakeserver_call *call)
{
	struct run *r = arg;
	struct fakeserver *s = r->w->nfs;

	record(r, "server gets", call->text);
	if (fails(r, call))
		faults[r->fault].answer(s, call);
	else
		fakeserver_do(s, call);
}

/* The client asks, and gets its answer in the end. */
static void ask(struct run *r, const char *text)
{
	struct client *c = world_client(r->w, 'A');
	char copy[64], *words[4], *save, said[CALLTEXT_MAX];
	struct calltext_facts facts;
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	client_send(c, words, n, false);
	vclock_settle();
	if (fakeserver_find(r->w->nfs, NULL, true))
		fakeserver_break(r->w->nfs);
	for (int i = 0; !client_take(c, NULL, &facts); i++) {
		assert_true(i < 60);
		vclock_pass(SECOND_US);
	}
	calltext_say_facts(&facts, said, sizeof(said));
	record(r, text, said);
}

static void ask_all(struct run *r)
{
	for (int i = 0; i < ASKS; i++)
		ask(r, asks[i]);
}

/* The client looks at the mode, at names that are not there, and at what was
 * asked once. */
static void look(struct run *r)
{
	r->recording = true;
	for (int i = 0; i < 3; i++) {
		ask(r, "GETATTR /f");
		vclock_pass((uint64_t)i * 2 * SECOND_US);
	}
	ask(r, "ACCESS /");
	ask(r, "READDIR /");
	vclock_pass(SECOND_US);
	ask(r, "LOOKUP /absent");
	ask(r, "READ /f");
	ask_all(r);
	ask_all(r);
	r->recording = false;
}

static void set_up(struct run *r)
{
	static const char settings[] = "consistency = frozen\n"
				       "[export nas:/section]\n"
				       "consistency = bounded\n";
	static char *const make[] = {(char *)"CREATE", (char *)"/f"};
	const struct nfs_proc *proc;
	union nfs_args args;
	union nfs_res res;
	char err[CALLTEXT_MAX];

	r->w = world_new();
	snprintf(r->w->settings, sizeof(r->w->settings), "%s", settings);
	/* An hour ago, so that all that is bound is firm. */
	r->w->fs->now_ns = vclock_wall_ns() - UINT64_C(3600000000000);
	assert_true(calltext_parse(r->w->fs, make, 2, &proc, &args, err));
	memfs_execute(r->w->fs, proc->proc, &args, 0, &res);
	assert_int_equal(res.status, NFS3_OK);
	fakeserver_take_mount(r->w->nfs);
	fakeserver_answer_by(r->w->nfs, on_call, r);
	world_start(r->w);
}

/* Begins, fails where it is to, and looks some minutes later. */
static void play(struct run *r)
{
	set_up(r);
	ask_all(r);
	/* As a client does that was told of an error. */
	ask_all(r);
	for (int i = 0; i < 30; i++) {
		vclock_pass(10 * SECOND_US);
		ask(r, "GETATTR /f");
	}
	vclock_pass(10 * SECOND_US);
	look(r);
	world_free(r->w);
}

static bool all_failed(const struct run *r)
{
	unsigned n = 0;

	for (int i = 0; i < TARGETS; i++)
		n += r->failed[i];
	return n == TARGETS || (faults[r->fault].is_status && n == TARGETS - 1);
}

static bool compare(const struct run *clean, int fault)
{
	struct run *r = calloc(1, sizeof(*r));
	bool same;

	r->fault = fault;
	play(r);
	assert_true(all_failed(r));
	same = strcmp(r->log, clean->log) == 0;
	if (!same)
		print_error("each call was answered by %s once; then:\n%s\n",
		    faults[fault].name, r->log);
	free(r);
	return same;
}

TEST(test_no_failure_is_remembered)
{
	struct run *clean = calloc(1, sizeof(*clean));
	unsigned differ = 0;

	clean->fault = FAULTS;
	play(clean);
	for (int i = 0; i < FAULTS; i++)
		differ += !compare(clean, i);
	if (differ)
		print_error("%u differ from\n%s\n", differ, clean->log);
	free(clean);
	assert_int_equal(differ, 0);
}

int main(void)
{
	log_set_level(script_is_traced() ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return unittest_run(NULL, NULL);
}
