/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values that are to be published wait here, in the order in which their bytes
 * came: in the first seconds of a job, as long as the server's replies come,
 * since the job waits for these, and shares its processor with this. Where no
 * more come, or other machines work on the same server, a value waits only for
 * a moment, so that the replies of one read are one value; and a cell that is
 * complete does not wait.
 *
 * Then all bytes of the cell are taken from the data cache that are there and
 * firm: a value takes the place of the one before, so it has to have what that
 * had.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/uint.h"
#include "farm/farm_private.h"
#include "hashing/hash_key.h"

enum {
	ITEMS_MAX = 8192,
	BUCKETS = 4096,
	/* Bytes that follow come within this time, most of them; and so does
	 * the next reply, while a job goes on. */
	WAIT_US = 200000,
	/* A longer job publishes while it goes on: what waited until its end
	 * would have to be read from the disk again. */
	SHORT_JOB_US = 3000000,
	/* A value that is ready goes out with others: each message costs
	 * either side a system call and a wake-up. */
	TURN_US = 20000,
	/* A turn takes no more: sealing 64 KiB takes a tenth of a
	 * millisecond. Values that are left then have their turn sooner. */
	TURN_BYTES = 256 << 10,
	FULL_US = 5000,
	/* While the engine takes nothing. */
	REST_US = 500000,
	/* The cap counts over so long. */
	BURST_PART = 20,
	/* A value that its node does not take waits behind all others. */
	TRIES_MAX = 4,
	/* Where a client's reads begin, most of them. */
	PAGE_BYTES = 4096,
};

/* A cell of a file, or a listing, that is to be published. It has the handle,
 * not the node, which may go meanwhile. */
struct publish_item {
	TAILQ_ENTRY(publish_item) link;
	LIST_ENTRY(publish_item) hash_link;
	struct farm_server *server;
	struct data_version version;
	/* When its first bytes came. */
	uint64_t since_us;
	uint64_t cell;
	/* Bytes of the cell that the server said; more than once counted
	 * twice. */
	uint64_t bytes;
	/* The credential of a listing; 0: it is data. */
	uint32_t cred;
	bool plus;
	/* Nothing more of it is to come. */
	bool ready;
	/* How often the engine did not take it. */
	uint8_t tries;
	uint8_t fh_len;
	char fh[NFS3_FHSIZE_MAX];
};

TAILQ_HEAD(publish_items, publish_item);
LIST_HEAD(publish_bucket, publish_item);

/* The queue of all servers. */
struct farm_publish {
	struct farm *farm;
	struct event *ev;
	struct publish_items ready; /* complete; the oldest comes first */
	struct publish_items
	    items; /* more of them may come; the oldest is first */
	/* Items to be used again, so that a busy job has no allocation for
	 * each. */
	struct publish_items spare;
	struct publish_bucket buckets[BUCKETS];
	unsigned n;
	/* The last one; and the first behind which no pause was. */
	uint64_t came_us, began_us;
	/* Bytes that may go out now, by publish_cap. */
	uint64_t tokens;
	/* When tokens were added last. */
	uint64_t filled_us;
};

static void on_timer(evutil_socket_t fd, short what, void *arg);

struct farm_publish *publish_new(struct farm *f)
{
	struct farm_publish *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->farm = f;
	TAILQ_INIT(&p->ready);
	TAILQ_INIT(&p->items);
	TAILQ_INIT(&p->spare);
	p->ev = evtimer_new(f->base, on_timer, p);
	if (p->ev)
		return p;
	free(p);
	return NULL;
}

static void free_items(struct publish_items *list)
{
	struct publish_item *it;

	while ((it = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, it, link);
		free(it);
	}
}

void publish_free(struct farm_publish *p)
{
	if (!p)
		return;
	free_items(&p->ready);
	free_items(&p->items);
	free_items(&p->spare);
	event_free(p->ev);
	free(p);
}

/* The queue that the item waits in. */
static struct publish_items *queue_of(
    struct farm_publish *p, const struct publish_item *it)
{
	return it->ready ? &p->ready : &p->items;
}

/* The item waits no longer, for whichever reason. */
static void item_drop(struct farm_publish *p, struct publish_item *it)
{
	TAILQ_REMOVE(queue_of(p, it), it, link);
	LIST_REMOVE(it, hash_link);
	TAILQ_INSERT_HEAD(&p->spare, it, link);
	p->n--;
}

static void forget(struct farm_publish *p, const struct publish_items *list,
    const struct farm_server *s)
{
	struct publish_item *it, *next;

	for (it = TAILQ_FIRST(list); it; it = next) {
		next = TAILQ_NEXT(it, link);
		if (it->server == s)
			item_drop(p, it);
	}
}

void publish_forget(struct farm_publish *p, const struct farm_server *s)
{
	forget(p, &p->ready, s);
	forget(p, &p->items, s);
}

