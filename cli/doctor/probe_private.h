/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a probe. Each step fills its part, and does not run where an
 * earlier one failed that it needs; probe_judge() and probe_report() look at
 * nothing but the facts.
 *
 *	probe_name ─▶ probe_reach ─▶ probe_mount ─▶ probe_files, probe_clock
 */
#ifndef FOREFETCH_PROBE_PRIVATE_H
#define FOREFETCH_PROBE_PRIVATE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "ask/ask.h"
#include "doctor/probe.h"

enum {
	/* A probe is over after so long, whatever it has found by then. */
	PROBE_TOTAL_US = 18000000,
	/* The resolver is given so much of that. */
	PROBE_NAME_US = 5000000,
	/* Of a host's addresses, only the first ones are tried. */
	PROBE_ADDRESSES_MAX = 3,
	/* Of a server's exports, only the first ones are kept. */
	PROBE_EXPORTS_MAX = 256,
	/* The round trip is measured by so many NULL calls. */
	PROBE_NULLS = 5,
	PROBE_DATA_MAX = 4096,
	/* Stands in the place of an errno. */
	PROBE_NOT_TRIED = -1,
	NFS_PORT = 2049,
	MOUNTD_PORT = 20048, /* as IANA has it; knfsd's takes any */
	NFSACL_PROG = 100227,
};

/* A program as rpcbind knows it. */
struct probe_reg {
	bool there;
	uint16_t port; /* over TCP */
};

/* All that a probe found out. Errors are 0, an errno of ask.h, or
 * PROBE_NOT_TRIED; times are in microseconds. Zeros, until probe_run()
 * begins. */
struct probe_facts {
	/* When the probe ends, by clock_now_us(). */
	uint64_t until_us;
	/* The name. */
	int gai; /* of getaddrinfo(3); EAI_AGAIN if it took too long */
	uint64_t name_us;
	struct sockaddr_storage addr[PROBE_ADDRESSES_MAX];
	unsigned naddr;
	/* The address that was asked. */
	unsigned at;
	/* rpcbind: an errno, and what is registered. */
	int rpcbind_err;
	struct probe_reg nfs3, nfs4, mount3, acl3;
	/* NFS: the NULL procedures of versions 3 and 4. */
	uint16_t nfs_port;
	int nfs_err; /* of the connection, or of version 3 */
	int nfs4_err;
	/* The versions that are there instead of 3; 0: the server did not
	 * say. */
	uint32_t low, high;
	bool connected;
	bool low_port;               /* asked from a port below 1024 */
	uint64_t rtt_min_us, rtt_us; /* least and median; 0: unknown */
	int acl_err;
	/* MOUNT. */
	uint16_t mount_port; /* 0: not found */
	int mount_err;
	int exports_err;
	char *exports[PROBE_EXPORTS_MAX];
	unsigned nexports;
	uint64_t exports_all; /* how many it told */
	int mnt_err;
	uint32_t mnt_status; /* mountstat3 */
	bool auth_sys;       /* among the flavors, or there were none */
	char flavors[64];    /* for people */
	/* The file system. */
	unsigned char fh[NFS3_FHSIZE_MAX];
	uint32_t fh_len; /* 0: none */
	int fsinfo_err, fsstat_err, pathconf_err, access_err, list_err;
	/* nfsstat3; where the errno is 0 */
	uint32_t fsinfo_status, fsstat_status, pathconf_status, access_status,
	    list_status, read_status;
	FSINFO3resok fsinfo;
	FSSTAT3resok fsstat;
	PATHCONF3resok pathconf;
	uint32_t access; /* granted to who asks, of the root directory */
	fattr3 root;     /* its attributes, where `has_root` */
	bool has_root;
	/* Entries of directories that were looked at. */
	unsigned entries;
	/* A time stamp among them was no whole second. */
	bool fine;
	/* Whether root here is root there, where that was to be seen. */
	enum probe_squash {
		PROBE_SQUASH_UNKNOWN,
		PROBE_SQUASH_NO,
		PROBE_SQUASH_MAYBE, /* or the export is read-only */
		PROBE_SQUASH_YES,
	} squash;
	/* A file that was read. */
	int read_err;
	unsigned char file_fh[NFS3_FHSIZE_MAX];
	uint32_t file_fh_len; /* 0: none was found */
	char file[NFS3_NAME_MAX + 1];
	uint64_t file_size;
	unsigned char data[PROBE_DATA_MAX]; /* its first bytes */
	uint32_t data_len;
	uint64_t rate_bytes; /* read to measure */
	/* How long that took, without a round trip. */
	uint64_t rate_us;
	bool rate_bound; /* it may be more */
	/* Clocks: the server's minus ours. */
	bool clock_known;
	int64_t clock_us;
	/* How the difference was found out, for people. */
	const char *clock_by;
	bool future;       /* something there was changed after now */
	int64_t future_us; /* how long after */
	int write_err;     /* of the trial in a directory */
	uint32_t write_status;
	const char *write_step; /* that failed; NULL: none */
};

/* Finds addresses of the target. */
void probe_name(const struct probe_target *t, struct probe_facts *f);
/* Ask rpcbind, NFS and MOUNT. */
void probe_reach(const struct probe_target *t, struct probe_facts *f);
/* Asks MOUNT for its exports, and for the handle of the path, if there is
 * one. */
void probe_mount(const struct probe_target *t, struct probe_facts *f);
/* Asks MNT of another path of the same server. */
void probe_mnt(const struct probe_target *t, struct probe_facts *f);
/* Asks for limits, rights, a listing, a READ and the rate, if there is a
 * handle. */
void probe_files(struct probe_facts *f);
/* The difference of the clocks, by ICMP where that is permitted. */
void probe_clock(struct probe_facts *f);
/* Finds it by a file that is made in `dir`, below the export, and removed. */
void probe_write(struct probe_facts *f, const char *dir);

/* All but the last. NULL without memory; to be freed with probe_facts_free(),
 * which takes NULL. */
struct probe_facts *probe_run(const struct probe_target *t);
void probe_facts_free(struct probe_facts *f);

/* A connection to the NFS port that was found; NULL, and an errno in `*err`. */
struct ask *probe_open_nfs(const struct probe_facts *f, int *err);
/* The address that was asked last; it points into `f`. */
const struct sockaddr *probe_addr(const struct probe_facts *f);
/* "192.0.2.7", in `buf`, which is returned. */
const char *probe_addr_text(
    const struct sockaddr_storage *ss, char *buf, size_t size);

/* Says in `out` why the target cannot be mounted, by the facts alone. */
void probe_judge(const struct probe_target *t, const struct probe_facts *f,
    struct probe_why *out);

#endif
