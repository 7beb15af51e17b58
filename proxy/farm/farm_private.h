/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to farm*.c. farm.h has the map of the files. */
#ifndef FOREFETCH_FARM_PRIVATE_H
#define FOREFETCH_FARM_PRIVATE_H

#include <sys/queue.h>

#include "cache/caches.h"
#include "cache/learn.h"
#include "farm/farm.h"
#include "farm/farm_check.h"
#include "farm/seal.h"
#include "nfsproto/nfs3_object.h"

struct event;
struct farm_publish;
struct farm_wait;

TAILQ_HEAD(farm_waits, farm_wait);

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
	/* Where so many values of a kind in a row were not there, only one
	 * question in so many is asked, while a client's call waits or ahead of
	 * calls: each costs a round trip, and tells when there are some again.
	 */
	BARREN_MISSES = 16,
	BARREN_PART = 16,
	BARREN_PART_AHEAD = 8,
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
	struct farm_waits waits;
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
bool farm_pays(struct farm_server *s, enum farm_kind kind, uint64_t bytes,
    bool ahead, uint64_t *us);
bool farm_is_absent(
    const struct farm_server *s, const struct farm_key *key, uint64_t now_us);
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

/* ---- farm_others.c --------------------------------------------------------
 */

/* What waits until another machine has published it. */
struct farm_wait {
	TAILQ_ENTRY(farm_wait) link;
	uint64_t until_us; /* 0: it did not wait yet */
	bool waits;
	void (*again)(struct farm_wait *w); /* ask the engine again */
};

/* False and errno. */
bool others_begin(struct farm *f);
void others_end(struct farm *f);
void others_forget(struct farm_server *s);
/* Whether another machine has asked for something of the server lately. */
bool others_are_there(struct farm_server *s, uint64_t now_us);
/* As engine_get(). While others are there, it leaves a mark where there is no
 * value. */
bool others_get(struct farm_server *s, const struct farm_key *key,
    uint64_t deadline_us, struct engine_ask *a);
bool others_is_mark(const void *value, size_t len);
/* Wait for what another machine fetches: again() will be called. False where
 * the server is to be asked: it has waited long enough. */
bool others_wait(struct farm_server *s, struct farm_wait *w, const void *mark);
/* The value has come, or will not: what waited counts as a wait in vain then.
 */
void others_waited(
    struct farm_server *s, const struct farm_wait *w, bool found);
/* again() will not be called. */
void others_wait_end(struct farm_server *s, struct farm_wait *w);

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
