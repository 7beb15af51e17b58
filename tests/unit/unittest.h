/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tests of a program: one that is defined is run, without a list, in the
 * order of its file.
 *
 *	FIXTURE(struct world, world_open, world_close);
 *
 *	TEST(test_something, struct world *w)
 *	{
 *		…
 *	}
 *
 * It includes what nearly all of them use of the C library.
 */
#ifndef FOREFETCH_TESTS_UNITTEST_H
#define FOREFETCH_TESTS_UNITTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of an array. */
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

struct unittest_fixture {
	size_t size;
	void (*open)(void *), (*close)(void *);
	CMFixtureFunction set_up, tear_down;
};

/* A test. Its second argument, if there is one, declares what *state is to it:
 * a FIXTURE() is for those tests only that have one. */
#define TEST(...)                                                              \
	UNITTEST_PICK(__VA_ARGS__, UNITTEST_OF, UNITTEST_ALONE, 0)             \
	(__VA_ARGS__)
#define UNITTEST_PICK(name, made, macro, ...) macro
#define UNITTEST_ALONE(name)                  UNITTEST_TEST(name, false)
#define UNITTEST_OF(name, made)                                                \
	static void name##_of(made);                                           \
	UNITTEST_TEST(name, true)                                              \
	{                                                                      \
		name##_of(*state);                                             \
	}                                                                      \
	static void name##_of(made)
#define UNITTEST_TEST(name, has_fixture)                                       \
	static void name(void **state);                                        \
	UNITTEST_EARLY(__LINE__)                                               \
	{                                                                      \
		unittest_add(#name, name, has_fixture);                        \
	}                                                                      \
	static void name(__attribute__((unused)) void **state)

/* The tests behind it are about a `type` of zeros that is made for each, opened
 * and, at the end, closed by these functions. */
#define FIXTURE(type, open, close)                                             \
	UNITTEST_EARLY(__LINE__)                                               \
	{                                                                      \
		(void)sizeof((open)((type *)NULL), (close)((type *)NULL), 0);  \
		unittest_set_fixture(&(struct unittest_fixture){sizeof(type),  \
		    (void (*)(void *))(open), (void (*)(void *))(close), NULL, \
		    NULL});                                                    \
	}                                                                      \
	struct unittest_fixture
/* All tests behind it have these functions of cmocka's, or NULL. */
#define FIXTURE_OF_STATE(set_up, tear_down)                                    \
	UNITTEST_EARLY(__LINE__)                                               \
	{                                                                      \
		unittest_set_fixture(&(struct unittest_fixture){               \
		    0, NULL, NULL, set_up, tear_down});                        \
	}                                                                      \
	struct unittest_fixture

/* A function that runs before main(), in the order of the lines of a file. */
#define UNITTEST_EARLY(line)                                                   \
	__attribute__((constructor(1000 + line))) static void UNITTEST_JOIN(   \
	    unittest_early, line)(void)
#define UNITTEST_JOIN(a, b) a##_##b

/* A test made `x`, and `end` takes it away when the test is over, though it has
 * failed: the latest first, and what the fixture made when it opened behind
 * that. It has the value of `x`. */
#define AFTER(end, x)                                                          \
	((void)sizeof((end)(x), 0), unittest_after((void (*)(void *))(end), x))

/* A variable that `end` takes by its address where its block is left, and text
 * that is freed there; not where the test fails. */
#define ENDS_BY(end) __attribute__((cleanup(end)))
#define FREED        ENDS_BY(unittest_free)

static inline void unittest_free(void *pointer)
{
	free(*(void **)pointer);
}

void *unittest_after(void (*end)(void *), void *x);
/* A folder that is empty; it is there until the test is over. */
char *unittest_folder(void);
void unittest_add(const char *name, CMUnitTestFunction run, bool has_fixture);
void unittest_set_fixture(const struct unittest_fixture *f);
/* All tests, between these two of the program: how many failed. A program that
 * has no main() does this, without them. */
int unittest_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
