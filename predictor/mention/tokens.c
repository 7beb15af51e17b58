/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words in data that may be names: the scan. It goes once over the data to see
 * whether it has words at all, and once more to take them; it allocates
 * nothing, and may run in any thread. */
#include "predictor/mention/tokens.h"

#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

enum {
	NAME_LONGEST = 255,
	RUN_LONGEST = 1024, /* what is longer is no path */
	WORDS_MAX = TOKENS_MAX / 2,
	PARTS_MAX = 8, /* of a path */
	/* In data with NULs, which is no text, runs that are shorter may stand
	 * anywhere. */
	BINARY_SHORTEST = 3,
	/* A run that is so long seldom stands in random bytes. */
	SURE = 6,
	/* Of so many bytes one has to be in such a run. */
	SURE_SHARE = 50,
	/* Shorter runs do not tell the share. */
	SHORT_DATA = 64,
};

struct tokens_scan {
	const unsigned char *data;
	size_t len;
	bool text;
	struct tokens *out;
};

/* A run, and what it is between. */
struct run {
	const char *at;
	size_t len;
	uint8_t flags;
};

uint32_t name_hash32(const char *name, size_t len)
{
	uint32_t h = (uint32_t)XXH3_64bits(name, len);

	return h ? h : 1;
}

/* How many bytes of a name stand there; 0: none. Where there are NULs, what is
 * not ASCII has to be UTF-8: other bytes there are hardly letters. */
static size_t name_bytes(const struct tokens_scan *s, size_t i)
{
	unsigned char c = s->data[i];

	if (c < 0x80)
		return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		       (c >= '-' && c <= '9') || c == '_' || c == '+' ||
		       c == '@' || c == '~';
	if (s->text)
		return 1;
	for (size_t n = 2; n <= 4; n++) {
		unsigned lead = (0xf00u >> n) & 0xff;
		unsigned mask = (0xff80u >> n) & 0xff;

		if ((c & mask) != lead)
			continue;
		if (i + n > s->len)
			return 0;
		for (size_t k = 1; k < n; k++)
			if ((s->data[i + k] & 0xc0) != 0x80)
				return 0;
		return n;
	}
	return 0;
}

/* Other bytes than ASCII count as letters, whatever their encoding. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

/* A number or a row of dots is no name. */
static bool has_letter(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_letter(at[i]))
			return true;
	return false;
}

/* False where it was there before. */
static bool is_new(struct tokens *t, uint32_t key)
{
	uint32_t i = key & (TOKENS_SEEN - 1);

	if (key == 0)
		key = 1;
	for (int probes = 0; probes < 64; probes++) {
		if (t->seen[i] == key)
			return false;
		if (t->seen[i] == 0) {
			t->seen[i] = key;
			return true;
		}
		i = (i + 1) & (TOKENS_SEEN - 1);
	}
	return false;
}

/* Adds a token, if there is room. */
static void put(
    struct tokens *t, const char *at, size_t len, uint8_t flags, uint8_t ups)
{
	if (t->n == TOKENS_MAX)
		return;
	if (len > 2 && memchr(at + 1, '.', len - 2))
		flags |= TOKEN_DOTTED;
	t->at[t->n++] = (struct token){
	    .hash = name_hash32(at, len), .flags = flags, .ups = ups};
}

/* The parts of a path, or of a word with dots. */
static void put_parts(
    struct tokens *t, const char *at, size_t len, char sep, struct token first)
{
	const char *end = at + len;
	uint8_t flags = first.flags;
	unsigned n = 0;

	if (t->n + PARTS_MAX > TOKENS_MAX)
		return;
	while (at < end && n < PARTS_MAX) {
		const char *stop = memchr(at, sep, (size_t)(end - at));
		size_t part = (size_t)((stop ? stop : end) - at);

		if (part > NAME_LONGEST || (part == 2 && !memcmp(at, "..", 2)))
			return;
		if (part > 0 && !(part == 1 && *at == '.')) {
			put(t, at, part, flags, n == 0 ? first.ups : 0);
			flags = (first.flags &
				    (TOKEN_QUOTED | TOKEN_PARTS | TOKEN_HERE)) |
				TOKEN_CONT;
			n++;
		}
		at += part + 1;
	}
}

/* "./" and "../" at the beginning. */
static struct token take_ups(struct run *r)
{
	struct token first = {.flags = r->flags};

	for (;;) {
		size_t n = 0;

		if (r->len >= 2 && !memcmp(r->at, "./", 2))
			n = 2;
		else if (r->len >= 3 && !memcmp(r->at, "../", 3))
			n = 3;
		else if (r->len == 2 && !memcmp(r->at, "..", 2))
			n = 2;
		if (n == 0 || first.ups == UINT8_MAX)
			return first;
		first.flags |= TOKEN_HERE;
		if (r->at[1] == '.')
			first.ups++;
		r->at += n;
		r->len -= n;
	}
}

/* Whether a dotted word may be names of modules: each part begins with a
 * letter. */
static bool is_module(const char *at, size_t len)
{
	bool begins = true;

	for (size_t i = 0; i < len; i++) {
		if (begins && !is_letter(at[i]))
			return false;
		begins = at[i] == '.';
		if (!begins && !is_letter(at[i]) &&
		    !(at[i] >= '0' && at[i] <= '9'))
			return false;
	}
	return !begins;
}

