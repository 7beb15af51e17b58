/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/control_reply_private.h"

static Forefetch__State state_of(enum control_state state)
{
	switch (state) {
	case CONTROL_DOWN:
		return FOREFETCH__STATE__DOWN;
	case CONTROL_RESOLVING:
		return FOREFETCH__STATE__RESOLVING;
	case CONTROL_CONNECTING:
		return FOREFETCH__STATE__CONNECTING;
	case CONTROL_UP:
		return FOREFETCH__STATE__UP;
	case CONTROL_IDLE:
		return FOREFETCH__STATE__IDLE;
	}
	return FOREFETCH__STATE__DOWN;
}

static ProtobufCBinaryData *reply_strings(
    struct reply *r, char **strings, size_t n)
{
	ProtobufCBinaryData *out = reply_alloc(r, n, sizeof(*out));
	size_t i;

	for (i = 0; out && i < n; i++)
		out[i] = reply_bytes(strings[i]);
	return out;
}

static void reply_upstreams(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	const struct control_upstream *up;
	Forefetch__UpstreamStatus *msg;
	size_t i, n = srv->upstreams_len;

	msg = reply_alloc(r, n, sizeof(*msg));
	out->upstreams = reply_alloc(r, n, sizeof(*out->upstreams));
	if (r->failed)
		return;
	for (i = 0; i < n; i++, msg++) {
		up = &srv->upstreams[i];
		forefetch__upstream_status__init(msg);
		msg->state = state_of(up->state);
		msg->local_port = up->local_port;
		msg->srtt_us = up->srtt_us;
		msg->in_flight = up->in_flight;
		msg->queued = up->queued;
		out->upstreams[i] = msg;
	}
	out->n_upstreams = n;
}

static void reply_clients(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	const struct control_conn *conn;
	Forefetch__ClientStatus *msg;
	size_t i, n = srv->conns_len;

	msg = reply_alloc(r, n, sizeof(*msg));
	out->clients = reply_alloc(r, n, sizeof(*out->clients));
	if (r->failed)
		return;
	for (i = 0; i < n; i++, msg++) {
		conn = &srv->conns[i];
		forefetch__client_status__init(msg);
		msg->address = reply_bytes(conn->address);
		msg->age_ms = conn->age_ms;
		msg->in_flight = conn->in_flight;
		msg->bytes_in_flight = conn->bytes_in_flight;
		msg->bytes_in = conn->bytes_in;
		msg->bytes_out = conn->bytes_out;
		out->clients[i] = msg;
	}
	out->n_clients = n;
	out->clients_omitted = srv->omitted;
}

static void reply_overrides(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	const struct control_override *ov;
	Forefetch__ExportStatus *msg;
	size_t i, n = srv->overrides_len;

	msg = reply_alloc(r, n, sizeof(*msg));
	out->overrides = reply_alloc(r, n, sizeof(*out->overrides));
	if (r->failed)
		return;
	for (i = 0; i < n; i++, msg++) {
		ov = &srv->overrides[i];
		forefetch__export_status__init(msg);
		msg->path = reply_bytes(ov->path);
		if (ov->consistency)
			msg->consistency = (char *)ov->consistency;
		msg->attr_timeout_us = ov->attr_timeout_us;
		msg->negative_timeout_us = ov->negative_timeout_us;
		msg->grant_timeout_us = ov->grant_timeout_us;
		msg->known = ov->known;
		out->overrides[i] = msg;
	}
	out->n_overrides = n;
}

