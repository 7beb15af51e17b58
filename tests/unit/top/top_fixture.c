/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples are packed and unpacked, so that they are freed as real ones. */
#include "top/top_fixture.h"

#include "unittest.h"
#include "control/arena.h"

static Forefetch__Response *through(Forefetch__Response *res)
{
	size_t len = forefetch__response__get_packed_size(res);
	uint8_t *buf = malloc(len);
	Forefetch__Response *copy;

	assert_int_equal(forefetch__response__pack(res, buf), len);
	copy = forefetch__response__unpack(NULL, len, buf);
	assert_non_null(copy);
	free(buf);
	return copy;
}

static ProtobufCBinaryData server_name(
    struct arena *a, const struct saying *say, unsigned i)
{
	return arena_bytes(a, "%s%u", say->name ? say->name : "nas", i);
}

static ProtobufCBinaryData name_of(struct arena *a, const struct saying *say)
{
	return arena_bytes(a, "%s", say->name ? say->name : "file.c");
}

static Forefetch__Response *make_status(
    struct arena *a, const struct saying *say)
{
	Forefetch__Response res = FOREFETCH__RESPONSE__INIT;
	Forefetch__Status *st =
	    arena_message(a, &forefetch__status__descriptor);

	st->version = "1.2.3";
	st->pid = say->pid;
	st->uptime_us = say->uptime_ms * 1000;
	if (say->farm) {
		st->farm =
		    arena_message(a, &forefetch__farm_status__descriptor);
		st->farm->state = FOREFETCH__FARM_STATUS__STATE__FULL;
	}
	st->n_servers = say->servers;
	st->servers = arena_messages(
	    a, &forefetch__server_status__descriptor, say->servers);
	for (unsigned i = 0; i < say->servers; i++) {
		Forefetch__ServerStatus *srv = st->servers[i];

		srv->name = server_name(a, say, i);
		srv->state = say->down ? FOREFETCH__STATE__CONNECTING
				       : FOREFETCH__STATE__UP;
		srv->state_age_us = 3723000000;
		if (say->down)
			srv->reason = name_of(a, say);
		srv->upstreams = arena_messages(
		    a, &forefetch__upstream_status__descriptor, 1);
		srv->n_upstreams = 1;
		srv->upstreams[0]->in_flight = 12;
	}
	res.result_case = FOREFETCH__RESPONSE__RESULT_STATUS;
	res.status = st;
	return through(&res);
}

static void put_counter(
    struct arena *a, Forefetch__Counter *c, const char *key, uint64_t value)
{
	c->key = (char *)arena_bytes(a, "%s", key).data;
	c->value = value;
}

static Forefetch__Response *make_stats(
    struct arena *a, const struct saying *say)
{
	static const char *const keys[] = {
	    "name_hits", "name_misses", "prefetch_used", "prefetch_bytes"};
	enum { KEYS = LENGTH(keys) };
	Forefetch__Response res = FOREFETCH__RESPONSE__INIT;
	Forefetch__Stats *st = arena_message(a, &forefetch__stats__descriptor);

	st->n_servers = say->servers;
	st->servers = arena_messages(
	    a, &forefetch__server_stats__descriptor, say->servers);
	for (unsigned i = 0; i < say->servers; i++) {
		Forefetch__ServerStats *srv = st->servers[i];

		srv->name = server_name(a, say, i);
		srv->counters = arena_messages(
		    a, &forefetch__counter__descriptor, KEYS + 1);
		srv->n_counters = KEYS + 1;
		for (int k = 0; k < KEYS; k++)
			put_counter(a, srv->counters[k], keys[k], say->count);
		put_counter(a, srv->counters[KEYS], "link_srtt_us", 40000);
		srv->prefetch =
		    arena_message(a, &forefetch__prefetch_stats__descriptor);
		srv->prefetch->saved_us = 40000 * say->count;
		srv->calls =
		    arena_messages(a, &forefetch__call_stats__descriptor, 2);
		srv->n_calls = 2;
		for (int k = 0; k < 2; k++) {
			srv->calls[k]->side = k ? FOREFETCH__SIDE__UPSTREAM
						: FOREFETCH__SIDE__CLIENT;
			srv->calls[k]->calls = say->count;
			srv->calls[k]->bytes_in = 2 * say->count;
			srv->calls[k]->bytes_out = 3 * say->count;
			srv->calls[k]->sum_us = 1000 * say->count;
		}
	}
	res.result_case = FOREFETCH__RESPONSE__RESULT_STATS;
	res.stats = st;
	return through(&res);
}

