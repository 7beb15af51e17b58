/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes next, learned from what passes: streams told apart by the time
 * of replies, trails (access trees, flattened; Lei & Duchamp 1997), a bounded
 * successor graph, and the name space for what was never seen.
 *
 * Objects, directories, actors and connections are opaque 64-bit keys, never
 * zero; a directory has one key as an object and as a parent. Names are
 * hashes. Times are nanoseconds of any steady clock, and come as arguments.
 * Memory stays below the budget given at the start. An event costs constant
 * time, amortised.
 *
 * Calls about one object that come close together are one access of it: the
 * LOOKUP, ACCESS and READs of an open. Reads further on belong to the access
 * that began the file. What the access needed is learned with it.
 */
#ifndef FOREFETCH_PREDICTOR_H
#define FOREFETCH_PREDICTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum predictor_kind {
	PREDICTOR_READ,    /* `count_bytes` at `offset_bytes` */
	PREDICTOR_LOOKUP,  /* a name was found */
	PREDICTOR_ABSENT,  /* a name was not found */
	PREDICTOR_GETATTR, /* most likely an open of what is known */
	PREDICTOR_READDIR, /* `object` is the directory */
	PREDICTOR_ACCESS,
	PREDICTOR_KINDS
};

struct predictor_obs {
	enum predictor_kind kind;
	/* A program: EXECUTE granted, ELF or #!. False says nothing: once
	 * said it holds, until the name gets another object. */
	bool exec;
	bool directory;        /* the object is one */
	uint64_t now_ns;       /* when the request came */
	uint64_t latency_ns;   /* until its reply went out */
	uint64_t actor;        /* client address and uid */
	uint64_t uid;          /* whose trees these are */
	uint64_t connection;   /* 0 if unknown */
	uint64_t client;       /* address; 0: of no session */
	uint64_t space;        /* file system; 0: of no session */
	uint64_t pid;          /* 0 if unknown */
	uint64_t object;       /* ABSENT: a hash of parent and name */
	uint64_t parent;       /* its directory; 0 if unknown */
	uint64_t name_hash;    /* 0 if unknown */
	uint64_t type_hash;    /* of the name's extension; 0 if it has none */
	uint64_t size_bytes;   /* of the object; 0 if unknown */
	uint64_t offset_bytes; /* READ */
	uint32_t count_bytes;  /* READ: asked for; 0 if unknown */
};

/* What the use of a prediction's object will need. */
enum {
	PREDICTOR_NEEDS_NAME = 1 << 0,
	PREDICTOR_NEEDS_ATTR = 1 << 1,
	PREDICTOR_NEEDS_ACCESS = 1 << 2,
	PREDICTOR_NEEDS_DATA = 1 << 3,
	PREDICTOR_NEEDS_LISTING = 1 << 4, /* of the directory */
	/* That the name is not in `parent`: what confirms the directory
	 * confirms it, and so does its listing. */
	PREDICTOR_NEEDS_ABSENCE = 1 << 5,
	/* DATA beyond the first bytes: predictor_extents() */
	PREDICTOR_NEEDS_EXTENTS = 1 << 6,
};

enum predictor_source {
	PREDICTOR_FROM_TRAIL,
	PREDICTOR_FROM_GRAPH,
	PREDICTOR_FROM_NAMES,
	PREDICTOR_FROM_SESSION,
	PREDICTOR_SOURCES
};

struct prediction {
	uint64_t object;
	uint64_t parent;      /* 0 if unknown */
	uint64_t size_bytes;  /* 0 if unknown */
	uint64_t read_bytes;  /* from its beginning on, in all; 0 if unknown */
	float p;              /* that it will be used before long */
	uint32_t lead;        /* in accesses of its stream, 1 for the next */
	uint32_t first_bytes; /* that its first READ asked; 0 if unknown */
	uint8_t needs;
	uint8_t source;
	bool early; /* long before: what is confirmed now will be too old */
};

/* `count` pieces of a file, `stride` from start to start; 1 and 0 for one. */
struct predictor_extent {
	uint64_t offset_bytes;
	int64_t stride_bytes;
	uint32_t length_bytes;
	uint32_t count;
};

enum predictor_outcome {
	PREDICTOR_USED,   /* fetched ahead and there when it was wanted */
	PREDICTOR_LATE,   /* used, and still in flight when it was wanted */
	PREDICTOR_UNUSED, /* fetched ahead and dropped without a use */
	/* Not fetched, since other things went first: it is told again when it
	 * is nearer. To be said right after predictor_predict(). */
	PREDICTOR_DROPPED,
};

/* One name of a listing. */
struct predictor_dirent {
	uint64_t object;
	uint64_t name_hash;
	uint64_t type_hash;
	uint64_t size_bytes;
	uint32_t rank; /* of its name among the names of this listing */
	bool exec;
	bool directory;
};

/*
 * Whether `uid` may search `parent`, so that it may profit from `object`
 * there, which it has never met itself. Asked while predicting only.
 */
typedef bool (*predictor_may)(
    void *ctx, uint64_t uid, uint64_t parent, uint64_t object);

