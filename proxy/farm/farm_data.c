/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of files, asked of the engine: cell by cell, all that somebody wants
 * at once. One claim in fetch's table holds the range until the last cell was
 * answered, or its time is over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/uint.h"
#include "farm/farm_private.h"
#include "upstream/fetch.h"

/* Cells of one call; more are asked for behind them. */
enum { CELLS_MAX = 32 };

/* One cell of a file that is asked for. */
struct data_cell {
	struct farm_question q; /* the first */
	struct data_ask *of;
	uint64_t cell;
};

/* One call of farm_ask_data(): its cells, and the claim that others wait for.
 * It frees itself when its last cell is over. */
struct data_ask {
	LIST_ENTRY(data_ask) link;
	struct farm_server *server;
	struct fetch_claim claim;
	struct learn_shared shared;
	/* The part of the server's ahead_bytes that is of this ask. */
	uint64_t ahead_bytes;
	/* Cells that are not over, of `n`. */
	unsigned pending;
	unsigned n;
	struct data_cell cells[];
};

/* The bytes of the ask are on their way from the engine no more. */
static void count_no_more(struct data_ask *a)
{
	a->server->ahead_bytes -= a->ahead_bytes;
	a->ahead_bytes = 0;
}

/* All cells are over: whoever waits for the claim looks into the caches now. */
static void data_ask_end(struct data_ask *a)
{
	LIST_REMOVE(a, link);
	count_no_more(a);
	fetch_claim_end(&a->claim);
	free(a);
}

/* How many bytes of the cell were wanted of it, from `*from` on. */
static uint64_t wanted(const struct data_cell *c, uint64_t *from)
{
	const struct fetch_about *a = &c->of->claim.about;
	uint64_t begin = cell_begin(c->cell), end = cell_end(c->cell);

	*from = a->from > begin ? a->from : begin;
	return (a->to < end ? a->to : end) - *from;
}

/* A piece of a value. */
struct cell_piece {
	uint64_t at, end; /* in the file */
	const unsigned char *data;
	size_t left; /* bytes of the value behind the last piece */
};

/* In front of the first piece of a value of `n` bytes. */
static struct cell_piece before_first(
    const unsigned char *value, size_t n, uint64_t cell)
{
	uint64_t begin = cell_begin(cell);

	return (struct cell_piece){
	    .at = begin, .end = begin, .data = value, .left = n};
}

/* Goes on to the next one. False at the end, or where it makes no sense: then
 * `left` is not 0. */
static bool next_piece(struct cell_piece *p, uint64_t cell)
{
	const unsigned char *head = p->data + (p->end - p->at);
	uint64_t len;

	if (p->left <= PIECE_HEAD)
		return false;
	p->at = farm_get_number(head);
	len = farm_get_number(head + FARM_NUMBER_BYTES);
	if (p->at < p->end || p->at >= cell_end(cell) || len == 0 ||
	    len > cell_end(cell) - p->at || len > p->left - PIECE_HEAD)
		return false;
	p->end = p->at + len;
	p->data = head + PIECE_HEAD;
	p->left -= PIECE_HEAD + len;
	return true;
}

/* Whether all of a value of `n` bytes makes sense. */
static bool is_good(const unsigned char *value, size_t n, uint64_t cell)
{
	struct cell_piece p = before_first(value, n, cell);

	while (next_piece(&p, cell))
		;
	return p.left == 0;
}

/* How many bytes of [from, to) are in the piece. */
static uint64_t covered(const struct cell_piece *p, uint64_t from, uint64_t to)
{
	uint64_t begin = p->at > from ? p->at : from;
	uint64_t end = p->end < to ? p->end : to;

	return end > begin ? end - begin : 0;
}

