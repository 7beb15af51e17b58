/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directory of a data cache: whether it may be used, which segments are in
 * it, and FORMAT, the file that says of what layout and of which server they
 * are. Others could otherwise put files there that are served as a server's.
 */
#include "datacache/datacache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/statefile.h"
#include "datacache/datacache_disk.h"

#define FORMAT_MAGIC 0x3143444646464651ull /* "QFFFFDC1" */

/* The file FORMAT, in the byte order of the machine. A directory of another
 * machine's or another server's is of another layout. */
struct format {
	uint64_t magic;
	uint32_t layout;
	uint32_t entry_bytes;
	uint64_t server; /* XXH3 of its name */
	uint64_t id;     /* of the directory; seeds the sums of all entries */
	uint64_t sum;    /* XXH3 of what precedes */
};

int dir_refuse(const struct segment_dir *d, const char *file, const char *cause)
{
	snprintf(d->err, d->errlen, "%s%s%s: %s", d->dc->dir,
	    file[0] ? "/" : "", file, cause);
	return -EPERM;
}

/* Why a file cannot be trusted to be ours; NULL: it can. */
static const char *unfit(const struct stat *st, bool dir)
{
	if (dir ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
		return dir ? "it is not a directory" : "it is not a file";
	if (st->st_uid != geteuid())
		return "it belongs to somebody else";
	if (st->st_mode & 022)
		return "others may write to it; chmod go-w it";
	return NULL;
}

int dir_open(const struct segment_dir *d)
{
	struct datacache *dc = d->dc;
	const char *cause;
	struct stat st;

	if (mkdir(dc->dir, 0700) < 0 && errno != EEXIST)
		return dir_refuse(d, "", strerror(errno));
	dc->dirfd =
	    open(dc->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dc->dirfd < 0 || fstat(dc->dirfd, &st) < 0)
		return dir_refuse(d, "", strerror(errno));
	cause = unfit(&st, true);
	return cause ? dir_refuse(d, "", cause) : 0;
}

static bool parse_name(const char *name, uint32_t *number, bool *idx)
{
	char again[SEGMENT_NAME_MAX], *end;
	unsigned long n = strtoul(name, &end, 16);

	*idx = strcmp(end, ".idx") == 0;
	*number = (uint32_t)n;
	segment_name(again, *number, *idx ? "idx" : "seg");
	return strcmp(again, name) == 0;
}

/* One name of the directory; what is not ours by its name is let be. */
static int scan_name(const struct segment_dir *d, const char *name,
    dir_on_segment each, void *ctx)
{
	struct datacache *dc = d->dc;
	const char *cause;
	uint32_t number;
	struct stat st;
	bool idx;
	bool seg = parse_name(name, &number, &idx);

	if (!seg && strcmp(name, "FORMAT") != 0 &&
	    strcmp(name, "FORMAT.new") != 0)
		return 0;
	if (fstatat(dc->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return dir_refuse(d, name, strerror(errno));
	cause = unfit(&st, false);
	if (cause)
		return dir_refuse(d, name, cause);
	if (!seg)
		return 0;
	if (number >= dc->next_number)
		dc->next_number = number + 1;
	/* A segment alone is to be unlinked as well. */
	return each(ctx, number);
}

int dir_scan(const struct segment_dir *d, dir_on_segment each, void *ctx)
{
	int fd = openat(d->dc->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	int rc = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return dir_refuse(d, "", strerror(errno));
	}
	while (rc == 0 && (de = readdir(dir)))
		rc = scan_name(d, de->d_name, each, ctx);
	closedir(dir);
	return rc;
}

static struct format format_of(const struct datacache *dc)
{
	return (struct format){.magic = FORMAT_MAGIC,
	    .layout = DATACACHE_LAYOUT,
	    .entry_bytes = sizeof(struct seg_entry),
	    .server = XXH3_64bits(dc->server, strlen(dc->server))};
}

static uint64_t format_sum(const struct format *f)
{
	return XXH3_64bits(f, offsetof(struct format, sum));
}

bool dir_format_read(struct datacache *dc)
{
	int fd = openat(dc->dirfd, "FORMAT", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct format f, want = format_of(dc);
	bool ok;

	if (fd < 0)
		return false;
	ok = read_all(fd, &f, sizeof(f), 0) == 0 && f.sum == format_sum(&f) &&
	     memcmp(&f, &want, offsetof(struct format, id)) == 0;
	close(fd);
	if (ok)
		dc->id = f.id;
	return ok;
}

int dir_format_write(const struct segment_dir *d)
{
	struct datacache *dc = d->dc;
	struct format f = format_of(dc);
	char path[PATH_MAX];
	int rc;

	if (dc->id == 0 &&
	    getrandom(&dc->id, sizeof(dc->id), 0) != sizeof(dc->id))
		return dir_refuse(d, "FORMAT", strerror(errno));
	f.id = dc->id;
	f.sum = format_sum(&f);
	snprintf(path, sizeof(path), "%s/FORMAT", dc->dir);
	rc = statefile_write(path, &f, sizeof(f));
	return rc < 0 ? dir_refuse(d, "FORMAT", strerror(-rc)) : 0;
}
