/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to the engine, and for whom they wait; values that it is given.
 * Private to farm*.c. */
#ifndef FOREFETCH_FARM_ENGINE_PRIVATE_H
#define FOREFETCH_FARM_ENGINE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/engine.h"
#include "farm/seal.h"

struct farm;
struct farm_question;
struct farm_publish;
struct farm_server;
struct node;

TAILQ_HEAD(farm_questions, farm_question);

/* A claim or a call waits for values of these kinds. */
enum farm_kind { FARM_DATA, FARM_LISTING, FARM_KINDS };

/* A key of the engine. */
struct farm_key {
	char name[SEAL_NAME_LEN + 1];
	uint64_t tag; /* a hash of it */
};

/* Whether others work on the same server now, as the engine tells. */
struct farm_others {
	struct engine_ask ask; /* the first */
	struct farm_server *server;
	struct farm_key key;
	uint64_t asked_us, seen_us; /* 0: never */
	unsigned vain;              /* waits in a row that brought nothing */
	unsigned passed;            /* marks since then */
};

/* Whoever asks for a value embeds this in a struct of its own. It sets the
 * fields down to on_end(), and zeroes the others. */
struct farm_question {
	struct engine_ask ask; /* must be first; private */
	struct farm_server *server;
	enum farm_kind kind;
	struct farm_key key;
	uint64_t deadline_us; /* the engine has so long for each answer */
	/* The engine sent a value. Returns whether it is what was wanted. */
	bool (*take)(struct farm_question *q, const void *value, size_t len);
	/* The question waits for another machine now. May be NULL. */
	void (*on_wait)(struct farm_question *q);
	/* The question is over: the value was taken, or the server has to be
	 * asked. The struct may be freed. */
	void (*on_end)(struct farm_question *q);
	TAILQ_ENTRY(farm_question) link; /* this and what follows is private */
	uint64_t until_us;               /* 0: it has not waited yet */
	bool waits;
};

/* ---- farm_others.c ----------------------------------------------------- */

/* False and errno. */
bool others_begin(struct farm *f);
void others_forget(struct farm_server *s);
/* Whether another machine has asked for something of the server lately. */
bool others_are_there(struct farm_server *s, uint64_t now_us);
/* Leaves a mark in the value's place: this machine is fetching it. It goes by
 * itself after two seconds. */
void others_mark(struct farm_server *s, const struct farm_key *key);
/* Whether what came is a mark and no value; and whether it is this machine's
 * own. */
bool others_is_mark(const void *value, size_t len);
bool others_is_own_mark(const struct farm *f, const void *mark);
/* Whether it is worth to wait for what is marked. */
bool others_are_worth_waiting(struct farm_server *s);
/* A wait is over: the value has come, or it was in vain. */
void others_waited(struct farm_server *s, bool found);
/* How long the server needs for an answer, about, and how long a question waits
 * for other machines. */
uint64_t others_server_us(const struct farm_server *s);
uint64_t others_wait_us(const struct farm_server *s);

/* ---- farm_question.c --------------------------------------------------- */

/* False and errno. */
bool questions_begin(struct farm *f);
void questions_end(struct farm *f);
/* on_end() is called later; false where nobody can be asked: then it is not. */
bool question_ask(struct farm_question *q);
/* Stop asking and waiting; on_end() is not called. A question of zeros, which
 * was never asked, is allowed. */
void question_drop(struct farm_question *q);
/* Whether a barren engine should be asked again. Each call counts. */
bool probe_is_due(struct farm_server *s, enum farm_kind kind);
/* Ask for the value, unless it was absent a short time ago. Nobody waits for
 * the answer: it only tells whether the engine has values again. */
void probe_ask(
    struct farm_server *s, enum farm_kind kind, const struct farm_key *key);

/* ---- farm_publish.c ---------------------------------------------------- */

/* Makes the queue of values that are to be published; NULL without memory. */
struct farm_publish *publish_new(struct farm *f);
void publish_free(struct farm_publish *p);
/* How many wait to be published. */
unsigned publish_waiting(const struct farm_publish *p);
/* Drops all that waits and is of the server. */
void publish_forget(struct farm_publish *p, const struct farm_server *s);
/* The server said these bytes, and they are firm. */
void publish_data(
    struct farm_server *s, struct node *node, uint64_t offset, uint32_t len);
/* A listing is to be published. */
void publish_listing(
    struct farm_server *s, struct node *dir, uint32_t cred, bool plus);

/* ---- farm_kept.c ------------------------------------------------------- */

bool kept_begin(struct farm *f); /* False without memory. */
void kept_end(struct farm *f);
/* The engine has a value of so many bytes: as many need not be published. */
void kept_note(struct farm *f, const struct farm_key *key, uint32_t len);
/* It has none. */
void kept_lost(struct farm *f, const struct farm_key *key);
/* Whether it has as many bytes of it already, or other ones that are as many.
 */
bool kept_has(const struct farm *f, const struct farm_key *key, uint32_t len);

#endif
