/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The listener. A connection carries one request:
 *
 *   reading    its bytes are read until the request is whole
 *   ready      it waits for its turn, and maybe for the document to be made
 *   answering  an answer is queued, and leaves
 *   ending     it was sent; what the client still sends is thrown away, so
 *              that the answer is not lost by a reset
 *
 * One document is made at a time, for the first that is ready. These events
 * have the priority of calls, since at a lower one a daemon that is busy would
 * be silent just when somebody wants to know why; what they may cost is bound
 * by the rest between two turns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>

#include "base/clock.h"
#include "web/answer.h"
#include "web/document.h"
#include "web/page.h"
#include "web/prometheus.h"
#include "web/request.h"
#include "web/web.h"

enum {
	BACKLOG = 16,
	TURN_US = 5000,   /* the least from a turn to the next */
	REST_FACTOR = 20, /* and so many times what a turn took */
	REST_MAX_US = 50000,
	ACCEPT_US = 5000,    /* from one accepted connection to the next */
	BACKOFF_US = 500000, /* no descriptors, or all connections in use */
	KEPT = 8,            /* documents */
	IGNORED_MAX = 64 << 10,
	NAMES_MAX = 32,
	HOST_NAME_MAX_BYTES = 256,
};

enum connection_state { READING, READY, ANSWERING, ENDING };

struct connection {
	struct web *web;
	struct bufferevent *bev;
	struct event *stall;
	enum connection_state state;
	size_t ignored; /* bytes behind the request */
	struct request request;
	TAILQ_ENTRY(connection) link;       /* in the order they came */
	TAILQ_ENTRY(connection) ready_link; /* if READY */
};

TAILQ_HEAD(connection_list, connection);

/* A document that was made. */
struct kept {
	const struct document_kind *kind;
	char path[sizeof(((struct request *)0)->path)];
	uint64_t made_us;
	struct text text;
};

struct web {
	struct event_base *base;
	struct event *acceptable, *pause, *turn;
	int fd;
	char *names[NAMES_MAX];
	size_t n;
	struct connection_list connections, ready;
	size_t count;
	struct kept kept[KEPT];
	struct kept *making; /* one of them; NULL: none */
	struct document_making mk;
};

static void web_turn(struct web *w);

static void connection_free(struct connection *c)
{
	struct web *w = c->web;

	TAILQ_REMOVE(&w->connections, c, link);
	w->count--;
	if (c->state == READY)
		TAILQ_REMOVE(&w->ready, c, ready_link);
	if (c->stall)
		event_free(c->stall);
	if (c->bev)
		bufferevent_free(c->bev);
	free(c);
}

/* ---- answers ---------------------------------------------------------- */

/* The connection may be gone afterwards. */
static void connection_answer(struct connection *c, const struct answer *a)
{
	const struct timeval limit = {.tv_sec = WEB_STALL_S};

	if (c->state == READY)
		TAILQ_REMOVE(&c->web->ready, c, ready_link);
	c->state = ANSWERING;
	event_add(c->stall, &limit);
	if (!answer_write(bufferevent_get_output(c->bev), a))
		connection_free(c);
}

static void connection_say(struct connection *c, int status, const char *text)
{
	struct answer a = {.status = status,
	    .body = text,
	    .len = strlen(text),
	    .head = c->request.method == REQUEST_HEAD};

	connection_answer(c, &a);
}

static void connection_send(struct connection *c, const struct kept *k)
{
	struct answer a = {.status = 200,
	    .type = k->kind->type,
	    .body = k->text.data,
	    .len = k->text.len,
	    .head = c->request.method == REQUEST_HEAD};

	connection_answer(c, &a);
}

/* ---- documents -------------------------------------------------------- */

static void making_end(struct web *w)
{
	document_reset(&w->mk);
	w->making = NULL;
}

static struct kept *kept_find(struct web *w, const char *path, uint64_t now_us)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct kept *k = &w->kept[i];

		if (k != w->making && k->kind && strcmp(k->path, path) == 0 &&
		    now_us - k->made_us < k->kind->fresh_us)
			return k;
	}
	return NULL;
}

/* Begins to make one in the place of the oldest, or goes on. */
static void making_begin(struct web *w, const struct document_kind *kind,
    const char *path, const char *name)
{
	struct kept *k = &w->kept[0];

	if (w->making && strcmp(w->making->path, path) == 0)
		return;
	making_end(w);
	for (size_t i = 0; i < KEPT; i++) {
		if (strcmp(w->kept[i].path, path) == 0) {
			k = &w->kept[i];
			break;
		}
		if (w->kept[i].made_us < k->made_us)
			k = &w->kept[i];
	}
	snprintf(k->path, sizeof(k->path), "%s", path);
	k->kind = kind;
	k->made_us = 0;
	text_clear(&k->text);
	w->making = k;
	w->mk.name = k->path + (name - path);
}

