/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket. A client is in one of three states:
 *
 *   reading    its bytes are read until a request is whole
 *   ready      a request is whole; reading stops, it waits for its turn
 *   answering  a response is queued; nothing is read until it has left
 *
 * So a client holds at most one request and one response in memory. Long work
 * is done in parts: after each, the client goes behind the others that are
 * ready, with its intermediate result. A client waits if too much of such work
 * is under way already. One turn is given every TURN_US, in the order of the
 * requests, and one client is accepted in that time. That bounds what control
 * costs, so its events can have the highest priority: a daemon that is too busy
 * for anything else still says why. A timer closes a client that does not go on
 * with half a request, an unread response, or a file in parts for
 * CONTROL_STALL_S, and one that asks nothing for CONTROL_IDLE_S.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "config/places.h"
#include "control/control.h"
#include "control/control_listen.h"
#include "control/control_reply.h"
#include "explain/tracer.h"
#include "hint/hint.h"
#include "warm/warm.h"

#define LENGTH_BYTES 4
#define TURN_US      5000
#define PART_US      1000 /* between two parts of long work */
#define BACKOFF_S    1    /* no descriptors: accept again after so long */
#define PRIORITY     0    /* of libevent: the highest */

enum client_state { CLIENT_READING, CLIENT_READY, CLIENT_ANSWERING };

struct client {
	struct control *control;
	struct bufferevent *bev;
	struct event *stall;
	struct control_peer peer;
	struct control_session session;
	enum client_state state;
	bool rests; /* what is pending is CONTROL_IDLE_S */
	bool waits; /* though ready: for the end of others' work */
	TAILQ_ENTRY(client) link;
	TAILQ_ENTRY(client) ready_link; /* if CLIENT_READY */
};

TAILQ_HEAD(client_list, client);

struct control {
	struct event_base *base;
	const struct control_ops *ops;
	void *ctx;
	struct control_socket socket;
	struct event *acceptable;
	struct event *pause;        /* pending: no client is accepted */
	struct event *turn;         /* pending until the next turn may begin */
	struct client_list clients; /* who has asked last, last */
	struct client_list ready;
	size_t clients_len;
};

/* Some work is over, so those who waited for that may begin theirs. */
static void control_release(struct control *c)
{
	struct client *cl;

	TAILQ_FOREACH (cl, &c->ready, ready_link)
		cl->waits = false;
}

/* Closes a client and ends everything that it has begun: walks, traces, hints
 * and files belong to a connection. */
static void client_free(struct client *cl)
{
	struct control *c = cl->control;

	if (cl->session.work)
		control_release(c);

	TAILQ_REMOVE(&c->clients, cl, link);
	c->clients_len--;
	if (cl->state == CLIENT_READY)
		TAILQ_REMOVE(&c->ready, cl, ready_link);
	if (cl->stall)
		event_free(cl->stall);
	if (cl->bev)
		bufferevent_free(cl->bev);
	if (cl->session.walk)
		warm_end(cl->session.walk);
	control_reply_forget(&cl->session);
	tracer_end(cl->session.trace);
	hint_end(cl->session.hints);
	free(cl->peer.groups);
	free(cl);
}

/* Begins the time in which a client amid a question or an answer must go on. */
static void client_watch(struct client *cl)
{
	const struct timeval limit = {.tv_sec = CONTROL_STALL_S};

	if (cl->rests || !evtimer_pending(cl->stall, NULL))
		evtimer_add(cl->stall, &limit);
	cl->rests = false;
}

/* Begins the longer time of a client that may ask something, or not. */
static void client_rest(struct client *cl)
{
	const struct timeval limit = {.tv_sec = CONTROL_IDLE_S};

	cl->rests = true;
	evtimer_add(cl->stall, &limit);
}

