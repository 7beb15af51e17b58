/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checks of a server: what the daemon says of it, what the server itself
 * says when it is asked directly, and whether both give the same bytes. The
 * three together tell whether the fault is in the server, in the network, or in
 * the daemon. For a server that the daemon does not know, only the second is
 * done.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "ctl/ctl_text.h"
#include "doctor/doctor_private.h"
#include "doctor/probe_report.h"

/* The first port that every user may listen at (ip(7)). */
enum { PRIVILEGED = 1024 };

/* ---- what the daemon says ---------------------------------------------- */

/* Reports the daemon's own view of its connection. An idle one was not needed
 * lately, which is in order. */
static void check_state(
    const Forefetch__ServerStatus *srv, struct findings *out)
{
	char age[CTL_TEXT_MAX], why[DOCTOR_TEXT];
	bool up = srv->state == FOREFETCH__STATE__UP;

	doctor_text(&srv->reason, why, sizeof(why));
	ctl_text_duration(age, srv->state_age_us);
	if (!up && srv->state != FOREFETCH__STATE__IDLE)
		findings_add(out, FINDING_FAIL, "state",
		    "forefetchd has not been connected to it for %s: %s", age,
		    *why ? why : "see below");
	else if (*why)
		findings_add(out, FINDING_FAIL, "state", "calls fail: %s", why);
	else
		findings_add(out, FINDING_OK, "state",
		    "forefetchd has been connected to it for %s", age);
	if (srv->mount && srv->mount->reason.len > 0 && up)
		findings_add(out, FINDING_FAIL, "new mounts", "they fail: %s",
		    doctor_text(&srv->mount->reason, why, sizeof(why)));
	if (srv->offline_active)
		findings_add(out, FINDING_WARN, "offline",
		    "cached data has been served unconfirmed for %s",
		    ctl_text_duration(age, srv->offline_age_us));
	if (srv->rpcbind_error.len > 0)
		findings_add(out, FINDING_WARN, "registration", "%s",
		    doctor_text(&srv->rpcbind_error, why, sizeof(why)));
}

/* Reasons for which nothing, or little, is fetched ahead. All of them are
 * wishes of somebody, but a user who finds everything slow may not know of
 * them. */
static void check_prefetch(
    const Forefetch__ServerStatus *srv, struct findings *out)
{
	const Forefetch__HoldStatus *hold = srv->hold;
	char used[CTL_TEXT_MAX], limit[CTL_TEXT_MAX];

	if (strcmp(srv->prefetch, "off") == 0) {
		findings_add(out, FINDING_NOTE, "prefetch",
		    "it is off: nothing is fetched ahead");
		findings_remedy(out, "prefetch = on, then forefetch reload");
	}
	if (hold && hold->paused) {
		findings_add(out, FINDING_WARN, "pause",
		    "it is paused: nothing is fetched ahead");
		findings_remedy(out, "forefetch resume");
	}
	if (hold && hold->metered) {
		findings_add(out, FINDING_NOTE, "metered",
		    "the link counts as metered: %s of %s of this hour were "
		    "used for fetching ahead",
		    ctl_text_bytes(used, hold->metered_bytes),
		    ctl_text_bytes(limit, hold->metered_limit_bytes));
		findings_remedy(out, "if it is not, set metered = no; "
				     "metered_budget is the limit of an hour");
	}
}

/* The [export] sections, where they do not do what they say: policies go by
 * file systems, and two sections may turn out to be about the same one, or
 * about none. */
static void check_sections(
    const Forefetch__ServerStatus *srv, struct findings *out)
{
	char path[DOCTOR_TEXT], other[DOCTOR_TEXT];

	for (size_t i = 0; i < srv->n_overrides; i++) {
		const Forefetch__ExportStatus *ex = srv->overrides[i];

		doctor_text(&ex->export_path, path, sizeof(path));
		if (ex->overruled_by.len > 0) {
			findings_add(out, FINDING_WARN, "section",
			    "%s is on the same file system as %s, whose "
			    "section is stricter and applies to both",
			    path,
			    doctor_text(
				&ex->overruled_by, other, sizeof(other)));
			findings_remedy(
			    out, "remove one of them, or set both alike");
		} else if (!ex->known) {
			findings_add(out, FINDING_WARN, "section",
			    "it is not known which file system %s is on, so "
			    "everything without a known section is strict",
			    path);
			findings_remedy(out,
			    "it is asked when a client calls; if the server "
			    "does not have the path any more, remove the "
			    "section");
		}
	}
}

