/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills in what clients of a server wait for, and who waited, as the message
 * that goes to `forefetch top` (control.proto says what each field means).
 * Calls of other users are counted, and no more.
 */
#include "base/clock.h"
#include "control/protocol.h"
#include "daemon/server_private.h"
#include "svc/svc.h"

/* The uid as messages have it: svc.h has a number for credentials without
 * AUTH_SYS. */
static uint32_t uid_told(uint32_t uid)
{
	return uid == UINT32_MAX - 1 ? UID_NOBODY : uid;
}

/* Texts are copied only where they may change before the answer is packed. */
static void fill_call(
    struct arena *a, const struct svc_call *x, Forefetch__ClientCall *out)
{
	out->procedure = (char *)x->procedure;
	out->waits_for = (char *)x->waits_for;
	out->cause = (char *)x->cause;
	out->age_us = x->age_us;
	out->uid = uid_told(x->uid);
	out->client = arena_bytes(a, "%s", x->client);
	out->object = x->object;
	out->entry = arena_bytes(a, "%.*s", (int)x->entry.len,
	    x->entry.len > 0 ? x->entry.data : "");
	out->offset = x->offset;
	out->bytes = x->bytes;
}

/* The calls of clients that wait, those of `uid` by row, those of others by
 * number. */
static void fill_calls(const struct server *s, uint32_t uid, uint64_t now_us,
    struct arena *a, Forefetch__ServerActivity *out)
{
	struct svc_call rows[SVC_CALLS_MAX];
	size_t n =
	    svc_list_calls(s->svc, uid, now_us, rows, &out->calls_omitted);

	out->calls = arena_messages(a, &forefetch__client_call__descriptor, n);
	for (size_t i = 0; out->calls && i < n; i++)
		fill_call(a, &rows[i], out->calls[out->n_calls++]);
}

/* Who waited in the last seconds, and for which reasons, in microseconds. */
static void fill_job(
    struct arena *a, const struct waits_row *x, Forefetch__JobWaits *out)
{
	out->uid = uid_told(x->uid);
	out->client = arena_bytes(a, "%s", x->address);
	out->calls = x->calls;
	out->wait_us = x->sum_us;
	out->not_cached_us = x->us[WAITS_NOT_CACHED];
	out->expired_us = x->us[WAITS_EXPIRED];
	out->strict_us = x->us[WAITS_STRICT];
	out->change_us = x->us[WAITS_CHANGE];
	out->ahead_us = x->us[WAITS_AHEAD];
	out->link_busy_us = x->us[WAITS_BUSY];
	out->server_slow_us = x->us[WAITS_SLOW];
	out->server_away_us = x->us[WAITS_AWAY];
	out->disk_us = x->us[WAITS_DISK];
}

/* Whether the server is away decides what a wait under way is counted as. */
static void fill_jobs(const struct server *s, uint32_t uid, uint64_t now_us,
    struct arena *a, Forefetch__ServerActivity *out)
{
	struct waits_row rows[WAITS_ACTORS];
	struct upstream_status st;
	size_t n;

	upstream_get_status(s->up[RESOLVE_NFS], &st);
	n = svc_list_waits(s->svc, st.state != UPSTREAM_UP, now_us, rows);
	out->jobs = arena_messages(a, &forefetch__job_waits__descriptor, n);
	for (size_t i = 0; out->jobs && i < n; i++) {
		if (uid == 0 || rows[i].uid == uid) {
			fill_job(a, &rows[i], out->jobs[out->n_jobs++]);
			continue;
		}
		out->jobs_omitted++;
		out->jobs_omitted_wait_us += rows[i].sum_us;
	}
}

void server_fill_activity(const struct server *s, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out)
{
	uint64_t now_us = clock_now_us();

	fill_calls(s, uid, now_us, a, out);
	fill_jobs(s, uid, now_us, a, out);
}
