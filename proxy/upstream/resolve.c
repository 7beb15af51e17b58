/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Name, then ports, then a probe:
 *
 *   host name ─▶ addresses (hostname) ─▶ rpcbind: NFS, MOUNT ─▶ NULL of NFSv3
 *       ▲                    │                   │
 *       └─── after AGAIN_US ─┴──── where it ─────┘
 *                                  fails
 *
 * The probe decides only what resolve_error() and resolve_denied() say: the
 * port goes to upstream.c before it is answered. The next of the host's
 * addresses is taken when the rpcbind of one gives nothing, at once until all
 * were tried; and when upstream.c cannot connect to the one that was found
 * (resolve_again()).
 */
#include "upstream/resolve.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsproto/mount3.h"
#include "nfsproto/nfs3.h"
#include "upstream/dial.h"
#include "upstream/hostname.h"
#include "upstream/portmap.h"

enum {
	AGAIN_US = 5000000, /* between two tries */
	/* The time between two changes of the network after which all is asked
	 * anew. */
	ANEW_US = 1000000,
	/* Questions for the name at a time: one that was asked over another
	 * network may wait for half a minute, and cannot be called back. */
	ASKS_MAX = 3,
	ERROR_MAX = 320,
	NFS_PORT = 2049,
};

struct resolve {
	struct resolve_params p;
	char *host_name; /* p.host; outlives the configuration */
	struct ask {
		struct resolve *of;
		struct hostname *name; /* NULL: this one is not under way */
	} asks[ASKS_MAX];
	struct portmap *query[RESOLVE_COUNT];
	struct event *ev_again;
	bool anew;        /* `ev_again` is for resolve_anew() */
	uint64_t anew_us; /* when that was last done */
	struct sockaddr_storage host;
	struct sockaddr_storage found[RESOLVE_COUNT]; /* the last time */
	unsigned count; /* of the host's addresses */
	unsigned tried; /* which of them `host` is */
	unsigned round; /* which of them is next */
	bool failed;    /* a program was not found there */
	bool answered;  /* its rpcbind gave the port of one */
	bool warned;
	/* Asks whether the server has NFSv3: at the port that its rpcbind gave,
	 * or, where that gave none, at the usual one. */
	struct portmap *probe;
	bool given;  /* rpcbind gave a port for NFS */
	bool denied; /* the program there has other versions only */
	char error[RESOLVE_COUNT][ERROR_MAX];
};

static const struct {
	const char *name;
	const char *label; /* for people */
	uint32_t prog;
	uint32_t vers;
} programs[RESOLVE_COUNT] = {
    [RESOLVE_NFS] = {"nfs", "NFSv3", NFS_PROGRAM, NFS_V3},
    [RESOLVE_MOUNT] = {"mount", "MOUNTv3", MOUNT_PROGRAM, MOUNT_V3},
};

bool resolve_denied(const struct resolve *r)
{
	return r->denied;
}

const char *resolve_error(const struct resolve *r, enum resolve_what what)
{
	return r->error[what];
}

/* Whether a question for the name is under way. */
static bool is_asking(const struct resolve *r)
{
	for (int i = 0; i < ASKS_MAX; i++)
		if (r->asks[i].name)
			return true;
	return false;
}

bool resolve_busy(const struct resolve *r)
{
	return is_asking(r) || r->query[RESOLVE_NFS] || r->query[RESOLVE_MOUNT];
}

/* Looks again after `us`, unless resolve_anew() does so sooner. */
static void look_later(struct resolve *r, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	if (!r->anew)
		event_add(r->ev_again, &tv);
}

/* Logs the first of several failures. */
static void log_failed(struct resolve *r, const char *what, const char *why)
{
	if (!r->warned)
		log_warn("resolve server=%s host=%s: %s: %s; trying again",
		    r->p.name, r->p.host, what, why);
	r->warned = true;
}

/* Logs an address that is new. During an outage the same one is found again and
 * again. */
static void log_found(
    const struct resolve *r, enum resolve_what what, uint16_t port)
{
	static const char *const line =
	    "resolve server=%s program=%s port=%u: found";

	if (memcmp(&r->found[what], &r->host, sizeof(r->host)) != 0)
		log_info(line, r->p.name, programs[what].name, port);
	else
		log_debug(line, r->p.name, programs[what].name, port);
}

/* Makes of what rpcbind has said and what the server itself answers a sentence
 * that helps whoever reads it. */
