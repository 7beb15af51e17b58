/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps from a section to a mount: the server is waited for and asked about
 * the path, then the kernel mounts. Most errors are found before mount(2),
 * which would wait for minutes and then tell an errno. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor/probe.h"
#include "mount/mount_ask.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"
#include "mount/mount_private.h"

/* Seconds after which the cause is looked for; servers that are up are there
 * before. */
#define FIRST_S       3u
/* Seconds that a probe for the cause gets at least, whatever `wait` says. */
#define PROBE_LEAST_S 2u

/* Goes to /run/mount/utab: then umount(8) runs umount.forefetch(8), whatever
 * file system the kernel says it is. */
#define HELPER "helper=forefetch"

/* A second mount of the same is refused, as by mount(8): it would hide the
 * first, and one umount would leave the other. */
int mount_check(struct mount_job *job)
{
	struct mount_entry at;

	if (!mount_kernel_at(job->dir, &at) || at.port != job->plan.port ||
	    strcmp(at.address, job->plan.address) != 0 ||
	    strcmp(mount_entry_path(&at), job->source.path) != 0)
		return MOUNT_GOOD;
	return mount_fail(&job->talk, MOUNT_FAILED, "mount point",
	    "%s is mounted at %s already", at.source, job->dir);
}

/* Whether waiting changes nothing about this cause. At boot nobody sits before
 * it, and names, routes and services may still come, so a helper without a
 * terminal waits for more of them. */
static bool is_final(const struct mount_job *job, enum probe_cause cause)
{
	/* Whoever sits before it can say at once what was meant. */
	bool patient = job->helper && !isatty(STDERR_FILENO);

	switch (cause) {
	case PROBE_V4_ONLY:
	case PROBE_NOT_NFS:
	case PROBE_FLAVOR:
	case PROBE_RPCBIND:
		return true;
	case PROBE_NO_NAME: /* at boot, the network may not be there yet */
	case PROBE_REFUSED:
	case PROBE_NO_MOUNTD:
		return !patient;
	default:
		return false;
	}
}

/* Asks the server itself why it does not answer, at the address and ports of
 * its section, for `limit_s` seconds; 0: as long as it takes. */
static void probe(
    const struct mount_job *job, unsigned limit_s, struct probe_why *out)
{
	const struct config_server *srv =
	    config_server_find(job->cfg, job->plan.name);
	const struct probe_target target = {
	    .host = srv ? srv->address : job->source.host,
	    .path = job->source.path,
	    .nfs_port = srv ? srv->nfs_port : 0,
	    .mount_port = srv ? srv->mount_port : 0,
	    .limit_us = (uint64_t)limit_s * 1000000,
	};

	probe_why(&target, out);
}

/* Says why the server is not up, by the probe or, where that found nothing, by
 * the daemon's reason `why`. */
