/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/server_prefetch.h"

#include "base/metrics.h"
#include "config/config.h"
#include "control/control.h"
#include "link/linkest.h"
#include "prefetch/prefetch.h"

void server_prefetch_measure(
    const struct prefetch *pf, const struct linkest *le, struct metrics *m)
{
	struct prefetch_stats st;

	prefetch_get_stats(pf, &st);
	metrics_set_gauge(m, METRICS_GAUGE_PREFETCH_WANTS, st.wants);
	metrics_set_gauge(m, METRICS_GAUGE_PREFETCH_FLIGHTS, st.flights);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_FLIGHT_BYTES, st.flight_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_FLIGHT_BYTES_MAX, st.flight_bytes_max);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_WINDOW_BYTES, st.window_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LEARNED_BYTES, st.memory_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LEARNED_OBJECTS, st.objects);
	metrics_set_gauge(m, METRICS_GAUGE_LINK_RATE, linkest_rate_Bps(le));
	metrics_set_gauge(m, METRICS_GAUGE_LINK_BASE_US, linkest_base_us(le));
	metrics_set_gauge(m, METRICS_GAUGE_LINK_SRTT_US, linkest_srtt_us(le));
	metrics_set_gauge(
	    m, METRICS_GAUGE_LINK_RTTVAR_US, linkest_rttvar_us(le));
	metrics_set_gauge(m, METRICS_GAUGE_LINK_QUEUE_US, linkest_queue_us(le));
}

void server_prefetch_fill_status(const struct config_server *config,
    const struct linkest *le, struct control_server *out)
{
	static const char *const names[] = {[CONFIG_PREFETCH_OFF] = "off",
	    [CONFIG_PREFETCH_METADATA] = "metadata",
	    [CONFIG_PREFETCH_FIRST_BLOCK] = "first-block",
	    [CONFIG_PREFETCH_ON] = "on"};

	out->prefetch = names[config->policy.prefetch];
	out->link_rate_Bps = linkest_rate_Bps(le);
	out->link_base_us = linkest_base_us(le);
	out->link_queue_us = linkest_queue_us(le);
}