static void on_probed(void *arg, int err, uint32_t least)
{
	struct resolve *r = arg;
	char *error = r->error[RESOLVE_NFS];
	size_t len = strlen(error);

	r->probe = NULL;
	r->denied = err == -EPROTONOSUPPORT;
	if (r->denied && least > NFS_V3)
		snprintf(error, ERROR_MAX, "%s", RESOLVE_ONLY_V4);
	else if (r->denied)
		snprintf(error, ERROR_MAX,
		    "the program at the server's NFS port serves neither NFSv3 "
		    "nor a later version; check nfs_port");
	else if (err == 0 && !r->given)
		snprintf(error + len, ERROR_MAX - len,
		    "; NFSv3 answers at port %d: set nfs_port and mount_port",
		    NFS_PORT);
}

/* Probes the port that rpcbind gave, or the usual one where it gave none. */
static void resolve_probe(struct resolve *r, uint16_t port)
{
	struct sockaddr_storage at = r->host;

	if (r->probe)
		return;
	r->given = port != 0;
	dial_addr_set_port((struct sockaddr *)&at, port ? port : NFS_PORT);
	r->probe = portmap_probe(
	    r->p.base, r->p.pool, (struct sockaddr *)&at, on_probed, r);
}

static void resolve_found(
    struct resolve *r, enum resolve_what what, uint16_t port)
{
	struct sockaddr *sa = (struct sockaddr *)&r->host;

	r->error[what][0] = '\0';
	dial_addr_set_port(sa, port);
	r->warned = false;
	log_found(r, what, port);
	r->found[what] = r->host;
	r->p.on_found(r->p.ctx, what, sa);
}

static void program_failed(
    struct resolve *r, enum resolve_what what, const char *why)
{
	snprintf(
	    r->error[what], ERROR_MAX, "%s: %s", programs[what].label, why);
	r->failed = true;
	log_failed(r, programs[what].name, why);
}

/*
 * Ends the look at an address when its last question is answered. Where rpcbind
 * gave no port, it may be that nobody is reached at that address, so the next
 * one is tried, as mount(8) does. An rpcbind that gave one of the ports is
 * asked for the other again: another address may be another machine's.
 */
static void look_ended(struct resolve *r)
{
	bool more;

	if (r->query[RESOLVE_NFS] || r->query[RESOLVE_MOUNT] || !r->failed)
		return;
	if (!r->answered)
		r->round = r->tried + 1;
	more = !r->answered && r->round % r->count != 0;
	look_later(r, more ? 0 : AGAIN_US);
}

static void on_port(
    struct resolve *r, enum resolve_what what, uint16_t port, const char *why)
{
	r->query[what] = NULL;
	if (port) {
		r->answered = true;
		resolve_found(r, what, port);
	} else {
		program_failed(r, what, why);
	}
	if (what == RESOLVE_NFS)
		resolve_probe(r, port);
	look_ended(r);
}

static void on_nfs_port(void *arg, uint16_t port, const char *why)
{
	on_port(arg, RESOLVE_NFS, port, why);
}

static void on_mount_port(void *arg, uint16_t port, const char *why)
{
	on_port(arg, RESOLVE_MOUNT, port, why);
}

/* Asks for the port of a program, or takes the one of the configuration. */
static void resolve_port(struct resolve *r, enum resolve_what what)
{
	const struct sockaddr *sa = (struct sockaddr *)&r->host;

	if (r->p.ports[what]) {
		resolve_found(r, what, r->p.ports[what]);
		return;
	}
	r->query[what] = portmap_query(r->p.base, r->p.pool, sa,
	    programs[what].prog, programs[what].vers,
	    what == RESOLVE_NFS ? on_nfs_port : on_mount_port, r);
	if (!r->query[what])
		program_failed(r, what, strerror(errno));
}

/* ---- the name --------------------------------------------------------- */

/* Returns the address that is next in turn. */
static const struct addrinfo *pick_address(
    struct resolve *r, const struct addrinfo *list)
{
	const struct addrinfo *ai;
	unsigned at;

	r->count = 0;
	for (ai = list; ai; ai = ai->ai_next)
		r->count++;
	r->tried = r->round;
	at = r->tried % r->count;
	for (ai = list; at > 0; at--)
		ai = ai->ai_next;
	return ai;
}

/* Says why a name was not found and what to do, in plainer words than
 * gai_strerror()'s. */
