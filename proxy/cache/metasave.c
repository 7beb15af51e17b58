/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saving beside everything else: the loop packs a slice, a thread writes it,
 * and so on until all is in the new file, which then takes the old one's place.
 *
 *	caches ─ on_timer(): a slice ─▶ packing ─▶ writing ─ a thread ─▶ file
 */
#include "cache/metasave.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>
#include <xxhash.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/statefile.h"
#include "cache/caches.h"
#include "cache/metafile.h"

enum {
	/* The time between two saves. It is longer where they are large, so
	 * that no more than BYTES_PER_S are written on the average. */
	INTERVAL_US = 2000000,
	BYTES_PER_S = 4 << 20,
	/* The bytes that are packed in one turn of the loop: half a
	 * millisecond's work. */
	SLICE_BYTES = 128 << 10,
	/* The bytes that are handed to the disk at a time. */
	WRITE_BYTES = 1 << 20,
	/* The records that are loaded in one turn: half a millisecond's work.
	 */
	LOAD_RECORDS = 512,
};

struct metasave {
	struct metasave_params p;
	char path[PATH_MAX];
	char whole[PATH_MAX + 8];
	struct event *ev; /* when the next slice, or the next save, is due */
	struct iopool_job job;
	uint64_t bytes; /* bytes of the save under way, or of the last one */
	struct metapack pack;
	struct metabuf packing; /* filled on the loop */
	/* The bytes that the job writes; the job's alone while it runs. */
	struct metabuf writing;
	XXH3_state_t *sum; /* the job's */
	/* Checksum of the file that is in place; 0: there is none, or it is not
	 * whole. */
	uint64_t saved_sum;
	/* The one for which PATH.whole was written, or tried; 0: none. */
	uint64_t marked_sum;
	struct statefile file; /* the job's */
	int error;             /* of the job: -errno */
	struct log_limit warned;
	unsigned failures;
	int failed;      /* the last one's error */
	uint64_t job_us; /* since when the job is under way */
	bool saving;     /* from the first slice to the rename */
	bool writes;     /* the job is under way */
	bool packed;     /* all of the caches is packed */
	bool last;       /* this job writes the rest of it */
	bool hurry;      /* the next save begins at once */
	bool malformed;  /* the job sets the file aside, and clears this */
	struct metaload *load; /* under way: nothing is saved */
};

static void on_timer(evutil_socket_t fd, short what, void *arg);

/* In a thread: puts the checksum behind the records, and the file in its place.
 */
static int finish_file(struct metasave *ms)
{
	uint64_t sum = XXH3_64bits_digest(ms->sum);
	int rc = statefile_append(&ms->file, &sum, sizeof(sum));

	if (rc == 0)
		rc = statefile_commit(&ms->file);
	/* The loop looks at this only when the job is done. */
	if (rc == 0)
		ms->saved_sum = sum;
	return rc;
}

/* In a thread: appends what was packed, and ends the file with the last of it.
 */
static int write_part(struct metasave *ms)
{
	int rc;

	if (ms->file.fd < 0) {
		rc = statefile_begin(&ms->file, ms->path);
		if (rc < 0)
			return rc;
		XXH3_64bits_reset(ms->sum);
	}
	XXH3_64bits_update(ms->sum, ms->writing.data, ms->writing.len);
	rc = statefile_append(&ms->file, ms->writing.data, ms->writing.len);
	return rc == 0 && ms->last ? finish_file(ms) : rc;
}

static void job_run(struct iopool_job *job)
{
	struct metasave *ms = container_of(job, struct metasave, job);

	/* If it cannot be set aside, the save replaces it. */
	if (ms->malformed)
		(void)statefile_set_aside(ms->path);
	ms->malformed = false;
	ms->error = write_part(ms);
	if (ms->error)
		statefile_abandon(&ms->file);
}

/* Logs that a save failed. It is tried again every few seconds, so the lines
 * are limited. */
static void warn(struct metasave *ms)
{
	unsigned suppressed;

	if (log_limit_ok(&ms->warned, clock_now_us(), &suppressed))
		log_warn("metasave server=%s file=%s suppressed=%u: %s: names "
			 "would not survive a restart",
		    ms->p.server, ms->path, suppressed, strerror(-ms->error));
}

/* Ends a save, well or not. After an error all is to be saved again. */
static void save_end(struct metasave *ms)
{
	statefile_abandon(&ms->file);
	if (ms->error) {
		warn(ms);
		ms->failures++;
		ms->failed = -ms->error;
		ms->p.caches->dirty = true;
	}
	ms->saving = false;
	ms->error = 0;
}

static void arm(struct metasave *ms, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	event_add(ms->ev, &tv);
}

static void arm_next(struct metasave *ms)
{
	arm(ms,
	    ms->hurry ? 0 : INTERVAL_US + ms->bytes * 1000000 / BYTES_PER_S);
}

unsigned metasave_failures(const struct metasave *ms, int *error)
{
	*error = ms->failed;
	return ms->failures;
}

