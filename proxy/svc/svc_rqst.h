/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to svc/: one request, and what the files of the folder do with it.
 *
 *	svc_receive() ─▶ row->call ─▶ answered: svc_reply_*() ends it
 *	                   ▲      └─▶ it waits (enum svc_wait)
 *	                   │             │
 *	                   └─ svc_rqst_retry(): what it waited for has come
 *
 * A request ends with its reply, or without one when its client is gone.
 *
 * A request owns its bytes: a record up to 1 KiB is copied into `small`, so
 * that it keeps no large buffer; a larger one is held (`hold`). `args` and
 * `call` are views into one or the other, and the call to the server points to
 * them. So a request must outlive its call:
 * - one whose client is gone, and whose call was sent or is waited for by
 *   others, is an orphan until its reply has come;
 * - of several requests that wait for one flight, the first one keeps what the
 *   flight points to: it is told last, and cannot leave while others wait.
 * Replies leave in the order in which they complete.
 */
#ifndef FOREFETCH_SVC_RQST_H
#define FOREFETCH_SVC_RQST_H

#include "base/uint.h"
#include "base/log.h"
#include "base/metrics.h"
#include "datacache/datacache.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/rpc_msg.h"
#include "svc/cached.h"
#include "svc/drc.h"
#include "svc/svc.h"
#include "svc/waits.h"
#include "upstream/fetch.h"

struct look;
struct learn;
struct svc_order;
struct svc_split;

enum {
	/* A record up to this size is copied, so that it does not keep a
	 * large buffer; also the room for edited arguments. */
	SVC_SMALL_BYTES = 1024,
	/* Two names, with their directories and objects, and all of it. */
	SVC_ORDER_KEYS = 7,
};

/* A machine that has a bit in struct node. */
struct svc_machine {
	uint64_t address_hash;
	unsigned connections;
	uint64_t new_until_us; /* as in struct svc_client */
	uint64_t gone_us; /* when it had one last; 0: the bit is nobody's */
};

struct svc {
	struct svc_params p;
	struct svc_rqsts orphans; /* their clients are gone */
	struct svc_rqsts waiting; /* for the server */
	unsigned norphans;
	struct exports *exports;
	struct svc_pieces *pieces;
	struct waits *waits; /* NULL without memory */
	struct svc_order *order;
	struct svc_machine machines[NODE_MACHINES]; /* by bit */
	uint16_t lost_machines; /* bits of those without a connection */
	/* When a machine was last told that a handle is stale, by its bit;
	 * first of all those that have none. */
	uint64_t stale_us[1 + NODE_MACHINES];
	uint64_t received;     /* requests, until now */
	uint64_t upload_bytes; /* arguments of those that wait */
	bool offline;
	uint64_t served_age_us;
	uint64_t served_us; /* when the caches last answered while offline */
	struct log_limit bad_call;
	struct log_limit bad_reply;
	struct log_limit refused;
	struct log_limit put_off;
	struct log_limit doubt;
	struct log_limit crowded;
};

/* The event that a request waits for. */
enum svc_wait {
	SVC_WAIT_NONE,
	SVC_WAIT_REPLY,  /* the server's, to its call as it is */
	SVC_WAIT_ASKED,  /* the server's, to a call that it made necessary */
	SVC_WAIT_PIECES, /* the pieces of its data, or of the end of that */
	SVC_WAIT_JOINED, /* a call that was under way already */
	SVC_WAIT_CHANGE, /* a change that its client had sent before */
	SVC_WAIT_DISK,   /* the cache's */
	SVC_WAIT_LOOK,   /* doubt.c, before its change is repeated */
	SVC_WAIT_CLIENT, /* its client, with a change in doubt */
	SVC_WAIT_END,    /* a WRITE whose client is gone: to be over */
};

/* Things that were tried for a request: once is enough. */
enum svc_tried {
	SVC_TRIED_SERVER = 1,  /* the server was asked for what it wants */
	SVC_TRIED_CONFIRM = 2, /* attributes and rights were asked for */
	SVC_TRIED_REST = 4,    /* the end of its data was asked for */
	SVC_TRIED_PIECES = 8,  /* a READ in pieces did not fit */
	SVC_TRIED_WAIT = 16,   /* it was not answered at once */
	SVC_TRIED_FARM = 32,   /* other machines' farm was asked */
	SVC_TRIED_ORDER = 64,  /* it waited for a change */
	SVC_TRIED_EARLY = 128, /* it waited for a change that might come: its
				  directory was asked for */
};

