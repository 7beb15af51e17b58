/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls clients make, and what strangers change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histories/play_private.h"
#include "scenario/vclock.h"

enum { WORDS = 8 };

static const char *const dirs[] = {"", "/d", "/e"};
static const char *const files[] = {"a", "b", "c", "tmp"};

/* Calls, and how often each comes. A capital stands for: F a file, G a file of
 * another directory, D a directory, L a lock directory, S a symbolic link, N a
 * file or a link, H a file by its handle, B a file that is changed in turns, O
 * an offset, T a text that nobody else writes, M a mode, Z a size. */
static const struct {
	enum event_part part;
	unsigned weight;
	const char *form;
} forms[] = {
    {PART_BASE, 24, "GETATTR N"},
    {PART_BASE, 12, "GETATTR D"},
    {PART_BASE, 30, "LOOKUP N"},
    {PART_BASE, 8, "LOOKUP L"},
    {PART_BASE, 28, "READ F 0 4096"},
    {PART_BASE, 6, "READ F O 100"},
    {PART_BASE, 12, "ACCESS N"},
    {PART_BASE, 8, "ACCESS D"},
    {PART_BASE, 12, "READDIRPLUS D"},
    {PART_BASE, 8, "READDIR D"},
    {PART_BASE, 4, "READLINK S"},
    {PART_SPACE, 6, "FSSTAT D"},
    {PART_HANDLES, 8, "GETATTR H"},
    {PART_HANDLES, 4, "READ H 0 4096"},
    {PART_TURNS, 8, "GETATTR B"},
    {PART_TURNS, 8, "READ B 0 4096"},
    {PART_TURNS, 4, "LOOKUP B"},
    {PART_BASE, 8, "CREATE F guarded"},
    {PART_BASE, 3, "CREATE F"},
    {PART_BASE, 10, "WRITE F O T"},
    {PART_BASE, 3, "WRITE F O T unstable"},
    {PART_BASE, 2, "COMMIT F"},
    {PART_BASE, 4, "SETATTR F mode M"},
    {PART_BASE, 4, "SETATTR F size Z"},
    {PART_BASE, 3, "SETATTR F mode M guarded"},
    {PART_BASE, 3, "SETATTR F mtime Z"},
    {PART_BASE, 6, "REMOVE F"},
    {PART_BASE, 8, "RENAME F G"},
    {PART_BASE, 3, "LINK F G"},
    {PART_BASE, 5, "MKDIR L"},
    {PART_BASE, 5, "RMDIR L"},
    {PART_BASE, 2, "SYMLINK S T"},
    {PART_BASE, 2, "REMOVE S"},
};

enum {
	FORMS = sizeof(forms) / sizeof(forms[0]),
	CHANGES = 17 /* from it on */
};

static unsigned weight_of(unsigned i, unsigned parts)
{
	return parts & 1u << forms[i].part ? forms[i].weight : 0;
}

/* Of forms `i` to `end`. */
static const char *form_of(uint32_t r, unsigned i, unsigned end, unsigned parts)
{
	unsigned sum = 0;

	for (unsigned k = i; k < end; k++)
		sum += weight_of(k, parts);
	r %= sum;
	while (r >= weight_of(i, parts))
		r -= weight_of(i++, parts);
	return forms[i].form;
}

/* The file that was changed last, or any; it may have lost its names. */
static unsigned choose_file(const struct memfs *fs, const struct event *e)
{
	unsigned first = e->detail % fs->n, found = first;

	for (unsigned i = 0; i < fs->n; i++) {
		unsigned k = (first + i) % fs->n;

		if (fs->objects[k].type != NF3REG)
			continue;
		if (e->b >> 31)
			return k;
		if (fs->objects[found].type != NF3REG ||
		    fs->objects[k].ctime_ns > fs->objects[found].ctime_ns)
			found = k;
	}
	return found;
}

static int add_word(const struct memfs *fs, char *to, size_t size, char what,
    const struct event *e)
{
	const char *dir = dirs[e->place % 3];

	switch (what) {
	case 'F':
		return snprintf(
		    to, size, "%s/%s", dir, files[e->place / 3 % 4]);
	case 'G':
		return snprintf(to, size, "%s/%s", dirs[e->detail % 3],
		    files[e->detail / 3 % 4]);
	case 'D':
		return snprintf(to, size, "%s", dir[0] ? dir : "/");
	case 'L':
		return snprintf(to, size, "%s/lock", dir);
	case 'S':
		return snprintf(to, size, "%s/soft", dir);
	case 'N':
		return snprintf(to, size, "%s/%s", dir,
		    e->detail % 6 ? files[e->place / 3 % 4] : "soft");
	case 'H':
		return snprintf(to, size, "#%ju",
		    (uintmax_t)fs->objects[choose_file(fs, e)].fileid);
	case 'B':
		return snprintf(to, size, "%s", play_turn_path(e->place));
	case 'O':
		return snprintf(to, size, "%u", (e->b >> 12) % 5 * 20);
	case 'T':
		return snprintf(to, size, "t%u.", e->b);
	case 'M':
		return snprintf(to, size, "%o", 0600 + (e->b >> 12) % 64);
	case 'Z':
		return snprintf(to, size, "%u", (e->b >> 12) % 100);
	default:
		return -1;
	}
}

