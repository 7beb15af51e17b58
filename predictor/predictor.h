/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The predictor: what a client will use next, learned from what it uses.
 *
 *	observe() ──▶ ┌──────────────────────────────────┐ ──▶ predict()
 *	list() ─────▶ │ streams, trails, graph, names,   │ ──▶ replay()
 *	feedback() ─▶ │ sessions                         │ ──▶ withdrawn()
 *	              └──────────────────────────────────┘
 *
 * It tells streams apart by the timing of replies. It predicts from trails,
 * which are access trees, flattened (Lei and Duchamp 1997), from a bounded
 * graph of successors, and from the names in directories for what was never
 * used before.
 *
 *	core/       observing and predicting; core.h is its map
 *	store/      the memory: objects, names, trails, graph, calibration ...
 *	sessions/   what a user does after a mount or a long pause
 *	persist/    saving, loading, showing and forgetting what was learned
 *	pattern/    patterns inside a file, beside the predictor
 *	walk/       directories and names of those who go through trees, as well
 *	trace/ sim/ baselines/   recorded traces, and the judge: forefetch-sim
 *
 * Objects, directories, actors and connections are opaque 64-bit keys and
 * never zero; a directory has the same key as an object and as a parent. Names
 * are hashes by XXH3_64bits(), of types by that of the extension without its
 * dot, with the lowest bit set: what is known of common names at the start goes
 * by these (store/nameodds.h). Times are nanoseconds of any steady clock, and
 * come as arguments. There is no I/O but in persist/ and the simulator. Memory
 * stays below the budget given at the start. An event costs constant time,
 * amortised.
 *
 * Calls about one object that come close together are one access of it: the
 * LOOKUP, ACCESS and READs of an open. Later READs of the file belong to the
 * access that began it. The needs of an access are learned with it.
 */
#ifndef FOREFETCH_PREDICTOR_H
#define FOREFETCH_PREDICTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The procedure of NFS that a call was, and whether it found what it asked
 * for. */
enum predictor_kind {
	PREDICTOR_READ,    /* `count_bytes` at `offset_bytes` */
	PREDICTOR_LOOKUP,  /* a name was found */
	PREDICTOR_ABSENT,  /* a name was not found */
	PREDICTOR_GETATTR, /* most likely an open of what is known */
	PREDICTOR_READDIR, /* `object` is the directory */
	PREDICTOR_ACCESS,
	PREDICTOR_KINDS
};

/* A call that was answered: all that the predictor is told of it. Keys are
 * opaque, and 0 where they are not known. */
struct predictor_obs {
	enum predictor_kind kind;
	/* It is a program: EXECUTE was granted, or it begins with ELF or #!.
	 * Once said, it holds until the name gets another object. */
	bool exec;
	bool directory;        /* the object is a directory */
	uint64_t now_ns;       /* when the request came */
	uint64_t latency_ns;   /* until its reply went out */
	uint64_t actor;        /* client address and uid */
	uint64_t uid;          /* trees belong to it */
	uint64_t connection;   /* 0 if unknown */
	uint64_t client;       /* address; 0: not part of a session */
	uint64_t space;        /* file system; 0: not part of a session */
	uint64_t pid;          /* 0 if unknown */
	uint64_t object;       /* ABSENT: a hash of parent and name */
	uint64_t parent;       /* its directory; 0 if unknown */
	uint64_t name_hash;    /* 0 if unknown */
	uint64_t type_hash;    /* of the name's extension; 0 if it has none */
	uint64_t size_bytes;   /* of the object; 0 if unknown */
	uint64_t offset_bytes; /* READ */
	uint32_t count_bytes;  /* READ: asked for; 0 if unknown */
	/* After this call, no object is predicted to the uid that it has used
	 * within this time; one that it used before is, so that it is confirmed
	 * again. 0: an
	 * object that a stream has used since its last pause is not predicted
	 * to it. */
	uint64_t recent_ns;
};

/* The parts of a prediction's object that its use will need. */
enum {
	PREDICTOR_NEEDS_NAME = 1 << 0,
	PREDICTOR_NEEDS_ATTR = 1 << 1,
	PREDICTOR_NEEDS_ACCESS = 1 << 2,
	PREDICTOR_NEEDS_DATA = 1 << 3,
	PREDICTOR_NEEDS_LISTING = 1 << 4, /* of the directory */
	/* That the name is not in `parent`; whatever confirms that directory,
	 * or its listing, confirms this. */
	PREDICTOR_NEEDS_ABSENCE = 1 << 5,
	/* data beyond the first bytes: see predictor_extents() */
	PREDICTOR_NEEDS_EXTENTS = 1 << 6,
};

/* The part of the predictor that made a prediction. */
enum predictor_source {
	PREDICTOR_FROM_TRAIL,
	PREDICTOR_FROM_GRAPH,
	PREDICTOR_FROM_NAMES,
	PREDICTOR_FROM_SESSION,
	PREDICTOR_SOURCES
};

/* An object that will be used soon, or a listing that will show more: how
 * likely that is, when, and what its use will need. */
