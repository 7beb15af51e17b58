/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that the build system and the compiler define; no other file has them,
 * so that a new commit has this one compiled again alone. */
#include "base/build.h"

#include <stdio.h>

#ifndef FF_COMMIT
#define FF_COMMIT "unknown"
#endif

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CHECKS ", AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define CHECKS ", ThreadSanitizer"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKS ", AddressSanitizer"
#elif __has_feature(thread_sanitizer)
#define CHECKS ", ThreadSanitizer"
#endif
#endif
#ifndef CHECKS
#define CHECKS ""
#endif

const char *build_commit(void)
{
	return FF_COMMIT;
}

const char *build_compiler(void)
{
	return COMPILER CHECKS;
}

void build_print(const char *program, const char *libraries)
{
	printf("%s " FF_VERSION "\ncommit     %s\ncompiler   %s\n"
	       "libraries  %s\n",
	    program, build_commit(), build_compiler(), libraries);
}
