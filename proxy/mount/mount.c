/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch mount, and /sbin/mount.forefetch: step by step. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>

#include "ctl/ctl_client.h"
#include "doctor/probe.h"
#include "mount/mount_ask.h"
#include "mount/mount_command.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"
#include "mount/mount_store.h"

/* After so long the cause is looked for, seconds. */
#define FIRST_S 3u

/* Goes to /run/mount/utab: then umount(8) runs umount.forefetch(8), whatever
 * file system the kernel says it is. */
#define HELPER "helper=forefetch"

struct job {
	struct mount_talk talk;
	const char *socket;
	bool fake, sloppy, no_utab, save, json, helper;
	char *text; /* of all -o */
	const char *fstype;
	struct mount_source source;
	struct mount_options options;
	char dir[PATH_MAX];

	/* What the steps find. */
	Forefetch__Response *status;
	struct mount_store *store;
	struct config *cfg;
	struct mount_plan plan;
	const char *written; /* the directory of files made now, or NULL */
	int hold;
};

/* ---- before anything changes ------------------------------------------ */

static int check_dir(struct job *job, const char *dir)
{
	struct stat st;

	if (!realpath(dir, job->dir))
		return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
		    errno == ENOENT ? "%s: %s; make it with mkdir" : "%s: %s",
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

static int check_root(const struct job *job)
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

static int parse(struct job *job, const char *source, const char *dir)
{
	struct mount_why why;
	int code;

	if (!mount_source_parse(source, &job->source, &why))
		return mount_fail(
		    &job->talk, MOUNT_USAGE, "source", "%s", why.text);
	mount_step(&job->talk, "source", "%s of the server %s",
	    job->source.path, job->source.host);
	if (!mount_options_parse(job->text, job->sloppy, &job->options, &why))
		return mount_fail(
		    &job->talk, MOUNT_USAGE, "options", "%s", why.text);
	mount_step(&job->talk, "options",
	    "%u for forefetchd; for the kernel %s", job->options.nsettings,
	    job->options.kernel);
	code = check_root(job);
	return code ? code : check_dir(job, dir);
}

/* ---- the section ------------------------------------------------------ */

/* A listener on any address of this host stands in the way. */
static bool port_taken(void *ctx, unsigned port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	bool taken = true;

	(void)ctx;
	if (fd < 0)
		return true;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	taken = bind(fd, (struct sockaddr *)(void *)&at, sizeof(at)) < 0 ||
		mount_kernel_uses(port);
	close(fd);
	return taken;
}

static bool is_mounted(void *ctx, unsigned port, const char *path)
{
	(void)ctx;
	return mount_kernel_has(port, path);
}

static bool load(struct job *job, struct mount_why *why)
{
	config_free(job->cfg);
	job->cfg = mount_store_load(job->store, why);
	return job->cfg != NULL;
}

/* With --save: what mounts made of this server until now stays from now on. */
static bool save_former(struct job *job, struct mount_why *why)
{
	bool moved;

	if (!job->save || job->plan.added)
		return true;
	if (!mount_store_save(job->store, job->plan.name, &moved, why))
		return false;
	return !moved || load(job, why);
}

static bool make_plan(struct job *job, struct mount_why *why)
{
	const struct mount_plan_in in = {
	    .cfg = job->cfg,
	    .run_dir = mount_store_run_dir(job->store),
	    .dir = job->save ? mount_store_save_dir(job->store)
			     : mount_store_run_dir(job->store),
	    .source = &job->source,
	    .options = &job->options,
	    .port_taken = port_taken,
	    .is_mounted = is_mounted,
	};

	mount_plan_release(&job->plan);
	return mount_plan_make(&in, &job->plan, why);
}

/* Whether the daemon knows the section as the files have it. */
static bool is_known(const struct job *job)
{
	const Forefetch__ServerStatus *srv =
	    mount_daemon_find(job->status->status, job->plan.name);

	return srv && mount_daemon_listens(srv, job->plan.port);
}

static void take_back(struct job *job)
{
	struct mount_why why;

	if (!job->written)
		return;
	if (job->plan.added)
		mount_store_remove(job->written, job->plan.name);
	job->written = NULL;
	mount_daemon_reload(job->socket, NULL, &why);
}

/* The files as they have to be; whether the daemon has to read them. */
static bool write_section(struct job *job, bool *changed, struct mount_why *why)
{
	const char *dir = job->save ? mount_store_save_dir(job->store)
				    : mount_store_run_dir(job->store);

	if (!mount_store_write(dir, &job->plan, why))
		return false;
	if (job->plan.added)
		job->written = dir;
	*changed |= job->plan.server_text || job->plan.exports_text;
	return true;
}

static bool prepare(struct job *job, struct mount_why *why)
{
	bool changed;

	if (!load(job, why))
		return false;
	changed =
	    mount_store_clean(job->store, job->cfg, job->status->status) > 0;
	if ((changed && !load(job, why)) || !make_plan(job, why) ||
	    !save_former(job, why) || (job->save && !make_plan(job, why)))
		return false;
	job->hold = mount_store_hold(job->store, job->plan.name, why);
	if (job->hold < 0)
		return false;
	if (job->fake)
		return true;
	if (!write_section(job, &changed, why))
		return false;
	if (!changed && !job->save && is_known(job))
		return true;
	if (mount_daemon_reload(job->socket, job->plan.name, why))
		return true;
	take_back(job);
	return false;
}

/* The daemon must know it now. */
static int check_known(struct job *job)
{
	ctl_free(job->status);
	job->status = mount_daemon_status(&job->talk, job->socket);
	if (!job->status)
		return MOUNT_SYSTEM;
	if (is_known(job))
		return MOUNT_GOOD;
	take_back(job);
	return mount_fail(&job->talk, MOUNT_SYSTEM, "section",
	    "forefetchd has not taken up %s (%s); is it run with -f, and so "
	    "without --run-dir? See forefetch reload and its log",
	    job->plan.name, job->plan.from);
}

static int section(struct job *job)
{
	struct mount_why why;
	bool good;

	job->store = mount_store_open(job->status->status, &why);
	if (!job->store)
		return mount_fail(
		    &job->talk, MOUNT_SYSTEM, "section", "%s", why.text);
	good = prepare(job, &why);
	if (!good && *why.text)
		mount_fail(&job->talk, MOUNT_SYSTEM, "section", "%s", why.text);
	if (good && !job->fake)
		good = check_known(job) == MOUNT_GOOD && load(job, &why);
	mount_store_close(job->store);
	job->store = NULL;
	if (good)
		mount_step(&job->talk, "section",
		    "[server %s] of %s, at %s port %u", job->plan.name,
		    job->plan.from, job->plan.address, job->plan.port);
	return good ? MOUNT_GOOD : MOUNT_SYSTEM;
}

/* What was made for this mount alone goes with it. */
static void undo(struct job *job)
{
	struct mount_why why;

	if (!job->written || !job->status)
		return;
	job->store = mount_store_open(job->status->status, &why);
	if (job->store)
		take_back(job);
	mount_store_close(job->store);
	job->store = NULL;
}

/* ---- the mount -------------------------------------------------------- */

static int check_mounted(struct job *job)
{
	struct mount_entry at;

	if (!mount_kernel_at(job->dir, &at) || at.port != job->plan.port ||
	    strcmp(at.address, job->plan.address) != 0 ||
	    strcmp(mount_entry_path(&at), job->source.path) != 0)
		return MOUNT_GOOD;
	return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
	    "%s is mounted at %s already", at.source, job->dir);
}

