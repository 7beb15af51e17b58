/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access trees, listed and shown. First the trees or the lines are collected,
 * then the names of their objects are looked up in the cache of names; a part
 * of that in each turn of the loop. Trees hold keys of file handles only, so a
 * name is known as long as the cache has it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/control_reply_trees_private.h"
#include "explain/objnames.h"

/* Bounds of one answer. */
enum {
	/* Trees in a list, those used last. */
	LIST_MAX = 1000,
	/* Bytes of a tree as text; more is cut off, and the answer says so. */
	SHOW_MAX = 512 << 10,
	/* Lines of one tree. */
	LINES_MAX = 16384,
	/* Bytes of one line: indentation and name, escaped. */
	TEXT_MAX = 2048,
	/* Columns; deeper lines are not indented further. */
	INDENT_MAX = 64,
	/* Steps of one part, which take about half a millisecond. */
	LIST_STEPS = 256,
	SHOW_STEPS = 64,
	NAMES_STEPS = 1024,
};

/* A listing that is under way; the session owns it, and all that it points
 * to. */
struct trees_look_entry {
	struct control_work work;
	/* For `list`; NULL for `show`. */
	struct trees_list *list;
	/* For `show`; NULL for `list`. */
	struct trees_show *show;
	struct predictor_tree *found; /* the list, once it is complete */
	/* Elements of `found`, of `total` trees that there are. */
	size_t shown;
	ssize_t total;
	struct objnames *names; /* NULL while the above is collected */
};

static void look_free(struct control_work *w)
{
	struct trees_look_entry *k = (struct trees_look_entry *)w;

	trees_list_free(k->list);
	trees_show_free(k->show);
	objnames_free(k->names);
	free(k->found);
	free(k);
}

/* The listing that is under way, or a new one; NULL: later, or after an error.
 */
static struct trees_look_entry *look_get(const struct trees *t, bool show)
{
	bool begun;
	struct trees_look_entry *k =
	    reply_work(t->r, sizeof(*k), look_free, &begun);

	if (!k || !begun)
		return k;
	if (show)
		k->show =
		    trees_show_new(t->p, t->uid, t->request->id, LINES_MAX);
	else
		k->list = trees_list_new(t->p, t->uid, LIST_MAX);
	if (k->show || k->list)
		return k;
	t->r->arena.failed = true;
	return NULL;
}

/* ---- list ------------------------------------------------------------- */

/* The list is complete: have its roots named next. */
static bool list_found(const struct trees *t, struct trees_look_entry *k)
{
	k->found = calloc(LIST_MAX, sizeof(*k->found));
	k->names = objnames_new(LIST_MAX);
	if (!k->found || !k->names) {
		t->r->arena.failed = true;
		return false;
	}
	k->total = trees_list_end(k->list, k->found, &k->shown);
	if (k->total < 0) {
		trees_error(t->r, (int)k->total);
		return false;
	}
	for (size_t i = 0; i < k->shown; i++)
		objnames_add(k->names, k->found[i].root);
	return true;
}

/* A tree that belongs to nobody has the uid UID_NOBODY in the message. */
static void fill_tree(struct reply *r, const struct predictor_tree *t,
    const char *name, Forefetch__Tree *msg)
{
	msg->id = t->id;
	msg->uid = t->uid == TREES_ALL ? UID_NOBODY : (uint32_t)t->uid;
	msg->objects = t->objects;
	msg->uses = t->uses;
	msg->age_events = t->age;
	msg->program = t->program;
	msg->session = t->session;
	if (name)
		msg->name = arena_bytes(&r->arena, "%s", name);
}

