/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A svc whose upstream is the test. Of upstream there is only what fetch uses
 * of it: the test is the server, and answers calls in the order it likes. The
 * link is a wireless one as the configuration has it, of which nothing has been
 * measured: at most three pieces of 16 KiB are under way.
 */
#ifndef FOREFETCH_TEST_PIECES_FIXTURE_H
#define FOREFETCH_TEST_PIECES_FIXTURE_H

#include "unittest.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "cache/learn_said.h"
#include "cache/caches.h"
#include "link/linkest.h"
#include "svc/svc.h"
#include "upstream/fetch.h"

enum {
	KIB = 1024,
	UNIT = 16 * KIB,
	UNDER_WAY = 3,
	ROOM = 2 << 20, /* for a reply */
};

/* ---- upstream --------------------------------------------------------- */

TAILQ_HEAD(calls, upstream_call);

struct upstream {
	struct calls calls; /* not answered, the oldest first */
	unsigned n;
};

struct upstream_call {
	TAILQ_ENTRY(upstream_call) link;
	struct upstream *up;
	const struct upstream_call_ops *ops;
	void *arg;
	const struct nfs_proc *proc;
	struct rpc_cred cred;
	struct xdr_view bytes; /* as they were given */
	union nfs_args args;
};

/* ---- clients ---------------------------------------------------------- */

struct client {
	struct svc_client svc;
	unsigned replies;
	unsigned char bytes[ROOM]; /* of the last reply, from its XID on */
	size_t len;
	size_t copied; /* of its payload */
	union nfs_res res;
};

/* ---- the world -------------------------------------------------------- */

enum { CLIENTS = 3 };

struct world {
	struct upstream up;
	struct rbuf_pool *pool;
	struct metrics *metrics;
	struct config_server config;
	struct caches *caches;
	struct linkest *link;
	struct fetch *fetch;
	struct svc *svc;
	struct client clients[CLIENTS];
	uint32_t xid;
	/* The server has the file in this length and version. */
	uint64_t size;
	uint32_t ctime;
	bool bare; /* it sends no attributes */
};

void svc_open(struct world *w);
/* The file has had this length all the time. */
void set_size(struct world *w, uint64_t size);
void setup(struct world *w);
void teardown(struct world *w);
uint64_t counted(const struct world *w, enum metrics_counter counter);
void ask(struct world *w, unsigned client, uint32_t proc,
    const union nfs_args *args);
void ask_read(struct world *w, unsigned client, const char *fh, uint64_t offset,
    uint32_t count);
struct upstream_call *call_at(struct world *w, unsigned i);
/* Not more than `most` bytes. */
void serve_short(struct world *w, struct upstream_call *call, uint32_t most);
void serve(struct world *w, unsigned i);
void serve_error(struct world *w, unsigned i, nfsstat3 status);
void serve_all(struct world *w);
void expect_call(struct world *w, unsigned i, const char *fh, uint64_t offset,
    uint32_t count);
void expect_data(struct world *w, unsigned client, uint64_t offset,
    uint32_t count, bool eof);
void expect_status(struct world *w, unsigned client, nfsstat3 status);
void expect_idle(struct world *w);

#endif
