/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the facts of a probe to a sentence that says what is wrong, and one that
 * says what to do. It takes the first thing on the way to a mount that failed:
 * name, connection, version, ports, export, flavor; whatever follows from that
 * is not worth a sentence. Nothing is asked here, so every case can be tested
 * with facts that were made up.
 */
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "doctor/probe_private.h"

/* Beside the port of rpcbind these bound lists of exports, names in them, and
 * the text of an address. */
enum { RPCBIND_PORT = 111, EXPORTS_SHOWN = 8, NAME_SHOWN = 48, ADDR_MAX = 64 };

/* Sets the cause and its sentence. */
__attribute__((format(printf, 3, 4))) static void judge(
    struct probe_why *out, enum probe_cause cause, const char *format, ...)
{
	va_list ap;

	out->cause = cause;
	va_start(ap, format);
	vsnprintf(out->sentence, sizeof(out->sentence), format, ap);
	va_end(ap);
}

/* Sets the remedy. */
__attribute__((format(printf, 2, 3))) static void advise(
    struct probe_why *out, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(out->remedy, sizeof(out->remedy), format, ap);
	va_end(ap);
}

/* The name has no address. A resolver that gets no answer is another thing than
 * a name that does not exist. */
static void judge_name(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	if (f->gai == EAI_AGAIN) {
		judge(out, PROBE_NO_NAME,
		    "the resolver does not know %s now: no answer from the "
		    "name servers",
		    t->host);
		advise(out,
		    "check that the network is up (resolvectl status, "
		    "/etc/resolv.conf), or use the address of the server");
		return;
	}
	judge(out, PROBE_NO_NAME, "the name %s is not known: %s", t->host,
	    f->gai == EAI_NODATA ? "it has no address" : gai_strerror(f->gai));
	advise(out,
	    "check the spelling (getent ahosts %s), add it to /etc/hosts, or "
	    "use the address of the server",
	    t->host);
}

/* Writes "nas (192.0.2.7)", or the address alone where it was given. */
static void put_who(
    const struct probe_target *t, const char *addr, char who[ADDR_MAX + 300])
{
	if (strcmp(t->host, addr) == 0)
		snprintf(who, ADDR_MAX + 300, "%s", addr);
	else
		snprintf(who, ADDR_MAX + 300, "%.256s (%s)", t->host, addr);
}

/* A connection, or a call over one, gets no answer at all. That another port of
 * the same machine answered, even by a refusal, tells a firewall from a machine
 * that is off. */
static void judge_silent(const struct probe_facts *f, const char *who,
    const char *addr, struct probe_why *out)
{
	bool heard = f->rpcbind_err == 0 || f->rpcbind_err == ECONNREFUSED;

	if (f->connected) {
		judge(out, PROBE_SILENT,
		    "%s accepts a connection at port %u, but does not answer: "
		    "the server hangs, or it is not an NFS server",
		    who, f->nfs_port);
		advise(out, "check the server (its log, its disks), or the "
			    "port (nfs_port)");
		return;
	}
	judge(out, PROBE_SILENT,
	    heard ? "%s is there, but a connection to its port %u gets no "
		    "answer: a firewall drops it"
		  : "nothing answers at %s, port %u: it is off, or a firewall "
		    "drops the packets",
	    who, f->nfs_port);
	advise(out,
	    "check that the server is on (ping %s), and that firewalls let TCP "
	    "port %u through",
	    addr, f->nfs_port);
}

/* NFS could not be connected to, or did not answer like NFS. */
static void judge_reach(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	char addr[ADDR_MAX], who[ADDR_MAX + 300];

	probe_addr_text(&f->addr[f->at], addr, sizeof(addr));
	put_who(t, addr, who);
	switch (f->nfs_err) {
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EADDRNOTAVAIL:
		judge(out, PROBE_NO_ROUTE, "there is no route to %s: %s", who,
		    strerror(f->nfs_err));
		advise(out,
		    "check that this machine is on the right network (ip route "
		    "get %s), and that the server is on",
		    addr);
		return;
	case ECONNREFUSED:
		judge(out, PROBE_REFUSED,
		    "%s answers, but nothing listens at its port %u", who,
		    f->nfs_port);
		advise(out, t->nfs_port
				? "check the port (nfs_port); if it is not "
				  "set, the server's rpcbind is asked"
				: "start the NFS server there (systemctl "
				  "start nfs-server), or name its port "
				  "(nfs_port, mount_port) if it has another");
		return;
	case ETIMEDOUT:
		judge_silent(f, who, addr, out);
		return;
	default:
		judge(out, PROBE_NOT_NFS,
		    "the program at port %u of %s does not answer like an NFS "
		    "server: %s",
		    f->nfs_port, who, strerror(f->nfs_err));
		advise(out, "check the port (nfs_port) and the server");
	}
}