static void list_answer(const struct trees *t, const struct trees_look_entry *k)
{
	struct arena *a = &t->r->arena;
	Forefetch__TreeList *out =
	    arena_message(a, &forefetch__tree_list__descriptor);

	if (!out)
		return;
	out->trees = arena_messages(a, &forefetch__tree__descriptor, k->shown);
	if (!out->trees)
		return;
	for (size_t i = 0; i < k->shown; i++)
		fill_tree(t->r, &k->found[i],
		    objnames_find(k->names, k->found[i].root), out->trees[i]);
	out->n_trees = k->shown;
	out->total = (uint64_t)k->total;
	t->out->list = out;
}

/* ---- show ------------------------------------------------------------- */

/* The lines are complete: have their objects named next. */
static bool show_found(const struct trees *t, struct trees_look_entry *k)
{
	const struct predictor_line *lines;
	size_t n;
	bool more;
	int rc = trees_show_lines(k->show, &lines, &n, &more);

	if (rc < 0) {
		trees_error(t->r, rc);
		return false;
	}
	k->names = objnames_new(n);
	if (!k->names) {
		t->r->arena.failed = true;
		return false;
	}
	for (size_t i = 0; i < n; i++)
		objnames_add(k->names, lines[i].object);
	return true;
}

/* One line of text: an object of a tree, by its name or, where that is not
 * known, by its key in hexadecimal. Control characters are escaped, so that
 * each object has one line, whatever it is called. Returns its length. */
static size_t put_line(
    char text[TEXT_MAX], const struct predictor_line *line, const char *name)
{
	int indent = 2 * (int)line->depth;
	size_t n = (size_t)snprintf(text, TEXT_MAX, "%*s",
	    indent < INDENT_MAX ? indent : INDENT_MAX, "");

	if (!name)
		n += (size_t)sprintf(text + n, "%016" PRIx64, line->object);
	for (; name && *name && n + 5 < TEXT_MAX; name++) {
		unsigned char c = (unsigned char)*name;

		if (c < 0x20 || c == 0x7f)
			n += (size_t)sprintf(text + n, "\\x%02x", c);
		else
			text[n++] = *name;
	}
	text[n++] = '\n';
	return n;
}

/* Names are followed by nothing but their line, so that a program can read
 * it. */
static void show_answer(const struct trees *t, const struct trees_look_entry *k)
{
	struct arena *a = &t->r->arena;
	Forefetch__TreeText *out =
	    arena_message(a, &forefetch__tree_text__descriptor);
	char *text = arena_alloc(a, SHOW_MAX, 1), one[TEXT_MAX];
	const struct predictor_line *lines;
	size_t n, len = 0;
	bool more;

	if (!out || !text)
		return;
	(void)trees_show_lines(k->show, &lines, &n, &more);
	for (size_t i = 0; i < n; i++) {
		size_t add = put_line(
		    one, &lines[i], objnames_find(k->names, lines[i].object));

		if (len + add > SHOW_MAX) {
			more = true;
			break;
		}
		memcpy(text + len, one, add);
		len += add;
	}
	out->more = more;
	out->text.data = (uint8_t *)text;
	out->text.len = len;
	t->out->shown = out;
}

/* ---- both ------------------------------------------------------------- */

/* Does one part of the work; in the last turn, the answer. The user is the peer
 * also for names: what the peer may not see has none. */
static void look(const struct trees *t, bool show)
{
	struct trees_look_entry *k = look_get(t, show);
	struct user who = reply_user(t->r);
	bool over;

	if (!k)
		return;
	if (!k->names) {
		over = show ? trees_show_step(k->show, SHOW_STEPS)
			    : trees_list_step(k->list, LIST_STEPS);
		t->r->later = !over;
		if (!over || !(show ? show_found(t, k) : list_found(t, k)))
			return;
	}
	/* All objects have their names then, as far as they are known. */
	t->r->later = !objnames_step(
	    k->names, t->server.caches, &who, clock_now_us(), NAMES_STEPS);
	if (t->r->later)
		return;
	if (show)
		show_answer(t, k);
	else
		list_answer(t, k);
}

void trees_list(const struct trees *t)
{
	look(t, false);
}

void trees_show(const struct trees *t)
{
	look(t, true);
}
