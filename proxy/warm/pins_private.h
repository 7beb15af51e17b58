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

/* Groups of a credential that are kept; of more groups the first count. */
enum { PIN_GROUPS_MAX = 16 };

/* One pin. */
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

/* The pins of one server. */
struct pins {
	struct pins_params p;
	char path[PATH_MAX];
	struct pin pins[PINS_MAX];
	/* The file is not what it should be. */
	bool dirty;
	/* When it was last begun to be written. */
	uint64_t saved_us;
	struct iopool_job job;
	/* A thread is writing the file; `path`, `data`, `len` and `job_error`
	 * are its own then. */
	bool saving;
	/* The file is damaged, or could not be read: whoever writes the next
	 * one, a thread or the end, sets it aside first, and clears this. */
	bool damaged;
	/* The bytes that a thread is writing, `len` of them. */
	void *data;
	size_t len;
	int job_error; /* set by the thread; read when the job is done */
	/* The errno of the last save, negative; 0: it went well. */
	int error;
};

/* pins_file.c */
/* Takes up the pins and the files of each. -ENOENT, another error of reading,
 * or -EBADMSG: then nothing is there, and the file is set aside. */
int pins_file_load(struct pins *ps, const struct statefile_text *text);
/* Has the file written, by a thread; once more where that goes on. */
void pins_file_save(struct pins *ps, uint64_t now_us);
/* Writes the file now, where it is not up to date; waits for the disk. */
void pins_file_finish(struct pins *ps);

/* Frees the pin's texts; there is none of this number then. */
void pin_clear(struct pin *pin);

#endif
