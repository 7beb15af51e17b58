/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of the disk of the cache: what it is, whose, how full and how
 * fast. The trial writes 8 MiB to a file without a name, so nothing is left
 * behind, whatever happens to this process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "ctl/ctl_text.h"
#include "base/clock.h"
#include "ask/ask.h"
#include "doctor/doctor_private.h"

/* Bounds of the trial and of the verdict. */
enum {
	/* So much is written and read: enough to see a slow disk, and within a
	 * second on most. */
	TRIAL_BYTES = 8 << 20,
	/* Each write(2) has so much of it. */
	PART_BYTES = 64 << 10,
	/* A disk with less space than this counts as full. */
	FULL_BYTES = 16 << 20,
	/* A disk that reads or writes less in a second is slow: many links are
	 * faster. */
	SLOW_BYTES = 8 << 20,
};

/* The type that statfs(2) has for XFS; linux/magic.h has the others. */
#define XFS_MAGIC 0x58465342

/* Names of file systems by statfs(2)'s f_type, for the line about the cache. */
static const struct {
	long magic;
	const char *name;
} types[] = {
    {EXT4_SUPER_MAGIC, "ext4"},
    {BTRFS_SUPER_MAGIC, "btrfs"},
    {XFS_MAGIC, "xfs"},
    {F2FS_SUPER_MAGIC, "f2fs"},
    {TMPFS_MAGIC, "tmpfs"},
    {NFS_SUPER_MAGIC, "nfs"},
    {OVERLAYFS_SUPER_MAGIC, "overlay"},
};

/* A cache on NFS would wait for one server in order to answer for another, and
 * its segments are mapped into memory, which NFS does not keep coherent. One in
 * memory works, and is lost with a restart of the machine. */
static void check_type(
    const char *dir, const struct statfs *fs, struct findings *out)
{
	const char *name = "of another type";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (fs->f_type == types[i].magic)
			name = types[i].name;
	if (fs->f_type == NFS_SUPER_MAGIC) {
		findings_add(
		    out, FINDING_FAIL, "cache", "%s is on NFS itself", dir);
		findings_remedy(out, "set cache_dir to a local disk");
	} else if (fs->f_type == TMPFS_MAGIC) {
		findings_add(out, FINDING_WARN, "cache",
		    "%s is in memory (tmpfs): it is lost at a reboot, and "
		    "takes memory that programs need",
		    dir);
		findings_remedy(out, "set cache_dir to a local disk");
	} else {
		findings_add(out, FINDING_OK, "cache", "%s, %s", dir, name);
	}
}

/* Sums up the bytes that the daemon's caches of all servers have, and may have;
 * 0 where the daemon does not say. */
static void cache_bytes(
    const struct doctor_env *env, uint64_t *used, uint64_t *limit)
{
	*used = *limit = 0;
	for (size_t i = 0; env->st && i < env->st->n_servers; i++) {
		const Forefetch__CacheStatus *c = env->st->servers[i]->caches;

		*used += c ? c->disk_bytes : 0;
		*limit += c ? c->disk_limit_bytes : 0;
	}
}

/* Warns before the disk is full: the caches grow up to their limit, and when
 * they cannot, the programs beside them cannot write either. */
static void check_room(
    const struct doctor_env *env, const struct statfs *fs, struct findings *out)
{
	uint64_t avail = fs->f_bavail * (uint64_t)fs->f_bsize;
	uint64_t total = fs->f_blocks * (uint64_t)fs->f_bsize, used, limit;
	char a[CTL_TEXT_MAX], t[CTL_TEXT_MAX], l[CTL_TEXT_MAX];

	cache_bytes(env, &used, &limit);
	if (avail < FULL_BYTES) {
		findings_add(out, FINDING_FAIL, "room",
		    "the disk of the cache is full: %s of %s are free",
		    ctl_text_bytes(a, avail), ctl_text_bytes(t, total));
		findings_remedy(out, "free some space on it, lower cache_size, "
				     "or set cache_dir to another disk");
	} else if (limit > used && avail < limit - used) {
		findings_add(out, FINDING_WARN, "room",
		    "the cache may grow by %s, and %s are free",
		    ctl_text_bytes(l, limit - used), ctl_text_bytes(a, avail));
		findings_remedy(out,
		    "lower cache_size, or free some space: a full disk "
		    "makes other programs fail, too");
	} else {
		findings_add(out, FINDING_OK, "room", "%s of %s are free",
		    ctl_text_bytes(a, avail), ctl_text_bytes(t, total));
	}
}

/* Whoever may write to the directory may give other users any data, so it is to
 * be the daemon's alone. The daemon's user is that of its process. */
static void check_owner(
    const struct doctor_env *env, const char *dir, struct findings *out)
{
	char proc[64];
	struct stat st, of;

	if (stat(dir, &st) < 0)
		return;
	snprintf(proc, sizeof(proc), "/proc/%u", env->st ? env->st->pid : 0);
	if (st.st_mode & S_IWOTH) {
		findings_add(out, FINDING_FAIL, "owner",
		    "anybody may write to %s (mode %o)", dir,
		    st.st_mode & 07777);
		findings_remedy(out, "chmod 700 %s", dir);
	} else if (stat(proc, &of) == 0 && of.st_uid != 0 &&
		   of.st_uid != st.st_uid) {
		findings_add(out, FINDING_FAIL, "owner",
		    "%s belongs to uid %u, and forefetchd runs as uid %u", dir,
		    st.st_uid, of.st_uid);
		findings_remedy(out, "chown -R %u %s", of.st_uid, dir);
	}
}