/* Puts a name or number in place of each word that is a single capital. */
static void fill(
    const struct memfs *fs, char *text, const char *form, const struct event *e)
{
	size_t n = 0;

	for (const char *f = form; *f; f++) {
		bool alone = f > form && f[-1] == ' ' && (f[1] == ' ' || !f[1]);
		int more = alone
			       ? add_word(fs, text + n, CALLTEXT_MAX - n, *f, e)
			       : -1;

		if (more >= 0)
			n += (size_t)more;
		else
			text[n++] = *f;
	}
	text[n] = '\0';
}

void play_choose_call(const struct play *p, const struct event *e, char *text)
{
	const struct memfs *fs = p->place.fs;
	static const char *const names[] = {"REMOVE F", "REMOVE F",
	    "RENAME F G", "CREATE F guarded", "MKDIR L", "LINK F G"};
	static const char *const only[] = {[CALL_CREATE] = "CREATE F",
	    [CALL_WRITE] = "WRITE F O T",
	    [CALL_GETATTR] = "GETATTR F",
	    [CALL_READ] = "READ F 0 4096",
	    [CALL_READDIR] = "READDIR D",
	    [CALL_FSSTAT] = "FSSTAT D",
	    [CALL_LOOKUP] = "LOOKUP F",
	    [CALL_GETATTR_TURN] = "GETATTR B",
	    [CALL_READ_TURN] = "READ B 0 4096",
	    [CALL_HANDLE] = "GETATTR H",
	    [CALL_RENAME] = "RENAME F G",
	    [CALL_CREATE_OTHER] = "CREATE G",
	    [CALL_LOOKUP_OTHER] = "LOOKUP G",
	    [CALL_REMOVE_OTHER] = "REMOVE G"};

	if (e->call == CALL_NAME)
		fill(fs, text, names[e->b % 6], e);
	else if (e->call >= CALL_CREATE)
		fill(fs, text, only[e->call], e);
	else
		fill(fs, text,
		    form_of(e->b, e->call == CALL_CHANGE ? CHANGES : 0,
			e->call == CALL_LOOK ? CHANGES : FORMS, p->parts),
		    e);
}

unsigned play_cut(char *text, char **words, char *whole)
{
	unsigned n = 0;
	char *save;

	snprintf(whole, CALLTEXT_MAX, "%s", text);
	for (char *w = strtok_r(text, " ", &save); w && n < WORDS;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return n;
}

/* ---- on the server ----------------------------------------------------- */

void play_make(struct memfs *fs, const char *line)
{
	char text[CALLTEXT_MAX], told[CALLTEXT_MAX], err[CALLTEXT_MAX];
	char *words[WORDS];
	const struct nfs_proc *proc;
	union nfs_args args;
	union nfs_res res;
	unsigned n;

	snprintf(text, sizeof(text), "%s", line);
	n = play_cut(text, words, told);
	if (!calltext_parse(fs, words, n, &proc, &args, err))
		return;
	fs->now_ns = vclock_wall_ns();
	memfs_execute(fs, proc->proc, &args, 1000, &res);
	script_trace(
	    "stranger: %s: %s", told, calltext_status_name(res.status));
}

void play_given(struct memfs *fs)
{
	static const char *const lines[] = {"MKDIR /d", "MKDIR /e",
	    "CREATE /d/a", "WRITE /d/a 0 the-first", "CREATE /d/b",
	    "WRITE /d/b 0 see-a-and-c", "CREATE /e/c", "CREATE /a",
	    "WRITE /a 0 on-top", "SYMLINK /d/soft a"};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		play_make(fs, lines[i]);
}

/* A file becomes its owner's alone, or everybody's again. */
static void change_right(struct memfs *fs, const struct event *e)
{
	char path[MEMFS_PATH_MAX];
	struct memfs_object *o;

	(void)add_word(fs, path, sizeof(path), 'F', e);
	o = memfs_find(fs, path);
	if (!o || o->type != NF3REG)
		return;
	o->private = !o->private;
	o->ctime_ns = vclock_wall_ns() - vclock_wall_ns() % 4000000;
	script_trace("stranger: %s is %s", o->path,
	    o->private ? "its owner's alone" : "everybody's");
}

void play_stranger(struct memfs *fs, const struct event *e)
{
	char text[CALLTEXT_MAX];

	if (e->a % 8 == 0 && e->call != CALL_RENAME) {
		change_right(fs, e);
		return;
	}
	fill(fs, text,
	    e->call == CALL_RENAME
		? "RENAME F G"
		: form_of(e->b, CHANGES, FORMS, 1u << PART_BASE),
	    e);
	play_make(fs, text);
}