/* What answers rest on. */
static void reply_caches(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	const struct control_caches *caches = &srv->caches;
	Forefetch__CacheStatus *msg = reply_alloc(r, 1, sizeof(*msg));

	if (!msg)
		return;
	forefetch__cache_status__init(msg);
	msg->memory_bytes = caches->memory_bytes;
	msg->memory_limit_bytes = caches->memory_limit_bytes;
	msg->disk_on = caches->disk_on;
	msg->disk_bytes = caches->disk_bytes;
	msg->disk_limit_bytes = caches->disk_limit_bytes;
	msg->disk_problem = reply_bytes(srv->disk_problem);
	msg->disk_problem_age_ms = caches->disk_problem_age_ms;
	out->cache = msg;
	if (srv->consistency)
		out->consistency = srv->consistency;
	out->attr_timeout_us = srv->attr_timeout_us;
	out->negative_timeout_us = srv->negative_timeout_us;
	out->grant_timeout_us = srv->grant_timeout_us;
	out->strict_until_known = srv->strict_until_known;
	out->offline = srv->offline_serve ? "serve" : "wait";
	out->offline_active = srv->offline_active;
	out->offline_age_ms = srv->offline_age_ms;
	out->served_age_us = srv->served_age_us;
	reply_overrides(r, srv, out);
}

static void reply_link(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	Forefetch__LinkStatus *msg = reply_alloc(r, 1, sizeof(*msg));

	if (!msg)
		return;
	forefetch__link_status__init(msg);
	msg->rate = srv->link_rate_Bps;
	msg->base_us = srv->link_base_us;
	msg->queue_us = srv->link_queue_us;
	out->link = msg;
	if (srv->prefetch)
		out->prefetch = (char *)srv->prefetch;
}

static void reply_mount(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	Forefetch__MountStatus *msg = reply_alloc(r, 1, sizeof(*msg));

	if (!msg)
		return;
	forefetch__mount_status__init(msg);
	msg->state = state_of(srv->mount_state);
	msg->state_age_ms = srv->mount_state_age_ms;
	msg->reason = reply_bytes(srv->mount_reason);
	out->mount = msg;
}

static void reply_server(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStatus *out)
{
	forefetch__server_status__init(out);
	out->name = reply_bytes(srv->name);
	out->address = reply_bytes(srv->address);
	out->resolved = reply_bytes(srv->resolved);
	out->state = state_of(srv->state);
	out->state_age_ms = srv->state_age_ms;
	out->last_error = reply_bytes(srv->last_error);
	out->reason = reply_bytes(srv->reason);
	out->rpcbind_error = reply_bytes(srv->rpcbind_error);
	out->clients_bytes = srv->clients_bytes;
	out->srtt_us = srv->srtt_us;
	out->listens = reply_strings(r, srv->listens, srv->listens_len);
	out->n_listens = srv->listens_len;
	out->exports = reply_strings(r, srv->exports, srv->exports_len);
	out->n_exports = srv->exports_len;
	reply_mount(r, srv, out);
	reply_caches(r, srv, out);
	reply_link(r, srv, out);
	reply_upstreams(r, srv, out);
	reply_clients(r, srv, out);
}

void reply_status(struct reply *r, const Forefetch__StatusRequest *request)
{
	struct control_status *st = &r->status;
	Forefetch__ServerStatus *msg;
	Forefetch__Status *out;
	size_t i;

	r->ops->fill_status(r->ctx, st);
	out = reply_alloc(r, 1, sizeof(*out));
	msg = reply_alloc(r, st->servers_len, sizeof(*msg));
	if (r->failed)
		return;
	forefetch__status__init(out);
	out->servers = reply_alloc(r, st->servers_len, sizeof(*out->servers));
	if (r->failed)
		return;
	if (st->version)
		out->daemon_version = st->version;
	out->pid = (uint32_t)st->pid;
	out->uptime_ms = st->uptime_ms;
	out->config_file = reply_bytes(st->config_file);
	out->reload_error = reply_bytes(st->reload_error);
	out->reload_age_ms = st->reload_age_ms;
	out->clients_bytes = st->clients_bytes;
	out->clients_limit_bytes = st->clients_limit_bytes;
	for (i = 0; i < st->servers_len && !r->failed; i++) {
		if (!reply_wants(&request->server, st->servers[i].name))
			continue;
		reply_server(r, &st->servers[i], &msg[i]);
		out->servers[out->n_servers++] = &msg[i];
	}
	if (request->server.len > 0 && out->n_servers == 0) {
		reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER,
		    "no server of that name is configured");
		return;
	}
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_STATUS;
	r->res.status = out;
}
