/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stage of `forefetch bench`: a forefetchd of its own, with empty caches,
 * and two mounts, one of the server and one through that daemon. Both can only
 * be read, and each is where the directory that is measured is mounted, if it
 * is, so that the job finds it by the paths that its user has. Nobody but this
 * process and its children sees them: they are in a mount namespace of its own
 * (unshare(2)), where the files of the daemon are in a tmpfs(5). So all of it
 * ends with this process, but for an empty directory of /tmp if that is killed.
 */
#ifndef FOREFETCH_BENCH_STAGE_H
#define FOREFETCH_BENCH_STAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "mount/mount_source.h"

/* The thing that is measured. */
struct bench_target {
	struct mount_source source;
	/* Where it is mounted; "" where it is not. */
	char dir[4096];
	/* The directory below the mount; "" is its root. */
	char below[4096];
	/* The address of the server that the mount has; "": by its name. */
	char address[64];
	/* The version of NFS that the mount beside it has: "3", "4.2". The
	 * daemon speaks 3 with every server. */
	char vers[8];
	/* Ports of the server; 0: its rpcbind is asked. */
	uint16_t nfs_port, mount_port;
	/* It is mounted through forefetchd already. */
	bool through;
};

enum bench_side { BENCH_DIRECT, BENCH_THROUGH };

struct bench_stage;

/* Makes the stage. Needs root. Blocks until the server answers, for 20 s at
 * most. NULL after a message. To be called once in a process. */
struct bench_stage *bench_stage_new(const struct bench_target *target);
/* Unmounts, ends the daemon, and removes its files. NULL is allowed. */
void bench_stage_free(struct bench_stage *stage);

/* Mounts one side, so that the kernel has nothing cached of it, and returns the
 * directory. NULL after a message. May wait for the server for minutes. */
const char *bench_stage_mount(struct bench_stage *stage, enum bench_side side);
void bench_stage_umount(struct bench_stage *stage, enum bench_side side);

/* The daemon, which a job through it needs. */
pid_t bench_stage_daemon(const struct bench_stage *stage);

/* The number of calls to the server of that side so far; those of the direct
 * one begin anew with each mount. False after a message. */
bool bench_stage_calls(
    struct bench_stage *stage, enum bench_side side, uint64_t *calls);

/* The round trip to the server in microseconds; 0: not known. */
uint64_t bench_stage_round_trip(struct bench_stage *stage);

#endif