/* Something that a change touches. */
struct svc_order_key {
	LIST_ENTRY(svc_order_key) link;
	uint64_t key;
	struct svc_rqst *rqst;
};

LIST_HEAD(svc_order_keys, svc_order_key);

/* A change's place in svc_order.c; all 0 for other requests. */
struct svc_ordered {
	struct svc_order_key keys[SVC_ORDER_KEYS];
	unsigned n;  /* keys; 0: it has none */
	bool waited; /* somebody waited for it */
	LIST_ENTRY(svc_rqst) waited_link;
	struct fetch_watches behind; /* those that still wait */
};

struct svc_rqst {
	struct svc *svc;
	struct svc_client *client;      /* NULL once it is gone */
	LIST_ENTRY(svc_rqst) link;      /* in the client's, or svc's, list */
	LIST_ENTRY(svc_rqst) wait_link; /* while it waits for the server */
	struct rpc_call call;
	struct rpc_auth_sys auth; /* where call.cred is AUTH_SYS */
	const struct nfs_proc *proc;
	const struct svc_proc *row;
	union nfs_args args; /* views into the record */
	struct rbuf *hold;   /* keeps the record; NULL where it was copied */
	struct drc_entry *drc;
	struct drc_object object; /* of a change, when it was first sent */
	enum svc_wait wait;
	unsigned tried;               /* enum svc_tried */
	struct fetch_waiter waiter;   /* REPLY, ASKED; LOOK, CLIENT: held */
	struct svc_split *split;      /* PIECES */
	struct fetch_watch watch;     /* JOINED, CHANGE */
	struct datacache_waiter disk; /* DISK */
	struct look *look;            /* LOOK */
	uint64_t held_us;             /* CLIENT: since when */
	uint32_t cred_id;             /* caches_cred() */
	struct machine machine;       /* svc_machine() */
	uint32_t have;                /* bytes of a READ that are there */
	nfsstat3 status;              /* that it was answered */
	uint8_t joins;                /* calls that were watched */
	uint8_t turns;                /* how often it had to wait */
	uint8_t cause;                /* enum waits_cause */
	bool away;                    /* a call for it was sent again */
	uint32_t ahead_bytes;         /* on the link, when it began to wait */
	size_t charge_bytes;
	uint64_t received_us;
	uint64_t number; /* of all requests, in the order in which they came */
	uint64_t asked_us; /* as received_us, of the last copy */
	uint64_t now_us;   /* when its row was last called */
	struct svc_ordered order;
	/* Copy of a small record, or of edited arguments. */
	_Alignas(8) unsigned char small[];
};

/* A procedure's row: what to do with a call, and with its results. */
struct svc_proc {
	/* Begin, and after each wait try again. It ends the request, or has
	 * it wait: svc_forward(), svc_answer(), or the procedure's own. */
	void (*call)(struct svc_rqst *rqst);
	/* For svc_answer(): ask the caches, count that, */
	enum cached_verdict (*cached)(
	    const struct cached_call *call, struct cached_answer *a);
	enum metrics_counter hits, misses;
	/* and ask the server; NULL: svc_forward(). */
	void (*forward)(struct svc_rqst *rqst);
	/* Change good results on their way to the client; true where they
	 * were changed. NULL: never. */
	bool (*edit)(struct svc_rqst *rqst, union nfs_res *res);
};

/* Rows of each program, by procedure number. */
extern const struct svc_proc nfs3_rows[];
extern const struct svc_proc mount3_rows[];
extern const struct svc_proc nfsacl3_rows[];

/* ---- svc_rqst.c: the life of a request --------------------------------- */

/* NULL without memory. */
struct svc_rqst *svc_rqst_new(
    struct svc *svc, struct svc_client *client, const struct record *rec);
