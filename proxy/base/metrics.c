/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters, gauges and the calls of each procedure, with their names.
 * metrics.def has a line for each counter and gauge; control/ and web/ list
 * them by number, so a new one shows everywhere. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "base/histogram.h"

#define PROG_NFS    100003
#define PROG_MOUNT  100005
#define PROG_NFSACL 100227

#define PROCS_NFS    22
#define PROCS_MOUNT  6
#define PROCS_NFSACL 3

/* The first row of each program. */
#define ROW_NFS    0
#define ROW_MOUNT  (ROW_NFS + PROCS_NFS)
#define ROW_NFSACL (ROW_MOUNT + PROCS_MOUNT)
#define ROW_OTHER  (ROW_NFSACL + PROCS_NFSACL)
#define ROW_COUNT  (ROW_OTHER + 1)

struct row {
	uint64_t calls;
	uint64_t errors;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t at_once; /* calls that were answered at once */
	/* Microseconds that the last of them took which was timed. */
	uint64_t at_once_us;
	uint64_t like_it;         /* calls since then; not in `latency` yet */
	struct histogram latency; /* of all calls */
};

struct metrics {
	uint64_t values[METRICS_KINDS];
	struct row rows[METRICS_SIDES][ROW_COUNT];
};

static const struct {
	const char *program;
	const char *procedure;
} row_names[ROW_COUNT] = {
    /* RFC 1813 section 3.3 */
    {"nfs", "NULL"},
    {"nfs", "GETATTR"},
    {"nfs", "SETATTR"},
    {"nfs", "LOOKUP"},
    {"nfs", "ACCESS"},
    {"nfs", "READLINK"},
    {"nfs", "READ"},
    {"nfs", "WRITE"},
    {"nfs", "CREATE"},
    {"nfs", "MKDIR"},
    {"nfs", "SYMLINK"},
    {"nfs", "MKNOD"},
    {"nfs", "REMOVE"},
    {"nfs", "RMDIR"},
    {"nfs", "RENAME"},
    {"nfs", "LINK"},
    {"nfs", "READDIR"},
    {"nfs", "READDIRPLUS"},
    {"nfs", "FSSTAT"},
    {"nfs", "FSINFO"},
    {"nfs", "PATHCONF"},
    {"nfs", "COMMIT"},
    /* RFC 1813 section 5.2 */
    {"mount", "NULL"},
    {"mount", "MNT"},
    {"mount", "DUMP"},
    {"mount", "UMNT"},
    {"mount", "UMNTALL"},
    {"mount", "EXPORT"},
    {"nfsacl", "NULL"},
    {"nfsacl", "GETACL"},
    {"nfsacl", "SETACL"},
    {"other", "other"},
};

static const struct metrics_kind kinds[METRICS_KINDS] = {
#define COUNTER(id, name, help)   {name, name "_total", "", 0, help},
#define COUNTER_OF(id, name, ...) {name, __VA_ARGS__},
#define GAUGE(id, name, help)     {name, name, "", 0, help},
#define GAUGE_OF(id, name, ...)   {name, __VA_ARGS__},
#include "base/metrics.def"
};

struct metrics *metrics_new(void)
{
	return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *m)
{
	free(m);
}

/* The row of a procedure; ROW_OTHER for whatever else a client may send. */
static size_t metrics_find_row(uint32_t prog, uint32_t proc)
{
	if (prog == PROG_NFS && proc < PROCS_NFS)
		return ROW_NFS + proc;
	if (prog == PROG_MOUNT && proc < PROCS_MOUNT)
		return ROW_MOUNT + proc;
	if (prog == PROG_NFSACL && proc < PROCS_NFSACL)
		return ROW_NFSACL + proc;
	return ROW_OTHER;
}

/* Counts the calls that were not timed as having taken as long as the timed one
 * before them. */
static void row_settle(struct row *row)
{
	histogram_add_many(&row->latency, row->at_once_us, row->like_it);
	row->like_it = 0;
}

static void row_time(struct row *row, uint64_t latency_us)
{
	row_settle(row);
	row->at_once_us = latency_us;
	histogram_add(&row->latency, latency_us);
}

void metrics_add_call(struct metrics *m, enum metrics_side side, uint32_t prog,
    uint32_t proc, const struct metrics_call *call)
{
	struct row *row;

	assert((unsigned)side < METRICS_SIDES);
	row = &m->rows[side][metrics_find_row(prog, proc)];
	row->calls++;
	row->errors += call->error;
	row->bytes_in += call->bytes_in;
	row->bytes_out += call->bytes_out;
	if (call->clock && row->at_once++ % METRICS_SAMPLE != 0)
		row->like_it++;
	else if (call->clock)
		row_time(row, call->clock() - call->since_us);
	else
		histogram_add(&row->latency, call->latency_us);
}

void metrics_settle(struct metrics *m)
{
	for (size_t side = 0; side < METRICS_SIDES; side++)
		for (size_t i = 0; i < ROW_COUNT; i++)
			row_settle(&m->rows[side][i]);
}

void metrics_add(struct metrics *m, enum metrics_counter counter, uint64_t n)
{
	assert((unsigned)counter < METRICS_COUNTER_COUNT);
	m->values[counter] += n;
}

void metrics_set(struct metrics *m, enum metrics_counter counter, uint64_t n)
{
	assert((unsigned)counter < METRICS_COUNTER_COUNT);
	m->values[counter] = n;
}

uint64_t metrics_get(const struct metrics *m, enum metrics_counter counter)
{
	assert((unsigned)counter < METRICS_COUNTER_COUNT);
	return m->values[counter];
}

void metrics_set_gauge(
    struct metrics *m, enum metrics_gauge gauge, uint64_t value)
{
	assert((unsigned)gauge < METRICS_GAUGE_COUNT);
	m->values[METRICS_COUNTER_COUNT + (size_t)gauge] = value;
}

uint64_t metrics_get_gauge(const struct metrics *m, enum metrics_gauge gauge)
{
	assert((unsigned)gauge < METRICS_GAUGE_COUNT);
	return m->values[METRICS_COUNTER_COUNT + (size_t)gauge];
}

const struct metrics_kind *metrics_get_kind(size_t i)
{
	assert(i < METRICS_KINDS);
	return &kinds[i];
}

uint64_t metrics_get_value(const struct metrics *m, size_t i)
{
	assert(i < METRICS_KINDS);
	return m->values[i];
}

uint64_t metrics_sum(const struct metrics *m, const char *family)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < METRICS_KINDS; i++)
		if (strcmp(kinds[i].family, family) == 0)
			sum += m->values[i];
	return sum;
}

size_t metrics_row_count(void)
{
	return ROW_COUNT;
}

void metrics_get_row(const struct metrics *m, enum metrics_side side,
    size_t index, struct metrics_row *out)
{
	const struct row *row;

	assert((unsigned)side < METRICS_SIDES && index < ROW_COUNT);
	row = &m->rows[side][index];
	*out = (struct metrics_row){
	    .program = row_names[index].program,
	    .procedure = row_names[index].procedure,
	    .calls = row->calls,
	    .errors = row->errors,
	    .bytes_in = row->bytes_in,
	    .bytes_out = row->bytes_out,
	    .latency = &row->latency,
	};
}

const char *metrics_side_name(enum metrics_side side)
{
	assert((unsigned)side < METRICS_SIDES);
	return side == METRICS_CLIENT ? "client" : "upstream";
}
