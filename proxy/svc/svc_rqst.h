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
	/* Bytes of a record that is copied, so that it does not keep a large
	 * buffer; also the room for edited arguments. */
	SVC_SMALL_BYTES = 1024,
	/* Keys of the change that touches most, a RENAME: two directories, two
	 * names, the two objects that these lead to, and the room of the file
	 * system. */
	SVC_ORDER_KEYS = 7,
};

/* A machine that has a bit in struct node; its place in svc.machines is the
 * number of the bit. */
struct svc_machine {
	uint64_t address_hash;
	unsigned connections;
	uint64_t new_until_us; /* as in struct svc_client */
	/* When it last had a connection; 0: the bit is nobody's. */
	uint64_t gone_us;
};

struct svc {
	struct svc_params p;
	struct svc_rqsts orphans; /* requests whose clients are gone */
	/* Requests that wait for the server, the latest first. */
	struct svc_rqsts waiting;
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
	/* The age of the oldest confirmation that an answer rested on while
	 * offline, in microseconds; 0: none did. */
	uint64_t served_age_us;
	struct svc_waited *waited; /* NULL until a WRITE waits at a client */
	struct log_limit bad_call;
	struct log_limit bad_reply;
	struct log_limit refused;
	struct log_limit put_off;
	struct log_limit doubt;
	struct log_limit crowded;
};

/* The event that a request waits for; svc_rqst_wait() sets it. */
enum svc_wait {
	SVC_WAIT_NONE,
	SVC_WAIT_REPLY, /* the server's reply to the client's own call */
	/* The server's reply to a call of ours that the request made necessary.
	 */
	SVC_WAIT_ASKED,
	/* Pieces of a long READ, or of its end (svc_pieces.h). */
	SVC_WAIT_PIECES,
	/* Somebody else's call that will bring what it wants (svc_join.c). */
	SVC_WAIT_JOINED,
	/* A change that its client sent before it (svc_order.c). */
	SVC_WAIT_CHANGE,
	SVC_WAIT_DISK, /* the disk of the data cache */
	/* A look at the server by doubt.c, before its change is repeated. */
	SVC_WAIT_LOOK,
	/* Its client: a change in doubt is held until somebody asks again. */
	SVC_WAIT_CLIENT,
	/* A WRITE whose client is gone: nothing but its end, since the caches
	 * must know when the file changes no more. */
	SVC_WAIT_END,
};

/* The ways to an answer that were tried for a request; each is tried once. A
 * sum of these is in svc_rqst.tried. */
enum svc_tried {
	SVC_TRIED_SERVER = 1,  /* the server was asked for what it wants */
	SVC_TRIED_CONFIRM = 2, /* attributes and rights were asked for */
	SVC_TRIED_REST = 4,    /* the end of its answer was asked for */
	SVC_TRIED_PIECES = 8,  /* a READ in pieces did not fit */
	SVC_TRIED_WAIT = 16,   /* it was not answered at once */
	SVC_TRIED_FARM = 32,   /* other machines' farm was asked */
	SVC_TRIED_ORDER = 64,  /* it waited for a change */
	SVC_TRIED_EARLY = 128, /* it waited for a change that might come: its
				  directory was asked for */
	SVC_TRIED_TAIL = 256,  /* its end, while its beginning came */
};

/* Something that a change touches, by its number: a directory, a name, an
 * object or the room of a file system. It hangs in svc_order.c's table. */
struct svc_order_key {
	LIST_ENTRY(svc_order_key) link;
	uint64_t key;
	struct svc_rqst *rqst;
};

LIST_HEAD(svc_order_keys, svc_order_key);

/* A change's place in svc_order.c; all zeros for other requests. */
struct svc_ordered {
	struct svc_order_key keys[SVC_ORDER_KEYS];
	unsigned n;  /* keys; 0: it has none */
	bool waited; /* somebody waited for it */
	LIST_ENTRY(svc_rqst) waited_link;
	struct fetch_watches behind; /* the requests that wait for it now */
};