/* NFS is there, but not version 3. */
static void judge_versions(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	if (f->nfs4_err == 0 || f->low >= 4) {
		judge(out, PROBE_V4_ONLY,
		    "%s offers NFSv4 only (port %u), and forefetch speaks "
		    "NFSv3",
		    t->host, f->nfs_port);
		advise(out,
		    "switch NFSv3 on there (vers3=y below [nfsd] in its "
		    "/etc/nfs.conf, then systemctl restart nfs-server), or "
		    "mount without forefetch: mount -t nfs -o vers=4 %s:%s DIR",
		    t->host, t->path ? t->path : "/PATH");
		return;
	}
	if (f->high && f->high < 3)
		judge(out, PROBE_NOT_NFS,
		    "%s offers NFSv%u at most, and forefetch speaks NFSv3",
		    t->host, f->high);
	else
		judge(out, PROBE_NOT_NFS,
		    "the program at port %u of %s is not an NFS server",
		    f->nfs_port, t->host);
	advise(out, "check the port (nfs_port) and the server");
}

/* NFS answers and MOUNT does not: mostly a firewall, since MOUNT has a port
 * that differs from server to server. */
static void judge_mountd(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	if (f->mount_port == 0 && f->rpcbind_err == 0) {
		judge(out, PROBE_NO_MOUNTD,
		    "%s serves NFSv3, but its rpcbind knows no MOUNT version "
		    "3 over TCP",
		    t->host);
		advise(out,
		    "start rpc.mountd there (systemctl restart nfs-server), "
		    "with version 3 and TCP");
		return;
	}
	judge(out, PROBE_NO_MOUNTD,
	    "%s serves NFSv3, but its MOUNT service (port %u) does not "
	    "answer: %s",
	    t->host, f->mount_port ? f->mount_port : MOUNTD_PORT,
	    f->mount_err > 0 ? strerror(f->mount_err) : "not asked");
	advise(out,
	    f->mount_err == ETIMEDOUT
		? "let that TCP port through the server's firewall, and fix "
		  "it there (port= below [mountd] in its /etc/nfs.conf)"
		: "check mount_port, and that rpc.mountd runs there");
}

/* rpcbind does not tell the ports, which then have to be configured. Whether
 * the ports that were guessed work decides what is advised. */
static void judge_rpcbind(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	judge(out, PROBE_RPCBIND,
	    "the rpcbind of %s (port %d) does not answer: %s; NFSv3 itself "
	    "does, at port %u",
	    t->host, RPCBIND_PORT, strerror(f->rpcbind_err), f->nfs_port);
	if (f->mount_err)
		advise(out,
		    "let TCP port %d through its firewall; or fix the port of "
		    "mountd there (port= below [mountd] in its /etc/nfs.conf) "
		    "and set nfs_port = %u and mount_port to that",
		    RPCBIND_PORT, f->nfs_port);
	else
		advise(out,
		    "set nfs_port = %u and mount_port = %u for it; or let TCP "
		    "port %d through its firewall",
		    f->nfs_port, f->mount_port, RPCBIND_PORT);
}

/* Writes "/a, /b", the first of them only, with long names cut. */
static void list_exports(const struct probe_facts *f, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < f->nexports && i < EXPORTS_SHOWN; i++)
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len,
			    "%s%.*s%s", i ? ", " : "", NAME_SHOWN,
			    f->exports[i],
			    strlen(f->exports[i]) > NAME_SHOWN ? "..." : "");
	if (f->exports_all > EXPORTS_SHOWN && len < size)
		snprintf(buf + len, size - len, ", ... (%llu in all)",
		    (unsigned long long)f->exports_all);
}

