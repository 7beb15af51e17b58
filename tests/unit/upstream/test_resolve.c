/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of a host's addresses a server is looked for at, in virtual time. A
 * host of the tests has some addresses, and each of them does what a line of
 * `enum at` says.
 */
#include "unittest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsproto/mount3.h"
#include "nfsproto/nfs3.h"
#include "scenario/vclock.h"
#include "upstream/hostname.h"
#include "upstream/portmap.h"
#include "upstream/resolve.h"

#define S UINT64_C(1000000)

enum { ADDRESSES = 3, PORT_NFS = 2049, PORT_MOUNT = 20048 };

enum at {
	NONE,      /* the host has no such address */
	ROUTELESS, /* no network leads there */
	REFUSES,   /* no rpcbind; NFSv4 alone is at the usual port */
	SILENT,    /* packets are lost */
	NFS_ONLY,  /* rpcbind does not know MOUNT */
	BOTH,      /* NFS and MOUNT are there */
};

/* A query or probe under way. */
struct portmap {
	struct event *ev;
	enum at at;
	uint32_t prog;
	portmap_cb cb;
	portmap_probe_cb probe;
	void *arg;
};

struct world {
	struct event_base *base;
	struct resolve *resolve;
	enum at hosts[ADDRESSES];
	unsigned lookups;          /* questions for the name */
	unsigned looks[ADDRESSES]; /* queries of its rpcbind for MOUNT */
	int found[RESOLVE_COUNT];  /* the address; -1: not yet */
	int closed;                /* connections to it fail; -1: none */
};

static struct world *w; /* of the test that runs */

/* ---- the host ---------------------------------------------------------- */

struct hostname *__wrap_hostname_ask(
    struct event_base *base, const char *host, hostname_cb cb, void *arg);
struct portmap *__wrap_portmap_query(struct event_base *base,
    struct rbuf_pool *pool, const struct sockaddr *host, uint32_t prog,
    uint32_t vers, portmap_cb cb, void *arg);
struct portmap *__wrap_portmap_probe(struct event_base *base,
    struct rbuf_pool *pool, const struct sockaddr *at, portmap_probe_cb cb,
    void *arg);
void __wrap_portmap_cancel(struct portmap *pm);

/* Address 192.0.2.1 is number 0. */
static struct sockaddr_in address_of(unsigned i)
{
	return (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201 + i)};
}

static unsigned number_of(const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;

	return ntohl(in->sin_addr.s_addr) - 0xc0000201;
}

struct hostname *__wrap_hostname_ask(
    struct event_base *base, const char *host, hostname_cb cb, void *arg)
{
	struct sockaddr_in sin[ADDRESSES];
	struct addrinfo list[ADDRESSES] = {0};

	(void)base;
	(void)host;
	w->lookups++;
	for (unsigned i = 0; i < ADDRESSES && w->hosts[i] != NONE; i++) {
		sin[i] = address_of(i);
		list[i].ai_family = AF_INET;
		list[i].ai_addr = (struct sockaddr *)&sin[i];
		list[i].ai_addrlen = sizeof(sin[i]);
		if (i > 0)
			list[i - 1].ai_next = &list[i];
	}
	cb(arg, 0, 0, list);
	return NULL;
}

void __wrap_portmap_cancel(struct portmap *pm)
{
	if (!pm)
		return;
	event_free(pm->ev);
	free(pm);
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
	struct portmap *pm = arg, was = *pm;
	bool known =
	    was.at == BOTH || (was.at == NFS_ONLY && was.prog == NFS_PROGRAM);

	(void)fd;
	(void)what;
	__wrap_portmap_cancel(pm);
	if (was.probe && was.at == REFUSES)
		was.probe(was.arg, -EPROTONOSUPPORT, 4);
	else if (was.probe)
		was.probe(was.arg, was.at == SILENT ? -ETIMEDOUT : 0, 3);
	else if (!known)
		was.cb(was.arg, 0, "nothing");
	else
		was.cb(was.arg, was.prog == NFS_PROGRAM ? PORT_NFS : PORT_MOUNT,
		    "");
}

static struct portmap *begin(const struct portmap *of, uint64_t us)
{
	struct timeval tv = clock_timeval(us);
	struct portmap *pm = malloc(sizeof(*pm));

	assert_non_null(pm);
	*pm = *of;
	pm->ev = evtimer_new(w->base, on_due, pm);
	event_add(pm->ev, &tv);
	return pm;
}

struct portmap *__wrap_portmap_query(struct event_base *base,
    struct rbuf_pool *pool, const struct sockaddr *host, uint32_t prog,
    uint32_t vers, portmap_cb cb, void *arg)
{
	unsigned i = number_of(host);
	struct portmap pm = {
	    .at = w->hosts[i], .prog = prog, .cb = cb, .arg = arg};

	(void)base;
	(void)pool;
	(void)vers;
	assert_true(i < ADDRESSES);
	if (prog == MOUNT_PROGRAM)
		w->looks[i]++;
	errno = ENETUNREACH;
	if (pm.at == ROUTELESS)
		return NULL;
	return begin(&pm, pm.at == SILENT ? 5 * S : 0);
}

