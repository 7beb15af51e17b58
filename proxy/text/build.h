/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which build of forefetch a program is, for reports of faults. */
#ifndef FOREFETCH_BUILD_H
#define FOREFETCH_BUILD_H

/* The Git commit that it was built from, 12 digits, with "+" behind them where
 * files had been changed when CMake last looked; "unknown" where it was built
 * from no Git repository. */
const char *build_commit(void);

/* The compiler: "gcc 12.2.0", "clang 14.0.6". */
const char *build_compiler(void);

/* Prints name and version of the program on stdout, a line for each of the
 * above, and one for `libraries`, as --version does. */
void build_print(const char *program, const char *libraries);

#endif
