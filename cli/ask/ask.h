/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ONC RPC server asked over TCP, one connection at a time: it blocks, and
 * every step has a time-out. For the program `forefetch`, never for the daemon.
 *
 * It uses the codecs of the daemon (nfsproto/), which check every length, and
 * which keep what a diagnosis needs: the versions of a PROG_MISMATCH, the
 * reason of a refused credential. libnfs 4.0.0 gives both as a sentence, and
 * connects again and again by itself.
 *
 * Results are 0 or an errno. Of a connection: ECONNREFUSED, ETIMEDOUT,
 * EHOSTUNREACH, ENETUNREACH, ECONNRESET (it was closed), EPROTO (what came is
 * no RPC). Of a call, too: EPROTONOSUPPORT (no such program or version),
 * EACCES (the credential was refused), EOPNOTSUPP (no such procedure).
 */
#ifndef FOREFETCH_ASK_H
#define FOREFETCH_ASK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nfsproto/nfs_proc.h"
#include "nfsproto/rpc_msg.h"

enum {
	ASK_CONNECT_US = 3000000, /* for a connection */
	ASK_CALL_US = 4000000,    /* for the next reply */
};

struct ask;

/* Connects to `port` (host order) of the host `to`, but not beyond `until_us`
 * of clock_now_us(). Root comes from a port below 1024. To be freed by
 * ask_close(); NULL, and an errno in `*err`. */
struct ask *ask_open(
    const struct sockaddr *to, uint16_t port, uint64_t until_us, int *err);
/* Closes the connection. NULL is allowed. */
void ask_close(struct ask *a);

/* Replies may take as long as `until_us` allows, not ASK_CALL_US. */
void ask_wait_long(struct ask *a);
/* The port that the connection comes from; 0 where the system does not say. */
uint16_t ask_source_port(const struct ask *a);
/* Why root got none below 1024, an errno: EADDRINUSE where all are taken. 0: it
 * got one, or somebody else runs this. */
int ask_port_error(const struct ask *a);

/*
 * Send a call, and take the next reply, whichever call it answers; its body is
 * valid until the next one is taken. Calls are numbered from 1.
 */
int ask_send(struct ask *a, uint32_t prog, uint32_t vers, uint32_t proc,
    const void *args, size_t len);
int ask_receive(struct ask *a, struct rpc_reply *reply);
/* Sends a call and takes its reply; EPROTO where the reply belongs to another
 * call. `args` are encoded already, `len` bytes of them. */
int ask_call(struct ask *a, uint32_t prog, uint32_t vers, uint32_t proc,
    const void *args, size_t len, struct rpc_reply *reply);
/* The errno of a reply, 0 where it has results. */
int ask_reply_error(const struct rpc_reply *reply);

/*
 * A call of a procedure of nfs_proc.h; EPROTO for results that are malformed,
 * or are not what was asked. Views in them are valid until the next reply.
 */
int ask_proc(struct ask *a, uint32_t prog, uint32_t proc,
    const union nfs_args *args, union nfs_res *res);
/* The two halves of ask_proc(), for several calls at once: the first only sends
 * such a call, the second takes its results from a reply. `args` NULL: it has
 * none. */
int ask_proc_send(
    struct ask *a, uint32_t prog, uint32_t proc, const union nfs_args *args);
int ask_proc_results(uint32_t prog, uint32_t proc, const union nfs_args *args,
    const struct rpc_reply *reply, union nfs_res *res);

/* Whether `path` is the export of that name, or lies below it. */
bool ask_path_below(const char *path, const char *export, size_t len);

#endif
