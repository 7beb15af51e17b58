/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine's begin and end; see engine_private.h. All servers of the
 * configuration are seeds: they stay, whatever a map of the cluster says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "engine/engine_private.h"

/* A node takes no values now. One of a cluster that is away has its slots
 * elsewhere soon. */
static void on_away(struct redis_node *n)
{
	put_drop_all(n);
	if (n->slots > 0 && n->phase != NODE_UNREADY)
		cluster_want_map(n->owner);
}

static const struct redis_node_ops ops = {greet_begin, on_away};

/* "redis://HOST:PORT", the host in brackets where it is an IPv6 address, or
 * "redis+unix:///PATH"; the configuration has checked it. */
static struct redis_node *node_of_url(struct engine *e, const char *url)
{
	static const char tcp[] = "redis://", local[] = "redis+unix://";
	char host[256];
	const char *begin, *colon;
	size_t len;

	if (strncmp(url, local, sizeof(local) - 1) == 0)
		return cluster_add_node(e, "", 0, url + sizeof(local) - 1);
	begin = url + sizeof(tcp) - 1;
	colon = strrchr(url, ':');
	if (strncmp(url, tcp, sizeof(tcp) - 1) != 0 || colon < begin) {
		errno = EINVAL;
		return NULL;
	}
	len = (size_t)(colon - begin);
	if (*begin == '[' && len > 2) {
		begin++;
		len -= 2;
	}
	if (len >= sizeof(host)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(host, begin, len);
	host[len] = '\0';
	return cluster_add_node(
	    e, host, (uint16_t)strtoul(colon + 1, NULL, 10), NULL);
}

/* Without memory for one seed there is no engine. */
struct engine *engine_new(
    struct event_base *base, const struct config_farm *farm)
{
	struct engine *e = calloc(1, sizeof(*e));
	bool ok;

	if (!e)
		return NULL;
	e->shared.base = base;
	e->shared.ops = &ops;
	e->farm = farm;
	e->many = farm->engine.n > 1;
	ok = ask_begin(e);
	errno = ok ? EINVAL : ENOMEM;
	ok = ok && farm->engine.n > 0;
	for (size_t i = 0; ok && i < farm->engine.n; i++) {
		struct redis_node *n = node_of_url(e, farm->engine.list[i]);

		ok = n != NULL;
		if (ok)
			n->seed = true;
	}
	if (ok)
		return e;
	engine_free(e);
	return NULL;
}

void engine_free(struct engine *e)
{
	int saved = errno;

	if (!e)
		return;
	ask_end(e);
	removal_end(e);
	for (size_t i = 0; i < e->nnodes; i++)
		if (e->nodes[i])
			cluster_remove_node(e, e->nodes[i]);
	cluster_end(e);
	free(e);
	errno = saved;
}
