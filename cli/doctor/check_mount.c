/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of mounts through the daemon: the options that the kernel has in
 * force, whether they answer, and the lines of fstab. Which mounts these are,
 * doctor_find_mounts() finds before any check runs, from mountinfo, which the
 * kernel gives without asking a server. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libmount/libmount.h>

#include "ctl/ctl_status.h"
#include "ctl/ctl_text.h"
#include "base/clock.h"
#include "ask/ask.h"
#include "doctor/doctor_private.h"

/* LEAST_SIZE is bytes of a READ or WRITE, ANSWER_US what a mount may take to
 * answer, LINE_BYTES the longest line of fstab. */
enum {
	LEAST_SIZE = 32 << 10,
	ANSWER_US = 4000000,
	LINE_BYTES = 16 << 10,
};

/* ---- finding them ------------------------------------------------------ */

/* The value of an option in `buf`, "" for one without; NULL if the option is
 * not there, and `buf` is as it was then. */
static const char *option(
    const struct doctor_mount *m, const char *name, char *buf, size_t size)
{
	char *value = NULL;
	size_t len = 0;

	if (mnt_optstr_get_option(m->options, name, &value, &len) != 0)
		return NULL;
	snprintf(buf, size, "%.*s", (int)len, value ? value : "");
	return buf;
}

/* Whether the option is in force, with a value or without. */
static bool has(const struct doctor_mount *m, const char *name)
{
	return mnt_optstr_get_option(m->options, name, NULL, NULL) == 0;
}

/* Fills in a mount. False where it is none that is looked for: not NFS, or
 * neither from a listener of the daemon nor apparently so. Without a daemon to
 * ask, a mount from this machine at a port that is not NFS's usual one is taken
 * for one of ours, so that a stopped daemon's mounts are found. */
static bool fill(
    const struct doctor_env *env, struct libmnt_fs *fs, struct doctor_mount *m)
{
	const char *type = mnt_fs_get_fstype(fs), *dir = mnt_fs_get_target(fs);
	const char *source = mnt_fs_get_source(fs);
	const char *options = mnt_fs_get_options(fs);
	const char *export = source ? strstr(source, ":/") : NULL;
	const Forefetch__ServerStatus *srv;
	char addr[64], port[16];
	bool ours;

	if (!type || strncmp(type, "nfs", 3) != 0 || !dir || !export)
		return false;
	snprintf(m->dir, sizeof(m->dir), "%s", dir);
	snprintf(m->export, sizeof(m->export), "%s", export + 1);
	snprintf(m->options, sizeof(m->options), "%s", options ? options : "");
	if (!option(m, "addr", addr, sizeof(addr)))
		return false;
	if (!option(m, "port", port, sizeof(port)))
		strcpy(port, "2049");
	snprintf(m->listen, sizeof(m->listen),
	    strchr(addr, ':') ? "[%s]:%s" : "%s:%s", addr, port);
	srv = env->st ? ctl_server_at(env->st, m->listen) : NULL;
	if (srv)
		doctor_text(&srv->name, m->server, sizeof(m->server));
	else
		*m->server = '\0';
	ours = strncmp(addr, "127.", 4) == 0 || strcmp(addr, "::1") == 0;
	return *m->server || (ours && strcmp(port, "2049") != 0);
}

void doctor_find_mounts(struct doctor_env *env, const char *mountinfo)
{
	struct libmnt_table *table = mnt_new_table_from_file(mountinfo);
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;

	while (table && iter && env->nmounts < DOCTOR_MOUNTS_MAX &&
	       mnt_table_next_fs(table, iter, &fs) == 0)
		if (fill(env, fs, &env->mounts[env->nmounts]))
			env->nmounts++;
	mnt_free_iter(iter);
	mnt_unref_table(table);
}

/* ---- looking at them --------------------------------------------------- */

/* A small rsize or wsize costs a round trip for each piece of a file; somebody
 * has set it, as the kernel takes what the server offers. */
