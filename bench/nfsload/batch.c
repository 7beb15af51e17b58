/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls in bulk on one connection: fills, sends and takes them; see batch.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "clock.h"

#define DEPTH         16
#define JUKEBOX_PAUSE (200 * NS_PER_MS)

struct slot {
	struct call call;
	bool busy, answered;
	uint64_t again_ns; /* after JUKEBOX: when to send it once more */
};

struct progress {
	const struct batch *b;
	struct connection *c;
	struct slot slot[DEPTH];
	uint32_t next, finished;
	uint64_t give_up_ns;
	int err;
	char *why;
	size_t why_size;
};

static void batch_on_done(struct call *call)
{
	struct slot *s = call->owner;

	s->answered = true;
}

static void send_slot(struct progress *p, struct slot *s)
{
	uint32_t item = s->call.item;

	memset(&s->call, 0, sizeof(s->call));
	s->call.owner = s;
	s->call.done = batch_on_done;
	p->b->fill(p->b->arg, item, &s->call);
	s->call.item = item;
	s->busy = true;
	s->answered = false;
	s->again_ns = 0;
	p->err = connection_send(p->c, &s->call);
}

static void take_slot(struct progress *p, struct slot *s, uint64_t now)
{
	s->answered = false;
	if (s->call.result == CALL_STATUS && s->call.status == STATUS_JUKEBOX &&
	    now < p->give_up_ns) {
		s->again_ns = now + JUKEBOX_PAUSE;
		return;
	}
	s->busy = false;
	p->finished++;
	if (p->b->take(p->b->arg, s->call.item, &s->call))
		return;
	if (s->call.result != CALL_TIMEOUT && s->call.result != CALL_LOST)
		call_explain(&s->call, p->why, p->why_size);
	p->err = -EIO;
}

/* Answers first, so that their slots are free again. */
static void turn(struct progress *p, uint64_t now)
{
	for (int i = 0; i < DEPTH && !p->err; i++) {
		struct slot *s = &p->slot[i];

		if (s->answered)
			take_slot(p, s, now);
		if (p->err)
			break;
		if (s->again_ns && now >= s->again_ns) {
			send_slot(p, s);
		} else if (!s->busy && p->next < p->b->count) {
			s->call.item = p->next++;
			send_slot(p, s);
		}
	}
}

static void wait_for_some(struct progress *p)
{
	struct pollfd pfd = {.fd = connection_fd(p->c)};

	connection_service(p->c, POLLOUT, clock_now_ns());
	pfd.fd = connection_fd(p->c);
	pfd.events = connection_events(p->c);
	if (pfd.fd < 0 || poll(&pfd, 1, 100) < 0)
		pfd.revents = 0;
	connection_service(p->c, pfd.revents, clock_now_ns());
}

int batch_run(
    const struct batch *b, struct connection *c, char *why, size_t why_size)
{
	struct progress p = {.b = b, .c = c};

	p.why = why;
	p.why_size = why_size;
	p.give_up_ns = clock_now_ns() + b->timeout_ns;
	why[0] = '\0';
	while (!p.err && p.finished < b->count) {
		turn(&p, clock_now_ns());
		if (!p.err && p.finished < b->count)
			wait_for_some(&p);
	}
	/* The slots live on this stack: nothing may be left outstanding. */
	while (connection_outstanding(c) > 0)
		wait_for_some(&p);
	if (p.err && !why[0])
		snprintf(why, why_size, "%s", connection_error(c));
	return p.err;
}

struct single {
	struct call *call;
};

static void single_fill(void *arg, uint32_t i, struct call *c)
{
	const struct call *from = ((struct single *)arg)->call;
	void *owner = c->owner;
	void (*done)(struct call *) = c->done;

	(void)i;
	*c = *from;
	c->owner = owner;
	c->done = done;
}

static bool single_take(void *arg, uint32_t i, const struct call *c)
{
	(void)i;
	*((struct single *)arg)->call = *c;
	return c->result == CALL_OK;
}

int batch_call(struct connection *c, struct call *call, uint64_t timeout_ns,
    char *why, size_t why_size)
{
	struct single one = {.call = call};
	struct batch b = {
	    .count = 1,
	    .fill = single_fill,
	    .take = single_take,
	    .arg = &one,
	    .timeout_ns = timeout_ns,
	};

	return batch_run(&b, c, why, why_size);
}
