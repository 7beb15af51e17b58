/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes next, learned from what passes: streams told apart by the time
 * of replies, trails (access trees, flattened; Lei & Duchamp 1997), a bounded
 * successor graph, and the name space for what was never seen.
 *
 * Objects, directories, actors and connections are opaque 64-bit keys, never
 * zero; names are hashes. Times are nanoseconds of any steady clock, and come
 * as arguments. Memory stays below the budget given at the start. An event
 * costs constant time, amortised.
 */
#ifndef FOREFETCH_PREDICTOR_H
#define FOREFETCH_PREDICTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum predictor_kind {
	PREDICTOR_READ,    /* bytes at `offset` */
	PREDICTOR_LOOKUP,  /* a name was found */
	PREDICTOR_ABSENT,  /* a name was not found */
	PREDICTOR_GETATTR, /* GETATTR or ACCESS: most likely an open */
	PREDICTOR_READDIR, /* `object` is the directory */
	PREDICTOR_KINDS
};

struct predictor_obs {
	enum predictor_kind kind;
	bool exec;             /* a program: EXECUTE granted, ELF or #! */
	uint64_t now_ns;       /* when the request came */
	uint64_t latency_ns;   /* until its reply went out */
	uint64_t actor;        /* client address and uid */
	uint64_t connection;   /* 0 if unknown */
	uint64_t pid;          /* 0 if unknown */
	uint64_t object;       /* ABSENT: a hash of parent and name */
	uint64_t parent;       /* its directory; 0 if unknown */
	uint64_t name_hash;    /* 0 if unknown */
	uint64_t type_hash;    /* of the name's extension; 0 if it has none */
	uint64_t size_bytes;   /* of the object */
	uint64_t offset_bytes; /* READ */
};

/* What the use of a prediction's object will need. */
enum {
	PREDICTOR_NEEDS_NAME = 1 << 0,
	PREDICTOR_NEEDS_ATTR = 1 << 1,
	PREDICTOR_NEEDS_ACCESS = 1 << 2,
	PREDICTOR_NEEDS_DATA = 1 << 3,
	PREDICTOR_NEEDS_LISTING = 1 << 4,
};

enum predictor_source {
	PREDICTOR_FROM_TRAIL,
	PREDICTOR_FROM_GRAPH,
	PREDICTOR_FROM_NAMES,
	PREDICTOR_SOURCES
};

struct prediction {
	uint64_t object;
	uint64_t parent;     /* 0 if unknown */
	float p;             /* that it will be used before long */
	uint32_t lead;       /* in events of its stream, 1 for the next */
	uint32_t data_bytes; /* first bytes to fetch; 0 if size unknown */
	uint8_t needs;
	uint8_t source;
};

enum predictor_outcome {
	PREDICTOR_USED,   /* fetched ahead and there when it was wanted */
	PREDICTOR_LATE,   /* used, and still in flight when it was wanted */
	PREDICTOR_UNUSED, /* fetched ahead and dropped without a use */
};

/* One name of a listing, in the order of READDIR. */
struct predictor_dirent {
	uint64_t object;
	uint64_t name_hash;
	uint64_t type_hash;
	uint64_t size_bytes;
	uint32_t rank; /* of its name among the names of this listing */
	bool exec;
	bool directory;
};

struct predictor_options {
	size_t budget_bytes; /* all memory; 0: 64 MiB */
	bool use_pids;       /* believe obs.pid */
};

struct predictor_stats {
	uint64_t events, predicted, used, late, unused;
	uint64_t streams_made, scans_guarded;
	size_t objects, memory_bytes;
};

struct predictor;

/* NULL and errno: ENOMEM, or EINVAL for a budget below 1 MiB. */
struct predictor *predictor_new(const struct predictor_options *opt);
void predictor_free(struct predictor *p);

void predictor_observe(struct predictor *p, const struct predictor_obs *o);

/*
 * What the last event makes likely and was not predicted to the same stream
 * already, by falling probability. Returns how many, `max` at most.
 */
size_t predictor_predict(
    struct predictor *p, struct prediction *out, size_t max);

void predictor_feedback(
    struct predictor *p, uint64_t object, enum predictor_outcome what);

/* A directory was listed, whole. */
void predictor_list(struct predictor *p, uint64_t dir,
    const struct predictor_dirent *ents, size_t n);

/* Where a directory hangs: gives its objects their path suffix, by which a
 * second checkout is known to be like the first. */
void predictor_place_dir(
    struct predictor *p, uint64_t dir, uint64_t parent, uint64_t name_hash);

/* An object got another place, or a name another object: what is known about
 * (parent, name) goes over to `object`. */
void predictor_rename(
    struct predictor *p, uint64_t object, uint64_t parent, uint64_t name_hash);
/* An object is gone (removed, or its handle stale). */
void predictor_forget(struct predictor *p, uint64_t object);

void predictor_get_stats(const struct predictor *p, struct predictor_stats *st);

/* Ten buckets of predicted probability: how many, and how many were used. */
struct predictor_reliability {
	double predicted[10]; /* sum of p */
	uint64_t n[10], used[10];
};
void predictor_get_reliability(
    const struct predictor *p, struct predictor_reliability *r);

#endif
