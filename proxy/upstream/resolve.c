/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Name, then ports, then a probe:
 *
 *   host name ─▶ addresses (evdns) ─▶ rpcbind: NFS, MOUNT ─▶ NULL of NFSv3
 *       ▲                                                       │
 *       └───── after AGAIN_US, with the next address ◀── fails ─┘
 */
#include "upstream/resolve.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsproto/mount3.h"
#include "nfsproto/nfs3.h"
#include "upstream/dial.h"
#include "upstream/portmap.h"

enum {
	AGAIN_US = 5000000, /* between two tries */
	ERROR_MAX = 320,
	NFS_PORT = 2049,
};

struct resolve {
	struct resolve_params p;
	char *host_name; /* p.host; outlives the configuration */
	struct evdns_getaddrinfo_request *req;
	struct portmap *query[RESOLVE_COUNT];
	struct event *ev_again;
	struct sockaddr_storage host;
	struct sockaddr_storage found[RESOLVE_COUNT]; /* the last time */
	unsigned round; /* which of the host's addresses is next */
	bool warned;
	/* Asks whether the server has NFSv3: at the port that its rpcbind gave,
	 * or, where that gave none, at the usual one. */
	struct portmap *probe;
	bool given;  /* rpcbind gave one */
	bool denied; /* the server has other versions only */
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

bool resolve_busy(const struct resolve *r)
{
	return r->req || r->query[RESOLVE_NFS] || r->query[RESOLVE_MOUNT];
}

static void resolve_failed(struct resolve *r, const char *what, const char *why)
{
	struct timeval tv = clock_timeval(AGAIN_US);

	if (!r->warned)
		log_warn("resolve server=%s host=%s: %s: %s; trying again",
		    r->p.name, r->p.host, what, why);
	r->warned = true;
	event_add(r->ev_again, &tv);
}

/* Log what is new: during an outage the same address is found again and again.
 */
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

/* Combine what rpcbind has said with what the server itself answers. */
static void on_probed(void *arg, int err)
{
	static const char *const only_v4 =
	    "it seems to offer NFSv4 only; switch NFSv3 on there (vers3=y in "
	    "its /etc/nfs.conf)";
	struct resolve *r = arg;
	char *error = r->error[RESOLVE_NFS];
	size_t len = strlen(error);

	r->probe = NULL;
	r->denied = err == -EPROTONOSUPPORT;
	if (err == -EPROTONOSUPPORT && r->given)
		snprintf(error, ERROR_MAX,
		    "the server does not serve NFSv3: %s", only_v4);
	else if (err == -EPROTONOSUPPORT)
		snprintf(error + len, ERROR_MAX - len, "; %s", only_v4);
	else if (err == 0 && !r->given)
		snprintf(error + len, ERROR_MAX - len,
		    "; NFSv3 answers at port %d: set nfs_port and mount_port",
		    NFS_PORT);
}

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
	resolve_failed(r, programs[what].name, why);
}

static void on_port(
    struct resolve *r, enum resolve_what what, uint16_t port, const char *why)
{
	r->query[what] = NULL;
	if (port)
		resolve_found(r, what, port);
	else
		program_failed(r, what, why);
	if (what == RESOLVE_NFS)
		resolve_probe(r, port);
}

static void on_nfs_port(void *arg, uint16_t port, const char *why)
{
	on_port(arg, RESOLVE_NFS, port, why);
}

static void on_mount_port(void *arg, uint16_t port, const char *why)
{
	on_port(arg, RESOLVE_MOUNT, port, why);
}

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

/* Take another one of the host's addresses each time. */
static const struct evutil_addrinfo *pick_address(
    struct resolve *r, const struct evutil_addrinfo *list)
{
	const struct evutil_addrinfo *ai;
	unsigned count = 0, at;

	for (ai = list; ai; ai = ai->ai_next)
		count++;
	at = r->round % count;
	for (ai = list; at > 0; at--)
		ai = ai->ai_next;
	return ai;
}

/* Why a name was not found, in plainer words than gai_strerror()'s. */
static const char *gai_text(int err)
{
	switch (err) {
	case 0:
	case EVUTIL_EAI_NODATA:
		return "it has no address";
	case EVUTIL_EAI_NONAME:
		return "no such name in /etc/hosts and DNS";
	case EVUTIL_EAI_AGAIN:
	case EVUTIL_EAI_FAIL:
		return "no answer from the name servers of /etc/resolv.conf";
	default:
		return evutil_gai_strerror(err);
	}
}

static void name_failed(struct resolve *r, const char *why)
{
	for (int i = 0; i < RESOLVE_COUNT; i++)
		snprintf(r->error[i], ERROR_MAX, "cannot resolve %s: %s",
		    r->p.host, why);
	resolve_failed(r, "address", why);
}

static void on_addresses(int err, struct evutil_addrinfo *list, void *arg)
{
	struct resolve *r = arg;
	const struct evutil_addrinfo *ai;

	if (err == EVUTIL_EAI_CANCEL)
		return;
	r->req = NULL;
	if (err || !list) {
		name_failed(r, gai_text(err));
		return;
	}
	ai = pick_address(r, list);
	memset(&r->host, 0, sizeof(r->host));
	memcpy(&r->host, ai->ai_addr, ai->ai_addrlen);
	evutil_freeaddrinfo(list);
	resolve_port(r, RESOLVE_NFS);
	resolve_port(r, RESOLVE_MOUNT);
}

void resolve_start(struct resolve *r)
{
	struct evutil_addrinfo hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct evdns_getaddrinfo_request *req;

	if (resolve_busy(r))
		return;
	event_del(r->ev_again);
	/* A numeric address is answered at once, and then there is no req. */
	req = evdns_getaddrinfo(
	    r->p.dns, r->p.host, NULL, &hints, on_addresses, r);
	if (req)
		r->req = req;
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	resolve_start(arg);
}

void resolve_again(struct resolve *r)
{
	struct timeval tv = clock_timeval(AGAIN_US);

	if (resolve_busy(r) || event_pending(r->ev_again, EV_TIMEOUT, NULL))
		return;
	r->round++;
	event_add(r->ev_again, &tv);
}

struct resolve *resolve_new(const struct resolve_params *p)
{
	struct resolve *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->p = *p;
	r->host_name = strdup(p->host);
	r->p.host = r->host_name;
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
	/* Its callback comes later, with EVUTIL_EAI_CANCEL: never here, as
	 * the loop does not run again before the process ends. */
	if (r->req)
		evdns_getaddrinfo_cancel(r->req);
	for (int i = 0; i < RESOLVE_COUNT; i++)
		portmap_cancel(r->query[i]);
	portmap_cancel(r->probe);
	if (r->ev_again)
		event_free(r->ev_again);
	free(r->host_name);
	free(r);
}
