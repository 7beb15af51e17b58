/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to farm*.c. farm.h has the map of the files. */
#ifndef FOREFETCH_FARM_PRIVATE_H
#define FOREFETCH_FARM_PRIVATE_H

#include <sys/queue.h>

#include "cache/caches.h"
#include "cache/learn.h"
#include "config/config.h"
#include "farm/farm.h"
#include "farm/farm_check.h"
#include "farm/seal.h"
#include "nfsproto/nfs3_object.h"

struct event;
struct upstream_request;
struct farm_publish;
struct farm_question;

TAILQ_HEAD(farm_questions, farm_question);

enum {
	/*
	 * A value holds bytes of one cell of its file. The first cell is what
	 * a client reads of most files, or reads first of others; so small
	 * reads of it are published whole. All others end at multiples of
	 * CELL_BYTES: with what stands around it, a value fits into 64 KiB,
	 * while one byte more would take 80 KiB of Redis's memory.
	 */
	CELL_FIRST = 16 << 10,
	CELL_BYTES = 60 << 10,
	/* A longer listing is not shared: it would take a long turn. */
	LISTING_BYTES_MAX = 512 << 10,
	/* Places for what the engine was found not to have, and for what it
	 * has; powers of two. */
	ABSENT_SLOTS = 8192,
	KEPT_SLOTS = 32768,
	ABSENT_US = 10000000,
	/* While others are there, they may have it soon: after this time, and
	 * so many times as long as it is waited for them. */
	ABSENT_AMONG_US = 500000,
	ABSENT_WAITS = 2,
	/* Where so many values of a kind in a row were not there, the server is
	 * asked at once. Of one question in so many the engine is asked beside
	 * it, which tells when it has some again. */
	BARREN_MISSES = 16,
	BARREN_PART = 8,
	/* What may be on its way from the engine for nobody's call. */
	AHEAD_BYTES_MAX = 1 << 20,
};

struct farm {
	struct event_base *base;
	struct config_farm *config; /* a copy: reloads free theirs */
	struct engine *engine;
	struct seal *seal;
	LIST_HEAD(, farm_server) servers;
	struct farm_publish *publish;
	struct farm_flush_status flush;
	uint64_t id; /* a random number, of this run of the daemon */
	struct farm_questions waits; /* for other machines */
	unsigned nwaits;
	struct event *ev_wait;
	/* A value that was opened, or is to be sealed; and one sealed. */
	unsigned char *plain, *sealed;
};

/* What is asked for while it is wanted. */
enum farm_kind { FARM_DATA, FARM_LISTING, FARM_KINDS };

LIST_HEAD(data_asks, data_ask);
LIST_HEAD(list_asks, list_ask);

/* A key of the engine. */
struct farm_key {
	char name[SEAL_NAME_LEN + 1];
	uint64_t tag; /* a hash of it */
};

/* Whether others work on the same server now. */
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

struct farm_server {
	struct caches_hook hook;
	LIST_ENTRY(farm_server) link;
	struct farm_server_params p;
	char *name; /* of the server: address and port */
	struct data_asks data;
	struct list_asks lists;
	struct farm_trees *trees; /* NULL: none */
	uint64_t ahead_bytes;     /* asked for, and not come */
	struct farm_others others;
	struct {
		unsigned misses; /* values in a row that were not there */
		unsigned passed; /* questions since then */
		struct farm_question probe;
	} barren[FARM_KINDS];
	/* Values that were not there: the tag of their key, and since when. */
	struct {
		uint64_t tag, us;
	} absent[ABSENT_SLOTS];
};

/* ---- farm_name.c ------------------------------------------------------- */

enum {
	KIND_DATA = 'd',
	KIND_LISTING = 'l',
	KIND_TREES = 't',
	KIND_OTHERS = 'o',
	KIND_CHECK = 'c'
};

/* Numbers in names and values: little endian, since a farm may have machines of
 * both kinds. */
enum { FARM_NUMBER_BYTES = 8 };
void farm_put_number(unsigned char *to, uint64_t n);
uint64_t farm_get_number(const unsigned char *from);

uint64_t cell_at(uint64_t offset);
uint64_t cell_begin(uint64_t cell);
static inline uint64_t cell_end(uint64_t cell)
{
	return cell_begin(cell + 1);
}

void farm_data_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, uint64_t cell, struct farm_key *key);
/* Listings are the credential's: a server may hide entries from some. */
void farm_listing_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, const struct cred_key *cred, bool plus,
    struct farm_key *key);

void farm_trees_key(
    const struct farm_server *s, uint32_t uid, struct farm_key *key);
/* Of who asks for things of the server. */
void farm_others_key(const struct farm_server *s, struct farm_key *key);