struct svc_rqst {
	struct svc *svc;
	struct svc_client *client; /* NULL once it is gone */
	LIST_ENTRY(svc_rqst) link; /* in the client's, or svc's, list */
	/* In svc.waiting, while it waits for the server. */
	LIST_ENTRY(svc_rqst) wait_link;
	struct rpc_call call;
	struct rpc_auth_sys auth; /* decoded, where call.cred is AUTH_SYS */
	const struct nfs_proc *proc;
	const struct svc_proc *row;
	union nfs_args args; /* decoded; views into the record */
	struct rbuf *hold;   /* keeps the record; NULL where it was copied */
	struct drc_entry *drc;
	/* The change's object as it was known when the change was first sent
	 * (doubt.h). */
	struct drc_object object;
	enum svc_wait wait;
	unsigned tried; /* enum svc_tried */
	/* While `wait` is REPLY or ASKED; while LOOK or CLIENT its call is
	 * held. */
	struct fetch_waiter waiter;
	struct svc_split *split;      /* PIECES */
	struct fetch_watch watch;     /* JOINED, CHANGE */
	struct datacache_waiter disk; /* DISK */
	struct look *look;            /* LOOK */
	uint64_t held_us;             /* since when it is held, while CLIENT */
	uint32_t cred_id;             /* caches_cred() */
	struct machine machine;       /* svc_machine() */
	/* How many of the first bytes of a READ the cache has. */
	uint32_t have;
	/* Of a READDIRPLUS, behind which entry the server is asked for the end.
	 */
	uint64_t rest_cookie;
	/* The status with which it was answered. */
	nfsstat3 status;
	/* How many calls of others it has waited for. */
	uint8_t joins;
	uint8_t turns; /* how often it had to wait */
	uint8_t cause; /* enum waits_cause */
	/* A call for it was sent again: the connection was lost. */
	bool away;
	/* Wire bytes that were under way on the link when it began to wait. */
	uint32_t ahead_bytes;
	/* Bytes that count against its client for it (svc_rqst_charge()). */
	size_t charge_bytes;
	uint64_t received_us;
	/* Its number among all requests, in the order in which they came. */
	uint64_t number;
	/* When the last copy of the call came; at first, received_us. */
	uint64_t asked_us;
	uint64_t now_us; /* when its row was last called */
	struct svc_ordered order;
	/* The copy of a small record, and behind it, from SVC_SMALL_BYTES on,
	 * arguments that were encoded anew; twice SVC_SMALL_BYTES in all. */
	_Alignas(8) unsigned char small[];
};

/* A procedure's row in one of the tables below. It says which function begins a
 * call, which one answers it from the caches, and how its results are edited.
 */
struct svc_proc {
	/* Begins the call, and tries again after each wait. It ends the request
	 * or has it wait: svc_forward() and svc_answer() do, or a function of
	 * the procedure's own. */
	void (*call)(struct svc_rqst *rqst);
	/* For svc_answer(): asks the caches (cached.h), and the counters for
	 * what they said. */
	enum cached_verdict (*cached)(
	    const struct cached_call *call, struct cached_answer *a);
	enum metrics_counter hits, misses;
	/* Asks the server where the caches cannot answer; NULL: svc_forward().
	 */
	void (*forward)(struct svc_rqst *rqst);
	/* Changes good results on their way to the client; true where it
	 * changed them. NULL: the results go as they came. */
	bool (*edit)(struct svc_rqst *rqst, union nfs_res *res);
};

/* Each program has a table of its procedures, indexed by their number. */
extern const struct svc_proc nfs3_rows[];
extern const struct svc_proc mount3_rows[];
extern const struct svc_proc nfsacl3_rows[];

/* ---- svc_rqst.c: the life of a request --------------------------------- */

/* Makes the request of a record that just came: copies a small record, or holds
 * the buffer of a large one, and counts it against its client. NULL without
 * memory. */
struct svc_rqst *svc_rqst_new(
    struct svc *svc, struct svc_client *client, const struct record *rec);
/* Ends and frees a request, answered or not, and tells its client that there is
 * room. */
void svc_rqst_end(struct svc_rqst *rqst);
/* The same without telling the client. The request waits for nothing any more.
 */
void svc_rqst_drop(struct svc_rqst *rqst);
/* Counts so many more bytes against its client, which must still be there. */
void svc_rqst_charge(struct svc_rqst *rqst, size_t bytes);
/* Moves the request to its client's other connection; NULL makes it an orphan.
 */
void svc_rqst_move(struct svc_rqst *rqst, struct svc_client *client);
/* Notes what the request waits for from now on; SVC_WAIT_NONE: for nothing. */
void svc_rqst_wait(struct svc_rqst *rqst, enum svc_wait wait);
/* Has it wait no longer. False where that cannot be, since a change is on its
 * way or in doubt, or others wait for the same call. */
bool svc_rqst_stop(struct svc_rqst *rqst);
/* Whether its client asked for this change so long ago, two seconds, that
 * nobody may wait for it any more. */
bool svc_rqst_late(const struct svc_rqst *rqst, uint64_t now_us);
/* Goes on as if its client were gone, and notes that the client must ask again.
 */
