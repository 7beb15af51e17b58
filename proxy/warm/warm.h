/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees that somebody asked for, fetched before they are needed.
 *
 * A walk goes through a tree under the credential of the user who asked, and
 * asks the server for what the caches lack or would confirm anyway: listings
 * with attributes, rights where they last (frozen, or offline = serve), links,
 * and data. Their replies enter the caches like all others (learn.h).
 *
 *	walk ─▶ job in the last lane of the want queue (want.h)
 *	  ▲               │ its turn
 *	  │               ▼
 *	items ─▶ what does the next one need? ─▶ call ─▶ server
 *	  ▲                                                │
 *	  └── entries, rest of a path, rest of a file ◀────┘
 *
 * So it sends no more than speculation may (budget.h), and nothing while
 * predictions wait.
 *
 * A walk that is begun again finds what the former one brought: where a tree
 * has not changed, each directory takes one call, or none while its entries
 * are fresh.
 *
 * A walk for a pin (pins.h) also pins the files that it meets, each one once
 * the server has granted its user to read it: the data may be there since
 * somebody else read it.
 */
#ifndef FOREFETCH_WARM_H
#define FOREFETCH_WARM_H

#include <stdbool.h>
#include <stdint.h>

struct caches;
struct config_server;
struct linkest;
struct prefetch;
struct user;
struct warm;
struct warm_walk;

enum {
	WARM_WALKS_MAX = 32, /* of a server */
	WARM_WALKS_KEPT = 4, /* for root and the daemon's user (places.h) */
	WARM_WALKS_UID = 16, /* of a uid other than these */
};

/* The modules that the walks of one server use, which outlive them; and the
 * configuration, which warm_set_config() replaces. */
struct warm_params {
	struct prefetch *prefetch; /* whose queue the walks are in */
	struct caches *caches;
	struct linkest *link;
	const struct config_server *config; /* see warm_set_config() */
	uint64_t disk_bytes;                /* what the data cache may take */
};

/* NULL and errno without memory. */
struct warm *warm_new(const struct warm_params *p);
/* Ends all walks without a word; whoever has one must not use it after this.
 * NULL is allowed. */
void warm_free(struct warm *wm);
/* Sets the disk space that the data cache may use. */
void warm_set_disk(struct warm *wm, uint64_t disk_bytes);
/* A reloaded configuration of the server. */
void warm_set_config(struct warm *wm, const struct config_server *config);

/*
 * Begins to walk, with the rights of `who`, what lies at `path` ("" for all)
 * below the export `export`: a path that the server lets mount. `path` has
 * neither "." nor ".." nor empty parts. With `data` files are read, too. To be
 * ended by warm_end() in any case.
 *
 * NULL and errno: EINVAL for such a path or one that is too long, EPERM for an
 * export that is not offered (`exports`), ENOENT for one that nobody has
 * mounted (root and the daemon's user have it mounted by the daemon), EBUSY for
 * too many walks, ENOMEM.
 */
struct warm_walk *warm_begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data);
/* Begins a walk for a pin (datacache_pin()), with data. Files that the server
 * does not let the user read, or for which there is no room, are not pinned.
 * `asked`: a user asked for it now, so that a metered link does not hold it
 * back. */
struct warm_walk *warm_begin_pin(struct warm *wm, const struct user *who,
    const char *export, const char *path, unsigned pin, bool asked);
/* Ends and frees it. The caches still learn from calls under way. */
void warm_end(struct warm_walk *w);

/* How a walk does. */
enum warm_state {
	WARM_WALKS,
	WARM_DONE,
	WARM_FAILED, /* the path could not be reached; see `status` */
};

/* How far a walk is; counts are since it began. */
struct warm_progress {
	enum warm_state state;
	uint32_t status; /* of the server, where FAILED: nfsstat3 */
	bool waits;      /* the server is away, or other calls go first */
	bool paused;     /* calls ahead are paused (hold.h) */
	bool metered;    /* the link is */
	bool full; /* the tree's data has no room in the cache, or more would
		    * be pinned than may be */
	uint64_t directories; /* looked at */
	uint64_t files;
	uint64_t others;        /* links, devices */
	uint64_t file_bytes;    /* sizes of the files */
	uint64_t fetched_bytes; /* of replies */
	uint64_t calls;
	uint64_t refused; /* the server did not allow it */
	uint64_t failed;  /* other errors, and what there was no room for */
	uint64_t loops; /* times that a directory, or a part of a listing, came
			 * again, and was left out */
	bool endless;   /* more directories than a tree can have */
	uint64_t left;  /* known, and not yet looked at */
	uint64_t elapsed_us;
};
/* Tells how far the walk is now, also when it has ended. */
void warm_get_progress(const struct warm_walk *w, struct warm_progress *out);

#endif
