/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/control.h"

void control_set(char **field, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	free(*field);
	*field = text;
}

/*
 * Room for one more after `len` elements: the size doubles when the length
 * is a power of two, so no capacity need be kept. NULL: `array` is as it was.
 */
static void *array_grow(void *array, size_t len, size_t size)
{
	if (len & (len - 1))
		return array;
	return reallocarray(array, len ? len * 2 : 1, size);
}

struct control_server *control_status_add_server(struct control_status *st)
{
	struct control_server *servers, *srv;

	servers = array_grow(st->servers, st->servers_len, sizeof(*servers));
	if (!servers)
		return NULL;
	st->servers = servers;
	srv = &servers[st->servers_len++];
	memset(srv, 0, sizeof(*srv));
	return srv;
}

static void strings_add(char ***strings, size_t *len, const char *text)
{
	char *copy = strdup(text);
	char **grown;

	if (!copy)
		return;
	grown = array_grow(*strings, *len, sizeof(*grown));
	if (!grown) {
		free(copy);
		return;
	}
	*strings = grown;
	grown[(*len)++] = copy;
}

void control_server_add_listen(struct control_server *srv, const char *addr)
{
	strings_add(&srv->listens, &srv->listens_len, addr);
}

void control_server_add_export(struct control_server *srv, const char *path)
{
	strings_add(&srv->exports, &srv->exports_len, path);
}

struct control_override *control_server_add_override(struct control_server *srv)
{
	struct control_override *list, *ov;

	list = array_grow(srv->overrides, srv->overrides_len, sizeof(*list));
	if (!list)
		return NULL;
	srv->overrides = list;
	ov = &list[srv->overrides_len++];
	memset(ov, 0, sizeof(*ov));
	return ov;
}

struct control_upstream *control_server_add_upstream(struct control_server *srv)
{
	struct control_upstream *ups, *up;

	ups = array_grow(srv->upstreams, srv->upstreams_len, sizeof(*ups));
	if (!ups)
		return NULL;
	srv->upstreams = ups;
	up = &ups[srv->upstreams_len++];
	memset(up, 0, sizeof(*up));
	return up;
}

struct control_conn *control_server_add_conn(struct control_server *srv)
{
	struct control_conn *conns = NULL, *conn;

	if (srv->conns_len < CONTROL_LIST_MAX)
		conns = array_grow(srv->conns, srv->conns_len, sizeof(*conns));
	if (!conns) {
		srv->omitted++;
		return NULL;
	}
	srv->conns = conns;
	conn = &conns[srv->conns_len++];
	memset(conn, 0, sizeof(*conn));
	return conn;
}

static void strings_clear(char **strings, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		free(strings[i]);
	free(strings);
}

static void server_clear(struct control_server *srv)
{
	size_t i;

	free(srv->name);
	free(srv->address);
	free(srv->resolved);
	free(srv->last_error);
	free(srv->reason);
	free(srv->mount_reason);
	free(srv->rpcbind_error);
	free(srv->disk_problem);
	free(srv->consistency);
	strings_clear(srv->listens, srv->listens_len);
	strings_clear(srv->exports, srv->exports_len);
	for (i = 0; i < srv->overrides_len; i++)
		free(srv->overrides[i].path);
	free(srv->overrides);
	free(srv->upstreams);
	for (i = 0; i < srv->conns_len; i++)
		free(srv->conns[i].address);
	free(srv->conns);
}

void control_status_clear(struct control_status *st)
{
	size_t i;

	free(st->version);
	free(st->config_file);
	free(st->reload_error);
	for (i = 0; i < st->servers_len; i++)
		server_clear(&st->servers[i]);
	free(st->servers);
	memset(st, 0, sizeof(*st));
}