void svc_rqst_unhand(struct svc_rqst *rqst);
/* Tries the row again, since what the request waited for has come; a request
 * whose client is gone ends. It may be freed when this returns. */
void svc_rqst_retry(struct svc_rqst *rqst);
/* The duplicate request cache for its procedure: of changes, or of WRITEs. */
struct drc *svc_rqst_cache(const struct svc_rqst *rqst);
/* Has the duplicate request cache forget the call, since its reply says nothing
 * about its effect: a client that repeats it makes a new call. */
void svc_rqst_forget(struct svc_rqst *rqst);
/* Fills in the request's part of what the caches learn from a reply, or from
 * its absence. */
void svc_rqst_learn(const struct svc_rqst *rqst, struct learn *l);
/* Has the caches forget all that a change or a WRITE, sent at `sent_us`, may
 * have touched, because its effect is not known; nothing for other calls. */
void svc_rqst_unknown(struct svc_rqst *rqst, uint64_t sent_us);
/* Who asks by this request, for known.h. */
struct asker svc_asker(const struct svc_rqst *rqst);

/* Returns the request that the waiter is a part of. */
static inline struct svc_rqst *svc_waiter_rqst(struct fetch_waiter *w)
{
	return container_of(w, struct svc_rqst, waiter);
}

/* ---- svc_answer.c: the way to the answer ------------------------------- */

/* Answers from the caches, if they may answer, or else from the server. */
void svc_answer(struct svc_rqst *rqst);
/* Asks the server for the client's call as it came, or joins a call under way
 * that will bring the answer. While offline, a call that must not wait gets
 * NFS3ERR_IO. */
void svc_forward(struct svc_rqst *rqst);
/* The same with `args` in place of the arguments that came. They are encoded
 * behind the copy of the record, where the data of a WRITE would find no room.
 */
void svc_forward_args(struct svc_rqst *rqst, const union nfs_args *args);
/* Asks the server for the attributes of the object that stands first in its
 * arguments; then its row is tried again, with SVC_TRIED_CONFIRM. */
void svc_ask_attributes(struct svc_rqst *rqst);
/* Notes, while offline, that an answer rested on a confirmation of `sent_us`.
 */
void svc_served(struct svc *svc, uint64_t sent_us, uint64_t now_us);
/* Whether it waits for the server even while that is away. */
bool svc_is_patient(const struct svc_rqst *rqst);

/* ---- svc_create.c: CREATE ------------------------------------------------ */

void svc_create_file(struct svc_rqst *rqst);

/* ---- svc_machines.c: whose bit of struct node is whose ------------------- */

/* Returns which bits of struct node are the client's; none where other machines
 * have all of them. Gives it a bit if it has none yet. */
struct machine svc_machine(
    struct svc *svc, struct svc_client *client, uint64_t now_us);
/* Notes that a connection of the client's machine closes; the machine keeps its
 * bit for an hour. */
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
/* A request is taken from its client. If it is a WRITE that waits for its
 * confirmation, and comes again later, it is still judged by what its client
 * knew before. */
void svc_write_left(const struct svc_rqst *rqst);

/* ---- svc_join.c: calls under way that will bring what is wanted --------- */

/* Each has the request wait for a call under way, most likely one made ahead,
 * from whose reply the caches can answer it. False where there is none: it
 * waits for nothing then. */
bool svc_join(struct svc_rqst *rqst);
/* Has the farm bring what is missing, from the first `have` bytes of a READ on,
 * and the request wait for it. False where the farm is not asked. */
bool svc_join_farm(struct svc_rqst *rqst);
/* As svc_join(), for a READ whose first `have` bytes the cache has. */
bool svc_join_rest(struct svc_rqst *rqst);
/* As svc_join(), for a request that lacks nothing but a confirmation of its
 * object. */
bool svc_join_confirm(struct svc_rqst *rqst);

/* ---- svc_order.c: one client's calls in their order ---------------------- */

/* Makes the order of a service's changes. NULL without memory. */
struct svc_order *svc_order_new(void);
void svc_order_free(struct svc_order *o); /* NULL is allowed */
/* Enters a change that is about to be sent. Whatever its client sends from now
 * on comes behind it. */
void svc_order_enter(struct svc_rqst *rqst);
/* Takes a change out again that is over; nothing where it never entered. Those
 * that wait for it go to `*behind`, which this initialises; when the caches
 * know of the change, the caller tells them by fetch_ring(). */
