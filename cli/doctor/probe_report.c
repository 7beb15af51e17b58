/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line for each fact of a probe: the way there, what is exported, the file
 * system, the link, the clock. It is for `forefetch probe` and for the part of
 * doctor that asks a server itself. The cause that probe_judge() finds stands
 * in the line of the step that it belongs to. */
#include "doctor/probe_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl_text.h"

/* Bounds of the verdicts, and the figures of the estimate of what prefetching
 * saves. */
enum {
	/* Bytes: READs of less cost more round trips than they need to. */
	SMALL_RSIZE = 32 << 10,
	CLOCK_WARN_US = 1000000,
	/* A minute, as far as is measured. */
	CLOCK_FAIL_US = 60000000 - 500000,
	/* Small files of the job that is estimated. */
	FILES = 1000,
	/* Calls for a file, one after the other: LOOKUP, ACCESS, READ. */
	CALLS = 3,
	/* Bytes of a small file. */
	FILE_BYTES = 4096,
	/* Bytes that are asked and answered for it besides. */
	CALL_BYTES = 1024,
	/* Microseconds that an answer from the cache takes. */
	SERVED_US = 200,
	/* A round trip, in microseconds, that prefetching does not pay for. */
	SHORT_US = 1000,
};

/* The line that a cause belongs to. */
static const char *const causes[] = {
    [PROBE_NO_NAME] = "name",
    [PROBE_NO_ROUTE] = "route",
    [PROBE_SILENT] = "route",
    [PROBE_REFUSED] = "nfs",
    [PROBE_RPCBIND] = "rpcbind",
    [PROBE_V4_ONLY] = "nfs",
    [PROBE_NOT_NFS] = "nfs",
    [PROBE_NO_MOUNTD] = "mount",
    [PROBE_NO_EXPORT] = "export",
    [PROBE_DENIED] = "export",
    [PROBE_UNPRIVILEGED] = "export",
    [PROBE_FLAVOR] = "export",
    [PROBE_UNSURE] = "export",
};

/* A name that takes a second to resolve makes each mount, and each
 * reconnection, that much slower. */
static void report_name(const struct probe_target *t,
    const struct probe_facts *f, struct findings *out)
{
	char addr[128], all[512] = "", took[CTL_TEXT_MAX];
	size_t len = 0;

	for (unsigned i = 0; i < f->naddr; i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
		    i ? ", " : "",
		    probe_addr_text(&f->addr[i], addr, sizeof(addr)));
	if (strcmp(t->host, all) == 0) {
		findings_add(out, FINDING_OK, "name", "%s, an address", all);
		return;
	}
	findings_add(out, f->name_us > 1000000 ? FINDING_WARN : FINDING_OK,
	    "name", "%s is %s, found in %s", t->host, all,
	    ctl_text_us(took, f->name_us));
	if (f->name_us > 1000000)
		findings_remedy(out,
		    "the resolver is slow: see /etc/resolv.conf and "
		    "/etc/nsswitch.conf, or add the server to /etc/hosts");
}

/* Nothing of it is said where NFS did not answer: the verdict does that. */
static void report_ports(const struct probe_facts *f, struct findings *out)
{
	char nfs[32] = "no NFSv3", mount[32] = "no MOUNT";

	if (f->nfs3.there)
		snprintf(nfs, sizeof(nfs), "NFSv3 at port %u", f->nfs3.port);
	if (f->mount3.there)
		snprintf(
		    mount, sizeof(mount), "MOUNT at port %u", f->mount3.port);
	if (f->rpcbind_err == 0)
		findings_add(
		    out, FINDING_OK, "rpcbind", "it knows %s, %s", nfs, mount);
	if (f->nfs_err == 0)
		findings_add(out, FINDING_OK, "nfs",
		    "version 3 answers at port %u%s", f->nfs_port,
		    f->nfs4_err == 0 ? ", so does version 4" : "");
	if (f->nfs_err == 0 && f->mount_err == 0)
		findings_add(out, FINDING_OK, "mount",
		    "version 3 answers at port %u", f->mount_port);
}

