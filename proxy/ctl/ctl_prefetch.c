/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ctl_prefetch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "ctl/ctl_caches.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_text.h"

/* Parts of a whole; the whole may be 0: then there is no such share. */
struct share {
	uint64_t part;
	uint64_t whole;
};

struct worth {
	struct share accuracy;   /* used of what was fetched */
	struct share coverage;   /* … of what was wanted and not there */
	struct share timeliness; /* … there in time of what was used */
	struct share waste;      /* bytes in vain of bytes that were asked */
	uint64_t saved_us;
};

static uint64_t value(const Forefetch__ServerStats *srv, const char *name)
{
	uint64_t v;

	ctl_stats_value(srv, name, &v);
	return v;
}

static struct worth worth_of(const Forefetch__ServerStats *srv)
{
	static const char *const misses[] = {"attr_misses", "name_misses",
	    "access_misses", "list_misses", "answer_misses", "data_misses"};
	uint64_t used = value(srv, "prefetch_used"), missed = 0;

	for (size_t i = 0; i < sizeof(misses) / sizeof(misses[0]); i++)
		missed += value(srv, misses[i]);
	return (struct worth){
	    .accuracy = {used, used + value(srv, "prefetch_unused")},
	    .coverage = {used, used + missed},
	    .timeliness = {used, used + value(srv, "prefetch_late")},
	    .waste = {value(srv, "prefetch_unused_bytes"),
		value(srv, "bytes_returned")},
	    .saved_us = used * value(srv, "link_srtt_us")};
}

static const char *percent(char buf[CTL_TEXT_MAX], struct share s)
{
	if (s.whole == 0)
		snprintf(buf, CTL_TEXT_MAX, "-");
	else
		snprintf(buf, CTL_TEXT_MAX, "%.1f%%",
		    (double)s.part * 100 / (double)s.whole);
	return buf;
}

static void put_link(const Forefetch__ServerStats *srv)
{
	char rate[CTL_TEXT_MAX], base[CTL_TEXT_MAX], srtt[CTL_TEXT_MAX],
	    queue[CTL_TEXT_MAX];

	fputs("  link        ", stdout);
	if (value(srv, "link_rate"))
		printf("%s/s, ", ctl_text_bytes(rate, value(srv, "link_rate")));
	else
		fputs("rate not known yet, ", stdout);
	printf("round trip %s when idle, %s now, %s of that in queues\n",
	    ctl_text_us(base, value(srv, "link_base_us")),
	    ctl_text_us(srtt, value(srv, "link_srtt_us")),
	    ctl_text_us(queue, value(srv, "link_queue_us")));
}

static void put_calls(const Forefetch__ServerStats *srv)
{
	char bytes[CTL_TEXT_MAX], flight[CTL_TEXT_MAX], window[CTL_TEXT_MAX];

	printf("  ahead       %" PRIu64 " calls, %s, %" PRIu64
	       " refused; %s of at most %s under way\n",
	    value(srv, "prefetch_calls"),
	    ctl_text_bytes(bytes, value(srv, "prefetch_bytes")),
	    value(srv, "prefetch_errors"),
	    ctl_text_bytes(flight, value(srv, "prefetch_flight_bytes")),
	    ctl_text_bytes(window, value(srv, "prefetch_window_bytes")));
}

static void put_learned(const Forefetch__ServerStats *srv)
{
	char bytes[CTL_TEXT_MAX];

	printf("  learned     %" PRIu64 " objects, %s\n",
	    value(srv, "learned_objects"),
	    ctl_text_bytes(bytes, value(srv, "learned_bytes")));
}

static void put_not_fetched(const Forefetch__ServerStats *srv)
{
	printf("  not fetched %" PRIu64 " there already, %" PRIu64
	       " unlikely, %" PRIu64 " withdrawn, %" PRIu64
	       " too late, %" PRIu64 " without a handle, %" PRIu64
	       " too many\n",
	    value(srv, "prefetch_fresh"), value(srv, "prefetch_unlikely"),
	    value(srv, "prefetch_withdrawn"), value(srv, "prefetch_old"),
	    value(srv, "prefetch_unknown"), value(srv, "prefetch_crowded"));
}

static void put_sessions(const Forefetch__ServerStats *srv)
{
	char bytes[CTL_TEXT_MAX];

	printf("  sessions    %" PRIu64 " recorded, %" PRIu64
	       " replayed, %" PRIu64 " of these given up; %" PRIu64
	       " objects wanted, %" PRIu64 " used, %s asked for\n",
	    value(srv, "sessions_recorded"), value(srv, "sessions_replayed"),
	    value(srv, "sessions_stopped"), value(srv, "session_wanted"),
	    value(srv, "session_used"),
	    ctl_text_bytes(bytes, value(srv, "session_bytes")));
}

void ctl_put_prefetch(const Forefetch__ServerStats *srv)
{
	struct worth w = worth_of(srv);
	char text[4][CTL_TEXT_MAX], time[CTL_TEXT_MAX];
	uint64_t v;

	if (!ctl_stats_value(srv, "prefetch_predicted", &v))
		return;
	putchar('\n');
	ctl_put_bytes(stdout, srv->name.data, srv->name.len);
	printf(": prefetch\n  accuracy    %s, coverage %s, timeliness %s, "
	       "waste %s\n",
	    percent(text[0], w.accuracy), percent(text[1], w.coverage),
	    percent(text[2], w.timeliness), percent(text[3], w.waste));
	printf("  objects     %" PRIu64 " used, %" PRIu64 " late, %" PRIu64
	       " unused\n",
	    value(srv, "prefetch_used"), value(srv, "prefetch_late"),
	    value(srv, "prefetch_unused"));
	printf("  saved       %" PRIu64 " round trips, %s\n",
	    value(srv, "prefetch_used"), ctl_text_us(time, w.saved_us));
	put_calls(srv);
	put_not_fetched(srv);
	put_sessions(srv);
	put_learned(srv);
	put_link(srv);
}

static void json_share(struct ctl_json *j, const char *key, struct share s)
{
	/* 0 stands for what is not known. */
	if (s.whole == 0)
		ctl_json_known(j, key, 0);
	else
		ctl_json_number(j, key,
		    (uint64_t)((double)s.part * 1000 / (double)s.whole + 0.5));
}

void ctl_json_prefetch(struct ctl_json *j, const Forefetch__ServerStats *srv)
{
	struct worth w = worth_of(srv);
	uint64_t v;

	if (!ctl_stats_value(srv, "prefetch_predicted", &v))
		return;
	ctl_json_open(j, "prefetch", '{');
	json_share(j, "accuracy_permille", w.accuracy);
	json_share(j, "coverage_permille", w.coverage);
	json_share(j, "timeliness_permille", w.timeliness);
	json_share(j, "waste_permille", w.waste);
	ctl_json_number(j, "saved_round_trips", value(srv, "prefetch_used"));
	ctl_json_number(j, "saved_us", w.saved_us);
	ctl_json_close(j, '}');
}