unsigned publish_waiting(const struct farm_publish *p)
{
	return p->n;
}

static struct publish_bucket *bucket(
    struct farm_publish *p, const struct node *node, uint64_t cell)
{
	uint64_t h = hash_numbers(node_key(node), cell);

	return &p->buckets[h & (BUCKETS - 1)];
}

/* Finds the item that waits already and is of the same cell. */
static struct publish_item *item_find(struct farm_server *s,
    const struct node *node, const struct data_version *v, uint64_t cell,
    uint32_t cred, bool plus)
{
	struct publish_item *it;

	LIST_FOREACH (it, bucket(s->p.farm->publish, node, cell), hash_link)
		if (it->server == s && it->cell == cell && it->cred == cred &&
		    it->plus == plus && it->fh_len == node->fh_len &&
		    memcmp(it->fh, node->fh, it->fh_len) == 0 &&
		    memcmp(&it->version, v, sizeof(*v)) == 0)
			return it;
	return NULL;
}

/* An item of a cell or a listing that waits now; NULL where there are too many,
 * or without memory. */
static struct publish_item *item_new(struct farm_server *s,
    const struct node *node, const struct data_version *v, uint64_t cell)
{
	struct farm_publish *p = s->p.farm->publish;
	struct timeval soon = clock_timeval(TURN_US);
	struct publish_item *it = TAILQ_FIRST(&p->spare);

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
	*it = (struct publish_item){.server = s,
	    .version = *v,
	    .since_us = clock_now_us(),
	    .cell = cell,
	    .fh_len = node->fh_len};
	memcpy(it->fh, node->fh, node->fh_len);
	TAILQ_INSERT_TAIL(&p->items, it, link);
	LIST_INSERT_HEAD(bucket(p, node, cell), it, hash_link);
	if (it->since_us - p->came_us >= WAIT_US)
		p->began_us = it->since_us;
	p->came_us = it->since_us;
	if (p->n++ == 0)
		event_add(p->ev, &soon);
	return it;
}

/* Nothing more of it is to come: other machines may want it soon. */
static void item_ready(struct farm_publish *p, struct publish_item *it)
{
	TAILQ_REMOVE(&p->items, it, link);
	it->ready = true;
	TAILQ_INSERT_TAIL(&p->ready, it, link);
}

/* Bytes of the cell came; once all have, nothing more is to come. */
static void item_grows(struct farm_publish *p, struct publish_item *it,
    uint64_t bytes, uint64_t all)
{
	it->bytes += bytes;
	if (it->bytes >= all && !it->ready)
		item_ready(p, it);
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

	if (len == 0 || !version_of(s, node, CONFIG_SHARE_DATA, &v))
		return;
	for (uint64_t c = cell_at(offset); c <= cell_at(end - 1); c++) {
		struct publish_item *it = item_find(s, node, &v, c, 0, false);
		uint64_t from = max_u64(cell_begin(c), offset);
		uint64_t last = min_u64(cell_end(c), node->size);

		if (!it)
			it = item_new(s, node, &v, c);
		if (!it)
			return;
		item_grows(s->p.farm->publish, it, min_u64(last, end) - from,
		    last - cell_begin(c));
	}
}

void publish_listing(
    struct farm_server *s, struct node *dir, uint32_t cred, bool plus)
{
	struct data_version v;
	struct publish_item *it;

	if (!cred || !version_of(s, dir, CONFIG_SHARE_LISTINGS, &v) ||
	    item_find(s, dir, &v, UINT64_MAX, cred, plus))
		return;
	it = item_new(s, dir, &v, UINT64_MAX);
	if (!it)
		return;
	it->cred = cred;
	it->plus = plus;
	item_ready(s->p.farm->publish, it);
}

/* ---- turns ------------------------------------------------------------- */

enum copied { COPIED_NONE, COPIED, COPIED_LATER };

/* A piece of the cell into a value, behind its head. */
static enum copied copy_piece(
    struct datacache *dc, const struct datacache_read *rd, unsigned char *to)
{
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	enum datacache_found found;
	unsigned n;

	found = datacache_find(dc, rd, pieces, &n, NULL);
	if (found != DATACACHE_HIT)
		return found == DATACACHE_WAIT ? COPIED_LATER : COPIED_NONE;
	farm_put_number(to, rd->offset);
	farm_put_number(to + FARM_NUMBER_BYTES, rd->len);
	to += PIECE_HEAD;
	for (unsigned i = 0; i < n; i++) {
		memcpy(to, pieces[i].data, pieces[i].len);
		to += pieces[i].len;
	}
	return COPIED;
}

/* The whole cell. Nothing was sent so late: only what is firm counts. */
static struct datacache_read cell_of(
    const struct publish_item *it, struct node *node)
{
	uint64_t begin = cell_begin(it->cell);
	uint64_t end = min_u64(cell_end(it->cell), node->size);

	return (struct datacache_read){.key = caches_data_key(node),
	    .version = &it->version,
	    .offset = begin,
	    .len = (uint32_t)(end - begin),
	    .valid_us = UINT64_MAX};
}

