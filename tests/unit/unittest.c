/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests of a program; see the header. */
#include "unittest.h"

#include <errno.h>

enum { TESTS_MAX = 64 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t ntests;
static CMFixtureFunction fixture[2];

void unittest_add(const char *name, CMUnitTestFunction run)
{
	if (ntests == TESTS_MAX)
		abort();
	tests[ntests++] = (struct CMUnitTest){.name = name,
	    .test_func = run,
	    .setup_func = fixture[0],
	    .teardown_func = fixture[1]};
}

void unittest_set_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	fixture[0] = set_up;
	fixture[1] = tear_down;
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
