/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the scenarios in the folders beside it (script.h says how they are
 * written): all of them, or those that are named.
 *
 *	change  what is looked at before a change is repeated
 *	doubt   when it is, and what becomes of changes without a client
 *	copy    the reply cache, and calls that are alike
 *	cache   what may be answered from the caches: attributes, data
 *	rights  to whom that may be told
 *	name    names, and absent ones
 *	order   what waits for a change that its client sent before
 *	server  a server that is away, slow, or talks nonsense
 *	stale   files and trees that were replaced, so that handles are stale
 */
#include <glob.h>

#include "unittest.h"
#include "base/log.h"
#include "scenario/script.h"
#include "scenario/world.h"

struct scenario {
	const char *path;
	struct world *world;
};

static int setup(void **state)
{
	struct scenario *s = *state;

	s->world = world_new();
	s->world->clients_ask_again = true;
	return 0;
}

static int teardown(void **state)
{
	struct scenario *s = *state;

	world_free(s->world);
	return 0;
}

static void run(void **state)
{
	struct scenario *s = *state;

	script_run(s->world, s->path);
}

static bool wanted(const char *path, int argc, char **argv)
{
	const char *name = strrchr(path, '/') + 1;

	for (int i = 1; i < argc; i++)
		if (strncmp(name, argv[i], strcspn(name, ".")) == 0 &&
		    !argv[i][strcspn(name, ".")])
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	glob_t found;
	struct CMUnitTest *tests;
	struct scenario *all;
	size_t n = 0;
	int failed;

	log_set_level(script_is_traced() ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	if (glob(FF_SOURCE_DIR "/tests/unit/scenario/*.scenario", 0, NULL,
		&found) == GLOB_NOSPACE ||
	    glob(FF_SOURCE_DIR "/tests/unit/scenario/*/*.scenario", GLOB_APPEND,
		NULL, &found) != 0)
		return 1;
	tests = calloc(found.gl_pathc, sizeof(*tests));
	all = calloc(found.gl_pathc, sizeof(*all));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (!wanted(found.gl_pathv[i], argc, argv))
			continue;
		all[n].path = found.gl_pathv[i];
		tests[n] = (struct CMUnitTest){
		    .name = strrchr(found.gl_pathv[i], '/') + 1,
		    .test_func = run,
		    .setup_func = setup,
		    .teardown_func = teardown,
		    .initial_state = &all[n]};
		n++;
	}
	failed = _cmocka_run_group_tests("scenarios", tests, n, NULL, NULL);
	free(tests);
	free(all);
	globfree(&found);
	return failed != 0 || n == 0;
}
