/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server that lies as it is told. Commands are arrays of strings, so the
 * reader of libhiredis reads them as well. */
#include "engine/fake_engine.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <hiredis/hiredis.h>

enum {
	SAYINGS = 32,
	/* It can put so much on its way within one turn of the loop; the kernel
	 * doubles what a socket is given. */
	SEND_BYTES = 208 << 10,
};

struct saying {
	char command[32];
	const char *bytes; /* NULL: nothing */
	size_t len;
	bool said;
	unsigned asked;
};

struct peer {
	TAILQ_ENTRY(peer) link;
	struct fake_engine *f;
	struct bufferevent *bev;
	redisReader *reader;
	size_t sent;
};

struct fake_engine {
	struct event_base *base;
	struct evconnlistener *listener, *path_listener;
	TAILQ_HEAD(, peer) peers;
	struct saying sayings[SAYINGS];
	const char *greeting;
	size_t greeting_len;
	size_t cut;
	bool hangs;
	unsigned connections;
	uint16_t port;
	char url[64], path[64], path_url[96];
};

static const struct {
	const char *command, *bytes;
} honest[] = {
    {"AUTH", "+OK\r\n"},
    {"INFO", "$22\r\nredis_version:7.0.15\r\n\r\n"},
    {"COMMAND INFO", "*3\r\n*0\r\n*0\r\n*0\r\n"},
    {"CLUSTER MYID", "-ERR This instance has cluster support disabled\r\n"},
    {"CLUSTER SLOTS", "-ERR This instance has cluster support disabled\r\n"},
    {"PING", "+PONG\r\n"},
    {"GET", "$-1\r\n"},
    {"SET", "+OK\r\n"},
    {"ASKING", "+OK\r\n"},
    {"UNLINK", ":1\r\n"},
    {"DEL", ":1\r\n"},
    {"SCAN", "*2\r\n$1\r\n0\r\n*0\r\n"},
};

static struct saying *saying_of(struct fake_engine *f, const char *command)
{
	for (int i = 0; i < SAYINGS; i++) {
		struct saying *s = &f->sayings[i];

		if (s->command[0] == '\0')
			(void)snprintf(
			    s->command, sizeof(s->command), "%s", command);
		if (strcasecmp(s->command, command) == 0)
			return s;
	}
	abort();
}

static void peer_free(struct peer *p)
{
	TAILQ_REMOVE(&p->f->peers, p, link);
	bufferevent_free(p->bev);
	redisReaderFree(p->reader);
	free(p);
}

/* False where the connection was cut at that. */
static bool peer_send(struct peer *p, const char *bytes, size_t len)
{
	size_t cut = p->f->cut;

	if (cut && p->sent + len >= cut) {
		(void)send(bufferevent_getfd(p->bev), bytes, cut - p->sent,
		    MSG_NOSIGNAL);
		peer_free(p);
		return false;
	}
	p->sent += len;
	if (cut)
		return send(bufferevent_getfd(p->bev), bytes, len,
			   MSG_NOSIGNAL) >= 0;
	bufferevent_write(p->bev, bytes, len);
	return true;
}

static bool peer_answer(struct peer *p, const redisReply *r)
{
	char name[32];
	struct saying *s;

	if (r->type != REDIS_REPLY_ARRAY || r->elements == 0)
		return false;
	(void)snprintf(name, sizeof(name), "%s", r->element[0]->str);
	if (strcasecmp(name, "CLUSTER") == 0 ||
	    strcasecmp(name, "COMMAND") == 0)
		(void)snprintf(name, sizeof(name), "%s %s", r->element[0]->str,
		    r->element[1]->str);
	s = saying_of(p->f, name);
	s->asked++;
	if (s->said)
		return !s->bytes || peer_send(p, s->bytes, s->len);
	for (size_t i = 0; i < sizeof(honest) / sizeof(honest[0]); i++)
		if (strcasecmp(honest[i].command, name) == 0)
			return peer_send(
			    p, honest[i].bytes, strlen(honest[i].bytes));
	return peer_send(p, "-ERR unknown command\r\n", 22);
}

static void peer_answer_all(struct peer *p)
{
	void *command = NULL;
	bool goes_on = true;

	while (goes_on &&
	       redisReaderGetReply(p->reader, &command) == REDIS_OK &&
	       command) {
		goes_on = peer_answer(p, command);
		freeReplyObject(command);
	}
}

static void peer_on_read(struct bufferevent *bev, void *arg)
{
	struct peer *p = arg;
	char buf[4096];
	size_t n;

	while ((n = bufferevent_read(bev, buf, sizeof(buf))) > 0)
		(void)redisReaderFeed(p->reader, buf, n);
	if (!p->f->hangs)
		peer_answer_all(p);
}

