/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to control_reply_trees*.c. */
#ifndef FOREFETCH_CONTROL_REPLY_TREES_PRIVATE_H
#define FOREFETCH_CONTROL_REPLY_TREES_PRIVATE_H

#include "control/control_reply_private.h"
#include "predictor/persist/trees.h"

/* One command. */
struct trees {
	struct reply *r;
	const Forefetch__TreesRequest *request;
	struct control_server server;
	struct predictor *p;
	uint64_t uid;
	Forefetch__Trees *out;
};

void trees_error(struct reply *r, int error);
/* Drops the file that the session carried in parts. */
void trees_drop_blob(struct control_session *s);

/* control_reply_trees_look.c: in parts. */
void trees_list(const struct trees *t);
void trees_show(const struct trees *t);
/* control_reply_trees_export.c: the session's blob, made in parts; false: not
 * yet, or after an error. */
bool trees_export(const struct trees *t);
/* control_reply_trees_import.c: what the session carries in parts, added in
 * parts. Without `merge` the uid may have no trees yet. */
void trees_import(const struct trees *t, bool merge);

#endif
