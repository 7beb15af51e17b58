/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the calls that may fail, and what decides whether they do. */
#ifndef FOREFETCH_TESTS_FAULTS_PRIVATE_H
#define FOREFETCH_TESTS_FAULTS_PRIVATE_H

#include <stddef.h>

#include "sweep/faults.h"

enum faults_of { OF_MEMORY, OF_DISK, OF_OTHER };

/* Counts the call; true and errno where it has to fail. */
bool faults_hit(enum faults_of of, const char *call, int error);
/* How much of `len` a read or write does. */
size_t faults_part(const char *call, size_t len);

/* faults_calls.c: libevent's memory comes from here. */
void faults_set_allocator(void);

#endif
