/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The library for hints: puts them into a queue, from which a thread sends them
 * to the daemon. It runs in programs of others, so it touches neither their
 * signals nor errno nor descriptors, and never makes them wait. It uses the
 * messages of the control socket, ctl_mount and ctl_wire.
 *
 *	add ──▶ queue ──▶ thread ──▶ control socket
 *	        (lock)    in batches; waits while the daemon has no room
 *
 * The lock is held for a few microseconds at a time, and never while the thread
 * waits for the daemon.
 */
#include "forefetch_hint.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "control/control.pb-c.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_wire.h"

#define API            __attribute__((visibility("default")))
#define SOCKET_DEFAULT "/run/forefetch/control.sock"

/* Bounds of the library: hints, streams and bytes, and times in ms. */
enum {
	QUEUE = 1024,
	BATCH = 256,
	STREAMS = 4,
	PATH_BYTES = 4096,
	BATCH_BYTES = 40 << 10,
	HINT_BYTES = 40,
	REST_MS = 50,     /* between two tries while the daemon has no room */
	AGAIN_MS = 5000,  /* until a daemon that is not there is tried again;
			   * hints are dropped meanwhile */
	MOUNTS_MS = 2000, /* the list of mounts is read again after this */
	STACK = 256 << 10,
};

/* The hints for one mount, numbered by `seq`. Only the thread uses it, except
 * for `place`, which never changes once it is set. */
struct client_stream {
	struct ctl_place place; /* its path is "" */
	int fd;
	uint64_t seq;
	bool begun;
	/* Of the socket: the program may have closed our descriptor, and opened
	 * something else under its number. */
	ino_t ino;
	uint64_t down_ms; /* when no daemon answered; 0: it does */
};

/* A hint in the queue; its path is freed by whoever takes it out. */
struct client_entry {
	struct client_stream *stream;
	char *path; /* below the mount */
	uint64_t offset, length;
};

/* The queue is a ring: `in` and `out` count hints and wrap, and a hint lies at
 * its count modulo QUEUE. */
