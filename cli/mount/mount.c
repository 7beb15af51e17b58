/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch mount, and /sbin/mount.forefetch: their command line, and the order
 * of the steps of a mount, which are in other files (mount_private.h). Each
 * step says what it has done with -v, or what went wrong and what to do; the
 * first one that fails ends the mount, and what was made for it alone is taken
 * back.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/ctl_client.h"
#include "mount/mount_command.h"
#include "mount/mount_daemon.h"
#include "mount/mount_private.h"

/* The arguments, as the usage after an error and every help show them. */
#define ARGUMENTS "[-o OPTION,...] HOST:/PATH DIR"
#define USAGE     "[-v] [--save] " ARGUMENTS " | [--json]"

/* ---- before anything changes ------------------------------------------ */

/* Finds the mount point, without symbolic links, as the kernel and umount will
 * name it. A missing one is not made: it may be the wrong name. */
static int check_dir(struct mount_job *job, const char *dir)
{
	struct stat st;

	if (!realpath(dir, job->dir))
		return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
		    errno == ENOENT ? "%s: %s; create it with mkdir" : "%s: %s",
		    dir, strerror(errno));
	if (stat(job->dir, &st) < 0)
		return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
		    "%s: %s", job->dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
		    "%s is not a directory", job->dir);
	mount_step(&job->talk, "mount point", "%s", job->dir);
	return MOUNT_GOOD;
}

/* Says before anything is changed that only root can mount. mount(8) runs a
 * helper as the user who called it, so its option "user" cannot work here. */
static int check_root(const struct mount_job *job)
{
	if (geteuid() == 0)
		return MOUNT_GOOD;
	if (job->helper)
		return mount_fail(&job->talk, MOUNT_USAGE, "privileges",
		    "only root can mount; use sudo, or x-systemd.automount in "
		    "/etc/fstab (its option 'user' does not work: mount(8) "
		    "runs "
		    "this helper as the user who calls it)");
	return mount_fail(&job->talk, MOUNT_FAILED, "privileges",
	    "only root can mount; use sudo");
}

/* The steps that need nothing but what was typed. */
static int parse(struct mount_job *job, const char *source, const char *dir)
{
	struct mount_why why;
	char count[16] = "none";
	int code;

	if (!mount_source_parse(source, &job->source, &why))
		return mount_fail(
		    &job->talk, MOUNT_USAGE, "source", "%s", why.text);
	mount_step(&job->talk, "source", "%s of the server %s",
	    job->source.path, job->source.host);
	if (!mount_options_parse(job->text, job->sloppy, &job->options, &why))
		return mount_fail(
		    &job->talk, MOUNT_USAGE, "options", "%s", why.text);
	if (*job->options.former)
		mount_fail(&job->talk, MOUNT_GOOD, "options",
		    "%s; the former name is accepted until the next release",
		    job->options.former);
	if (job->options.nsettings > 0)
		snprintf(count, sizeof(count), "%u", job->options.nsettings);
	mount_step(&job->talk, "options",
	    "%s for forefetchd; for the kernel %s", count, job->options.kernel);
	code = check_root(job);
	return code ? code : check_dir(job, dir);
}

/* ---- step by step ------------------------------------------------------ */

/* All steps, in their order. From the moment when files may have been written,
 * signals are held, so that this process takes them back instead of dying
 * (mount_section_end()). A dry run (-f, as with mount(8)) ends when it is known
 * which section would serve the mount. */
static int steps(struct mount_job *job, const char *source, const char *dir)
{
	int code = parse(job, source, dir);

	if (code)
		return code;
	if (job->options.remount)
		return mount_again(job);
	job->status = mount_daemon_status(&job->talk, job->socket);
	if (!job->status) {
		if (job->helper && !job->options.ordered &&
		    !isatty(STDERR_FILENO))
			mount_fail(&job->talk, MOUNT_SYSTEM, "daemon",
			    "it must run before anything is mounted; a line "
			    "of /etc/fstab needs _netdev for that");
		return MOUNT_SYSTEM;
	}
	mount_step(&job->talk, "daemon", "forefetchd %s answers",
	    job->status->status->version);
	mount_daemon_hold_signals(&job->signals);
	code = mount_section(job);
	if (!code)
		code = mount_check(job);
	if (!code && !job->fake)
		code = mount_reach(job);
	if (!code && !job->fake)
		code = mount_now(job);
	if (!code && !job->fake)
		code = mount_check_sharing(job);
	mount_section_end(job, code != MOUNT_GOOD);
	return code;
}

/* Frees what the steps have found. */
static void release(struct mount_job *job)
{
	if (job->hold >= 0)
		close(job->hold);
	mount_plan_release(&job->plan);
	config_free(job->cfg);
	ctl_free(job->status);
	free(job->text);
}

/* ---- the command line ------------------------------------------------- */

/* Appends the text of another -o; false without memory. */
static bool add_options(struct mount_job *job, const char *text)
{
	char *all = NULL;

	if (asprintf(&all, "%s%s%s", job->text ? job->text : "",
		job->text ? "," : "", text) < 0)
		return false;
	free(job->text);
	job->text = all;
	return true;
}

