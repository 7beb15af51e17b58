/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section of the server: found, or made, and read by the daemon. All of it
 * is done under the lock of mount_store, so that two mounts do not choose the
 * same port; the hold keeps the section from being cleaned away between the
 * lock and the mount. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/netmatch.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_status.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"
#include "mount/mount_private.h"

/* Whether something of this host has the port: a listener on any address, or
 * the kernel's client, which may still send to it after its section is gone. */
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

/* Reads the configuration anew; false with a reason. */
static bool load(struct mount_job *job, struct mount_why *why)
{
	config_free(job->cfg);
	job->cfg = mount_store_load(job->store, why);
	return job->cfg != NULL;
}

/* With --save: what mounts made of this server until now stays from now on. */
static bool save_former(struct mount_job *job, struct mount_why *why)
{
	bool moved;

	if (!job->save || job->plan.added || job->fake)
		return true;
	if (!mount_store_save(job->store, job->plan.name, &moved, why))
		return false;
	return !moved || load(job, why);
}

/* Where the files of this mount go: they last for this run, or with --save for
 * good. */
static const char *dir_of(const struct mount_job *job)
{
	return job->save ? mount_store_save_dir(job->store)
			 : mount_store_run_dir(job->store);
}

/* Plans anew, by the configuration as it is loaded. */
static bool make_plan(struct mount_job *job, struct mount_why *why)
{
	const struct mount_plan_in in = {
	    .cfg = job->cfg,
	    .run_dir = mount_store_run_dir(job->store),
	    .dir = dir_of(job),
	    .source = &job->source,
	    .options = &job->options,
	    .port_taken = port_taken,
	    .is_mounted = is_mounted,
	};

	mount_plan_release(&job->plan);
	return mount_plan_make(&in, &job->plan, why);
}

/* Whether the daemon has the section as the files have it, as far as its status
 * tells: somebody may have changed them since it read them. */
static bool is_known(const struct mount_job *job)
{
	const Forefetch__ServerStatus *now =
	    ctl_server_named(job->status->status, job->plan.name);
	const struct config_server *srv =
	    config_server_find(job->cfg, job->plan.name);
	char text[NETMATCH_TEXT_MAX];

	if (!now || !srv || now->n_listen != srv->listen.n ||
	    !ctl_is(&now->address, srv->address))
		return false;
	for (size_t i = 0; i < srv->listen.n; i++) {
		netmatch_addr_format(&srv->listen.list[i], text);
		if (!ctl_is(&now->listen[i], text))
			return false;
	}
	return true;
}

/* Removes what was written for this mount, and has the daemon read that; needs
 * the lock. Where the section was there before, only the options of the path
 * are taken back. */
static void take_back(struct mount_job *job)
{
	struct mount_why why;

	if (!job->written)
		return;
	job->written = false;
	if (job->plan.added) {
		mount_store_remove(dir_of(job), job->plan.name);
	} else if (load(job, &why)) {
		/* Options for a path that is not mounted with them. */
		job->options.nsettings = 0;
		if (make_plan(job, &why))
			mount_store_write(dir_of(job), &job->plan, &why);
	}
	mount_daemon_reload(job->socket, NULL, &why);
}

/* Writes the files of the plan. Sets `*changed` where the daemon has to read
 * them. */
static bool write_section(
    struct mount_job *job, bool *changed, struct mount_why *why)
{
	if (!mount_store_write(dir_of(job), &job->plan, why))
		return false;
	job->written = job->plan.server_text || job->plan.exports_text;
	*changed |= job->written;
	return true;
}

/* Everything until the daemon has the section: false with a reason, or with an
 * empty one after a message. Sections that nobody needs any more are removed
 * first, so that their ports and names are free; a dry run removes none. */
static bool prepare(struct mount_job *job, struct mount_why *why)
{
	bool changed = false;

	if (!load(job, why))
		return false;
	if (!job->fake)
		changed = mount_store_clean(
			      job->store, job->cfg, job->status->status) > 0;
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

/* Asks the daemon once more: a section that it has not taken up would make the
 * mount wait for a port where nobody listens. */
static int check_known(struct mount_job *job)
{
	struct mount_why why;

	ctl_free(job->status);
	job->status = mount_daemon_status(&job->talk, job->socket);
	if (job->status && load(job, &why) && is_known(job))
		return MOUNT_GOOD;
	take_back(job);
	if (!job->status)
		return MOUNT_SYSTEM;
	return mount_fail(&job->talk, MOUNT_SYSTEM, "section",
	    "forefetchd has not applied %s (%s); is it run with -f, and so "
	    "without --run-dir? See forefetch reload and its log",
	    job->plan.name, job->plan.from);
}

/* The lock is given back at the end; the hold stays. */
int mount_section(struct mount_job *job)
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
		good = check_known(job) == MOUNT_GOOD;
	mount_store_close(job->store);
	job->store = NULL;
	if (good)
		mount_step(&job->talk, "section",
		    "[server %s] of %s, at %s port %u", job->plan.name,
		    job->plan.from, job->plan.address, job->plan.port);
	return good ? MOUNT_GOOD : MOUNT_SYSTEM;
}

/* A mount that succeeded protects its section from now on by being there. */
void mount_section_end(struct mount_job *job, bool failed)
{
	struct mount_why why;

	if (job->hold < 0 || !job->status)
		return;
	job->store = mount_store_open(job->status->status, &why);
	if (!job->store)
		return;
	if (failed)
		take_back(job);
	mount_store_unhold(job->store, job->plan.name, job->hold);
	job->hold = -1;
	mount_store_close(job->store);
	job->store = NULL;
}
