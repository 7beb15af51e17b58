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
 * why requests wait. The folder
 * may use prefetch, fetch, the caches and the link; only daemon/ uses it.
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
	const struct config_server *config; /* see svc_set_config() */
	struct metrics *metrics;
	struct fetch *fetch;
	struct drc *drc;       /* of changes; survives the daemon */
	struct drc *write_drc; /* of WRITEs; in memory */
	struct caches *caches;
	struct linkest *link;
	struct prefetch *prefetch; /* hears of what was answered */
	struct farm_server *farm;  /* NULL: none */
};

struct svc *svc_new(const struct svc_params *p);
/* All clients must be gone; calls still in flight are forgotten. */
void svc_free(struct svc *svc);
/* Changes that run their course though their clients are gone. */
unsigned svc_orphans(const struct svc *svc);
void svc_set_config(struct svc *svc, const struct config_server *config);
/* As exports_known(). */
bool svc_export_known(const struct svc *svc, size_t i, const char **over);
/* To be called now and then. Forget changes in doubt that no client has asked
 * for again while the reply cache would have kept their replies. */
void svc_expire(struct svc *svc, uint64_t now_us);
/* The server cannot be reached, or can again. Where `offline = serve`, what is
 * cached is an answer then, and all else but changes an error: also to those
 * that wait. */
void svc_set_offline(struct svc *svc, bool offline);
/* When the request came in that has waited longest for the server; 0: none
 * waits. */
uint64_t svc_waiting_us(const struct svc *svc);
/* Some of what was being sent could not be read. If these bytes, they are of
 * the cache's disk, and are forgotten with all that lies beside them. */
bool svc_data_fault(struct svc *svc, const void *data, size_t len);
/* Age of the oldest confirmation that an answer rested on since the server
 * was lost; 0: none did. */
uint64_t svc_served_age_us(const struct svc *svc);

enum { SVC_CALLS_MAX = 64 };

/* A call of a client that waits for the server. Texts are its own, and good
 * until the event loop goes on, or static. */
struct svc_call {
	const char *procedure;
	const char *waits_for; /* "reply", "confirmation", … */
	const char *cause;     /* waits_cause_name() */
	uint64_t age_us;
	uint32_t uid; /* UINT32_MAX - 1 without one */
	const char *client;
	uint64_t object;       /* fh_key() of its handle; 0: it has none */
	struct xdr_view entry; /* the name in it, or the path of a mount */
	uint64_t offset;       /* READ, WRITE; else 0 */
	uint32_t bytes;
};

/* The calls of `uid`, or with 0 of all, that have waited longest, the oldest
 * first; `omitted`: how many others wait. */
size_t svc_list_calls(const struct svc *svc, uint32_t uid, uint64_t now_us,
    struct svc_call rows[SVC_CALLS_MAX], uint64_t *omitted);
/* Who waited in the last seconds and for what, calls under way included; these
 * wait for a server that is `away`, or else slow. */
size_t svc_list_waits(const struct svc *svc, bool away, uint64_t now_us,
    struct waits_row rows[WAITS_ACTORS]);

/* Clients' READs wait for room on the link. */
bool svc_demand_waits(const struct svc *svc);

/* Operations of a client's connection that svc calls. */
struct svc_client_ops {
	/* As xprt_queue(). */
	void (*send)(struct svc_client *c, const void *head, size_t head_len,
	    const struct rbuf_piece *pieces, unsigned n);
	/* A call was answered or dropped: there is room for others. */
	void (*done)(struct svc_client *c);
	/* It speaks no RPC: close it. */
	void (*reject)(struct svc_client *c, const char *why);
};

LIST_HEAD(svc_rqsts, svc_rqst);

/* How a client reacts when an exclusive create is refused (svc_create.c). */
enum svc_exclusive {
	SVC_EXCLUSIVE_UNKNOWN,
	SVC_EXCLUSIVE_KEPT, /* it asks for a guarded one */
	SVC_EXCLUSIVE_FORGOTTEN,
};

/* A client's connection as svc sees it; lies in its conn. */
struct svc_client {
	const struct svc_client_ops *ops;
	uint64_t address_hash; /* of the address without the port */
	const char *name;      /* for log lines */
	struct svc_rqsts rqsts;
	unsigned calls;   /* not answered yet */
	size_t bytes;     /* that they and their replies hold at most */
	bool must_ask;    /* only another connection shows what it waits for */
	uint16_t machine; /* its bit (svc_machine()); 0: not yet, or none */
	uint64_t new_until_us; /* so long its address counts as new */
	enum svc_exclusive exclusive;
	uint64_t refused; /* an exclusive create of that name; 0: none */
	uint64_t refused_us;
};

/* One record came from a client. */
void svc_receive(
    struct svc *svc, struct svc_client *client, const struct record *rec);
/* The client's connection closed: changes not sent yet are dropped. */
void svc_client_gone(struct svc *svc, struct svc_client *client);

/*
 * The server is back, and what waited for it is about to be sent. Of changes
 * that waited for long nobody knows whether anybody still waits for them: those
 * that were not sent are dropped, the others held as if their client were gone,
 * and `must_ask` is set in the client.
 */
void svc_hold_changes(struct svc *svc, uint64_t now_us);

/* Whether cached answers go out unconfirmed, since the server is away. */
bool svc_offline(const struct svc *svc);

#endif
