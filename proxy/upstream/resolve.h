/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a server is: its address by name, its ports by its rpcbind. Nothing
 * here blocks (hostname.h); it tries until it knows, and again when told that
 * what it knew does not answer.
 */
#ifndef FOREFETCH_RESOLVE_H
#define FOREFETCH_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct event_base;
struct rbuf_pool;
struct resolve;

/* The error of a server that has NFS, but not version 3. */
#define RESOLVE_ONLY_V4                                                        \
	"the server offers NFSv4 only; switch NFSv3 on there (vers3=y below "  \
	"[nfsd] in its /etc/nfs.conf), or mount it without forefetch (mount "  \
	"-t nfs -o vers=4)"

enum resolve_what {
	RESOLVE_NFS,
	RESOLVE_MOUNT,
	RESOLVE_COUNT,
};

struct resolve_params {
	struct event_base *base;
	struct rbuf_pool *pool;
	const char *name; /* the server's, for log lines */
	const char *host;
	uint16_t ports[RESOLVE_COUNT]; /* 0: ask rpcbind */
	void (*on_found)(
	    void *ctx, enum resolve_what what, const struct sockaddr *sa);
	void *ctx;
};

struct resolve *resolve_new(const struct resolve_params *p);
void resolve_free(struct resolve *r);

/* Begin now. */
void resolve_start(struct resolve *r);
/* Looks again, though not all the time, since the address that was found does
 * not answer; takes the next of the host's addresses. */
void resolve_again(struct resolve *r);
/* The network is another one: look again at once, though not more often than
 * once a second, and do not wait for what was asked over the old one. */
void resolve_anew(struct resolve *r, uint64_t now_us);
/* Why a program was not found the last time, a sentence with what to do about
 * it where that is known; "" where it was. */
const char *resolve_error(const struct resolve *r, enum resolve_what what);
/* The server was asked, and does not serve NFSv3: resolve_error() says so. */
bool resolve_denied(const struct resolve *r);
/* Whether it is looking. */
bool resolve_busy(const struct resolve *r);

#endif