/* Writes and reads a file without a name (O_TMPFILE, open(2)): 0 or an errno,
 * and how long each took, in microseconds. The bytes are no zeros, which a file
 * system might not store, and are dropped from the page cache before they are
 * read. */
static int try_disk(const char *dir, uint64_t *write_us, uint64_t *read_us)
{
	static char part[PART_BYTES];
	uint64_t start = clock_now_us();
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err = 0;

	if (fd < 0)
		return errno;
	for (size_t i = 0; i < PART_BYTES; i++)
		part[i] = (char)(i * 2654435761u >> 13);
	errno = 0;
	for (off_t at = 0; at < TRIAL_BYTES && !err; at += PART_BYTES)
		if (pwrite(fd, part, PART_BYTES, at) != PART_BYTES)
			err = errno ? errno : ENOSPC;
	if (!err && fsync(fd) < 0)
		err = errno;
	*write_us = clock_now_us() - start;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	start = clock_now_us();
	for (off_t at = 0; at < TRIAL_BYTES && !err; at += PART_BYTES)
		if (pread(fd, part, PART_BYTES, at) != PART_BYTES)
			err = errno ? errno : EIO;
	*read_us = clock_now_us() - start;
	close(fd);
	return err;
}

/* A disk that fails in the trial fails the cache too, and is reported before
 * anybody loses time with it. */
static void check_speed(const char *dir, struct findings *out)
{
	char w[CTL_TEXT_MAX], r[CTL_TEXT_MAX];
	uint64_t write_us = 0, read_us = 0, writes, reads;
	int err = try_disk(dir, &write_us, &read_us);

	if (err == EACCES || err == EPERM || err == EOPNOTSUPP) {
		findings_add(out, FINDING_SKIP, "speed", "%s: %s",
		    err != EOPNOTSUPP ? "root may measure it"
				      : "it cannot be measured on this "
					"file system",
		    strerror(err));
		return;
	}
	if (err) {
		findings_add(out, FINDING_FAIL, "speed",
		    "8 MiB could not be written and read: %s", strerror(err));
		findings_remedy(out, "see dmesg(1), and df %s", dir);
		return;
	}
	writes = (uint64_t)TRIAL_BYTES * 1000000 / (write_us + 1);
	reads = (uint64_t)TRIAL_BYTES * 1000000 / (read_us + 1);
	findings_add(out,
	    writes < SLOW_BYTES || reads < SLOW_BYTES ? FINDING_WARN
						      : FINDING_OK,
	    "speed", "%s a second to write, %s to read",
	    ctl_text_bytes(w, writes), ctl_text_bytes(r, reads));
	if (writes < SLOW_BYTES || reads < SLOW_BYTES)
		findings_remedy(out,
		    "a cache on a slow disk may be slower than the link: set "
		    "cache_dir to another one");
}

/* Reports each server whose data the daemon does not keep on the disk: it may
 * have given the disk up before this process came. */
static void check_daemon(const struct doctor_env *env, struct findings *out)
{
	char text[DOCTOR_TEXT], name[DOCTOR_TEXT];

	for (size_t i = 0; env->st && i < env->st->n_servers; i++) {
		const Forefetch__ServerStatus *srv = env->st->servers[i];

		if (!srv->caches || srv->caches->disk_limit_bytes == 0 ||
		    srv->caches->disk_on)
			continue;
		findings_add(out, FINDING_FAIL, "use",
		    "forefetchd does not use it for %s: %s",
		    doctor_text(&srv->name, name, sizeof(name)),
		    doctor_text(
			&srv->caches->disk_problem, text, sizeof(text)));
		findings_remedy(out, "it tries again by itself; see its log");
	}
}

/* The directory is that of the running daemon, or of the configuration, or the
 * default one. Where another user may not look, root can. */
void doctor_check_disk(const struct doctor_env *env, struct findings *out)
{
	char dir[DOCTOR_TEXT] = "/var/cache/forefetch";
	struct statfs fs;

	if (env->config)
		snprintf(dir, sizeof(dir), "%s", env->config->cache_dir);
	if (env->st && env->st->cache_dir.len > 0)
		doctor_text(&env->st->cache_dir, dir, sizeof(dir));
	if (statfs(dir, &fs) < 0) {
		bool wrong = env->st && errno != EACCES;

		findings_add(out, wrong ? FINDING_FAIL : FINDING_SKIP, "cache",
		    "%s: %s%s", dir, strerror(errno),
		    errno == EACCES ? "; root may look" : "");
		if (wrong)
			findings_remedy(out,
			    "create the directory, or set cache_dir; "
			    "forefetchd creates everything below it");
		return;
	}
	check_type(dir, &fs, out);
	check_room(env, &fs, out);
	check_owner(env, dir, out);
	check_daemon(env, out);
	check_speed(dir, out);
}
