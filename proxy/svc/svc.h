/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service: requests of one server's clients, from a record to a reply.
 *
 *	conn ─ record ─▶ svc ─▶ duplicate request cache ─▶ a row per procedure
 *	                                                        │
 *	  ┌─────────────────────────────────────────────────────┤
 *	  ▼                                                     ▼
 *	cached: may the caches answer? ── MISS ──▶ join a call under way, else
 *	  │ HIT        ▲                           pieces, or one call ─▶ fetch
 *	  ▼            └── again ◀── learn ◀── reply ◀──────────────────────┘
 *	svc_reply ─▶ client;  then prefetch_observe()
 *
 * svc.c takes records and decides about copies, svc_rqst.c has the life of a
 * request, svc_answer.c the way to its answer, svc_reply.c the replies, doubt.c
 * what becomes of changes whose reply was lost (docs/CONTRACT.md), svc_waits.c
 * why requests wait. The folder may use prefetch, fetch, the caches and the
 * link; only daemon/ uses it.
 *
 * All of it runs on the event loop and must be called from there. Times are
 * microseconds of clock_now_us(), in which 0 stands for "never".
 */
#ifndef FOREFETCH_SVC_H
#define FOREFETCH_SVC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsproto/record.h"
#include "nfsproto/xdr_view.h"
#include "svc/waits.h"

struct caches;
struct config_server;
struct drc;
struct farm_server;
struct fetch;
struct linkest;
struct metrics;
struct prefetch;
struct svc;
struct svc_client;
struct svc_rqst;

struct svc_params {
	/* The caller's; svc_set_config() replaces it. */
	const struct config_server *config;
	struct metrics *metrics;
	struct fetch *fetch;
	/* Replies to changes; its file survives the daemon. */
	struct drc *drc;
	struct drc *write_drc; /* replies to WRITEs; in memory only */
	struct caches *caches;
	struct linkest *link;
	struct prefetch *prefetch; /* hears of each answered call */
	struct farm_server *farm;  /* NULL: none */
};

/* Makes the service of one server; `p` is copied, and what it points to must
 * outlive the service. NULL without memory. */
struct svc *svc_new(const struct svc_params *p);
/* Frees it; NULL is allowed. All clients must be gone, and the caller must
 * have called fetch_forget(). */
void svc_free(struct svc *svc);
/* Counts the requests whose client is gone while their call to the server still
 * runs, or while they are held in doubt. */
unsigned svc_orphans(const struct svc *svc);
/* Uses another configuration from now on; `config` must outlive the service.
 * The [export] sections are looked up anew. */
void svc_set_config(struct svc *svc, const struct config_server *config);
/* As exports_known(): whether the file system of the `i`th [export] section is
 * known. */
bool svc_export_known(const struct svc *svc, size_t i, const char **over);
/* The daemon calls this every second or so. It forgets changes in doubt that no
 * client has asked for again while the reply cache would have kept their
 * replies, looks again at others, and lets nobody wait for changes that get no
 * further. */
void svc_expire(struct svc *svc, uint64_t now_us);
/* Says that the server cannot be reached, or can again; the daemon does so only
 * where `offline = serve`. While it cannot, the service answers from whatever
 * is cached, has changes and COMMITs wait, and answers all other calls with an
 * error. When it begins, requests that wait already are answered so, too. */
void svc_set_offline(struct svc *svc, bool offline);
/* Returns when the request came in that has waited longest for the server; 0
 * where none waits. */
uint64_t svc_waiting_us(const struct svc *svc);
/* A socket could not read some bytes that it was to send, because the disk
 * under a mapping failed. If `data` lies in the cache's segments, the cache
 * forgets these bytes and all that lie beside them. Returns whether it was so.
 */
bool svc_data_fault(struct svc *svc, const void *data, size_t len);
/* Returns the age, in microseconds, of the oldest confirmation that an answer
 * rested on since the server was lost; 0 where none did. */
uint64_t svc_served_age_us(const struct svc *svc);

enum { SVC_CALLS_MAX = 64 };

/* A call of a client that waits for the server, for people to look at. Its
 * texts are static, or belong to the request and are good until the event loop
 * goes on. */
