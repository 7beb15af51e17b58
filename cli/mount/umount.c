/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch umount, and /sbin/umount.forefetch: unmounts, and then removes the
 * section of a server that nobody needs any more. umount(8) runs the helper for
 * mounts that have helper=forefetch in /run/mount/utab, so a plain umount(8)
 * cleans up, too. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_wire.h"
#include "mount/mount_command.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"
#include "mount/mount_store.h"

/* The kernel closes its connection a moment after umount(2); this is how often,
 * and after how many nanoseconds, it is looked for: two seconds in all. */
enum { CLOSE_TRIES = 40, CLOSE_NS = 50000000 };

/* The arguments, as the usage after an error and every help show them. */
#define USAGE "[-f] [-l] [-n] [-r] [-v] DIR"

/* One call of umount. */
struct umount_job {
	struct mount_talk talk;
	const char *socket;
	bool helper;
	struct umount_call call;
};

/* The daemon's status when the kernel's connection is closed, or will not be;
 * NULL after a message. Until it is, the server counts as used. */
static Forefetch__Response *settled(
    const struct umount_job *job, const struct mount_entry *entry)
{
	const struct timespec rest = {.tv_nsec = CLOSE_NS};
	Forefetch__Response *res = NULL;

	for (int i = 0; i < CLOSE_TRIES; i++) {
		const Forefetch__ServerStatus *srv;

		ctl_free(res);
		res = mount_daemon_status(&job->talk, job->socket);
		srv = res ? ctl_server_at(res->status, entry->listen) : NULL;
		if (!srv || srv->n_clients == 0 ||
		    mount_kernel_uses(entry->port))
			break;
		nanosleep(&rest, NULL);
	}
	return res;
}

/* Removes what nobody needs any more. The daemon need not be there to unmount;
 * then the next mount clears up, so that nothing here is an error. */
static void clear_up(
    const struct umount_job *job, const struct mount_entry *entry)
{
	int fd = ctl_wire_connect(job->socket);
	Forefetch__Response *res = NULL;
	struct mount_store *s = NULL;
	struct config *cfg = NULL;
	struct mount_why why = {.text = ""};
	bool removed = false;

	if (fd >= 0)
		close(fd);
	if (fd >= 0)
		res = settled(job, entry);
	if (res)
		s = mount_store_open(res->status, &why);
	if (s)
		cfg = mount_store_load(s, &why);
	if (cfg)
		removed = mount_store_clean(s, cfg, res->status) > 0;
	if (removed && mount_daemon_reload(job->socket, NULL, &why))
		mount_step(&job->talk, "section",
		    "removed, since nothing else is mounted from that server");
	else if (*why.text)
		mount_step(&job->talk, "section", "%s", why.text);
	config_free(cfg);
	mount_store_close(s);
	ctl_free(res);
}

/* Finds the mount at `dir`: by name alone at first, since what is mounted there
 * may not answer, and realpath(3) would hang. `*real` is to be freed. */
static bool find(const char *dir, char **real, struct mount_entry *entry)
{
	*real = ctl_path_plain(dir);
	if (*real && mount_kernel_at(*real, entry))
		return true;
	free(*real);
	*real = realpath(dir, NULL);
	return *real && mount_kernel_at(*real, entry);
}

/* Unmounts and clears up; an exit status. */
static int umount_dir(struct umount_job *job, const char *dir)
{
	struct mount_entry entry;
	struct mount_why why;
	char *real = NULL;
	int code;

	if (geteuid() != 0)
		return mount_fail(&job->talk,
		    job->helper ? MOUNT_USAGE : MOUNT_FAILED, "privileges",
		    "only root can unmount; use sudo");
	if (!find(dir, &real, &entry)) {
		free(real);
		return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
		    "nothing is mounted through forefetchd at %s; "
		    "forefetch mount lists what is",
		    dir);
	}
	job->call.dir = real;
	code = mount_kernel_umount(&job->call, &why);
	if (code)
		mount_fail(&job->talk, code, "unmount",
		    "%s: %s; if programs use it, fuser -vm %s or lsof tells "
		    "which; -l detaches it, and they go on with it "
		    "until they end",
		    real, why.text, real);
	else
		mount_step(&job->talk, "unmount", "%s", real);
	free(real);
	if (!code)
		clear_up(job, &entry);
	return code;
}

/* ---- the command line ------------------------------------------------- */

static const struct option longs[] = {
    {"lazy", no_argument, NULL, 'l'},
    {"force", no_argument, NULL, 'f'},
    {"no-mtab", no_argument, NULL, 'n'},
    {"read-only", no_argument, NULL, 'r'},
    {"verbose", no_argument, NULL, 'v'},
    {"socket", required_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int usage(const struct umount_job *job, FILE *out)
{
	fprintf(out,
	    "usage: %s " USAGE "\n"
	    "See mount.forefetch(8).\n",
	    job->talk.prog);
	return out == stdout ? MOUNT_GOOD : MOUNT_USAGE;
}

/* Does as one option says: 0; an exit status after a message; or -1 for help.
 * -i and -t come from umount(8), and mean nothing here. */
static int take_option(struct umount_job *job, int c)
{
	switch (c) {
	case 'l':
		job->call.lazy = true;
		return 0;
	case 'f':
		job->call.force = true;
		return 0;
	case 'n':
		job->call.no_utab = true;
		return 0;
	case 'r':
		job->call.read_only = true;
		return 0;
	case 'v':
		job->talk.verbose = true;
		return 0;
	case 'k':
		job->socket = optarg;
		return 0;
	case 'i':
	case 't':
		return 0;
	case 'N':
		return mount_fail(&job->talk, MOUNT_USAGE, "usage",
		    "-N: forefetchd is of this namespace; use nsenter");
	case 'h':
		return -1;
	default:
		return usage(job, stderr);
	}
}

/* An exit status of umount(8). */
static int run(struct umount_job *job, int argc, char **argv)
{
	int c, code = 0;

	log_set_level(LOG_LEVEL_ERROR);
	optind = 1;
	while (!code && (c = getopt_long(argc, argv,
			     job->helper ? "flnrvit:N:h" : "flnrvih", longs,
			     NULL)) != -1)
		code = take_option(job, c);
	if (code)
		return code < 0 ? usage(job, stdout) : code;
	if (argc - optind != 1)
		return usage(job, stderr);
	return umount_dir(job, argv[optind]);
}

int umount_helper(int argc, char **argv, const char *socket)
{
	struct umount_job job = {
	    .talk.prog = "umount.forefetch", .socket = socket, .helper = true};

	return run(&job, argc, argv);
}

/* Runs the command, and returns an exit code of forefetch. */
static int umount_main(int argc, char **argv, const char *socket)
{
	struct umount_job job = {
	    .talk.prog = "forefetch umount", .socket = socket};
	int code = run(&job, argc, argv);

	return code == MOUNT_GOOD    ? EXIT_SUCCESS
	       : code == MOUNT_USAGE ? CTL_EXIT_USAGE
				     : EXIT_FAILURE;
}

const struct ctl_command umount_command = {
    .name = "umount",
    .usage = USAGE,
    .summary = "unmount what is mounted through the daemon",
    .help = "Unmounts DIR, as umount(8) does. If nothing else is mounted from "
	    "that server, and\nits section was made by forefetch mount for "
	    "this run, the daemon removes it.\n-l detaches it at once and "
	    "-f aborts calls that wait, as with umount(8).\n",
    .options = "",
    .main = umount_main,
};