/* It is over, answered or not. */
void svc_rqst_end(struct svc_rqst *rqst);
/* It is over, and its client is not to hear of it. */
void svc_rqst_drop(struct svc_rqst *rqst);
/* The bytes that it keeps are so many more. */
void svc_rqst_charge(struct svc_rqst *rqst, size_t bytes);
/* Its client has another connection now; NULL: is gone. */
void svc_rqst_move(struct svc_rqst *rqst, struct svc_client *client);
/* It waits from now on; for NONE: no longer. */
void svc_rqst_wait(struct svc_rqst *rqst, enum svc_wait wait);
/* Have it wait no longer; false where that cannot be, since a call is on its
 * way, or a change is in doubt. */
bool svc_rqst_stop(struct svc_rqst *rqst);
/* A change: so long after its client asked for it, nobody may wait for it. */
bool svc_rqst_late(const struct svc_rqst *rqst, uint64_t now_us);
/* Go on as if its client were gone, and have that ask again. */
void svc_rqst_unhand(struct svc_rqst *rqst);
/* Try its row again; without a client, it is over. */
void svc_rqst_retry(struct svc_rqst *rqst);
/* The cache that knows copies of the call. */
struct drc *svc_rqst_cache(const struct svc_rqst *rqst);
/* Has the duplicate request cache forget the call: its reply says nothing about
 * its effect, so it may be repeated. */
void svc_rqst_forget(struct svc_rqst *rqst);
/* Fills in the request's part of what the caches learn from a reply, or from
 * its absence. */
void svc_rqst_learn(const struct svc_rqst *rqst, struct learn *l);
/* A change, sent at `sent_us`, whose effect is not known. */
void svc_rqst_unknown(struct svc_rqst *rqst, uint64_t sent_us);
/* Who asks by it. */
struct asker svc_asker(const struct svc_rqst *rqst);

/* The request that a waiter lies in. */
static inline struct svc_rqst *svc_waiter_rqst(struct fetch_waiter *w)
{
	return container_of(w, struct svc_rqst, waiter);
}

/* ---- svc_answer.c: the way to the answer ------------------------------- */

/* From the caches, if they may answer, or else from the server. */
void svc_answer(struct svc_rqst *rqst);
/* From the server. */
void svc_forward(struct svc_rqst *rqst);
/* The same with arguments that differ from those that came. */
void svc_forward_args(struct svc_rqst *rqst, const union nfs_args *args);
/* Ask for the attributes of the object that stands first in its arguments; then
 * its row is tried again, with SVC_TRIED_CONFIRM. */
void svc_ask_attributes(struct svc_rqst *rqst);
/* An answer rested on a confirmation of then. */
void svc_served(struct svc *svc, uint64_t sent_us, uint64_t now_us);
/* Whether it waits for the server even while that is away. */
bool svc_is_patient(const struct svc_rqst *rqst);

/* ---- svc_create.c: CREATE ------------------------------------------------ */

void svc_create_file(struct svc_rqst *rqst);

/* ---- svc_machines.c: whose bit of struct node is whose ------------------- */

/* Whose call it is; no machine's, where others have all bits. */
struct machine svc_machine(
    struct svc *svc, struct svc_client *client, uint64_t now_us);
/* Its connection closes. */
void svc_machine_leave(
    struct svc *svc, struct svc_client *client, uint64_t now_us);

static inline bool svc_is_stale(nfsstat3 status)
{
	return status == NFS3ERR_STALE || status == NFS3ERR_BADHANDLE;
}

/* It is told that a handle is stale. */
void svc_machine_stale(struct svc *svc, struct machine m, uint64_t now_us);
/* When it was last told so before a request that came at `received_us`; 0:
 * never. */
uint64_t svc_machine_stale_us(
    const struct svc *svc, struct machine m, uint64_t received_us);

/* ---- svc_write.c: WRITE -------------------------------------------------- */

void svc_write(struct svc_rqst *rqst);

/* ---- svc_join.c: wait for calls under way, most likely fetched ahead, from
 * whose answers this request can be answered; false where there is none. --- */

bool svc_join(struct svc_rqst *rqst);
/* Have the farm bring what is missing, from `have` bytes on, and wait for
 * that. */
bool svc_join_farm(struct svc_rqst *rqst);
/* The same where the first `have` bytes of a READ are there. */
bool svc_join_rest(struct svc_rqst *rqst);
/* The same where the request waits only for a confirmation of its object. */
bool svc_join_confirm(struct svc_rqst *rqst);

