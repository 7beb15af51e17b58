/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kill -9 while saving: the file is the last save that ended, or a newer one;
 * it is never damaged. */
#include "predictor/persist/persist.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unittest.h"
#include "base/statefile.h"

enum { ROUNDS = 40, STEP = 200 };

static void teach(struct predictor *p, uint64_t first)
{
	struct prediction out[64];

	for (uint64_t i = 0; i < STEP; i++) {
		struct predictor_obs o = {.kind = PREDICTOR_READ,
		    .now_ns = (first + i) * 1000000,
		    .latency_ns = 100000,
		    .actor = 1,
		    .object = first + i,
		    .parent = 1 + i % 7,
		    .name_hash = first + i,
		    .size_bytes = 100};

		predictor_observe(p, &o);
		predictor_predict(p, out, 64);
	}
}

static struct predictor *predictor_make(void)
{
	struct predictor_options opt = {.budget_bytes = 4 << 20};

	return predictor_new(&opt);
}

/* The daemon: learns, saves, and says how many objects are safe. */
static void child_run(const char *path, int safe)
{
	struct predictor *p = predictor_make();
	char err[PERSIST_ERR_MAX];
	struct predictor_stats st;
	int ret = predictor_load(p, path, err);

	if (ret && ret != -ENOENT)
		_exit(1);
	for (;;) {
		uint64_t objects;
		size_t len;
		void *data;

		predictor_get_stats(p, &st);
		teach(p, 1 + st.objects % 6000);
		data = predictor_export(p, &len);
		if (!data || statefile_write(path, data, len))
			_exit(2);
		free(data);
		predictor_get_stats(p, &st);
		objects = st.objects;
		if (write(safe, &objects, sizeof(objects)) != sizeof(objects))
			_exit(3);
	}
}

/* Kills the child `after_us` after it has said `least` numbers. Returns the
 * last number that it said. */
static uint64_t child_kill(pid_t pid, int safe, int least, long after_us)
{
	struct timespec wait = {0, after_us * 1000};
	uint64_t objects, last = 0;
	int status;

	for (; least > 0; least--)
		assert_int_equal(read(safe, &last, sizeof(last)), sizeof(last));
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(safe, &objects, sizeof(objects)) == sizeof(objects))
		last = objects;
	return last;
}

TEST(test_kill)
{
	char path[64];
	uint64_t most = 0;

	snprintf(path, sizeof(path), "%s/trees", unittest_folder());
	for (int i = 0; i < ROUNDS; i++) {
		struct predictor *p = AFTER(predictor_free, predictor_make());
		char err[PERSIST_ERR_MAX] = "";
		struct predictor_stats st;
		uint64_t safe;
		int fds[2], ret;
		pid_t pid;

		assert_non_null(p);
		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0)
			child_run(path, fds[1]);
		close(fds[1]);
		safe =
		    child_kill(pid, fds[0], i % 8 == 7, 1000 + i * 997 % 20000);
		close(fds[0]);
		ret = predictor_load(p, path, err);
		if (ret && (ret != -ENOENT || safe || most))
			fail_msg("round %d: %s", i, err);
		predictor_get_stats(p, &st);
		assert_true(st.objects >= safe);
		assert_true(st.objects >= most);
		most = st.objects < 4000 ? st.objects : 4000;
	}
	assert_true(most > 0);
}
