/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of one server's clients: from a record to a reply.
 *
 * svc decodes a call, refuses what is wrong with it, asks the duplicate
 * request cache, and hands a `struct svc_rqst` to the procedure's row in the
 * table. The procedure answers at once, or forwards the call and edits the
 * results on their way back.
 */
#ifndef FOREFETCH_SVC_H
#define FOREFETCH_SVC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cache/known.h"
#include "datacache/datacache.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/record.h"
#include "nfsproto/rpc_msg.h"
#include "svc/drc.h"
#include "upstream/fetch.h"

struct config_server;
struct linkest;
struct metrics;
struct postcheck;
struct prefetch;
struct svc;
struct svc_client;
struct svc_split;

struct svc_params {
	const struct config_server *config; /* see svc_set_config() */
	struct metrics *metrics;
	struct fetch *fetch;
	struct drc *drc;       /* of changes; survives the daemon */
	struct drc *write_drc; /* of WRITEs; in memory */
	struct caches *caches;
	struct linkest *link;
	struct prefetch *prefetch; /* hears of what was answered */
};

struct svc *svc_new(const struct svc_params *p);
/* All clients must be gone; calls still in flight are forgotten. */
void svc_free(struct svc *svc);
/* Changes that run their course though their clients are gone. */
unsigned svc_orphans(const struct svc *svc);
void svc_set_config(struct svc *svc, const struct config_server *config);
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

/* Clients' READs wait for room on the link. */
bool svc_demand_waits(const struct svc *svc);

/* What a client's connection does for svc. */
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

/* A client's connection as svc sees it; lies in its conn. */
struct svc_client {
	const struct svc_client_ops *ops;
	uint64_t address_hash; /* of the address without the port */
	const char *name;      /* for log lines */
	struct svc_rqsts rqsts;
	unsigned calls; /* not answered yet */
	size_t bytes;   /* that they and their replies hold at most */
};

/* One record came from a client. */
void svc_receive(
    struct svc *svc, struct svc_client *client, const struct record *rec);
/* The client's connection closed: changes not sent yet are dropped. */
void svc_client_gone(struct svc *svc, struct svc_client *client);

/* One request, from its record to its reply. */
struct svc_rqst {
	struct svc *svc;
	struct svc_client *client;      /* NULL once it is gone */
	LIST_ENTRY(svc_rqst) link;      /* in the client's, or svc's, list */
	LIST_ENTRY(svc_rqst) wait_link; /* in svc's, while `waiting` */
	struct rpc_call call;
	struct rpc_auth_sys auth; /* where call.cred is AUTH_SYS */
	const struct nfs_proc *proc;
	const struct svc_proc *row;
	union nfs_args args; /* views into the record */
	struct rbuf *hold;   /* keeps the record; NULL where it was copied */
	struct drc_entry *drc;
	struct drc_object object; /* of a change, when it was first sent */
	struct postcheck *check;  /* while it looks; NULL else */
	struct fetch_waiter waiter;
	struct fetch_watch watch; /* of a call that was under way already */
	struct datacache_waiter disk;
	/* Of a READ that is asked in pieces; NULL else. */
	struct svc_split *split;
	uint32_t cred_id; /* caches_cred() */
	uint32_t have;    /* bytes of a READ that are there already */
	nfsstat3 status;  /* that it was answered */
	bool missed;      /* the server was asked for it */
	bool orphan;      /* in svc's list */
	bool abandoned;   /* only its end counts */
	bool filled;      /* the end of its data was asked for already */
	bool whole;       /* a READ that is not to be asked in pieces */
	bool confirmed;   /* attributes and rights were asked for already */
	bool waiting;     /* for the server */
	bool waited;      /* … or for a disk */
	uint8_t joins;    /* calls that were watched */
	size_t charge_bytes;
	uint64_t received_us;
	uint64_t now_us;  /* when its row was last called */
	uint64_t held_us; /* since when it is in doubt without a client; or 0 */
	/* Copy of a small record, or of edited arguments. */
	_Alignas(8) unsigned char small[];
};

/* A procedure's row: what to do with a call, and with its results. */
struct svc_proc {
	void (*call)(struct svc_rqst *rqst);
	/* Change good results on their way to the client; true where they
	 * were changed. NULL: never. */
	bool (*edit)(struct svc_rqst *rqst, union nfs_res *res);
};

/* Rows of each program, by procedure number. */
extern const struct svc_proc nfs3_rows[];
extern const struct svc_proc mount3_rows[];
extern const struct svc_proc nfsacl3_rows[];

/* For postcheck: the change in doubt is repeated, if it has a client still; or
 * it is not, and answered. */
void svc_repeat(struct svc_rqst *rqst);
void svc_settle(struct svc_rqst *rqst, const union nfs_res *res);
/* A change in doubt is answered by an error that may stem from its own first
 * success. It stays: the other way round, two would be told that they hold a
 * lock. */
void svc_note_left(const struct svc_rqst *rqst, nfsstat3 status);

/* For procedures. Each of these ends the request, now or later. */
void svc_forward(struct svc_rqst *rqst);
/* Forward with arguments that differ from those that came. */
void svc_forward_args(struct svc_rqst *rqst, const union nfs_args *args);
/*
 * Ask for the attributes of a handle, and for what the caller may do with it,
 * in one ACCESS; then the row's `call` is tried again.
 */
void svc_confirm(struct svc_rqst *rqst, const nfs3_fh *fh);
/* Ask for the end of a READ, behind its first `have` bytes, which are cached;
 * then the row's `call` is tried again. */
void svc_read_rest(struct svc_rqst *rqst, uint32_t have);
/* Try the row's `call` again when the cache's disk is ready; the waiter is
 * rqst->disk. */
void svc_wait_disk(struct svc_rqst *rqst);
void svc_reply_result(struct svc_rqst *rqst, const union nfs_res *res);
/* A READ's results, whose data lies in pieces. */
void svc_reply_pieces(struct svc_rqst *rqst, const union nfs_res *res,
    const struct rbuf_piece *pieces, unsigned n);
void svc_reply_status(struct svc_rqst *rqst, nfsstat3 status);
void svc_reply_accepted(struct svc_rqst *rqst, enum accept_stat stat);

const struct config_server *svc_config(const struct svc *svc);
struct fetch *svc_fetch(const struct svc *svc);
struct caches *svc_caches(const struct svc *svc);
/* Who asks by a request. */
struct asker svc_asker(const struct svc_rqst *rqst);
/* Whether cached answers go out unconfirmed, since the server is away. */
bool svc_offline(const struct svc *svc);
/* An answer rested on a confirmation of then. */
void svc_served(struct svc *svc, uint64_t sent_us, uint64_t now_us);
struct metrics *svc_metrics(const struct svc *svc);

#endif
