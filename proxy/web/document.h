/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents that are made anew for whoever asks: the metrics, and what the page
 * shows. Making one may take several turns of the loop, each of about half a
 * millisecond; web.c makes one at a time, and keeps it for a while. */
#ifndef FOREFETCH_DOCUMENT_H
#define FOREFETCH_DOCUMENT_H

#include "control/control.h"
#include "text/text.h"

struct prometheus;

/* How a step of making a document ended. */
enum document_end {
	DOCUMENT_LATER, /* go on in another turn */
	DOCUMENT_DONE,
	DOCUMENT_NONE,   /* there is no such document */
	DOCUMENT_FAILED, /* memory is short */
};

/* The document that is being made. web.c sets the first members, and calls
 * document_reset() between two documents. */
struct document_making {
	/* Where servers and their status are asked for. */
	const struct control_ops *ops;
	void *ctx;
	struct prometheus *prometheus;
	uint64_t now_us;
	/* A random number of this run, for names that must tell nothing. */
	uint64_t secret;
	/* The server's, from the path; "" for documents of all. */
	const char *name;
	/* The number of the server to add next. */
	size_t next;
	/* Whatever else belongs to the kind; freed by `state_free`. */
	void *state;
	void (*state_free)(void *state);
};

/* A kind of document. */
struct document_kind {
	const char *path; /* "/api/server/": the name of a server follows */
	const char *type;
	/* How long one may be sent again, after it was made. */
	uint64_t fresh_us;
	/* Adds a part to `out`, whose beginning is what the steps before have
	 * added. */
	enum document_end (*step)(struct document_making *mk, struct text *out);
};

/* The kind of a path; NULL: there is none. `*name` is what follows the path of
 * the kind, and points into `path`. */
const struct document_kind *document_find(const char *path, const char **name);

/* Ends what is being made; the next step begins at the first server. */
void document_reset(struct document_making *mk);
/* Finds the server of mk->name, and its number; false if it is not there. */
bool document_server(const struct document_making *mk, size_t *index,
    struct control_server *srv);
/* Its status, from the arena; NULL without memory. */
Forefetch__ServerStatus *document_status(
    const struct document_making *mk, size_t index, struct arena *a);

/* The steps of the kinds, by the files that they are in. */
enum document_end document_metrics(
    struct document_making *mk, struct text *out);
enum document_end document_servers(
    struct document_making *mk, struct text *out);
enum document_end document_history(
    struct document_making *mk, struct text *out);
enum document_end document_trees(struct document_making *mk, struct text *out);

#endif
