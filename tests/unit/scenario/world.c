/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes and ends what a scenario happens in. */
#include "scenario/world.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/loopwatch.h"
#include "base/metrics.h"
#include "base/statedir.h"
#include "config/config.h"
#include "daemon/listens.h"
#include "daemon/server.h"
#include "daemon/shares.h"
#include "nfsproto/rbuf.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"
#include "scenario/files.h"
#include "scenario/hosts.h"
#include "scenario/script.h"
#include "scenario/vclock.h"
#include "svc/room.h"

enum {
	PROXY_PORT = 2050,
	PRIORITIES = 3, /* as in daemon.c */
	CLIENTS_BYTES = 16 << 20,
	DISK_WAIT_US = 5000000,
};

struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	w->taken_fd = -1;
	w->base = event_base_new();
	event_base_priority_init(w->base, PRIORITIES);
	vclock_start(w->base);
	files_scratch(w->dir);
	w->fs = memfs_new(vclock_wall_ns());
	w->nfs = fakeserver_new(w->base, w->fs, hosts_address(HOSTS_SERVER));
	fakeserver_listen(w->nfs, true);
	return w;
}

void world_free(struct world *w)
{
	for (int i = 0; i < WORLD_CLIENTS; i++)
		client_free(w->clients[i]);
	if (w->server)
		world_stop(w);
	fakeserver_free(w->nfs);
	memfs_free(w->fs);
	if (w->taken_fd >= 0)
		close(w->taken_fd);
	event_base_free(w->base);
	files_remove(w->dir);
	free(w);
}

/* ---- the daemon -------------------------------------------------------- */

static void load_config(struct world *w)
{
	char text[2 * WORLD_CONFIG_MAX], err[CONFIG_ERR_MAX];
	char nas[16], listen_at[16];

	hosts_text(HOSTS_SERVER, nas);
	hosts_text(HOSTS_PROXY, listen_at);
	snprintf(text, sizeof(text),
	    "[forefetch]\ncache_dir = %s/cache\ncache_size = 64M\n"
	    "memory_size = 16M\ncontrol = %s/control.sock\n"
	    "[server nas]\naddress = %s\nnfs_port = 2049\nmount_port = 2049\n"
	    "listen = %s:%u\nallow = 127.0.0.0/8\nsecure = no\n"
	    "%s%s",
	    w->dir, w->dir, nas, listen_at, PROXY_PORT,
	    strstr(w->settings, "prefetch =") ? "" : "prefetch = off\n",
	    w->settings);
	w->config = config_parse_string(text, "the scenario", err, sizeof(err));
	if (!w->config)
		script_fail("%s", err);
}

void world_start(struct world *w)
{
	struct server_params sp = {.base = w->base};
	char err[CONFIG_ERR_MAX];

	if (w->server)
		return;
	load_config(w);
	sp.loop = w->loop = loopwatch_new();
	clock_spare_none();
	w->pool = sp.pool = rbuf_pool_new(0, 4);
	w->room = sp.room = room_new(w->base, CLIENTS_BYTES);
	w->iopool = sp.iopool = iopool_new(w->base, 1);
	w->listens = sp.listens = listens_new();
	w->state = sp.state = statedir_new(w->config->cache_dir, 0, w->iopool);
	vclock_set_pool(w->iopool);
	sp.control = w->config->control;
	sp.disk_bytes = w->config->cache_size;
	sp.learn_bytes = shares_learn(w->config, NULL, 0);
	sp.memory_bytes = w->config->memory_size - sp.learn_bytes;
	sp.config = w->config->servers;
	w->server = server_new(&sp);
	if (!w->server ||
	    server_open(w->server, true, DISK_WAIT_US, err, sizeof(err)) < 0)
		script_fail("the daemon does not start: %s", err);
	vclock_settle();
}

static void daemon_end(struct world *w)
{
	server_free(w->server);
	w->server = NULL;
	vclock_set_pool(NULL);
	iopool_free(w->iopool);
	statedir_free(w->state);
	listens_free(w->listens);
	room_free(w->room);
	rbuf_pool_free(w->pool);
	loopwatch_free(w->loop);
	config_free(w->config);
	vclock_settle();
}

void world_stop(struct world *w)
{
	vclock_settle();
	server_drain(w->server);
	daemon_end(w);
}

/* A kill loses all that is not written by now: the files that the daemon writes
 * while it ends are taken back. */
void world_kill(struct world *w)
{
	struct files *saved;

	vclock_settle();
	saved = files_save(w->dir);
	daemon_end(w);
	files_restore(saved, w->dir);
}

void world_pause(struct world *w, uint64_t us)
{
	struct control_server modules;

	server_modules(w->server, &modules);
	hold_pause(
	    prefetch_hold(modules.prefetch), us ? clock_now_us() + us : 0);
}

void world_crash(struct world *w)
{
	char path[64];

	world_kill(w);
	snprintf(path, sizeof(path), "%s/nas.drc", w->dir);
	unlink(path);
}

/* ---- what scenarios look at -------------------------------------------- */

struct client *world_client(struct world *w, char name)
{
	unsigned i = (unsigned)(name - 'A');
	struct client_params p = {.base = w->base,
	    .fs = w->fs,
	    .name = name,
	    .from = hosts_address(HOSTS_CLIENT + i),
	    .to = hosts_address(HOSTS_PROXY),
	    .port = PROXY_PORT,
	    .asks_again = w->clients_ask_again};

	if (i >= WORLD_CLIENTS)
		script_fail("clients are A to Z");
	if (!w->clients[i])
		w->clients[i] = client_new(&p);
	return w->clients[i];
}

bool world_counter(struct world *w, const char *name, uint64_t *value)
{
	const struct metrics *m = server_measure(w->server);

	for (size_t i = 0; i < METRICS_KINDS; i++)
		if (strcmp(metrics_get_kind(i)->name, name) == 0) {
			*value = metrics_get_value(m, i);
			return true;
		}
	return false;
}

void world_take_port(struct world *w, uint16_t port)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1;

	w->taken_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Beside the connection that has it; a listener shares it with nobody
	 * who comes later. */
	(void)setsockopt(
	    w->taken_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(w->taken_fd, (void *)&at, sizeof(at)) < 0 ||
	    listen(w->taken_fd, 1) < 0)
		script_fail("port %u cannot be taken", port);
}
