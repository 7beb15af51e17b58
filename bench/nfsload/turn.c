/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The closed loop that is measured: each reply is followed by the next call. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "turn.h"

#define TICK_MS 100

struct loop;

/* One of the --concurrency calls of a connection. */
struct slot {
	struct call call;
	struct loop *loop;
	struct connection *conn;
	bool busy;
	char name[24];
};

struct loop {
	const struct turn_plan *plan;
	const struct options *o;
	struct turn *out;
	struct slot *slot;
	struct pollfd *pfd;
	uint32_t slots;
	uint32_t *order; /* --once: the items, shuffled */
	uint32_t items, next_item;
	uint32_t weights;
	uint64_t rng;
	uint64_t sent;      /* measured ones */
	uint64_t answered;  /* measured ones, good or bad */
	uint64_t record_ns; /* calls sent before are warm-up */
	uint64_t end_ns;    /* nothing is sent after */
	uint64_t last_done_ns;
	uint64_t shown_ns; /* when progress was shown last */
	uint64_t cpu_ns;   /* when the measured part began */
	uint32_t cred;
	bool ended, began;
};

static void tally_error(struct tally *t, const struct call *c)
{
	t->errors++;
	if (t->errors == 1)
		call_explain(c, t->first_error, sizeof(t->first_error));
}

static void turn_on_done(struct call *c)
{
	struct slot *s = c->owner;
	struct loop *l = s->loop;
	struct tally *t = &l->out->tally[c->op];

	s->busy = false;
	/* A warm-up call that fails is no less a failure. */
	if (c->result != CALL_OK) {
		tally_error(t, c);
		l->answered++;
		return;
	}
	if (c->sent_ns < l->record_ns)
		return;
	l->answered++;
	l->last_done_ns = c->done_ns;
	t->ops++;
	if (c->op == CALL_READ || c->op == CALL_WRITE)
		t->bytes += c->value;
	histogram_add(t->latency, c->done_ns - c->sent_ns);
}

static enum call_op choose_op(struct loop *l)
{
	uint64_t r = prng_next(&l->rng) % l->weights;
	enum call_op op = 0;

	while (r >= l->o->weight[op])
		r -= l->o->weight[op++];
	return op;
}

static uint32_t choose_item(struct loop *l)
{
	if (l->order)
		return l->order[l->next_item++];
	return (uint32_t)(prng_next(&l->rng) % l->items);
}

static bool may_send(struct loop *l, uint64_t now)
{
	if (l->ended || *l->plan->stop ||
	    (l->order && l->next_item == l->items))
		l->ended = true;
	else if (l->o->count)
		l->ended = l->sent >= l->o->count;
	else if (!l->order)
		l->ended = now >= l->end_ns;
	return !l->ended;
}

static void send_slot(struct loop *l, struct slot *s, uint64_t now)
{
	enum call_op op = choose_op(l);

	view_fill(l->plan->view, op, choose_item(l), &s->call, s->name,
	    sizeof(s->name));
	s->call.done = turn_on_done;
	s->call.owner = s;
	if (l->o->creds > 1) {
		const struct cred *c = &l->o->cred[l->cred++ % l->o->creds];

		connection_set_cred(s->conn, c->uid, c->gid);
	}
	s->busy = true;
	if (now >= l->record_ns)
		l->sent++;
	if (connection_send(s->conn, &s->call)) {
		s->busy = false;
		l->ended = true;
	}
}

static void refill(struct loop *l)
{
	uint64_t now = clock_now_ns();

	for (uint32_t i = 0; i < l->slots; i++)
		if (!l->slot[i].busy && may_send(l, now))
			send_slot(l, &l->slot[i], now);
}

static bool any_busy(const struct loop *l)
{
	for (uint32_t i = 0; i < l->o->connections; i++)
		if (connection_outstanding(
			target_connection(l->plan->target, i)))
			return true;
	return false;
}

static void note_broken(struct loop *l, const struct connection *c)
{
	l->ended = true;
	if (!l->out->broken[0])
		snprintf(l->out->broken, sizeof(l->out->broken), "%s",
		    connection_error(c));
}

/* Write what was queued, wait, and take what came. */
static void exchange(struct loop *l)
{
	uint32_t n = l->o->connections;
	uint64_t now = clock_now_ns();

	for (uint32_t i = 0; i < n; i++) {
		struct connection *c = target_connection(l->plan->target, i);

		if (!connection_service(c, connection_events(c) & POLLOUT, now))
			note_broken(l, c);
		l->pfd[i].fd = connection_fd(c);
		l->pfd[i].events = connection_events(c);
		l->pfd[i].revents = 0;
	}
	if (!any_busy(l))
		return;
	if (poll(l->pfd, n, TICK_MS) < 0 && errno != EINTR)
		l->ended = true;
	now = clock_now_ns();
	for (uint32_t i = 0; i < n; i++) {
		struct connection *c = target_connection(l->plan->target, i);

		if (!connection_service(c, l->pfd[i].revents, now))
			note_broken(l, c);
	}
}