/* The port of "127.0.0.1:289", "[::1]:289"; 0: there is none. */
static unsigned port_of(const char *listen)
{
	const char *colon = strrchr(listen, ':');

	return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

/* A port that any user may listen at is a danger while the daemon is stopped:
 * the mounts stay, and send whoever answers there their calls, with the
 * contents of files. */
static void check_listen(
    const Forefetch__ServerStatus *srv, struct findings *out)
{
	char listen[128];

	for (size_t i = 0; i < srv->n_listen; i++) {
		doctor_text(&srv->listen[i], listen, sizeof(listen));
		if (port_of(listen) < PRIVILEGED)
			continue;
		findings_add(out, FINDING_WARN, "listen",
		    "%s: while forefetchd is stopped, any local user may "
		    "listen there, and answer in its place",
		    listen);
		findings_remedy(out, "choose a port below 1024, such as 307");
	}
}

/* ---- what the listener says -------------------------------------------- */

/* Makes "127.0.0.1:289" or "[::1]:289" a target for probes, with the host in
 * `host`. A wildcard address means this machine. False where there is no
 * port. */
static bool split_listen(
    const char *listen, char *host, size_t size, struct probe_target *t)
{
	const char *colon = strrchr(listen, ':');
	size_t len;

	if (!colon)
		return false;
	len = (size_t)(colon - listen);
	if (*listen == '[' && len >= 2) {
		listen++;
		len -= 2;
	}
	snprintf(host, size, "%.*s", (int)len, listen);
	if (strcmp(host, "0.0.0.0") == 0)
		snprintf(host, size, "127.0.0.1");
	else if (strcmp(host, "::") == 0)
		snprintf(host, size, "::1");
	t->host = host;
	t->nfs_port = t->mount_port = (uint16_t)port_of(colon);
	return true;
}

/* Reads through the daemon the file that was read at the server, and compares
 * the bytes. That they differ proves a fault only if nobody writes there, so
 * this warns, and asks for another try. */
static void compare_read(const struct probe_facts *direct,
    const struct probe_facts *proxy, struct findings *out)
{
	union nfs_args args = {
	    .read = {.file = {direct->file_fh_len, (char *)direct->file_fh},
		.count = PROBE_DATA_MAX}};
	const READ3resok *ok;
	union nfs_res res;
	struct ask *a;
	int err;

	if (direct->file_fh_len == 0)
		return;
	a = probe_open_nfs(proxy, &err);
	if (a)
		err = ask_proc(a, NFS_PROGRAM, NFSPROC3_READ, &args, &res);
	ok = &res.read.READ3res_u.resok;
	if (err || res.status != NFS3_OK) {
		findings_add(out, FINDING_FAIL, "read through it", "%s: %s",
		    direct->file,
		    err ? strerror(err) : "refused, but not by the server");
		findings_remedy(out, "see the log: journalctl -u forefetchd");
	} else if (ok->data.len != direct->data_len ||
		   memcmp(ok->data.data, direct->data, ok->data.len) != 0) {
		findings_add(out, FINDING_WARN, "read through it",
		    "%s differs from what the server gives; was it changed "
		    "just now?",
		    direct->file);
		findings_remedy(out, "run doctor again; if it happens again, "
				     "run forefetch drop, and report it");
	} else {
		findings_add(out, FINDING_OK, "read through it",
		    "the same %u bytes of %s", ok->data.len, direct->file);
	}
	ask_close(a);
}

/* The daemon refuses ports above 1023, from which only this process can
 * come. */
static void skip_listener(const char *listen, struct findings *out)
{
	findings_add(out, FINDING_SKIP, "listener",
	    "%s serves ports below 1024 only: root may look", listen);
}

/* Whether the section of the server has `secure`, by the configuration: then
 * the daemon would refuse this user's connection and log a warning, which would
 * be the next thing that doctor finds. False where the file cannot be read. */
static bool refuses_users(const Forefetch__ServerStatus *srv)
{
	const struct config_source source = {
	    .file = CONFIG_FILE_DEFAULT, .run_dir = CONFIG_RUN_DIR_DEFAULT};
	char err[CONFIG_ERR_MAX], name[256];
	struct config *c = config_load(&source, err, sizeof(err));
	bool secure = false;

	doctor_text(&srv->name, name, sizeof(name));
	for (size_t i = 0; c && i < c->nservers; i++)
		if (strcmp(c->servers[i].name, name) == 0)
			secure = c->servers[i].secure;
	config_free(c);
	return secure;
}

/* `proxy` has the facts of the listener, `direct` those of the server. A
 * refusal that a port below 1024 would have spared is no fault. */
static void report_listener(const struct probe_target *t,
    const struct probe_facts *proxy, const struct probe_facts *direct,
    const char *listen, struct findings *out)
{
	struct probe_why why;

	probe_judge(t, proxy, &why);
	if (why.cause == PROBE_WORKS) {
		findings_add(out, FINDING_OK, "listener",
		    "forefetchd answers at %s", listen);
		compare_read(direct, proxy, out);
	} else if (geteuid() != 0 && (why.cause == PROBE_NOT_NFS ||
					 why.cause == PROBE_UNPRIVILEGED)) {
		skip_listener(listen, out);
	} else {
		findings_add(out, FINDING_FAIL, "listener", "%s", why.sentence);
		findings_remedy(out,
		    "see listen and allow of its section, exports, and the "
		    "log: journalctl -u forefetchd");
	}
}

/* Probes the daemon's first listener as it would any server. Without a handle
 * from the server itself, its exports are not asked for: an answer that needs
 * the server would only be waited for. */
static void check_listener(const Forefetch__ServerStatus *srv, const char *path,
    const struct probe_facts *direct, struct findings *out)
{
	struct probe_facts *proxy;
	struct probe_target t = {.path = path};
	char listen[128], host[128];

	if (srv->n_listen == 0 ||
	    !split_listen(doctor_text(&srv->listen[0], listen, sizeof(listen)),
		host, sizeof(host), &t))
		return;
	if (geteuid() != 0 && refuses_users(srv)) {
		skip_listener(listen, out);
		return;
	}
	/* An answer that needs the server would only be waited for. */
	if (direct->fh_len == 0)
		t.path = NULL;
	proxy = probe_run(&t);
	if (proxy)
		report_listener(&t, proxy, direct, listen, out);
	probe_facts_free(proxy);
}

/* ---- both -------------------------------------------------------------- */

/* Ask it itself. Without a path, its first export is taken. NULL without
 * memory. */
static struct probe_facts *probe_server(
    struct probe_target *t, struct findings *out)
{
	struct probe_facts *f = probe_run(t);

	if (!f)
		return NULL;
	if (!t->path && f->nexports > 0) {
		t->path = f->exports[0];
		probe_mnt(t, f);
	}
	probe_files(f);
	if (f->nfs_err == 0)
		probe_clock(f);
	probe_report(t, f, out);
	return f;
}

/* Picks a path that is mounted of it, or the first that it is for. */
static const char *pick_path(const struct doctor_env *env, const char *name,
    const Forefetch__ServerStatus *srv, char *buf, size_t size)
{
	for (size_t i = 0; i < env->nmounts; i++)
		if (strcmp(env->mounts[i].server, name) == 0)
			return env->mounts[i].export;
	if (srv->n_exports > 0)
		return doctor_text(&srv->exports[0], buf, size);
	return NULL;
}

void doctor_check_server(const struct doctor_env *env,
    const Forefetch__ServerStatus *srv, struct findings *out)
{
	char name[256], address[256], path[DOCTOR_TEXT];
	struct probe_target t = {.host = address,
	    .nfs_port = (uint16_t)srv->nfs_port,
	    .mount_port = (uint16_t)srv->mount_port};
	struct probe_facts *f;

	doctor_text(&srv->name, name, sizeof(name));
	doctor_text(&srv->address, address, sizeof(address));
	t.path = pick_path(env, name, srv, path, sizeof(path));
	check_state(srv, out);
	check_prefetch(srv, out);
	check_sections(srv, out);
	check_listen(srv, out);
	f = probe_server(&t, out);
	if (f)
		check_listener(srv, t.path, f, out);
	probe_facts_free(f);
}

void doctor_check_configured(
    const struct config_server *srv, struct findings *out)
{
	struct probe_target t = {.host = srv->address,
	    .path = srv->exports.n > 0 ? srv->exports.list[0] : NULL,
	    .nfs_port = srv->nfs_port,
	    .mount_port = srv->mount_port};

	probe_facts_free(probe_server(&t, out));
}

/* `host` is "host", "host:/path" or "[v6]:/path", as a user typed it. */
void doctor_check_host(const char *host, struct findings *out)
{
	char name[256];
	const char *bracket = *host == '[' ? strchr(host, ']') : NULL;
	const char *path = strstr(bracket ? bracket : host, ":/");
	const char *end = bracket ? bracket : path;
	struct probe_target t = {.host = name, .path = path ? path + 1 : NULL};

	host += bracket != NULL;
	snprintf(name, sizeof(name), "%.*s",
	    end ? (int)(end - host) : (int)strlen(host), host);
	probe_facts_free(probe_server(&t, out));
}
