/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/server_caches.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/metrics.h"
#include "cache/caches.h"
#include "config/config.h"
#include "control/control.h"

static bool export_known(const struct caches *c, size_t i)
{
	const struct fsys *fs;

	for (uint32_t n = 0; (fs = attrcache_fsys_at(c->attr, n)); n++)
		if (fs->export_plus_one == i + 1)
			return true;
	return false;
}

static void fill_overrides(const struct caches *c, struct control_server *out)
{
	const struct config_export *ex;
	struct control_override *ov;

	for (size_t i = 0; i < c->config->noverrides; i++) {
		ov = control_server_add_override(out);
		if (!ov)
			return;
		ex = &c->config->overrides[i];
		control_set(&ov->path, "%s", ex->path);
		ov->consistency =
		    config_consistency_name(ex->policy.consistency);
		ov->attr_timeout_us = ex->policy.attr_timeout_us;
		ov->negative_timeout_us = ex->policy.negative_timeout_us;
		ov->grant_timeout_us = ex->policy.grant_timeout_us;
		ov->known = export_known(c, i);
	}
}

void server_caches_fill_status(
    const struct caches *c, uint64_t disk_bytes, struct control_server *out)
{
	const struct config_policy *policy = &c->config->policy;
	struct datacache_stats st = {0};

	if (c->data)
		datacache_get_stats(c->data, &st);
	control_set(&out->consistency, "%s",
	    config_consistency_name(policy->consistency));
	out->attr_timeout_us = policy->attr_timeout_us;
	out->negative_timeout_us = policy->negative_timeout_us;
	out->grant_timeout_us = policy->grant_timeout_us;
	out->strict_until_known = c->exports_unknown;
	out->caches = (struct control_caches){.memory_bytes = caches_bytes(c),
	    .memory_limit_bytes = c->memory_bytes,
	    .disk_bytes = st.disk_bytes,
	    .disk_limit_bytes = disk_bytes,
	    .disk_on = st.on};
	fill_overrides(c, out);
}

static void measure_data(
    const struct datacache_stats *st, uint64_t disk_bytes, struct metrics *m)
{
	metrics_set_gauge(m, METRICS_GAUGE_DATA_ON, st->on);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_FILES, st->files);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_EXTENTS, st->extents);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_LIVE_BYTES, st->live_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_PINNED_BYTES, st->pinned_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_DATA_PENDING_BYTES, st->pending_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_DISK_BYTES, st->disk_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_LIMIT_BYTES, disk_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_MEMORY_BYTES, st->memory_bytes);
	metrics_set(m, METRICS_DATA_WAITS, st->waits);
	metrics_set(m, METRICS_DATA_HIT_BYTES, st->hit_bytes);
	metrics_set(m, METRICS_DATA_ADDED_BYTES, st->added_bytes);
	metrics_set(m, METRICS_DATA_REFUSED_BYTES, st->refused_bytes);
	metrics_set(m, METRICS_DATA_COPIED_BYTES, st->copied_bytes);
	metrics_set(m, METRICS_DATA_EVICTED, st->evicted_extents);
	metrics_set(m, METRICS_DATA_EVICTED_BYTES, st->evicted_bytes);
	metrics_set(m, METRICS_DATA_KEPT_BYTES, st->kept_bytes);
	metrics_set(m, METRICS_DATA_UNUSED_BYTES, st->unused_bytes);
	metrics_set(m, METRICS_DATA_VERIFIED, st->verified_extents);
	metrics_set(m, METRICS_DATA_BAD, st->bad_extents);
	metrics_set(m, METRICS_DATA_LOADED, st->loaded_extents);
}

static void measure_layout(const struct datacache_stats *st, struct metrics *m)
{
	metrics_set(m, METRICS_LAYOUT_PASSES, st->layout_passes);
	metrics_set(m, METRICS_LAYOUT_MOVED_BYTES, st->layout_moved_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_RUN_BYTES, st->run.bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_RUN_SEQUENTIAL_BYTES, st->run.sequential_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_RUN_RUNS, st->run.runs);
	metrics_set_gauge(
	    m, METRICS_GAUGE_LAYOUT_BEFORE_BYTES, st->layout_before.bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_BEFORE_SEQUENTIAL_BYTES,
	    st->layout_before.sequential_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_LAYOUT_BEFORE_RUNS, st->layout_before.runs);
	metrics_set_gauge(
	    m, METRICS_GAUGE_LAYOUT_BYTES, st->layout_after.bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_SEQUENTIAL_BYTES,
	    st->layout_after.sequential_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_RUNS, st->layout_after.runs);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_END, st->layout_end);
}

void server_caches_measure(
    const struct caches *c, uint64_t disk_bytes, struct metrics *m)
{
	struct caches_stats st;

	caches_get_stats(c, &st);
	metrics_set_gauge(m, METRICS_GAUGE_ATTR_ENTRIES, st.objects);
	metrics_set_gauge(m, METRICS_GAUGE_NAME_ENTRIES, st.names);
	metrics_set_gauge(m, METRICS_GAUGE_OBJECT_BYTES, st.object_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_ACCESS_ENTRIES, st.grants);
	metrics_set_gauge(m, METRICS_GAUGE_ACCESS_BYTES, st.grant_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LIST_ENTRIES, st.listings);
	metrics_set_gauge(m, METRICS_GAUGE_LIST_BYTES, st.listing_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_ANSWER_ENTRIES, st.answers);
	metrics_set_gauge(m, METRICS_GAUGE_ANSWER_BYTES, st.answer_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_ENTRY_BYTES, st.entry_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_MEMORY_BYTES, st.bytes);
	metrics_set_gauge(m, METRICS_GAUGE_MEMORY_LIMIT_BYTES, c->memory_bytes);
	measure_data(&st.data, disk_bytes, m);
	measure_layout(&st.data, m);
}

/*
 * What was forgotten may have been changed by a call of our own a moment ago.
 * So that no answer from before that counts, an object is changed and
 * forgotten for all of them.
 */
static bool forget_until(struct attrcache *ac, uint64_t now_us)
{
	const nfs3_fh fh = {.len = 1, .data = "\0"};
	struct node *node = attrcache_get(ac, &fh);

	if (!node)
		return false;
	attrcache_changed(ac, node, now_us, now_us);
	attrcache_dead(ac, node);
	return true;
}

int server_caches_flush(struct caches *c, uint64_t now_us)
{
	struct credtab *creds = c->creds;
	const struct attrcache *old = c->attr;

	/* Requests under way, and a save, know the numbers of credentials. */
	c->creds = NULL;
	caches_flush(c);
	if (c->creds)
		credtab_free(c->creds);
	c->creds = creds;
	return c->attr != old && forget_until(c->attr, now_us) ? 0 : -ENOMEM;
}
