/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line.
 */
#ifndef NFSLOAD_OPTIONS_H
#define NFSLOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

#define TARGETS_MAX 8
#define CREDS_MAX   64
#define PIDS_MAX    4

struct target_spec {
	char name[64];
	char host[256];
	uint16_t port;       /* 0: ask rpcbind */
	uint16_t mount_port; /* 0: ask rpcbind */
	char path[1024];
	uint32_t pid[PIDS_MAX]; /* whose CPU time counts for this target */
	uint32_t pids;
};

struct cred {
	uint32_t uid, gid;
};

struct options {
	struct target_spec target[TARGETS_MAX];
	uint32_t targets;
	uint32_t weight[CALL_MEASURED]; /* of each procedure in the mix */
	uint32_t size;                  /* bytes of a READ or WRITE */
	uint64_t file_size;             /* bytes */
	uint32_t files;
	uint32_t concurrency; /* outstanding calls of a connection */
	uint32_t connections; /* of a target */
	struct cred cred[CREDS_MAX];
	uint32_t creds;
	uint64_t duration_ns; /* of a target's turn */
	uint64_t count;       /* calls of a target's turn, or 0 */
	uint64_t warmup_ns;
	uint32_t rounds;
	uint64_t seed;
	uint64_t timeout_ns;
	char dir[1024]; /* below the export; "" is its root */
	bool verify, once, fresh, prime, stable, keep, json, quiet;
};

enum options_verdict {
	OPTIONS_RUN,
	OPTIONS_HELP,  /* printed; exit with 0 */
	OPTIONS_USAGE, /* the mistake was printed; exit with 2 */
};

enum options_verdict options_parse(struct options *o, int argc, char **argv);

#endif
