/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cachehome.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caches.h"
#include "config.h"
#include "log.h"
#include "metasave.h"
#include "statedir.h"

struct cachehome {
	struct cachehome_params p;
	struct caches *caches;
	struct metasave *save;
	uint64_t problem_us; /* there is one since; 0: there is none */
	char names[PATH_MAX];
	char whose[PATH_MAX];
};

static struct datacache *open_data(struct cachehome *h)
{
	char path[PATH_MAX], err[512];
	int rc =
	    statedir_path(h->p.state, h->p.name, "data", path, sizeof(path));
	struct datacache_params dp = {.dir = path,
	    .server = h->p.name,
	    .size_bytes = h->p.disk_bytes,
	    .iopool = h->p.iopool};
	struct datacache *dc = NULL;

	if (rc < 0)
		snprintf(err, sizeof(err), "%s", strerror(-rc));
	else
		dc = datacache_open(&dp, err, sizeof(err));
	if (!dc)
		log_warn("cachehome server=%s: no data is cached: %s",
		    h->p.name, err);
	return dc;
}

/* Handles of one server mean nothing to another one. */
static bool same_server(const struct cachehome *h, char *text, size_t size)
{
	const struct config_server *cfg = h->p.config;
	char was[512] = "";
	FILE *f = fopen(h->whose, "re");

	snprintf(text, size, "%s %u\n", cfg->address, cfg->nfs_port);
	if (!f)
		return false;
	if (!fgets(was, sizeof(was), f))
		was[0] = '\0';
	fclose(f);
	return strcmp(was, text) == 0;
}

static void claim(struct cachehome *h)
{
	char text[512];
	FILE *f;
	bool bad;

	if (same_server(h, text, sizeof(text)))
		return;
	unlink(h->names);
	caches_flush(h->caches);
	f = fopen(h->whose, "we");
	bad = !f || fputs(text, f) < 0;
	if (f && fclose(f) != 0)
		bad = true;
	if (bad)
		log_warn("cachehome server=%s file=%s: %s", h->p.name, h->whose,
		    strerror(errno));
}

static void open_save(struct cachehome *h)
{
	struct metasave_params mp = {.base = h->p.base,
	    .iopool = h->p.iopool,
	    .caches = h->caches,
	    .path = h->names,
	    .server = h->p.name};

	if (statedir_path(h->p.state, h->p.name, "names", h->names,
		sizeof(h->names)) < 0 ||
	    statedir_path(
		h->p.state, h->p.name, "whose", h->whose, sizeof(h->whose)) < 0)
		return;
	claim(h);
	h->save = metasave_new(&mp);
	if (h->save)
		metasave_load(h->save);
}

struct cachehome *cachehome_new(const struct cachehome_params *p)
{
	struct cachehome *h = calloc(1, sizeof(*h));
	struct datacache *dc;

	if (!h)
		return NULL;
	h->p = *p;
	dc = open_data(h);
	h->caches =
	    caches_new(p->config, p->metrics, (size_t)p->memory_bytes, dc);
	if (!h->caches) {
		datacache_close(dc);
		free(h);
		errno = ENOMEM;
		return NULL;
	}
	open_save(h);
	return h;
}

void cachehome_free(struct cachehome *h)
{
	if (!h)
		return;
	metasave_free(h->save);
	caches_free(h->caches);
	free(h);
}

void cachehome_tick(struct cachehome *h, uint64_t now_us, bool patient)
{
	struct cachehome_problem p;

	if (h->caches->data)
		datacache_tick(h->caches->data, now_us, patient);
	cachehome_get_problem(h, &p);
	if (!p.text[0])
		h->problem_us = 0;
	else if (h->problem_us == 0)
		h->problem_us = now_us;
}

void cachehome_get_problem(
    const struct cachehome *h, struct cachehome_problem *p)
{
	struct datacache_stats st = {0};
	const char *text = "";

	p->since_us = h->problem_us;
	if (h->caches->data)
		datacache_get_stats(h->caches->data, &st);
	else
		text = "it could not be opened; see the daemon's log";
	if (h->caches->data && !st.on)
		text = "it failed or is full; see the daemon's log";
	if (st.hangs_since_us > 0) {
		text = "it does not answer";
		p->since_us = st.hangs_since_us;
	}
	snprintf(p->text, sizeof(p->text), "%s", text);
}

struct caches *cachehome_caches(struct cachehome *h)
{
	return h->caches;
}

void cachehome_hurry(struct cachehome *h)
{
	if (h->save)
		metasave_hurry(h->save);
}
