/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data on disk outlives starts and kills, damage, and a disk that is full or
 * fails. */
#include "datacache/datacache_fixture.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_write.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

TEST(test_reload)
{
	struct fixture *fx = fixture_new(64 * MIB);
	struct datacache_stats st;

	add_files(fx, 200, 5000);
	/* Not even drained: close waits. */
	add_some(fx, 1000, 1, 0, 3000, FIRM | DATACACHE_PREFETCHED);
	fixture_reopen(fx);
	st = stats_of(fx);
	assert_int_equal(st.loaded_extents, 201);
	assert_int_equal(st.live_bytes, 200 * 5000 + 3000);
	/* No more is taken than is used. */
	assert_true(st.disk_bytes < 1100 * KIB);
	assert_int_equal(count_files(fx, 200, 5000), 200);
	assert_true(find_some(fx, 1000, 1, 0, 3000));
	st = stats_of(fx);
	assert_int_equal(st.verified_extents, 201);
	assert_int_equal(st.bad_extents, 0);
}

/* The child adds files until its parent kills it. As soon as the first of them
 * are on the disk, it writes a byte to `said`, for which the parent may wait.
 */
static void child_adds(struct fixture *fx, unsigned seed, int said)
{
	enum { FIRST = 256 };

	fx->pool = iopool_new(fx->base, 2);
	fixture_open(fx);
	srand(seed);
	for (unsigned i = 0;; i++) {
		add_some(
		    fx, (unsigned)rand() % 300, 1, i % 7 * 1000, 4000, FIRM);
		if (i % 16 == 0)
			event_base_loop(fx->base, EVLOOP_NONBLOCK);
		if (i == FIRST) {
			while (stats_of(fx).pending_bytes > 0)
				event_base_loop(fx->base, EVLOOP_ONCE);
			if (write(said, "", 1) != 1)
				_exit(1);
		}
	}
}

/* The parent kills a child that adds files, at any moment; what it then finds
 * is right. In every other round it first waits until the child has files on
 * the disk, so that a busy machine does not leave it with nothing to find. How
 * many it finds depends on how far the child came, and it may be none. */
TEST(test_kill)
{
	ENDS_BY(fixture_end) struct fixture fx;
	unsigned rounds_kept = 0;
	char byte;
	int said[2];

	fixture_prepare(&fx, 16 * MIB);
	iopool_free(fx.pool);
	for (unsigned round = 0; round < 40; round++) {
		pid_t pid;

		assert_int_equal(pipe(said), 0);
		pid = fork();
		if (pid == 0)
			child_adds(&fx, round, said[1]);
		close(said[1]);
		if (round % 2)
			assert_int_equal(read(said[0], &byte, 1), 1);
		usleep(2000 + round * 700);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(said[0]);
		fx.pool = iopool_new(fx.base, 2);
		fixture_open(&fx);
		rounds_kept += count_files(&fx, 300, 4000) > 0;
		assert_int_equal(stats_of(&fx).bad_extents, 0);
		fixture_close(&fx);
		iopool_free(fx.pool);
	}
	assert_true(rounds_kept >= 10);
	fx.pool = iopool_new(fx.base, 1);
}

struct damage {
	off_t at;
	bool cut;
};

static void damage_one(const char *path, void *arg)
{
	const struct damage *d = arg;
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_true(fd >= 0);
	if (d->cut) {
		assert_int_equal(ftruncate(fd, d->at), 0);
	} else if (pread(fd, &byte, 1, d->at) == 1) {
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, d->at), 1);
	}
	close(fd);
}

FIXTURE(struct fixture, fixture_of_16m, fixture_end);

TEST(test_flipped, struct fixture *fx)
{
	struct damage d = {.at = 7 * 5000 + 77};

	add_files(fx, 20, 5000);
	fixture_close(fx);
	assert_int_equal(each_file(fx, ".seg", damage_one, &d), 1);
	fixture_open(fx);
	assert_int_equal(count_files(fx, 20, 5000), 19);
	assert_int_equal(stats_of(fx).bad_extents, 1);
	assert_false(find_some(fx, 7, 1, 4999, 1));
	/* Nor does it come back. */
	fixture_reopen(fx);
	assert_int_equal(stats_of(fx).loaded_extents, 19);
}