static void report_exports(const struct probe_facts *f, struct findings *out)
{
	char list[400] = "";
	size_t len = 0;

	if (f->exports_err == PROBE_NOT_TRIED)
		return;
	for (unsigned i = 0; i < f->nexports && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
		    i ? ", " : "", f->exports[i]);
	if (f->exports_err)
		findings_add(out, FINDING_NOTE, "exports",
		    "the server does not list them: %s",
		    strerror(f->exports_err));
	else if (f->nexports == 0)
		findings_add(
		    out, FINDING_WARN, "exports", "the server exports nothing");
	else
		findings_add(out, FINDING_OK, "exports", "%" PRIu64 ": %s%s",
		    f->exports_all, list, len < sizeof(list) ? "" : "...");
}

/* Limits of the export's root. knfsd reports a time_delta of a second, whatever
 * its file system has, so times that were seen decide (RFC 1813 section
 * 3.3.19). */
static void report_limits(const struct probe_facts *f, struct findings *out)
{
	char rd[CTL_TEXT_MAX], wr[CTL_TEXT_MAX], grain[CTL_TEXT_MAX];
	const nfstime3 *d = &f->fsinfo.time_delta;
	uint64_t us = (uint64_t)d->seconds * 1000000 + d->nseconds / 1000;

	if (f->fsinfo_err || f->fsinfo_status != NFS3_OK) {
		findings_add(out, f->low_port ? FINDING_FAIL : FINDING_WARN,
		    "export",
		    "it can be mounted, but its root cannot be asked (FSINFO: "
		    "%s)",
		    f->fsinfo_err ? strerror(f->fsinfo_err) : "refused");
		findings_remedy(
		    out, f->low_port ? "see the server's log"
				     : "run it as root (sudo): the server may "
				       "refuse ports above 1023");
		return;
	}
	findings_add(out,
	    f->fsinfo.rtmax < SMALL_RSIZE ? FINDING_WARN : FINDING_OK, "sizes",
	    "READ up to %s, WRITE up to %s a call",
	    ctl_text_bytes(rd, f->fsinfo.rtmax),
	    ctl_text_bytes(wr, f->fsinfo.wtmax));
	if (f->fsinfo.rtmax < SMALL_RSIZE)
		findings_remedy(out,
		    "raise the server's limit (max_block_size below "
		    "/proc/fs/nfsd): each call costs a round trip");
	/* knfsd says that they are of a second, whatever they are. */
	if (us >= 1000000 && !f->fine && f->entries > 2)
		findings_add(out, FINDING_NOTE, "time stamps",
		    "of %s; names and data count as certain only a second "
		    "later",
		    ctl_text_us(grain, us));
	else
		findings_add(
		    out, FINDING_OK, "time stamps", "finer than a second");
}

/* Room, names and ACLs: facts that nobody has to change, but that explain
 * much. */
static void report_fs(const struct probe_facts *f, struct findings *out)
{
	char avail[CTL_TEXT_MAX], total[CTL_TEXT_MAX];

	if (!f->fsstat_err && f->fsstat_status == NFS3_OK && f->fsstat.tbytes)
		findings_add(out, !f->fsstat.abytes ? FINDING_WARN : FINDING_OK,
		    "room", "%s of %s are free there",
		    ctl_text_bytes(avail, f->fsstat.abytes),
		    ctl_text_bytes(total, f->fsstat.tbytes));
	if (!f->pathconf_err && f->pathconf_status == NFS3_OK)
		findings_add(out,
		    f->pathconf.case_insensitive ? FINDING_NOTE : FINDING_OK,
		    "names", "%s",
		    f->pathconf.case_insensitive
			? "case does not matter, so that a listing does not "
			  "prove that a name is absent"
			: "case matters");
	if (f->acl_err == 0)
		findings_add(out, FINDING_OK, "ACLs", "POSIX ACLs are served");
	else if (f->acl_err != PROBE_NOT_TRIED)
		findings_add(out, FINDING_NOTE, "ACLs",
		    "the server has no NFSACL: getfacl and setfacl do not "
		    "work on it");
}

