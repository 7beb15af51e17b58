/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls are counted, and which of them fail. */
#include "sweep/faults.h"

#include <errno.h>
#include <execinfo.h>
#include <stdio.h>

#include "scenario/spare.h"
#include "sweep/faults_private.h"

/* So many allocations in a row fail. */
enum { FAMINE = 100 };

static enum faults_kind kind;
static uint64_t number;
static uint64_t counted;
static struct faults_point *at;

/* The number of this call; 0: it does not count. */
static uint64_t count(bool counts)
{
	if (!at || !counts || spare_depth > 0)
		return 0;
	return __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

static void note(const char *call, int error)
{
	snprintf(at->call, sizeof(at->call), "%s", call);
	at->error = error;
	(void)backtrace(at->stack, FAULTS_STACK - 1);
}

static uint64_t last_number(void)
{
	if (kind == FAULTS_DISK)
		return UINT64_MAX;
	return kind == FAULTS_MEMORY ? number + FAMINE - 1 : number;
}

bool faults_hit(enum faults_of of, const char *call, int error)
{
	uint64_t n = count(kind == FAULTS_ERROR ||
			   (kind == FAULTS_DISK && of == OF_DISK) ||
			   (kind == FAULTS_MEMORY && of == OF_MEMORY));

	if (n == 0 || number == 0 || n < number || n > last_number())
		return false;
	if (n == number)
		note(call, error);
	errno = error;
	return true;
}

size_t faults_part(const char *call, size_t len)
{
	uint64_t n = count(kind == FAULTS_SHORT && len > 1);

	if (n == 0 || n != number)
		return len;
	note(call, 0);
	return len / 2;
}

uint64_t faults_count(void)
{
	return __atomic_load_n(&counted, __ATOMIC_RELAXED);
}

void faults_begin(enum faults_kind what, uint64_t which, struct faults_point *p)
{
	kind = what;
	number = which;
	/* The first one loads a library. */
	(void)backtrace(p->stack, 1);
	p->stack[0] = NULL;
	at = p;
	faults_set_allocator();
}
