/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to farm*.c. farm.h has the map of the files. */
#ifndef FOREFETCH_FARM_PRIVATE_H
#define FOREFETCH_FARM_PRIVATE_H

#include <sys/queue.h>

#include "cache/caches.h"
#include "cache/learn.h"
#include "config/config.h"
#include "farm/farm.h"
#include "farm/farm_engine_private.h"
#include "farm/seal.h"
#include "nfsproto/nfs3_object.h"

struct event;
struct upstream_request;
struct farm_kept;
struct farm_publish;

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
	FARM_VALUE_MAX = LISTING_BYTES_MAX + 4096,
	/* Places for what the engine was found not to have; a power of two. */
	ABSENT_SLOTS = 8192,
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
	/* Bytes that may be on their way from the engine for nobody's call. */
	AHEAD_BYTES_MAX = 1 << 20,
};

struct farm {
	struct event_base *base;
	struct config_farm *config; /* a copy: reloads free theirs */
	struct engine *engine;
	struct seal *seal;
	LIST_HEAD(, farm_server) servers;
	struct farm_publish *publish;
	struct farm_kept *kept;
	struct farm_flush_status flush;
	uint64_t id; /* a random number, of this run of the daemon */
	struct farm_questions waits; /* for other machines */
	unsigned nwaits;
	struct event *ev_wait;
	/* A value that was opened, or is to be sealed; and one sealed. */
	unsigned char *plain, *sealed;
};

LIST_HEAD(data_asks, data_ask);
LIST_HEAD(list_asks, list_ask);

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
/* The key under which machines leave word that they ask for things of the
 * server. */
void farm_others_key(const struct farm_server *s, struct farm_key *key);

struct engine_key farm_engine_key(const struct farm_key *key);

/* ---- farm_value.c ------------------------------------------------------ */

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

/* ---- farm_data.c, farm_list.c ------------------------------------------ */

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

/* ---- farm_begin.c ------------------------------------------------------ */

/* A call goes out to the server (`ctx`): fetch_tell(). */
void farm_on_send(void *ctx, const struct upstream_request *req, uint32_t cred,
    uint64_t sent_us);

#endif