TEST(test_damaged_index)
{
	enum { ENTRY = 72, N = 6 };

	for (off_t at = 0; at < ENTRY * (N + 1); at += 5) {
		for (int cut = 0; cut < 2; cut++) {
			struct damage d = {.at = at, .cut = cut};
			unsigned hit = at < ENTRY ? 0
				       : cut      ? (unsigned)at / ENTRY - 1
						  : N - 1;
			ENDS_BY(fixture_end) struct fixture fx;

			fixture_begin(&fx, 16 * MIB);
			add_files(&fx, N, 5000);
			fixture_close(&fx);
			each_file(&fx, ".idx", damage_one, &d);
			fixture_open(&fx);
			assert_int_equal(count_files(&fx, N, 5000), hit);
		}
	}
}

TEST(test_cut_segment, struct fixture *fx)
{
	struct damage d = {.at = 12345, .cut = true};

	add_files(fx, 10, 5000);
	fixture_close(fx);
	each_file(fx, ".seg", damage_one, &d);
	fixture_open(fx);
	assert_int_equal(count_files(fx, 10, 5000), 2);
}

TEST(test_other_layout, struct fixture *fx)
{
	struct damage d = {.at = 8};
	char path[384];

	add_files(fx, 10, 5000);
	fixture_close(fx);
	path_of(fx, "FORMAT", path);
	damage_one(path, &d);
	fixture_open(fx);
	assert_int_equal(stats_of(fx).loaded_extents, 0);
	assert_int_equal(each_file(fx, ".seg", NULL, NULL), 0);
	assert_int_equal(each_file(fx, ".idx", NULL, NULL), 0);
	add_files(fx, 10, 5000);
	fixture_reopen(fx);
	assert_int_equal(count_files(fx, 10, 5000), 10);
}

/* Cut, then killed: as soon as it is on disk, it stays cut. */
TEST(test_kill_cut)
{
	ENDS_BY(fixture_end) struct fixture fx;
	pid_t pid;
	int status;

	fixture_prepare(&fx, 16 * MIB);
	iopool_free(fx.pool);
	pid = fork();
	if (pid == 0) {
		fx.pool = iopool_new(fx.base, 2);
		fixture_open(&fx);
		add_files(&fx, 1000, 5000);
		for (unsigned i = 0; i < 1000; i++) {
			struct data_key key = key_of(i);

			if (i % 2)
				datacache_drop(fx.dc, &key);
			else
				datacache_cut(fx.dc, &key, 1000, 1000);
		}
		iopool_drain(fx.pool);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	fx.pool = iopool_new(fx.base, 2);
	fixture_open(&fx);
	assert_int_equal(stats_of(&fx).files, 500);
	for (unsigned i = 0; i < 1000; i++) {
		assert_false(find_some(&fx, i, 1, 1999, 2));
		assert_int_equal(find_some(&fx, i, 1, 2000, 3000), i % 2 == 0);
	}
}

static int refusal; /* errno with which the disk refuses data; 0: it takes it */
static bool unknown; /* plays a kernel without sync_file_range() */
static uint64_t asked_bytes;

int __real_sync_file_range(int fd, off64_t at, off64_t len, unsigned flags);
int __wrap_sync_file_range(int fd, off64_t at, off64_t len, unsigned flags);
int __wrap_sync_file_range(int fd, off64_t at, off64_t len, unsigned flags)
{
	if (flags != 0)
		asked_bytes += (uint64_t)len;
	if (refusal == 0 || (flags == 0 && !unknown))
		return __real_sync_file_range(fd, at, len, flags);
	errno = refusal;
	return -1;
}

/* The kernel took what the disk then does not: the file reads as zeros there,
 * and the next bytes beside them bring the zeros into memory. */
TEST(test_not_taken, struct fixture *fx)
{
	static const int causes[] = {EIO, EPERM};

	asked_bytes = 0;
	add_some(fx, 1, 1, 0, 5000, FIRM);
	iopool_drain(fx->pool);
	assert_int_equal(asked_bytes, 5000);
	for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		refusal = causes[i];
		add_some(fx, 2, 1, 0, 5000, FIRM);
		assert_true(find_some(fx, 2, 1, 0, 5000));
		iopool_drain(fx->pool);
		refusal = 0;
		assert_false(find_some(fx, 2, 1, 0, 5000));
	}
	add_some(fx, 2, 1, 0, 5000, FIRM);
	iopool_drain(fx->pool);
	assert_true(find_some(fx, 1, 1, 0, 5000));
	assert_true(find_some(fx, 2, 1, 0, 5000));
}