/* The letters of mount(8) and of mount.nfs(8), so that either's habits work. */
static const struct option longs[] = {
    {"options", required_argument, NULL, 'o'},
    {"verbose", no_argument, NULL, 'v'},
    {"save", no_argument, NULL, 'S'},
    {"json", no_argument, NULL, 'j'},
    {"socket", required_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},
    {"fake", no_argument, NULL, 'f'},
    {"no-mtab", no_argument, NULL, 'n'},
    {"read-only", no_argument, NULL, 'r'},
    {"rw", no_argument, NULL, 'w'},
    {NULL, 0, NULL, 0},
};

/* Prints how the command is used: to stdout if the user asked for it. */
static int usage(const struct mount_job *job, FILE *out)
{
	fprintf(out,
	    "usage: %s %s\n"
	    "See mount.forefetch(8).\n",
	    job->talk.prog,
	    job->helper ? "[-f] [-n] [-s] [-v] " ARGUMENTS : USAGE);
	return out == stdout ? MOUNT_GOOD : MOUNT_USAGE;
}

/* Does as one option says: 0; an exit status after a message; or -1 for help.
 * mount(8) may pass -t and -N to a helper; of -N only a refusal is right. */
static int take_option(struct mount_job *job, int c)
{
	switch (c) {
	case 'o':
		return add_options(job, optarg) ? 0 : MOUNT_SYSTEM;
	case 'r':
		return add_options(job, "ro") ? 0 : MOUNT_SYSTEM;
	case 'w':
		return add_options(job, "rw") ? 0 : MOUNT_SYSTEM;
	case 'v':
		job->talk.verbose = true;
		return 0;
	case 'S':
		job->save = true;
		return 0;
	case 'j':
		job->json = true;
		return 0;
	case 'k':
		job->socket = optarg;
		return 0;
	case 'f':
		job->fake = true;
		return 0;
	case 'n':
		job->no_utab = true;
		return 0;
	case 's':
		job->sloppy = true;
		return 0;
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

/* Writes a field of fstab(5): blanks, which would end it, and '#', which would
 * begin a comment, are escaped in octal, and so are backslashes. */
static void put_field(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text) || strchr(" #\\", *text))
			printf("\\%03o", (unsigned)(unsigned char)*text);
		else
			putchar(*text);
}

/* Prints the line that does the same at every boot. Without _netdev systemd
 * would mount before there is a network. */
static void tell_fstab(const struct mount_job *job)
{
	fputs("In /etc/fstab, for every boot:\n", stdout);
	put_field(job->source.text);
	putchar(' ');
	put_field(job->dir);
	fputs(" forefetch ", stdout);
	put_field(job->text ? job->text : "_netdev");
	if (job->text && !job->options.ordered)
		fputs(",_netdev", stdout);
	puts(" 0 0");
}

/* Parses the command line and does as it says; an exit status of mount(8). */
static int run(struct mount_job *job, int argc, char **argv)
{
	const char *letters = job->helper ? "o:vfnrwst:N:h" : "o:vfnrwsh";
	int c, code = 0, n;

	/* The daemon logs what it thinks of its configuration. */
	log_set_level(LOG_LEVEL_ERROR);
	optind = 1;
	while (
	    !code && (c = getopt_long(argc, argv, letters, longs, NULL)) != -1)
		code = take_option(job, c);
	n = argc - optind;
	if (code)
		return code < 0 ? usage(job, stdout) : code;
	if (n == 0 && !job->helper)
		return mount_list(job->socket, job->json) ? MOUNT_SYSTEM
							  : MOUNT_GOOD;
	if (n != 2)
		return usage(job, stderr);
	code = steps(job, argv[optind], argv[optind + 1]);
	if (!code && job->save)
		tell_fstab(job);
	return code;
}

int mount_helper(int argc, char **argv, const char *socket)
{
	struct mount_job job = {.talk.prog = "mount.forefetch",
	    .socket = socket,
	    .helper = true,
	    .hold = -1};
	int code = run(&job, argc, argv);

	release(&job);
	return code;
}

/* Runs the command, and returns an exit code of forefetch. */
static int mount_main(int argc, char **argv, const char *socket)
{
	struct mount_job job = {
	    .talk.prog = "forefetch mount", .socket = socket, .hold = -1};
	int code = run(&job, argc, argv);

	release(&job);
	return code == MOUNT_GOOD    ? EXIT_SUCCESS
	       : code == MOUNT_USAGE ? CTL_EXIT_USAGE
				     : EXIT_FAILURE;
}

const struct ctl_command mount_command = {
    .name = "mount",
    .usage = USAGE,
    .summary = "mount through the daemon, or list what is mounted",
    .help = "Mounts PATH of the NFS server HOST at DIR through forefetchd, "
	    "which need not know that\nserver before. OPTIONs are those of "
	    "mount(8), of nfs(5), and settings such as\nconsistency=frozen "
	    "or prefetch=off; see mount.forefetch(8).\n\n"
	    "  -o OPTION,...  options, with commas between them\n"
	    "  -v             print a line for each step\n"
	    "  --save         keep the server's section over a restart, and "
	    "print\n                 the line for /etc/fstab\n\n"
	    "Without HOST:/PATH and DIR it lists what is mounted through "
	    "forefetchd; --json\nprints the same as JSON.\n",
    .options = "",
    .main = mount_main,
};
