/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patternio - programs that read inside a file, as those of AASFP's paper do
 * (Yang, Mitra, Chiueh, FREENIX 2002); bench/patterns/run runs them.
 *
 * A program is a list of block numbers, made before the clock runs; the FFT
 * is its own. It prints `CHECKSUM READS BYTES MICROSECONDS`.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fft.h"
#include "patternio.h"

static const char usage[] =
    "usage: patternio [options] PROGRAM FILE\n"
    "\n"
    "  -b BYTES   a block (4096)\n"
    "  -n BLOCKS  to read (1024); of a volume: in each direction (12)\n"
    "  -s BLOCKS  stride of `stride` (16), may be negative\n"
    "  -c US      the program's own work after each block: a sleep (0)\n"
    "  -d         O_DIRECT\n"
    "  -m         by mmap, page faults in place of reads\n"
    "  -l         print the block numbers, and read nothing\n"
    "\n"
    "PROGRAM: forward, backward, stride, random; volume-x, -y, -z, -oblique:\n"
    "rays through an array of blocks, x fastest; fft: of -n complex points,\n"
    "out of core, into FILE.out; make: FILE of -n blocks\n";

void die(const char *format, ...)
{
	va_list ap;

	fputs("patternio: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- orders ----------------------------------------------------------- */

struct order {
	uint64_t *at;
	size_t n, cap;
};

static void order_add(struct order *o, uint64_t block)
{
	if (o->n == o->cap) {
		o->cap = o->cap ? o->cap * 2 : 1024;
		o->at = realloc(o->at, o->cap * sizeof(*o->at));
		if (!o->at)
			die("no memory");
	}
	o->at[o->n++] = block;
}

/* A ray through the volume from (0, y, z) on, a block a step. */
static void ray(struct order *o, int side, double y, double z)
{
	/* No two of the three are commensurable. */
	const double dy = 0.618, dz = 0.367;

	for (int x = 0; x < side; x++, y += dy, z += dz) {
		if (y >= side || z >= side)
			return;
		order_add(o, ((uint64_t)z * (uint64_t)side + (uint64_t)y) *
				     (uint64_t)side +
				 (uint64_t)x);
	}
}

static void volume(struct order *o, char axis, uint64_t side)
{
	/* Steps in the file along the ray, and from ray to ray. */
	uint64_t along = 1, next = side, last = side * side;

	if (axis == 'y')
		along = side, next = 1;
	if (axis == 'z')
		along = side * side, next = 1, last = side;
	for (uint64_t i = 0; i < side; i++)
		for (uint64_t j = 0; j < side; j++)
			for (uint64_t k = 0; k < side; k++)
				order_add(o, i * last + j * next + k * along);
}

static void oblique(struct order *o, int side)
{
	for (int z = 0; z < side; z++)
		for (int y = 0; y < side; y++)
			ray(o, side, y, z);
}

static void order_make(struct order *o, const struct options *p)
{
	const char *name = p->program;
	uint64_t n = p->blocks;

	if (strncmp(name, "volume-", 7) == 0) {
		if (strcmp(name + 7, "oblique") == 0)
			oblique(o, (int)n);
		else
			volume(o, name[7], n);
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i;

		if (strcmp(name, "backward") == 0)
			at = n - 1 - i;
		else if (strcmp(name, "random") == 0)
			at = mix(i) % n;
		else if (strcmp(name, "stride") == 0)
			at = p->stride > 0 ? i * (uint64_t)p->stride
					   : (n - 1 - i) * (uint64_t)-p->stride;
		else if (strcmp(name, "forward") != 0)
			die("unknown program: %s", name);
		order_add(o, at);
	}
}

/* ---- reading ---------------------------------------------------------- */

static uint64_t sum(uint64_t h, const void *data, size_t len)
{
	const uint64_t *p = data;

	for (size_t i = 0; i < len / sizeof(*p); i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3) ^ h >> 29;
	return h;
}

static void work(unsigned us)
{
	struct timespec t = {
	    .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

	if (us > 0)
		nanosleep(&t, NULL);
}

static uint64_t read_all(const struct options *p, const struct order *o)
{
	uint64_t h = 1;
	void *buf = NULL;
	int fd = open(p->path, O_RDONLY | (p->direct ? O_DIRECT : 0));

	if (fd < 0 || posix_memalign(&buf, 4096, p->block))
		die("%s: %s", p->path, strerror(errno));
	for (size_t i = 0; i < o->n; i++) {
		ssize_t n =
		    pread(fd, buf, p->block, (off_t)(o->at[i] * p->block));

		if (n != (ssize_t)p->block)
			die("%s: read returns %zd", p->path, n);
		h = sum(h, buf, p->block);
		work(p->work_us);
	}
	free(buf);
	close(fd);
	return h;
}

static uint64_t map_all(const struct options *p, const struct order *o)
{
	uint64_t h = 1;
	int fd = open(p->path, O_RDONLY);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	const char *map;

	if (fd < 0 || size <= 0)
		die("%s: %s", p->path, strerror(errno));
	map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("%s: %s", p->path, strerror(errno));
	for (size_t i = 0; i < o->n; i++) {
		if ((o->at[i] + 1) * p->block > (uint64_t)size)
			die("%s: too short", p->path);
		h = sum(h, map + o->at[i] * p->block, p->block);
		work(p->work_us);
	}
	munmap((void *)map, (size_t)size);
	close(fd);
	return h;
}

static void make(const struct options *p)
{
	uint64_t *buf = malloc(p->block), x = 7;
	FILE *f = fopen(p->path, "we");

	if (!f || !buf)
		die("%s: %s", p->path, strerror(errno));
	for (uint64_t i = 0; i < p->blocks; i++) {
		for (size_t k = 0; k < p->block / sizeof(*buf); k++)
			buf[k] = mix(x++);
		if (fwrite(buf, p->block, 1, f) != 1)
			die("%s: %s", p->path, strerror(errno));
	}
	if (fclose(f))
		die("%s: %s", p->path, strerror(errno));
	free(buf);
}

/* ---- main ------------------------------------------------------------- */

static long number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end)
		die("not a number: %s", text);
	return n;
}

static void options_read(struct options *p, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "b:n:s:c:dmlh")) != -1) {
		if (c == 'b')
			p->block = (size_t)number(optarg);
		else if (c == 'n')
			p->blocks = (uint64_t)number(optarg);
		else if (c == 's')
			p->stride = number(optarg);
		else if (c == 'c')
			p->work_us = (unsigned)number(optarg);
		else if (c == 'd')
			p->direct = true;
		else if (c == 'm')
			p->map = true;
		else if (c == 'l')
			p->list = true;
		else {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (argc - optind != 2 || p->block < 512 || p->block % 512 ||
	    p->blocks > 1 << 24 || p->stride == 0) {
		fputs(usage, stderr);
		exit(2);
	}
	p->program = argv[optind];
	p->path = argv[optind + 1];
}

int main(int argc, char **argv)
{
	struct options p = {.block = 4096, .stride = 16};
	struct order o = {0};
	uint64_t begin_us, h;

	options_read(&p, argc, argv);
	if (p.blocks == 0)
		p.blocks = strncmp(p.program, "volume", 6) == 0 ? 12 : 1024;
	if (strcmp(p.program, "make") == 0) {
		make(&p);
		return 0;
	}
	if (strcmp(p.program, "fft") == 0) {
		begin_us = now_us();
		h = fft_file(&p);
		printf("%016jx %ju %ju %ju\n", (uintmax_t)h,
		    (uintmax_t)p.blocks, (uintmax_t)(p.blocks * 16),
		    (uintmax_t)(now_us() - begin_us));
		return 0;
	}
	order_make(&o, &p);
	for (size_t i = 0; p.list && i < o.n; i++)
		printf("%ju\n", (uintmax_t)o.at[i]);
	if (p.list)
		return 0;
	begin_us = now_us();
	h = p.map ? map_all(&p, &o) : read_all(&p, &o);
	printf("%016jx %zu %ju %ju\n", (uintmax_t)h, o.n,
	    (uintmax_t)(o.n * p.block), (uintmax_t)(now_us() - begin_us));
	free(o.at);
	return 0;
}
