/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The servers with what the last hour brought, and the samples of that hour.
 * Times are in seconds, sizes in bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/metrics.h"
#include "control/history.h"
#include "web/document.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static void put_text(
    struct text *t, const char *key, const ProtobufCBinaryData *value)
{
	text_print(t, "\"%s\":", key);
	text_json(t, value->data, value->len);
	text_string(t, ",");
}

static void put_word(struct text *t, const char *key, const char *value)
{
	text_print(t, "\"%s\":", key);
	text_json(t, value, strlen(value));
	text_string(t, ",");
}

static void put_number(struct text *t, const char *key, uint64_t value)
{
	text_print(t, "\"%s\":%" PRIu64 ",", key, value);
}

/* 0 is what is not known yet. */
static void put_seconds(struct text *t, const char *key, uint64_t us, bool zero)
{
	text_print(t, "\"%s\":", key);
	if (us > 0 || zero)
		text_seconds(t, us);
	else
		text_string(t, "null");
	text_string(t, ",");
}

/* Ends a list or an object; the comma before its end goes. */
static void put_end(struct text *t, const char *end)
{
	if (t->len > 0 && t->data[t->len - 1] == ',')
		t->len--;
	text_string(t, end);
}

/* ---- servers ---------------------------------------------------------- */

static const char *state_name(const Forefetch__ServerStatus *st)
{
	switch (st->state) {
	case FOREFETCH__STATE__UP:
		return "up";
	case FOREFETCH__STATE__CONNECTING:
		return "connecting";
	case FOREFETCH__STATE__RESOLVING:
		return "resolving";
	case FOREFETCH__STATE__IDLE:
		return "idle";
	default:
		return "down";
	}
}

static struct history_sample sum_of(const struct history *h)
{
	struct history_sample sum = {0};

	for (size_t i = 0; i < history_count(h); i++) {
		const struct history_sample *s = history_at(h, i);

		sum.span_us += s->span_us;
		sum.calls += s->calls;
		sum.hits += s->hits;
		sum.misses += s->misses;
		sum.waited_us += s->waited_us;
		sum.saved_us += s->saved_us;
		sum.added_us += s->added_us;
		sum.demand_bytes += s->demand_bytes;
		sum.ahead_bytes += s->ahead_bytes;
		sum.unused_bytes += s->unused_bytes;
		sum.used += s->used;
		sum.late += s->late;
		sum.unused += s->unused;
		sum.refused += s->refused;
		sum.resent += s->resent;
		sum.segments += s->segments;
		sum.lost += s->lost;
	}
	return sum;
}

static void put_hour(struct text *t, const struct history *h)
{
	struct history_sample sum = sum_of(h);

	text_string(t, "\"hour\":{");
	put_seconds(t, "span", sum.span_us, true);
	put_number(t, "calls", sum.calls);
	put_number(t, "hits", sum.hits);
	put_number(t, "misses", sum.misses);
	put_seconds(t, "waited", sum.waited_us, true);
	put_seconds(t, "saved", sum.saved_us, true);
	put_seconds(t, "added", sum.added_us, true);
	put_number(t, "demand_bytes", sum.demand_bytes);
	put_number(t, "ahead_bytes", sum.ahead_bytes);
	put_number(t, "unused_bytes", sum.unused_bytes);
	put_number(t, "used", sum.used);
	put_number(t, "late", sum.late);
	put_number(t, "unused", sum.unused);
	put_number(t, "refused", sum.refused);
	put_number(t, "resent", sum.resent);
	put_number(t, "segments", sum.segments);
	put_number(t, "lost", sum.lost);
	put_end(t, "},");
}

static void put_link(struct text *t, const struct metrics *m)
{
	static const struct {
		const char *key;
		enum metrics_gauge gauge;
	} times[] = {{"round_trip", METRICS_GAUGE_LINK_SRTT_US},
	    {"idle_round_trip", METRICS_GAUGE_LINK_BASE_US},
	    {"queue", METRICS_GAUGE_LINK_QUEUE_US}};

	for (size_t i = 0; i < LENGTH(times); i++)
		put_seconds(t, times[i].key,
		    metrics_get_gauge(m, times[i].gauge), false);
	put_number(t, "bytes_per_second",
	    metrics_get_gauge(m, METRICS_GAUGE_LINK_RATE));
}

static void put_caches(
    struct text *t, const struct metrics *m, const Forefetch__ServerStatus *st)
{
	static const struct {
		const char *key;
		enum metrics_gauge gauge;
	} gauges[] = {{"clients", METRICS_GAUGE_CLIENTS},
	    {"in_flight", METRICS_GAUGE_CALLS_IN_FLIGHT},
	    {"memory_bytes", METRICS_GAUGE_MEMORY_BYTES},
	    {"memory_limit_bytes", METRICS_GAUGE_MEMORY_LIMIT_BYTES},
	    {"disk_bytes", METRICS_GAUGE_DATA_DISK_BYTES},
	    {"disk_limit_bytes", METRICS_GAUGE_DATA_LIMIT_BYTES}};

	for (size_t i = 0; i < LENGTH(gauges); i++)
		put_number(
		    t, gauges[i].key, metrics_get_gauge(m, gauges[i].gauge));
	if (st->caches)
		put_text(t, "disk_problem", &st->caches->disk_problem);
}

