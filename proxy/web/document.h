/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is made anew for who asks: the metrics, and what the page shows. Making
 * one may take several turns of the loop, each of about half a millisecond.
 */
#ifndef FOREFETCH_DOCUMENT_H
#define FOREFETCH_DOCUMENT_H

#include "control/control.h"
#include "text/text.h"

struct prometheus;

enum document_end {
	DOCUMENT_LATER, /* go on in another turn */
	DOCUMENT_DONE,
	DOCUMENT_NONE,   /* there is no such document */
	DOCUMENT_FAILED, /* memory is short */
};

/* One that is being made. */
struct document_making {
	const struct control_ops *ops;
	void *ctx;
	struct prometheus *prometheus;
	uint64_t now_us;
	uint64_t secret;  /* for names that must tell nothing */
	const char *name; /* of the server, from the path; "" */
	size_t next;      /* server to add next */
	/* Whatever else belongs to it. */
	void *state;
	void (*state_free)(void *state);
};

struct document_kind {
	const char *path; /* "/api/server/": the name of a server follows */
	const char *type;
	uint64_t fresh_us; /* how long one may be sent again */
	enum document_end (*step)(struct document_making *mk, struct text *out);
};

/* NULL: there is none. `name` is what follows the path of the kind. */
const struct document_kind *document_find(const char *path, const char **name);

/* Ends what is being made, or begins again. */
void document_reset(struct document_making *mk);
/* The server of `name`; false if it is not there. */
bool document_server(const struct document_making *mk, size_t *index,
    struct control_server *srv);
/* Its status, from the arena; NULL without memory. */
Forefetch__ServerStatus *document_status(
    const struct document_making *mk, size_t index, struct arena *a);

enum document_end document_metrics(
    struct document_making *mk, struct text *out);
enum document_end document_servers(
    struct document_making *mk, struct text *out);
enum document_end document_history(
    struct document_making *mk, struct text *out);
enum document_end document_trees(struct document_making *mk, struct text *out);

#endif
