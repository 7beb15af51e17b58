/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The servers with what the last hour brought, and the samples of that hour.
 * Times are in seconds, sizes in bytes. Each field is named here, since most
 * that `forefetch status` tells is not for everybody.
 */
#include "base/metrics.h"
#include "control/history.h"
#include "text/json.h"
#include "web/document.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Figures of a sample: those that are summed up over the hour, then those that
 * held when it was taken. */
/* clang-format off */
#define FIGURE(name, member, time) \
	{name, offsetof(struct history_sample, member), time}
/* clang-format on */
static const struct {
	const char *name;
	size_t at;
	bool time;
} figures[] = {
    FIGURE("span", span_us, true),
    FIGURE("calls", calls, false),
    FIGURE("hits", hits, false),
    FIGURE("misses", misses, false),
    FIGURE("waited", waited_us, true),
    FIGURE("saved", saved_us, true),
    FIGURE("added", added_us, true),
    FIGURE("demand_bytes", demand_bytes, false),
    FIGURE("ahead_bytes", ahead_bytes, false),
    FIGURE("unused_bytes", unused_bytes, false),
    FIGURE("used", used, false),
    FIGURE("late", late, false),
    FIGURE("unused", unused, false),
    FIGURE("refused", refused, false),
    FIGURE("resent", resent, false),
    FIGURE("segments", segments, false),
    FIGURE("lost", lost, false),
    FIGURE("round_trip", srtt_us, true),
    FIGURE("idle_round_trip", base_us, true),
    FIGURE("queue", queue_us, true),
    FIGURE("bytes_per_second", rate_Bps, false),
};

/* The i-th figure of a sample. */
static uint64_t figure_of(const struct history_sample *s, size_t i)
{
	return *(const uint64_t *)((const char *)s + figures[i].at);
}

/* Times are kept in microseconds, and told in seconds. */
static void put_figure(
    struct json *j, const char *key, size_t i, uint64_t value)
{
	if (figures[i].time)
		json_seconds(j, key, value);
	else
		json_number(j, key, value);
}

/* The sums over all samples that there are: of the counts, which in a sample
 * stand before its values of a moment (history.h). */
static void put_hour(struct json *j, const struct history *h)
{
	json_open(j, "hour", '{');
	for (size_t i = 0; i < LENGTH(figures); i++) {
		uint64_t sum = 0;

		if (figures[i].at >= offsetof(struct history_sample, srtt_us))
			break;
		for (size_t k = 0; k < history_count(h); k++)
			sum += figure_of(history_at(h, k), i);
		put_figure(j, figures[i].name, i, sum);
	}
	json_close(j, '}');
}

/* ---- servers ---------------------------------------------------------- */

/* Gauges of a server; a time of 0 is not known. */
static void put_gauges(struct json *j, const struct metrics *m)
{
	static const struct {
		const char *key;
		enum metrics_gauge gauge;
		bool time;
	} gauges[] = {{"round_trip", METRICS_GAUGE_LINK_SRTT_US, true},
	    {"idle_round_trip", METRICS_GAUGE_LINK_BASE_US, true},
	    {"queue", METRICS_GAUGE_LINK_QUEUE_US, true},
	    {"bytes_per_second", METRICS_GAUGE_LINK_RATE, false},
	    {"clients", METRICS_GAUGE_CLIENTS, false},
	    {"in_flight", METRICS_GAUGE_CALLS_IN_FLIGHT, false},
	    {"memory_bytes", METRICS_GAUGE_MEMORY_BYTES, false},
	    {"memory_limit_bytes", METRICS_GAUGE_MEMORY_LIMIT_BYTES, false},
	    {"disk_bytes", METRICS_GAUGE_DATA_DISK_BYTES, false},
	    {"disk_limit_bytes", METRICS_GAUGE_DATA_LIMIT_BYTES, false}};

	for (size_t i = 0; i < LENGTH(gauges); i++) {
		uint64_t value = metrics_get_gauge(m, gauges[i].gauge);

		if (gauges[i].time)
			json_seconds_known(j, gauges[i].key, value);
		else
			json_number(j, gauges[i].key, value);
	}
}

