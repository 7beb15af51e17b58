/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads scenarios line by line, and finds each line's sentence. */
#include "scenario/script.h"

#include <errno.h>

#include "unittest.h"
#include "scenario/vclock.h"
#include "scenario/world.h"

enum { WORDS = 64, LINE_MAX_BYTES = 512, EVENTS = 40 };

/* Where it is, and what happened last. */
static struct {
	const char *path;
	unsigned line;
	char text[LINE_MAX_BYTES];
	char events[EVENTS][LINE_MAX_BYTES];
	unsigned nevents;
	uint64_t begun_ns;
	char wrong[LINE_MAX_BYTES];
} at;

bool script_is_traced(void)
{
	return getenv("SCENARIO_TRACE") != NULL;
}

void script_trace(const char *fmt, ...)
{
	char *to = at.events[at.nevents++ % EVENTS];
	uint64_t ms = (vclock_wall_ns() - at.begun_ns) / 1000000;
	va_list ap;
	int n;

	n = snprintf(to, LINE_MAX_BYTES, "%6ju.%03ju s  ",
	    (uintmax_t)(ms / 1000), (uintmax_t)(ms % 1000));
	va_start(ap, fmt);
	vsnprintf(to + n, LINE_MAX_BYTES - (size_t)n, fmt, ap);
	va_end(ap);
	if (script_is_traced())
		fprintf(stderr, "%s\n", to);
}

static void show_events(void)
{
	unsigned i = at.nevents > EVENTS ? at.nevents - EVENTS : 0;

	for (; i < at.nevents; i++)
		print_error("  %s\n", at.events[i % EVENTS]);
}

_Noreturn void script_fail(const char *fmt, ...)
{
	char why[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	show_events();
	print_error("%s:%u: %s: %s\n", at.path, at.line, at.text, why);
	fail();
	abort();
}

void script_wrong(const char *fmt, ...)
{
	va_list ap;

	if (at.wrong[0])
		return;
	va_start(ap, fmt);
	vsnprintf(at.wrong, sizeof(at.wrong), fmt, ap);
	va_end(ap);
}

/* ---- lines ------------------------------------------------------------- */

/* In place; `line` has room for a blank around each comma. */
static unsigned split(char *line, char *words[WORDS])
{
	unsigned n = 0;
	char *save;

	for (char *w = strtok_r(line, " \t\n", &save); w && n < WORDS - 1;
	     w = strtok_r(NULL, " \t\n", &save)) {
		size_t len = strlen(w);

		words[n++] = w;
		if (len > 1 && w[len - 1] == ',') {
			w[len - 1] = '\0';
			words[n++] = (char *)",";
		}
	}
	return n;
}

static bool matches(
    const char *sentence, char **words, unsigned n, struct script_match *m)
{
	char copy[LINE_MAX_BYTES], *save, *part;
	unsigned i = 0, ones = 0;

	*m = (struct script_match){.n = 0};
	snprintf(copy, sizeof(copy), "%s", sentence);
	for (part = strtok_r(copy, " ", &save); part;
	     part = strtok_r(NULL, " ", &save), i++) {
		if (i >= n)
			return false;
		if (strcmp(part, "...") == 0) {
			m->rest = words + i;
			m->n = n - i;
			return true;
		}
		if (strcmp(part, "*") == 0)
			m->one[ones++] = words[i];
		else if (strcmp(part, words[i]) != 0)
			return false;
	}
	return i == n;
}

static void run_line(struct world *w, char *line)
{
	char *words[WORDS];
	unsigned n = split(line, words);
	const struct script_step *s = script_steps;
	struct script_match m;

	while (s->sentence && !matches(s->sentence, words, n, &m))
		s++;
	if (!s->sentence)
		script_fail("no sentence of steps.c is like this");
	if (!s->before)
		world_start(w);
	s->run(w, &m);
	vclock_settle();
	if (at.wrong[0])
		script_fail("%s", at.wrong);
}

static void begin(const char *path)
{
	const char *name = strrchr(path, '/');

	memset(&at, 0, sizeof(at));
	at.path = name ? name + 1 : path;
	at.begun_ns = vclock_wall_ns();
}

static bool is_empty(const char *line)
{
	line += strspn(line, " \t\n");
	return !*line || *line == '#';
}

void script_run(struct world *w, const char *path)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "r");

	begin(path);
	if (!f)
		script_fail("%s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		at.line++;
		if (is_empty(line))
			continue;
		snprintf(at.text, sizeof(at.text), "%.*s",
		    (int)strcspn(line, "\n"), line);
		script_trace("--- %u: %s", at.line, at.text);
		run_line(w, line);
	}
	fclose(f);
	snprintf(at.text, sizeof(at.text), "the end");
	script_end(w);
}
