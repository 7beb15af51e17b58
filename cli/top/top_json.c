/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model as JSON: rates under names that end in their units, and the
 * activity under the names of its messages (control.proto). */
#include "top/top_json.h"

#include "ctl/ctl_text.h"
#include "text/json.h"

/* A number with a fraction; null where it is not known. */
static void put_rate(struct json *j, const char *key, bool known, double value)
{
	if (known)
		json_real(j, key, value);
	else
		json_null(j, key);
}

/* Writes a count of bytes or microseconds, in whole ones; null where it is not
 * known. */
static void put_whole(struct json *j, const char *key, bool known, double value)
{
	if (known)
		json_number(j, key, (uint64_t)(value + 0.5));
	else
		json_null(j, key);
}

/* A share in thousandths; null where it is -1. */
static void put_permille(struct json *j, const char *key, double share)
{
	put_whole(j, key, share >= 0, share * 1000);
}

static void put_rates(struct json *j, const struct top_rates *r)
{
	bool known = r->known;

	put_rate(j, "calls_per_second", known, r->calls);
	put_whole(j, "client_bytes_per_second", known, r->client_bytes);
	put_whole(j, "link_bytes_per_second", known, r->link_bytes);
	put_whole(j, "ahead_bytes_per_second", known, r->ahead_bytes);
	put_permille(j, "hit_permille", r->hit_share);
	put_permille(j, "ahead_permille", r->ahead_share);
	put_whole(j, "saved_us_per_second", known, r->saved_s * 1e6);
	put_whole(j, "waited_us_per_second", known, r->waited_s * 1e6);
	put_rate(j, "used_per_second", known, r->used);
	put_rate(j, "late_per_second", known, r->late);
	put_rate(j, "unused_per_second", known, r->unused);
	put_rate(j, "dropped_per_second", known, r->dropped);
}

/* Rates of the mounts, beside their counts, which are in the activity. */
static void put_mounts(struct json *j, const struct top_server *srv)
{
	json_open(j, "mounts", '[');
	for (size_t i = 0; srv->mounts && i < srv->activity->n_mounts; i++) {
		const Forefetch__MountUse *m = srv->activity->mounts[i];
		const struct top_mount_rates *r = &srv->mounts[i];

		json_open(j, NULL, '{');
		json_some(j, m, "export_path");
		json_number(j, "other_exports", m->others);
		put_rate(j, "calls_per_second", r->known, r->calls);
		put_whole(j, "client_bytes_per_second", r->known, r->bytes);
		put_permille(j, "hit_permille", r->hit_share);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* "queue" counts calls that were sent and those that wait to be. */
static void put_server(struct json *j, const struct top_server *srv)
{
	const Forefetch__ServerStatus *st = srv->status;
	uint64_t in_flight = 0;

	for (size_t i = 0; i < st->n_upstreams; i++)
		in_flight +=
		    st->upstreams[i]->in_flight + st->upstreams[i]->queued;
	json_open(j, NULL, '{');
	json_some(j, st, "name state offline_active reason");
	put_whole(j, "round_trip_us", srv->trip_us > 0, (double)srv->trip_us);
	json_number(j, "queue", in_flight);
	put_rates(j, &srv->rates);
	put_mounts(j, srv);
	if (srv->activity)
		json_message(j, "activity", srv->activity);
	json_close(j, '}');
}

static void put_farm(struct json *j, const struct top_model *m)
{
	const Forefetch__FarmStatus *farm =
	    m->sample && !m->away ? m->sample->status->farm : NULL;
	char word[CTL_TEXT_MAX];

	if (farm)
		json_text(j, "farm",
		    json_word(word, &forefetch__farm_status__state__descriptor,
			(int)farm->state));
	else
		json_null(j, "farm");
}

/* Servers are no more as they were before the daemon went, so there are none
 * while it is away. */
void top_json_print(FILE *out, const struct top_model *m)
{
	struct json j = {.out = out};

	json_open(&j, NULL, '{');
	json_bool(&j, "away", m->away);
	json_text(&j, "away_reason", m->away ? m->why : "");
	put_farm(&j, m);
	json_open(&j, "servers", '[');
	/* Servers are no more as they were before the daemon went. */
	for (size_t i = 0; !m->away && i < m->nservers; i++)
		put_server(&j, &m->servers[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	putc('\n', out);
}