static int tell_down(const struct mount_job *job, const struct mount_why *why,
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

/* How many seconds of `wait` are left. */
static unsigned left_s(const struct mount_job *job, uint64_t begun_us)
{
	unsigned waited = (unsigned)((clock_now_us() - begun_us) / 1000000);

	return waited < job->options.wait_s ? job->options.wait_s - waited : 0;
}

/* Waits until the daemon is connected to the server. Most servers are up at
 * once; where one is not, a probe looks for the cause meanwhile, and the
 * waiting ends if that is final. */
static int wait_for(struct mount_job *job)
{
	unsigned wait_s = job->options.wait_s, left;
	uint64_t begun_us = clock_now_us();
	struct probe_why found = {.cause = PROBE_WORKS};
	struct mount_why why;
	int up = mount_daemon_wait(&job->talk, job->socket, job->plan.name,
	    wait_s < FIRST_S ? wait_s : FIRST_S, &why);

	if (up == 0) {
		left = left_s(job, begun_us);
		if (left > 0)
			mount_fail(&job->talk, MOUNT_GOOD, "server",
			    "%s does not answer yet (%s); waiting for it, "
			    "%u s at most (wait=SECONDS)",
			    job->source.host, why.text, left);
		probe(job, left > PROBE_LEAST_S ? left : PROBE_LEAST_S, &found);
		if (is_final(job, found.cause))
			return tell_down(job, &why, &found);
		up = mount_daemon_wait(&job->talk, job->socket, job->plan.name,
		    left_s(job, begun_us), &why);
	}
	if (up == 0)
		return tell_down(job, &why, &found);
	if (up < 0 && *why.text)
		return mount_fail(
		    &job->talk, MOUNT_FAILED, "server", "%s", why.text);
	return up > 0 ? MOUNT_GOOD : MOUNT_SYSTEM;
}

/* The signals are let through again before MOUNT and the kernel, which may take
 * longer than anybody waits. */
int mount_reach(struct mount_job *job)
{
	struct mount_why why;
	int code = wait_for(job);

	if (code)
		return code;
	sigprocmask(SIG_SETMASK, &job->signals, NULL);
	mount_step(&job->talk, "server", "%s answers", job->source.host);
	if (!mount_ask(job->plan.address, job->plan.port, job->source.path,
		job->options.wait_s, &why))
		return mount_fail(
		    &job->talk, MOUNT_FAILED, "export", "%s", why.text);
	mount_step(&job->talk, "export", "%s may be mounted", job->source.path);
	return MOUNT_GOOD;
}

/* Puts the errno of mount(2) into words. Of those that may come from the
 * server, a probe finds the cause. */
static int tell_errno(const struct mount_job *job, int code, int error,
    const struct mount_why *why)
{
	struct probe_why found = {.cause = PROBE_WORKS};

	if (error == ENODEV)
		return mount_fail(&job->talk, code, "mount",
		    "the kernel has no NFS client; load it with modprobe nfs "
		    "(a container cannot, its host can)");
	if (error == EPERM)
		return mount_fail(&job->talk, code, "mount",
		    "the kernel does not let this process mount; in a "
		    "container, have its host mount instead");
	if (error == EINVAL)
		return mount_fail(&job->talk, code, "mount",
		    "the kernel refused the options (%s); look at those of "
		    "nfs(5), and at the end of dmesg",
		    job->options.kernel);
	if (error != 0 && error != EBUSY)
		probe(job, 0, &found);
	if (found.cause == PROBE_WORKS || !*found.sentence)
		return mount_fail(&job->talk, code, "mount", "%s", why->text);
	return mount_fail(&job->talk, code, "server", "%s%s%s", found.sentence,
	    *found.remedy ? "; " : "", found.remedy);
}

/* Our options stand behind those of the user, except for presets, so that they
 * count: the kernel takes the last of two that contradict each other. Locks
 * stay local, as the daemon has no lock manager, and the ports of NFS and MOUNT
 * are the listener's. */
int mount_now(struct mount_job *job)
{
	const struct mount_plan *plan = &job->plan;
	struct mount_call call = {.source = job->source.text,
	    .dir = job->dir,
	    .fstype = "nfs",
	    .no_utab = job->no_utab};
	const char *v6 = strchr(plan->address, ':') ? "6" : "";
	struct utsname system = {.release = ""};
	struct mount_why why;
	char *options = NULL;
	int code = MOUNT_SYSTEM, error;

	(void)uname(&system);
	if (asprintf(&options,
		"%s,%s,vers=3,nolock,proto=tcp%s,mountproto=tcp%s,addr=%s,"
		"mountaddr=%s,port=%u,mountport=%u,%s",
		mount_options_preset(system.release), job->options.kernel, v6,
		v6, plan->address, plan->address, plan->port, plan->port,
		HELPER) < 0)
		return mount_fail(&job->talk, code, "mount", "out of memory");
	call.options = options;
	code = mount_kernel_mount(&call, &error, &why);
	if (!code)
		mount_step(&job->talk, "mount", "%s on %s with %s", call.source,
		    call.dir, options);
	free(options);
	return code ? tell_errno(job, code, error, &why) : code;
}

/* Options of a path hold for the file system that it is on. Which one that is
 * shows when it is mounted; if another path of it was mounted before, its
 * consistency would change under its users, so this mount is undone and
 * refused. */
int mount_check_sharing(struct mount_job *job)
{
	struct umount_call call = {.dir = job->dir, .no_utab = job->no_utab};
	struct mount_entry *all, *other = NULL, mine;
	struct mount_why why;
	int code = MOUNT_GOOD;
	size_t n;

	if (!job->plan.exports_text || !*job->plan.exports_text ||
	    !mount_kernel_at(job->dir, &mine))
		return MOUNT_GOOD;
	all = mount_kernel_list(&n);
	if (!all) {
		mount_kernel_umount(&call, &why);
		return mount_fail(&job->talk, MOUNT_SYSTEM, "options",
		    "what is mounted here cannot be read");
	}
	for (size_t i = 0; i < n && !other; i++)
		if (mount_entry_shares(&all[i], &mine) &&
		    strcmp(mount_entry_path(&all[i]),
			mount_entry_path(&mine)) != 0)
			other = &all[i];
	if (other) {
		mount_kernel_umount(&call, &why);
		code = mount_fail(&job->talk, MOUNT_FAILED, "options",
		    "%s is on the same file system of the server as %s, which "
		    "is mounted at %s: the options of forefetch would apply to "
		    "both; unmount that first, or leave them out",
		    job->source.path, other->source, other->dir);
	}
	free(all);
	return code;
}

/* For -o remount: only flags of the mount can change. A line of /etc/fstab
 * brings settings for the daemon along, which are left out. */
int mount_again(struct mount_job *job)
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
