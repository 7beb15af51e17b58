/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The begin and end of the farm, and of each server's part in it. */
#include "farm/farm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "farm/farm_private.h"
#include "upstream/fetch.h"

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

/* A copy of what the farm needs of the configuration, since a reload frees
 * that; NULL without memory. */
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
	f->plain = malloc(FARM_VALUE_MAX);
	f->sealed = malloc(FARM_VALUE_MAX + SEAL_EXTRA);
	if (f->config && f->plain && f->sealed)
		f->seal = seal_load(f->config->key_file, err, errlen);
	if (f->seal) {
		snprintf(err, errlen, "out of memory");
		f->engine = engine_new(base, f->config);
		f->publish = publish_new(f);
	}
	if (f->engine && f->publish && kept_begin(f) && questions_begin(f) &&
	    others_begin(f))
		return f;
	farm_free(f);
	return NULL;
}

void farm_free(struct farm *f)
{
	if (!f)
		return;
	questions_end(f);
	kept_end(f);
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

/* ---- flush ------------------------------------------------------------- */

/* The engine has removed all values, or given up. */
static void on_flushed(void *ctx, uint64_t removed, const char *error)
{
	struct farm_flush_status *st = &((struct farm *)ctx)->flush;

	st->busy = false;
	st->removed = removed;
	(void)snprintf(st->error, sizeof(st->error), "%s", error ? error : "");
}

bool farm_flush(struct farm *f)
{
	if (f->flush.busy ||
	    !engine_flush(f->engine, farm_prefix(f), on_flushed, f))
		return false;
	f->flush = (struct farm_flush_status){.busy = true};
	return true;
}

void farm_get_flush(const struct farm *f, struct farm_flush_status *st)
{
	*st = f->flush;
}

/* ---- a server's part --------------------------------------------------- */

/* The caches have bytes of a file that the server gave, or the farm. */
static void on_data(struct caches_hook *h, const struct caches_data *d)
{
	struct farm_server *s = (struct farm_server *)h;

	/* The engine has already what came from it. */
	if (!d->shared)
		publish_data(s, d->node, d->offset, d->len);
}

/* The caches have a listing. */
static void on_listing(
    struct caches_hook *h, struct node *dir, uint32_t cred, bool plus)
{
	publish_listing((struct farm_server *)h, dir, cred, plus);
}

/* Leaves a mark for other machines in the place of the values that the call
 * will bring. It is called for each call to the server, so it looks first
 * whether anybody else is there at all. */
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