struct forefetch_hint {
	pid_t pid;
	char *socket;
	pthread_t thread;
	pthread_mutex_t lock; /* for what follows, up to `nstreams` */
	pthread_cond_t wake;
	struct client_entry queue[QUEUE];
	unsigned in, out;
	bool ends;
	bool cancel;
	struct ctl_mounts *mounts;
	uint64_t mounts_ms; /* when they were read */
	struct client_stream streams[STREAMS];
	unsigned nstreams;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- the thread: one stream ------------------------------------------- */

/* Whether the descriptor is still the stream's socket. The program may have
 * closed all descriptors, as daemons do when they begin. */
static bool is_ours(const struct client_stream *s)
{
	struct stat st;

	return s->fd >= 0 && fstat(s->fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_ino == s->ino;
}

static void stream_reset(struct client_stream *s)
{
	if (is_ours(s))
		close(s->fd);
	s->fd = -1;
	s->begun = false;
	s->seq = 0;
}

/* Sends the request and returns the answer, which the caller frees; NULL on
 * failure, after which the next hint begins a new stream. */
static Forefetch__Response *exchange(struct forefetch_hint *h,
    struct client_stream *s, Forefetch__HintRequest *hint)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Response *res = NULL;
	Forefetch__Place place;
	struct stat st;

	/* A new connection goes on with the numbers that the hints have. */
	if (!is_ours(s)) {
		s->begun = false;
		s->fd = ctl_wire_connect(h->socket);
		if (s->fd >= 0 && fstat(s->fd, &st) == 0)
			s->ino = st.st_ino;
	}
	if (!s->begun) {
		ctl_place_fill(&s->place, &place);
		hint->place = &place;
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_HINT;
	request.hint = hint;
	if (s->fd >= 0 && ctl_wire_send(s->fd, &request) == 0 &&
	    ctl_wire_receive(s->fd, &res) == 0 &&
	    res->result_case == FOREFETCH__RESPONSE__RESULT_HINT) {
		s->begun = true;
		s->down_ms = 0;
		return res;
	}
	if (res)
		forefetch__response__free_unpacked(res, NULL);
	stream_reset(s);
	s->down_ms = now_ms();
	return NULL;
}

/* Rest, but not if there is something to do: then it returns true. */
static bool rest(struct forefetch_hint *h)
{
	struct timespec ts;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += REST_MS * 1000000L;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	pthread_mutex_lock(&h->lock);
	if (!h->ends && !h->cancel)
		pthread_cond_timedwait(&h->wake, &h->lock, &ts);
	stop = h->ends || h->cancel;
	pthread_mutex_unlock(&h->lock);
	return stop;
}

/* Sends hints until all were taken, or dropped. */
static void send_all(struct forefetch_hint *h, struct client_stream *s,
    Forefetch__Hint **list, size_t n)
{
	while (n > 0) {
		Forefetch__HintRequest hint = FOREFETCH__HINT_REQUEST__INIT;
		Forefetch__Response *res;
		uint64_t accepted;

		hint.hints = list;
		hint.n_hints = n;
		res = exchange(h, s, &hint);
		if (!res)
			return;
		accepted = res->hint->accepted;
		forefetch__response__free_unpacked(res, NULL);
		while (n > 0 && (*list)->seq <= accepted) {
			list++;
			n--;
		}
		if (n > 0 && rest(h))
			return;
	}
}

/* Tells the daemon, stream by stream, that all hints up to the last one sent
 * are void; a stream that has not begun has none there. */
static void cancel_all(struct forefetch_hint *h)
{
	for (unsigned i = 0; i < h->nstreams; i++) {
		struct client_stream *s = &h->streams[i];
		Forefetch__HintRequest hint = FOREFETCH__HINT_REQUEST__INIT;
		Forefetch__Response *res;

		if (!s->begun)
			continue;
		hint.cancel = s->seq;
		res = exchange(h, s, &hint);
		if (res)
			forefetch__response__free_unpacked(res, NULL);
	}
}

/* ---- the thread: batches ---------------------------------------------- */

/* Hints of one stream that go out in one request. */
struct batch {
	struct client_stream *stream;
	Forefetch__Hint hints[BATCH];
	Forefetch__Hint *list[BATCH];
	size_t n, bytes;
};

/* Takes from the queue as many hints as are for one stream. Called with the
 * lock. */
static void take_batch(struct forefetch_hint *h, struct batch *b)
{
	b->n = b->bytes = 0;
	while (h->out != h->in && b->n < BATCH && b->bytes < BATCH_BYTES) {
		struct client_entry *e = &h->queue[h->out % QUEUE];
		Forefetch__Hint *hint = &b->hints[b->n];

		if (b->n > 0 && e->stream != b->stream)
			return;
		b->stream = e->stream;
		forefetch__hint__init(hint);
		hint->path.data = (uint8_t *)e->path;
		hint->path.len = strlen(e->path);
		hint->offset = e->offset;
		hint->length = e->length;
		b->bytes += hint->path.len + HINT_BYTES;
		b->list[b->n++] = hint;
		h->out++;
	}
}

/* Numbers the hints and sends them, unless the daemon was found down less than
 * AGAIN_MS ago: then they are dropped, and the program goes on unhelped. */
static void send_batch(struct forefetch_hint *h, struct batch *b)
{
	bool down = b->n > 0 && b->stream->down_ms &&
		    now_ms() - b->stream->down_ms < AGAIN_MS;

	for (size_t i = 0; i < b->n && !down; i++)
		b->hints[i].seq = ++b->stream->seq;
	if (b->n > 0 && !down)
		send_all(h, b->stream, b->list, b->n);
	for (size_t i = 0; i < b->n; i++)
		free(b->hints[i].path.data);
}

static void drop_queue(struct forefetch_hint *h)
{
	while (h->out != h->in)
		free(h->queue[h->out++ % QUEUE].path);
}

/* The thread: sleeps until there is something to do, and does the waiting for
 * the daemon in the program's place. */
static void *run(void *arg)
{
	struct forefetch_hint *h = arg;
	struct batch *b = malloc(sizeof(*b));
	bool ends = false, cancel;

	while (b && !ends) {
		pthread_mutex_lock(&h->lock);
		while (h->in == h->out && !h->ends && !h->cancel)
			pthread_cond_wait(&h->wake, &h->lock);
		ends = h->ends;
		cancel = h->cancel;
		h->cancel = false;
		b->n = 0;
		if (!ends)
			take_batch(h, b);
		pthread_mutex_unlock(&h->lock);
		if (cancel && !ends)
			cancel_all(h);
		if (!ends)
			send_batch(h, b);
	}
	free(b);
	return NULL;
}

/* ---- for everybody ---------------------------------------------------- */

/* Waits are measured by the steady clock, so that setting the machine's time
 * neither ends nor prolongs them. */
static bool make_lock(struct forefetch_hint *h)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr) != 0)
		return false;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->wake, &attr);
	pthread_condattr_destroy(&attr);
	return true;
}

