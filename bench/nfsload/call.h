/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One remote procedure call: what is asked, and what came of it. Only
 * call.c and connection.c include libnfs.
 */
#ifndef NFSLOAD_CALL_H
#define NFSLOAD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* NFSv3 (RFC 1813) unless said otherwise. The first ones are measured. */
enum call_op {
	CALL_NULL,
	CALL_GETATTR,
	CALL_LOOKUP,
	CALL_ACCESS,
	CALL_READ,
	CALL_WRITE,
	CALL_READDIR,
	CALL_READDIRPLUS,
	CALL_CREATE,
	CALL_MEASURED, /* how many are measured; the rest is set-up */
	CALL_MKDIR = CALL_MEASURED,
	CALL_REMOVE,
	CALL_RMDIR,
	CALL_FSINFO,
	CALL_MNT,     /* MOUNT version 3 */
	CALL_GETPORT, /* portmap version 2 */
};

enum call_result {
	CALL_OK,
	CALL_STATUS,  /* the server refused; `status` says why */
	CALL_DENIED,  /* refused below NFS: credential, program, arguments */
	CALL_BAD,     /* the reply makes no sense */
	CALL_CORRUPT, /* READ returned other bytes than were written */
	CALL_TIMEOUT, /* no reply in time */
	CALL_LOST,    /* the connection ended first */
};

#define FHANDLE_MAX 64 /* NFS3_FHSIZE */

/* nfsstat3 that need a treatment of their own. */
#define STATUS_PERM    1
#define STATUS_NOENT   2
#define STATUS_ACCES   13
#define STATUS_JUKEBOX 10008

struct fhandle {
	uint32_t len;
	char data[FHANDLE_MAX];
};

struct rpc_context;
struct connection;

struct call {
	/* asked */
	enum call_op op;
	const struct fhandle *fh; /* the object, or the directory of `name` */
	const char *name;         /* or the path of MNT */
	uint64_t offset;
	uint32_t count;      /* bytes; GETPORT: program */
	uint32_t version;    /* GETPORT */
	const void *content; /* WRITE: sent. READ: expected, or NULL */
	bool stable;         /* WRITE: FILE_SYNC, else UNSTABLE */
	void (*done)(struct call *call);
	void *owner;
	uint32_t item; /* the owner's */

	/* answered */
	enum call_result result;
	uint32_t status;      /* nfsstat3 or mountstat3 */
	uint32_t value;       /* bytes read or written, rtmax, or port */
	uint32_t value2;      /* FSINFO: wtmax */
	struct fhandle found; /* LOOKUP, CREATE, MKDIR, MNT */
	uint64_t sent_ns, done_ns;
	char text[96]; /* DENIED, BAD, CORRUPT, LOST: the reason */

	/* the connection's */
	struct connection *via;
	void (*finish)(struct call *call);
	TAILQ_ENTRY(call) link;
};

/* "getattr"; the name that --op takes. */
const char *call_op_name(enum call_op op);

/* The measured procedure of that name, or CALL_MEASURED. */
enum call_op call_op_parse(const char *name, size_t len);

/*
 * Queue a call on a context. `finish` is called exactly once, from within
 * libnfs, with the answer filled in, unless -EIO or -ENOMEM is returned.
 */
int call_queue(struct call *call, struct rpc_context *rpc);

/* Writes into `buf` why the call failed, in words for a person. */
void call_explain(const struct call *call, char *buf, size_t size);

#endif