static void show_progress(struct loop *l)
{
	uint64_t now = clock_now_ns();
	double past;

	if (!l->plan->label || now < l->shown_ns + NS_PER_SEC)
		return;
	l->shown_ns = now;
	past = (double)(now - l->record_ns) / NS_PER_SEC;
	if (now > l->record_ns)
		fprintf(stderr,
		    "\r%s: %.0f s, %" PRIu64 " calls, %.0f a second  ",
		    l->plan->label, past, l->answered,
		    (double)l->answered / past);
}

/* Fisher and Yates. */
static int shuffle(struct loop *l)
{
	l->order = malloc(l->items * sizeof(*l->order));
	if (!l->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->items; i++)
		l->order[i] = i;
	for (uint32_t i = l->items - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(prng_next(&l->rng) % (i + 1));
		uint32_t tmp = l->order[i];

		l->order[i] = l->order[j];
		l->order[j] = tmp;
	}
	return 0;
}

static int prepare_slots(struct loop *l)
{
	l->slots = l->o->connections * l->o->concurrency;
	l->slot = calloc(l->slots, sizeof(*l->slot));
	l->pfd = calloc(l->o->connections, sizeof(*l->pfd));
	if (!l->slot || !l->pfd)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->slots; i++) {
		l->slot[i].loop = l;
		l->slot[i].conn =
		    target_connection(l->plan->target, i % l->o->connections);
	}
	return 0;
}

static int prepare(struct loop *l)
{
	l->items = l->plan->items;
	for (enum call_op op = 0; op < CALL_MEASURED; op++) {
		l->weights += l->o->weight[op];
		if (!l->o->weight[op])
			continue;
		l->out->tally[op].latency = calloc(1, sizeof(struct histogram));
		if (!l->out->tally[op].latency)
			return -ENOMEM;
	}
	if (l->o->once && shuffle(l))
		return -ENOMEM;
	return prepare_slots(l);
}

/* CPU time of a target's processes; what has ended counts nothing. */
static uint64_t cpu_ns(const struct target_spec *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->pids; i++) {
		struct timespec ts;
		clockid_t clock;

		if (clock_getcpuclockid((pid_t)t->pid[i], &clock) ||
		    clock_gettime(clock, &ts))
			continue;
		sum += (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
	}
	return sum;
}

/* The warm-up is over. */
static void begin(struct loop *l)
{
	if (l->began || clock_now_ns() < l->record_ns)
		return;
	l->began = true;
	l->cpu_ns = cpu_ns(l->plan->spec);
}

static void run(struct loop *l)
{
	uint64_t start = clock_now_ns();

	l->record_ns = start + l->o->warmup_ns;
	l->end_ns = l->record_ns + l->o->duration_ns;
	l->last_done_ns = l->record_ns;
	l->shown_ns = start;
	begin(l);
	refill(l);
	while (any_busy(l) || !l->ended) {
		begin(l);
		exchange(l);
		refill(l);
		show_progress(l);
	}
	if (l->plan->label && l->shown_ns != start)
		fprintf(stderr, "\r%*s\r", 70, "");
	l->out->elapsed_ns = l->last_done_ns - l->record_ns;
	if (l->began)
		l->out->cpu_ns = cpu_ns(l->plan->spec) - l->cpu_ns;
	/* Set-up and removal are the first one's. */
	for (uint32_t i = 0; i < l->o->connections; i++)
		connection_set_cred(target_connection(l->plan->target, i),
		    l->o->cred[0].uid, l->o->cred[0].gid);
}

int turn_run(const struct turn_plan *plan, struct turn *out)
{
	struct loop l = {
	    .plan = plan,
	    .o = plan->o,
	    .out = out,
	    .rng = plan->seed,
	};
	int err;

	memset(out, 0, sizeof(*out));
	err = prepare(&l);
	if (!err)
		run(&l);
	free(l.slot);
	free(l.pfd);
	free(l.order);
	return err;
}

void turn_clear(struct turn *t)
{
	for (enum call_op op = 0; op < CALL_MEASURED; op++) {
		free(t->tally[op].latency);
		t->tally[op].latency = NULL;
	}
}
