/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps come, go and change places; words become others of their kind, which
 * shows in how they look. */
#include "conversation/mutate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversation/line.h"
#include "conversation/talk.h"

enum {
	WORD_MAX = 2 * LINE_BYTES + 2,
	SPLICE_MAX = 12, /* steps of another conversation */
};

struct part {
	const char *at;
	size_t len; /* without what ends the line */
};

struct parts {
	unsigned n;
	struct part list[TALK_STEPS];
	char made[LINE_MAX_BYTES]; /* a line that was not there */
};

struct dice {
	uint64_t state;
};

/* Xorshift64: Marsaglia, Journal of Statistical Software 8(14), 2003. */
static unsigned roll(struct dice *d, unsigned below)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (unsigned)(d->state >> 32) % below;
}

#define COUNT(list)   ((unsigned)(sizeof(list) / sizeof((list)[0])))
#define PICK(d, list) ((list)[roll(d, COUNT(list))])

/* ---- words ----------------------------------------------------------------
 *
 * In the forms a capital that stands alone is put in for: C a client, P a call,
 * F a path, N a small number, O any number, S a status, T a text, X bytes, M a
 * command, L a lie, K the name of a mode.
 */

static const char *const forms[] = {"client C call P", "client C call P",
    "client C call P", "client C call P", "client C odd N P",
    "client C bend N O P", "client C cut N P", "client C mark O P",
    "client C pieces N P", "client C part N P", "client C mount N F",
    "client C acl N F", "client C rpc 100003 3 N N X X",
    "client C rpc 100005 3 N 1 X X", "client C rpc 100227 3 N 1 X X",
    "client C rpc 100000 2 N 0 x X", "client C rpc 100021 4 N 0 x X",
    "client C rpc O O O O X X", "client C raw X", "client C again",
    "client C close", "client C half", "client C deaf", "server N L",
    "server 0 do", "server 0 do", "server 0 L", "server 0 L", "mood L",
    "mood do", "mood do", "mood", "mount N", "mute N", "pass O", "pass 100",
    "pass 3000", "sleep O", "break", "break N", "away", "back", "reboot",
    "restart", "kill", "command M", "control X", "control-raw X", "mode K"};

static const char *const calls[] = {"NULL", "GETATTR F", "SETATTR F mode N",
    "SETATTR F size O", "SETATTR F mtime O guarded", "LOOKUP F", "LOOKUP F",
    "ACCESS F", "READLINK F", "READ F O O", "READ F 0 4096", "WRITE F O T",
    "WRITE F 0 T unstable", "CREATE F", "CREATE F guarded",
    "CREATE F exclusive", "MKDIR F", "SYMLINK F T", "MKNOD F", "REMOVE F",
    "RMDIR F", "RENAME F F", "LINK F F", "READDIR F", "READDIRPLUS F",
    "READDIRPLUS F", "FSSTAT F", "FSINFO F", "PATHCONF F", "COMMIT F"};

static const char *const answers[] = {"do", "do", "pieces N", "lose", "drop",
    "error S", "badly S", "rpc N", "deny", "babble", "nonsense", "bend N O",
    "bend O O", "cut N", "grow O", "mark O", "xid O", "other N", "twice", "old",
    "keep", "word N O", "word N N", "read O O O", "read N N N", "list N",
    "list N", "raw X"};

static const char *const paths[] = {"/", "/file", "/d", "/d/a", "/d/b", "/big",
    "/e", "/e/link", "/e/c", "/d/new", "/new", "/f", "/f/x", "/d/absent"};
static const char *const modes[] = {"bounded", "strict", "frozen", "offline"};
static const char *const commands[] = {"status", "stats", "flush", "warm",
    "explain", "trees-list", "trees-export", "pin", "hint", "compact", "reload",
    "activity", "pause", "resume"};
static const char *const texts[] = {"hello", "a", "../d/a", "/d/b",
    "#include<a>", "some-more-text-than-there-was-before-in-this-file"};
static const unsigned statuses[] = {1, 2, 5, 13, 17, 20, 22, 28, 30, 63, 66, 70,
    10001, 10002, 10003, 10004, 10006, 10008, 4294967295};
static const uint64_t numbers[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 24, 28, 44,
    63, 64, 84, 100, 127, 128, 255, 256, 400, 401, 511, 1000, 1024, 2000, 4095,
    4096, 4097, 8192, 32768, 60000, 65535, 65536, 1 << 20, (1 << 20) + 1,
    16777216, INT32_MAX, UINT32_MAX - 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1,
    INT64_MAX, UINT64_MAX - 1, UINT64_MAX};