static void check_size(
    const struct doctor_mount *m, const char *name, struct findings *out)
{
	char value[32], text[CTL_TEXT_MAX];
	unsigned long bytes;

	if (!option(m, name, value, sizeof(value)))
		return;
	bytes = strtoul(value, NULL, 10);
	if (bytes >= LEAST_SIZE)
		return;
	findings_add(out, FINDING_WARN, name,
	    "%s=%lu: a call carries at most %s, and each call costs time", name,
	    bytes, ctl_text_bytes(text, bytes));
	findings_remedy(out,
	    "unmount it, and mount it without %s= (the kernel takes what the "
	    "server offers)",
	    name);
}

/* Options that are right for every mount of a server, whoever serves it
 * (nfs(5)). */
static void check_safety(const struct doctor_mount *m, struct findings *out)
{
	if (!has(m, "hard")) {
		findings_add(out, FINDING_WARN, "soft",
		    "programs get errors, and may lose what they write, when "
		    "the server does not answer in time");
		findings_remedy(out, "mount it without soft");
	}
	if (!has(m, "nosuid") || !has(m, "nodev")) {
		findings_add(out, FINDING_WARN, "safety",
		    "without nosuid and nodev the server may give anybody "
		    "here the rights of root");
		findings_remedy(out, "mount it with nosuid,nodev");
	}
}

/* Options that a mount through the daemon should have; one line where all are
 * right. With vers=4 the kernel speaks a protocol that the daemon does not
 * have, with locks it waits for a lock manager that the daemon has not
 * either. */
static void check_options(const struct doctor_mount *m, struct findings *out)
{
	char value[64], server[64];
	size_t before = out->count;
	bool told = option(m, "vers", value, sizeof(value));

	if (!told || *value != '3') {
		findings_add(out, FINDING_FAIL, "version",
		    "it is mounted with vers=%s, and forefetch speaks NFSv3",
		    told ? value : "?");
		findings_remedy(out, "mount it with vers=3");
	}
	if (!option(m, "local_lock", value, sizeof(value)) ||
	    strcmp(value, "all") != 0) {
		findings_add(out, FINDING_WARN, "locks",
		    "without nolock, locking a file waits for a service that "
		    "forefetch does not have");
		findings_remedy(out, "mount it with nolock");
	}
	if (!option(m, "proto", value, sizeof(value)) ||
	    strncmp(value, "tcp", 3) != 0) {
		findings_add(
		    out, FINDING_FAIL, "transport", "it is not mounted by TCP");
		findings_remedy(out, "mount it with proto=tcp");
	}
	check_safety(m, out);
	check_size(m, "rsize", out);
	check_size(m, "wsize", out);
	if (out->count == before)
		findings_add(out, FINDING_OK, "options",
		    "vers=3, tcp, hard, nolock, nosuid, nodev, rsize=%s, "
		    "wsize=%s",
		    option(m, "rsize", value, sizeof(value)) ? value : "?",
		    option(m, "wsize", server, sizeof(server)) ? server : "?");
}

/* Uses the mount as a program would: 0, or the errno that a program would meet.
 * Runs in a process of its own, which may hang for ever. */
static int use_mount(const char *dir)
{
	struct statfs fs;
	struct statx stx;
	int err = 0;
	DIR *d;

	/* The kernel answers much itself; a removed directory shows when it is
	 * listed. */
	if (statfs(dir, &fs) < 0 || statx(AT_FDCWD, dir, AT_STATX_FORCE_SYNC,
					STATX_BASIC_STATS, &stx) < 0)
		return errno;
	errno = 0;
	d = opendir(dir);
	if (!d || !readdir(d))
		err = errno;
	if (d)
		closedir(d);
	return err == ENOENT ? ESTALE : err == EACCES ? 0 : err;
}

/* Uses the mount in a process, for ANSWER_US at most: ETIMEDOUT after that. The
 * process that hangs is killed, and ends when the kernel lets it; it is
 * nobody's child then. */
static int ask_mount(const char *dir)
{
	const struct timespec rest = {.tv_nsec = 5000000};
	uint64_t until = clock_now_us() + ANSWER_US;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(use_mount(dir));
	while (pid > 0 && clock_now_us() < until) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
		nanosleep(&rest, NULL);
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	return pid > 0 ? ETIMEDOUT : errno;
}

/* `daemon` is whether the daemon answered, which decides what the user has to
 * start to have the mount go on. */