void svc_order_leave(struct svc_rqst *rqst, struct fetch_watches *behind);
/* Whether the caches may take part in answering a request. */
enum svc_order_verdict {
	SVC_ORDER_FREE, /* they may answer it */
	SVC_ORDER_WAIT, /* not at all: it waits for a change */
	/* Not at all: the server has to be asked, behind the change. */
	SVC_ORDER_ASK,
};

/* Whether a change of its client that came before it touches what the request
 * is about. For SVC_ORDER_WAIT it waits already, and its row is tried again
 * when the change is answered. */
enum svc_order_verdict svc_order_look(struct svc_rqst *rqst);
/* Whether it looks at a directory where a change may be about to come that its
 * client counts as made: then the directory is confirmed, and the request is
 * taken as having come when that is answered. */
bool svc_order_is_early(struct svc_rqst *rqst);
/* The call of the change that the request must be sent behind if the server is
 * asked for it; NULL where there is none. */
const struct upstream_call *svc_order_behind(const struct svc_rqst *rqst);
/* Leaves out attributes that such a change may touch though nobody asked for
 * them: those of the directory in the results of a LOOKUP from the caches; and,
 * by svc_order_hides(), which is cached_call.hides, those of entries of a
 * READDIRPLUS. */
void svc_order_edit(const struct svc_rqst *rqst, union nfs_res *res);
bool svc_order_hides(const void *rqst, const struct node *node);
/* svc_expire() calls this every second or so: nobody waits any longer for
 * changes that get no further. */
void svc_order_expire(struct svc *svc, uint64_t now_us);

/* ---- svc_waits.c: why requests wait, and for how long ------------------- */

/* Notes why the caches cannot answer it at once; the first reason stays. */
void svc_waits_why(struct svc_rqst *rqst, enum cached_verdict verdict);
/* Notes that it waits, perhaps not for the first time, and for what. */
void svc_waits_begin(struct svc_rqst *rqst, enum svc_wait wait);
/* Notes whether the call was sent again for whose reply it waited. */
void svc_waits_sent(struct svc_rqst *rqst, const struct upstream_result *up);
/* Takes back, when its struct is about to go, what svc_waits_begin() counted.
 */
void svc_waits_over(const struct svc_rqst *rqst);
/* Counts the whole wait of a request, `waited_us`, when it is answered by
 * `bytes` of a reply. */
void svc_waits_end(struct svc_rqst *rqst, uint64_t waited_us, uint64_t bytes);
/* The user who made the call; UINT32_MAX - 1 without AUTH_SYS, since UINT32_MAX
 * means "no single user" to prefetch. */
static inline uint32_t svc_rqst_uid(const struct svc_rqst *rqst)
{
	return rqst->call.cred.flavor == AUTH_SYS ? rqst->auth.uid
						  : UINT32_MAX - 1;
}

/* ---- svc_reply.c: replies to clients ----------------------------------- */
/* Tells prefetch_begins() that the server is about to be asked for the call, or
 * only to confirm its object. Ends nothing. */
void svc_rqst_begins(const struct svc_rqst *rqst, bool confirms);

/* Takes the server's reply to a client's own call, for fetch_start(). */
extern const struct fetch_ops svc_reply_ops;
/* Each of those that follow replies to the client and ends the request. This
 * one encodes results, good or bad; without memory it replies SYSTEM_ERR. */
void svc_reply_result(struct svc_rqst *rqst, const union nfs_res *res);
/* Replies with the results of a READ whose data is in `n` pieces, which go out
 * by reference (xprt_queue()). */
void svc_reply_pieces(struct svc_rqst *rqst, const union nfs_res *res,
    const struct rbuf_piece *pieces, unsigned n);
/* Replies with a status and without all else, as far as the procedure has one.
 */
void svc_reply_status(struct svc_rqst *rqst, nfsstat3 status);
/* Replies in words of RPC (RFC 5531 section 9): an accepted call with this
 * state, a credential that is refused, or an RPC version other than 2. The
 * first has the duplicate request cache forget the call. */
void svc_reply_accepted(struct svc_rqst *rqst, enum accept_stat stat);
void svc_reply_auth_error(struct svc_rqst *rqst, enum auth_stat why);
void svc_reply_mismatch(struct svc_rqst *rqst);
/*
 * Replies with the bytes `data`, which follow the XID; the duplicate request
 * cache keeps them for copies of the call. `hold` is as in struct rbuf_piece:
 * NULL copies the bytes. `error` only counts.
 */
void svc_reply_bytes(struct svc_rqst *rqst, const void *data, size_t len,
    struct rbuf *hold, bool error);

#endif
