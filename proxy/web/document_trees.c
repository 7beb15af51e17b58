/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The access trees that were used last, as shapes: how many objects, how deep,
 * and what became of what was predicted of them. There is nothing by which a
 * file, a user or a tree could be recognised, since everybody who reaches the
 * port may read this: no names, no handles, no uids, and no ids of trees, which
 * are hashes of paths. A tree is called by a number that is made of its id and
 * a secret of this run, so that the page can follow it.
 *
 * First the list is made, then each tree is walked, in small parts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/persist/trees.h"
#include "predictor/predictor.h"
#include "prefetch/prefetch.h"
#include "text/json.h"
#include "web/document.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

enum {
	TREES_MAX = 12,
	NODES_MAX = 300, /* of one tree */
	/* Steps of one part, which take less than half a millisecond. */
	LIST_STEPS = 128,
	SHOW_STEPS = 64,
};

/* The document's state between two turns. */
struct shapes {
	/* The prefetch of the server whose trees these are. */
	const struct prefetch *prefetch;
	/* The number of the server, as the prefetch of a later one may lie at
	 * the same address. */
	uint64_t serial;
	const struct predictor *p;
	/* The list that is being made; NULL: it is complete. */
	struct trees_list *list;
	/* The walk through found[at]; NULL: it is not begun. */
	struct trees_show *show;
	struct predictor_tree found[TREES_MAX];
	struct json j; /* begins at the first tree, goes on at the others */
	size_t shown, at;
	ssize_t total;
};

static void shapes_free(void *state)
{
	struct shapes *s = state;

	trees_list_free(s->list);
	trees_show_free(s->show);
	free(s);
}

/* Begins with the list; NULL without memory. */
static struct shapes *shapes_new(const struct control_server *srv)
{
	const struct predictor *p = prefetch_predictor(srv->prefetch);
	struct shapes *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->prefetch = srv->prefetch;
	s->serial = srv->serial;
	s->p = p;
	s->list = trees_list_new(p, TREES_ALL, TREES_MAX);
	if (s->list)
		return s;
	free(s);
	return NULL;
}

/* Says as one letter what became of the object's last prediction; '-': it has
 * none, or another end. */
static char outcome(const struct prefetch_told *told)
{
	static const struct {
		const char *state;
		char letter;
	} letters[] = {{"used", 'u'}, {"late", 'l'}, {"unused", 'v'},
	    {"ready", 'r'}, {"fresh", 'c'}};

	for (size_t i = 0; told->predicted && i < LENGTH(letters); i++)
		if (strcmp(told->state, letters[i].state) == 0)
			return letters[i].letter;
	return '-';
}

/* Writes [DEPTH, OUTCOME, BYTES, PROBABILITY]. */
static void put_node(struct json *j, struct prefetch *pf,
    const struct predictor_line *line, uint64_t now_us)
{
	struct prefetch_told told;
	char letter[2] = {0};

	prefetch_tell(pf, line->object, 0, now_us, &told);
	letter[0] = outcome(&told);
	json_open(j, NULL, '[');
	json_number(j, NULL, line->depth);
	json_text(j, NULL, letter);
	json_number(j, NULL, told.predicted ? told.bytes : 0);
	json_real(j, NULL, told.predicted ? told.p : 0);
	json_close(j, ']');
}

static void put_tree(struct json *j, const struct document_making *mk,
    struct prefetch *pf, const struct shapes *s)
{
	const struct predictor_tree *t = &s->found[s->at];
	const struct predictor_line *lines;
	char tag[JSON_WORD_MAX];
	size_t n;
	bool more;

	/* One that was cleared meanwhile is left out. */
	if (trees_show_lines(s->show, &lines, &n, &more) < 0)
		return;
	snprintf(tag, sizeof(tag), "%08" PRIx32,
	    (uint32_t)XXH3_64bits_withSeed(&t->id, sizeof(t->id), mk->secret));
	json_open(j, NULL, '{');
	json_text(j, "tag", tag);
	json_text(j, "kind",
	    t->session   ? "session"
	    : t->program ? "program"
			 : "run");
	json_number(j, "objects", t->objects);
	json_number(j, "uses", t->uses);
	json_bool(j, "more", more);
	json_open(j, "nodes", '[');
	for (size_t i = 0; i < n; i++)
		put_node(j, pf, &lines[i], mk->now_us);
	json_close(j, ']');
	json_close(j, '}');
}

/* The list is complete. */
static void list_end(struct shapes *s, struct text *out)
{
	s->total = trees_list_end(s->list, s->found, &s->shown);
	trees_list_free(s->list);
	s->list = NULL;
	if (s->total < 0)
		s->total = 0; /* cleared meanwhile: there are none */
	text_print(out, "{\"total\":%zd,\"trees\":[", s->total);
}

static enum document_end trees_end(struct text *out)
{
	text_string(out, "]}\n");
	return out->failed ? DOCUMENT_FAILED : DOCUMENT_DONE;
}

/* The state that was begun; made anew where the server is another one, of the
 * same name, since the predictor that it points to is gone then. NULL without
 * memory. */
static struct shapes *shapes_get(struct document_making *mk,
    const struct control_server *srv, struct text *out)
{
	struct shapes *s = mk->state;

	if (s && s->prefetch == srv->prefetch && s->serial == srv->serial)
		return s;
	document_reset(mk);
	text_clear(out);
	mk->state = shapes_new(srv);
	mk->state_free = mk->state ? shapes_free : NULL;
	return mk->state;
}

/* Walks the next tree, a part at a time. */
static enum document_end shapes_walk(struct document_making *mk,
    struct shapes *s, struct prefetch *prefetch, struct text *out)
{
	const struct predictor_tree *t = &s->found[s->at];

	if (!s->show)
		s->show = trees_show_new(s->p, t->uid, t->id, NODES_MAX);
	if (!s->show)
		return DOCUMENT_FAILED;
	if (!trees_show_step(s->show, SHOW_STEPS))
		return DOCUMENT_LATER;
	s->j.out = text_open(out);
	if (!s->j.out)
		return DOCUMENT_FAILED;
	put_tree(&s->j, mk, prefetch, s);
	fclose(s->j.out);
	trees_show_free(s->show);
	s->show = NULL;
	s->at++;
	return DOCUMENT_LATER;
}

enum document_end document_trees(struct document_making *mk, struct text *out)
{
	struct control_server srv;
	struct shapes *s;
	size_t index;

	if (!document_server(mk, &index, &srv))
		return DOCUMENT_NONE;
	s = shapes_get(mk, &srv, out);
	if (!s)
		return DOCUMENT_FAILED;
	if (s->list) {
		if (trees_list_step(s->list, LIST_STEPS))
			list_end(s, out);
		return DOCUMENT_LATER;
	}
	if (s->at < s->shown)
		return shapes_walk(mk, s, srv.prefetch, out);
	return trees_end(out);
}
