/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that may wait for the disk is in one job for a thread, which is done at
 * the start and again until it succeeds: it creates the directory, reads the
 * files and opens the data. Then the loop takes over what it found.
 *
 *	loop: begin() ──▶ thread: open_run() ──▶ loop: open_on_done()
 */
#include "daemon/cachehome.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "cache/caches.h"
#include "cache/metasave.h"
#include "config/config.h"
#include "control/balance.h"
#include "link/linkkeep.h"
#include "warm/pins.h"

/* After that long, a disk that did not work is tried again. */
#define RETRY_US         UINT64_C(30000000)
/* A save may take as long as a write of data. */
#define SAVE_DEADLINE_US UINT64_C(10000000)

enum { TEXT_MAX = 512, LINE_BYTES = 8192 };

_Static_assert(
    (int)LINE_BYTES > (int)BALANCE_TEXT_MAX, "the longest line fits");

/* The small files, and how many bytes are read of each. */
static const struct {
	const char *name;
	size_t max;
} files[CACHEHOME_FILES] = {
    [CACHEHOME_ADDRESS_NFS] = {"address-nfs", LINE_BYTES},
    [CACHEHOME_ADDRESS_MOUNT] = {"address-mount", LINE_BYTES},
    [CACHEHOME_LINK] = {LINKKEEP_FILE, LINE_BYTES},
    [CACHEHOME_TOTALS] = {BALANCE_FILE, LINE_BYTES},
    [CACHEHOME_MOUNT_TOTALS] = {BALANCE_MOUNTS_FILE, BALANCE_MOUNTS_TEXT_MAX},
    [CACHEHOME_PINS] = {PINS_FILE, PINS_FILE_MAX},
};

/* The thread's orders, and its findings. While `busy` it belongs to the thread,
 * else to the loop. */
struct opening {
	struct iopool_job job;
	bool busy;
	/* It was over at least once. */
	bool done;
	/* Asked: the data is open and works. */
	bool keep;
	/* Asked: the data is open and failed, so it is begun anew. */
	bool renew;
	/* Answered: 0, or the -errno for which the directory cannot be used. */
	int rc;
	/* A sentence for `rc`. */
	char err[TEXT_MAX];
	/* A sentence for why there is no data; "": there is. */
	char data_err[TEXT_MAX];
	/* The files are of the configured server. */
	bool same;
	/* There was no directory for the server. */
	bool made;
	/* The share of the disk that the data is opened with. */
	uint64_t disk_bytes;
	/* Opened, and not taken up by the loop yet; NULL otherwise. */
	struct datacache *data;
	struct metasave_file names;
	/* The small files, until cachehome_forget_texts(). */
	struct statefile_text texts[CACHEHOME_FILES];
};

/* One server's. All of it is the loop's but for `open` while that is busy. */
struct cachehome {
	struct cachehome_params p;
	struct caches *caches;
	/* Saves names; NULL: the directory was never usable. */
	struct metasave *save;
	struct opening open;
	/* When the disk is tried again, if it has a problem then. */
	uint64_t retry_us;
	/* How many saves had failed at the last tick. */
	unsigned save_failures;
	/* Since when a save has been under way that is late; 0: none is. */
	uint64_t save_late_us;
	struct log_limit late;
	/* Since when the disk has a problem; 0: it has none. */
	uint64_t problem_us;
	/* cachehome_wait() has returned: what is found later comes late. */
	bool started;
	/* The owner is about to be freed, and is not called any more. */
	bool closing;
	/* Address and port of the server that the files belong to. */
	char whose[TEXT_MAX];
	/* Why no data is kept on disk, as the thread found it; "": it is. */
	char problem[TEXT_MAX];
	/* The problem that the log tells of, so that it is told once. */
	char logged[TEXT_MAX];
};

/* ---- in a thread ------------------------------------------------------ */

static struct cachehome *home_of(struct iopool_job *job)
{
	return container_of(job, struct cachehome, open.job);
}

static void read_file(const struct cachehome *h, const char *file, size_t max,
    struct statefile_text *text)
{
	char path[PATH_MAX];

	*text = (struct statefile_text){.error = -ENAMETOOLONG};
	if (statedir_path(h->p.state, h->p.name, file, path, sizeof(path)) == 0)
		statefile_read(path, max, text);
}

