/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rest of files that were never read, as far as files of their kind are
 * read (kinds.h). Of others the predictor knows it. */
#include "config/config.h"
#include "prefetch/sources/kinds.h"
#include "prefetch/prefetch_private.h"

enum {
	/* What a client reads at once of what follows: so many bytes of it
	 * spare one round trip. */
	ONE_READ = 131072,
	/* A first READ asks for all of such a file. */
	SHORT_BYTES = 16384,
};

static struct kinds_file about(const struct prefetch *pf, uint64_t object,
    uint64_t size_bytes, uint64_t now_us)
{
	struct kinds_file f = {
	    .object = object, .size_bytes = size_bytes, .now_us = now_us};
	struct predictor_file known;

	predictor_get_file(pf->predictor, object, &known);
	f.type = known.type;
	f.read = known.read;
	return f;
}

bool kind_wants_rest(struct want *w, uint64_t size_bytes, uint64_t rest_bytes)
{
	const struct prefetch *pf = w->pf;
	struct kinds_file f;

	w->rest_p = 0;
	if (!pf->kinds || rest_bytes == 0)
		return false;
	f = about(pf, w->object, size_bytes, pf->now_us);
	w->rest_p = (float)kinds_rest(pf->kinds, &f);
	w->rest_bytes = rest_bytes < ONE_READ ? (uint32_t)rest_bytes : ONE_READ;
	return want_worth(
	    pf, w->guess, (double)w->data_p * (double)w->rest_p, w->rest_bytes);
}

void kind_begins(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct node *node = attrcache_by_key(pf->p.caches->attr, o->object);
	struct kinds_file f;

	if (!pf->kinds || !node || o->kind != PREDICTOR_READ ||
	    o->offset_bytes > 0 || o->size_bytes <= o->count_bytes ||
	    caches_policy(pf->p.caches, node)->prefetch != CONFIG_PREFETCH_ON)
		return;
	f = about(pf, o->object, o->size_bytes, now_us);
	if (kinds_rest(pf->kinds, &f) > 0)
		(void)want_more(pf, seen->cred, o->object, now_us);
}

void kind_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct node *node = attrcache_by_key(pf->p.caches->attr, o->object);
	struct kinds_file f;

	if (o->kind != PREDICTOR_READ || !node ||
	    o->size_bytes <= SHORT_BYTES ||
	    o->size_bytes <= pf->first_read_bytes)
		return;
	want_opened(pf, seen->cred, o->object);
	f = about(pf, o->object, o->size_bytes, now_us);
	if (kinds_seen(pf->kinds, &f, o->offset_bytes, o->count_bytes) &&
	    caches_policy(pf->p.caches, node)->prefetch == CONFIG_PREFETCH_ON &&
	    kinds_rest(pf->kinds, &f) > 0)
		(void)want_more(pf, seen->cred, o->object, now_us);
}
