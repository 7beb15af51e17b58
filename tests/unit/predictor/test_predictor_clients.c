/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many clients of one predictor: each has streams of its own, and none loses
 * them to another one. */
#include "predictor/learn_fixture.h"

#include "predictor/core/core.h"

enum {
	CLIENTS = 100,
	FILES = 40, /* of a client */
	SMALL = 1 << 20,
};

static uint64_t file_of(unsigned client, unsigned i)
{
	return 1000 * (client + 1) + i;
}

static void client_reads(
    struct world *w, unsigned client, uint64_t object, uint64_t latency_ns)
{
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .now_ns = w->now_ns,
	    .latency_ns = latency_ns,
	    .actor = client + 1,
	    .object = object,
	    .name_hash = object * 31 + 5,
	    .size_bytes = 1000};

	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 256);
}

static bool foretold(const struct world *w, uint64_t object)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->out[i].object == object)
			return true;
	return false;
}

static uint64_t streams_made(const struct world *w)
{
	struct predictor_stats st;

	predictor_get_stats(w->p, &st);
	return st.streams_made;
}

/* One run of each client's job, all at the same time. Returns how many files
 * had been foretold to the client that read them. */
static unsigned all_run(struct world *w, unsigned clients)
{
	bool told[CLIENTS][FILES] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < FILES; i++)
		for (unsigned c = 0; c < clients; c++) {
			client_reads(w, c, file_of(c, i), 10 * MS);
			n += told[c][i];
			for (unsigned j = i + 1; j < FILES; j++)
				told[c][j] |= foretold(w, file_of(c, j));
			w->now_ns += 20 * MS / clients;
		}
	pause_run(w);
	return n;
}

TEST(test_hundred_jobs_at_a_time)
{
	struct world w;
	unsigned alone, all;

	world_begin(&w, 0);
	for (int i = 0; i < 3; i++)
		all_run(&w, 1);
	alone = all_run(&w, 1);
	world_end(&w);
	assert_in_range(alone, FILES / 2, FILES);
	world_begin(&w, 0);
	for (int i = 0; i < 3; i++)
		all_run(&w, CLIENTS);
	all = all_run(&w, CLIENTS);
	assert_in_range(all, alone * CLIENTS * 9 / 10, FILES * CLIENTS);
	/* At most one for each run. */
	assert_in_range(streams_made(&w), CLIENTS, 4 * CLIENTS);
	world_end(&w);
}

FIXTURE(struct world, world_open, world_end);

/* One client makes calls that wait, each of which seems to be of another
 * program, until there is no room for more streams. */
TEST(test_one_takes_no_stream_of_others, struct world *w)
{
	enum { OTHERS = 8, GREEDY = 50 };
	uint64_t made;

	world_end(w);
	world_begin(w, SMALL);
	for (unsigned c = 0; c < OTHERS; c++)
		client_reads(w, c, file_of(c, 0), MS);
	for (unsigned i = 0; i < 200; i++)
		client_reads(w, GREEDY, file_of(GREEDY, 7 * i), 10000 * MS);
	made = streams_made(w);
	assert_in_range(made, OTHERS + 100, OTHERS + 200);
	w->now_ns += 2 * MS;
	for (unsigned c = 0; c < OTHERS; c++)
		client_reads(w, c, file_of(c, 1), MS);
	assert_int_equal(streams_made(w), made);
}

static unsigned streams_of(const struct world *w, unsigned client)
{
	unsigned n = 0;

	for (const struct stream *s = streams_first(&w->p->streams, client + 1);
	     s; s = streams_next(&w->p->streams, s))
		n++;
	return n;
}

/* Clients that went away leave their room to those who come: nobody who is
 * there has to, though it came before them and has most. */
TEST(test_room_of_those_who_left, struct world *w)
{
	enum { LEFT = 12, BUSY = 50, ITS = STREAMS - LEFT };

	world_end(w);
	world_begin(w, SMALL);
	/* Calls that take long, each of which seems to be of a program. */
	for (unsigned i = 0; i < ITS; i++)
		client_reads(w, BUSY, file_of(BUSY, 7 * i), 90000 * MS);
	assert_int_equal(streams_of(w, BUSY), ITS);
	for (unsigned c = 0; c < LEFT; c++)
		client_reads(w, c, file_of(c, 0), MS);
	w->now_ns += 100000 * MS;
	for (unsigned c = 100; c < 100 + LEFT; c++)
		client_reads(w, c, file_of(c, 0), MS);
	assert_int_equal(streams_of(w, BUSY), ITS);
	for (unsigned c = 0; c < LEFT; c++)
		assert_int_equal(streams_of(w, c), 0);
	/* Now there is nobody else. */
	client_reads(w, 200, file_of(200, 0), MS);
	assert_int_equal(streams_of(w, BUSY), ITS - 1);
}
