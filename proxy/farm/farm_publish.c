/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be published waits here for a moment, in the order in which it
 * came, so that the replies of one read are one value. Then the bytes are
 * taken from the data cache, if they are still there and firm.
 *
 * A table remembers by the tags of keys what the engine was given, or gave, so
 * that hardly an extent is published twice.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "farm/farm_private.h"

enum {
	ITEMS_MAX = 8192,
	BUCKETS = 4096,
	/* Bytes that follow come within this time, most of them. */
	WAIT_US = 200000,
	TURN_US = 10000,
	/* What a turn may take: sealing 64 KiB takes a tenth of a
	 * millisecond. */
	TURN_BYTES = 256 << 10,
	/* While the engine takes nothing. */
	REST_US = 500000,
	/* The cap counts over so long. */
	BURST_PART = 20,
	/* A value that its node does not take waits behind all others. */
	TRIES_MAX = 4,
};

struct item {
	TAILQ_ENTRY(item) link;
	LIST_ENTRY(item) hash_link;
	struct farm_server *server;
	struct data_version version;
	uint64_t since_us;
	uint64_t cell;
	uint64_t from, to; /* of the file: what the server said */
	uint32_t cred;     /* of a listing; 0: it is data */
	bool plus;
	uint8_t tries;
	uint8_t fh_len;
	char fh[NFS3_FHSIZE_MAX];
};

TAILQ_HEAD(items, item);
LIST_HEAD(item_list, item);

struct farm_publish {
	struct farm *farm;
	struct event *ev;
	struct items items; /* the oldest first */
	struct items spare;
	struct item_list buckets[BUCKETS];
	unsigned n;
	uint64_t tokens; /* bytes that may go out now */
	uint64_t filled_us;
	struct {
		uint64_t tag;
		uint32_t len; /* of the value, without its head */
	} kept[KEPT_SLOTS];
};

static void on_timer(evutil_socket_t fd, short what, void *arg);

struct farm_publish *publish_new(struct farm *f)
{
	struct farm_publish *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->farm = f;
	TAILQ_INIT(&p->items);
	TAILQ_INIT(&p->spare);
	p->ev = evtimer_new(f->base, on_timer, p);
	if (p->ev)
		return p;
	free(p);
	return NULL;
}

static void free_items(struct items *list)
{
	struct item *it;

	while ((it = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, it, link);
		free(it);
	}
}

void publish_free(struct farm_publish *p)
{
	if (!p)
		return;
	free_items(&p->items);
	free_items(&p->spare);
	event_free(p->ev);
	free(p);
}

static void item_drop(struct farm_publish *p, struct item *it)
{
	TAILQ_REMOVE(&p->items, it, link);
	LIST_REMOVE(it, hash_link);
	TAILQ_INSERT_HEAD(&p->spare, it, link);
	p->n--;
}

void publish_forget(struct farm_publish *p, const struct farm_server *s)
{
	struct item *it, *next;

	for (it = TAILQ_FIRST(&p->items); it; it = next) {
		next = TAILQ_NEXT(it, link);
		if (it->server == s)
			item_drop(p, it);
	}
}

unsigned publish_waiting(const struct farm_publish *p)
{
	return p->n;
}

static struct item_list *bucket(
    struct farm_publish *p, const struct node *node, uint64_t cell)
{
	uint64_t h = node_key(node) + cell * 0x9e3779b97f4a7c15u;

	return &p->buckets[(h >> 32) & (BUCKETS - 1)];
}

/* What waits already and is of the same cell. */
static struct item *item_find(struct farm_server *s, const struct node *node,
    const struct data_version *v, uint64_t cell, uint32_t cred, bool plus)
{
	struct item *it;

	LIST_FOREACH (it, bucket(s->p.farm->publish, node, cell), hash_link)
		if (it->server == s && it->cell == cell && it->cred == cred &&
		    it->plus == plus && it->fh_len == node->fh_len &&
		    memcmp(it->fh, node->fh, it->fh_len) == 0 &&
		    memcmp(&it->version, v, sizeof(*v)) == 0)
			return it;
	return NULL;
}

