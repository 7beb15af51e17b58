/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A control socket and its clients in one thread. Time is virtual: the fixture
 * replaces clock_gettime, and each step of the loop takes one millisecond of
 * it, so nothing here sleeps. A failed expectation fails the test.
 */
#ifndef FOREFETCH_TEST_CONTROL_FIXTURE_H
#define FOREFETCH_TEST_CONTROL_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/control.pb-c.h"

#define REQUEST_SIZE 64

struct arena;
struct control;
struct event_base;
struct metrics;
struct predictor;
struct pins;
struct tracer;

struct fixture {
	struct event_base *base;
	struct control *control;
	struct metrics *metrics;
	char dir[32];
	char path[256];
	char err[256];
	size_t conns;       /* clients that status lists */
	size_t servers;     /* servers that status lists */
	unsigned served;    /* calls of fill_status */
	const char *server; /* the one that was found last */
	char flushed[64];   /* servers that were flushed: "nas src " */
	int flush_error;    /* what flush returns */
	unsigned reload_asked;
	bool compact_busy;
	bool names_wait; /* no command that looks for names ends */
	int place_error; /* errno of warm and explain */
	char place[256]; /* "LISTEN EXPORT PATH data" that was asked for */
	int walks;       /* that go on */
	int changed;     /* calls of prefetch_edited() and prefetch_clear() */
	bool loads;      /* what was learned before */
	struct predictor *predictor;
	struct tracer *tracer;
	struct pins *pins; /* of a server without a data cache */
};

uint64_t time_now_ms(void);

/* Fills in what `forefetch status` is told, in the daemon's place; `ctx` is the
 * fixture. */
void fill_status(void *ctx, struct arena *a, Forefetch__Status *out);

/* Makes a directory, an event base and a control socket; and undoes it. */
void set_up(struct fixture *fx);
void tear_down(struct fixture *fx);

/* A second one at fx->path; NULL and fx->err. */
struct control *open_control(struct fixture *fx);

/* A program of our uid uses nine files, `runs` times. */
void learn_runs(struct fixture *fx, unsigned runs);

/* Let the daemon run for a millisecond, or several. */
void step(struct fixture *fx);
void pass(struct fixture *fx, unsigned ms);

int client_open(struct fixture *fx);
/* The same; it is there until the test is over. */
int client(struct fixture *fx);
void client_send(int fd, const void *data, size_t len);

/* Read `len` bytes; false if the daemon closes before. */
bool client_read(struct fixture *fx, int fd, void *data, size_t len);

/* Has the daemon closed, or does it within a minute? */
bool is_closed(struct fixture *fx, int fd);

/* Has it closed by now? */
bool is_closed_now(int fd);

/* The next response, which is there until the test is over; NULL if the daemon
 * closes. */
Forefetch__Response *client_receive(struct fixture *fx, int fd);

ProtobufCBinaryData bytes(const char *text);
/* The request for the status as bytes; the length. An empty server is all. */
size_t message_status(uint8_t buf[REQUEST_SIZE], const char *server);

/* `what` is a Forefetch__NAMERequest, or the like, as the command says. */
void send_command(int fd, Forefetch__Request__CommandCase command, void *what);
void send_compact(int fd, const char *server, bool begin);
void send_flush(int fd, const char *server);
void send_reload(int fd);
void send_stats(int fd, const char *server);
void send_status(int fd);
void expect_status(struct fixture *fx, int fd);
void expect_error(struct fixture *fx, int fd, Forefetch__ErrorCode code);
void assert_bytes(const ProtobufCBinaryData *got, const char *text);

#endif