/* Waiting changes nothing about these. */
static bool is_final(const struct job *job, enum probe_cause cause)
{
	switch (cause) {
	case PROBE_V4_ONLY:
	case PROBE_NOT_NFS:
	case PROBE_FLAVOR:
	case PROBE_RPCBIND:
		return true;
	case PROBE_NO_NAME: /* at boot, the network may not be there yet */
	case PROBE_REFUSED:
	case PROBE_NO_MOUNTD:
		return !job->helper;
	default:
		return false;
	}
}

/* Ask the server itself, as the section has it. */
static void probe(const struct job *job, struct probe_why *out)
{
	const struct config_server *srv =
	    config_server_find(job->cfg, job->plan.name);
	const struct probe_target target = {
	    .host = srv ? srv->address : job->source.host,
	    .path = job->source.path,
	    .nfs_port = srv ? srv->nfs_port : 0,
	    .mount_port = srv ? srv->mount_port : 0,
	};

	probe_why(&target, out);
}

static int tell_down(const struct job *job, const struct mount_why *why,
    const struct probe_why *found)
{
	if (found->cause == PROBE_WORKS || !*found->sentence)
		return mount_fail(&job->talk, MOUNT_FAILED, "server",
		    "%s is not up (%s); forefetch status %s says more, and "
		    "wait=SECONDS waits longer",
		    job->source.host, why->text, job->plan.name);
	return mount_fail(&job->talk, MOUNT_FAILED, "server",
	    "%s is not up: %s%s%s", job->source.host, found->sentence,
	    *found->remedy ? "; " : "", found->remedy);
}