/* One step towards what the first that is ready wants. */
static void serve(struct web *w, struct connection *c)
{
	uint64_t now_us = clock_now_us();
	const char *name, *path = c->request.path;
	const struct document_kind *kind = document_find(path, &name);
	struct kept *k = kept_find(w, path, now_us);
	enum document_end end;

	if (k) {
		connection_send(c, k);
		return;
	}
	making_begin(w, kind, path, name);
	w->mk.now_us = now_us;
	k = w->making;
	end = kind->step(&w->mk, &k->text);
	if (end == DOCUMENT_LATER && !k->text.failed)
		return;
	making_end(w);
	if (end == DOCUMENT_DONE && !k->text.failed) {
		k->made_us = clock_now_us();
		connection_send(c, k);
		return;
	}
	k->kind = NULL;
	if (end == DOCUMENT_NONE)
		connection_say(c, 404, "There is no such server.\n");
	else
		connection_say(c, 503, "forefetchd has too little memory.\n");
}

static void web_turn(struct web *w)
{
	struct connection *c = TAILQ_FIRST(&w->ready);
	struct timeval rest;
	uint64_t begin_us, us;

	if (!c || evtimer_pending(w->turn, NULL))
		return;
	begin_us = clock_now_us();
	serve(w, c);
	us = REST_FACTOR * (clock_now_us() - begin_us);
	if (us > REST_MAX_US)
		us = REST_MAX_US;
	rest = clock_timeval(us > TURN_US ? us : TURN_US);
	/* The rest counts from the end of a long turn. */
	event_base_update_cache_time(w->base);
	evtimer_add(w->turn, &rest);
}

static void web_on_turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	web_turn(arg);
}

void web_forget(struct web *w)
{
	if (!w)
		return;
	making_end(w);
	for (size_t i = 0; i < KEPT; i++) {
		w->kept[i].kind = NULL;
		w->kept[i].path[0] = '\0';
	}
}

/* ---- requests --------------------------------------------------------- */

/* A request is whole: what has no document is answered at once. */
static void connection_serve(struct connection *c)
{
	struct web *w = c->web;
	const struct request *r = &c->request;
	const struct page_file *file = page_find(r->path);
	const char *name;

	if (!request_names_us(r, (const char *const *)w->names, w->n)) {
		connection_say(c, 403,
		    "forefetchd answers here only if it is asked for by an IP "
		    "address, as localhost, by this machine's host name, or by "
		    "a name in `metrics_names` of its configuration: so no "
		    "site on the Internet can have your browser ask.\n");
	} else if (request_is_foreign(r)) {
		connection_say(c, 403,
		    "forefetchd does not answer requests that the page of "
		    "another site makes.\n");
	} else if (r->method == REQUEST_OTHER) {
		connection_say(c, 405, "Nothing can be changed here.\n");
	} else if (file) {
		struct answer a = {.status = 200,
		    .type = file->type,
		    .body = file->data,
		    .len = file->len,
		    .head = r->method == REQUEST_HEAD};

		connection_answer(c, &a);
	} else if (!document_find(r->path, &name)) {
		connection_say(c, 404,
		    "There is / (a page to look at) and /metrics (for "
		    "Prometheus).\n");
	} else {
		c->state = READY;
		TAILQ_INSERT_TAIL(&w->ready, c, ready_link);
		web_turn(w);
	}
}

static void connection_on_read(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t len = evbuffer_get_length(in);
	enum request_end end;

	if (c->state != READING) {
		c->ignored += len;
		evbuffer_drain(in, len);
		if (c->ignored > IGNORED_MAX)
			connection_free(c);
		return;
	}
	/* No more is read before this is answered. */
	if (len > REQUEST_MAX)
		len = REQUEST_MAX;
	end = request_parse(
	    (const char *)evbuffer_pullup(in, (ssize_t)len), len, &c->request);
	if (end == REQUEST_MORE)
		return;
	bufferevent_disable(bev, EV_READ);
	event_del(c->stall);
	if (end == REQUEST_BAD)
		connection_say(c, 400, "This is no request of HTTP/1.\n");
	else
		connection_serve(c);
}

/* The answer has left. */
static void connection_on_written(struct bufferevent *bev, void *arg)
{
	const struct timeval limit = {.tv_sec = 1};
	struct connection *c = arg;

	if (c->state != ANSWERING)
		return;
	c->state = ENDING;
	shutdown(bufferevent_getfd(bev), SHUT_WR);
	bufferevent_enable(bev, EV_READ);
	event_add(c->stall, &limit);
}

static void connection_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct connection *c = arg;

	/* Who has said all may still listen. */
	if ((what & BEV_EVENT_EOF) &&
	    (c->state == READY || c->state == ANSWERING)) {
		bufferevent_disable(bev, EV_READ);
		return;
	}
	connection_free(c);
}

static void connection_on_stall(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	connection_free(arg);
}

/* ---- accepting -------------------------------------------------------- */

