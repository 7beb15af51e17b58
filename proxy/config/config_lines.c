/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes a configuration file apart into lines, without comments, and with
 * continuations joined. config_parse.c calls this for each file, and splits the
 * lines. Nothing is copied: lines are moved together and cut in the text
 * itself. */
#include "config/config_lines.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The most bytes of a line with all that continues it: a list of some thousand
 * paths. */
#define LINE_BYTES 65536

#define BLANKS " \t\r"

/* Notes why line `line` is refused, and returns NULL. */
__attribute__((format(printf, 3, 4))) static char *refuse(
    struct config_lines *l, unsigned line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
	l->wrong = line;
	return NULL;
}

/* Whether text[at] is the first byte, or stands behind a blank. */
static bool is_word_start(const char *text, size_t at)
{
	return at == 0 || strchr(BLANKS, text[at - 1]);
}

/* Cuts the next line off the text; NULL after an error. Control characters are
 * refused, since nobody sees them in an editor. */
static char *cut_line(struct config_lines *l, size_t *len)
{
	char *line = l->text;
	char *eol = memchr(line, '\n', (size_t)(l->end - line));
	size_t n = (size_t)((eol ? eol : l->end) - line);

	l->text = line + n + (eol != NULL);
	l->read++;
	if (n > 0 && line[n - 1] == '\r')
		n--;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i];

		if (!iscntrl(c) || c == '\t')
			continue;
		return refuse(
		    l, l->read, "a control character (byte 0x%02x)", c);
	}
	*len = n;
	return line;
}

/*
 * Takes the comment off a line and the blanks around the rest. Returns whether
 * there was nothing but a comment.
 */
static bool trim(char **line, size_t *len)
{
	size_t n = 0;
	bool comment;

	while (
	    n < *len && !(strchr("#;", (*line)[n]) && is_word_start(*line, n)))
		n++;
	comment = n < *len;
	while (n > 0 && strchr(BLANKS, (*line)[n - 1]))
		n--;
	for (; n > 0 && strchr(BLANKS, **line); n--)
		++*line;
	*len = n;
	return comment && n == 0;
}

/* Whether the line goes on with the next one; its '\' is taken off then. It
 * must stand behind a blank, so that a value may end in one. */
static bool is_continued(const char *line, size_t *len)
{
	if (*len == 0 || line[*len - 1] != '\\' ||
	    !is_word_start(line, *len - 1))
		return false;
	--*len;
	return true;
}

/*
 * The parts of a line are moved together where they lie, each behind the blank
 * that was before the '\'. Lines that are only a comment do not end what is
 * continued.
 */
char *config_lines_next(struct config_lines *l)
{
	size_t len, more;
	char *line = cut_line(l, &len), *part;
	bool comment;

	l->line = l->read;
	if (!line)
		return NULL;
	trim(&line, &len);
	for (comment = false; comment || is_continued(line, &len);) {
		if (l->text == l->end)
			return refuse(l, l->read, "nothing follows the '\\'");
		part = cut_line(l, &more);
		if (!part)
			return NULL;
		comment = trim(&part, &more);
		memmove(line + len, part, more);
		len += more;
	}
	if (len > LINE_BYTES)
		return refuse(l, l->line,
		    "the line is too long (%zu bytes, want %d at most)", len,
		    LINE_BYTES);
	while (len > 0 && strchr(BLANKS, line[len - 1]))
		len--;
	line[len] = '\0';
	return line;
}