static size_t put_bytes(char *to, size_t room, struct dice *d)
{
	unsigned n = roll(d, 8) ? roll(d, 24) : roll(d, 450);
	size_t len = (size_t)snprintf(to, room, "x");
	bool words = roll(d, 2);

	for (unsigned i = 0; i < n && len + 3 < room; i++)
		len += (size_t)snprintf(to + len, room - len, "%02x",
		    words && i % 4 < 3 ? 0 : roll(d, roll(d, 2) ? 256 : 8));
	return len;
}

static size_t fill(char *to, size_t room, const char *form, struct dice *d);

static size_t put(char *to, size_t room, char what, struct dice *d)
{
	switch (what) {
	case 'C':
		return (size_t)snprintf(to, room, "%c", 'A' + roll(d, 3));
	case 'P':
		return fill(to, room, PICK(d, calls), d);
	case 'L':
		return fill(to, room, PICK(d, answers), d);
	case 'F':
		return (size_t)snprintf(to, room, "%s", PICK(d, paths));
	case 'N':
		return (size_t)snprintf(
		    to, room, "%u", roll(d, roll(d, 2) ? 100 : 16));
	case 'O':
		return (size_t)snprintf(
		    to, room, "%ju", (uintmax_t)PICK(d, numbers));
	case 'S':
		return (size_t)snprintf(to, room, "%u", PICK(d, statuses));
	case 'T':
		return (size_t)snprintf(to, room, "%s", PICK(d, texts));
	case 'X':
		return put_bytes(to, room, d);
	case 'M':
		return (size_t)snprintf(to, room, "%s", PICK(d, commands));
	default:
		return (size_t)snprintf(to, room, "%s", PICK(d, modes));
	}
}

static size_t fill(char *to, size_t room, const char *form, struct dice *d)
{
	size_t n = 0;

	for (const char *f = form; *f && n + 1 < room; f++) {
		bool alone = (f == form || f[-1] == ' ') &&
			     (f[1] == ' ' || !f[1]) && *f >= 'A' && *f <= 'Z';

		if (alone)
			n += put(to + n, room - n, *f, d);
		else
			to[n++] = *f;
		if (n >= room)
			n = room - 1;
	}
	to[n] = '\0';
	return n;
}

/* ---- bytes in a word --------------------------------------------------- */

static size_t change_bytes(char *word, size_t len,
    size_t (*bytes)(uint8_t *data, size_t size, size_t max))
{
	unsigned char raw[LINE_BYTES];
	char *one[] = {word};
	size_t n;

	word[len] = '\0';
	n = bytes(raw, line_bytes(one, 1, 0, raw), sizeof(raw));
	len = 1;
	for (size_t i = 0; i < n; i++)
		len += (size_t)sprintf(word + len, "%02x", raw[i]);
	return len;
}

static bool is_number(const char *w)
{
	return *w >= '0' && *w <= '9';
}

/* Another word in place of this one; its length. 0: it is one of a whole. */
static size_t change_word(char word[WORD_MAX], struct dice *d,
    size_t (*bytes)(uint8_t *data, size_t size, size_t max))
{
	uint64_t v = strtoull(word, NULL, 10);

	if (is_number(word) && roll(d, 3) == 0)
		return (size_t)snprintf(word, WORD_MAX, "%ju",
		    (uintmax_t)(roll(d, 2) ? v + 1 + roll(d, 4)
					   : v ^ 1u << roll(d, 16)));
	if (is_number(word))
		return put(word, WORD_MAX, roll(d, 2) ? 'N' : 'O', d);
	if (word[0] == '/')
		return put(word, WORD_MAX, 'F', d);
	if (word[0] >= 'A' && word[0] <= 'Z' && !word[1])
		return put(word, WORD_MAX, 'C', d);
	if (word[0] == 'x')
		return change_bytes(word, strlen(word), bytes);
	return 0;
}

/* ---- lines ------------------------------------------------------------- */

static void split(struct parts *p, const char *text, size_t len)
{
	p->n = 0;
	while (len > 0 && p->n < TALK_STEPS) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		p->list[p->n++] = (struct part){.at = text, .len = n};
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
}

static size_t join(const struct parts *p, char *to, size_t max)
{
	size_t len = 0;

	for (unsigned i = 0; i < p->n; i++) {
		const struct part *a = &p->list[i];

		if (a->len + 1 > max - len)
			break;
		memcpy(to + len, a->at, a->len);
		len += a->len;
		to[len++] = '\n';
	}
	return len;
}

