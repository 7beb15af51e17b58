/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disk of the cache: what it is, whose, how full and how fast. */
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

enum {
	TRIAL_BYTES = 8 << 20,
	PART_BYTES = 64 << 10,
	FULL_BYTES = 16 << 20,
	SLOW_BYTES = 8 << 20, /* a second */
};

#define XFS_MAGIC 0x58465342

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

/* Sums up what the daemon's caches of all servers have, and may have. */
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

/* Write and read a file without a name: 0 or an errno, and what each took. */
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