struct svc_call {
	const char *procedure;
	const char *waits_for; /* "reply", "confirmation", … */
	const char *cause;     /* waits_cause_name() */
	uint64_t age_us;
	uint32_t uid; /* svc_rqst_uid() */
	const char *client;
	uint64_t object;       /* fh_key() of its handle; 0: it has none */
	struct xdr_view entry; /* the name in it, or the path of a mount */
	uint64_t offset;       /* READ, WRITE; else 0 */
	uint32_t bytes;
};

/* Fills `rows` with the calls that have waited longest, the oldest first: those
 * of `uid`, or with 0 those of everybody. Returns how many there are.
 * `*omitted` gets how many other calls wait, whoever made them. */
size_t svc_list_calls(const struct svc *svc, uint32_t uid, uint64_t now_us,
    struct svc_call rows[SVC_CALLS_MAX], uint64_t *omitted);
/* Fills `rows` with who waited in the last WAITS_SPAN_S seconds and for what,
 * calls under way included; these count as waiting for a server that is `away`,
 * or else is slow. Returns how many rows there are; 0 without memory, too. */
size_t svc_list_waits(const struct svc *svc, bool away, uint64_t now_us,
    struct waits_row rows[WAITS_ACTORS]);

/* Whether READs of clients wait on this side for room on the link. */
bool svc_demand_waits(const struct svc *svc);

/* Operations of a client's connection (conn.c), which svc calls. */
struct svc_client_ops {
	/* Queues one record, as xprt_queue() does. */
	void (*send)(struct svc_client *c, const void *head, size_t head_len,
	    const struct rbuf_piece *pieces, unsigned n);
	/* A call was answered or dropped, so there may be room for others. */
	void (*done)(struct svc_client *c);
	/* The client speaks no RPC, or memory ran out: the callee closes it.
	 * `why` is static text for the log. */
	void (*reject)(struct svc_client *c, const char *why);
};

LIST_HEAD(svc_rqsts, svc_rqst);

/* How a client reacts when svc_create.c refuses its exclusive create. */
enum svc_exclusive {
	SVC_EXCLUSIVE_UNKNOWN,
	SVC_EXCLUSIVE_KEPT, /* it asks again for a guarded one */
	SVC_EXCLUSIVE_FORGOTTEN,
};

/* A client's connection as svc sees it; it lies in the connection's struct. */
struct svc_client {
	const struct svc_client_ops *ops;
	/* Of its address without the port, which changes when it connects
	 * again. */
	uint64_t address_hash;
	const char *name; /* for log lines */
	struct svc_rqsts rqsts;
	unsigned calls; /* calls that are not answered yet */
	size_t bytes;   /* bytes that these and their replies hold at most */
	/* The client waits for changes that svc_hold_changes() took from it, so
	 * that only calls on a new connection show which ones it still wants.
	 */
	bool must_ask;
	/* Its bit in struct node (svc_machine()); 0: not yet, or none. */
	uint16_t machine;
	/* Until then its address counts as new (svc_machines.c). */
	uint64_t new_until_us;
	enum svc_exclusive exclusive;
	/* The name of the exclusive create that was refused to it last, as a
	 * hash of directory and name (0: none), and when that was. */
	uint64_t refused;
	uint64_t refused_us;
};

/* Takes one record that came from the client: decodes it, answers it, or keeps
 * it as a request until it can be answered. `rec` is good for the length of the
 * call only. */
void svc_receive(
    struct svc *svc, struct svc_client *client, const struct record *rec);
/* The client's connection closed. Requests that were not sent are dropped,
 * changes too; those that were sent run their course as orphans. */
void svc_client_gone(struct svc *svc, struct svc_client *client);

/*
 * The server is back, and what waited for it is about to be sent. Of changes
 * that waited for more than two seconds nobody knows whether anybody still
 * waits for them: those that were not sent are dropped, the others held as if
 * their client were gone, and `must_ask` is set in the client.
 */
void svc_hold_changes(struct svc *svc, uint64_t now_us);

/* Whether cached answers go out unconfirmed, since the server is away. */
bool svc_offline(const struct svc *svc);

#endif