uint64_t metasave_waits_since_us(const struct metasave *ms)
{
	return ms->writes ? ms->job_us : 0;
}

void metasave_hurry(struct metasave *ms)
{
	ms->hurry = true;
	if (!ms->saving)
		arm(ms, 0);
}

static void job_done(struct iopool_job *job)
{
	struct metasave *ms = container_of(job, struct metasave, job);

	ms->writes = false;
	ms->writing.len = 0;
	if (ms->error || ms->last)
		save_end(ms);
	if (ms->saving)
		arm(ms, 0);
	else
		arm_next(ms);
}

static void submit(struct metasave *ms, void (*run)(struct iopool_job *),
    void (*done)(struct iopool_job *))
{
	ms->writes = true;
	ms->job_us = clock_now_us();
	ms->job.run = run;
	ms->job.done = done;
	iopool_submit(ms->p.iopool, &ms->job);
}

/* Hands what was packed to a thread, and packs on into the buffer that it gave
 * back. */
static void hand_over(struct metasave *ms)
{
	struct metabuf b = ms->writing;

	ms->writing = ms->packing;
	ms->packing = b;
	ms->packing.len = 0;
	ms->bytes += ms->writing.len;
	ms->last = ms->packed;
	submit(ms, job_run, job_done);
}

static void save_begin(struct metasave *ms)
{
	ms->saving = true;
	ms->hurry = false;
	ms->bytes = 0;
	ms->packed = false;
	ms->last = false;
	ms->packing.len = 0;
	ms->pack =
	    (struct metapack){.caches = ms->p.caches, .out = &ms->packing};
	ms->p.caches->dirty = false;
}

/* Packs one slice, and hands over what is enough for the disk. True where the
 * timer is to come again at once; else job_done() sets it. */
static bool save_step(struct metasave *ms)
{
	if (!ms->packed && ms->packing.len < WRITE_BYTES)
		ms->packed = !metapack_some(&ms->pack, SLICE_BYTES);
	/* The thread has the descriptor, so even a save that fails waits for
	 * it. */
	if (ms->writes)
		return false;
	if (ms->packing.failed) {
		ms->packing.failed = false;
		ms->error = -ENOMEM;
		save_end(ms);
		return false;
	}
	if (!ms->packed && ms->packing.len < WRITE_BYTES)
		return true;
	hand_over(ms);
	return !ms->packed;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct metasave *ms = arg;

	(void)fd;
	(void)what;
	if (!ms->saving && !ms->load && ms->p.caches->dirty)
		save_begin(ms);
	if (!ms->saving)
		arm_next(ms);
	else if (save_step(ms))
		arm(ms, 0);
	else if (!ms->writes)
		arm_next(ms);
}

struct metasave *metasave_new(const struct metasave_params *p)
{
	struct metasave *ms = calloc(1, sizeof(*ms));

	if (!ms)
		return NULL;
	ms->p = *p;
	ms->file.fd = -1;
	snprintf(ms->path, sizeof(ms->path), "%s", p->path);
	snprintf(ms->whole, sizeof(ms->whole), "%s.whole", p->path);
	ms->sum = XXH3_createState();
	ms->ev = evtimer_new(p->base, on_timer, ms);
	if (!ms->sum || !ms->ev) {
		metasave_free(ms);
		errno = ENOMEM;
		return NULL;
	}
	arm_next(ms);
	return ms;
}

/* At the end: waits for the save under way, and saves once more if something
 * came in since it began. Blocks. */
static void save_rest(struct metasave *ms)
{
	iopool_drain(ms->p.iopool);
	/* A save that is under way lacks what came in since it began. */
	if (ms->saving && ms->p.caches->dirty)
		save_end(ms);
	if (!ms->saving && !ms->p.caches->dirty)
		return;
	if (!ms->saving)
		save_begin(ms);
	while (ms->saving) {
		(void)save_step(ms);
		iopool_drain(ms->p.iopool);
	}
}

/* Whether PATH.whole is to be written: the file in place has all that is known,
 * and that is not said yet. */
static bool lacks_mark(const struct metasave *ms)
{
	return ms->saved_sum != 0 && !ms->p.caches->dirty &&
	       ms->marked_sum != ms->saved_sum;
}

/* Leaves word beside the file that it has all that is known. It is not synced:
 * it counts only with the file's own sum, so what a power cut leaves of it is
 * no word at all, and all names are confirmed once more. */