/* Queue a response. The client may be gone afterwards. */
static void client_answer(struct client *cl, const uint8_t *res, size_t len)
{
	uint8_t head[LENGTH_BYTES] = {(uint8_t)(len >> 24),
	    (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};
	struct evbuffer *out = bufferevent_get_output(cl->bev);

	cl->state = CLIENT_ANSWERING;
	client_watch(cl);
	if (evbuffer_expand(out, sizeof(head) + len) ||
	    evbuffer_add(out, head, sizeof(head)) ||
	    evbuffer_add(out, res, len))
		client_free(cl);
}

/* The length of the message at the front of `in`; false if it is not there. */
static bool message_length(struct evbuffer *in, size_t *len)
{
	uint8_t head[LENGTH_BYTES];

	if (evbuffer_copyout(in, head, sizeof(head)) < (ssize_t)sizeof(head))
		return false;
	*len = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
	       (size_t)head[2] << 8 | head[3];
	return true;
}

/* Sets what this client may begin, by what the others have under way. */
static void client_set_limits(struct client *cl)
{
	static const struct places works_let = {
	    CONTROL_WORKS_MAX, CONTROL_WORKS_KEPT, CONTROL_WORKS_UID_MAX};
	static const struct places blobs_let = {
	    CONTROL_BLOBS_MAX, CONTROL_BLOBS_KEPT, CONTROL_BLOBS_UID_MAX};
	unsigned works = 0, own_works = 0, blobs = 0, own_blobs = 0;
	struct control_session *s = &cl->session;
	const struct client *x;

	TAILQ_FOREACH (x, &cl->control->clients, link) {
		bool own = x->peer.uid == cl->peer.uid;

		if (x == cl)
			continue;
		works += x->session.work != NULL;
		own_works += own && x->session.work;
		blobs += x->session.blob != NULL;
		own_blobs += own && x->session.blob;
	}
	s->may_work = places_let(&works_let, cl->peer.uid, works, own_works);
	s->may_carry = places_let(&blobs_let, cl->peer.uid, blobs, own_blobs);
}

/* Answer its request, or close it where that failed. */
static void client_finish(
    struct client *cl, size_t len, uint8_t *res, size_t res_len, int error)
{
	if (error) {
		client_free(cl);
		return;
	}
	TAILQ_REMOVE(&cl->control->ready, cl, ready_link);
	cl->state = CLIENT_READING;
	evbuffer_drain(bufferevent_get_input(cl->bev), LENGTH_BYTES + len);
	client_answer(cl, res, res_len);
	free(res);
}

/* Give a client its turn: answer its request, which is whole. False where that
 * takes more turns; the other clients have theirs first. */
static bool client_serve(struct client *cl)
{
	struct evbuffer *in = bufferevent_get_input(cl->bev);
	struct control *c = cl->control;
	bool worked = cl->session.work != NULL;
	size_t len = 0, res_len = 0;
	uint8_t *req, *res = NULL;
	int error = -ENOMEM;

	assert(cl->state == CLIENT_READY);
	client_set_limits(cl);
	message_length(in, &len);
	req = evbuffer_pullup(in, (ssize_t)(LENGTH_BYTES + len));
	if (req)
		error = control_reply_build(req + LENGTH_BYTES, len, &cl->peer,
		    &cl->session, c->ops, c->ctx, &res, &res_len);
	if (worked && !cl->session.work)
		control_release(c);
	if (error != -EAGAIN) {
		client_finish(cl, len, res, res_len, error);
		return true;
	}
	cl->waits = !cl->session.work;
	TAILQ_REMOVE(&c->ready, cl, ready_link);
	TAILQ_INSERT_TAIL(&c->ready, cl, ready_link);
	return false;
}

/* Serve the first client that is ready, unless the last turn was just now. */
static void control_turn(struct control *c)
{
	struct timeval rest = {.tv_usec = TURN_US};
	struct client *cl;

	if (evtimer_pending(c->turn, NULL))
		return;
	TAILQ_FOREACH (cl, &c->ready, ready_link)
		if (!cl->waits)
			break;
	if (!cl)
		return;
	if (!client_serve(cl))
		rest.tv_usec = PART_US;
	/* the rest counts from the end of a long turn */
	event_base_update_cache_time(c->base);
	evtimer_add(c->turn, &rest);
}

static void control_on_turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	control_turn(arg);
}

/*
 * Is a request whole? The client may be gone afterwards. It is not read from
 * until that is answered, so it keeps one request and what came with its end.
 */
static void client_check(struct client *cl)
{
	struct evbuffer *in = bufferevent_get_input(cl->bev);
	struct control *c = cl->control;
	size_t have = evbuffer_get_length(in), len;

	if (cl->state != CLIENT_READING || have == 0)
		return;
	if (!message_length(in, &len) ||
	    (len <= CONTROL_REQUEST_MAX && have < LENGTH_BYTES + len)) {
		client_watch(cl);
		return;
	}
	if (len > CONTROL_REQUEST_MAX) {
		client_free(cl);
		return;
	}
	evtimer_del(cl->stall);
	bufferevent_disable(cl->bev, EV_READ);
	TAILQ_REMOVE(&c->clients, cl, link);
	TAILQ_INSERT_TAIL(&c->clients, cl, link);
	cl->state = CLIENT_READY;
	TAILQ_INSERT_TAIL(&c->ready, cl, ready_link);
	control_turn(c);
}

