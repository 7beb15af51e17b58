/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a failure of a command with --json readable to programs. Stdout and
 * stderr of the process are replaced by streams that pass everything on: of
 * stdout they count the bytes, of stderr they keep the beginning. So no command
 * has to hand its messages through all of its functions. */
#include "commands/json_error.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/json.h"

#define PREFIX "forefetch: "

/* One for the process, as its two streams are. */
static struct {
	/* The streams were replaced; what is said now is progress, not an
	 * error. */
	bool begun, ignores;
	/* Bytes that were written to stdout. */
	size_t printed;
	/* The first bytes that were written to stderr since json_error_part();
	 * `len` of them are used. */
	char said[2048];
	size_t len;
} seen;

/* Writes to the descriptor itself, since the stream of that name leads here. */
static ssize_t pass(int fd, const char *buf, size_t size)
{
	ssize_t n = write(fd, buf, size);

	/* A write function of fopencookie(3) returns 0, not -1, when it fails.
	 */
	return n < 0 ? 0 : n;
}

/* Called by the C library whenever it flushes stdout (fopencookie(3)). */
static ssize_t on_stdout(void *cookie, const char *buf, size_t size)
{
	(void)cookie;
	seen.printed += size;
	return pass(STDOUT_FILENO, buf, size);
}

/* Called for every message, as this stderr is not buffered either. The message
 * still appears on the terminal. */
static ssize_t on_stderr(void *cookie, const char *buf, size_t size)
{
	size_t room = sizeof(seen.said) - seen.len;
	size_t n = size < room ? size : room;

	(void)cookie;
	if (seen.ignores)
		n = 0;
	memcpy(seen.said + seen.len, buf, n);
	seen.len += n;
	return pass(STDERR_FILENO, buf, size);
}

/* If one of the two streams cannot be made, that one stays as it was, and its
 * errors are not told in JSON. */
void json_error_begin(void)
{
	FILE *out, *err;

	if (seen.begun)
		return;
	seen.begun = true;
	out =
	    fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_stdout});
	err =
	    fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_stderr});
	/* In the GNU C Library these are variables. */
	if (out) {
		if (isatty(STDOUT_FILENO))
			setvbuf(out, NULL, _IOLBF, 0);
		stdout = out;
	}
	if (err) {
		setvbuf(err, NULL, _IONBF, 0);
		stderr = err;
	}
}

void json_error_ignore(bool ignore)
{
	seen.ignores = ignore;
}

void json_error_part(void)
{
	seen.len = 0;
}

/* The message loses its "forefetch: ", which a program need not read, and its
 * newline. */
void json_error_put(struct json *json, bool failed, const char *why)
{
	const char *text = seen.len > 0 ? seen.said : why;
	size_t len = !failed ? 0 : seen.len > 0 ? seen.len : strlen(why);

	if (len >= strlen(PREFIX) &&
	    memcmp(text, PREFIX, strlen(PREFIX)) == 0) {
		text += strlen(PREFIX);
		len -= strlen(PREFIX);
	}
	while (len > 0 && text[len - 1] == '\n')
		len--;
	json_bytes(json, "error", (const uint8_t *)text, len);
}

/* Prints {"error": TEXT} only if the command has printed nothing: output that
 * has begun already tells of its errors itself. */
int json_error_end(int code)
{
	struct json json = {.out = stdout};

	if (!seen.begun)
		return code;
	(void)fflush(stdout);
	if (code == EXIT_SUCCESS || seen.printed > 0)
		return code;
	json_open(&json, NULL, '{');
	json_error_put(&json, true, "");
	json_close(&json, '}');
	putchar('\n');
	(void)fflush(stdout);
	return code;
}
