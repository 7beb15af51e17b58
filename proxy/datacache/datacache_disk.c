/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a segment: their names, their entries, and reading and writing
 * at an offset. */
#include "datacache/datacache_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "datacache/datacache_segment.h"

void segment_name(
    char name[SEGMENT_NAME_MAX], uint32_t number, const char *suffix)
{
	snprintf(name, SEGMENT_NAME_MAX, "%08" PRIx32 ".%s", number, suffix);
}

int segment_open(
    const struct datacache *dc, uint32_t number, const char *suffix, int flags)
{
	char name[SEGMENT_NAME_MAX];
	int fd;

	segment_name(name, number, suffix);
	fd = openat(dc->dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

static void unlink_one(
    const struct datacache *dc, uint32_t number, const char *suffix)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, number, suffix);
	unlinkat(dc->dirfd, name, 0);
}

/* The index first: a payload file without one is removed at the next start. */
void segment_unlink(const struct datacache *dc, uint32_t number)
{
	unlink_one(dc, number, "idx");
	unlink_one(dc, number, "seg");
}

int read_all(int fd, void *buf, size_t len, uint64_t pos)
{
	char *to = buf;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		to += n;
		len -= (size_t)n;
		pos += (uint64_t)n;
	}
	return 0;
}

int write_all(int fd, const void *buf, size_t len, uint64_t pos)
{
	const char *from = buf;

	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, (off_t)pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		from += n;
		len -= (size_t)n;
		pos += (uint64_t)n;
	}
	return 0;
}

/* sync_file_range(). Without flags it does nothing: where that fails, too, a
 * filter of system calls refuses it or the kernel lacks it, and the disk is not
 * to blame. There the kernel writes when it likes. */
int write_out(int fd, uint64_t pos, uint64_t len)
{
	const unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE |
			       SYNC_FILE_RANGE_WRITE |
			       SYNC_FILE_RANGE_WAIT_AFTER;
	int rc;

	do
		rc = sync_file_range(fd, (off_t)pos, (off_t)len, flags) < 0
			 ? -errno
			 : 0;
	while (rc == -EINTR);
	if (rc < 0 && sync_file_range(fd, (off_t)pos, (off_t)len, 0) < 0)
		return 0;
	return rc;
}

/* madvise(MADV_POPULATE_READ), which kernels before 5.14 do not know and which
 * filters of system calls may refuse. */
int mapping_fault(const void *data, size_t len)
{
	uintptr_t at = (uintptr_t)data & ~(uintptr_t)(DATACACHE_PAGE - 1);
	size_t bytes = (uintptr_t)data + len - at;

	if (madvise((void *)at, bytes, MADV_POPULATE_READ) == 0)
		return 0;
	return errno == EFAULT || errno == EHWPOISON ? -EIO : -ENOSYS;
}

uint64_t entry_sum(const struct seg_entry *e, uint64_t id)
{
	return XXH3_64bits_withSeed(
	    (const char *)e + sizeof(e->sum), sizeof(*e) - sizeof(e->sum), id);
}

bool entry_is_sound(const struct seg_entry *e, uint64_t id)
{
	return e->sum == entry_sum(e, id);
}

int segment_read_entries(
    const struct segment *seg, uint32_t slot, struct seg_entry *e, uint32_t n)
{
	int fd = segment_open(seg->dc, seg->number, "idx", O_RDONLY), rc;

	if (fd < 0)
		return fd;
	memset(e, 0, n * sizeof(*e));
	rc = read_all(
	    fd, e, n * sizeof(*e), (uint64_t)slot * sizeof(struct seg_entry));
	close(fd);
	return rc == -ENODATA ? 0 : rc;
}

void segment_put_entry(
    const struct segment *seg, uint32_t slot, const struct seg_entry *e)
{
	int fd = segment_open(seg->dc, seg->number, "idx", O_WRONLY), rc = fd;

	if (fd >= 0) {
		rc = write_all(fd, e, sizeof(*e), (uint64_t)slot * sizeof(*e));
		close(fd);
	}
	if (rc < 0)
		segment_drop_index(seg);
}

void segment_drop_index(const struct segment *seg)
{
	unlink_one(seg->dc, seg->number, "idx");
}

void segment_forget_entry(const struct segment *seg, uint32_t slot)
{
	static const struct seg_entry none;

	segment_put_entry(seg, slot, &none);
}
