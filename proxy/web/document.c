/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of documents, and the functions that they share. */
#include <string.h>

#include "web/document.h"
#include "web/prometheus.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define JSON      "application/json"

/* The documents that clients may ask for. Trees stay fresh for longer, as going
 * through all of them costs more than the rest. */
static const struct document_kind kinds[] = {
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", 1000000,
	document_metrics},
    {"/api/servers", JSON, 1000000, document_servers},
    {"/api/history/", JSON, 1000000, document_history},
    {"/api/trees/", JSON, 20000000, document_trees},
};

const struct document_kind *document_find(const char *path, const char **name)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		size_t len = strlen(kinds[i].path);

		if (strncmp(path, kinds[i].path, len) != 0)
			continue;
		*name = path + len;
		if ((kinds[i].path[len - 1] == '/') == (**name != '\0'))
			return &kinds[i];
	}
	return NULL;
}

void document_reset(struct document_making *mk)
{
	if (mk->state_free)
		mk->state_free(mk->state);
	mk->state = NULL;
	mk->state_free = NULL;
	mk->next = 0;
}

bool document_server(
    const struct document_making *mk, size_t *index, struct control_server *srv)
{
	for (*index = 0; mk->ops->server(mk->ctx, *index, srv); ++*index)
		if (strcmp(srv->name, mk->name) == 0)
			return true;
	return false;
}

Forefetch__ServerStatus *document_status(
    const struct document_making *mk, size_t index, struct arena *a)
{
	Forefetch__ServerStatus *st =
	    arena_message(a, &forefetch__server_status__descriptor);

	if (st)
		mk->ops->fill_server(mk->ctx, index, a, st);
	return a->failed ? NULL : st;
}

/* Adds a server in each turn, and writes them all in the last one. */
enum document_end document_metrics(struct document_making *mk, struct text *out)
{
	struct arena arena = {0};
	Forefetch__Status daemon = FOREFETCH__STATUS__INIT;
	const Forefetch__ServerStatus *st;
	struct control_server srv;
	bool more;

	if (mk->next == 0)
		prometheus_begin(mk->prometheus);
	more = mk->ops->server(mk->ctx, mk->next, &srv);
	if (more) {
		st = document_status(mk, mk->next++, &arena);
		if (st)
			prometheus_add(mk->prometheus, &srv, st);
	} else {
		mk->ops->fill_daemon(mk->ctx, &arena, &daemon);
		prometheus_end(mk->prometheus, &daemon, out);
	}
	out->failed |= arena.failed;
	arena_clear(&arena);
	if (out->failed)
		return DOCUMENT_FAILED;
	return more ? DOCUMENT_LATER : DOCUMENT_DONE;
}