static struct item *item_new(struct farm_server *s, const struct node *node,
    const struct data_version *v, uint64_t cell)
{
	struct farm_publish *p = s->p.farm->publish;
	struct timeval soon = clock_timeval(WAIT_US);
	struct item *it = TAILQ_FIRST(&p->spare);

	if (p->n == ITEMS_MAX) {
		metrics_add(s->p.metrics, METRICS_FARM_LEFT_OUT, 1);
		return NULL;
	}
	if (it)
		TAILQ_REMOVE(&p->spare, it, link);
	else
		it = malloc(sizeof(*it));
	if (!it)
		return NULL;
	*it = (struct item){.server = s,
	    .version = *v,
	    .since_us = clock_now_us(),
	    .cell = cell,
	    .fh_len = node->fh_len};
	memcpy(it->fh, node->fh, node->fh_len);
	TAILQ_INSERT_TAIL(&p->items, it, link);
	LIST_INSERT_HEAD(bucket(p, node, cell), it, hash_link);
	if (p->n++ == 0)
		event_add(p->ev, &soon);
	return it;
}

/* Bytes that adjoin what waits, or replace it where they are more. */
static void item_extend(struct item *it, uint64_t from, uint64_t to)
{
	if (it->to > it->from && from <= it->to && to >= it->from) {
		if (from < it->from)
			it->from = from;
		if (to > it->to)
			it->to = to;
	} else if (to - from > it->to - it->from) {
		it->from = from;
		it->to = to;
	}
}

/* Whether the bytes that the caches have of the node are bound to its version
 * for good; data that is not is left out when its turn comes. */
static bool version_of(struct farm_server *s, const struct node *node,
    unsigned share, struct data_version *v)
{
	if (!(s->p.farm->config->share & share) || !(node->flags & NODE_ATTRS))
		return false;
	*v = caches_data_version(s->p.caches, node);
	return !(v->ctime_ns & CACHES_CLOCK_BACK);
}

void publish_data(
    struct farm_server *s, struct node *node, uint64_t offset, uint32_t len)
{
	uint64_t end = offset + len;
	struct data_version v;

	if (!version_of(s, node, CONFIG_SHARE_DATA, &v))
		return;
	for (uint64_t c = cell_at(offset); cell_begin(c) < end; c++) {
		struct item *it = item_find(s, node, &v, c, 0, false);
		uint64_t from = cell_begin(c), to = cell_end(c);

		if (!it)
			it = item_new(s, node, &v, c);
		if (!it)
			return;
		item_extend(
		    it, from > offset ? from : offset, to < end ? to : end);
	}
}

void publish_listing(
    struct farm_server *s, struct node *dir, uint32_t cred, bool plus)
{
	struct data_version v;
	struct item *it;

	if (!cred || !version_of(s, dir, CONFIG_SHARE_LISTINGS, &v) ||
	    item_find(s, dir, &v, UINT64_MAX, cred, plus))
		return;
	it = item_new(s, dir, &v, UINT64_MAX);
	if (!it)
		return;
	it->cred = cred;
	it->plus = plus;
}

/* ---- what the engine has ------------------------------------------------- */

void publish_note_kept(
    struct farm_publish *p, const struct farm_key *key, uint32_t len)
{
	size_t at = key->tag & (KEPT_SLOTS - 1);

	p->kept[at].tag = key->tag;
	p->kept[at].len = len;
}

void publish_note_lost(struct farm_publish *p, const struct farm_key *key)
{
	size_t at = key->tag & (KEPT_SLOTS - 1);

	if (p->kept[at].tag == key->tag)
		p->kept[at].len = 0;
}

/* Whether it has these bytes, or has other ones that are as many. */
bool publish_is_kept(
    const struct farm_publish *p, const struct farm_key *key, uint32_t len)
{
	size_t at = key->tag & (KEPT_SLOTS - 1);

	return p->kept[at].tag == key->tag && p->kept[at].len >= len;
}

/* ---- turns ------------------------------------------------------------- */