struct prediction {
	uint64_t object;
	uint64_t parent;     /* 0 if unknown */
	uint64_t size_bytes; /* 0 if unknown */
	uint64_t read_bytes; /* of its beginning, in all; 0 if unknown */
	float p;             /* probability that it will be used soon */
	/* Lookups that its listing will spare; 0: it will be read itself. The
	 * predictor does not say. */
	float calls_spared;
	uint32_t lead;        /* in accesses of its stream, 1 for the next */
	uint32_t first_bytes; /* that its first READ asked for; 0 if unknown */
	uint8_t needs;        /* PREDICTOR_NEEDS_… */
	uint8_t source;       /* enum predictor_source */
	bool early; /* used so late that attributes fetched now are too old */
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
	/* Not fetched, since other things went first: it is predicted again
	 * when it is nearer. To be said right after predictor_predict(). */
	PREDICTOR_DROPPED,
};

/* One name of a listing. */
struct predictor_dirent {
	uint64_t object;
	uint64_t name_hash;
	uint64_t type_hash;
	uint64_t size_bytes;
	uint32_t rank; /* its place if the listing was sorted by name */
	bool exec;
	bool directory;
	bool hidden; /* its name begins with a dot */
};

/*
 * Whether `uid` may search `parent`: then it may be told of `object` there,
 * which it has never met itself. It is called by predictor_observe() and
 * predictor_predict() only.
 */
typedef bool (*predictor_may_search)(
    void *ctx, uint64_t uid, uint64_t parent, uint64_t object);

/* Parts that forefetch-sim leaves out, one at a time, to show what each of them
 * brings (bench/predictor/ablation). */
enum predictor_part {
	PREDICTOR_PART_TRAILS,
	PREDICTOR_PART_GRAPH,
	/* Guesses in the directory at hand, and all that is counted for them.
	 */
	PREDICTOR_PART_NAMES,
	PREDICTOR_PART_BELOW, /* guesses in directories that were not entered
				 yet */
	PREDICTOR_PART_ANALOGIES,   /* the same name in the next directory */
	PREDICTOR_PART_TWINS,       /* objects whose paths end alike */
	PREDICTOR_PART_ODDS,        /* by name and kind, learned */
	PREDICTOR_PART_READS,       /* kinds of which files are read */
	PREDICTOR_PART_ORDER,       /* the order of READDIR */
	PREDICTOR_PART_CALIBRATION, /* what became of predictions */
	PREDICTOR_PART_DISCOUNT,    /* for what was fetched in vain */
	PREDICTOR_PART_REACH,       /* further ahead where fetches are late */
	PREDICTOR_PART_WITHDRAWAL,  /* taking back what was told */
	PREDICTOR_PART_SCANS,       /* walks stay out of a full history */
	PREDICTOR_PARTS
};

/* "trails", …, as the constants are called. */
const char *predictor_part_name(enum predictor_part part);

/* Zeroed, they are the defaults; predictor_new() copies them. */
struct predictor_options {
	/* Of what is learned; 0: 64 MiB. Beside it streams take up to an
	 * eighth of it, when they are needed; 32 of them, 1 MiB, always. */
	size_t budget_bytes;
	uint32_t
	    without; /* bits 1 << PREDICTOR_PART_…; 0: nothing is left out */
	bool use_pids; /* believe obs.pid */
	/* NULL: no uid is told of what only others have used. */
	predictor_may_search may_search;
	void *may_search_ctx;
};

/* Figures since the predictor was made or cleared; the last two are of now. */
struct predictor_stats {
	uint64_t events, predicted, used, late, unused;
	uint64_t streams_made;
	uint64_t scans_guarded; /* walks that were kept out of the history */
	uint64_t walled;        /* predictions that may_search() refused */
	/* Predictions by their source, and how many of them came true, whether
	 * they were fetched or not. */
	struct {
		uint64_t predicted, used;
	} by_source[PREDICTOR_SOURCES];
	size_t objects, memory_bytes;
};

struct predictor;

/* NULL and errno: ENOMEM, or EINVAL for a budget below 1 MiB. */
struct predictor *predictor_new(const struct predictor_options *opt);
/* Frees it with all that it knows; NULL is allowed. */
void predictor_free(struct predictor *p);

/* Sets how long before its use an object should be asked for, in nanoseconds:
 * so a fast stream is predicted more accesses. 0: the pace does not matter. */
void predictor_set_lead(struct predictor *p, uint64_t lead_ns);

/*
 * Sessions: what a user's programs use in a file system after a mount, or after
 * a pause of `pause_ns` (0: after mounts only), is recorded for `time_ns` (0:
 * not at all). The last three sessions of a uid are told ahead to its next one,
 * as far as that goes like them.
 */
void predictor_set_sessions(
    struct predictor *p, uint64_t pause_ns, uint64_t time_ns);
/* A client mounted the file system: each user's next call begins a session. */
void predictor_mounted(struct predictor *p, uint64_t client, uint64_t space);
/* The session of the last event; 0 if it has none that is told anything. */
uint32_t predictor_session(const struct predictor *p);
/*
 * Gives the objects of that session that should be fetched now, in the order of
 * their use. Returns how many, `max` at most; to be asked again from time to
 * time while predictor_session_goes_on().
 */