/* Whether a value has brought into the cache what was wanted of its cell. */
static bool take(struct farm_question *q, const void *value, size_t len)
{
	struct data_cell *c = (struct data_cell *)q;
	struct data_ask *a = c->of;
	struct farm_server *s = a->server;
	unsigned char *plain = s->p.farm->plain;
	size_t n = farm_open(s, &q->key, value, len, DATA_VALUE_MAX);
	uint64_t from, need = wanted(c, &from), got = 0, all = 0;
	struct cell_piece p = before_first(plain, n, c->cell);

	if (n == 0)
		return false;
	if (!is_good(plain, n, c->cell)) {
		metrics_add(s->p.metrics, METRICS_FARM_BAD, 1);
		return false;
	}
	while (next_piece(&p, c->cell)) {
		if (!learn_shared_data(
			&a->shared, p.at, p.data, (uint32_t)(p.end - p.at)))
			return false;
		got += covered(&p, from, from + need);
		all += p.end - p.at;
	}
	kept_note(s->p.farm, &q->key, (uint32_t)all);
	farm_note_found(s, FARM_DATA);
	metrics_add(s->p.metrics, METRICS_FARM_HITS, 1);
	metrics_add(s->p.metrics, METRICS_FARM_BYTES, all);
	return got == need;
}

/* A cell waits for another machine, so its bytes are not on their way from the
 * engine. */
static void on_wait(struct farm_question *q)
{
	count_no_more(((struct data_cell *)q)->of);
}

static void on_end(struct farm_question *q)
{
	struct data_ask *a = ((struct data_cell *)q)->of;

	if (--a->pending == 0)
		data_ask_end(a);
}

/* Cells from `offset` on that the engine may have, into `cells`. */
static unsigned choose(struct farm_server *s, const struct learn_shared *shared,
    uint64_t offset, uint64_t end, struct data_cell *cells, uint64_t now_us)
{
	nfs3_fh fh = learn_shared_fh(shared);
	unsigned n = 0;

	for (uint64_t c = cell_at(offset); cell_begin(c) < end && n < CELLS_MAX;
	     c++, n++) {
		cells[n].cell = c;
		farm_data_key(s, &fh, &shared->version, c, &cells[n].q.key);
		if (farm_is_absent(s, &cells[n].q.key, now_us))
			break;
	}
	return n;
}

static struct data_ask *data_ask_new(struct farm_server *s,
    const struct learn_shared *shared, const struct data_cell *cells,
    unsigned n)
{
	struct data_ask *a = malloc(sizeof(*a) + n * sizeof(*cells));

	if (!a)
		return NULL;
	memset(a, 0, sizeof(*a));
	a->server = s;
	a->shared = *shared;
	memcpy(a->cells, cells, n * sizeof(*cells));
	a->n = n;
	LIST_INSERT_HEAD(&s->data, a, link);
	return a;
}

/* Ask for all cells; false where the engine cannot be asked for the first. */
static bool ask_all(struct data_ask *a, uint64_t deadline_us)
{
	for (unsigned i = 0; i < a->n; i++) {
		struct data_cell *c = &a->cells[i];

		c->of = a;
		c->q = (struct farm_question){.server = a->server,
		    .kind = FARM_DATA,
		    .key = c->q.key,
		    .deadline_us = deadline_us,
		    .take = take,
		    .on_wait = on_wait,
		    .on_end = on_end};
		if (!question_ask(&c->q))
			break;
		a->pending++;
	}
	metrics_add(a->server->p.metrics, METRICS_FARM_ASKED, a->pending);
	a->n = a->pending;
	return a->pending > 0;
}