/* The bytes, if the cache has them and they are firm. */
static bool copy_data(const struct item *it, struct node *node)
{
	struct caches *c = it->server->p.caches;
	unsigned char *to = it->server->p.farm->plain;
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n;
	/* Nothing was sent so late: only what is firm counts. */
	struct datacache_read rd = {.key = caches_data_key(node),
	    .version = &it->version,
	    .offset = it->from,
	    .len = (uint32_t)(it->to - it->from),
	    .valid_us = UINT64_MAX};

	if (!c->data ||
	    datacache_find(c->data, &rd, pieces, &n, NULL) != DATACACHE_HIT)
		return false;
	farm_put_number(to, it->from);
	to += DATA_HEAD;
	for (unsigned i = 0; i < n; i++) {
		memcpy(to, pieces[i].data, pieces[i].len);
		to += pieces[i].len;
	}
	return true;
}

/* Bytes that it took; 0 where nothing was to be published. False where the
 * engine takes nothing now. */
static bool put_data(struct farm_publish *p, const struct item *it,
    struct node *node, size_t *bytes)
{
	uint32_t len = (uint32_t)(it->to - it->from);
	nfs3_fh fh = node_fh(node);
	struct farm_key key;

	*bytes = 0;
	farm_data_key(it->server, &fh, &it->version, it->cell, &key);
	if (publish_is_kept(p, &key, len) || !copy_data(it, node))
		return true;
	if (!farm_put(it->server, &key, DATA_HEAD + len))
		return false;
	publish_note_kept(p, &key, len);
	*bytes = len;
	return true;
}

/* The oldest; false where the engine takes nothing now. */
static bool publish_one(struct farm_publish *p, struct item *it, size_t *bytes)
{
	struct caches *c = it->server->p.caches;
	const nfs3_fh fh = {.len = it->fh_len, .data = it->fh};
	struct node *node = attrcache_find(c->attr, &fh);
	struct data_version now;

	*bytes = 0;
	if (!node ||
	    !version_of(it->server, node,
		it->cred ? CONFIG_SHARE_LISTINGS : CONFIG_SHARE_DATA, &now) ||
	    memcmp(&now, &it->version, sizeof(now)) != 0)
		return true;
	if (!it->cred)
		return put_data(p, it, node, bytes);
	*bytes = farm_list_publish(it->server, node, it->cred, it->plus);
	return true;
}

static void fill(struct farm_publish *p, uint64_t now_us)
{
	uint64_t cap = p->farm->config->publish_cap;
	uint64_t most = cap / BURST_PART + TURN_BYTES;
	uint64_t since = now_us - p->filled_us;

	if (since > 1000000)
		since = 1000000;
	p->tokens += cap * since / 1000000;
	if (p->tokens > most)
		p->tokens = most;
	p->filled_us = now_us;
}

/* The node that keeps its key, or all of the engine, takes nothing now: other
 * values go first. */
static void put_off(struct farm_publish *p, struct item *it)
{
	if (++it->tries == TRIES_MAX) {
		metrics_add(it->server->p.metrics, METRICS_FARM_LEFT_OUT, 1);
		item_drop(p, it);
		return;
	}
	TAILQ_REMOVE(&p->items, it, link);
	TAILQ_INSERT_TAIL(&p->items, it, link);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct farm_publish *p = arg;
	uint64_t now_us = clock_now_us(), next_us = TURN_US;
	struct item *it;
	size_t bytes, turn = 0;
	struct timeval tv;

	(void)fd;
	(void)what;
	fill(p, now_us);
	while ((it = TAILQ_FIRST(&p->items)) != NULL && turn < TURN_BYTES &&
	       p->tokens > 0 && now_us - it->since_us >= WAIT_US) {
		if (!publish_one(p, it, &bytes)) {
			next_us = REST_US;
			put_off(p, it);
			break;
		}
		item_drop(p, it);
		turn += bytes + 1024;
		p->tokens -= bytes < p->tokens ? bytes : p->tokens;
	}
	tv = clock_timeval(next_us);
	if (p->n > 0)
		event_add(p->ev, &tv);
}