size_t predictor_replay(struct predictor *p, uint32_t session, uint64_t now_ns,
    struct prediction *out, size_t max);
bool predictor_session_goes_on(const struct predictor *p, uint32_t session);

struct predictor_session_stats {
	uint64_t recorded, replayed;
	uint64_t wanted;  /* objects that were told, each counted once */
	uint64_t used;    /* how many of these were used */
	uint64_t stopped; /* replays that ended: the session went otherwise */
};
void predictor_get_session_stats(
    const struct predictor *p, struct predictor_session_stats *st);

/* Whether the object of the last event had been told by history: trails and
 * graph, not names. */
enum predictor_led {
	PREDICTOR_GOES_ON, /* it was a further call of one access */
	PREDICTOR_LED,
	PREDICTOR_NOT_LED,
};
enum predictor_led predictor_led(const struct predictor *p);

/* A call was answered: the predictor learns from it, and makes candidates,
 * which predictor_predict() tells. A call without an object is left out, and so
 * is one for whose object there is no memory. `o` is not kept. Constant time,
 * amortised. */
void predictor_observe(struct predictor *p, const struct predictor_obs *o);

/*
 * Gives the objects that the last event makes likely, unless the stream was
 * told already, the likeliest first. Returns how many, `max` at most. The
 * object of the event itself is among them if its access will need more than it
 * has asked for.
 */
size_t predictor_predict(
    struct predictor *p, struct prediction *out, size_t max);

/*
 * Gives the objects that were predicted to the stream of the last event and
 * will hardly come, since the stream left its trail or paused. Those that
 * another stream of the same uid was told, too, are left out. To be asked right
 * after predictor_predict(). Returns how many, `max` at most.
 */
size_t predictor_withdrawn(
    const struct predictor *p, uint64_t *objects, size_t max);

/* Which parts of the file its last run read; none if that was only the
 * beginning, or had no pattern. Returns how many, `max` at most. */
size_t predictor_extents(const struct predictor *p, uint64_t object,
    struct predictor_extent *out, size_t max);

/* Properties of a file, whoever has used it. */
struct predictor_file {
	uint16_t type;   /* low bits of type_hash; 0: none, or not known */
	bool read;       /* it was read before */
	uint64_t parent; /* its directory; 0 if unknown */
};
void predictor_get_file(
    const struct predictor *p, uint64_t object, struct predictor_file *out);

/* In which order the last run read the file, piece by piece, if it went all
 * over it; none if there were too many pieces. Returns how many, `max` at most.
 */
size_t predictor_order(const struct predictor *p, uint64_t object,
    struct predictor_extent *out, size_t max);
/* A number that changes when the file has another last run. */
uint32_t predictor_run(const struct predictor *p, uint64_t object);

/*
 * Tells the predictor the outcome of a prediction that was fetched. Fetches in
 * vain lower the object's probability; late ones make predictions reach further
 * ahead.
 */
void predictor_feedback(
    struct predictor *p, uint64_t object, enum predictor_outcome what);

/* A directory was listed for `uid`; `ents` are all of its names, in the order
 * of READDIR, 65,534 at most. The listing takes the place of the one before;
 * where it finds no room in its share of the budget, that one stays. Names
 * whose rank is not below `n` are left out. Time is linear in `n`. */
void predictor_list(struct predictor *p, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n);

/* Says where a directory hangs. This gives its objects the end of their path,
 * by which a second checkout is known to be like the first. Observations and
 * listings of directories say it, too. */
void predictor_place_dir(struct predictor *p, uint64_t uid, uint64_t dir,
    uint64_t parent, uint64_t name_hash);

/* The object is called by that name now: what is known about (parent, name)
 * goes over to it. All three must be known, or nothing happens. Until the next
 * event, predictor_predict() tells nothing. */
void predictor_rename(
    struct predictor *p, uint64_t object, uint64_t parent, uint64_t name_hash);
/* An object is gone (removed, or its handle stale). Its key is remembered in
 * one of 1,024 places until another one takes that, so that a merge does not
 * bring the object back at once. */
void predictor_forget(struct predictor *p, uint64_t object);
/* Forgets all that was learned, and all figures; the options and the times of
 * sessions stay as they are, the lead has to be set again. 0, or -ENOMEM and
 * nothing has changed. */
int predictor_clear(struct predictor *p);
/* The same in a moment: returns what was forgotten, to be freed by
 * predictor_free(), which takes up to 30 ms, in any thread. NULL and errno
 * without memory. */
struct predictor *predictor_empty(struct predictor *p);

void predictor_get_stats(const struct predictor *p, struct predictor_stats *st);

/* Predictions in ten buckets of probability: how many, and how many of them
 * came true. */
struct predictor_reliability {
	double predicted[10]; /* sum of p */
	uint64_t n[10], used[10];
};
void predictor_get_reliability(
    const struct predictor *p, struct predictor_reliability *r);

#endif