static void peer_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		peer_free(arg);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *from, int len, void *arg)
{
	struct fake_engine *f = arg;
	struct peer *p = calloc(1, sizeof(*p));

	static const int on = 1, bytes = SEND_BYTES;

	(void)from;
	(void)len;
	/* An acknowledgement would be waited for in real time. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (listener == f->path_listener)
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	f->connections++;
	p->f = f;
	p->reader = redisReaderCreate();
	p->bev = bufferevent_socket_new(f->base, fd, BEV_OPT_CLOSE_ON_FREE);
	TAILQ_INSERT_TAIL(&f->peers, p, link);
	bufferevent_setcb(p->bev, peer_on_read, NULL, peer_on_event, p);
	(void)bufferevent_set_max_single_write(p->bev, 2 * SEND_BYTES);
	bufferevent_enable(p->bev, EV_READ | EV_WRITE);
	if (f->greeting)
		(void)peer_send(p, f->greeting, f->greeting_len);
}

static void listen_at_path(struct fake_engine *f)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	(void)snprintf(f->path, sizeof(f->path), "/tmp/fake_engine.%d.%u",
	    (int)getpid(), f->port);
	(void)snprintf(
	    f->path_url, sizeof(f->path_url), "redis+unix://%s", f->path);
	strcpy(at.sun_path, f->path);
	f->path_listener = evconnlistener_new_bind(f->base, on_accept, f,
	    LEV_OPT_CLOSE_ON_FREE, 64, (void *)&at, sizeof(at));
	assert(f->path_listener);
}

struct fake_engine *fake_new(struct event_base *base)
{
	struct fake_engine *f = calloc(1, sizeof(*f));
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	f->base = base;
	TAILQ_INIT(&f->peers);
	f->listener = evconnlistener_new_bind(base, on_accept, f,
	    LEV_OPT_CLOSE_ON_FREE, 64, (void *)&at, sizeof(at));
	assert(f->listener);
	if (getsockname(evconnlistener_get_fd(f->listener), (void *)&at, &len))
		abort();
	f->port = ntohs(at.sin_port);
	(void)snprintf(f->url, sizeof(f->url), "redis://127.0.0.1:%u", f->port);
	listen_at_path(f);
	return f;
}

void fake_close_all(struct fake_engine *f)
{
	struct peer *p;

	while ((p = TAILQ_FIRST(&f->peers)) != NULL)
		peer_free(p);
}

void fake_free(struct fake_engine *f)
{
	fake_close_all(f);
	evconnlistener_free(f->listener);
	evconnlistener_free(f->path_listener);
	unlink(f->path);
	free(f);
}

uint16_t fake_port(const struct fake_engine *f)
{
	return f->port;
}

const char *fake_url(const struct fake_engine *f)
{
	return f->url;
}

const char *fake_path_url(const struct fake_engine *f)
{
	return f->path_url;
}

void fake_say(
    struct fake_engine *f, const char *command, const char *bytes, size_t len)
{
	struct saying *s = saying_of(f, command);

	s->said = true;
	s->bytes = bytes;
	s->len = len;
}

void fake_say_text(struct fake_engine *f, const char *command, const char *text)
{
	fake_say(f, command, text, strlen(text));
}

void fake_forget(struct fake_engine *f, const char *command)
{
	saying_of(f, command)->said = false;
}

void fake_greet_with(struct fake_engine *f, const char *bytes, size_t len)
{
	f->greeting = bytes;
	f->greeting_len = len;
}

void fake_cut_after(struct fake_engine *f, size_t bytes)
{
	f->cut = bytes;
}

void fake_hang(struct fake_engine *f, bool hang)
{
	struct peer *p, *next;

	f->hangs = hang;
	for (p = TAILQ_FIRST(&f->peers); !hang && p; p = next) {
		next = TAILQ_NEXT(p, link);
		peer_answer_all(p);
	}
}

void fake_send(struct fake_engine *f, const char *bytes, size_t len)
{
	struct peer *p, *next;

	for (p = TAILQ_FIRST(&f->peers); p; p = next) {
		next = TAILQ_NEXT(p, link);
		(void)peer_send(p, bytes, len);
	}
}

unsigned fake_asked(const struct fake_engine *f, const char *command)
{
	for (int i = 0; i < SAYINGS; i++)
		if (strcasecmp(f->sayings[i].command, command) == 0)
			return f->sayings[i].asked;
	return 0;
}

unsigned fake_connections(const struct fake_engine *f)
{
	return f->connections;
}

unsigned fake_open(const struct fake_engine *f)
{
	unsigned n = 0;
	const struct peer *p;

	TAILQ_FOREACH (p, &f->peers, link)
		n++;
	return n;
}
