/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real redis-servers of the tests' own: each in a folder of its own below /tmp,
 * on a UNIX socket and a port that the kernel chose, and gone with the test.
 * They are asked by a blocking client. What fails here ends the program.
 */
#ifndef FOREFETCH_TEST_REDIS_FIXTURE_H
#define FOREFETCH_TEST_REDIS_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

struct redis;

enum { REDIS_MASTERS = 3, REDIS_NODES = 6 };

/* Whether there is a redis-server; else a line says that tests are skipped. */
bool redis_installed(void);

/* With more options, in pairs, behind them NULL; returns when it answers. */
struct redis *redis_start(const char *const *options);
/* Kills it, and removes its folder. NULL is allowed. */
void redis_free(struct redis *r);

/* kill -9, and again with the same data folder and port. */
void redis_kill(struct redis *r);
void redis_restart(struct redis *r);
void redis_stop(struct redis *r);     /* SIGSTOP */
void redis_continue(struct redis *r); /* SIGCONT */

uint16_t redis_port(const struct redis *r);
const char *redis_url(const struct redis *r);      /* redis://127.0.0.1:PORT */
const char *redis_path_url(const struct redis *r); /* redis+unix:///… */

/* As redisCommand(); free it with freeReplyObject(). Never NULL. */
redisReply *redis_ask(struct redis *r, const char *format, ...);
/* The same where only an error counts, which ends the program. */
void redis_do(struct redis *r, const char *format, ...);
long long redis_number(struct redis *r, const char *format, ...);

/* A cluster: masters with a third of the slots each, then as many replicas, the
 * first of the first. Returns when all of them agree. */
void redis_cluster_start(struct redis *nodes[REDIS_NODES]);

#endif