static void client_on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	client_check(arg);
}

/* The response has left; what came in meanwhile is next. */
static void client_on_written(struct bufferevent *bev, void *arg)
{
	struct client *cl = arg;

	if (cl->state != CLIENT_ANSWERING)
		return;
	evtimer_del(cl->stall);
	cl->state = CLIENT_READING;
	if (bufferevent_enable(bev, EV_READ) < 0) {
		client_free(cl);
		return;
	}
	/* A file in parts takes room from others, so it must go on. */
	if (cl->session.blob)
		client_watch(cl);
	else
		client_rest(cl);
	client_check(cl);
}

static void client_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	client_free(arg);
}

static bool client_has_begun(const struct client *cl)
{
	const struct control_session *s = &cl->session;

	return s->walk || s->trace || s->hints || s->blob || s->work;
}

static void client_on_stall(evutil_socket_t fd, short what, void *arg)
{
	struct client *cl = arg;

	(void)fd;
	(void)what;
	if (cl->rests && client_has_begun(cl))
		client_rest(cl);
	else
		client_free(cl);
}

/* The peer's supplementary groups; none if they cannot be had. */
static void peer_groups(int fd, struct control_peer *peer)
{
	socklen_t len = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 ||
	    errno != ERANGE)
		return;
	peer->groups = malloc(len);
	if (!peer->groups)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &len)) {
		free(peer->groups);
		peer->groups = NULL;
		return;
	}
	peer->groups_len = len / sizeof(gid_t);
}

/* Close `fd` if there is no memory. */
static struct client *client_new(
    struct control *c, int fd, const struct ucred *cred)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl) {
		close(fd);
		return NULL;
	}
	cl->control = c;
	TAILQ_INSERT_TAIL(&c->clients, cl, link);
	c->clients_len++;
	cl->peer.pid = cred->pid;
	cl->peer.uid = cred->uid;
	cl->peer.gid = cred->gid;
	peer_groups(fd, &cl->peer);
	cl->stall = evtimer_new(c->base, client_on_stall, cl);
	cl->bev = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!cl->bev)
		close(fd);
	if (!cl->bev || !cl->stall) {
		client_free(cl);
		return NULL;
	}
	bufferevent_priority_set(cl->bev, PRIORITY);
	bufferevent_setcb(
	    cl->bev, client_on_read, client_on_written, client_on_event, cl);
	return cl;
}

static unsigned control_count(const struct control *c, uid_t uid)
{
	const struct client *cl;
	unsigned n = 0;

	TAILQ_FOREACH (cl, &c->clients, link)
		n += cl->peer.uid == uid;
	return n;
}

/* Of the user who has most clients, the one who has asked nothing for longest,
 * and rather one who has begun nothing; NULL where nobody has more than `more`.
 */
static struct client *control_give_up(const struct control *c, unsigned more)
{
	struct client *cl, *found = NULL;
	uid_t largest = 0;
	unsigned n;

	TAILQ_FOREACH (cl, &c->clients, link) {
		if (places_owner(cl->peer.uid))
			continue;
		n = control_count(c, cl->peer.uid);
		if (n <= more)
			continue;
		more = n;
		largest = cl->peer.uid;
	}
	TAILQ_FOREACH (cl, &c->clients, link) {
		if (largest == 0 || cl->peer.uid != largest)
			continue;
		if (!client_has_begun(cl))
			return cl;
		found = found ? found : cl;
	}
	return found;
}

/* Whether there is a place for one more, or somebody gives one up. */
static bool control_make_room(struct control *c, uid_t uid)
{
	static const struct places let = {
	    CONTROL_CLIENTS_MAX, CONTROL_CLIENTS_KEPT, CONTROL_UID_MAX};
	unsigned own = control_count(c, uid);
	struct client *cl;

	if (places_let(&let, uid, (unsigned)c->clients_len, own))
		return true;
	if (!places_owner(uid) && own >= CONTROL_UID_MAX)
		return false;
	/* Who has one less afterwards still has no less than this one. */
	cl = control_give_up(c, places_owner(uid) ? 1 : own + 1);
	if (cl)
		client_free(cl);
	return cl != NULL;
}

