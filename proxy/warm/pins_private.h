/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to pins*.c.
 *
 *	pins.c       the list; walks
 *	pins_file.c  the file
 *
 * The file, in the machine's byte order:
 *
 *	magic 8 | u32 pins | pin … | u64 files | file … | XXH3 of all before it
 *	pin:  u32 number, uid, gid, n, n × u32 group | u64 walked_s | u8 whole
 *	      | bytes export, path (length in four bytes each)
 *	file: u64 key[2], size | u32 pins
 */
#ifndef FOREFETCH_PINS_PRIVATE_H
#define FOREFETCH_PINS_PRIVATE_H

#include <limits.h>
#include <sys/types.h>

#include "base/iopool.h"
#include "warm/pins.h"

/* Of a credential; of more groups the first count. */
enum { PIN_GROUPS_MAX = 16 };

struct pin {
	char *export; /* NULL: there is none of this number */
	char *path;
	uint32_t uid, gid;
	uint32_t ngroups;
	gid_t groups[PIN_GROUPS_MAX];
	struct warm_walk *walk; /* NULL: none goes on */
	struct warm_progress last;
	uint64_t begun_us; /* the last walk; 0: none since the start */
	uint64_t walked_s;
	bool changed; /* data of it is not there any more */
	bool whole;   /* all was found at the last walk */
};

struct pins {
	struct pins_params p;
	char path[PATH_MAX];
	struct pin pins[PINS_MAX];
	bool dirty;        /* the file is not what it should be */
	uint64_t saved_us; /* when it was begun to be written */
	struct iopool_job job;
	bool saving;
	void *data; /* that is written */
	size_t len;
	int job_error; /* set by the thread; read when the job is done */
	int error;
};

/* pins_file.c */
/* The pins and the files of each; -ENOENT, or -EBADMSG and nothing is there. */
int pins_file_load(struct pins *ps);
/* Have it written, by a thread; once more where that goes on. */
void pins_file_save(struct pins *ps, uint64_t now_us);
/* Now, where it is not up to date. */
void pins_file_finish(struct pins *ps);

/* pins.c */
void pin_clear(struct pin *pin);

#endif
