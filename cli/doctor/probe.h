/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a server or an export of it cannot be mounted through forefetch, found
 * out without a daemon and without a mount: the server is asked directly.
 * `forefetch mount` calls probe_why() when a mount fails; doctor and `forefetch
 * probe` look at the facts (probe_private.h). */
#ifndef FOREFETCH_PROBE_H
#define FOREFETCH_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* The server, and perhaps the export, that is probed. The texts are the
 * caller's. */
struct probe_target {
	/* A name or an address, without brackets. */
	const char *host;
	/* The path of the export; NULL: the server alone. */
	const char *path;
	/* TCP ports; 0: its rpcbind is asked. */
	uint16_t nfs_port, mount_port;
	/* For how long it may be asked; 0: 18 s. */
	uint64_t limit_us;
};

/* Why it cannot be mounted; the first reason on the way there counts. */
enum probe_cause {
	PROBE_WORKS,
	PROBE_NO_NAME,      /* the name has no address, or nobody knows it */
	PROBE_NO_ROUTE,     /* the network says that it cannot be reached */
	PROBE_SILENT,       /* nothing answers: off, or a firewall drops it */
	PROBE_REFUSED,      /* the machine answers, but nothing listens */
	PROBE_RPCBIND,      /* rpcbind tells no ports, though NFSv3 is served */
	PROBE_V4_ONLY,      /* NFS, but not version 3 */
	PROBE_NOT_NFS,      /* something else listens at that port */
	PROBE_NO_MOUNTD,    /* no MOUNT service, or it does not answer */
	PROBE_NO_EXPORT,    /* no such path, or it is not exported */
	PROBE_DENIED,       /* exported, but not to this machine */
	PROBE_UNPRIVILEGED, /* denied to a port above 1023: run it as root */
	PROBE_FLAVOR,       /* wants Kerberos or TLS */
	PROBE_UNSURE,       /* anything else, as the sentence says */
};

/* The verdict, for a program and in words. */
struct probe_why {
	enum probe_cause cause;
	/* Without a full stop; empty: it works. Bytes of the server are in it:
	 * print it with ctl_put_bytes(). */
	char sentence[1024];
	/* The action that mends it, likewise; may be empty. */
	char remedy[512];
};

/* Asks the server, for as long as the target allows; one that works is known
 * within some round trips. Blocks. Nothing is printed, and nothing is changed
 * on the server. Without memory the cause is PROBE_UNSURE. */
void probe_why(const struct probe_target *target, struct probe_why *out);

#endif