/* Copies what of the cell is there, as a value, to farm->plain: `*len` is its
 * length, and `*bytes` that of its pieces. */
static enum copied copy_cell(const struct publish_item *it,
    struct datacache_read rd, size_t *len, size_t *bytes)
{
	struct datacache *dc = it->server->p.caches->data;
	unsigned char *to = it->server->p.farm->plain;
	uint64_t end = rd.offset + rd.len;
	unsigned pieces = 0;

	*len = *bytes = 0;
	while (rd.offset < end && pieces < PIECES_MAX) {
		enum copied copied;

		rd.len = (uint32_t)(end - rd.offset);
		rd.len = datacache_prefix(dc, &rd);
		if (rd.len == 0) {
			rd.offset = (rd.offset / PAGE_BYTES + 1) * PAGE_BYTES;
			continue;
		}
		copied = copy_piece(dc, &rd, to + *len);
		if (copied == COPIED_LATER)
			return copied;
		if (copied == COPIED) {
			*len += PIECE_HEAD + rd.len;
			*bytes += rd.len;
			pieces++;
		}
		rd.offset += rd.len;
	}
	return *bytes > 0 ? COPIED : COPIED_NONE;
}

/* Bytes that it took; 0 where nothing was to be published. False where the
 * engine takes nothing now, or the disk has to be asked first. */
static bool put_data(struct farm_publish *p, const struct publish_item *it,
    struct node *node, size_t *bytes)
{
	struct datacache *dc = it->server->p.caches->data;
	struct datacache_read rd = cell_of(it, node);
	nfs3_fh fh = node_fh(node);
	struct farm_key key;
	enum copied copied;
	size_t len, all;

	*bytes = 0;
	farm_data_key(it->server, &fh, &it->version, it->cell, &key);
	if (!dc || kept_has(p->farm, &key, (uint32_t)datacache_have(dc, &rd)))
		return true;
	copied = copy_cell(it, rd, &len, &all);
	if (copied != COPIED)
		return copied == COPIED_NONE;
	/* The cache may have more pieces than fit into a value. */
	if (kept_has(p->farm, &key, (uint32_t)all))
		return true;
	if (!farm_put(it->server, &key, len))
		return false;
	kept_note(p->farm, &key, (uint32_t)all);
	*bytes = all;
	return true;
}

/* The oldest; false where the engine takes nothing now. */
static bool publish_one(
    struct farm_publish *p, struct publish_item *it, size_t *bytes)
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

/* Adds the tokens that have come since the last time, a second's at most. */
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
static void put_off(struct farm_publish *p, struct publish_item *it)
{
	if (++it->tries == TRIES_MAX) {
		metrics_add(it->server->p.metrics, METRICS_FARM_LEFT_OUT, 1);
		item_drop(p, it);
		return;
	}
	TAILQ_REMOVE(queue_of(p, it), it, link);
	TAILQ_INSERT_TAIL(queue_of(p, it), it, link);
}

/* Whether its time has come. */
static bool is_due(const struct farm_publish *p, const struct publish_item *it,
    uint64_t now_us)
{
	if (now_us - p->came_us < WAIT_US &&
	    now_us - p->began_us < SHORT_JOB_US && p->n < ITEMS_MAX / 2 &&
	    !others_are_there(it->server, now_us))
		return false;
	return it->ready || now_us - it->since_us >= WAIT_US;
}

/* The next one; NULL: none, or it has to wait. */
static struct publish_item *next_item(struct farm_publish *p, uint64_t now_us)
{
	struct publish_item *it = TAILQ_FIRST(&p->ready);

	if (it && is_due(p, it, now_us))
		return it;
	it = TAILQ_FIRST(&p->items);
	return it && is_due(p, it, now_us) ? it : NULL;
}

/* Publishes what is due, within the bounds of a turn. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct farm_publish *p = arg;
	uint64_t now_us = clock_now_us(), next_us = TURN_US;
	struct publish_item *it;
	size_t bytes, turn = 0;
	struct timeval tv;

	(void)fd;
	(void)what;
	fill(p, now_us);
	while (turn < TURN_BYTES && p->tokens > 0 &&
	       (it = next_item(p, now_us)) != NULL) {
		if (!publish_one(p, it, &bytes)) {
			next_us = REST_US;
			put_off(p, it);
			break;
		}
		item_drop(p, it);
		turn += bytes + 1024;
		p->tokens -= bytes < p->tokens ? bytes : p->tokens;
	}
	if (turn >= TURN_BYTES)
		next_us = FULL_US;
	tv = clock_timeval(next_us);
	if (p->n > 0)
		event_add(p->ev, &tv);
}
