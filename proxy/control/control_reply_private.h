/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to control_reply*.c. A request finds its server, or all of them, by
 * reply_servers(), reply_server() or reply_server_at(), and asks its modules.
 *
 *	control_reply.c          requests in, responses out; which servers
 *	control_reply_stats.c    status, statistics, flush
 *	control_reply_compact.c  laying data out
 *	control_reply_reload.c   the configuration read again
 *	control_reply_activity.c  what goes on now
 *	control_reply_log.c      what is logged
 *	control_reply_pause.c    calls ahead held back
 *	control_reply_farm.c     the farm
 *	control_reply_place.c    commands about one place: warm, explain,
 *	                         drop
 *	control_reply_hint.c     hints
 *	control_reply_pin.c      pinned trees
 *	control_reply_trees.c    access trees; what is carried in files
 *	control_reply_trees_look.c  listed and shown
 *	control_reply_trees_export.c  exported
 *	control_reply_trees_import.c  imported and merged
 *	control_reply_trace.c    traces
 */
#ifndef FOREFETCH_CONTROL_REPLY_PRIVATE_H
#define FOREFETCH_CONTROL_REPLY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/caches.h"
#include "control/control.h"

struct warm_progress;

/* Work that takes more than one turn of the loop; the first member of the
 * struct that it needs. The same request, asked again, goes on with it. While
 * it exists, the servers, their numbers and their order stay the same: where
 * these change, the work ends, and is begun anew (control_reply_restart()). */
struct control_work {
	void (*free)(struct control_work *w);
	/* It has to do with no server, so that it goes on when the servers
	 * change. */
	bool no_server;
};

/* Everything that is needed to make one response. */
struct reply {
	const struct control_ops *ops;
	void *ctx;
	const struct control_peer *peer; /* for commands that act as it */
	struct control_session *session; /* of this client */
	struct arena arena;
	/* There is no answer yet: the request is to be asked again in another
	 * turn. */
	bool later;
	Forefetch__Response res;
	Forefetch__Error error;
};

/*
 * The session's long work, a struct of `size` bytes that begins with a struct
 * control_work. If there is none yet, it is begun now, zeroed, and `*begun` is
 * set. NULL where it has to wait for others (`later`), or without memory.
 */
void *reply_work(struct reply *r, size_t size,
    void (*free)(struct control_work *w), bool *begun);
/* Frees the session's work, if there is any. */
void reply_work_end(struct reply *r);
/* Whether a file in parts may begin or go on; false after an error. */
bool reply_may_carry(struct reply *r);
/* Makes the response an error. `text` is a sentence for a person, which must
 * live until the response is packed. */
void reply_error(struct reply *r, Forefetch__ErrorCode code, const char *text);
/* The meaning of a module's errno in a reply; a table of them ends with {0}. An
 * errno that is not in the table is a lack of memory. */
struct reply_why {
	int error;
	Forefetch__ErrorCode code;
	const char *text;
};
/* Makes the response the error that `whys` has for `error`, a positive errno;
 * without a row it says that memory is short. */
void reply_errno(struct reply *r, const struct reply_why *whys, int error);
void reply_unknown_command(struct reply *r);
/* The connection has no walk, trace or stream of hints to go on with. */
void reply_not_begun(struct reply *r);

/* The peer, as the modules take it. */
struct user reply_user(const struct reply *r);
/* Whether the peer is root or the daemon's own user. */
bool reply_sees_all(const struct reply *r);

/* Borrow a string, which may be NULL. */
ProtobufCBinaryData reply_bytes(const char *text);
/* Copies bytes of a request to a string in the arena; NULL where they have a
 * NUL or are too long. */
const char *reply_text(struct reply *r, const ProtobufCBinaryData *b);

/*
 * The servers that a request is about: those of the name `filter`, or all where
 * that is empty. reply_next() moves to the next one, beginning with the first;
 * false: there are no more. reply_count() says how many there are, with an
 * error where there is none of that name.
 */
struct reply_servers {
	struct reply *reply;
	const ProtobufCBinaryData *filter;
	size_t next;              /* of all servers */
	struct control_server at; /* the present one */
};
bool reply_next(struct reply_servers *s);
/* Whether a server of that name is one that `filter` asks for. */
bool reply_wants(
    const ProtobufCBinaryData *filter, const void *name, size_t len);
void reply_no_server(struct reply *r);
/* How many servers the request is about. False after an error: it names one
 * that is not there. */
bool reply_count(struct reply *r, const ProtobufCBinaryData *filter, size_t *n);
/* A message of the kind for each; NULL after an error. */
void *reply_messages(
    struct reply_servers *s, const ProtobufCMessageDescriptor *kind);
/* The one server that a request means: the only one where it names none. False
 * after an error. */
bool reply_server(struct reply *r, const ProtobufCBinaryData *filter,
    struct control_server *out);
/* The server that a place is mounted from; false after an error. */
bool reply_server_at(struct reply *r, const Forefetch__Place *place,
    struct control_place *at, struct control_server *out);
/* Tells why warm_begin(), pins_add() or hint_begin() failed. */
void reply_place_error(struct reply *r, int error);
/* NULL without memory. */
Forefetch__Warmed *reply_warmed(struct reply *r, const struct warm_progress *p);

/* One function a command. `request` is decoded and valid for this turn; `out`
 * is an empty message of the command's result, in the arena, and is the answer
 * unless the function makes another one, or an error. A function that needs
 * more turns sets `later`, and is called again with the same request. */
typedef void reply_command(
    struct reply *r, const Forefetch__Request *request, void *out);
reply_command reply_activity, reply_compact, reply_explain, reply_farm,
    reply_flush, reply_forget, reply_hint, reply_log_level, reply_pause,
    reply_pin, reply_reload, reply_stats, reply_status, reply_trace,
    reply_trees, reply_warm;

#endif