/* The thread blocks all signals, which are for the program's own threads. */
static bool make_thread(struct forefetch_hint *h)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&h->thread, &attr, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc == 0;
}

API struct forefetch_hint *forefetch_hint_open(const char *socket)
{
	struct forefetch_hint *h = calloc(1, sizeof(*h));
	int error = errno;

	if (!socket)
		socket = secure_getenv("FOREFETCH_HINT_SOCKET");
	if (h) {
		h->pid = getpid();
		h->socket = strdup(socket ? socket : SOCKET_DEFAULT);
		if (!h->socket || !make_lock(h) || !make_thread(h)) {
			free(h->socket);
			free(h);
			h = NULL;
		}
	}
	errno = error;
	return h;
}

/* Finds the mount of the path, and the path below it. Mounts come and go, so
 * the list is read again when it is old. Called with the lock. */
static bool find_place(
    struct forefetch_hint *h, const char *path, struct ctl_place *at)
{
	uint64_t now = now_ms();

	if (!h->mounts || now - h->mounts_ms > MOUNTS_MS) {
		ctl_mounts_free(h->mounts);
		h->mounts = ctl_mounts_load();
		h->mounts_ms = now;
	}
	return h->mounts && ctl_mounts_place(h->mounts, path, at);
}

/* Returns the stream of the mount, made if there is none; NULL where there are
 * STREAMS others. A stream lasts as long as the library's handle. */
static struct client_stream *stream_at(
    struct forefetch_hint *h, const struct ctl_place *at)
{
	struct client_stream *s;

	for (unsigned i = 0; i < h->nstreams; i++) {
		s = &h->streams[i];
		if (strcmp(s->place.listen, at->listen) == 0 &&
		    strcmp(s->place.export, at->export) == 0)
			return s;
	}
	if (h->nstreams == STREAMS)
		return NULL;
	s = &h->streams[h->nstreams++];
	s->place = *at;
	s->place.path[0] = '\0';
	s->fd = -1;
	return s;
}

/* Puts the hint into the queue, and wakes the thread; 0 or -errno, as
 * forefetch_hint_add(). Called with the lock. */
static int queue_hint(
    struct forefetch_hint *h, const char *path, struct client_entry *e)
{
	struct ctl_place at;

	if (!find_place(h, path, &at))
		return -ENODEV;
	if (h->in - h->out == QUEUE)
		return -EAGAIN;
	e->stream = stream_at(h, &at);
	if (!e->stream)
		return -ENODEV;
	e->path = strdup(at.path);
	if (!e->path)
		return -ENOMEM;
	h->queue[h->in++ % QUEUE] = *e;
	pthread_cond_signal(&h->wake);
	return 0;
}

API int forefetch_hint_add(struct forefetch_hint *h, const char *path,
    uint64_t offset, uint64_t length)
{
	struct client_entry e = {.offset = offset, .length = length};
	int error = errno, rc, cancel;

	if (h->pid != getpid())
		return -ECHILD;
	if (*path != '/' || strlen(path) >= PATH_BYTES ||
	    offset + length < offset)
		return -EINVAL;
	/* A thread that is cancelled while it reads the mounts would keep the
	 * lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&h->lock);
	rc = queue_hint(h, path, &e);
	pthread_mutex_unlock(&h->lock);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
	return rc;
}

API void forefetch_hint_cancel(struct forefetch_hint *h)
{
	int error = errno;

	if (h->pid != getpid())
		return;
	pthread_mutex_lock(&h->lock);
	drop_queue(h);
	h->cancel = true;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	errno = error;
}

API void forefetch_hint_close(struct forefetch_hint *h)
{
	int error = errno;

	/* In a child there is no thread, and the lock may be held for ever. */
	if (!h || h->pid != getpid())
		return;
	pthread_mutex_lock(&h->lock);
	h->ends = true;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	drop_queue(h);
	for (unsigned i = 0; i < h->nstreams; i++)
		stream_reset(&h->streams[i]);
	ctl_mounts_free(h->mounts);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->lock);
	free(h->socket);
	free(h);
	errno = error;
}
