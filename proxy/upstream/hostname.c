/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A question to the resolver, and the thread that waits for its answer.
 * resolve.c asks. The thread is detached and touches nothing but `struct
 * shared`: the loop may have given the question up, and freed all else, long
 * before a name server answers. */
#include "upstream/hostname.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

/* The thread's stack, for whatever modules nsswitch.conf names; only what is
 * used takes memory. */
enum { STACK_BYTES = 1 << 20 };

static const struct addrinfo hints = {
    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
static const struct addrinfo numeric_hints = {.ai_family = AF_UNSPEC,
    .ai_socktype = SOCK_STREAM,
    .ai_flags = AI_NUMERICHOST};

/* State that both threads share; the second of them to end frees it. */
struct shared {
	atomic_int users;
	int efd; /* an eventfd, readable when the answer is there */
	/* The answer is there: from then on the rest is the loop's. */
	atomic_bool done;
	int err, sys;
	struct addrinfo *list;
	char host[];
};

struct hostname {
	struct shared *shared;
	struct event *ev;
	hostname_cb cb;
	void *arg;
};

static void shared_unref(struct shared *s)
{
	if (atomic_fetch_sub(&s->users, 1) > 1)
		return;
	if (s->list)
		freeaddrinfo(s->list);
	if (s->efd >= 0)
		close(s->efd);
	free(s);
}

static struct shared *shared_new(const char *host)
{
	size_t len = strlen(host) + 1;
	struct shared *s = calloc(1, sizeof(*s) + len);

	if (!s)
		return NULL;
	atomic_init(&s->users, 1);
	atomic_init(&s->done, false);
	memcpy(s->host, host, len);
	s->efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->efd >= 0)
		return s;
	shared_unref(s);
	return NULL;
}

/* In the thread: waits for the answer, and wakes the loop. */
static void *hostname_thread(void *arg)
{
	static const uint64_t one = 1;
	struct shared *s = arg;

	s->err = getaddrinfo(s->host, NULL, &hints, &s->list);
	s->sys = errno;
	if (s->err)
		s->list = NULL;
	atomic_store(&s->done, true);
	if (write(s->efd, &one, sizeof(one)) < 0)
		abort();
	shared_unref(s);
	return NULL;
}

/* Starts the thread; 0 or an errno. Signals are for the loop, so the thread is
 * made under a mask of all, which it inherits. */
static int start_thread(struct shared *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&s->users, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, hostname_thread, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		shared_unref(s);
	return rc;
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct hostname *h = arg;
	struct shared *s = h->shared;
	hostname_cb cb = h->cb;
	void *cb_arg = h->arg;

	(void)fd;
	(void)what;
	if (!atomic_load(&s->done))
		return;
	event_free(h->ev);
	free(h);
	cb(cb_arg, s->err, s->sys, s->list);
	shared_unref(s);
}

static struct hostname *hostname_new(
    struct event_base *base, const char *host, hostname_cb cb, void *arg)
{
	struct hostname *h = calloc(1, sizeof(*h));
	int rc = ENOMEM;

	if (!h)
		return NULL;
	h->cb = cb;
	h->arg = arg;
	h->shared = shared_new(host);
	if (h->shared)
		h->ev = event_new(
		    base, h->shared->efd, EV_READ | EV_PERSIST, on_answer, h);
	if (h->ev && event_add(h->ev, NULL) == 0)
		rc = start_thread(h->shared);
	if (rc == 0)
		return h;
	hostname_cancel(h);
	errno = rc;
	return NULL;
}

struct hostname *hostname_ask(
    struct event_base *base, const char *host, hostname_cb cb, void *arg)
{
	struct addrinfo *list = NULL;
	struct hostname *h;
	int err = getaddrinfo(host, NULL, &numeric_hints, &list);

	if (err == 0) {
		cb(arg, 0, 0, list);
		freeaddrinfo(list);
		return NULL;
	}
	h = hostname_new(base, host, cb, arg);
	if (!h)
		cb(arg, EAI_SYSTEM, errno, NULL);
	return h;
}

void hostname_cancel(struct hostname *h)
{
	if (!h)
		return;
	if (h->ev)
		event_free(h->ev);
	if (h->shared)
		shared_unref(h->shared);
	free(h);
}