struct predictor_options {
	/* Of what is learned; 0: 64 MiB. Streams take 1.3 MiB beside it. */
	size_t budget_bytes;
	bool use_pids; /* believe obs.pid */
	/* What a uid's calls have brought within so long is not predicted to
	 * it, but later may be, to be confirmed again. 0: nothing is that the
	 * stream has had since its last pause. */
	uint64_t recent_ns;
	predictor_may may; /* NULL: no uid profits from another */
	void *may_ctx;
};

struct predictor_stats {
	uint64_t events, predicted, used, late, unused;
	uint64_t streams_made;
	uint64_t scans_guarded; /* walks that were kept out of the history */
	uint64_t walled;        /* predictions that `may` did not let pass */
	/* Where predictions came from, and how many of them came true,
	 * whether they were fetched or not. */
	struct {
		uint64_t predicted, used;
	} by_source[PREDICTOR_SOURCES];
	size_t objects, memory_bytes;
};

struct predictor;

/* NULL and errno: ENOMEM, or EINVAL for a budget below 1 MiB. */
struct predictor *predictor_new(const struct predictor_options *opt);
void predictor_free(struct predictor *p);

/* How long before its use an object should be asked for, in nanoseconds: more
 * accesses are predicted to a stream that is fast. 0: as far as ever. */
void predictor_set_lead(struct predictor *p, uint64_t lead_ns);

/*
 * Sessions: what a user's programs use in a file system after a mount, or
 * with the first call after `pause_ns` (0: never for that reason), is recorded
 * for `time_ns` (0: not at all). The last three of a uid are what the next one
 * is told ahead, as far as it goes like them.
 */
void predictor_set_sessions(
    struct predictor *p, uint64_t pause_ns, uint64_t time_ns);
/* A client mounted the file system: each user's next call begins a session. */
void predictor_mounted(struct predictor *p, uint64_t client, uint64_t space);
/* The session that the last event is of, 0 if nothing is told of it. */
uint32_t predictor_session(const struct predictor *p);
/*
 * What of that session is due, in the order of its use: of a little more than
 * what is near, while it comes true. Returns how many, `max` at most; to be
 * asked again while predictor_session_goes_on().
 */
size_t predictor_replay(struct predictor *p, uint32_t session, uint64_t now_ns,
    struct prediction *out, size_t max);
bool predictor_session_goes_on(const struct predictor *p, uint32_t session);

struct predictor_session_stats {
	uint64_t recorded, replayed;
	uint64_t wanted;  /* objects told, each once */
	uint64_t used;    /* of these */
	uint64_t stopped; /* replays, since a session went otherwise */
};
void predictor_get_session_stats(
    const struct predictor *p, struct predictor_session_stats *st);

void predictor_observe(struct predictor *p, const struct predictor_obs *o);

/*
 * What the last event makes likely and was not predicted to the same stream
 * already, by falling probability. Returns how many, `max` at most. The
 * object of the event itself is among them if more of it will be needed than
 * was asked for.
 */
size_t predictor_predict(
    struct predictor *p, struct prediction *out, size_t max);

/*
 * What was predicted to the stream of the last event and will hardly come,
 * since that broke the trail that it was on, or came after a pause; and what
 * no other stream of the same uid was told. To be asked right after
 * predictor_predict(). Returns how many, `max` at most.
 */
size_t predictor_withdrawn(
    const struct predictor *p, uint64_t *objects, size_t max);

/* Which parts of the file a run reads, by offset of the first ones; none if
 * it read but the beginning, or without a pattern. `max` at most. */
size_t predictor_extents(const struct predictor *p, uint64_t object,
    struct predictor_extent *out, size_t max);

/* In which order the last run read the file, piece by piece, where it went all
 * over it; none where there were too many. `max` at most. */
size_t predictor_order(const struct predictor *p, uint64_t object,
    struct predictor_extent *out, size_t max);
/* Another number where the file has another last run. */
uint32_t predictor_run(const struct predictor *p, uint64_t object);

/*
 * What became of a prediction that was fetched. Fetches in vain lower the
 * object's probability; late ones make predictions reach further ahead.
 */
void predictor_feedback(
    struct predictor *p, uint64_t object, enum predictor_outcome what);

/* A directory was listed, whole, for `uid`; `ents` are in the order of
 * READDIR. */
void predictor_list(struct predictor *p, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n);

/* Where a directory hangs: gives its objects their path suffix, by which a
 * second checkout is known to be like the first. Observations and listings
 * of directories say it too. */
void predictor_place_dir(struct predictor *p, uint64_t uid, uint64_t dir,
    uint64_t parent, uint64_t name_hash);

/* An object got another place, or a name another object: what is known about
 * (parent, name) goes over to `object`. */
void predictor_rename(
    struct predictor *p, uint64_t object, uint64_t parent, uint64_t name_hash);
/* An object is gone (removed, or its handle stale). */
void predictor_forget(struct predictor *p, uint64_t object);
/* All that was learned is forgotten. 0, or -ENOMEM and nothing changed. */
int predictor_clear(struct predictor *p);

void predictor_get_stats(const struct predictor *p, struct predictor_stats *st);

/* Ten buckets of predicted probability: how many, and how many were used. */
struct predictor_reliability {
	double predicted[10]; /* sum of p */
	uint64_t n[10], used[10];
};
void predictor_get_reliability(
    const struct predictor *p, struct predictor_reliability *r);

#endif
