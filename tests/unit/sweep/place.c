/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the place, starts and stops the daemon there, and asks it. */
#include "sweep/place.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "config/config.h"
#include "ctl/ctl_wire.h"
#include "daemon/daemon.h"
#include "scenario/files.h"
#include "scenario/hosts.h"
#include "scenario/spare.h"
#include "scenario/vclock.h"

enum {
	PRIORITIES = 3, /* as in daemon.c */
	PORT = 2050,
	/* Longer than a daemon waits for calls under way at its end. */
	STOP_US = 10000000,
	ANSWER_US = 30000000,
	STEP_US = 100000,
};

/* ---- what the daemon makes for itself, and the place has to know ------- */

static struct event_base *shared;
unsigned place_threads;

struct event_base *__real_event_base_new(void);
void __real_event_base_free(struct event_base *base);
struct iopool *__real_iopool_new(struct event_base *base, unsigned threads);
struct event_base *__wrap_event_base_new(void);
void __wrap_event_base_free(struct event_base *base);
struct iopool *__wrap_iopool_new(struct event_base *base, unsigned threads);

/* One loop for all. */
struct event_base *__wrap_event_base_new(void)
{
	return shared;
}

void __wrap_event_base_free(struct event_base *base)
{
	(void)base;
}

struct iopool *__wrap_iopool_new(struct event_base *base, unsigned threads)
{
	struct iopool *pool =
	    __real_iopool_new(base, place_threads ? place_threads : threads);

	vclock_set_pool(pool);
	return pool;
}

/* Takes the place of libc's function, which would bring all of the program into
 * memory whenever the daemon starts: a fifth of the time of histories. */
int mlockall(int flags)
{
	(void)flags;
	return 0;
}

/* ---- the place --------------------------------------------------------- */

static void write_config(struct place *p, const char *settings)
{
	char nas[16], proxy[16];
	FILE *f;

	hosts_text(HOSTS_SERVER, nas);
	hosts_text(HOSTS_PROXY, proxy);
	snprintf(p->file, sizeof(p->file), "%s/conf", p->dir);
	snprintf(p->cache, sizeof(p->cache), "%s/cache", p->dir);
	f = fopen(p->file, "w");
	fprintf(f,
	    "[forefetch]\ncache_dir = %s\ncache_size = 64M\n"
	    "memory_size = 16M\ncontrol_socket = %s/control.sock\n"
	    "log_level = error\n"
	    "[server nas]\naddress = %s\nnfs_port = 2049\nmount_port = 2049\n"
	    "listen = %s:%u\nallow = 127.0.0.0/8\nsecure = no\n"
	    "%s",
	    p->cache, p->dir, nas, proxy, PORT, settings);
	fclose(f);
}

static void on_back(evutil_socket_t fd, short what, void *arg)
{
	struct place *p = arg;

	(void)fd;
	(void)what;
	spare_begin();
	fakeserver_listen(p->nfs, true);
	spare_end();
}

void place_outage_begin(struct place *p, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	fakeserver_listen(p->nfs, false);
	fakeserver_break(p->nfs);
	event_add(p->ev_back, &tv);
}

void place_outage(struct place *p, uint64_t us)
{
	place_outage_begin(p, us);
	vclock_settle();
}

void place_begin(struct place *p, const char *settings)
{
	memset(p, 0, sizeof(*p));
	spare_begin();
	clock_spare_none();
	shared = p->base = __real_event_base_new();
	event_base_priority_init(p->base, PRIORITIES);
	vclock_start(p->base);
	files_scratch(p->dir);
	write_config(p, settings);
	p->fs = memfs_new(vclock_wall_ns());
	p->nfs = fakeserver_new(p->base, p->fs, hosts_address(HOSTS_SERVER));
	fakeserver_listen(p->nfs, true);
	fakeserver_serve(p->nfs, true);
	p->ev_back = evtimer_new(p->base, on_back, p);
	for (unsigned i = 0; i < PLACE_CLIENTS; i++) {
		struct client_params cp = {.base = p->base,
		    .fs = p->fs,
		    .name = (char)('A' + i),
		    .from = hosts_address(HOSTS_CLIENT + i),
		    .to = hosts_address(HOSTS_PROXY),
		    .port = PORT};

		p->clients[i] = client_new(&cp);
		client_set_uid(p->clients[i], 1000 + i);
	}
}

void place_end(struct place *p)
{
	for (unsigned i = 0; i < PLACE_CLIENTS; i++)
		client_free(p->clients[i]);
	place_stop(p);
	event_free(p->ev_back);
	fakeserver_free(p->nfs);
	memfs_free(p->fs);
	__real_event_base_free(p->base);
	files_remove(p->dir);
}

static struct daemon *start(struct place *p, char *err)
{
	struct config_source source = {.file = p->file};
	struct config *config = config_load(&source, err, PLACE_ERR_MAX);

	return config ? daemon_new(config, &source, err, PLACE_ERR_MAX) : NULL;
}

bool place_start(struct place *p, char err[PLACE_ERR_MAX])
{
	err[0] = '\0';
	spare_end();
	p->daemon = start(p, err);
	spare_begin();
	if (!p->daemon)
		vclock_set_pool(NULL);
	vclock_settle();
	return p->daemon != NULL;
}

static void end(struct place *p)
{
	spare_end();
	daemon_free(p->daemon);
	spare_begin();
	p->daemon = NULL;
	vclock_set_pool(NULL);
}

void place_stop(struct place *p)
{
	if (!p->daemon)
		return;
	vclock_settle();
	raise(SIGTERM);
	vclock_pass(STOP_US);
	end(p);
	vclock_settle();
}

/* A kill takes back the files that the daemon writes while it ends. */
void place_kill(struct place *p)
{
	struct files *saved;

	if (!p->daemon)
		return;
	saved = files_save(p->dir);
	end(p);
	files_restore(saved, p->dir);
	vclock_settle();
}

void place_lose(struct place *p)
{
	if (!p->daemon)
		return;
	end(p);
	files_remove(p->cache);
	vclock_settle();
}

/* ---- commands ---------------------------------------------------------- */

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

Forefetch__Response *place_control(
    struct place *p, Forefetch__Request *request, char err[PLACE_ERR_MAX])
{
	Forefetch__Response *res = NULL;
	char path[64];
	int fd;

	err[0] = '\0';
	snprintf(path, sizeof(path), "%s/control.sock", p->dir);
	fd = ctl_wire_connect(path);
	if (fd < 0)
		return NULL;
	if (ctl_wire_send(fd, request) == 0) {
		for (unsigned us = 0; !readable(fd) && us < ANSWER_US;
		     us += STEP_US)
			vclock_pass(STEP_US);
		if (!readable(fd))
			snprintf(err, PLACE_ERR_MAX, "no answer");
		else if (ctl_wire_receive(fd, &res) < 0)
			res = NULL;
	}
	close(fd);
	vclock_settle();
	return res;
}
