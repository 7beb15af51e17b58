/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which mounts doctor looks at, and what it says of their options; findings on
 * their way from one process to another; checks that hang or crash. */
#include <fcntl.h>
#include <unistd.h>

#include "unittest.h"
#include "base/clock.h"
#include "ask/ask.h"
#include "doctor/doctor_private.h"
#include "doctor/jobs.h"

#define GOOD                                                                   \
	"rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,nolock,"        \
	"proto=tcp,port=289,timeo=600,retrans=2,sec=sys,"                      \
	"mountaddr=127.0.0.1,mountvers=3,mountport=289,mountproto=tcp,"        \
	"local_lock=all,addr=127.0.0.1"

/* Mounts that these lines of mountinfo have. */
static void find(struct doctor_env *env, const char *lines)
{
	char file[] = "/tmp/mountinfo.XXXXXX";
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
	close(fd);
	env->nmounts = 0;
	doctor_find_mounts(env, file);
	unlink(file);
}

TEST(test_find_mounts)
{
	static uint8_t nas[] = "nas", at[] = "127.0.0.1:289";
	ProtobufCBinaryData listen = {.len = sizeof(at) - 1, .data = at};
	Forefetch__ServerStatus srv = FOREFETCH__SERVER_STATUS__INIT;
	Forefetch__ServerStatus *list = &srv;
	Forefetch__Status st = FOREFETCH__STATUS__INIT;
	FREED struct doctor_env *env = calloc(1, sizeof(*env));

	srv.name = (ProtobufCBinaryData){.len = 3, .data = nas};
	srv.listen = &listen;
	srv.n_listen = 1;
	st.servers = &list;
	st.n_servers = 1;
	env->st = &st;
	find(env, "21 1 0:20 / /proc rw,nosuid - proc proc rw\n"
		  "30 1 0:40 / /mnt/my\\040home rw,nosuid,nodev shared:1 - nfs "
		  "127.0.0.1:/home " GOOD "\n"
		  "31 1 0:41 / /mnt/far rw - nfs nas:/home "
		  "rw,vers=3,addr=192.0.2.7\n"
		  "32 1 0:42 / /mnt/other rw - nfs 127.0.0.1:/x "
		  "rw,vers=3,port=4711,addr=127.0.0.1\n"
		  "33 1 0:43 / /mnt/own rw - nfs 127.0.0.1:/x "
		  "rw,vers=3,addr=127.0.0.1\n"
		  "34 - \n\n - nfs a:/ b\n35 1 0:1 / /x rw - nfs");
	assert_int_equal(env->nmounts, 2);
	assert_string_equal(env->mounts[0].dir, "/mnt/my home");
	assert_string_equal(env->mounts[0].export, "/home");
	assert_string_equal(env->mounts[0].listen, "127.0.0.1:289");
	assert_string_equal(env->mounts[0].server, "nas");
	assert_string_equal(env->mounts[1].dir, "/mnt/other");
	assert_string_equal(env->mounts[1].server, "");
}

static bool says(const struct findings *all, enum finding_state state,
    const char *what, const char *fact)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].state == state &&
		    strcmp(all->list[i].what, what) == 0 &&
		    strstr(all->list[i].fact, fact))
			return true;
	return false;
}

/* The mount is a directory that answers; its options are these. */
static void check_options(const char *options, enum finding_state state,
    const char *what, const char *fact)
{
	const struct doctor_env env = {.nmounts = 0};
	struct doctor_mount m = {.dir = "/tmp", .server = "nas"};
	ENDS_BY(findings_free) struct findings all = {0};

	snprintf(m.options, sizeof(m.options), "%s", options);
	doctor_check_mount(&env, &m, &all);
	assert_true(says(&all, state, what, fact));
	assert_true(says(&all, FINDING_OK, "answer", "it answers"));
}

