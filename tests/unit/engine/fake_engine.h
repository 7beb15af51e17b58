/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server on a port of its own and on the loop of the test, which answers as
 * an empty Redis does, and lies as it is told.
 */
#ifndef FOREFETCH_TEST_FAKE_ENGINE_H
#define FOREFETCH_TEST_FAKE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct fake_engine;

struct fake_engine *fake_new(struct event_base *base);
void fake_free(struct fake_engine *f);
uint16_t fake_port(const struct fake_engine *f);
/* "redis://127.0.0.1:PORT" */
const char *fake_url(const struct fake_engine *f);
/* "redis+unix:///PATH": what is large goes over that in no time, where TCP
 * would have timers of its own. */
const char *fake_path_url(const struct fake_engine *f);

/*
 * Sets the bytes that it answers to a command from now on: "GET", or with its
 * second word, "CLUSTER SLOTS". Without bytes it answers nothing. It does not
 * copy them.
 */
void fake_say(
    struct fake_engine *f, const char *command, const char *bytes, size_t len);
void fake_say_text(
    struct fake_engine *f, const char *command, const char *text);
/* As it was at first. */
void fake_forget(struct fake_engine *f, const char *command);

/* Sent to each connection at once, before it has asked anything. */
void fake_greet_with(struct fake_engine *f, const char *bytes, size_t len);
/* Close each connection once it was sent so many bytes; 0: never. */
void fake_cut_after(struct fake_engine *f, size_t bytes);
/* Answer nothing to what comes, until it is false; then to all of it. */
void fake_hang(struct fake_engine *f, bool hang);
/* To all connections, now. */
void fake_send(struct fake_engine *f, const char *bytes, size_t len);
void fake_close_all(struct fake_engine *f);

/* How often a command came, and how many connections there were. */
unsigned fake_asked(const struct fake_engine *f, const char *command);
unsigned fake_connections(const struct fake_engine *f);
/* That are open now. */
unsigned fake_open(const struct fake_engine *f);

#endif