/* Why nothing is fetched ahead now. */
static const char *held(const Forefetch__HoldStatus *h)
{
	if (h && h->paused)
		return "paused";
	return h && h->metered && h->metered_bytes >= h->metered_limit_bytes
		   ? "metered"
		   : "";
}

static void put_server(struct text *t, const struct control_server *srv,
    const Forefetch__ServerStatus *st)
{
	text_string(t, "{");
	put_word(t, "name", srv->name);
	put_text(t, "address", &st->address);
	put_word(t, "state", state_name(st));
	put_seconds(t, "state_age", st->state_age_us, true);
	put_text(t, "reason", &st->reason);
	put_word(t, "offline", st->offline_active ? "yes" : "");
	put_word(t, "consistency", st->consistency);
	put_word(t, "prefetch", st->prefetch);
	put_word(t, "held", held(st->hold));
	put_link(t, srv->metrics);
	if (st->farm)
		put_number(t, "farm_bytes", st->farm->bytes);
	put_caches(t, srv->metrics, st);
	if (srv->history)
		put_hour(t, srv->history);
	put_end(t, "},");
}

static const char *farm_state(const Forefetch__FarmStatus *farm)
{
	switch (farm->state) {
	case FOREFETCH__FARM_STATUS__STATE__OFF:
		return "off";
	case FOREFETCH__FARM_STATUS__STATE__CONNECTING:
		return "connecting";
	case FOREFETCH__FARM_STATUS__STATE__UP:
		return "up";
	case FOREFETCH__FARM_STATUS__STATE__FULL:
		return "full";
	case FOREFETCH__FARM_STATUS__STATE__SLOW:
		return "slow";
	case FOREFETCH__FARM_STATUS__STATE__REFUSES:
		return "refuses";
	default:
		return "down";
	}
}

static void put_farm(struct text *t, const Forefetch__FarmStatus *farm)
{
	if (!farm) {
		text_string(t, "\"farm\":null,");
		return;
	}
	text_string(t, "\"farm\":{");
	put_word(t, "id", farm->id);
	put_word(t, "state", farm_state(farm));
	put_text(t, "error", &farm->error);
	put_seconds(t, "round_trip", farm->srtt_us, false);
	put_end(t, "},");
}

static void put_daemon(
    struct text *t, const struct document_making *mk, struct arena *a)
{
	Forefetch__Status st = FOREFETCH__STATUS__INIT;

	mk->ops->fill_daemon(mk->ctx, a, &st);
	put_end(t, "],");
	put_word(t, "version", st.version);
	put_seconds(t, "uptime", st.uptime_us, true);
	put_text(t, "reload_error", &st.reload_error);
	put_text(t, "reload_restart", &st.reload_restart);
	put_farm(t, st.farm);
	put_end(t, "}\n");
}

/* A server in each turn. */
enum document_end document_servers(struct document_making *mk, struct text *out)
{
	struct arena arena = {0};
	const Forefetch__ServerStatus *st;
	struct control_server srv;
	bool more;

	if (mk->next == 0)
		text_string(out, "{\"servers\":[");
	more = mk->ops->server(mk->ctx, mk->next, &srv);
	if (more) {
		st = document_status(mk, mk->next++, &arena);
		if (st)
			put_server(out, &srv, st);
	} else {
		put_daemon(out, mk, &arena);
	}
	out->failed |= arena.failed;
	arena_clear(&arena);
	if (out->failed)
		return DOCUMENT_FAILED;
	return more ? DOCUMENT_LATER : DOCUMENT_DONE;
}

/* ---- the last hour ----------------------------------------------------- */

/* Rows of numbers in the order of "columns". */
static void put_sample(
    struct text *t, const struct history_sample *s, uint64_t now_us)
{
	const uint64_t times[] = {now_us > s->at_us ? now_us - s->at_us : 0,
	    s->span_us, s->waited_us, s->saved_us, s->srtt_us, s->base_us,
	    s->queue_us};
	const uint64_t counts[] = {s->calls, s->hits, s->misses,
	    s->demand_bytes, s->ahead_bytes, s->unused_bytes, s->used, s->late,
	    s->unused, s->resent, s->segments, s->lost, s->rate_Bps, s->up};

	text_string(t, "[");
	for (size_t i = 0; i < LENGTH(times); i++) {
		text_seconds(t, times[i]);
		text_string(t, ",");
	}
	for (size_t i = 0; i < LENGTH(counts); i++) {
		text_number(t, counts[i]);
		text_string(t, ",");
	}
	put_end(t, "],");
}

enum document_end document_history(struct document_making *mk, struct text *out)
{
	struct control_server srv;
	size_t index;

	if (!document_server(mk, &index, &srv) || !srv.history)
		return DOCUMENT_NONE;
	text_string(out, "{");
	put_word(out, "name", srv.name);
	text_string(out,
	    "\"columns\":[\"age\",\"span\",\"waited\",\"saved\",\"round_trip\","
	    "\"idle_round_trip\",\"queue\",\"calls\",\"hits\",\"misses\","
	    "\"demand_bytes\",\"ahead_bytes\",\"unused_bytes\",\"used\","
	    "\"late\",\"unused\",\"resent\",\"segments\",\"lost\",\"bytes_per_"
	    "second\",\"up\"],"
	    "\"samples\":[");
	for (size_t i = 0; i < history_count(srv.history); i++)
		put_sample(out, history_at(srv.history, i), mk->now_us);
	put_end(out, "]}\n");
	return out->failed ? DOCUMENT_FAILED : DOCUMENT_DONE;
}
