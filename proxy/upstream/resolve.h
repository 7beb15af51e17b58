/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a server is: its address by name, its ports by its rpcbind. Nothing
 * here blocks (hostname.h); it tries all of the host's addresses until it
 * knows, and again when told that what it knew does not answer. It is asked by
 * daemon/, which hands what it finds to upstream_set_address().
 */
#ifndef FOREFETCH_RESOLVE_H
#define FOREFETCH_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct event_base;
struct rbuf_pool;
struct resolve;

/* The error of a server that has a later version of NFS, but not version 3. */
#define RESOLVE_ONLY_V4                                                        \
	"the server offers NFSv4 only; switch NFSv3 on there (vers3=y below "  \
	"[nfsd] in its /etc/nfs.conf), or mount it without forefetch (mount "  \
	"-t nfs -o vers=4)"

enum resolve_what {
	RESOLVE_NFS,
	RESOLVE_MOUNT,
	RESOLVE_COUNT,
};

/* The needs of a resolver; `host` is copied, `name` and all else must outlive
 * it. */
struct resolve_params {
	struct event_base *base;
	struct rbuf_pool *pool;
	const char *name; /* the server's, for log lines */
	const char *host;
	/* The port that the configuration gives; 0: rpcbind is asked. */
	uint16_t ports[RESOLVE_COUNT];
	/* Says where a program is; each time that it was found, changed or not.
	 */
	void (*on_found)(
	    void *ctx, enum resolve_what what, const struct sockaddr *sa);
	void *ctx;
};

/* Makes a resolver that does nothing yet. NULL without memory. */
struct resolve *resolve_new(const struct resolve_params *p);
/* Ends all questions; NULL is allowed. */
void resolve_free(struct resolve *r);

/* Begins to look now, unless it does already. */
void resolve_start(struct resolve *r);
/* Says that the address that was found does not answer: looks again after 5 s,
 * and takes the next of the host's addresses. Nothing where it is looking, or
 * about to. */
void resolve_again(struct resolve *r);
/* Says that the network is another one: looks again at once, though not more
 * often than once a second, and does not wait for what was asked over the old
 * one. */
void resolve_anew(struct resolve *r, uint64_t now_us);
/* Returns why a program was not found the last time, a sentence with what to do
 * about it where that is known; "" where it was. Good until it is looked for
 * again. */
const char *resolve_error(const struct resolve *r, enum resolve_what what);
/* Whether the server was asked, and does not serve NFSv3: resolve_error() says
 * so. */
bool resolve_denied(const struct resolve *r);
/* Whether it is looking. */
bool resolve_busy(const struct resolve *r);

#endif
