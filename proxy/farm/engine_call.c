/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that are under way, what their round trips tell, and silence. */
#include "farm/engine_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/uint.h"

enum {
	/* The round trip is taken from less than this, the rate from more. */
	SMALL_BYTES = 4 << 10,
	LARGE_BYTES = 64 << 10,
	MISSES_MAX = 4, /* deadlines in a row, before there are pauses */
	PAUSE_MIN_US = 10000,
	PAUSE_MAX_US = 1000000,
	WATCH_US = 200000,
	SILENCE_US = 1000000, /* and SILENCE_RTTS round trips */
	SILENCE_RTTS = 16,
	HANG_US = 10000000,   /* of silence, until it is connected to anew */
	ANSWER_US = 30000000, /* until one answer is complete */
	IDLE_PING_US = 30000000,
	/* While the round trip is far above the best one: else a hiccup would
	 * be believed for as long as nobody asks. */
	SLOW_PING_US = 500000,
};

struct call *call_new(call_done on_done)
{
	struct call *c = calloc(1, sizeof(*c));

	if (c)
		c->on_done = on_done;
	return c;
}

void call_free(struct call *c)
{
	if (c->command)
		redisFreeCommand(c->command);
	free(c);
}

static void call_arm(struct node *n, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	(void)evtimer_add(n->timer, &tv);
}

bool call_send(struct node *n, struct call *c, char *command, size_t len)
{
	if (!wire_send(n->wire, command, len)) {
		call_free(c);
		return false;
	}
	c->node = n;
	c->sent_us = clock_sending_us();
	c->sent_bytes = len;
	TAILQ_INSERT_TAIL(&n->calls, c, link);
	n->questions += c->question;
	if (n->phase == NODE_READY && !n->watched) {
		n->watched = true;
		call_arm(n, WATCH_US);
	}
	return true;
}

bool call_send_argv(struct node *n, struct call *c, int argc, const char **argv,
    const size_t *lens)
{
	char *command;
	/* libhiredis 0.14 returns an int. */
	long long len = redisFormatCommandArgv(&command, argc, argv, lens);

	if (len < 0) {
		call_free(c);
		return false;
	}
	return call_send(n, c, command, (size_t)len);
}

bool call_words(
    struct node *n, call_done on_done, int argc, const char *const *argv)
{
	struct call *c = call_new(on_done);

	/* libhiredis only reads them. */
	if (c &&
	    call_send_argv(n, c, argc, (const char **)(uintptr_t)argv, NULL))
		return true;
	node_fail(n, ENGINE_DOWN, "out of memory");
	return false;
}

/* RFC 6298, section 2: alpha = 1/8. */
static void smooth(uint64_t *srtt_us, uint64_t rtt_us)
{
	*srtt_us = *srtt_us ? (7 * *srtt_us + rtt_us) / 8 : rtt_us;
	if (*srtt_us == 0)
		*srtt_us = 1;
}

static void learn_rtt(struct node *n, uint64_t rtt_us)
{
	smooth(&n->srtt_us, rtt_us);
	smooth(&n->e->srtt_us, rtt_us);
	if (n->srtt_best_us == 0 || n->srtt_us < n->srtt_best_us)
		n->srtt_best_us = n->srtt_us;
}

static void learn_rate(struct node *n, uint64_t took_us, size_t bytes)
{
	struct engine *e = n->e;
	uint64_t per_mib;

	took_us -= took_us > n->srtt_us ? n->srtt_us : took_us;
	per_mib = (took_us << 20) / bytes;
	e->us_per_mib =
	    e->us_per_mib ? (7 * e->us_per_mib + per_mib) / 8 : per_mib;
}

/* Of replies that follow each other, each took since the one before. What came
 * out of a long silence says nothing of the next. */
static void call_learn(
    struct node *n, const struct call *c, const redisReply *r, uint64_t now_us)
{
	size_t bytes = r->type == REDIS_REPLY_STRING ? r->len : 0;
	uint64_t since_us = c->sent_us;

	if (n->slow || r->type == REDIS_REPLY_ARRAY ||
	    c->sent_bytes > SMALL_BYTES)
		return;
	if (bytes <= SMALL_BYTES) {
		learn_rtt(n, now_us > since_us ? now_us - since_us : 0);
	} else if (bytes >= LARGE_BYTES) {
		if (n->answered_us > since_us)
			since_us = n->answered_us;
		learn_rate(n, now_us - since_us, bytes);
	}
}

static void call_uncount(struct node *n, const struct call *c)
{
	n->questions -= c->question;
	n->overdue -= c->overdue;
	n->given_up -= c->given_up;
	n->e->gets_open -= c->question;
}

