/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to control_reply_trees*.c: one command about the access trees of a
 * server, and the functions that take many turns. */
#ifndef FOREFETCH_CONTROL_REPLY_TREES_PRIVATE_H
#define FOREFETCH_CONTROL_REPLY_TREES_PRIVATE_H

#include "control/control_reply_private.h"
#include "predictor/persist/trees.h"

/* One command, in one turn. */
struct trees {
	struct reply *r;
	const Forefetch__TreesRequest *request;
	struct control_server server;
	struct predictor *p;
	/* The user whose trees they are: the peer's uid, or TREES_ALL for
	 * root. */
	uint64_t uid;
	/* The answer, in the reply's arena. */
	Forefetch__Trees *out;
};

/* Makes the response an error; `error` is a negative errno. */
void trees_error(struct reply *r, int error);
/* Drops the file that the session carried in parts. */
void trees_drop_blob(struct control_session *s);

/* Lists, or shows one tree, in parts (control_reply_trees_look.c). */
void trees_list(const struct trees *t);
void trees_show(const struct trees *t);
/* Makes an export in parts, into the session's blob
 * (control_reply_trees_export.c). True once that is complete; false where it is
 * not yet, or after an error. */
bool trees_export(const struct trees *t);
/* Takes a file in parts, and adds it in parts (control_reply_trees_import.c).
 * Without `merge` the uid may have no trees yet. */
void trees_import(const struct trees *t, bool merge);

#endif