static const char *gai_text(int err, int sys)
{
	switch (err) {
	case 0:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return "it has no address";
	case EAI_NONAME:
		return "none of the sources in /etc/nsswitch.conf, such as "
		       "/etc/hosts and DNS, knows it; is it spelled right?";
	case EAI_AGAIN:
		return "no name server answers; is the network up, and is "
		       "/etc/resolv.conf right?";
	case EAI_FAIL:
		return "the name servers of /etc/resolv.conf failed to look "
		       "it up";
	case EAI_SYSTEM:
		return strerror(sys);
	default:
		return gai_strerror(err);
	}
}

static void name_failed(struct resolve *r, const char *why)
{
	for (int i = 0; i < RESOLVE_COUNT; i++)
		snprintf(r->error[i], ERROR_MAX, "the name %s is not known: %s",
		    r->p.host, why);
	log_failed(r, "address", why);
	look_later(r, AGAIN_US);
}

static void asks_cancel(struct resolve *r)
{
	for (int i = 0; i < ASKS_MAX; i++) {
		hostname_cancel(r->asks[i].name);
		r->asks[i].name = NULL;
	}
}

static void probe_cancel(struct resolve *r)
{
	portmap_cancel(r->probe);
	r->probe = NULL;
}

/* Takes the answer to a question for the name. The first that has addresses
 * counts; and a failure, if no other question is under way. */
static void on_addresses(
    void *arg, int err, int sys, const struct addrinfo *list)
{
	struct ask *ask = arg;
	struct resolve *r = ask->of;
	const struct addrinfo *ai;

	ask->name = NULL;
	if ((err || !list) && is_asking(r))
		return;
	if (err || !list) {
		name_failed(r, gai_text(err, sys));
		return;
	}
	asks_cancel(r);
	/* It is about the address before. */
	probe_cancel(r);
	ai = pick_address(r, list);
	memset(&r->host, 0, sizeof(r->host));
	memcpy(&r->host, ai->ai_addr, ai->ai_addrlen);
	r->failed = r->answered = false;
	resolve_port(r, RESOLVE_NFS);
	resolve_port(r, RESOLVE_MOUNT);
	look_ended(r);
}

static void ask_name(struct resolve *r)
{
	struct hostname *name;
	int i = 0;

	while (i < ASKS_MAX && r->asks[i].name)
		i++;
	if (i == ASKS_MAX)
		return;
	/* A numeric address is answered at once, and then there is none. */
	name = hostname_ask(r->p.base, r->p.host, on_addresses, &r->asks[i]);
	if (name)
		r->asks[i].name = name;
}

/* ---- when to ask ------------------------------------------------------ */

void resolve_start(struct resolve *r)
{
	if (resolve_busy(r))
		return;
	event_del(r->ev_again);
	ask_name(r);
}

static void queries_cancel(struct resolve *r)
{
	for (int i = 0; i < RESOLVE_COUNT; i++) {
		portmap_cancel(r->query[i]);
		r->query[i] = NULL;
	}
	probe_cancel(r);
}

void resolve_anew(struct resolve *r, uint64_t now_us)
{
	uint64_t due_us = r->anew_us + ANEW_US;
	struct timeval tv;

	if (r->anew_us != 0 && now_us < due_us) {
		tv = clock_timeval(due_us - now_us);
		if (!r->anew)
			event_add(r->ev_again, &tv);
		r->anew = true;
		return;
	}
	r->anew = false;
	r->anew_us = now_us;
	event_del(r->ev_again);
	/* Questions that were asked over the old network may never be answered.
	 */
	queries_cancel(r);
	ask_name(r);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct resolve *r = arg;

	(void)fd;
	(void)what;
	if (r->anew)
		resolve_anew(r, clock_now_us());
	else
		resolve_start(r);
}

void resolve_again(struct resolve *r)
{
	if (resolve_busy(r) || event_pending(r->ev_again, EV_TIMEOUT, NULL))
		return;
	r->round = r->tried + 1;
	look_later(r, AGAIN_US);
}

/* ---- making one ------------------------------------------------------- */

struct resolve *resolve_new(const struct resolve_params *p)
{
	struct resolve *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->p = *p;
	r->host_name = strdup(p->host);
	r->p.host = r->host_name;
	for (int i = 0; i < ASKS_MAX; i++)
		r->asks[i].of = r;
	r->ev_again = evtimer_new(p->base, on_again, r);
	if (!r->host_name || !r->ev_again) {
		resolve_free(r);
		return NULL;
	}
	return r;
}

void resolve_free(struct resolve *r)
{
	if (!r)
		return;
	asks_cancel(r);
	queries_cancel(r);
	if (r->ev_again)
		event_free(r->ev_again);
	free(r->host_name);
	free(r);
}
