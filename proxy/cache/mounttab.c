/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A short list, the latest mount first: clients mount seldom, so nobody minds
 * that it is searched from its beginning. learn.c puts answers in,
 * svc/mount3_proc.c answers from them while the server is away, metapack.c
 * saves them. */
#include "cache/mounttab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct mount {
	TAILQ_ENTRY(mount) link;
	struct cred_key cred;
	uint64_t sent_us;
	size_t path_len;
	uint32_t body_len;
	char *path;
	_Alignas(8) char body[];
};

TAILQ_HEAD(mounts, mount);

struct mounttab {
	struct mounts list; /* the latest one first */
	unsigned n;
};

struct mounttab *mounttab_new(void)
{
	struct mounttab *mt = calloc(1, sizeof(*mt));

	if (mt)
		TAILQ_INIT(&mt->list);
	return mt;
}

static void mount_free(struct mounttab *mt, struct mount *m)
{
	TAILQ_REMOVE(&mt->list, m, link);
	mt->n--;
	free(m->path);
	free(m);
}

void mounttab_free(struct mounttab *mt)
{
	if (!mt)
		return;
	while (!TAILQ_EMPTY(&mt->list))
		mount_free(mt, TAILQ_FIRST(&mt->list));
	free(mt);
}

static struct mount *find(const struct mounttab *mt, const char *path,
    size_t len, const struct cred_key *cred)
{
	struct mount *m;

	TAILQ_FOREACH (m, &mt->list, link)
		if (m->path_len == len && memcmp(m->path, path, len) == 0 &&
		    memcmp(&m->cred, cred, sizeof(*cred)) == 0)
			return m;
	return NULL;
}

void mounttab_put(struct mounttab *mt, const struct mounttab_entry *e)
{
	struct mount *m = find(mt, e->path, e->path_len, e->cred);

	if (m)
		mount_free(mt, m);
	else if (mt->n == MOUNTTAB_MAX)
		mount_free(mt, TAILQ_LAST(&mt->list, mounts));
	m = calloc(1, sizeof(*m) + e->body.len);
	if (!m)
		return;
	m->path = malloc(e->path_len + 1);
	if (!m->path) {
		free(m);
		return;
	}
	m->cred = *e->cred;
	m->sent_us = e->sent_us;
	m->path_len = e->path_len;
	memcpy(m->path, e->path, e->path_len);
	m->body_len = e->body.len;
	memcpy(m->body, e->body.data, e->body.len);
	TAILQ_INSERT_HEAD(&mt->list, m, link);
	mt->n++;
}

static void fill(const struct mount *m, struct mounttab_entry *e)
{
	*e = (struct mounttab_entry){.path = m->path,
	    .path_len = m->path_len,
	    .cred = &m->cred,
	    .body = {.len = m->body_len, .data = m->body},
	    .sent_us = m->sent_us};
}

bool mounttab_find(const struct mounttab *mt, const mnt3_path *path,
    const struct cred_key *cred, struct mounttab_entry *e)
{
	const struct mount *m = find(mt, path->data, path->len, cred);

	if (m)
		fill(m, e);
	return m != NULL;
}

bool mounttab_at(
    const struct mounttab *mt, unsigned i, struct mounttab_entry *e)
{
	const struct mount *m;

	TAILQ_FOREACH (m, &mt->list, link)
		if (i-- == 0) {
			fill(m, e);
			return true;
		}
	return false;
}