static void insert(struct parts *p, unsigned at, struct part what)
{
	if (p->n == TALK_STEPS)
		p->n--;
	if (at > p->n)
		at = p->n;
	memmove(
	    &p->list[at + 1], &p->list[at], (p->n - at) * sizeof(p->list[0]));
	p->list[at] = what;
	p->n++;
}

static void drop(struct parts *p, unsigned at)
{
	p->n--;
	memmove(
	    &p->list[at], &p->list[at + 1], (p->n - at) * sizeof(p->list[0]));
}

static struct part new_line(struct parts *p, struct dice *d)
{
	size_t n = fill(p->made, sizeof(p->made), PICK(d, forms), d);

	return (struct part){.at = p->made, .len = n};
}

/* Of the same verb, if one comes up soon. */
static struct part new_line_like(
    struct parts *p, const struct part *old, struct dice *d)
{
	struct part made = new_line(p, d);
	size_t n = 0;

	while (n < old->len && old->at[n] != ' ')
		n++;
	for (unsigned i = 0;
	     i < 40 && (made.len < n || memcmp(made.at, old->at, n) != 0); i++)
		made = new_line(p, d);
	return made;
}

/* One word but the first becomes another, or all behind the first do. */
static void change(struct parts *p, unsigned at, struct dice *d,
    size_t (*bytes)(uint8_t *data, size_t size, size_t max))
{
	const char *from = p->list[at].at;
	size_t len = p->list[at].len, start, end;
	char word[WORD_MAX];
	size_t n;

	if (len == 0 || len > LINE_MAX_BYTES / 2)
		return;
	start = roll(d, (unsigned)len);
	while (start > 0 && from[start - 1] != ' ')
		start--;
	end = start;
	while (end < len && from[end] != ' ')
		end++;
	if (start == 0 || start == end || end - start >= sizeof(word))
		return;
	memcpy(word, from + start, end - start);
	word[end - start] = '\0';
	n = change_word(word, d, bytes);
	if (n == 0) {
		p->list[at] = new_line_like(p, &p->list[at], d);
		return;
	}
	word[n] = '\0';
	p->list[at] = (struct part){.at = p->made,
	    .len = (size_t)snprintf(p->made, sizeof(p->made), "%.*s%s%.*s",
		(int)start, from, word, (int)(len - end), from + end)};
	if (p->list[at].len >= sizeof(p->made))
		p->list[at].len = sizeof(p->made) - 1;
}

static void change_steps(struct parts *p, struct dice *d,
    size_t (*bytes)(uint8_t *data, size_t size, size_t max))
{
	unsigned at = p->n ? roll(d, p->n) : 0, to = p->n ? roll(d, p->n) : 0;
	struct part a;

	switch (p->n ? roll(d, 10) : 0) {
	case 0:
	case 1:
	case 2:
		insert(p, roll(d, p->n + 1), new_line(p, d));
		break;
	case 3:
		drop(p, at);
		break;
	case 4:
		insert(p, to, p->list[at]);
		break;
	case 5:
		a = p->list[at];
		p->list[at] = p->list[to];
		p->list[to] = a;
		break;
	default:
		change(p, at, d, bytes);
	}
}

static struct dice dice_of(unsigned seed)
{
	struct dice d = {.state = (seed + UINT64_C(1)) * 0x9e3779b97f4a7c15};

	(void)roll(&d, 2);
	return d;
}

size_t mutate(uint8_t *data, size_t size, size_t max, unsigned seed,
    size_t (*bytes)(uint8_t *data, size_t size, size_t max))
{
	struct dice d = dice_of(seed);
	static char from[1 << 16];
	struct parts p;

	for (unsigned i = 1 + roll(&d, 4); i > 0; i--) {
		if (size > sizeof(from))
			size = sizeof(from);
		memcpy(from, data, size);
		split(&p, from, size);
		change_steps(&p, &d, bytes);
		size = join(&p, (char *)data, max);
	}
	return size;
}

size_t mutate_cross(const uint8_t *a, size_t alen, const uint8_t *b,
    size_t blen, uint8_t *to, size_t max, unsigned seed)
{
	struct dice d = dice_of(seed);
	struct parts x, y;
	unsigned at, from, n;

	split(&x, (const char *)a, alen);
	split(&y, (const char *)b, blen);
	if (y.n == 0)
		return join(&x, (char *)to, max);
	at = roll(&d, x.n + 1);
	from = roll(&d, y.n);
	n = 1 + roll(&d, y.n - from < SPLICE_MAX ? y.n - from : SPLICE_MAX);
	for (unsigned i = 0; i < n; i++)
		insert(&x, at + i, y.list[from + i]);
	return join(&x, (char *)to, max);
}