void call_on_reply(struct node *n, const redisReply *r)
{
	struct call *c = TAILQ_FIRST(&n->calls);
	uint64_t now_us = wire_received_us(n->wire);

	assert(c); /* the wire lets no reply through that nobody asked for */
	TAILQ_REMOVE(&n->calls, c, link);
	call_learn(n, c, r, now_us);
	n->answered_us = now_us;
	if (c->question && !c->overdue && !c->given_up) {
		n->misses = 0;
		n->pause_us = 0;
	}
	call_uncount(n, c);
	if (n->slow) {
		n->slow = false;
		node_note(n);
	}
	c->on_done(n, c, r);
	call_free(c);
}

void call_drop_all(struct node *n)
{
	struct calls dropped = TAILQ_HEAD_INITIALIZER(dropped);
	struct call *c;

	TAILQ_CONCAT(&dropped, &n->calls, link);
	while ((c = TAILQ_FIRST(&dropped)) != NULL) {
		TAILQ_REMOVE(&dropped, c, link);
		call_uncount(n, c);
		c->on_done(n, c, NULL);
		call_free(c);
	}
}

void call_miss(struct call *c, uint64_t now_us)
{
	struct node *n = c->node;

	c->ask = NULL;
	c->overdue = true;
	n->overdue++;
	if (++n->misses < MISSES_MAX)
		return;
	n->pause_us *= 2;
	if (n->pause_us < PAUSE_MIN_US)
		n->pause_us = PAUSE_MIN_US;
	if (n->pause_us > PAUSE_MAX_US)
		n->pause_us = PAUSE_MAX_US;
	n->paused_until_us = now_us + n->pause_us;
}

void call_give_up(struct call *c)
{
	c->ask = NULL;
	c->given_up = true;
	c->node->given_up++;
}

/* Behind an answer that does not come, none comes either; and after pauses
 * there is one question at a time, until one is answered in time. */
bool node_can_ask(const struct node *n, uint64_t now_us)
{
	return n->phase == NODE_READY && !n->slow && n->overdue < MISSES_MAX &&
	       n->given_up < 4 * MISSES_MAX && now_us >= n->paused_until_us &&
	       (n->misses < MISSES_MAX || n->questions == 0);
}

/* Since when nothing has come, while the answer to `c` is the next to come. */
static uint64_t silent_since_us(const struct node *n, const struct call *c)
{
	return max_u64(wire_received_us(n->wire), c->sent_us);
}

uint64_t node_silent_us(const struct node *n, uint64_t now_us)
{
	const struct call *c = TAILQ_FIRST(&n->calls);
	uint64_t since_us;

	/* A large command takes long to send, which is no silence. */
	if (!c || c->sent_bytes > SMALL_BYTES)
		return 0;
	since_us = silent_since_us(n, c);
	return now_us > since_us ? now_us - since_us : 0;
}

static void ping_on_reply(struct node *n, struct call *c, const redisReply *r)
{
	(void)c;
	if (r && r->type == REDIS_REPLY_ERROR)
		node_judge(n, r);
}

static void call_ping(struct node *n)
{
	static const char *const ping[] = {"PING"};

	(void)call_words(n, ping_on_reply, 1, ping);
}

/* What it has not answered is the probe: nothing more is asked until it does.
 */
static void become_slow(struct node *n, uint64_t now_us)
{
	n->slow = true;
	n->slow_us = now_us;
	put_drop_all(n);
	node_note(n);
	if (n->slots > 0)
		cluster_want_map(n->e);
}

static void watch_idle(struct node *n, uint64_t now_us)
{
	bool doubted = n->srtt_us > 2 * n->srtt_best_us;
	uint64_t every_us = doubted ? SLOW_PING_US : IDLE_PING_US;

	n->watched = false;
	if (now_us - n->answered_us >= every_us)
		call_ping(n); /* arms the timer */
	else
		call_arm(n, every_us);
}

void call_watch(struct node *n, uint64_t now_us)
{
	struct call *c = TAILQ_FIRST(&n->calls);
	uint64_t patience_us = SILENCE_RTTS * n->srtt_us;
	uint64_t since_us;

	if (!c) {
		watch_idle(n, now_us);
		return;
	}
	since_us = silent_since_us(n, c);
	if (patience_us < SILENCE_US)
		patience_us = SILENCE_US;
	if (!n->slow && now_us > since_us + patience_us)
		become_slow(n, now_us);
	if ((n->slow && now_us > n->slow_us + HANG_US) ||
	    now_us > c->sent_us + ANSWER_US)
		node_fail(n, ENGINE_SLOW, "it does not answer any more");
	else
		call_arm(n, WATCH_US);
}