/* Says in the file `whose` which server the directory is for, since the handles
 * of one server mean nothing to another. The file is written each time, which
 * shows whether the disk can be written to; a full disk will do if the
 * directory is ours already. */
static int claim(struct cachehome *h)
{
	struct opening *o = &h->open;
	struct statefile_text was;
	const char *line;
	char path[PATH_MAX];
	int rc = statedir_make_server(h->p.state, h->p.name);

	if (rc < 0)
		return rc;
	o->made |= rc > 0;
	read_file(h, "whose", TEXT_MAX, &was);
	/* Until that file can be read, nobody knows whose the names are. */
	if (was.error && was.error != -ENOENT && was.error != -EBADMSG)
		return was.error;
	line = statefile_first_line(&was);
	o->same = line && strcmp(line, h->whose) == 0;
	statefile_free_text(&was);
	if (!o->same && statedir_path(h->p.state, h->p.name, "names", path,
			    sizeof(path)) == 0)
		unlink(path);
	rc = statedir_write_line(h->p.state, h->p.name, "whose", h->whose);
	return o->same && (rc == -ENOSPC || rc == -EDQUOT) ? 0 : rc;
}

/* Opens the data, or begins it anew after a failure. In a thread, as both read
 * and write for as long as the disk takes. */
static void open_data(struct cachehome *h)
{
	struct opening *o = &h->open;
	char path[PATH_MAX];
	struct datacache_params dp = {.dir = path,
	    .server = h->p.name,
	    .size_bytes = o->disk_bytes,
	    .iopool = h->p.iopool,
	    .gathers = true};
	int rc =
	    statedir_path(h->p.state, h->p.name, "data", path, sizeof(path));

	o->data_err[0] = '\0';
	if (rc < 0)
		snprintf(o->data_err, TEXT_MAX, "%s", strerror(-rc));
	else if (o->keep)
		return;
	else if (o->renew)
		o->rc = datacache_renew(h->caches->data, o->err, TEXT_MAX);
	else
		o->data = datacache_load(&dp, o->data_err, TEXT_MAX);
}

/* Reads what other modules have kept, and the names. */
static void read_files(struct cachehome *h)
{
	char path[PATH_MAX];

	for (int i = 0; i < CACHEHOME_FILES; i++)
		read_file(h, files[i].name, files[i].max, &h->open.texts[i]);
	if (h->open.same && statedir_path(h->p.state, h->p.name, "names", path,
				sizeof(path)) == 0)
		metasave_read(path, h->p.name, &h->open.names);
	/* Earlier versions kept the replies here. */
	if (statedir_path(h->p.state, h->p.name, "drc", path, sizeof(path)) ==
	    0)
		unlink(path);
}

/* The job of the thread. It is also run when only the data has failed: the
 * directory itself may have gone. */
static void open_run(struct iopool_job *job)
{
	struct cachehome *h = home_of(job);
	struct opening *o = &h->open;

	o->rc = statedir_take(h->p.state, o->err, sizeof(o->err));
	if (o->rc < 0)
		return;
	o->rc = claim(h);
	if (o->rc < 0) {
		snprintf(o->err, sizeof(o->err), "%s", strerror(-o->rc));
		return;
	}
	if (!h->save)
		read_files(h);
	open_data(h);
}

/* ---- on the loop ------------------------------------------------------ */

/* The directory is usable for the first time. Names of a time when a former
 * daemon served without the disk may be outdated, so they do not count as all
 * there are. */
static void open_save(struct cachehome *h)
{
	char path[PATH_MAX];
	struct metasave_params mp = {.base = h->p.base,
	    .iopool = h->p.iopool,
	    .caches = h->caches,
	    .path = path,
	    .server = h->p.name};

	if (statedir_path(h->p.state, h->p.name, "names", path, sizeof(path)) <
	    0)
		return;
	h->save = metasave_new(&mp);
	h->open.names.whole = h->open.names.whole && !h->p.detached;
}

/* Notes a problem, and logs it unless it is the one that the log has. */
static void set_problem(struct cachehome *h, const char *text)
{
	snprintf(h->problem, sizeof(h->problem), "%s", text);
	if (!text[0] || strcmp(text, h->logged) == 0)
		return;
	snprintf(h->logged, sizeof(h->logged), "%s", text);
	log_warn("cachehome server=%s: no data is kept on disk: %s; trying "
		 "again every %d s",
	    h->p.name, text, (int)(RETRY_US / 1000000));
}

