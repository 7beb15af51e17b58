/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This program measures the time and the memory that the predictor takes:
 *
 *	predictor-bench                 the table: time and memory an event
 *	predictor-bench --events N      N events and nothing else, for callgrind
 *
 * The events are jobs that repeat: 400 of them, each over 250 of 100,000
 * objects, four at a time, one event in twenty out of order or foreign; every
 * call is a LOOKUP, and every second access a READ too. A call is an event of
 * the predictor's, three to two accesses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "predictor/persist/persist.h"
#include "predictor/predictor.h"

enum {
	JOBS = 400,
	LENGTH = 250,
	AT_ONCE = 4,
	TOLD_MAX = 64,
	EVENTS = 1000000,
	MANY_EVENTS = 10000000,
	BUDGET = 64 << 20,
};

struct bench {
	struct predictor *p;
	uint64_t rng, now_ns;
	struct {
		uint64_t job, at;
	} running[AT_ONCE];
	uint64_t told, accesses, calls;
};

static uint64_t bench_random(struct bench *b)
{
	uint64_t x = b->rng += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static void bench_call(
    struct bench *b, enum predictor_kind kind, uint64_t object)
{
	struct prediction out[TOLD_MAX];
	struct predictor_obs o = {.kind = kind,
	    .now_ns = b->now_ns,
	    .latency_ns = 100000,
	    .actor = 1,
	    .object = object,
	    .parent = 1000000 + object / 40,
	    .name_hash = object,
	    .size_bytes = 10000,
	    .count_bytes = 16384};

	predictor_observe(b->p, &o);
	b->told += predictor_predict(b->p, out, TOLD_MAX);
	b->now_ns += 150000;
	b->calls++;
}

/* One access, of whichever job is next. */
static void bench_access(struct bench *b)
{
	size_t i = bench_random(b) % AT_ONCE;
	uint64_t x = bench_random(b), object;

	if (b->running[i].at == LENGTH) {
		b->running[i].job = x >> 32;
		b->running[i].at = 0;
	}
	object = b->running[i].job % JOBS * LENGTH + b->running[i].at++ + 1;
	if (x % 20 == 0)
		object = 1 + (x >> 16) % (JOBS * LENGTH);
	bench_call(b, PREDICTOR_LOOKUP, object);
	if (object % 2 == 0)
		bench_call(b, PREDICTOR_READ, object);
	b->accesses++;
}

static bool bench_init(struct bench *b)
{
	struct predictor_options opt = {.budget_bytes = BUDGET};

	*b = (struct bench){.p = predictor_new(&opt), .rng = 1, .now_ns = 1};
	for (size_t i = 0; i < AT_ONCE; i++)
		b->running[i].at = LENGTH;
	return b->p;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void bench_run(struct bench *b, uint64_t accesses, const char *what)
{
	struct predictor_stats st;
	double begin = seconds(), took;
	uint64_t calls = b->calls;

	while (b->accesses < accesses)
		bench_access(b);
	took = seconds() - begin;
	predictor_get_stats(b->p, &st);
	printf("%-22s%10.2f us%10.1f B%12zu objects%8.1f MiB\n", what,
	    took * 1e6 / (double)(b->calls - calls),
	    (double)st.memory_bytes / (double)st.events, st.objects,
	    (double)st.memory_bytes / 1048576);
}

/* 0 or -errno. */
static int bench_save(struct bench *b)
{
	char path[] = "/tmp/predictor-bench.XXXXXX", err[PERSIST_ERR_MAX];
	int fd = mkstemp(path), ret;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	double begin = seconds(), saved;
	struct bench other;
	size_t len;
	void *data;

	if (!out)
		return -errno;
	data = predictor_export(b->p, &len);
	ret = !data ? -ENOMEM : fwrite(data, 1, len, out) == len ? 0 : -EIO;
	free(data);
	if (fclose(out) != 0 && !ret)
		ret = -errno;
	saved = seconds();
	if (!ret && bench_init(&other)) {
		double loads = seconds();

		ret = predictor_load(other.p, path, err);
		printf("saving %.2f s, loading %.2f s\n", saved - begin,
		    seconds() - loads);
		predictor_free(other.p);
	}
	unlink(path);
	return ret;
}

static int bench_table(struct bench *b)
{
	int ret;

	printf("%-22s%13s%12s\n", "accesses", "a call", "an access");
	bench_run(b, EVENTS, "1 million");
	ret = bench_save(b);
	if (ret)
		return ret;
	bench_run(b, MANY_EVENTS, "9 million more");
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b;
	int ret = 0;

	if (argc != 1 && (argc != 3 || strcmp(argv[1], "--events") != 0)) {
		fputs("usage: predictor-bench [--events N]\n", stderr);
		return 2;
	}
	if (!bench_init(&b)) {
		fputs("predictor-bench: out of memory\n", stderr);
		return 1;
	}
	if (argc == 1) {
		ret = bench_table(&b);
	} else {
		uint64_t n = strtoull(argv[2], NULL, 10);

		while (b.accesses < n)
			bench_access(&b);
	}
	predictor_free(b.p);
	if (ret)
		fprintf(stderr, "predictor-bench: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}