TEST(test_options)
{
	check_options("rw,nosuid,nodev," GOOD, FINDING_OK, "options", "vers=3");
	check_options("rw," GOOD, FINDING_WARN, "safety", "nosuid");
	check_options("nosuid,nodev,vers=3,rsize=4096,wsize=1048576,hard,"
		      "proto=tcp,local_lock=all",
	    FINDING_WARN, "rsize", "4.00 KiB");
	check_options("vers=3,soft,proto=tcp", FINDING_WARN, "soft", "lose");
	check_options("vers=3,hard,proto=tcp,local_lock=none", FINDING_WARN,
	    "locks", "nolock");
	check_options(
	    "vers=4.2,hard,proto=tcp", FINDING_FAIL, "version", "4.2");
	check_options("vers=3,hard,proto=udp", FINDING_FAIL, "transport", "");
	check_options("", FINDING_FAIL, "version", "NFSv3");
}

TEST(test_stale)
{
	const struct doctor_env env = {.nmounts = 0};
	struct doctor_mount m = {.dir = "/nonexistent", .server = "nas"};
	ENDS_BY(findings_free) struct findings all = {0};

	doctor_check_mount(&env, &m, &all);
	assert_true(says(&all, FINDING_FAIL, "answer", "No such file"));
}

/* The receiver gets the findings as they were sent, and refuses a text that was
 * cut off. */
TEST(test_send)
{
	ENDS_BY(findings_free) struct findings all = {0};
	struct findings back = {0};
	FREED char *data = NULL;
	size_t len;
	FILE *to = open_memstream(&data, &len);

	findings_add(&all, FINDING_WARN, "what", "a fact %d\n\xff", 7);
	findings_remedy(&all, "do %s", "this");
	findings_add(&all, FINDING_OK, "", "%s", "");
	findings_send(&all, to);
	fclose(to);
	assert_true(findings_receive(&back, data, len));
	assert_int_equal(back.count, 2);
	assert_int_equal(back.list[0].state, FINDING_WARN);
	assert_string_equal(back.list[0].fact, "a fact 7\n\xff");
	assert_string_equal(back.list[0].remedy, "do this");
	assert_int_equal(findings_worst(&back), FINDING_WARN);
	findings_free(&back);
	for (size_t cut = 0; cut < len; cut++) {
		assert_false(findings_receive(&back, data, cut));
		findings_free(&back);
	}
}

static void hang(const void *env, const void *arg, struct findings *out)
{
	(void)env;
	(void)arg;
	(void)out;
	for (;;)
		pause();
}

static void crash(const void *env, const void *arg, struct findings *out)
{
	(void)env;
	(void)arg;
	findings_add(out, FINDING_OK, "lost", "with the process");
	_exit(3);
}

static void good(const void *env, const void *arg, struct findings *out)
{
	findings_add(out, FINDING_OK, "good", "%s %s", (const char *)env,
	    (const char *)arg);
}

TEST(test_jobs)
{
	struct doctor_job jobs[] = {
	    {.group = "a", .name = "hang", .run = hang},
	    {.group = "a", .name = "crash", .run = crash},
	    {.group = "b", .name = "good", .run = good, .arg = "arg"},
	};
	uint64_t start = clock_now_us();

	jobs_run(jobs, 3, "env", 300000, NULL);
	assert_true(clock_now_us() - start < 5000000);
	assert_true(
	    says(&jobs[0].found, FINDING_FAIL, "hang", "does not answer"));
	assert_true(
	    says(&jobs[1].found, FINDING_FAIL, "crash", "itself failed"));
	assert_true(says(&jobs[2].found, FINDING_OK, "good", "env arg"));
	for (int i = 0; i < 3; i++)
		findings_free(&jobs[i].found);
}

