/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that are under way to a node, and what their round trips tell of
 * it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/uint.h"
#include "engine/redis_private.h"

/* MISSES_MAX deadlines in a row are let pass before there are pauses, which
 * double. WATCH_US is how often silence is looked for. */
enum {
	/* The round trip is taken from less than this, the rate from more. */
	SMALL_BYTES = 4 << 10,
	LARGE_BYTES = 64 << 10,
	MISSES_MAX = 4, /* deadlines in a row, before there are pauses */
	PAUSE_MIN_US = 10000,
	PAUSE_MAX_US = 1000000,
	WATCH_US = 200000,
};

/* Notes a command that was sent, or frees the call of one that was not. */
static bool call_sent(
    struct redis_node *n, struct redis_call *c, bool sent, size_t bytes)
{
	if (!sent) {
		free(c);
		return false;
	}
	c->node = n;
	c->sent_us = clock_now_us();
	c->sent_bytes = bytes;
	TAILQ_INSERT_TAIL(&n->calls, c, link);
	n->questions += c->question;
	if (n->phase == NODE_READY && !n->watched) {
		struct timeval tv = clock_timeval(WATCH_US);

		n->watched = true;
		(void)evtimer_add(n->timer, &tv);
	}
	return true;
}

bool redis_call_send(struct redis_node *n, struct redis_call *c, int argc,
    const char *const *argv, const size_t *lens)
{
	size_t bytes = 0;

	for (int i = 0; i < argc; i++)
		bytes += lens ? lens[i] : strlen(argv[i]);
	return call_sent(
	    n, c, redis_conn_send(n->conn, argc, argv, lens), bytes);
}

bool redis_call_send_formatted(
    struct redis_node *n, struct redis_call *c, const char *command, size_t len)
{
	return call_sent(
	    n, c, redis_conn_send_formatted(n->conn, command, len), len);
}

/* RFC 6298, section 2: alpha = 1/8. */
static void smooth(uint64_t *srtt_us, uint64_t rtt_us)
{
	*srtt_us = *srtt_us ? (7 * *srtt_us + rtt_us) / 8 : rtt_us;
	if (*srtt_us == 0)
		*srtt_us = 1;
}

/* Learns a round trip of a small reply. */
static void learn_rtt(struct redis_node *n, uint64_t rtt_us)
{
	smooth(&n->srtt_us, rtt_us);
	smooth(&n->all->srtt_us, rtt_us);
	if (n->srtt_best_us == 0 || n->srtt_us < n->srtt_best_us)
		n->srtt_best_us = n->srtt_us;
}

/* Learns how long a MiB takes, from a large reply without its round trip. */
static void learn_rate(struct redis_node *n, uint64_t took_us, size_t bytes)
{
	struct redis_shared *all = n->all;
	uint64_t per_mib;

	took_us -= min_u64(took_us, n->srtt_us);
	per_mib = (took_us << 20) / bytes;
	all->us_per_mib =
	    all->us_per_mib ? (7 * all->us_per_mib + per_mib) / 8 : per_mib;
}

/* Learns from an answer. Where replies follow each other, each took the time
 * since the one before. An answer after a long silence says nothing of the
 * next. */
static void call_learn(struct redis_node *n, const struct redis_call *c,
    const redisReply *r, uint64_t now_us)
{
	size_t bytes = r->type == REDIS_REPLY_STRING ? r->len : 0;
	uint64_t since_us = c->sent_us;

	if (n->slow || r->type == REDIS_REPLY_ARRAY ||
	    c->sent_bytes > SMALL_BYTES)
		return;
	if (bytes <= SMALL_BYTES)
		learn_rtt(n, now_us > since_us ? now_us - since_us : 0);
	else if (bytes >= LARGE_BYTES)
		learn_rate(
		    n, now_us - max_u64(since_us, n->answered_us), bytes);
}

/* The call is under way no longer. */
static void call_remove(struct redis_node *n, struct redis_call *c)
{
	TAILQ_REMOVE(&n->calls, c, link);
	n->questions -= c->question;
	n->overdue -= c->overdue;
	n->given_up -= c->given_up;
}

/* An answer in time ends the pauses. */
struct redis_call *redis_call_answered(
    struct redis_node *n, const redisReply *r)
{
	struct redis_call *c = TAILQ_FIRST(&n->calls);
	uint64_t now_us = redis_conn_received_us(n->conn);

	assert(c); /* no reply comes that nobody asked for: redis_conn.h */
	call_remove(n, c);
	call_learn(n, c, r, now_us);
	n->answered_us = now_us;
	if (c->question && !c->overdue && !c->given_up) {
		n->misses = 0;
		n->pause_us = 0;
	}
	return c;
}

/* Those who hear of it may send nothing: the connection has ended. */
void redis_call_drop_all(struct redis_node *n)
{
	struct redis_call *c;

	while ((c = TAILQ_FIRST(&n->calls)) != NULL) {
		call_remove(n, c);
		if (c->on_done)
			c->on_done(c, NULL);
		free(c);
	}
}

void redis_call_miss(struct redis_call *c, uint64_t now_us)
{
	struct redis_node *n = c->node;

	c->overdue = true;
	n->overdue++;
	if (++n->misses < MISSES_MAX)
		return;
	n->pause_us = min_u64(
	    max_u64(2 * n->pause_us, PAUSE_MIN_US), (uint64_t)PAUSE_MAX_US);
	n->paused_until_us = now_us + n->pause_us;
}

void redis_call_give_up(struct redis_call *c)
{
	c->given_up = true;
	c->node->given_up++;
}

bool redis_node_answers(const struct redis_node *n)
{
	return n->phase == NODE_READY && !n->slow;
}

/* Behind an answer that does not come, none comes either; and after pauses
 * there is one question at a time, until one is answered in time. */
bool redis_node_can_ask(const struct redis_node *n, uint64_t now_us)
{
	return redis_node_answers(n) && n->overdue < MISSES_MAX &&
	       n->given_up < 4 * MISSES_MAX && now_us >= n->paused_until_us &&
	       (n->misses < MISSES_MAX || n->questions == 0);
}

uint64_t redis_call_silent_us(const struct redis_node *n, uint64_t now_us)
{
	const struct redis_call *c = TAILQ_FIRST(&n->calls);
	uint64_t since_us;

	/* A large command takes long to send, which is no silence. */
	if (!c || c->sent_bytes > SMALL_BYTES)
		return 0;
	since_us = max_u64(redis_conn_received_us(n->conn), c->sent_us);
	return now_us > since_us ? now_us - since_us : 0;
}