/* Where a filter forbids sync_file_range(), the cache keeps data all the same:
 * the disk has not failed. */
TEST(test_not_known, struct fixture *fx)
{
	unknown = true;
	refusal = EPERM;
	add_files(fx, 5, 5000);
	iopool_drain(fx->pool);
	unknown = false;
	refusal = 0;
	assert_int_equal(count_files(fx, 5, 5000), 5);
}

/* More was cut than the index takes: the segment is gone after a start. */
TEST(test_doomed, struct fixture *fx)
{
	struct data_key key = key_of(1);

	for (unsigned i = 0; i < 19; i++)
		add_some(fx, 1, 1, i * 100 * KIB, 100 * KIB, FIRM);
	iopool_drain(fx->pool);
	for (unsigned i = 0; i < 10000; i++)
		datacache_cut(fx->dc, &key, i * 100, 10);
	iopool_drain(fx->pool);
	assert_true(find_some(fx, 1, 1, 10, 90));
	assert_false(find_some(fx, 1, 1, 9, 2));
	assert_true(find_some(fx, 1, 1, 1000 * KIB, 100 * KIB));
	fixture_reopen(fx);
	assert_int_equal(stats_of(fx).loaded_extents, 0);
	add_files(fx, 10, 5000);
	assert_int_equal(count_files(fx, 10, 5000), 10);
}

static void assert_refused(struct fixture *fx, const char *cause)
{
	struct datacache_params p = {.dir = fx->dir,
	    .server = "nas",
	    .size_bytes = fx->size,
	    .iopool = fx->pool};
	char err[256];

	assert_null(datacache_load(&p, err, sizeof(err)));
	if (!strstr(err, cause))
		fail_msg("'%s' lacks '%s'", err, cause);
}

TEST(test_foreign, struct fixture *fx)
{
	char path[384], other[384];

	add_files(fx, 10, 5000);
	fixture_close(fx);
	path_of(fx, "00000000.seg", path);
	path_of(fx, "aside", other);
	assert_int_equal(chmod(path, 0620), 0);
	assert_refused(fx, "00000000.seg: others may write");
	chmod(path, 0600);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink("aside", path), 0);
	assert_refused(fx, "not a file");
	unlink(path);
	rename(other, path);
	chmod(fx->dir, 0770);
	assert_refused(fx, "others may write");
	chmod(fx->dir, 0700);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_refused(fx, "somebody else");
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(chown(fx->dir, 12345, 0), 0);
		assert_refused(fx, "somebody else");
		assert_int_equal(chown(fx->dir, 0, 0), 0);
	}
	fixture_open(fx);
	assert_int_equal(count_files(fx, 10, 5000), 10);
}

