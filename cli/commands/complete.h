/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that a shell offers behind a part of a command line. */
#ifndef FOREFETCH_COMPLETE_H
#define FOREFETCH_COMPLETE_H

/*
 * `forefetch complete -- WORD...`, for the files in configs/completion: `words`
 * are the words of a command line behind `forefetch`, of which the last is
 * being written and may be empty; a "--" in front of them is skipped.
 *
 * It prints a line for each candidate, followed by a tab and a summary where
 * there is one; or one line ":file" or ":directory", which tells the shell to
 * offer its own. `socket` is the path of the daemon's control socket, where
 * names of servers and trees are asked for. Returns EXIT_SUCCESS, also without
 * any candidate, or CTL_EXIT_USAGE without any word.
 */
int complete_run(int nwords, char **words, const char *socket);

#endif
