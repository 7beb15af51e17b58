/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The listener, on libevent's evhttp. Each connection is an evhttp of its own,
 * since that is all that can be ended at any time, whatever its client does or
 * leaves undone. It carries one request:
 *
 *   reading    evhttp reads and parses until the request is whole
 *   ready      it waits for its turn, and maybe for the document to be made
 *   answering  an answer is queued, and leaves
 *   ending     it was sent, and evhttp has closed; the socket stays for a
 *              second, so that the answer is not lost by a reset
 *
 * One document is made at a time, for the first that is ready. These events
 * have the priority of calls, since at a lower one a daemon that is busy would
 * be silent just when somebody wants to know why; what they may cost is bound
 * by the rest between two turns.
 */
#include <errno.h>
#include <fcntl.h>
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
#include <event2/http.h>
#include <event2/listener.h>
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
	READ_MAX = 2 * (REQUEST_MAX + REQUEST_BODY_MAX), /* unparsed bytes */
	PATH_MAX_BYTES = 160,
	NAMES_MAX = 32,
	HOST_NAME_MAX_BYTES = 256,
};

enum connection_state { READING, READY, ANSWERING, ENDING };

struct connection {
	struct web *web;
	struct evhttp *http;
	struct evconnlistener
	    *listener; /* through which `http` accepts this socket */
	struct event *stall;
	enum connection_state state;
	struct bufferevent *bev; /* of `http`, while that is connected */
	int fd; /* a dup of the socket while the answer leaves; or -1 */
	unsigned outputs;             /* that evhttp has begun */
	struct evhttp_request *req;   /* if READY or ANSWERING */
	char path[PATH_MAX_BYTES];    /* that it asks for, without the query */
	TAILQ_ENTRY(connection) link; /* in the order they came */
	TAILQ_ENTRY(connection) ready_link; /* if READY */
};

TAILQ_HEAD(connection_list, connection);

/* A document that was made. */
struct web_kept {
	const struct document_kind *kind;
	char path[PATH_MAX_BYTES];
	uint64_t made_us;
	struct text text;
};

struct web {
	struct event_base *base;
	struct evconnlistener *socket; /* has it, and accepts nothing itself */
	struct event *acceptable, *pause, *turn;
	struct connection *next; /* the one that is to be accepted; or NULL */
	char *names[NAMES_MAX];
	size_t n;
	struct connection_list connections, ready;
	size_t count;
	struct web_kept kept[KEPT];
	struct web_kept *making; /* one of them; NULL: none */
	struct document_making mk;
};

static void web_turn(struct web *w);

static void connection_become(struct connection *c, enum connection_state state)
{
	if (c->state == READY)
		TAILQ_REMOVE(&c->web->ready, c, ready_link);
	c->state = state;
	if (state == READY)
		TAILQ_INSERT_TAIL(&c->web->ready, c, ready_link);
}

/* Not to be called by what evhttp calls. */
static void connection_free(struct connection *c)
{
	struct web *w = c->web;

	TAILQ_REMOVE(&w->connections, c, link);
	w->count--;
	connection_become(c, ENDING);
	if (w->next == c)
		w->next = NULL;
	if (c->http)
		evhttp_free(c->http);
	if (c->fd >= 0)
		close(c->fd);
	if (c->stall)
		event_free(c->stall);
	free(c);
}

/* Frees it in another turn of the loop. */
static void connection_end(struct connection *c, time_t seconds)
{
	const struct timeval limit = {.tv_sec = seconds};

	connection_become(c, ENDING);
	event_add(c->stall, &limit);
}

/* ---- answers ---------------------------------------------------------- */

static void connection_answer(struct connection *c, int status,
    const char *type, const char *body, size_t len)
{
	const struct timeval limit = {.tv_sec = WEB_STALL_S};

	connection_become(c, ANSWERING);
	event_add(c->stall, &limit);
	if (!answer_send(c->req, status, type, body, len))
		connection_end(c, 0);
	else /* Who has said all may still listen; no more is taken in. */
		bufferevent_disable(c->bev, EV_READ);
}

