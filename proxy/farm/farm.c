/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The farm, each server's part in it, and what is common to all values. */
#include "farm/farm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/uint.h"
#include "farm/farm_private.h"
#include "link/linkest.h"
#include "upstream/fetch.h"

enum {
	/* A question that takes so many times as long as usual is given up.
	 * Below the least no machine's scheduler is as exact. */
	DEADLINE_TIMES = 8,
	DEADLINE_LEAST_US = 5000,
	/* What nobody waits for has more time. */
	DEADLINE_AHEAD_US = 100000,
	/* Of the time in which the server would answer, at most this part is
	 * spent on waiting for the engine. */
	DEADLINE_PART = 2,
	VALUE_MAX = LISTING_BYTES_MAX + 4096,
};

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

static void config_copy_free(struct config_farm *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->engine.n; i++)
		free(c->engine.list[i]);
	free(c->engine.list);
	free(c->user);
	free(c->password_file);
	free(c->key_file);
	free(c);
}

/* NULL without memory. */
static struct config_farm *config_copy(const struct config_farm *from)
{
	struct config_farm *c = calloc(1, sizeof(*c));
	bool all = c != NULL;

	if (!c)
		return NULL;
	*c = (struct config_farm){
	    .share = from->share, .publish_cap = from->publish_cap};
	c->engine.list = calloc(from->engine.n, sizeof(*c->engine.list));
	for (; c->engine.list && c->engine.n < from->engine.n; c->engine.n++) {
		c->engine.list[c->engine.n] =
		    copy_text(from->engine.list[c->engine.n]);
		all = all && c->engine.list[c->engine.n];
	}
	c->user = copy_text(from->user);
	c->password_file = copy_text(from->password_file);
	c->key_file = copy_text(from->key_file);
	if (all && c->engine.list && c->user && c->password_file && c->key_file)
		return c;
	config_copy_free(c);
	return NULL;
}

struct farm *farm_new(struct event_base *base, const struct config_farm *config,
    char *err, size_t errlen)
{
	struct farm *f = calloc(1, sizeof(*f));

	snprintf(err, errlen, "out of memory");
	if (!f)
		return NULL;
	f->base = base;
	f->config = config_copy(config);
	LIST_INIT(&f->servers);
	f->plain = malloc(VALUE_MAX);
	f->sealed = malloc(VALUE_MAX + SEAL_EXTRA);
	if (f->config && f->plain && f->sealed)
		f->seal = seal_load(f->config->key_file, err, errlen);
	if (f->seal) {
		snprintf(err, errlen, "out of memory");
		f->engine = engine_new(base, f->config);
		f->publish = publish_new(f);
	}
	if (f->engine && f->publish && questions_begin(f) && others_begin(f))
		return f;
	farm_free(f);
	return NULL;
}

void farm_free(struct farm *f)
{
	if (!f)
		return;
	questions_end(f);
	publish_free(f->publish);
	engine_free(f->engine);
	seal_free(f->seal);
	free(f->plain);
	free(f->sealed);
	config_copy_free(f->config);
	free(f);
}

bool farm_settle(struct farm *f)
{
	struct farm_server *s;
	bool settled = true;

	if (!f || !engine_is_up(f->engine))
		return true;
	LIST_FOREACH (s, &f->servers, link)
		settled = farm_trees_settle(s) && settled;
	return settled && publish_waiting(f->publish) == 0 &&
	       engine_is_idle(f->engine);
}

struct engine *farm_engine(struct farm *f)
{
	return f->engine;
}

const char *farm_prefix(const struct farm *f)
{
	return seal_prefix(f->seal);
}

const struct config_farm *farm_config(const struct farm *f)
{
	return f->config;
}

/* ---- a server's part --------------------------------------------------- */

static void on_data(struct caches_hook *h, const struct caches_data *d)
{
	struct farm_server *s = (struct farm_server *)h;

	/* What came from the engine is there already. */
	if (!d->shared)
		publish_data(s, d->node, d->offset, d->len);
}

static void on_listing(
    struct caches_hook *h, struct node *dir, uint32_t cred, bool plus)
{
	publish_listing((struct farm_server *)h, dir, cred, plus);
}

void farm_on_send(void *ctx, const struct upstream_request *req, uint32_t cred,
    uint64_t sent_us)
{
	struct farm_server *s = ctx;
	uint32_t proc = req->proc->proc;
	union nfs_args args;
	struct node *node;

	if ((proc != NFSPROC3_READ && proc != NFSPROC3_READDIR &&
		proc != NFSPROC3_READDIRPLUS) ||
	    !others_are_there(s, clock_now_us()) ||
	    !nfs_args_decode(req->proc, req->args.data, req->args.len, &args))
		return;
	node = attrcache_find(s->p.caches->attr, &args.object);
	if (!node)
		return;
	if (proc == NFSPROC3_READ)
		farm_data_sent(s, node, &args.read, sent_us);
	else if (proc == NFSPROC3_READDIR && args.readdir.cookie == 0)
		farm_list_sent(s, node, cred, false, sent_us);
	else if (proc == NFSPROC3_READDIRPLUS && args.readdirplus.cookie == 0)
		farm_list_sent(s, node, cred, true, sent_us);
}