struct portmap *__wrap_portmap_probe(struct event_base *base,
    struct rbuf_pool *pool, const struct sockaddr *at, portmap_probe_cb cb,
    void *arg)
{
	struct portmap pm = {
	    .at = w->hosts[number_of(at)], .probe = cb, .arg = arg};

	(void)base;
	(void)pool;
	return begin(&pm, pm.at == SILENT ? 5 * S : S);
}

/* ---- the resolver ------------------------------------------------------ */

static void on_found(
    void *ctx, enum resolve_what what, const struct sockaddr *sa)
{
	struct world *of = ctx;

	of->found[what] = (int)number_of(sa);
	if (of->found[what] == of->closed)
		resolve_again(of->resolve);
}

static int set_up(void **state)
{
	(void)state;
	w = calloc(1, sizeof(*w));
	assert_non_null(w);
	log_set_level(LOG_LEVEL_ERROR);
	w->base = event_base_new();
	vclock_start(w->base);
	w->found[RESOLVE_NFS] = w->found[RESOLVE_MOUNT] = w->closed = -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	resolve_free(w->resolve);
	event_base_free(w->base);
	free(w);
	return 0;
}

/* Looks for the server at up to three addresses; `nfs_port` as in the
 * configuration. */
static void look(uint16_t nfs_port, enum at a, enum at b, enum at c)
{
	struct resolve_params p = {.base = w->base,
	    .name = "nas",
	    .host = "nas",
	    .ports = {nfs_port},
	    .on_found = on_found,
	    .ctx = w};

	w->hosts[0] = a;
	w->hosts[1] = b;
	w->hosts[2] = c;
	w->resolve = resolve_new(&p);
	assert_non_null(w->resolve);
	resolve_start(w->resolve);
}

static void expect_found(int nfs, int mount)
{
	assert_int_equal(w->found[RESOLVE_NFS], nfs);
	assert_int_equal(w->found[RESOLVE_MOUNT], mount);
}

FIXTURE_OF_STATE(set_up, tear_down);

TEST(test_first_that_answers)
{
	look(0, BOTH, BOTH, NONE);
	vclock_pass(60 * S);
	expect_found(0, 0);
	assert_int_equal(w->looks[1], 0);
}

/* The host has an address of IPv6, too, at which nobody answers. */
TEST(test_next_of_a_silent_one)
{
	look(0, SILENT, BOTH, NONE);
	vclock_pass(6 * S);
	expect_found(1, 1);
	assert_string_equal(resolve_error(w->resolve, RESOLVE_NFS), "");
	assert_string_equal(resolve_error(w->resolve, RESOLVE_MOUNT), "");
}

/* Nothing is waited for then. */
TEST(test_next_of_one_without_a_route)
{
	look(0, ROUTELESS, REFUSES, BOTH);
	vclock_pass(S / 10);
	expect_found(2, 2);
}

/* The port of NFS stands in the configuration, so only MOUNT is asked for, and
 * nobody knows yet whether NFS answers. */
TEST(test_next_where_a_port_is_given)
{
	look(2049, SILENT, BOTH, NONE);
	vclock_pass(6 * S);
	expect_found(1, 1);
}

/* No connection can be made there either, which is told at once: the address is
 * passed over once for both. */
TEST(test_next_is_not_skipped)
{
	w->closed = 0;
	look(2049, SILENT, BOTH, NONE);
	vclock_pass(6 * S);
	expect_found(1, 1);
}

/* A name may be that of several machines. */
TEST(test_mount_is_asked_for_where_nfs_is)
{
	look(0, NFS_ONLY, BOTH, NONE);
	vclock_pass(60 * S);
	expect_found(0, -1);
	assert_true(w->looks[0] > 5);
	assert_int_equal(w->looks[1], 0);
}

/* All are tried, and then again five seconds later. */
TEST(test_none_answers)
{
	look(0, ROUTELESS, REFUSES, ROUTELESS);
	vclock_pass(S / 10);
	for (int i = 0; i < ADDRESSES; i++)
		assert_int_equal(w->looks[i], 1);
	vclock_pass(4 * S);
	assert_int_equal(w->lookups, ADDRESSES);
	vclock_pass(S);
	for (int i = 0; i < ADDRESSES; i++)
		assert_int_equal(w->looks[i], 2);
}

/* The NFSv4 of the first address is found while the second one is asked, which
 * has NFSv3. */
TEST(test_probe_of_another_address)
{
	look(0, REFUSES, BOTH, NONE);
	vclock_pass(60 * S);
	expect_found(1, 1);
	assert_false(resolve_denied(w->resolve));
	assert_string_equal(resolve_error(w->resolve, RESOLVE_NFS), "");
}
