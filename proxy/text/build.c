/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that the build system and the compiler define; no other file has them,
 * so that a new commit has this one compiled again alone. */
#include "text/build.h"

#include <stdio.h>

#ifndef FF_COMMIT
#define FF_COMMIT "unknown"
#endif

#define TEXT_OF(number)  #number
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

#ifdef __clang__
#define COMPILER                                                               \
	"clang " VERSION(__clang_major__, __clang_minor__, __clang_patchlevel__)
#else
#define COMPILER "gcc " VERSION(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
#endif

const char *build_commit(void)
{
	return FF_COMMIT;
}

const char *build_compiler(void)
{
	return COMPILER;
}

void build_print(const char *program, const char *libraries)
{
	printf("%s " FF_VERSION "\ncommit     %s\ncompiler   %s\n"
	       "libraries  %s\n",
	    program, build_commit(), build_compiler(), libraries);
}