/* Adds a word that is no path; one with dots a second time, as names of
 * modules. */
static void put_word(struct tokens *t, struct run *r, struct token first)
{
	bool plain = !(first.flags & (TOKEN_QUOTED | TOKEN_HERE));
	const char *dot = memchr(r->at, '.', r->len);

	if (r->len == 0 || r->len > NAME_LONGEST)
		return;
	if (plain && !dot) {
		/* A word of a language, most likely. */
		if (r->len < 2 || t->words == WORDS_MAX)
			return;
		t->words++;
	}
	put(t, r->at, r->len, first.flags, first.ups);
	if (!dot || (plain && t->words == WORDS_MAX))
		return;
	/* ".core" is core, from where it is imported. */
	while (r->len > 0 && *r->at == '.') {
		r->at++;
		r->len--;
	}
	if (!is_module(r->at, r->len))
		return;
	t->words += plain;
	first.flags |= TOKEN_PARTS;
	put_parts(t, r->at, r->len, '.', first);
}

/* Takes one run: cuts off what is no name at its ends, and adds it once, as a
 * path or a word. */
static void take_run(struct tokens_scan *s, struct run r)
{
	struct tokens *t = s->out;
	struct token first;

	while (r.len > 0 && r.at[r.len - 1] == '.')
		r.len--;
	if (r.len > RUN_LONGEST || !has_letter(r.at, r.len) ||
	    !is_new(t, name_hash32(r.at, r.len) ^ r.flags))
		return;
	/* -lz is libz, and -Iinclude is include. */
	if (r.len > 2 && r.at[0] == '-' && r.at[1] != '-') {
		r.at += 2;
		r.len -= 2;
		r.flags |= TOKEN_QUOTED;
	}
	first = take_ups(&r);
	if (r.len > 0 && *r.at == '/') {
		first.flags |= TOKEN_ABSOLUTE;
		r.at++;
		r.len--;
	}
	if (r.len > 0 && memchr(r.at, '/', r.len))
		put_parts(t, r.at, r.len, '/', first);
	else
		put_word(t, &r, first);
}

/* Brackets count, too: <stdio.h>, require(x), {x}. */
static bool is_quote(unsigned char c)
{
	return c == '"' || c == '\'' || c == '`' || c == '<' || c == '>' ||
	       c == '(' || c == ')' || c == '{' || c == '}';
}

/* The length that stands before it, as before strings of some formats: what
 * follows them is not a part of them. */
static size_t counted(const struct tokens_scan *s, size_t begin, size_t len)
{
	size_t n = begin > 0 ? s->data[begin - 1] : 0;

	return n >= 2 && n <= len ? n : 0;
}

/* Finds out how surely the run is a name of its own, by what stands around it:
 * quotes in text, a length before it or a NUL behind it elsewhere. */
static void find_run(struct tokens_scan *s, size_t begin, size_t *end)
{
	struct run r = {
	    .at = (const char *)s->data + begin, .len = *end - begin};
	size_t n = s->text ? 0 : counted(s, begin, r.len);

	if (n > 0) {
		r.len = n;
		*end = begin + n;
		r.flags = TOKEN_QUOTED;
	} else if (begin > 0 && *end < s->len && s->text &&
		   is_quote(s->data[begin - 1]) && is_quote(s->data[*end])) {
		r.flags = TOKEN_QUOTED;
	} else if (!s->text && *end < s->len && s->data[*end] == 0) {
		r.flags = TOKEN_QUOTED;
	}
	if (s->text || r.len >= BINARY_SHORTEST)
		take_run(s, r);
}

/* The end of the run that begins there. */
static size_t run_end(const struct tokens_scan *s, size_t i)
{
	size_t n;

	while (i < s->len && (n = name_bytes(s, i)) > 0)
		i += n;
	return i;
}

/* Whether enough bytes are in runs that are no chance. */
static bool has_words(const struct tokens_scan *s)
{
	size_t sure = 0;

	for (size_t i = 0; i < s->len;) {
		size_t end = run_end(s, i);

		if (end - i >= SURE)
			sure += end - i;
		i = end + 1;
	}
	return s->len < SHORT_DATA || sure * SURE_SHARE >= s->len;
}

void tokens_scan(struct tokens *t, const void *data, size_t len)
{
	struct tokens_scan s = {.data = data, .len = len, .out = t};

	t->n = t->words = 0;
	if (len == 0)
		return;
	if (s.len > TOKENS_DATA_MAX)
		s.len = TOKENS_DATA_MAX;
	memset(t->seen, 0, sizeof(t->seen));
	s.text = !memchr(data, 0, s.len);
	if (!has_words(&s))
		return;
	size_t run = 0;

	for (size_t i = 0; i < s.len && t->n < TOKENS_MAX;) {
		/* A run that is cut is not walked through again. */
		size_t end = run = run > i ? run : run_end(&s, i);

		if (end == i) {
			i++;
			continue;
		}
		find_run(&s, i, &end);
		i = end;
	}
}