/* A squashed root is as it should be, and a surprise to whoever runs `forefetch
 * warm` as root. */
static void report_squash(const struct probe_facts *f, struct findings *out)
{
	switch (f->squash) {
	case PROBE_SQUASH_UNKNOWN:
		break;
	case PROBE_SQUASH_NO:
		findings_add(out, FINDING_OK, "root",
		    "has its rights there (no_root_squash)");
		break;
	case PROBE_SQUASH_MAYBE:
	case PROBE_SQUASH_YES:
		findings_add(out, FINDING_NOTE, "root",
		    f->squash == PROBE_SQUASH_YES
			? "is squashed there: it has the rights of nobody"
			: "may not write in its own directory there: root is "
			  "squashed, or the export is read-only");
		findings_remedy(out,
		    "as it should be for most; run forefetch warm and pin as "
		    "the user whose files they are, or export with "
		    "no_root_squash");
	}
}

/* Whether a file could be read, with the reason where none was. */
static void report_read(const struct probe_facts *f, struct findings *out)
{
	if (f->list_err == PROBE_NOT_TRIED)
		return;
	if (f->list_err || f->list_status != NFS3_OK) {
		findings_add(out, FINDING_WARN, "list",
		    "its root cannot be listed by this user (%s)",
		    f->list_err ? strerror(f->list_err) : "refused");
		findings_remedy(out, "try it as a user who is allowed to");
	} else if (f->read_err == PROBE_NOT_TRIED) {
		findings_add(out, FINDING_SKIP, "read",
		    "no file among the first %u entries", f->entries);
	} else if (f->file_fh_len == 0) {
		findings_add(out, FINDING_SKIP, "read",
		    "no file that this user may read%s%s",
		    f->read_err ? ": " : "",
		    f->read_err ? strerror(f->read_err) : "");
	} else {
		findings_add(out, FINDING_OK, "read", "%u bytes of %s",
		    f->data_len, f->file);
	}
}

/* Bytes a second; 0: not known. */
static uint64_t rate(const struct probe_facts *f)
{
	return f->rate_us ? f->rate_bytes * 1000000 / f->rate_us : 0;
}

/* The round trip, the rate, and what prefetching may save by them: an estimate
 * of a job that opens many small files, without it and with everything fetched
 * in time. */
static void report_link(const struct probe_facts *f, struct findings *out)
{
	char least[CTL_TEXT_MAX], rtt[CTL_TEXT_MAX], text[CTL_TEXT_MAX];
	char without[CTL_TEXT_MAX], with[CTL_TEXT_MAX];
	uint64_t bytes = rate(f), slow, fast;

	if (!f->rtt_us)
		return;
	findings_add(out, FINDING_OK, "round trip", "%s (at least %s)",
	    ctl_text_us(rtt, f->rtt_us), ctl_text_us(least, f->rtt_min_us));
	if (bytes)
		findings_add(out, FINDING_OK, "rate", "%s %s",
		    f->rate_bound ? "at least" : "about",
		    ctl_text_rate(text, bytes));
	else if (f->fh_len)
		findings_add(out, FINDING_SKIP, "rate",
		    "no readable file of 128 KiB was found near the root");
	if (f->rtt_us < SHORT_US) {
		findings_add(out, FINDING_NOTE, "prefetching",
		    "saves little on this link: a round trip is short");
		return;
	}
	if (!bytes)
		return;
	slow = FILES * CALLS * f->rtt_us +
	       (uint64_t)FILES * (FILE_BYTES + CALL_BYTES) * 1000000 / bytes;
	fast = (uint64_t)FILES * SERVED_US + 20 * f->rtt_us +
	       (uint64_t)FILES * (FILE_BYTES + CALL_BYTES) * 1000000 / bytes;
	findings_add(out, FINDING_OK, "prefetching",
	    "estimated: %d small files, one after the other, take %s without "
	    "it (%d round trips each) and %s with it, once the job is known",
	    FILES, ctl_text_us(without, slow), CALLS, ctl_text_us(with, fast));
}

