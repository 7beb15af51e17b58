/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From samples to the model: servers are found again by their names, and what
 * changed since the former sample becomes rates. Counters begin anew with the
 * daemon, so rates are known only between two samples of one run of it. */
#include "top/top_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_put.h"

/* Whether two names are the same bytes. */
static bool same(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	return a->len == b->len &&
	       (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* The server of that name in the answer to another question, or NULL: the three
 * questions of a sample are not answered at one moment, and a reload may come
 * between them. */
static const Forefetch__ServerStats *stats_of(
    const Forefetch__Stats *stats, const ProtobufCBinaryData *name)
{
	for (size_t i = 0; i < stats->n_servers; i++)
		if (same(&stats->servers[i]->name, name))
			return stats->servers[i];
	return NULL;
}

static const Forefetch__ServerActivity *activity_of(
    const Forefetch__Activity *activity, const ProtobufCBinaryData *name)
{
	for (size_t i = 0; i < activity->n_servers; i++)
		if (same(&activity->servers[i]->name, name))
			return activity->servers[i];
	return NULL;
}

/* Finds the server in the former sample; NULL: it is new. */
static const struct top_server *former_of(
    const struct top_model *m, const ProtobufCBinaryData *name)
{
	for (size_t i = 0; i < m->nservers; i++)
		if (same(&m->servers[i].status->name, name))
			return &m->servers[i];
	return NULL;
}

/* Seconds between two samples of one run of the daemon, by its own clock; 0:
 * the daemon is another one, or no time has passed. */
static double seconds_between(
    const Forefetch__Status *then, const Forefetch__Status *now)
{
	if (then->pid != now->pid || now->uptime_us <= then->uptime_us)
		return 0;
	return (double)(now->uptime_us - then->uptime_us) / 1e6;
}

/* Calls a second in each of the last samples that the daemon took itself. */
static void read_past(struct top_server *srv)
{
	const Forefetch__ServerActivity *a = srv->activity;
	size_t from = a && a->n_past > TOP_PAST ? a->n_past - TOP_PAST : 0;

	for (size_t i = from; a && i < a->n_past; i++)
		if (a->past[i]->span_us > 0)
			srv->past[srv->npast++] = (double)a->past[i]->calls *
						  1e6 /
						  (double)a->past[i]->span_us;
}

/* The rates of mounts, which are told apart by their file systems. */
static void find_mounts(
    struct top_server *srv, const struct top_server *former, double seconds)
{
	const Forefetch__ServerActivity *a = srv->activity;

	if (!a || a->n_mounts == 0)
		return;
	srv->mounts = calloc(a->n_mounts, sizeof(srv->mounts[0]));
	for (size_t i = 0; srv->mounts && i < a->n_mounts; i++) {
		srv->mounts[i].hit_share = -1;
		for (size_t k = 0; former && former->activity &&
				   k < former->activity->n_mounts;
		     k++)
			if (former->activity->mounts[k]->fsid ==
			    a->mounts[i]->fsid)
				top_mount_rates_find(
				    former->activity->mounts[k], a->mounts[i],
				    seconds, &srv->mounts[i]);
	}
}

/* The rates of a server, and its round trip as it is now. */
static void find_rates(
    struct top_server *srv, const struct top_server *former, double seconds)
{
	struct top_totals then, now;

	srv->rates = (struct top_rates){.hit_share = -1, .ahead_share = -1};
	if (!srv->stats)
		return;
	(void)ctl_find(srv->stats, "link_srtt_us", &srv->trip_us);
	if (!former || !former->stats)
		return;
	top_totals_read(former->stats, &then);
	top_totals_read(srv->stats, &now);
	top_rates_find(&then, &now, seconds, &srv->rates);
}

static void free_servers(struct top_server *servers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(servers[i].mounts);
	free(servers);
}

/* The servers of a sample, to be freed by free_servers(); NULL without memory.
 * One element more is asked for, as calloc(3) of none may be NULL. */
static struct top_server *make_servers(
    const struct top_model *m, const struct top_sample *s, size_t n)
{
	struct top_server *list = calloc(n + 1, sizeof(*list));
	double seconds = m->sample && m->sample->status
			     ? seconds_between(m->sample->status, s->status)
			     : 0;

	for (size_t i = 0; list && i < n; i++) {
		struct top_server *srv = &list[i];
		const struct top_server *former;

		srv->status = s->status->servers[i];
		srv->stats = stats_of(s->stats, &srv->status->name);
		srv->activity = activity_of(s->activity, &srv->status->name);
		former = seconds > 0 ? former_of(m, &srv->status->name) : NULL;
		find_rates(srv, former, seconds);
		find_mounts(srv, former, seconds);
		read_past(srv);
	}
	return list;
}

void top_model_clear(struct top_model *m)
{
	free_servers(m->servers, m->nservers);
	top_sample_free(m->sample);
	memset(m, 0, sizeof(*m));
}

/* The former sample is freed only when the rates since it are computed. If the
 * daemon did not answer, it stays on show, so that a user still sees what went
 * on. */
void top_model_update(struct top_model *m, struct top_sample *s)
{
	struct top_server *list;
	size_t n;

	if (!s || !s->status) {
		/* The last sample stays on show. */
		m->away = true;
		m->samples = 0;
		m->fatal = s && s->fatal;
		snprintf(m->why, sizeof(m->why), "%s",
		    s ? s->error : "out of memory");
		top_sample_free(s);
		return;
	}
	n = s->status->n_servers < TOP_SERVERS_MAX ? s->status->n_servers
						   : TOP_SERVERS_MAX;
	list = make_servers(m, s, n);
	free_servers(m->servers, m->nservers);
	top_sample_free(m->sample);
	m->servers = list;
	m->nservers = list ? n : 0;
	m->sample = s;
	m->away = false;
	m->samples++;
}