static void report_answer(
    const struct doctor_mount *m, bool daemon, int err, struct findings *out)
{
	switch (err) {
	case 0:
		findings_add(out, FINDING_OK, "answer", "it answers");
		return;
	case ESTALE:
		findings_add(out, FINDING_FAIL, "answer",
		    "stale file handle: the mounted directory, %s, does not "
		    "exist on the server any more, or is another one now",
		    m->export);
		findings_remedy(out,
		    "umount %s (with -l if it is busy), and mount it again",
		    m->dir);
		return;
	case ETIMEDOUT:
		findings_add(out, FINDING_FAIL, "answer",
		    "it hangs: no answer within %d s", ANSWER_US / 1000000);
		findings_remedy(out,
		    *m->server ? "it continues when the server does: see "
				 "above; umount -f -l %s detaches it"
		    : !daemon ? "it continues when forefetchd runs: see above; "
				"umount -f -l %s detaches it"
			      : "none of forefetchd's servers listens there "
				"now: see the configuration, or umount -f -l "
				"%s",
		    m->dir);
		return;
	default:
		findings_add(out, FINDING_FAIL, "answer", "%s", strerror(err));
		findings_remedy(out, "umount %s, and mount it again", m->dir);
	}
}

/* Where it comes from, how it is mounted, whether it works. */
void doctor_check_mount(const struct doctor_env *env,
    const struct doctor_mount *m, struct findings *out)
{
	if (*m->server) {
		findings_add(out, FINDING_OK, "source", "%s of %s, at %s",
		    m->export, m->server, m->listen);
	} else if (env->st) {
		findings_add(out, FINDING_FAIL, "source",
		    "none of forefetchd's servers listens at %s", m->listen);
		findings_remedy(out,
		    "was a [server] section removed, or its listen changed? "
		    "Put it back and forefetch reload, or umount -f -l %s",
		    m->dir);
	} else {
		findings_add(out, FINDING_NOTE, "source",
		    "%s, at %s, apparently through forefetchd", m->export,
		    m->listen);
	}
	check_options(m, out);
	report_answer(m, env->st != NULL, ask_mount(m->dir), out);
}

/* ---- fstab ------------------------------------------------------------- */

/* Judges a line of fstab, of type forefetch, or of type nfs from this machine
 * with a port. Without _netdev, systemd mounts it before there is a network,
 * and the boot waits (systemd.mount(5)). */
static void check_line(const struct mntent *e, struct findings *out)
{
	bool net = hasmntopt(e, "_netdev") ||
		   hasmntopt(e, "x-systemd.automount") ||
		   hasmntopt(e, "noauto");

	if (strcmp(e->mnt_type, "forefetch") == 0) {
		findings_add(out, net ? FINDING_OK : FINDING_WARN, "fstab",
		    "%s at %s%s", e->mnt_fsname, e->mnt_dir,
		    net ? ""
			: ": without _netdev it is mounted before there "
			  "is a network");
		if (!net)
			findings_remedy(out,
			    "add _netdev to its options, then systemctl "
			    "daemon-reload");
		return;
	}
	if (strcmp(e->mnt_type, "nfs") != 0 ||
	    (strncmp(e->mnt_fsname, "127.", 4) != 0 &&
		strncmp(e->mnt_fsname, "localhost:", 10) != 0) ||
	    !hasmntopt(e, "port"))
		return;
	if (hasmntopt(e, "mountport") && hasmntopt(e, "nolock")) {
		findings_add(out, FINDING_OK, "fstab", "%s at %s",
		    e->mnt_fsname, e->mnt_dir);
		return;
	}
	findings_add(out, FINDING_WARN, "fstab",
	    "%s at %s: without mountport= and nolock, mounting waits for "
	    "services that forefetch does not have",
	    e->mnt_fsname, e->mnt_dir);
	findings_remedy(
	    out, "write it as type forefetch, SERVER:/PATH, with _netdev");
}

/* No file is no mistake: nothing is mounted at boot then. */
void doctor_check_fstab(const struct doctor_env *env, struct findings *out)
{
	FILE *in = setmntent("/etc/fstab", "re");
	char buf[LINE_BYTES];
	struct mntent e;

	(void)env;
	if (!in)
		return;
	while (getmntent_r(in, &e, buf, sizeof(buf)))
		check_line(&e, out);
	endmntent(in);
}