TEST(test_output)
{
	const char *const echo[] = {"sh", "-c", "echo one; echo two >&2", NULL};
	const char *const yes[] = {"sh", "-c", "yes | head -c 1000000", NULL};
	const char *const none[] = {"/nonexistent/program", NULL};
	char text[16];

	assert_int_equal(jobs_output(echo, text, sizeof(text)), 0);
	/* Root's PATH may be a user's. */
	if (geteuid() == 0) {
		FREED char *path = strdup(getenv("PATH"));

		setenv("PATH", "/nowhere", 1);
		assert_int_equal(jobs_output(echo, text, sizeof(text)), 0);
		setenv("PATH", path, 1);
	}
	assert_string_equal(text, "one\ntwo\n");
	(void)jobs_output(yes, text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_int_equal(jobs_output(none, text, sizeof(text)), 127);
}

static const struct {
	Forefetch__FarmStatus__State is;
	const char *error;
	enum finding_state state;
	const char *fact, *remedy;
} farms[] = {{FOREFETCH__FARM_STATUS__STATE__UP, "", FINDING_OK,
		 "up, Redis 7.0.15, 210 us", NULL},
    {FOREFETCH__FARM_STATUS__STATE__CONNECTING, "", FINDING_NOTE, "connecting",
	NULL},
    {FOREFETCH__FARM_STATUS__STATE__OFF, "no such key", FINDING_WARN,
	"off: no such key", "key_file"},
    {FOREFETCH__FARM_STATUS__STATE__FULL, "it evicts nothing", FINDING_WARN,
	"full: it evicts nothing", "farm check"},
    {FOREFETCH__FARM_STATUS__STATE__DOWN, "refused", FINDING_WARN,
	"down: refused; all goes on without it", "farm check"},
    {FOREFETCH__FARM_STATUS__STATE__UP, "b:6379: down", FINDING_WARN,
	"up: b:6379: down", "farm check"}};

/* Everything goes on without it, so nothing of it fails. */
TEST(test_farm)
{
	Forefetch__FarmStatus farm = FOREFETCH__FARM_STATUS__INIT;
	Forefetch__Status st = FOREFETCH__STATUS__INIT;
	FREED struct doctor_env *env = calloc(1, sizeof(*env));
	struct findings all = {0};

	doctor_check_farm(env, &all);
	env->st = &st;
	doctor_check_farm(env, &all);
	assert_int_equal(all.count, 0);
	st.farm = &farm;
	farm.version =
	    (ProtobufCBinaryData){.len = 6, .data = (uint8_t *)"7.0.15"};
	farm.srtt_us = 210;
	for (size_t i = 0; i < LENGTH(farms); i++) {
		farm.state = farms[i].is;
		farm.error =
		    (ProtobufCBinaryData){.len = strlen(farms[i].error),
			.data = (uint8_t *)farms[i].error};
		doctor_check_farm(env, &all);
		assert_int_equal(all.count, 1);
		assert_int_equal(all.list[0].state, farms[i].state);
		assert_non_null(strstr(all.list[0].fact, farms[i].fact));
		assert_int_equal(!all.list[0].remedy, !farms[i].remedy);
		if (farms[i].remedy)
			assert_non_null(
			    strstr(all.list[0].remedy, farms[i].remedy));
		findings_free(&all);
	}
}

TEST(test_farm_bad_values)
{
	Forefetch__FarmStatus farm = FOREFETCH__FARM_STATUS__INIT;
	Forefetch__FarmServed served[2] = {
	    FOREFETCH__FARM_SERVED__INIT, FOREFETCH__FARM_SERVED__INIT};
	Forefetch__ServerStatus srv[3] = {FOREFETCH__SERVER_STATUS__INIT,
	    FOREFETCH__SERVER_STATUS__INIT, FOREFETCH__SERVER_STATUS__INIT};
	Forefetch__ServerStatus *list[] = {&srv[0], &srv[1], &srv[2]};
	Forefetch__Status st = FOREFETCH__STATUS__INIT;
	FREED struct doctor_env *env = calloc(1, sizeof(*env));
	ENDS_BY(findings_free) struct findings all = {0};

	farm.state = FOREFETCH__FARM_STATUS__STATE__UP;
	st.farm = &farm;
	st.servers = list;
	st.n_servers = 3;
	srv[0].farm = &served[0];
	srv[2].farm = &served[1];
	served[0].bad = 2;
	served[1].bad = 3;
	env->st = &st;
	doctor_check_farm(env, &all);
	assert_int_equal(all.count, 2);
	assert_int_equal(all.list[1].state, FINDING_WARN);
	assert_non_null(strstr(all.list[1].fact, "5 did not open"));
	assert_non_null(strstr(all.list[1].remedy, "key_file"));
}