static void connection_say(struct connection *c, int status, const char *text)
{
	connection_answer(
	    c, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void connection_send(struct connection *c, const struct web_kept *k)
{
	connection_answer(c, 200, k->kind->type, k->text.data, k->text.len);
}

/* ---- documents -------------------------------------------------------- */

static void making_end(struct web *w)
{
	document_reset(&w->mk);
	w->making = NULL;
}

static struct web_kept *kept_find(
    struct web *w, const char *path, uint64_t now_us)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct web_kept *k = &w->kept[i];

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
	struct web_kept *k = &w->kept[0];

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
	const char *name, *path = c->path;
	const struct document_kind *kind = document_find(path, &name);
	struct web_kept *k = kept_find(w, path, now_us);
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
		connection_say(
		    c, 503, "forefetchd does not have enough memory.\n");
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

/* Answers at once whatever asks for no document. */
static void connection_serve(struct connection *c, const struct http_request *r)
{
	struct web *w = c->web;
	const struct page_file *file = page_find(c->path);
	enum evhttp_cmd_type method = evhttp_request_get_command(c->req);
	const char *name;

	if (!request_names_us(r, (const char *const *)w->names, w->n)) {
		connection_say(c, 403,
		    "forefetchd answers here only requests for an IP address, "
		    "for localhost, for this machine's host name, or for a "
		    "name in `metrics_names` of its configuration, so that no "
		    "web site can make your browser ask.\n");
	} else if (request_is_foreign(r)) {
		connection_say(c, 403,
		    "forefetchd does not answer requests from pages of other "
		    "sites.\n");
	} else if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		connection_say(c, 405, "Nothing can be changed here.\n");
	} else if (file) {
		connection_answer(c, 200, file->type, file->data, file->len);
	} else if (!document_find(c->path, &name)) {
		connection_say(c, 404,
		    "There are / (a page) and /metrics (for Prometheus).\n");
	} else {
		connection_become(c, READY);
		web_turn(w);
	}
}

/* evhttp has sent the answer, or failed to. */
static void connection_on_close(struct evhttp_connection *evcon, void *arg)
{
	(void)evcon;
	connection_end(arg, 1);
}

/* A request is whole. One that is none was answered by evhttp, by 400. */
static void connection_on_request(struct evhttp_request *req, void *arg)
{
	struct connection *c = arg;
	const char *uri = evhttp_request_get_uri(req);
	size_t len = strcspn(uri, "?");
	struct http_request r;

	if (!c->bev)
		return; /* connection_on_accept() has ended it */
	/* evhttp would not close behind the answer. */
	if (evhttp_request_get_command(req) == EVHTTP_REQ_CONNECT) {
		connection_end(c, 0);
		return;
	}
	event_del(c->stall);
	c->req = req;
	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(req), connection_on_close, c);
	/* A long path is none of ours, but no error in the request. */
	snprintf(c->path, sizeof(c->path), "%.*s", (int)len,
	    len < sizeof(c->path) ? uri : "?");
	if (*uri != '/' ||
	    !request_read(evhttp_request_get_input_headers(req), &r))
		connection_say(c, 400, "This is not an HTTP/1 request.\n");
	else
		connection_serve(c, &r);
}

static void connection_on_stall(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	connection_free(arg);
}

/* ---- accepting -------------------------------------------------------- */

/* An answer is queued, behind which evhttp will close: the kernel would reset
 * the connection if there were more bytes of the client, and with them the
 * answer might get lost. So one descriptor stays open. */
static void connection_on_output(
    struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	(void)out;
	if (info->n_added == 0)
		return;
	if (c->fd < 0)
		c->fd = fcntl(bufferevent_getfd(c->bev), F_DUPFD_CLOEXEC, 0);
	/* There may be "100 Continue" before the answer. Behind the answer to a
	 * CONNECT that it does not understand, evhttp would go on. */
	if (info->orig_size == 0 && ++c->outputs > 2)
		connection_end(c, 0);
}