/* No file may be made that large: nothing is cached, and nobody fails. */
TEST(test_no_space)
{
	struct rlimit old, small = {.rlim_cur = MIB};
	ENDS_BY(fixture_end) struct fixture fx;
	struct datacache_stats st;

	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	fixture_begin(&fx, 16 * MIB);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	add_files(&fx, 10, 5000);
	st = stats_of(&fx);
	assert_false(st.on);
	assert_int_equal(st.pending_bytes + st.disk_bytes + st.extents, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	/* It is tried again after a while. */
	for (unsigned i = 0; i < 3 && !stats_of(&fx).on; i++)
		add_files(&fx, 300, 8000);
	assert_true(stats_of(&fx).on);
	add_files(&fx, 10, 5000);
	assert_int_equal(count_files(&fx, 10, 5000), 10);
}

/* A disk smaller than the cache may be: it makes do with what there is. */
TEST(test_small_disk)
{
	struct fixture fx;
	struct datacache_stats st;
	unsigned n = 0;

	fixture_prepare(&fx, 64 * MIB);
	if (mount("none", fx.dir, "tmpfs", 0, "size=20m,mode=700") < 0) {
		fixture_open(&fx);
		fixture_end(&fx);
		skip();
	}
	fixture_open(&fx);
	for (unsigned i = 0; i < 600; i++) {
		add_some(&fx, i, 1, 0, 100 * KIB, FIRM);
		iopool_drain(fx.pool);
		n += find_some(&fx, i, 1, 0, 100 * KIB);
	}
	st = stats_of(&fx);
	assert_in_range(st.disk_bytes, 10 * MIB, 20 * MIB);
	assert_true(st.live_bytes > 8 * MIB);
	assert_true(n > 590);
	fixture_reopen(&fx);
	assert_true(count_files(&fx, 600, 100 * KIB) > 80);
	fixture_close(&fx);
	assert_int_equal(umount2(fx.dir, MNT_DETACH), 0);
	fixture_open(&fx);
	fixture_end(&fx);
}

/* A reply in a queue keeps its bytes, also after the cache is gone. */
TEST(test_reference)
{
	enum { LEN = 100 * KIB };
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(0), .version = &v, .len = LEN};
	struct rbuf_piece pieces[DATA_PIECES_MAX], kept[2];
	unsigned char *want = malloc(LEN);
	ENDS_BY(fixture_end) struct fixture fx;
	unsigned n;

	pattern_fill(want, 0, 1, 0, LEN);
	fixture_begin(&fx, 16 * MIB);
	add_files(&fx, 1, LEN);
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(datacache_find(fx.dc, &rd, pieces, &n, NULL),
		    DATACACHE_HIT);
		kept[k] = pieces[0];
		rbuf_ref(kept[k].hold);
	}
	for (unsigned i = 0; i < 400; i++) {
		add_some(&fx, 1000 + i, 1, 0, LEN, FIRM);
		if (i % 4 == 0)
			iopool_drain(fx.pool);
		assert_true(stats_of(&fx).disk_bytes <= fx.size);
	}
	assert_false(find_some(&fx, 1, 1, 0, LEN));
	assert_memory_equal(kept[0].data, want, LEN);
	rbuf_unref(kept[0].hold);
	fixture_close(&fx);
	assert_memory_equal(kept[1].data, want, LEN);
	rbuf_unref(kept[1].hold);
	free(want);
	fixture_open(&fx);
}