struct farm_server *farm_server_new(const struct farm_server_params *p)
{
	struct farm_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->p = *p;
	/* Reloads free theirs. */
	if (asprintf(&s->name, "%s:%u", p->address, p->port) < 0) {
		free(s);
		errno = ENOMEM;
		return NULL;
	}
	s->hook.on_data = on_data;
	s->hook.on_listing = on_listing;
	LIST_INIT(&s->data);
	LIST_INIT(&s->lists);
	caches_add_hook(p->caches, &s->hook);
	fetch_tell(p->fetch, farm_on_send, s);
	LIST_INSERT_HEAD(&p->farm->servers, s, link);
	return s;
}

void farm_server_free(struct farm_server *s)
{
	if (!s)
		return;
	caches_remove_hook(&s->hook);
	fetch_tell(s->p.fetch, NULL, NULL);
	LIST_REMOVE(s, link);
	publish_forget(s->p.farm->publish, s);
	others_forget(s);
	for (unsigned k = 0; k < FARM_KINDS; k++)
		question_drop(&s->barren[k].probe);
	farm_data_free(s);
	farm_list_free(s);
	free(s->name);
	free(s);
}

/* ---- for the other files ------------------------------------------------- */

/* How long the server would take; 0: nobody knows. */
static uint64_t server_us(const struct farm_server *s, uint64_t bytes)
{
	const struct linkest *le = s->p.link;

	return linkest_srtt_us(le) +
	       linkest_wire_us(le, linkest_wire_bytes(bytes));
}

bool farm_is_barren(struct farm_server *s, enum farm_kind kind)
{
	return !others_are_there(s, clock_now_us()) &&
	       s->barren[kind].misses >= BARREN_MISSES;
}

bool farm_pays(
    const struct farm_server *s, uint64_t bytes, bool ahead, uint64_t *us)
{
	const struct engine *e = s->p.farm->engine;
	uint64_t server = server_us(s, bytes);
	uint64_t expect = engine_expect_us(e, bytes + s->ahead_bytes);
	uint64_t patience = engine_srtt_us(e) * DEADLINE_TIMES;

	/* A client that waits for it in vain asks the server all the same. */
	if (server > 0 && !ahead)
		server /= DEADLINE_PART;
	if (!engine_is_up(e) || (server > 0 && expect >= server))
		return false;
	if (patience < DEADLINE_LEAST_US)
		patience = DEADLINE_LEAST_US;
	if (ahead && patience < DEADLINE_AHEAD_US)
		patience = DEADLINE_AHEAD_US;
	*us = expect + patience;
	if (server > 0 && *us > server)
		*us = server;
	return true;
}

bool farm_is_absent(
    struct farm_server *s, const struct farm_key *key, uint64_t now_us)
{
	size_t at = key->tag & (ABSENT_SLOTS - 1);
	uint64_t us = ABSENT_US;

	if (s->absent[at].tag != key->tag)
		return false;
	if (others_are_there(s, now_us))
		us = max_u64(
		    ABSENT_AMONG_US, ABSENT_WAITS * question_wait_us(s));
	return now_us - s->absent[at].us < us;
}

void farm_note_found(struct farm_server *s, enum farm_kind kind)
{
	s->barren[kind].misses = s->barren[kind].passed = 0;
}

void farm_note_absent(struct farm_server *s, enum farm_kind kind,
    const struct farm_key *key, uint64_t now_us)
{
	size_t at = key->tag & (ABSENT_SLOTS - 1);

	s->absent[at].tag = key->tag;
	s->absent[at].us = now_us;
	s->barren[kind].misses++;
	/* It may have had the value once. */
	publish_note_lost(s->p.farm->publish, key);
}

struct engine_key farm_engine_key(const struct farm_key *key)
{
	return (struct engine_key){.data = key->name, .len = SEAL_NAME_LEN};
}

size_t farm_open(struct farm_server *s, const struct farm_key *key,
    const void *value, size_t len, size_t max)
{
	struct farm *f = s->p.farm;

	if (len > SEAL_EXTRA && len - SEAL_EXTRA <= max &&
	    len - SEAL_EXTRA <= VALUE_MAX &&
	    seal_open(f->seal, key->name, value, len, f->plain))
		return len - SEAL_EXTRA;
	metrics_add(s->p.metrics, METRICS_FARM_BAD, 1);
	return 0;
}

bool farm_put(struct farm_server *s, const struct farm_key *key, size_t len)
{
	struct farm *f = s->p.farm;
	struct engine_key k = farm_engine_key(key);

	seal_close(f->seal, key->name, f->plain, len, f->sealed);
	if (!engine_put(f->engine, &k, f->sealed, len + SEAL_EXTRA, 0))
		return false;
	metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED, 1);
	metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED_BYTES, len);
	return true;
}
