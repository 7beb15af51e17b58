/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests of a program; see the header. */
#include "unittest.h"

#include <errno.h>

enum { TESTS_MAX = 64 };

struct made {
	void (*end)(void *);
	void *x;
};

static struct CMUnitTest tests[TESTS_MAX];
static struct unittest_fixture fixtures[TESTS_MAX]; /* of each test */
static struct unittest_fixture fixture;             /* of those to come */
static size_t ntests, begun;
static struct made *made; /* by the test that runs */
static size_t nmade;

void *unittest_after(void (*end)(void *), void *x)
{
	made = realloc(made, (nmade + 1) * sizeof(*made));
	assert_non_null(made);
	made[nmade++] = (struct made){.end = end, .x = x};
	return x;
}

static int set_up_test(void **state)
{
	const struct unittest_fixture *f = &fixtures[begun++];

	if (f->open) {
		*state = calloc(1, f->size);
		assert_non_null(*state);
		f->open(*state);
	}
	return f->set_up ? f->set_up(state) : 0;
}

static int tear_down_test(void **state)
{
	const struct unittest_fixture *f = &fixtures[begun - 1];

	while (nmade > 0) {
		struct made last = made[--nmade];

		last.end(last.x);
	}
	free(made);
	made = NULL;
	if (f->open) {
		f->close(*state);
		free(*state);
	}
	return f->tear_down ? f->tear_down(state) : 0;
}

void unittest_add(const char *name, CMUnitTestFunction run)
{
	if (ntests == TESTS_MAX)
		abort();
	fixtures[ntests] = fixture;
	tests[ntests++] = (struct CMUnitTest){.name = name,
	    .test_func = run,
	    .setup_func = set_up_test,
	    .teardown_func = tear_down_test};
}

void unittest_set_fixture(const struct unittest_fixture *f)
{
	fixture = *f;
}

int unittest_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests(
	    program_invocation_short_name, tests, ntests, set_up, tear_down);
}

__attribute__((weak)) int main(void)
{
	return unittest_run(NULL, NULL);
}