/* Closes `fd` if there is no memory. */
static void connection_new(struct web *w, int fd)
{
	const struct timeval limit = {.tv_sec = WEB_STALL_S};
	struct connection *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->web = w;
	TAILQ_INSERT_TAIL(&w->connections, c, link);
	w->count++;
	c->stall = evtimer_new(w->base, connection_on_stall, c);
	c->bev = bufferevent_socket_new(w->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c->bev)
		close(fd);
	if (!c->bev || !c->stall) {
		connection_free(c);
		return;
	}
	bufferevent_setcb(c->bev, connection_on_read, connection_on_written,
	    connection_on_event, c);
	if (event_add(c->stall, &limit) < 0 ||
	    bufferevent_enable(c->bev, EV_READ | EV_WRITE) < 0)
		connection_free(c);
}

/* Whether there is room for one more: who has not asked anything gives way,
 * and who has its answer. */
static bool make_room(struct web *w)
{
	struct connection *c;

	if (w->count < WEB_CONNECTIONS_MAX)
		return true;
	TAILQ_FOREACH (c, &w->connections, link) {
		if (c->state == READING || c->state == ENDING) {
			connection_free(c);
			return true;
		}
	}
	return false;
}

/* Accepts one connection; the timer allows the next one. */
static void web_on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval turn = clock_timeval(ACCEPT_US);
	const struct timeval backoff = clock_timeval(BACKOFF_US);
	struct web *w = arg;
	bool room = make_room(w);
	int got = -1;

	(void)what;
	if (room) {
		got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (got < 0 && (errno == EAGAIN || errno == EINTR ||
				   errno == ECONNABORTED))
			return;
	}
	event_del(w->acceptable);
	evtimer_add(w->pause, got < 0 ? &backoff : &turn);
	if (got >= 0)
		connection_new(w, got);
}

static void web_on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct web *w = arg;

	(void)fd;
	(void)what;
	event_add(w->acceptable, NULL);
}

/* ---- making one ------------------------------------------------------- */

static int listen_at(const struct sockaddr *addr)
{
	const int on = 1;
	socklen_t len = addr->sa_family == AF_INET6
			    ? sizeof(struct sockaddr_in6)
			    : sizeof(struct sockaddr_in);
	int error, fd = socket(addr->sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (addr->sa_family != AF_INET6 ||
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) ==
		    0) &&
	    bind(fd, addr, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static bool add_name(struct web *w, const char *name)
{
	if (w->n == NAMES_MAX)
		return true;
	w->names[w->n] = strdup(name);
	return w->names[w->n++] != NULL;
}

/* This machine's name, as it is and without its domain. */
static bool add_own_name(struct web *w)
{
	char name[HOST_NAME_MAX_BYTES] = "";

	if (gethostname(name, sizeof(name) - 1) < 0 || !*name)
		return true;
	if (!add_name(w, name))
		return false;
	name[strcspn(name, ".")] = '\0';
	return add_name(w, name);
}

static bool web_prepare(struct web *w, const char *const *names, size_t n)
{
	TAILQ_INIT(&w->connections);
	TAILQ_INIT(&w->ready);
	w->mk.prometheus = prometheus_new();
	evutil_secure_rng_get_bytes(&w->mk.secret, sizeof(w->mk.secret));
	if (!w->mk.prometheus || !add_own_name(w))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!add_name(w, names[i]))
			return false;
	w->pause = evtimer_new(w->base, web_on_pause, w);
	w->turn = evtimer_new(w->base, web_on_turn, w);
	return w->pause && w->turn;
}

static bool web_listen(struct web *w, const struct sockaddr *addr)
{
	w->fd = listen_at(addr);
	if (w->fd < 0)
		return false;
	w->acceptable =
	    event_new(w->base, w->fd, EV_READ | EV_PERSIST, web_on_accept, w);
	errno = ENOMEM;
	return w->acceptable && event_add(w->acceptable, NULL) == 0;
}

struct web *web_new(struct event_base *base, const struct sockaddr *addr,
    const char *const *names, size_t n, const struct control_ops *ops,
    void *ctx, char *err, size_t errlen)
{
	struct web *w = calloc(1, sizeof(*w));
	int error;

	snprintf(err, errlen, "out of memory");
	errno = ENOMEM;
	if (!w)
		return NULL;
	w->base = base;
	w->fd = -1;
	w->mk.ops = ops;
	w->mk.ctx = ctx;
	if (web_prepare(w, names, n)) {
		if (web_listen(w, addr))
			return w;
		error = errno;
		snprintf(err, errlen, "cannot listen for metrics: %s",
		    strerror(error));
	} else {
		error = ENOMEM;
	}
	web_free(w);
	errno = error;
	return NULL;
}

void web_free(struct web *w)
{
	struct connection *c;

	if (!w)
		return;
	while ((c = TAILQ_FIRST(&w->connections)))
		connection_free(c);
	document_reset(&w->mk);
	prometheus_free(w->mk.prometheus);
	for (size_t i = 0; i < KEPT; i++)
		text_free(&w->kept[i].text);
	for (size_t i = 0; i < w->n; i++)
		free(w->names[i]);
	if (w->turn)
		event_free(w->turn);
	if (w->pause)
		event_free(w->pause);
	if (w->acceptable)
		event_free(w->acceptable);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}