/* Takes up the data that the thread has opened. Data of another server, whose
 * handles mean other files here, is thrown away. */
static void use_data(struct cachehome *h)
{
	struct opening *o = &h->open;

	if (o->renew)
		datacache_renewed(h->caches->data);
	if (o->data) {
		datacache_begin(o->data);
		if (!o->same)
			datacache_flush(o->data);
		caches_set_data(h->caches, o->data);
		o->data = NULL;
		if (o->disk_bytes != h->p.disk_bytes)
			datacache_resize(h->caches->data, h->p.disk_bytes);
	}
	set_problem(h, o->data_err);
	if (!o->data_err[0] && (h->logged[0] || o->renew)) {
		log_info("cachehome server=%s: data is kept on disk again",
		    h->p.name);
		h->logged[0] = '\0';
	}
}

/* On the loop, after the thread: takes up what was found. on_disk() is called
 * only if the owner went on without the disk. */
static void open_on_done(struct iopool_job *job)
{
	struct cachehome *h = home_of(job);
	struct opening *o = &h->open;
	bool late = h->started;

	o->busy = false;
	o->done = true;
	h->retry_us = clock_now_us() + RETRY_US;
	if (o->rc < 0) {
		set_problem(h, o->err);
	} else if (!h->closing) {
		statedir_resume(h->p.state);
		if (!h->save)
			open_save(h);
		use_data(h);
	}
	/* Names that were learned meanwhile are newer than those of the file.
	 */
	if (late || h->closing || !h->save)
		metasave_forget(&o->names);
	if (o->rc == 0 && late && !h->closing)
		h->p.on_disk(h->p.ctx);
	if (late)
		cachehome_forget_texts(h);
}

/* Has a thread open whatever is not open. `open` must not be busy. */
static void begin(struct cachehome *h)
{
	struct opening *o = &h->open;
	struct datacache_stats st = {0};

	if (h->caches->data)
		datacache_get_stats(h->caches->data, &st);
	o->busy = true;
	o->renew = st.failed != 0;
	o->keep = h->caches->data && !o->renew;
	o->disk_bytes = h->p.disk_bytes;
	o->job.run = open_run;
	o->job.done = open_on_done;
	iopool_submit(h->p.iopool, &o->job);
}

struct cachehome *cachehome_new(const struct cachehome_params *p)
{
	struct cachehome *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->p = *p;
	snprintf(h->whose, sizeof(h->whose), "%s %u", p->config->address,
	    p->config->nfs_port);
	h->caches =
	    caches_new(p->config, p->metrics, (size_t)p->memory_bytes, NULL);
	if (!h->caches) {
		free(h);
		errno = ENOMEM;
		return NULL;
	}
	begin(h);
	return h;
}

int cachehome_wait(struct cachehome *h, uint64_t us, char *err, size_t errlen)
{
	bool done = iopool_wait(h->p.iopool, &h->open.done, us);

	while (cachehome_load(h) == -EAGAIN)
		continue;
	h->started = true;
	if (!done)
		set_problem(h, "the disk of cache_dir does not answer");
	else if (h->open.rc == -EINVAL)
		snprintf(err, errlen, "%s", h->open.err);
	return done && h->open.rc == -EINVAL ? -EINVAL : 0;
}

int cachehome_load(struct cachehome *h)
{
	if (!h->open.done)
		return -EBUSY;
	return h->save && metasave_use_some(h->save, &h->open.names) ? -EAGAIN
								     : 0;
}

void cachehome_set_shares(
    struct cachehome *h, uint64_t disk_bytes, uint64_t memory_bytes)
{
	caches_set_memory(h->caches, (size_t)memory_bytes);
	if (disk_bytes != h->p.disk_bytes && h->caches->data)
		datacache_resize(h->caches->data, disk_bytes);
	h->p.disk_bytes = disk_bytes;
}

bool cachehome_settle(struct cachehome *h)
{
	if (h->caches->data)
		datacache_settle(h->caches->data);
	return !h->open.busy && (!h->save || metasave_settle(h->save));
}

bool cachehome_take_apart(struct cachehome *h)
{
	h->closing = true;
	metasave_free(h->save);
	h->save = NULL;
	metasave_forget(&h->open.names);
	return caches_take_apart(h->caches);
}

void cachehome_stop(struct cachehome *h)
{
	if (h)
		h->closing = true;
}