/* Most servers are up at once; where one is not, the cause is looked for. */
static int wait_for(struct job *job)
{
	unsigned wait_s = job->options.wait_s;
	unsigned first_s = wait_s < FIRST_S ? wait_s : FIRST_S;
	time_t begun = time(NULL);
	struct probe_why found = {.cause = PROBE_WORKS};
	struct mount_why why;
	unsigned waited;

	if (mount_daemon_wait(
		&job->talk, job->socket, job->plan.name, first_s, &why))
		return MOUNT_GOOD;
	if (!*why.text)
		return MOUNT_SYSTEM;
	probe(job, &found);
	if (is_final(job, found.cause))
		return tell_down(job, &why, &found);
	waited = (unsigned)(time(NULL) - begun);
	if (mount_daemon_wait(&job->talk, job->socket, job->plan.name,
		waited < wait_s ? wait_s - waited : 0, &why))
		return MOUNT_GOOD;
	return *why.text ? tell_down(job, &why, &found) : MOUNT_SYSTEM;
}

static int reach(struct job *job)
{
	struct mount_why why;
	int code = wait_for(job);

	if (code)
		return code;
	mount_step(&job->talk, "server", "%s answers", job->source.host);
	if (!mount_ask(job->plan.address, job->plan.port, job->source.path,
		job->options.wait_s, &why))
		return mount_fail(
		    &job->talk, MOUNT_FAILED, "export", "%s", why.text);
	mount_step(&job->talk, "export", "%s may be mounted", job->source.path);
	return MOUNT_GOOD;
}

static int mount_now(struct job *job)
{
	struct mount_call call = {.source = job->source.text,
	    .dir = job->dir,
	    .fstype = "nfs",
	    .no_utab = job->no_utab};
	struct mount_why why;
	char *options = NULL;
	int code = MOUNT_SYSTEM, error;

	if (asprintf(&options,
		"%s,vers=3,nolock,proto=tcp%s,mountproto=tcp%s,addr=%s,"
		"mountaddr=%s,port=%u,mountport=%u,%s",
		job->options.kernel, strchr(job->plan.address, ':') ? "6" : "",
		strchr(job->plan.address, ':') ? "6" : "", job->plan.address,
		job->plan.address, job->plan.port, job->plan.port, HELPER) < 0)
		return mount_fail(&job->talk, code, "mount", "out of memory");
	call.options = options;
	code = mount_kernel_mount(&call, &error, &why);
	free(options);
	if (code == MOUNT_GOOD)
		mount_step(
		    &job->talk, "mount", "%s on %s", call.source, call.dir);
	else if (error == ENODEV)
		mount_fail(&job->talk, code, "mount",
		    "the kernel has no NFS client; load it with modprobe nfs "
		    "(a container cannot, its host can)");
	else if (error == EPERM)
		mount_fail(&job->talk, code, "mount",
		    "the kernel does not let this process mount; a container "
		    "needs CAP_SYS_ADMIN of its host, which has to mount "
		    "instead");
	else if (error == EINVAL)
		mount_fail(&job->talk, code, "mount",
		    "the kernel refused the options (%s); look at those of "
		    "nfs(5), and at the end of dmesg",
		    job->options.kernel);
	else
		mount_fail(&job->talk, code, "mount", "%s", why.text);
	return code;
}

/* Only flags of the mount can change; a line of /etc/fstab brings its other
 * options along, too. */
static int remount(struct job *job)
{
	struct mount_call call = {.source = job->source.text,
	    .dir = job->dir,
	    .fstype = "nfs",
	    .no_utab = job->no_utab};
	struct mount_why why;
	char *options = NULL;
	int code, error;

	if (asprintf(&options, "%s,%s", job->options.kernel, HELPER) < 0)
		return mount_fail(
		    &job->talk, MOUNT_SYSTEM, "mount", "out of memory");
	call.options = options;
	code = mount_kernel_mount(&call, &error, &why);
	free(options);
	return code ? mount_fail(&job->talk, code, "mount", "%s", why.text)
		    : code;
}

