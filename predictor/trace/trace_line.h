/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of the text format of traces (trace.h). */
#ifndef FOREFETCH_TRACE_LINE_H
#define FOREFETCH_TRACE_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct trace_line {
	char *run, *label, *path; /* they point into the parsed text */
	uint64_t time_us, size_bytes;
	uint32_t pid;
	bool exec;
	uint8_t kind; /* enum predictor_kind */
};

/* Cuts `text` up in place. Returns NULL, or what is wrong with it. */
const char *trace_line_parse(char *text, struct trace_line *line);
/* Reads decimal digits and nothing else, up to `max`. */
bool trace_number_parse(const char *s, uint64_t max, uint64_t *out);

#endif