void cachehome_free(struct cachehome *h)
{
	if (!h)
		return;
	h->closing = true;
	iopool_drain(h->p.iopool);
	if (h->save)
		metasave_finish(h->save);
	metasave_free(h->save);
	metasave_forget(&h->open.names);
	cachehome_forget_texts(h);
	/* Data that was opened, and not used yet. */
	if (h->open.data)
		datacache_close(h->open.data);
	caches_free(h->caches);
	free(h);
}

struct caches *cachehome_caches(struct cachehome *h)
{
	return h->caches;
}

bool cachehome_is_new(const struct cachehome *h)
{
	return h->open.made;
}

bool cachehome_on_disk(const struct cachehome *h)
{
	return h->save != NULL;
}

struct statefile_text *cachehome_text(
    struct cachehome *h, enum cachehome_file file)
{
	return h->save ? &h->open.texts[file] : NULL;
}

void cachehome_forget_texts(struct cachehome *h)
{
	/* The thread still reads them: they come late. */
	if (h->open.busy)
		return;
	for (int i = 0; i < CACHEHOME_FILES; i++) {
		statefile_free_text(&h->open.texts[i]);
		h->open.texts[i].error = -ENOENT;
	}
}

/* Whether the disk is to be tried again. */
static bool is_broken(const struct cachehome *h)
{
	struct datacache_stats st;

	if (!h->save || !h->caches->data)
		return true;
	datacache_get_stats(h->caches->data, &st);
	return st.failed != 0;
}

void cachehome_retry(struct cachehome *h)
{
	if (!h->open.busy && is_broken(h))
		begin(h);
}

/* A disk of which no data is written or read is not noticed to be gone. Saves
 * of names are forced to it (fsync), so a failure of these counts for the data,
 * too. A full disk is no failure. */
static void check_saves(struct cachehome *h)
{
	unsigned n;
	int err;

	if (!h->save || !h->caches->data)
		return;
	n = metasave_failures(h->save, &err);
	if (n != h->save_failures && err != ENOSPC && err != EDQUOT &&
	    err != ENOMEM)
		datacache_disk_failed(h->caches->data, err);
	h->save_failures = n;
}

/* While no data is written, and what is read is in memory, only a save can show
 * that the disk hangs. */
static void check_late(struct cachehome *h, uint64_t now_us)
{
	uint64_t since_us = h->save ? metasave_waits_since_us(h->save) : 0;
	unsigned suppressed;

	if (since_us == 0 || now_us < since_us + SAVE_DEADLINE_US)
		since_us = 0;
	if (since_us > 0 && h->save_late_us == 0 &&
	    log_limit_ok(&h->late, now_us, &suppressed))
		log_warn("cachehome server=%s suppressed=%u: the disk does not "
			 "answer; names wait to be saved",
		    h->p.name, suppressed);
	h->save_late_us = since_us;
}

void cachehome_tick(struct cachehome *h, uint64_t now_us, bool patient)
{
	struct cachehome_problem p;

	if (h->caches->data)
		datacache_tick(h->caches->data, now_us, patient);
	check_saves(h);
	check_late(h, now_us);
	cachehome_get_problem(h, &p);
	if (!p.text[0]) {
		h->problem_us = 0;
		return;
	}
	if (h->problem_us == 0) {
		h->problem_us = now_us;
		h->retry_us = now_us + RETRY_US;
	}
	if (now_us >= h->retry_us)
		cachehome_retry(h);
}

void cachehome_get_problem(
    const struct cachehome *h, struct cachehome_problem *p)
{
	struct datacache_stats st = {0};
	const char *text = h->problem;

	p->since_us = h->problem_us;
	if (h->caches->data)
		datacache_get_stats(h->caches->data, &st);
	if (st.hangs_since_us > 0 || h->save_late_us > 0) {
		text = "the disk of cache_dir does not answer";
		p->since_us =
		    st.hangs_since_us > 0 ? st.hangs_since_us : h->save_late_us;
	} else if (h->caches->data && st.failed) {
		snprintf(p->text, sizeof(p->text),
		    "the disk of cache_dir failed: %s", strerror(st.failed));
		return;
	} else if (h->caches->data && !st.on) {
		text = "the disk of cache_dir is full";
	}
	snprintf(p->text, sizeof(p->text), "%s", text);
}

void cachehome_hurry(struct cachehome *h)
{
	if (h->save)
		metasave_hurry(h->save);
}
