/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exclusive creates. With a CREATE in mode EXCLUSIVE a client sends a verifier
 * in place of attributes, which it has to set by a SETATTR afterwards: a round
 * trip for each new file. A server need not support that mode (RFC 1813 section
 * 3.3.8, NFS3ERR_NOTSUPP), and Linux asks again in mode GUARDED then, with the
 * attributes. So the proxy says so for the server:
 *
 *	client                     proxy             server
 *	CREATE EXCLUSIVE ────────▶
 *	        ◀──────── NOTSUPP
 *	CREATE GUARDED   ────────▶ ────────────────▶        a round trip,
 *	        ◀───────────────── ◀──────────────── OK     and no SETATTR
 *
 * What is lost is the verifier, by which a server knows a repeat of its first
 * try: where that is in doubt, NFS3ERR_EXIST stays (doubt.h).
 *
 * Other clients forget O_EXCL and ask in mode UNCHECKED, which would give them
 * a file that is somebody else's. So the first refusal on each connection is a
 * trial: a client that asks so for the same name is answered as by GUARDED, and
 * is refused nothing any more.
 */
#include "base/log.h"
#include "config/config.h"
#include "prefetch/ground/observe.h"
#include "svc/drc.h"
#include "svc/svc_rqst.h"

/* The client's system call is still under way when it asks again, so a CREATE
 * that comes later than this belongs to another one. */
#define AGAIN_US UINT64_C(1000000)

/* A number for a directory and a name in it. */
static uint64_t name_of(const diropargs3 *where)
{
	return observe_absent(&where->dir, &where->name);
}

/* Whether this client's exclusive create may be refused: the configuration has
 * it so, and the client is known to ask again as it should, or is not known and
 * has no other trial under way. */
static bool may_refuse(
    const struct svc_client *client, const struct config_server *config)
{
	return config->exclusive_create == CONFIG_EXCLUSIVE_GUARDED &&
	       (client->exclusive == SVC_EXCLUSIVE_KEPT ||
		   (client->exclusive == SVC_EXCLUSIVE_UNKNOWN &&
		       client->refused == 0));
}

/* Refuses an exclusive create, and notes its name while the client is on trial.
 */
static void refuse(struct svc_rqst *rqst)
{
	struct svc_client *client = rqst->client;

	if (client->exclusive == SVC_EXCLUSIVE_UNKNOWN) {
		client->refused = name_of(&rqst->args.create.where);
		client->refused_us = rqst->received_us;
	}
	svc_reply_status(rqst, NFS3ERR_NOTSUPP);
}

/* Learns how the client reacts, which asks again for the create that was
 * refused. A client that forgot O_EXCL is answered as by GUARDED, which gives
 * it the error that it would have had; from then on none of its creates is
 * refused. */
static void asked_again(struct svc_rqst *rqst)
{
	struct svc_client *client = rqst->client;

	client->refused = 0;
	if (rqst->args.create.how.mode == GUARDED) {
		client->exclusive = SVC_EXCLUSIVE_KEPT;
		svc_forward(rqst);
		return;
	}
	client->exclusive = SVC_EXCLUSIVE_FORGOTTEN;
	log_info(
	    "svc server=%s client=%s: after an exclusive create was refused, "
	    "it did not ask for a guarded one; from now on none is refused",
	    rqst->svc->p.config->name, client->name);
	/* The attributes are the same in both modes. */
	rqst->args.create.how.mode = GUARDED;
	svc_forward_args(rqst, &rqst->args);
}

/* Whether the CREATE is about the name that was refused to this client last. */
static bool was_refused(const struct svc_rqst *rqst)
{
	const struct svc_client *client = rqst->client;

	return client->refused != 0 &&
	       client->refused == name_of(&rqst->args.create.where);
}

/* Whether a former daemon sent this call to the server. It may have made the
 * file then, which a guarded create would take for somebody else's; only the
 * verifier tells the server better (RFC 1813 section 3.3.8). */
static bool was_sent(const struct svc_rqst *rqst)
{
	struct upstream_sent sent = {0};

	if (rqst->drc)
		drc_get_sent(rqst->drc, &sent);
	return sent.xid != 0;
}

void svc_create_file(struct svc_rqst *rqst)
{
	struct svc_client *client = rqst->client;
	bool exclusive = rqst->args.create.how.mode == EXCLUSIVE;

	if (client && rqst->received_us >= client->refused_us + AGAIN_US)
		client->refused = 0;
	if (client && exclusive && !was_sent(rqst) &&
	    may_refuse(client, rqst->svc->p.config))
		refuse(rqst);
	else if (client && !exclusive && was_refused(rqst))
		asked_again(rqst);
	else
		svc_forward(rqst);
}