/* Say why, as far as the socket's buffer takes it at once, and close. */
static void control_refuse(int fd)
{
	uint8_t *res, msg[256] = {0};
	size_t len;

	if (control_reply_busy(&res, &len) == 0) {
		assert(len < sizeof(msg) - LENGTH_BYTES);
		msg[LENGTH_BYTES - 1] = (uint8_t)len;
		memcpy(msg + LENGTH_BYTES, res, len);
		(void)!send(
		    fd, msg, LENGTH_BYTES + len, MSG_DONTWAIT | MSG_NOSIGNAL);
		free(res);
	}
	close(fd);
}

static void control_admit(struct control *c, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct client *cl;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len)) {
		close(fd);
		return;
	}
	if (!control_make_room(c, cred.uid)) {
		control_refuse(fd);
		return;
	}
	cl = client_new(c, fd, &cred);
	if (!cl)
		return;
	client_rest(cl);
	if (bufferevent_enable(cl->bev, EV_READ | EV_WRITE) < 0)
		client_free(cl);
}

/* One client, and then a pause. */
static void control_on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval turn = {.tv_usec = TURN_US};
	const struct timeval backoff = {.tv_sec = BACKOFF_S};
	struct control *c = arg;
	int client;

	(void)what;
	client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (client < 0 &&
	    (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return;
	event_del(c->acceptable);
	evtimer_add(c->pause, client < 0 ? &backoff : &turn);
	if (client >= 0)
		control_admit(c, client);
}

static void control_on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;

	(void)fd;
	(void)what;
	event_add(c->acceptable, NULL);
}

static int control_watch(struct control *c)
{
	c->acceptable = event_new(
	    c->base, c->socket.fd, EV_READ | EV_PERSIST, control_on_accept, c);
	c->pause = evtimer_new(c->base, control_on_pause, c);
	c->turn = evtimer_new(c->base, control_on_turn, c);
	if (!c->acceptable || !c->pause || !c->turn)
		return -ENOMEM;
	event_priority_set(c->acceptable, PRIORITY);
	event_priority_set(c->pause, PRIORITY);
	event_priority_set(c->turn, PRIORITY);
	return event_add(c->acceptable, NULL) ? -ENOMEM : 0;
}

struct control *control_new(struct event_base *base, const char *path,
    const struct control_ops *ops, void *ctx, char *err, size_t errlen)
{
	struct control *c = calloc(1, sizeof(*c));
	int error;

	if (!c) {
		snprintf(err, errlen, "out of memory");
		return NULL;
	}
	c->base = base;
	c->ops = ops;
	c->ctx = ctx;
	TAILQ_INIT(&c->clients);
	TAILQ_INIT(&c->ready);
	error = control_socket_open(&c->socket, path, err, errlen);
	if (!error) {
		error = control_watch(c);
		if (error)
			snprintf(err, errlen, "out of memory");
	}
	if (error) {
		control_free(c);
		errno = -error;
		return NULL;
	}
	return c;
}

static bool has_begun(const struct control_session *s, const char *name)
{
	return (s->walk && s->walk_of == name) ||
	       (s->trace && s->trace_of == name) ||
	       (s->hints && s->hints_of == name);
}

void control_end_server(struct control *c, const char *name)
{
	struct client *cl, *next;

	for (cl = TAILQ_FIRST(&c->clients); cl; cl = next) {
		next = TAILQ_NEXT(cl, link);
		if (has_begun(&cl->session, name))
			client_free(cl);
	}
}

void control_servers_changed(struct control *c)
{
	bool ended = false;
	struct client *cl;

	TAILQ_FOREACH (cl, &c->clients, link)
		ended |= control_reply_restart(&cl->session);
	if (ended)
		control_release(c);
}

void control_free(struct control *c)
{
	struct client *cl;

	if (!c)
		return;
	while ((cl = TAILQ_FIRST(&c->clients)))
		client_free(cl);
	if (c->turn)
		event_free(c->turn);
	if (c->pause)
		event_free(c->pause);
	if (c->acceptable)
		event_free(c->acceptable);
	control_socket_close(&c->socket);
	free(c);
}
