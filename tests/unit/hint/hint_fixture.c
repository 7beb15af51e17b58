/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hints over caches that know the root of "/srv"; see the header. */
#include "hint/hint_fixture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "cache/learn_said.h"
#include "cache/caches.h"
#include "nfsproto/nfs3_object.h"
#include "nfsproto/nfs_proc.h"

static const struct user user = {.uid = HINT_WORLD_UID, .gid = HINT_WORLD_UID};

uint64_t hint_world_key(const char *fh)
{
	nfs3_fh h = fh_of(fh);

	return fh_key(&h);
}

static void mount(struct hint_world *w)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT);
	static const struct cred_key nobody;
	union nfs_res res = {.mnt = {.status = MNT3_OK}};
	struct mounttab_entry e = {.path = "/srv", .path_len = 4};
	char body[256];

	e.cred = &nobody;
	res.mnt.MNT3res_u.resok.fhandle = fh_of("root");
	e.body.data = body;
	e.body.len = (uint32_t)nfs_res_encode(proc, &res, body, sizeof(body));
	assert(e.body.len > 0);
	mounttab_put(w->caches->mounts, &e);
}

static void open_prefetch(struct hint_world *w)
{
	struct prefetch *pf = &w->pf;

	pf->g.metrics = w->metrics;
	pf->g.link = w->link;
	pf->g.caches = w->caches;
	pf->creds = credentials_new(w->caches, NULL);
	pf->notes = notes_new(&pf->g);
	pf->queue = queue_new(&pf->g, pf->notes);
	assert(pf->creds && pf->notes && pf->queue);
	/* The pump is about to run, and never does. */
	pf->active = true;
}

void hint_world_open(struct hint_world *w)
{
	struct hint_params hp = {.disk_bytes = 1 << 30};

	*w = (struct hint_world){.base = event_base_new(),
	    .metrics = metrics_new(),
	    .link = linkest_new()};
	w->config.policy.consistency = CONFIG_CONSISTENCY_BOUNDED;
	w->config.policy.attr_timeout_us = 3000000;
	w->config.policy.negative_timeout_us = 3000000;
	w->config.policy.prefetch = CONFIG_PREFETCH_ON;
	w->caches = caches_new(&w->config, w->metrics, 64 << 20, NULL);
	w->sent_us = clock_now_us();
	mount(w);
	open_prefetch(w);
	hp.base = w->base;
	hp.prefetch = &w->pf;
	hp.caches = w->caches;
	hp.link = w->link;
	hp.metrics = w->metrics;
	hp.config = &w->config;
	w->hints = hints_new(&hp);
	assert(w->hints);
}

void hint_world_close(struct hint_world *w)
{
	hints_free(w->hints);
	queue_free(w->pf.queue);
	credentials_free(w->pf.creds);
	free(w->pf.notes);
	caches_free(w->caches);
	linkest_free(w->link);
	metrics_free(w->metrics);
	event_base_free(w->base);
}

struct hint_stream *hint_world_stream(struct hint_world *w, const char *path)
{
	return hint_begin(w->hints, &user, "/srv", path);
}

static post_op_attr attr(const char *fh, ftype3 type, uint64_t size)
{
	post_op_attr p = {.attributes_follow = TRUE};

	p.post_op_attr_u.attributes =
	    (fattr3){.type = type, .size = size, .fileid = hint_world_key(fh)};
	return p;
}

void hint_world_tell(struct hint_world *w, const char *dir, const char *name,
    const char *fh, uint64_t size)
{
	union nfs_args args = {.dirop = {.dir = fh_of(dir),
				   .name = {(uint32_t)strlen(name), name}}};
	union nfs_res res = {.status = fh ? NFS3_OK : NFS3ERR_NOENT};
	LOOKUP3resok *ok = &res.lookup.LOOKUP3res_u.resok;
	char auth[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;
	struct learn l = {.caches = w->caches,
	    .args = &args,
	    .res = &res,
	    .sent_us = w->sent_us,
	    .now_us = w->sent_us + 1};

	if (fh) {
		ok->object = fh_of(fh);
		ok->obj_attributes = size == UINT64_MAX
					 ? attr(fh, NF3DIR, 4096)
					 : attr(fh, NF3REG, size);
		ok->dir_attributes = attr(dir, NF3DIR, 4096);
	} else {
		res.lookup.LOOKUP3res_u.dir_attributes =
		    attr(dir, NF3DIR, 4096);
	}
	l.cred = user_cred(w->caches, &user, &cred, auth);
	learn_said(l, NFSPROC3_LOOKUP);
}
