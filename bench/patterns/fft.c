/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An out-of-core Fourier transform of a file, one part in memory at a time. */
#include "fft.h"

#include <complex.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 MiB: a quarter of the smaller file. */
enum { MEMORY_POINTS = 1 << 16, CHUNK = 4096 };

typedef double complex point;

struct job {
	const struct options *p;
	char out[PATH_MAX];
	int from, to;
};

static void get(const struct job *j, int fd, uint64_t at, point *v, size_t n)
{
	ssize_t len = (ssize_t)(n * sizeof(*v));

	if (pread(fd, v, (size_t)len, (off_t)(at * sizeof(*v))) != len)
		die("%s: cannot be read", j->p->path);
	if (fd == j->to)
		return;
	/* Any bytes make a point. */
	for (size_t i = 0; i < n; i++) {
		int32_t half[4];

		memcpy(half, &v[i], sizeof(half));
		v[i] = half[0] / 2147483648.0 + half[2] / 2147483648.0 * I;
	}
}

static void put(const struct job *j, uint64_t at, const point *v, size_t n)
{
	ssize_t len = (ssize_t)(n * sizeof(*v));

	if (pwrite(j->to, v, (size_t)len, (off_t)(at * sizeof(*v))) != len)
		die("%s: %s", j->out, strerror(errno));
}

/* One butterfly of a stage of `span` points, `k` of half a span. */
static void butterfly(point *a, point *b, point turn)
{
	point sum = *a + *b;

	*b = (*a - *b) * turn;
	*a = sum;
}

/* The stage whose halves are `half` points apart, from chunk to chunk. */
static void pass(const struct job *j, uint64_t base, uint64_t half, int fd)
{
	static point a[CHUNK], b[CHUNK];
	point step = cexp(-I * M_PI / (double)half);

	for (uint64_t at = 0; at < half; at += CHUNK) {
		point turn = cexp(-I * M_PI * (double)at / (double)half);

		get(j, fd, base + at, a, CHUNK);
		get(j, fd, base + half + at, b, CHUNK);
		for (int k = 0; k < CHUNK; k++, turn *= step)
			butterfly(&a[k], &b[k], turn);
		put(j, base + at, a, CHUNK);
		put(j, base + half + at, b, CHUNK);
	}
}

static void in_memory(point *v, size_t n)
{
	for (size_t half = n / 2; half > 0; half /= 2)
		for (size_t k = 0; k < half; k++) {
			point turn = cexp(-I * M_PI * (double)k / (double)half);

			for (size_t i = k; i < n; i += 2 * half)
				butterfly(&v[i], &v[i + half], turn);
		}
}

static uint64_t finish(const struct job *j, uint64_t n, int fd)
{
	size_t part = n < MEMORY_POINTS ? n : MEMORY_POINTS;
	point *v = malloc(part * sizeof(*v));
	uint64_t h = 1, bits;

	if (!v)
		die("no memory");
	for (uint64_t at = 0; at < n; at += part) {
		for (size_t i = 0; i < part; i += CHUNK)
			get(j, fd, at + i, v + i, CHUNK);
		in_memory(v, part);
		put(j, at, v, part);
		for (size_t i = 0; i < part; i++) {
			double re = creal(v[i]);

			memcpy(&bits, &re, sizeof(bits));
			h = mix(h ^ bits);
		}
	}
	free(v);
	return h;
}

uint64_t fft_file(const struct options *p)
{
	struct job j = {.p = p};
	uint64_t n = p->blocks, h, half;
	int fd;

	if (n < CHUNK || n & (n - 1))
		die("points: a power of two, 4096 at least");
	snprintf(j.out, sizeof(j.out), "%s.out", p->path);
	fd = j.from = open(p->path, O_RDONLY);
	j.to = open(j.out, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (j.from < 0 || j.to < 0)
		die("%s: %s", p->path, strerror(errno));
	for (half = n / 2; half >= MEMORY_POINTS; half /= 2, fd = j.to)
		for (uint64_t base = 0; base < n; base += 2 * half)
			pass(&j, base, half, fd);
	h = finish(&j, n, fd);
	close(j.from);
	if (fsync(j.to) || close(j.to))
		die("%s: %s", j.out, strerror(errno));
	return h;
}