static void report_clock(const struct probe_facts *f, struct findings *out)
{
	uint64_t off = (uint64_t)imaxabs(f->clock_us);
	char text[CTL_TEXT_MAX];
	enum finding_state state = FINDING_OK;

	if (!f->clock_known && f->future && f->future_us > CLOCK_WARN_US) {
		findings_add(out, FINDING_WARN, "clock",
		    "a file there was changed %s from now, by our clock",
		    ctl_text_us(text, (uint64_t)f->future_us));
		findings_remedy(out, "check that both machines take the time "
				     "by NTP (timedatectl)");
		return;
	}
	if (!f->clock_known) {
		findings_add(out, FINDING_SKIP, "clock",
		    "the server's is not known%s",
		    geteuid() == 0 ? " (it does not answer by ICMP)"
				   : "; root may ask for it by ICMP");
		return;
	}
	if (off >= CLOCK_WARN_US)
		state = off >= CLOCK_FAIL_US ? FINDING_FAIL : FINDING_WARN;
	if (state == FINDING_OK) {
		findings_add(out, state, "clock",
		    "the server's differs by %s at most (%s)",
		    ctl_text_us(text, off + f->rtt_us), f->clock_by);
		return;
	}
	findings_add(out, state, "clock", "the server's is %s %s ours (%s)",
	    ctl_text_us(text, off), f->clock_us > 0 ? "ahead of" : "behind",
	    f->clock_by);
	findings_remedy(out,
	    "have both machines take the time by NTP (timedatectl "
	    "set-ntp true): make(1) and caches go by it");
}

/* Only if the user asked for a trial. */
static void report_write(const struct probe_facts *f, struct findings *out)
{
	if (f->write_err == PROBE_NOT_TRIED)
		return;
	if (!f->write_step) {
		findings_add(
		    out, FINDING_OK, "write", "a file was created and removed");
		return;
	}
	findings_add(out, FINDING_FAIL, "write", "%s failed: %s", f->write_step,
	    f->write_err                       ? strerror(f->write_err)
	    : f->write_status == NFS3ERR_ROFS  ? "the export is read-only"
	    : f->write_status == NFS3ERR_NOENT ? "no such directory"
	    : f->write_status == NFS3ERR_NOSPC ? "the disk there is full"
	    : f->write_status == NFS3ERR_ACCES ||
		    f->write_status == NFS3ERR_PERM
		? "this user may not do that there"
		: "the server refused it");
	findings_remedy(out, "name a directory, below the export, that this "
			     "user may write in");
}

/* The lines in the order of the way to a file. Behind a step that failed, only
 * those follow that could be found out all the same. */
void probe_report(const struct probe_target *t, const struct probe_facts *f,
    struct findings *out)
{
	struct probe_why why;

	probe_judge(t, f, &why);
	if (!f->gai)
		report_name(t, f, out);
	if (!f->gai && f->nfs_err == 0)
		report_ports(f, out);
	report_exports(f, out);
	if (why.cause != PROBE_WORKS) {
		findings_add(out,
		    why.cause == PROBE_UNPRIVILEGED ? FINDING_WARN
						    : FINDING_FAIL,
		    causes[why.cause], "%s", why.sentence);
		findings_remedy(out, "%s", why.remedy);
	}
	if (f->fh_len) {
		if (why.cause == PROBE_WORKS)
			findings_add(out, FINDING_OK, "export",
			    "%s may be mounted (%s)", t->path,
			    *f->flavors ? f->flavors : "sys");
		report_limits(f, out);
		report_fs(f, out);
		report_squash(f, out);
		report_read(f, out);
	}
	report_link(f, out);
	if (f->nfs_err == 0)
		report_clock(f, out);
	report_write(f, out);
}