static void drop_pages(const char *path, void *arg)
{
	int fd = open(path, O_RDONLY);

	(void)arg;
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* Not in memory: waited for, not faulted in by the loop. */
TEST(test_not_resident, struct fixture *fx)
{
	add_files(fx, 10, 100 * KIB);
	each_file(fx, ".seg", drop_pages, NULL);
	if (find_now(fx, 1, 1, 0, 100 * KIB, 0, NULL) == DATACACHE_HIT)
		print_message("the pages would not go\n");
	assert_int_equal(count_files(fx, 10, 100 * KIB), 10);
}

static void zero_and_drop(const char *path, void *arg)
{
	static const char zeros[MIB];
	int fd = open(path, O_WRONLY);

	assert_true(pwrite(fd, zeros, sizeof(zeros), 0) == sizeof(zeros));
	close(fd);
	drop_pages(path, arg);
}

/* Whether the kernel gives pages up and reads them again from the disk; on a
 * tmpfs it does not. */
static bool pages_go(void)
{
	struct fixture *fx = fixture_new(64 * MIB);

	add_some(fx, 1, 1, 0, 5000, FIRM);
	iopool_drain(fx->pool);
	each_file(fx, ".seg", drop_pages, NULL);
	if (find_now(fx, 1, 1, 0, 5000, 0, NULL) != DATACACHE_HIT)
		return true;
	print_message("the pages would not go\n");
	return false;
}

/* The disk has other bytes than it took. To read one file brings its
 * neighbours into memory, too. */
TEST(test_other_bytes, struct fixture *fx)
{
	if (!pages_go())
		return;
	add_files(fx, 10, 5000);
	iopool_drain(fx->pool);
	each_file(fx, ".seg", zero_and_drop, NULL);
	assert_int_equal(count_files(fx, 10, 5000), 0);
}

/* A client asks for bytes that wait to be moved to another segment, and the
 * disk has others in their place. */
TEST(test_other_bytes_moved, struct fixture *fx)
{
	struct datacache_waiter w = {.on_ready = on_ready};
	struct data_key key = key_of(1);
	struct extent_cursor c;
	struct extent *x;
	struct block b;
	struct file *f;

	if (!pages_go())
		return;
	add_some(fx, 1, 1, 0, 5000, FIRM);
	iopool_drain(fx->pool);
	block_begin(fx, &b, true);
	f = index_lookup(fx->dc, &key);
	index_seek(f, 0, &c);
	x = cursor_get(&c);
	segment_by_id(fx->dc, x->owner)->layout_moves++;
	assert_true(pend_move(fx->dc, f, x, NULL));
	writer_kick(fx->dc, SEGMENT_LAYOUT);
	each_file(fx, ".seg", zero_and_drop, NULL);
	assert_int_equal(find_now(fx, 1, 1, 0, 5000, 0, &w), DATACACHE_WAIT);
	iopool_wait(fx->pool, &w.woken, UINT64_MAX / 2);
	assert_int_equal(find_now(fx, 1, 1, 0, 5000, 0, &w), DATACACHE_MISS);
	block_release(&b);
	iopool_drain(fx->pool);
	block_end(&b);
}

static void cut_to_nothing(const char *path, void *arg)
{
	(void)arg;
	assert_int_equal(truncate(path, 0), 0);
}

static void add_stray_segment(const struct fixture *fx)
{
	char path[384];
	FILE *f;

	path_of(fx, "00000077.seg", path);
	f = fopen(path, "w");
	assert_true(f && fclose(f) == 0);
	/* The cache refuses a file that a group may write to, and some umasks
	 * make such files. */
	assert_int_equal(chmod(path, 0600), 0);
}

/* Bytes that cannot be read any more, as of a disk that fails. */
TEST(test_suspect, struct fixture *fx)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(0), .version = &v, .len = 5000};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	char err[256];
	unsigned n;

	for (unsigned i = 0; i < 3; i++) {
		add_files(fx, 10, 5000);
		assert_int_equal(datacache_find(fx->dc, &rd, pieces, &n, NULL),
		    DATACACHE_HIT);
		assert_true(stats_of(fx).on);
		/* The disk is well, or they are somebody else's. */
		assert_false(
		    datacache_suspect(fx->dc, pieces[0].data, pieces[0].len));
		assert_false(datacache_suspect(fx->dc, fx, sizeof(fx)));
		assert_int_equal(count_files(fx, 10, 5000), 10);
		each_file(fx, ".seg", cut_to_nothing, NULL);
		assert_true(
		    datacache_suspect(fx->dc, pieces[0].data, pieces[0].len));
		assert_int_equal(count_files(fx, 10, 5000), 0);
	}
	assert_false(stats_of(fx).on);
	add_files(fx, 10, 5000);
	assert_int_equal(count_files(fx, 10, 5000), 0);
	assert_int_equal(stats_of(fx).disk_bytes, 0);
	assert_int_equal(stats_of(fx).failed, EIO);
	/* As of a time when nobody could write a tombstone. */
	add_stray_segment(fx);
	assert_int_equal(datacache_renew(fx->dc, err, sizeof(err)), 0);
	datacache_renewed(fx->dc);
	assert_int_equal(each_file(fx, ".seg", NULL, NULL), 0);
	add_files(fx, 10, 5000);
	assert_int_equal(count_files(fx, 10, 5000), 10);
}
