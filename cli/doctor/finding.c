/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of findings: filled by checks, printed for people, as JSON for
 * programs, and sent through a pipe to the process that prints. Texts are kept
 * as they came and escaped when they are printed, as they may hold bytes of a
 * server. */
#include "doctor/finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/ctl_text.h"

/* Columns in front of what is folded, and the narrowest terminal that lines are
 * folded for. */
enum { INDENT = 8, LEAST_WIDTH = 40 };

/* For each state its word, and the escape sequence of its colour. */
static const struct {
	const char *name;
	const char *colour;
} states[] = {
    [FINDING_OK] = {"ok", "\033[32m"},
    [FINDING_NOTE] = {"note", "\033[36m"},
    [FINDING_SKIP] = {"skip", "\033[2m"},
    [FINDING_WARN] = {"warn", "\033[33m"},
    [FINDING_FAIL] = {"fail", "\033[31m"},
};

/* False without memory. */
static bool make_room(struct findings *all)
{
	size_t room = all->room ? 2 * all->room : 32;
	struct finding *list;

	if (all->count < all->room)
		return true;
	list = realloc(all->list, room * sizeof(*list));
	if (!list)
		return false;
	all->list = list;
	all->room = room;
	return true;
}

/* Adds a finding, and takes the three texts; frees them where there is no
 * memory. A finding that is left out is better than a program that ends with
 * none. */
static void put(struct findings *all, enum finding_state state, char *what,
    char *fact, char *remedy)
{
	if (what && fact && make_room(all)) {
		all->list[all->count++] =
		    (struct finding){state, what, fact, remedy};
		return;
	}
	free(what);
	free(fact);
	free(remedy);
}

void findings_add(struct findings *all, enum finding_state state,
    const char *what, const char *fact, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fact);
	if (vasprintf(&text, fact, ap) < 0)
		text = NULL;
	va_end(ap);
	put(all, state, strdup(what), text, NULL);
}

/* Replaces the remedy of the last finding, if it has one. */
void findings_remedy(struct findings *all, const char *remedy, ...)
{
	struct finding *f;
	va_list ap;

	if (all->count == 0)
		return;
	f = &all->list[all->count - 1];
	free(f->remedy);
	va_start(ap, remedy);
	if (vasprintf(&f->remedy, remedy, ap) < 0)
		f->remedy = NULL;
	va_end(ap);
}

void findings_free(struct findings *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i].what);
		free(all->list[i].fact);
		free(all->list[i].remedy);
	}
	free(all->list);
	*all = (struct findings){0};
}

/* The states are in this order: a skipped check outweighs a note. */
enum finding_state findings_worst(const struct findings *all)
{
	enum finding_state worst = FINDING_OK;

	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].state > worst)
			worst = all->list[i].state;
	return worst;
}

size_t findings_count(const struct findings *all, enum finding_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < all->count; i++)
		n += all->list[i].state == state;
	return n;
}

/* The width of a terminal; 0 where `out` is none, or is very narrow: lines are
 * not folded then, so that grep(1) finds whole lines. */
static size_t columns_of(FILE *out)
{
	struct winsize ws = {.ws_col = 0};

	if (ioctl(fileno(out), TIOCGWINSZ, &ws) < 0 || ws.ws_col < LEAST_WIDTH)
		return 0;
	return ws.ws_col;
}

/* The columns of a word, which takes `len` bytes of UTF-8, if each character
 * has one. */
static size_t columns_in(const char *word, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (word[i] & 0xc0) != 0x80;
	return n;
}

/* Writes words behind INDENT columns, which the caller has used on the first
 * line. A `width` of 0 is without end. */
static void put_folded(FILE *out, const char *text, size_t width)
{
	size_t at = INDENT;

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t columns = columns_in(text, len);

		if (width && at > INDENT && at + 1 + columns > width) {
			fprintf(out, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (at > INDENT) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += columns;
		text += len + (text[len] == ' ');
	}
	putc('\n', out);
}

/* Writes two texts, and what is between. Bytes that a terminal might obey are
 * escaped before lines are folded, since that changes their length. */
static void put_line(FILE *out, const char *first, const char *between,
    const char *second, size_t width)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return;
	ctl_put_bytes(to, (const uint8_t *)first, strlen(first));
	fputs(between, to);
	ctl_put_bytes(to, (const uint8_t *)second, strlen(second));
	if (fclose(to) == 0)
		put_folded(out, text, width);
	free(text);
}

void findings_print(const struct findings *all, FILE *out, bool colour)
{
	size_t width = columns_of(out);

	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->list[i];

		fprintf(out, "  %s%-4s%s  ",
		    colour ? states[f->state].colour : "",
		    states[f->state].name, colour ? "\033[0m" : "");
		put_line(out, f->what, ": ", f->fact, width);
		if (!f->remedy || !*f->remedy)
			continue;
		fprintf(out, "%*s", INDENT, "");
		put_line(out, ctl_utf8() ? "→" : "->", " ", f->remedy, width);
	}
}

static void put_short(const struct finding *f, struct json *j)
{
	json_open(j, NULL, '{');
	json_text(j, "state", states[f->state].name);
	json_bytes(j, "what", (uint8_t *)f->what, strlen(f->what));
}

void findings_json_short(const struct findings *all, struct json *j)
{
	for (size_t i = 0; i < all->count; i++) {
		put_short(&all->list[i], j);
		json_close(j, '}');
	}
}

/* A text that is missing is null, as in messages. */
void findings_json(const struct findings *all, struct json *j)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->list[i];
		const char *remedy = f->remedy ? f->remedy : "";

		put_short(f, j);
		json_bytes(j, "fact", (uint8_t *)f->fact, strlen(f->fact));
		if (*remedy)
			json_bytes(j, "remedy", (const uint8_t *)remedy,
			    strlen(remedy));
		else
			json_null(j, "remedy");
		json_close(j, '}');
	}
}

/* Writes for each finding its state as a letter, then three strings with their
 * zeros, and "." at the end, by which the reader knows that nothing is
 * missing. */
void findings_send(const struct findings *all, FILE *to)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->list[i];

		fprintf(to, "%c%s%c%s%c%s%c", 'a' + (int)f->state, f->what, 0,
		    f->fact, 0, f->remedy ? f->remedy : "", 0);
	}
	putc('.', to);
}

/* The next string, and moves `*at` behind it; NULL where its end is missing. */
static const char *next_string(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));

	if (zero)
		*at = zero + 1;
	return zero ? text : NULL;
}

/* The bytes come from a process of ours that may have died in the middle, so
 * what is whole is taken, and the result says whether it was all. */
bool findings_receive(struct findings *all, const char *data, size_t len)
{
	const char *at = data, *end, *what, *fact, *remedy;
	int state;

	/* A process that died at once has sent nothing: `data` may be NULL. */
	if (len == 0)
		return false;
	end = data + len;
	while (at < end && *at != '.') {
		state = *at++ - 'a';
		what = next_string(&at, end);
		fact = what ? next_string(&at, end) : NULL;
		remedy = fact ? next_string(&at, end) : NULL;
		if (!remedy || state < 0 || state > FINDING_FAIL)
			return false;
		put(all, (enum finding_state)state, strdup(what), strdup(fact),
		    strdup(remedy));
	}
	return at < end;
}
