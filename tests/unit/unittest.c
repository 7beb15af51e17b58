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
static struct made *made;     /* by the test that runs */
static size_t nmade, nopened; /* nopened of them by its fixture */

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
	nopened = nmade;
	return f->set_up ? f->set_up(state) : 0;
}

static void end_made(size_t but)
{
	while (nmade > but) {
		struct made last = made[--nmade];

		last.end(last.x);
	}
}

static int tear_down_test(void **state)
{
	const struct unittest_fixture *f = &fixtures[begun - 1];

	end_made(nopened);
	if (f->open) {
		f->close(*state);
		free(*state);
	}
	end_made(0);
	free(made);
	made = NULL;
	return f->tear_down ? f->tear_down(state) : 0;
}

static void folder_remove(void *folder)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", (char *)folder);
	assert_int_equal(system(command), 0);
	free(folder);
}

char *unittest_folder(void)
{
	char *folder = strdup("/tmp/forefetch-test.XXXXXX");

	assert_non_null(mkdtemp(folder));
	return AFTER(folder_remove, folder);
}

void unittest_add(const char *name, CMUnitTestFunction run, bool has_fixture)
{
	if (ntests == TESTS_MAX)
		abort();
	fixtures[ntests] = fixture;
	if (!has_fixture)
		fixtures[ntests].open = NULL;
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