static int steps(struct job *job, const char *source, const char *dir)
{
	int code = parse(job, source, dir);

	if (code)
		return code;
	if (job->options.remount)
		return remount(job);
	job->status = mount_daemon_status(&job->talk, job->socket);
	if (!job->status) {
		if (job->helper && !job->options.ordered)
			mount_fail(&job->talk, MOUNT_SYSTEM, "daemon",
			    "a line of /etc/fstab needs _netdev, so that "
			    "forefetchd is there before it is mounted");
		return MOUNT_SYSTEM;
	}
	mount_step(&job->talk, "daemon", "forefetchd %s answers",
	    job->status->status->version);
	code = section(job);
	if (!code)
		code = check_mounted(job);
	if (!code && !job->fake)
		code = reach(job);
	if (!code && !job->fake)
		code = mount_now(job);
	if (code)
		undo(job);
	return code;
}

static void release(struct job *job)
{
	if (job->hold >= 0)
		close(job->hold);
	mount_plan_release(&job->plan);
	config_free(job->cfg);
	ctl_free(job->status);
	free(job->text);
}

/* ---- the command line ------------------------------------------------- */

static bool add_options(struct job *job, const char *text)
{
	char *all = NULL;

	if (asprintf(&all, "%s%s%s", job->text ? job->text : "",
		job->text ? "," : "", text) < 0)
		return false;
	free(job->text);
	job->text = all;
	return true;
}

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

/* 0, or what an option is wrong with; -1 for help. */
static int take_option(struct job *job, int c)
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
		return MOUNT_USAGE;
	}
}

static int usage(const struct job *job, FILE *out)
{
	fprintf(out,
	    "usage: %s [-v] [-f] [-n] %s[-o OPTION,...] HOST:/PATH DIR\n"
	    "See mount.forefetch(8).\n",
	    job->talk.prog, job->helper ? "[-s] " : "[--save] ");
	return out == stdout ? MOUNT_GOOD : MOUNT_USAGE;
}

/* The line that does the same at every boot. */
static void tell_fstab(const struct job *job)
{
	printf("In /etc/fstab, for every boot:\n%s %s forefetch ",
	    job->source.text, job->dir);
	if (job->text)
		printf("%s%s 0 0\n", job->text,
		    job->options.ordered ? "" : ",_netdev");
	else
		puts("_netdev 0 0");
}

static int run(struct job *job, int argc, char **argv)
{
	const char *letters = job->helper ? "o:vfnrwst:N:h" : "o:vfnrwsh";
	int c, code = 0, n;

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
	struct job job = {.talk.prog = "mount.forefetch",
	    .socket = socket,
	    .helper = true,
	    .hold = -1};
	int code = run(&job, argc, argv);

	release(&job);
	return code;
}

static int mount_main(int argc, char **argv, const char *socket)
{
	struct job job = {
	    .talk.prog = "forefetch mount", .socket = socket, .hold = -1};
	int code = run(&job, argc, argv);

	release(&job);
	return code == MOUNT_GOOD    ? EXIT_SUCCESS
	       : code == MOUNT_USAGE ? CTL_EXIT_USAGE
				     : EXIT_FAILURE;
}

const struct ctl_command mount_command = {
    .name = "mount",
    .usage = "[-v] [--save] [-o OPTION,...] HOST:/PATH DIR",
    .summary = "mount through the daemon, or list what is mounted",
    .help = "Mounts PATH of the NFS server HOST at DIR through forefetchd, "
	    "which need not know that\nserver before. OPTIONs are those of "
	    "mount(8), of nfs(5), and settings such as\nconsistency=frozen "
	    "or prefetch=off; see mount.forefetch(8).\n\n"
	    "  -o OPTION,...  options, with commas between them\n"
	    "  -v             print a line for each step\n"
	    "  --save         keep the server's section over a restart of the "
	    "machine, and print\n                 the line for /etc/fstab\n\n"
	    "Without HOST:/PATH and DIR it lists what is mounted through "
	    "forefetchd; --json\nprints the same as JSON.\n",
    .options = "",
    .main = mount_main,
};