static void fill_calls(
    struct arena *a, const struct saying *say, Forefetch__ServerActivity *srv)
{
	srv->calls =
	    arena_messages(a, &forefetch__client_call__descriptor, say->rows);
	srv->n_calls = say->rows;
	srv->ahead =
	    arena_messages(a, &forefetch__ahead_call__descriptor, say->rows);
	srv->n_ahead = say->rows;
	for (unsigned i = 0; i < say->rows; i++) {
		srv->calls[i]->procedure = "READDIRPLUS";
		srv->calls[i]->cause = "confirmed by strict";
		srv->calls[i]->age_us = i * UINT64_C(86400000000);
		srv->calls[i]->object = i + 1;
		srv->calls[i]->name = name_of(a, say);
		srv->calls[i]->entry = name_of(a, say);
		srv->calls[i]->offset = UINT64_MAX;
		srv->calls[i]->bytes = UINT32_MAX;
		srv->ahead[i]->procedure = i % 2 ? "READ" : "";
		srv->ahead[i]->source = "directory";
		srv->ahead[i]->object = i + 1;
		srv->ahead[i]->name = name_of(a, say);
		srv->ahead[i]->p_permille = 1000;
	}
}

/* The last, and oldest, alone came to something. */
static void fill_outcome(struct arena *a, const struct saying *say,
    Forefetch__Outcome *out, unsigned i)
{
	Forefetch__Prediction *p =
	    arena_message(a, &forefetch__prediction__descriptor);

	p->state = i + 1 < say->rows ? "withdrawn" : "used";
	p->age_us = 1000 + i;
	p->source = "session";
	p->bytes = UINT32_MAX;
	out->object = i + 1;
	out->name = name_of(a, say);
	out->uid = UINT32_MAX;
	out->prediction = p;
}

static void fill_rest(
    struct arena *a, const struct saying *say, Forefetch__ServerActivity *srv)
{
	srv->jobs =
	    arena_messages(a, &forefetch__job_waits__descriptor, say->rows);
	srv->n_jobs = say->rows;
	srv->outcomes =
	    arena_messages(a, &forefetch__outcome__descriptor, say->rows);
	srv->n_outcomes = say->rows;
	for (unsigned i = 0; i < say->rows; i++) {
		srv->jobs[i]->uid = 4000000000u + i;
		srv->jobs[i]->client = name_of(a, say);
		srv->jobs[i]->calls = 100;
		srv->jobs[i]->wait_us = 10000000;
		srv->jobs[i]->strict_us = 7500000;
		srv->jobs[i]->link_busy_us = 2500000;
		fill_outcome(a, say, srv->outcomes[i], i);
	}
	srv->past =
	    arena_messages(a, &forefetch__past_sample__descriptor, say->past);
	srv->n_past = say->past;
	for (unsigned i = 0; i < say->past; i++) {
		srv->past[i]->span_us = i ? 10000000 : 0;
		srv->past[i]->calls = 10 * (uint64_t)i + 10;
	}
	srv->mounts = arena_messages(a, &forefetch__mount_use__descriptor, 1);
	srv->n_mounts = 1;
	srv->mounts[0]->export_path = name_of(a, say);
	srv->mounts[0]->fsid = 5;
	srv->mounts[0]->calls = say->count;
	srv->mounts[0]->asked = say->count / 4;
	srv->mounts[0]->changes = say->count / 2;
	srv->mounts[0]->bytes = say->count;
}

static Forefetch__Response *make_activity(
    struct arena *a, const struct saying *say)
{
	Forefetch__Response res = FOREFETCH__RESPONSE__INIT;
	Forefetch__Activity *act =
	    arena_message(a, &forefetch__activity__descriptor);

	act->n_servers = say->servers;
	act->servers = arena_messages(
	    a, &forefetch__server_activity__descriptor, say->servers);
	for (unsigned i = 0; i < say->servers; i++) {
		act->servers[i]->name = server_name(a, say, i);
		fill_calls(a, say, act->servers[i]);
		fill_rest(a, say, act->servers[i]);
	}
	res.result_case = FOREFETCH__RESPONSE__RESULT_ACTIVITY;
	res.activity = act;
	return through(&res);
}

struct top_sample *sample_make(const struct saying *say)
{
	struct top_sample *s = calloc(1, sizeof(*s));
	struct arena a = {.failed = false};

	s->answers[0] = make_status(&a, say);
	s->answers[1] = make_stats(&a, say);
	s->answers[2] = make_activity(&a, say);
	s->status = s->answers[0]->status;
	s->stats = s->answers[1]->stats;
	s->activity = s->answers[2]->activity;
	assert_false(a.failed);
	arena_clear(&a);
	return s;
}