/* Why nothing is fetched ahead now, in one word; "": it is. */
static const char *held(const Forefetch__HoldStatus *h)
{
	if (h && h->paused)
		return "paused";
	return h && h->metered && h->metered_bytes >= h->metered_limit_bytes
		   ? "metered"
		   : "";
}

/* One server, without anything that tells of its users. */
static void put_server(struct json *j, const struct control_server *srv,
    const Forefetch__ServerStatus *st)
{
	json_open(j, NULL, '{');
	json_text(j, "name", srv->name);
	json_some(
	    j, st, "address state state_age_us reason consistency prefetch");
	json_bool(j, "offline", st->offline_active);
	json_text(j, "held", held(st->hold));
	put_gauges(j, srv->metrics);
	if (st->farm)
		json_number(j, "farm_bytes", st->farm->bytes);
	if (st->caches)
		json_some(j, st->caches, "disk_problem");
	if (srv->history)
		put_hour(j, srv->history);
	json_close(j, '}');
}

/* The end of the document: the daemon, and its farm. */
static void put_daemon(
    struct json *j, const struct document_making *mk, struct arena *a)
{
	Forefetch__Status st = FOREFETCH__STATUS__INIT;

	mk->ops->fill_daemon(mk->ctx, a, &st);
	json_close(j, ']');
	json_some(j, &st, "version uptime_us reload_error reload_restart");
	if (st.farm) {
		json_open(j, "farm", '{');
		json_some(j, st.farm, "id state error");
		json_seconds_known(j, "round_trip", st.farm->srtt_us);
		json_close(j, '}');
	}
	json_close(j, '}');
	putc('\n', j->out);
}

/* A server in each turn. */
enum document_end document_servers(struct document_making *mk, struct text *out)
{
	struct arena arena = {0};
	struct json j = {.out = text_open(out), .page = true};
	const Forefetch__ServerStatus *st;
	struct control_server srv;
	bool more = mk->ops->server(mk->ctx, mk->next, &srv);

	if (!j.out)
		return DOCUMENT_FAILED;
	j.comma = mk->next > 0;
	if (mk->next == 0) {
		json_open(&j, NULL, '{');
		json_open(&j, "servers", '[');
	}
	if (more) {
		st = document_status(mk, mk->next++, &arena);
		if (st)
			put_server(&j, &srv, st);
	} else {
		put_daemon(&j, mk, &arena);
	}
	fclose(j.out);
	out->failed |= arena.failed;
	arena_clear(&arena);
	if (out->failed)
		return DOCUMENT_FAILED;
	return more ? DOCUMENT_LATER : DOCUMENT_DONE;
}

/* ---- the last hour ----------------------------------------------------- */

/* Rows of numbers in the order of "columns". */
static void put_sample(
    struct json *j, const struct history_sample *s, uint64_t now_us)
{
	json_open(j, NULL, '[');
	json_seconds(j, NULL, now_us > s->at_us ? now_us - s->at_us : 0);
	json_number(j, NULL, s->up);
	for (size_t i = 0; i < LENGTH(figures); i++)
		put_figure(j, NULL, i, figure_of(s, i));
	json_close(j, ']');
}

/* All samples in one turn: at most 360 rows. */
enum document_end document_history(struct document_making *mk, struct text *out)
{
	struct json j = {.page = true};
	struct control_server srv;
	size_t index;

	if (!document_server(mk, &index, &srv) || !srv.history)
		return DOCUMENT_NONE;
	j.out = text_open(out);
	if (!j.out)
		return DOCUMENT_FAILED;
	json_open(&j, NULL, '{');
	json_text(&j, "name", srv.name);
	json_open(&j, "columns", '[');
	json_text(&j, NULL, "age");
	json_text(&j, NULL, "up");
	for (size_t i = 0; i < LENGTH(figures); i++)
		json_text(&j, NULL, figures[i].name);
	json_close(&j, ']');
	json_open(&j, "samples", '[');
	for (size_t i = 0; i < history_count(srv.history); i++)
		put_sample(&j, history_at(srv.history, i), mk->now_us);
	json_close(&j, ']');
	json_close(&j, '}');
	putc('\n', j.out);
	fclose(j.out);
	return out->failed ? DOCUMENT_FAILED : DOCUMENT_DONE;
}
