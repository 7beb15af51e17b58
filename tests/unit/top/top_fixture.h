/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes samples that a daemon could have told. */
#ifndef FOREFETCH_TEST_TOP_FIXTURE_H
#define FOREFETCH_TEST_TOP_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "top/top_sample.h"

struct saying {
	unsigned servers;
	unsigned rows; /* of each kind, of each server */
	uint64_t uptime_ms;
	uint64_t count; /* what every counter has reached */
	uint32_t pid;
	const char *name; /* of files, mounts, servers and users' addresses */
	bool down;
	unsigned past; /* samples */
	bool farm;     /* there is one, and it is full */
};

struct top_sample *sample_make(const struct saying *say);

#endif