/* ---- farm.c -------------------------------------------------------------- */

/* Whether the engine may be asked for so many bytes, and will most likely
 * answer before the server would. The deadline goes to `*us`. */
bool farm_pays(
    const struct farm_server *s, uint64_t bytes, bool ahead, uint64_t *us);
/* Whether the engine had no value of the kind for long. While another machine
 * works on the same server, each question is worth it. */
bool farm_is_barren(struct farm_server *s, enum farm_kind kind);
bool farm_is_absent(
    struct farm_server *s, const struct farm_key *key, uint64_t now_us);
/* It was there. */
void farm_note_found(struct farm_server *s, enum farm_kind kind);
void farm_note_absent(struct farm_server *s, enum farm_kind kind,
    const struct farm_key *key, uint64_t now_us);
/* A sealed value opened into farm->plain: its length; 0 where it does not open
 * or is longer than `max`, which is counted. */
size_t farm_open(struct farm_server *s, const struct farm_key *key,
    const void *value, size_t len, size_t max);
/* Seal farm->plain and have the engine keep it. */
bool farm_put(struct farm_server *s, const struct farm_key *key, size_t len);
struct engine_key farm_engine_key(const struct farm_key *key);
/* A call goes out to the server (`ctx`): fetch_tell(). */
void farm_on_send(void *ctx, const struct upstream_request *req, uint32_t cred,
    uint64_t sent_us);

/* ---- farm_others.c --------------------------------------------------------
 */

/* False and errno. */
bool others_begin(struct farm *f);
void others_forget(struct farm_server *s);
/* Whether another machine has asked for something of the server lately. */
bool others_are_there(struct farm_server *s, uint64_t now_us);
/* Leave a mark in the value's place: this machine is fetching it. */
void others_mark(struct farm_server *s, const struct farm_key *key);
bool others_is_mark(const void *value, size_t len);
bool others_is_own_mark(const struct farm *f, const void *mark);
/* Whether it is worth to wait for what is marked. */
bool others_are_worth_waiting(struct farm_server *s);
/* A wait is over: the value has come, or it was in vain. */
void others_waited(struct farm_server *s, bool found);

/* ---- farm_question.c ----------------------------------------------------- */

/* False and errno. */
bool questions_begin(struct farm *f);
void questions_end(struct farm *f);
/* How long a question waits for other machines. */
uint64_t question_wait_us(const struct farm_server *s);
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

/* ---- farm_data.c, farm_list.c -------------------------------------------- */

/*
 * A value of data is pieces of its cell, in order, which do not overlap: of a
 * file that is mapped into memory, a client reads pages here and there. Each
 * has its place in the file and its length in front of its bytes.
 */
enum {
	PIECE_HEAD = 2 * FARM_NUMBER_BYTES,
	PIECES_MAX = 16,
	DATA_VALUE_MAX = CELL_BYTES + PIECES_MAX * PIECE_HEAD,
};

void farm_data_free(struct farm_server *s);
void farm_list_free(struct farm_server *s);
/* This machine has sent the server such a call at `sent_us`: others need not,
 * if what comes of it will be firm, and published. */
void farm_data_sent(struct farm_server *s, const struct node *node,
    const READ3args *args, uint64_t sent_us);
void farm_list_sent(struct farm_server *s, const struct node *dir,
    uint32_t cred, bool plus, uint64_t sent_us);
/* Publish the listing, which is complete; the bytes that were encoded. */
size_t farm_list_publish(
    struct farm_server *s, struct node *dir, uint32_t cred, bool plus);

/* ---- farm_trees.c ------------------------------------------------------ */

/* Whether what was learned is published; if not, that begins. */
bool farm_trees_settle(struct farm_server *s);

/* ---- farm_publish.c ------------------------------------------------------ */

struct farm_publish *publish_new(struct farm *f);
void publish_free(struct farm_publish *p);
/* How many wait to be published. */
unsigned publish_waiting(const struct farm_publish *p);
/* What is of the server is not published any more. */
void publish_forget(struct farm_publish *p, const struct farm_server *s);
/* The server said these bytes, and they are firm. */
void publish_data(
    struct farm_server *s, struct node *node, uint64_t offset, uint32_t len);
/* A listing is to be published. */
void publish_listing(
    struct farm_server *s, struct node *dir, uint32_t cred, bool plus);
/* The engine has a value of so many bytes: as many need not be published. */
void publish_note_kept(
    struct farm_publish *p, const struct farm_key *key, uint32_t len);
/* It has none. */
void publish_note_lost(struct farm_publish *p, const struct farm_key *key);
/* Whether it has as many bytes of it already. */
bool publish_is_kept(
    const struct farm_publish *p, const struct farm_key *key, uint32_t len);

#endif