static enum farm_answer begin(struct farm_server *s,
    const struct learn_shared *shared, const struct fetch_about *about,
    const struct data_cell *cells, unsigned n)
{
	struct data_ask *a;
	uint64_t us;

	if (!farm_pays(s, about->to - about->from, shared->ahead, &us))
		return FARM_NO;
	a = data_ask_new(s, shared, cells, n);
	if (!a)
		return FARM_NO;
	if (!ask_all(a, us)) {
		LIST_REMOVE(a, link);
		free(a);
		return FARM_NO;
	}
	a->ahead_bytes = shared->ahead ? about->to - about->from : 0;
	s->ahead_bytes += a->ahead_bytes;
	fetch_claim(s->p.fetch, &a->claim, about);
	/* The engine may have taken less than it was asked for. */
	if (a->claim.about.to > cell_end(a->cells[a->n - 1].cell))
		a->claim.about.to = cell_end(a->cells[a->n - 1].cell);
	return FARM_ASKED;
}

/* Nobody is asked while the engine has had nothing for long; now and then one
 * cell is, to notice when that changes. */
static void probe(
    struct farm_server *s, const struct learn_shared *shared, uint64_t offset)
{
	nfs3_fh fh = learn_shared_fh(shared);
	struct farm_key key;

	if (!probe_is_due(s, FARM_DATA))
		return;
	farm_data_key(s, &fh, &shared->version, cell_at(offset), &key);
	probe_ask(s, FARM_DATA, &key);
}

enum farm_answer farm_ask_data(struct farm_server *s, const struct node *node,
    uint32_t cred, uint64_t offset, uint32_t len, bool ahead)
{
	struct data_cell cells[CELLS_MAX];
	struct learn_shared shared = {.cred = cred, .ahead = ahead};
	struct fetch_about about = {
	    .proc = NFSPROC3_READ, .cred = cred, .from = offset};
	unsigned n;

	if (!s || !(s->p.farm->config->share & CONFIG_SHARE_DATA) ||
	    !s->p.caches->data || !cred || offset >= node->size)
		return FARM_NO;
	if (ahead && s->ahead_bytes >= AHEAD_BYTES_MAX)
		return FARM_BUSY;
	if (!learn_shared_begin(&shared, s->p.caches, node))
		return FARM_NO;
	if (farm_is_barren(s, FARM_DATA)) {
		probe(s, &shared, offset);
		return FARM_NO;
	}
	about.object = node_key(node);
	about.to = len < node->size - offset ? offset + len : node->size;
	n = choose(s, &shared, offset, about.to, cells, clock_now_us());
	if (n == 0)
		return FARM_NO;
	/* A value may bring all of its cell. */
	about.to = cell_end(cells[n - 1].cell);
	if (about.to > node->size)
		about.to = node->size;
	return begin(s, &shared, &about, cells, n);
}

/* Marks each cell of a READ that was sent, unless the engine has it already.
 * Only firm bytes will be published, so nobody is to wait for others. */
void farm_data_sent(struct farm_server *s, const struct node *node,
    const READ3args *args, uint64_t sent_us)
{
	struct learn_shared shared = {0};
	nfs3_fh fh = node_fh(node);
	struct farm_key key;
	uint64_t left, last;

	if (!(s->p.farm->config->share & CONFIG_SHARE_DATA) ||
	    !s->p.caches->data || args->offset >= node->size ||
	    args->count == 0 ||
	    !learn_shared_begin(&shared, s->p.caches, node) ||
	    !attrcache_firm(s->p.caches->attr, node, sent_us))
		return;
	left = min_u64(node->size - args->offset, args->count);
	last = cell_at(args->offset + left - 1);
	for (uint64_t c = cell_at(args->offset), n = 0;
	     c <= last && n < CELLS_MAX; c++, n++) {
		farm_data_key(s, &fh, &shared.version, c, &key);
		if (!kept_has(s->p.farm, &key, 1))
			others_mark(s, &key);
	}
}

/* The server goes: nobody hears of what was asked. */
void farm_data_free(struct farm_server *s)
{
	struct data_ask *a;

	while ((a = LIST_FIRST(&s->data)) != NULL) {
		for (unsigned i = 0; i < a->n; i++)
			question_drop(&a->cells[i].q);
		LIST_REMOVE(a, link);
		fetch_claim_drop(&a->claim);
		free(a);
	}
}