/* evhttp has accepted the connection, and asks for its buffers. */
static struct bufferevent *connection_on_accept(
    struct event_base *base, void *arg)
{
	const struct timeval limit = {.tv_sec = WEB_STALL_S};
	struct connection *c = arg;

	c->web->next = NULL;
	evconnlistener_disable(c->listener);
	event_add(c->stall, &limit);
	c->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (c->bev) {
		bufferevent_setwatermark(c->bev, EV_READ, 0, READ_MAX);
		evbuffer_add_cb(
		    bufferevent_get_output(c->bev), connection_on_output, c);
	} else {
		/* evhttp goes on with a bufferevent of its own. */
		connection_end(c, 0);
	}
	return c->bev;
}

/* There are no descriptors, maybe: web_on_pause() tries again. */
static void connection_on_accept_error(struct evconnlistener *l, void *http)
{
	(void)http;
	evconnlistener_disable(l);
}

/* One that accepts the next client; NULL without memory. */
static struct connection *connection_new(struct web *w)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->web = w;
	c->fd = -1;
	TAILQ_INSERT_TAIL(&w->connections, c, link);
	w->count++;
	c->stall = evtimer_new(w->base, connection_on_stall, c);
	c->http = evhttp_new(w->base);
	c->listener = evconnlistener_new(w->base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_EXEC, 0, evconnlistener_get_fd(w->socket));
	if (!c->stall || !c->http || !c->listener ||
	    !evhttp_bind_listener(c->http, c->listener)) {
		if (c->listener)
			evconnlistener_free(c->listener);
		connection_free(c);
		return NULL;
	}
	evconnlistener_set_error_cb(c->listener, connection_on_accept_error);
	evhttp_set_bevcb(c->http, connection_on_accept, c);
	evhttp_set_gencb(c->http, connection_on_request, c);
	evhttp_set_allowed_methods(c->http, UINT16_MAX); /* for a 405 */
	evhttp_set_max_headers_size(c->http, REQUEST_MAX);
	evhttp_set_max_body_size(c->http, REQUEST_BODY_MAX);
	return c;
}

static bool give_way(struct web *w, enum connection_state state)
{
	struct connection *c;

	TAILQ_FOREACH (c, &w->connections, link) {
		if (c->state == state) {
			connection_free(c);
			return true;
		}
	}
	return false;
}

/* Whether there is room for one more: who has its answer gives way, and who has
 * not asked anything. */
static bool make_room(struct web *w)
{
	return w->count < WEB_CONNECTIONS_MAX || give_way(w, ENDING) ||
	       give_way(w, READING);
}

/* Has one connection accepted; the timer allows the next one. */
static void web_on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval turn = clock_timeval(ACCEPT_US);
	const struct timeval backoff = clock_timeval(BACKOFF_US);
	struct web *w = arg;

	(void)fd;
	(void)what;
	w->next = make_room(w) ? connection_new(w) : NULL;
	evtimer_add(w->pause, w->next ? &turn : &backoff);
}

static void web_on_pause(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval backoff = clock_timeval(BACKOFF_US);
	struct web *w = arg;

	(void)fd;
	(void)what;
	if (w->next) {
		connection_free(w->next);
		evtimer_add(w->pause, &backoff);
	} else {
		event_add(w->acceptable, NULL);
	}
}

/* ---- making one ------------------------------------------------------- */

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
	bool v6 = addr->sa_family == AF_INET6;
	unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC |
			 LEV_OPT_REUSEABLE | LEV_OPT_DISABLED |
			 (v6 ? LEV_OPT_BIND_IPV6ONLY : 0);

	w->socket =
	    evconnlistener_new_bind(w->base, NULL, NULL, flags, BACKLOG, addr,
		v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	if (!w->socket)
		return false;
	w->acceptable = event_new(w->base, evconnlistener_get_fd(w->socket),
	    EV_READ, web_on_accept, w);
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
	if (w->socket)
		evconnlistener_free(w->socket);
	free(w);
}