/* ---- svc_order.c: one client's calls in their order ---------------------- */

/* NULL without memory. */
struct svc_order *svc_order_new(void);
void svc_order_free(struct svc_order *o); /* NULL is allowed */
/* A change is about to be sent; what its client sends from now on comes behind
 * it. */
void svc_order_enter(struct svc_rqst *rqst);
/* It is over, if it ever entered. Those that wait for it go to `*behind`; when
 * the caches know of it, they are to be told by fetch_ring(). */
void svc_order_leave(struct svc_rqst *rqst, struct fetch_watches *behind);
/* How the caches may take part in answering a request. */
enum svc_order_verdict {
	SVC_ORDER_FREE, /* they may answer it */
	SVC_ORDER_WAIT, /* nothing: it waits for a change */
	SVC_ORDER_ASK,  /* nothing: the server has to be asked, behind one */
};

/* Whether a change of its client's that came before it touches what it is
 * about. */
enum svc_order_verdict svc_order_look(struct svc_rqst *rqst);
/* Whether it looks at a directory where a change may be about to come that its
 * client counts as made: then the directory is confirmed, and the request is
 * taken as having come when that is answered. */
bool svc_order_is_early(struct svc_rqst *rqst);
/* The call that the request must be sent behind if the server is asked; NULL:
 * none. */
const struct upstream_call *svc_order_behind(const struct svc_rqst *rqst);
/* Such a change may touch attributes that come along with what was asked for.
 * They are left out of a LOOKUP's results, which come from the caches; and, by
 * this function of cached_call, of a READDIRPLUS's. */
void svc_order_edit(const struct svc_rqst *rqst, union nfs_res *res);
bool svc_order_hides(const void *rqst, const struct node *node);
/* To be called every second or so: nobody waits for changes that get no
 * further. */
void svc_order_expire(struct svc *svc, uint64_t now_us);

/* ---- svc_waits.c: why requests wait, and for how long ------------------- */

/* The caches cannot answer it at once. */
void svc_waits_why(struct svc_rqst *rqst, enum cached_verdict verdict);
/* It waits, perhaps not for the first time. */
void svc_waits_begin(struct svc_rqst *rqst, enum svc_wait wait);
/* A reply of the server has come for it. */
void svc_waits_sent(struct svc_rqst *rqst, const struct upstream_result *up);
/* Its struct is about to go. */
void svc_waits_over(const struct svc_rqst *rqst);
/* It is answered, by so many bytes. */
void svc_waits_end(struct svc_rqst *rqst, uint64_t waited_us, uint64_t bytes);
/* Whose it is; UINT32_MAX - 1 without AUTH_SYS (UINT32_MAX means "no single
 * user" to prefetch). */
static inline uint32_t svc_rqst_uid(const struct svc_rqst *rqst)
{
	return rqst->call.cred.flavor == AUTH_SYS ? rqst->auth.uid
						  : UINT32_MAX - 1;
}

/* ---- svc_reply.c: what the client is answered; each ends the request ---- */
/* The server is about to be asked for it, or only to confirm its object:
 * prefetch_begins(). Ends nothing. */
void svc_rqst_begins(const struct svc_rqst *rqst, bool confirms);

/* The server's answer, for fetch. */
extern const struct fetch_ops svc_reply_ops;
void svc_reply_result(struct svc_rqst *rqst, const union nfs_res *res);
/* A READ's results, whose data lies in pieces. */
void svc_reply_pieces(struct svc_rqst *rqst, const union nfs_res *res,
    const struct rbuf_piece *pieces, unsigned n);
void svc_reply_status(struct svc_rqst *rqst, nfsstat3 status);
void svc_reply_accepted(struct svc_rqst *rqst, enum accept_stat stat);
void svc_reply_auth_error(struct svc_rqst *rqst, enum auth_stat why);
void svc_reply_mismatch(struct svc_rqst *rqst);
/*
 * A reply whose bytes behind the XID are `data`, which is kept for copies of
 * the call. `hold` as in xprt_queue().
 */
void svc_reply_bytes(struct svc_rqst *rqst, const void *data, size_t len,
    struct rbuf *hold, bool error);

#endif