static void mark_whole(struct metasave *ms)
{
	int fd;

	ms->marked_sum = ms->saved_sum;
	fd = open(ms->whole,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (write(fd, &ms->saved_sum, sizeof(ms->saved_sum)) !=
	    sizeof(ms->saved_sum))
		unlink(ms->whole);
	close(fd);
}

static void mark_run(struct iopool_job *job)
{
	mark_whole(container_of(job, struct metasave, job));
}

/* A save may have begun meanwhile, which waits for the job. */
static void mark_done(struct iopool_job *job)
{
	struct metasave *ms = container_of(job, struct metasave, job);

	ms->writes = false;
	if (ms->saving)
		arm(ms, 0);
}

bool metasave_settle(struct metasave *ms)
{
	if (ms->load)
		return true;
	if (ms->saving || ms->writes)
		return false;
	if (ms->p.caches->dirty && !ms->hurry)
		metasave_hurry(ms);
	else if (lacks_mark(ms))
		submit(ms, mark_run, mark_done);
	else
		return !ms->p.caches->dirty;
	return false;
}

void metasave_finish(struct metasave *ms)
{
	/* While the file is being loaded, the caches have a part of it only,
	 * which must not take its place. */
	if (ms->load)
		return;
	save_rest(ms);
	if (lacks_mark(ms))
		mark_whole(ms);
}

void metasave_free(struct metasave *ms)
{
	if (!ms)
		return;
	/* The next save begins that file anew. */
	if (ms->file.fd >= 0)
		close(ms->file.fd);
	if (ms->ev)
		event_free(ms->ev);
	metaload_free(ms->load);
	XXH3_freeState(ms->sum);
	free(ms->packing.data);
	free(ms->writing.data);
	free(ms);
}

/* ---- loading ---------------------------------------------------------- */

/* Whether the file with this checksum has all that the daemon before knew. That
 * is so once only, because changes begin now: so the word is removed, for good.
 * Where that cannot be made sure of, the answer is no. */
static bool take_whole(const char *path, uint64_t sum)
{
	char name[PATH_MAX + 8];
	uint64_t of = 0;
	bool whole;
	int fd;

	snprintf(name, sizeof(name), "%s.whole", path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	whole = read(fd, &of, sizeof(of)) == sizeof(of) && of == sum;
	close(fd);
	return unlink(name) == 0 && statefile_sync_dir(name) == 0 && whole;
}

/* Reads all of the file into memory; a bad sector under a mapping would kill
 * the daemon. NULL, and the reason in `*why`. */
static unsigned char *read_whole(int fd, size_t *len, const char **why)
{
	unsigned char *data;
	struct stat st;
	ssize_t n = 1;

	*why = "not the daemon's own";
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    (st.st_mode & 022) || !S_ISREG(st.st_mode))
		return NULL;
	*why = "too short";
	if (st.st_size < 16)
		return NULL;
	*why = strerror(ENOMEM);
	data = malloc((size_t)st.st_size);
	*len = 0;
	while (data && n > 0 && *len < (size_t)st.st_size) {
		n = read(fd, data + *len, (size_t)st.st_size - *len);
		*len += n > 0 ? (size_t)n : 0;
	}
	if (n > 0)
		return data;
	*why = n < 0 ? strerror(errno) : "too short";
	free(data);
	return NULL;
}

/* Returns NULL where the file is sound, or the reason why not. */
static const char *check_sum(struct metasave_file *f)
{
	memcpy(&f->sum, f->data + f->len - 8, sizeof(f->sum));
	if (memcmp(f->data, METAFILE_MAGIC, 8) != 0)
		return "of another version";
	return XXH3_64bits(f->data, f->len - 8) == f->sum ? NULL : "damaged";
}

static void warn_aside(const char *path, const char *server, const char *why)
{
	log_warn("metasave server=%s file=%s: %s: it is set aside", server,
	    path, why);
}

void metasave_read(
    const char *path, const char *server, struct metasave_file *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const char *why = NULL;

	*f = (struct metasave_file){0};
	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0)
		why = strerror(errno);
	else
		f->data = read_whole(fd, &f->len, &why);
	if (f->data)
		why = check_sum(f);
	if (fd >= 0)
		close(fd);
	if (!why) {
		f->whole = take_whole(path, f->sum);
		return;
	}
	metasave_forget(f);
	(void)statefile_set_aside(path);
	warn_aside(path, server, why);
}

void metasave_forget(struct metasave_file *f)
{
	free(f->data);
	f->data = NULL;
}

bool metasave_use_some(struct metasave *ms, struct metasave_file *f)
{
	struct metaview v;
	int rc;

	if (!f->data)
		return false;
	if (!ms->load) {
		v = (struct metaview){.data = f->data + 8, .len = f->len - 16};
		ms->load =
		    metaload_new(ms->p.caches, &v, f->whole, clock_now_us());
	}
	rc = ms->load ? metaload_some(ms->load, LOAD_RECORDS) : -ENOMEM;
	if (rc > 0)
		return true;
	/* After a kill the file does not say what of it is in doubt. So it
	 * counts as whole only after it was saved anew. */
	ms->saved_sum = f->whole ? f->sum : 0;
	if (rc < 0) {
		ms->saved_sum = 0;
		caches_flush(ms->p.caches);
		ms->malformed = rc == -EINVAL;
		warn_aside(ms->path, ms->p.server,
		    rc == -EINVAL ? "malformed" : strerror(-rc));
	}
	metaload_free(ms->load);
	ms->load = NULL;
	metasave_forget(f);
	return false;
}

void metasave_use(struct metasave *ms, struct metasave_file *f)
{
	while (metasave_use_some(ms, f))
		continue;
}
