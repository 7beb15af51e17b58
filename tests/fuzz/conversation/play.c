/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays conversations from files: for compilers and sanitizers that know no
 * fuzzer. The daemon has all of its threads. */
#include <stdio.h>
#include <stdlib.h>

#include "conversation/talk.h"

enum { TEXT_MAX = 1 << 16 };

static void play(const char *path)
{
	static char text[TEXT_MAX];
	FILE *f = fopen(path, "r");
	size_t len;

	if (!f) {
		perror(path);
		exit(1);
	}
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	fprintf(stderr, "%s\n", path);
	talk(text, len);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		play(argv[i]);
	return 0;
}
