/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that a shell offers behind a part of a command line. */
#ifndef FOREFETCH_COMPLETE_H
#define FOREFETCH_COMPLETE_H

/*
 * `forefetch complete -- WORD...`, for the files in configs/completion: the
 * words behind `forefetch`, of which the last is being written and may be
 * empty. Prints a line for each candidate, with a tab and what it is behind
 * those that have a summary; or one line ":file" or ":directory", which the
 * shell has candidates for. `socket` is that of the daemon, which is asked for
 * names of servers and trees. Returns an exit code.
 */
int complete_run(int nwords, char **words, const char *socket);

#endif