/* Whether `path` is an export, or lies below one, by the list of exports. */
static bool is_exported(const struct probe_facts *f, const char *path)
{
	for (unsigned i = 0; i < f->nexports; i++)
		if (ask_path_below(path, f->exports[i], strlen(f->exports[i])))
			return true;
	return false;
}

/* The server does not know the path, or does not export it. */
static void judge_export(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	char list[512];

	list_exports(f, list, sizeof(list));
	if (f->exports_err || f->nexports == 0)
		judge(out, PROBE_NO_EXPORT, "%s does not export %s%s", t->host,
		    t->path, f->exports_err ? "" : ", nor anything else");
	else
		judge(out, PROBE_NO_EXPORT, "%s %s %s; it exports %s", t->host,
		    is_exported(f, t->path) ? "has no directory"
					    : "does not export",
		    t->path, list);
	advise(out,
	    "name a path that it exports, or export %s there (/etc/exports, "
	    "then exportfs -r)",
	    t->path);
}

/* The path is exported, but not to this machine; or the server refuses the port
 * that this user could only come from, which proves nothing about root's
 * mounts. */
static void judge_denied(const struct probe_target *t,
    const struct probe_facts *f, struct probe_why *out)
{
	if (f->low_port) {
		judge(out, PROBE_DENIED,
		    "%s exports %s, but not to this machine", t->host, t->path);
		advise(out,
		    "add this machine's address to the line of %s in the "
		    "server's /etc/exports, then exportfs -r there",
		    t->path);
		return;
	}
	judge(out, PROBE_UNPRIVILEGED,
	    "%s denies %s to this user's probe; it comes from a port above "
	    "1023, which many servers refuse, so this says little",
	    t->host, t->path);
	advise(out, "run it as root (sudo)");
}

/* Judges the answer to MNT (RFC 1813 appendix I, section 5.2.1). Servers answer
 * MNT3ERR_ACCES both for a path that is not exported and for one that is not
 * exported to us; their list of exports tells which. */
static void judge_mnt(const struct probe_target *t, const struct probe_facts *f,
    struct probe_why *out)
{
	if (f->mnt_err == EACCES) {
		judge(out, PROBE_FLAVOR,
		    "%s refuses this user's credential (AUTH_SYS)", t->host);
		advise(out, "allow sec=sys there; forefetch supports no other");
	} else if (f->mnt_err) {
		judge(out, PROBE_NO_MOUNTD,
		    "the MOUNT service of %s failed to answer: %s", t->host,
		    strerror(f->mnt_err));
		advise(out, "see the log of rpc.mountd there");
	} else if (f->mnt_status == MNT3ERR_NOENT ||
		   f->mnt_status == MNT3ERR_NOTDIR ||
		   (f->mnt_status == MNT3ERR_ACCES && !f->exports_err &&
		       !is_exported(f, t->path))) {
		judge_export(t, f, out);
	} else if (f->mnt_status == MNT3ERR_ACCES ||
		   f->mnt_status == MNT3ERR_PERM) {
		judge_denied(t, f, out);
	} else if (f->mnt_status != MNT3_OK) {
		judge(out, PROBE_UNSURE,
		    "%s cannot mount %s (error %u of its MOUNT service)",
		    t->host, t->path, f->mnt_status);
		advise(out, "see the log of rpc.mountd there");
	} else if (!f->auth_sys) {
		judge(out, PROBE_FLAVOR,
		    "%s wants %s for %s, and forefetch supports sec=sys only",
		    t->host, f->flavors, t->path);
		advise(out,
		    "allow sec=sys there, or mount without forefetch: mount "
		    "-t nfs -o sec=krb5 %s:%s DIR",
		    t->host, t->path);
	}
}

/* That rpcbind failed counts only where its answer was needed. */
void probe_judge(const struct probe_target *t, const struct probe_facts *f,
    struct probe_why *out)
{
	*out = (struct probe_why){.cause = PROBE_WORKS};
	if (f->gai) {
		judge_name(t, f, out);
		return;
	}
	if (f->nfs_err == EPROTONOSUPPORT)
		judge_versions(t, f, out);
	else if (f->nfs_err)
		judge_reach(t, f, out);
	else if (f->rpcbind_err > 0 && (!t->nfs_port || !t->mount_port))
		judge_rpcbind(t, f, out);
	else if (f->mount_err)
		judge_mountd(t, f, out);
	else if (t->path)
		judge_mnt(t, f, out);
}
