/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing one line of the text format, which trace.c takes in. It checks all
 * that a line can get wrong by itself, so that messages name the line. */
#include "predictor/trace/trace_line.h"

#include <string.h>

#include "predictor/predictor.h"

enum { FIELDS_MIN = 7, FIELDS_MAX = 8 };

static const char *const kind_names[] = {
    [PREDICTOR_READ] = "read",
    [PREDICTOR_LOOKUP] = "lookup",
    [PREDICTOR_ABSENT] = "absent",
    [PREDICTOR_GETATTR] = "getattr",
    [PREDICTOR_READDIR] = "readdir",
    [PREDICTOR_ACCESS] = "access",
};

bool trace_number_parse(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		uint64_t digit = (uint64_t)(*s - '0');

		if (*s < '0' || *s > '9' || digit > max ||
		    n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*out = n;
	return true;
}

static bool kind_parse(const char *s, uint8_t *kind)
{
	for (unsigned k = 0; k < PREDICTOR_KINDS; k++) {
		if (strcmp(s, kind_names[k]) == 0) {
			*kind = (uint8_t)k;
			return true;
		}
	}
	return false;
}

/* Takes the fields over, and checks each; returns what is wrong, or NULL. */
static const char *fields_parse(char **f, int n, struct trace_line *line)
{
	uint64_t pid, exec;

	line->run = f[0];
	line->label = f[1];
	line->path = f[4];
	line->kind = PREDICTOR_READ;
	if (!*line->run)
		return "the run has no name";
	if (!*line->label)
		return "the label is empty";
	if (!*line->path)
		return "the path is empty";
	if (!trace_number_parse(f[2], INT64_MAX, &line->time_us))
		return "the time is no number of microseconds";
	if (!trace_number_parse(f[3], UINT32_MAX, &pid))
		return "the pid is no number";
	if (!trace_number_parse(f[5], INT64_MAX, &line->size_bytes))
		return "the size is no number of bytes";
	if (!trace_number_parse(f[6], 1, &exec))
		return "exec is neither 0 nor 1";
	if (n == FIELDS_MAX && !kind_parse(f[7], &line->kind))
		return "the kind is none of read, lookup, absent, getattr, "
		       "readdir, access";
	line->pid = (uint32_t)pid;
	line->exec = exec;
	return NULL;
}

const char *trace_line_parse(char *text, struct trace_line *line)
{
	char *field[FIELDS_MAX];
	int n = 0;

	for (char *rest = text; rest;) {
		if (n == FIELDS_MAX)
			return "more than 8 fields";
		field[n++] = strsep(&rest, "\t");
	}
	if (n < FIELDS_MIN)
		return "fewer than 7 fields, or not separated by tabs";
	return fields_parse(field, n, line);
}
