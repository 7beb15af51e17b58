/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to prefetch*.c.
 *
 *	prefetch.c          observations in, predictions out, the pump
 *	prefetch_want.c     what is wanted, in the order of its urgency
 *	lane.c              wants that are as urgent, fair between clients
 *	prefetch_step.c     what a want needs next
 *	prefetch_worth.c    whether a call ahead is worth it
 *	prefetch_data.c     the bytes of a file
 *	prefetch_flight.c   the calls of wants
 *	hold.c              whether any may go out: pauses, metered links
 *	prefetch_dir.c      what a miss says of its directory
 *	prefetch_habit.c    what follows a lookup
 *	prefetch_kind.c     the rest of files, by their kind (kinds.h)
 *	prefetch_list.c     listings of directories
 *	prefetch_walk.c     what comes next where somebody goes through a tree
 *	prefetch_renew.c    what came ahead too early, or was read before
 *	prefetch_pattern.c  what follows reads of a file
 *	prefetch_session.c  what sessions use
 *	prefetch_mention.c  what data that came mentions
 *	prefetch_note.c     what became of it
 *	prefetch_show.c     … and what is under way, in rows
 *	prefetch_cred.c     credentials that were seen
 *	prefetch_save.c     what was learned, on disk
 *
 * prefetch_turn_private.h has what the steps of a want share.
 */
#ifndef FOREFETCH_PREFETCH_PRIVATE_H
#define FOREFETCH_PREFETCH_PRIVATE_H

#include <limits.h>
#include <sys/queue.h>

#include "base/iopool.h"
#include "cache/known.h"
#include "farm/farm.h"
#include "link/budget.h"
#include "link/linkest.h"
#include "link/waste.h"
#include "predictor/predictor.h"
#include "prefetch/ground/observe.h"
#include "prefetch/calls/flight.h"
#include "prefetch/ground/hold.h"
#include "prefetch/queue/lane.h"
#include "prefetch/prefetch.h"
#include "prefetch/queue/want.h"

struct event;
struct kinds;
struct namemap;
struct pf_mapped;
struct pf_mentions;
struct patterns;
struct walks;
struct predictor_snapshot;

/* The bounds on what is kept, of one server. */
enum {
	PF_HABITS = 64,  /* kinds of names, of a credential */
	PF_LOOKED = 256, /* objects that were not read or entered yet */
	PF_FARMED = 32,  /* listings that may come from the farm */
	PF_SESSIONS = 8, /* that go on at the same time */
	WANTS_MAX = 4096,
	WANT_BUCKETS = 4096,
	NOTES = 4096,         /* objects of which it is told what became */
	RING = 256,           /* observations, in one turn of the loop */
	DIRS = 256,           /* directories in which names were missed */
	LISTINGS_TOLD = 1024, /* that the predictor has heard of */
	REFUSED = 4096,       /* calls that the server refused */
};

enum {
	/* Calls that a want can wait for at the same time. */
	WANT_WATCHES = 4,
	/*
	 * Wants of one lane are used about equally soon: a lane holds twice as
	 * long a lead as the one before. What follows a file's first bytes goes
	 * into a later lane than they do, so that it stands behind the first
	 * bytes of files that are up to four times as far ahead.
	 */
	WANT_TAIL_LANES = 2,
	/* … and what is unlikely, so many at most. */
	WANT_ODDS_LANES = 3,
	WANT_LANE_JOBS = 10,
	/* Behind all others, those that cost too much now. */
	WANT_LANE_DEAR,
	WANT_LANES,
	/* Between two looks at what costs too much just now. */
	DEAR_US = 20000,
	/* What an entry takes in a reply to READDIRPLUS, about: attributes,
	 * a handle, and a name of ordinary length. */
	ENTRY_BYTES = 170,
};

/* How often names of one kind were looked up, and how often the object was read
 * or entered after that; or GETATTR or ACCESS in place of the lookup. */
struct pf_habit {
	uint16_t looked, followed;
};

/* What an open may begin with. */
enum pf_begun { PF_BY_LOOKUP, PF_BY_GETATTR, PF_BY_ACCESS, PF_BEGUN };

/* An object that was looked up, and nothing followed yet. */
struct pf_looked {
	uint64_t object; /* 0: none */
	uint32_t cred;
	uint8_t kind;
	uint8_t begun; /* a bit for each enum pf_begun */
};

/* A credential as a client sent it to this daemon, and what its user does. */
struct pf_cred {
	TAILQ_ENTRY(pf_cred) link; /* the one used last comes first */
	unsigned refs;
	struct pf_habit habits[PF_BEGUN][PF_HABITS];
	struct pf_habit looks; /* lookups of files of all kinds */
	uint32_t id;           /* caches_cred() */
	uint32_t uid;
	/* Of the client that used it last, and of what goes on without one, as
	 * sessions and mentions do: lane.h. */
	uint8_t flow;
	/* The share of its last accesses that history had foretold. */
	float familiar;
	uint32_t session;       /* that it is in; 0: none that is known */
	uint64_t session_bytes; /* that were asked ahead for the session */
	struct rpc_cred cred;
	char body[RPC_AUTH_BODY_MAX];
};

TAILQ_HEAD(pf_creds, pf_cred);

/* A listing that the predictor has heard of. */
struct pf_told {
	uint64_t mix; /* of the directory and its generation */
	uint64_t again_us, wait_us;
	size_t known; /* entries with attributes, when it last heard */
	bool in_part; /* some entries had no attributes */
};

/* The entries of a listing behind one cookie, up to another. */
struct list_span {
	uint64_t from, to;
};

/* What shall be in the caches before a client asks for it (want.h). */
struct want {
	TAILQ_ENTRY(want) link; /* in a lane, in `later` or in `spare` */
	LIST_ENTRY(want) hash_link;
	struct prefetch *pf;
	struct pf_cred *cred; /* under which it is asked for */
	uint64_t object;
	uint64_t parent; /* the object's directory; 0: not known */
	uint64_t born_us;
	uint64_t order;       /* grows with each want that comes into a lane */
	uint64_t due_us;      /* in `later`: when its turn comes again */
	float p;              /* the probability that it will be used … */
	float data_p;         /* … and that its data will be read */
	uint32_t first_bytes; /* that are read first; 0: not known */
	uint64_t read_bytes;  /* that a session reads from the beginning */
	/* How likely it is read on by its kind; 0: that does not matter. And
	 * how many bytes of that spare a round trip. */
	float rest_p;
	uint32_t rest_bytes;
	/* Calls that the listing will spare; 0: it will be read itself. */
	float calls_spared;
	uint8_t needs;     /* PREDICTOR_NEEDS_… */
	uint8_t base_lane; /* where it belongs by its lead … */
	uint8_t lane;      /* … and where it is, which differs for a tail */
	uint8_t flow;      /* whose it is: lane.h; of jobs 0 */
	uint8_t steps;     /* turns that it had */
	bool dear;         /* it costs more than it is worth, just now */
	bool tail;         /* its first bytes are there, or asked for */
	bool queued;       /* in a lane */
	bool delayed;      /* in `later` */
	bool listed;       /* the listing that it needs was asked for */
	bool typed;        /* … and so was the type of its object */
	bool guess;        /* all who predict it guess */
	bool led;          /* trails or the graph say that it will be used */
	bool planned;      /* a session says that it will be used … */
	bool session;      /* … and nothing else does */
	bool far_off;      /* what is confirmed now is too old by its use */
	bool missed;    /* a name of the listing that it needs was not fresh */
	bool expired;   /* its time had passed before it could go out */
	uint8_t farmed; /* listings that the farm was asked for */
	/* A range: nothing else of the file is wanted. Else `count` is 0. */
	uint64_t offset;
	uint32_t count;
	uint8_t source; /* of a range or a name: enum note_source */
	/* A name in `parent` that is to be looked up; else NULL. */
	const char *name;
	uint8_t name_len;
	struct want_owner *owner; /* NULL: nobody */
	uint64_t blocked_turn;    /* the pump's, when it last was; 0: never */
	/* Which bytes come next: of which extent (0: the first bytes of the
	 * file), in which of its repetitions, and where in that. */
	uint16_t extent;
	uint32_t repeat;
	uint64_t into;
	/* The listing comes in pages side by side; the last one asked for. */
	bool paging;
	struct list_span page;
	unsigned pending; /* watches that are set */
	struct fetch_watch watches[WANT_WATCHES];
};

LIST_HEAD(want_list, want);

/* A call that a want sent. */
struct pf_flight {
	struct flight fl;
	struct prefetch *pf;
	uint64_t object;
	uint32_t generation;      /* of the object, before the call … */
	bool known;               /* … if anything was known of it then */
	bool bounded;             /* waste.h counts it */
	float calls_spared;       /* READDIRPLUS: the want's */
	char name[NFS3_NAME_MAX]; /* LOOKUP */
};

/* What became of a prediction. From FRESH to UNKNOWN it cost no call. */
enum note_state {
	NOTE_NONE,
	NOTE_WANTED,
	NOTE_ASKED,     /* a call for it is under way */
	NOTE_READY,     /* it has come, and was not used yet */
	NOTE_USED,      /* … and was used */
	NOTE_LATE,      /* it was used before it had come */
	NOTE_UNUSED,    /* it was never used */
	NOTE_FRESH,     /* it was there already */
	NOTE_UNLIKELY,  /* it was not worth a call */
	NOTE_OLD,       /* its time had passed before a call could go out */
	NOTE_WITHDRAWN, /* the predictor took it back before that */
	NOTE_UNKNOWN,   /* its handle is not known */
	NOTE_FAILED,    /* the server refused it */
};

#define NOTE_UID_NONE UINT32_MAX

/* What became of the last prediction of an object. */
struct note {
	uint64_t object;
	uint64_t us; /* of the last change */
	uint32_t bytes;
	uint32_t counted; /* of them, as used or not */
	uint32_t in_vain; /* … and in waste.h, as unused */
	float p;
	uint32_t lead;
	/* The user whose calls led to it; NOTE_UID_NONE once another one has
	 * used it: then the note tells of both. */
	uint32_t uid;
	uint16_t next; /* of equal hash; index + 1 */
	uint8_t state;
	uint8_t source;
	uint8_t needs;
};

struct notes {
	struct note at[NOTES]; /* a ring */
	uint16_t heads[NOTES]; /* index + 1 */
	uint32_t in;
	uint32_t aged; /* the next to be looked at for its age */
};

/* An observation that waits for its turn. */
struct pf_seen {
	struct predictor_obs obs;
	struct pf_cred *cred;
	uint64_t dir;        /* a directory whose listing came; 0: none */
	uint32_t page_bytes; /* that READDIRPLUS asked for; 0: another call */
	uint64_t mounted;    /* a file system, as observe_mount() has it */
	char name[32];       /* that was looked up; "": none, or a longer one */
	bool late;
	bool missed;
	bool begins; /* it is not answered yet; not `missed`: it is confirmed */
};

/* What was asked for in one directory within a short time. */
struct pf_dir {
	uint64_t key;
	uint64_t us;         /* of the last one */
	uint64_t anew_us;    /* when it was listed again for a change */
	uint64_t renewed_us; /* … and what came ahead, confirmed again */
	uint64_t read_us;    /* when a client read its listing … */
	uint32_t read_page;  /* … by READDIRPLUS, so many bytes at once */
	unsigned misses;     /* calls that went to the server */
	unsigned attr_wants; /* wants for the attributes of a name in it */
};

/* A directory whose listing the farm was asked for. */
struct pf_farmed {
	struct pf_cred *cred;
	uint64_t dir;
};

struct prefetch {
	struct prefetch_params p;
	char path[PATH_MAX];
	struct predictor *predictor;
	struct patterns *patterns;
	struct kinds *kinds;          /* NULL in tests */
	struct pf_mentions *mentions; /* NULL in tests */
	struct walks *walks;          /* NULL in tests */
	/* Names of absences, by observe_absent(). */
	struct namemap *absents;
	struct budget *budget;
	struct hold *hold;
	struct waste *waste;
	struct event *ev; /* the pump */
	struct event *ev_save;
	bool active;     /* `ev` is about to run */
	uint64_t now_us; /* the last time that anybody told */
	struct pf_creds creds;
	unsigned ncreds;
	struct pf_cred *caller; /* for whom the predictor predicts just now */
	struct pf_seen ring[RING];
	unsigned ring_in, ring_out;
	struct lane lanes[WANT_LANES];
	unsigned flow_wants[LANE_FLOWS]; /* how many each has */
	struct want_queue later; /* the server's clock passes a grain first */
	struct want_queue spare; /* allocated, and of no use now */
	struct want_list wants[WANT_BUCKETS];
	uint64_t turn; /* of the pump, counted */
	/* Before this nobody looks again at what costs too much. */
	uint64_t dear_us;
	/* Jobs are neither among those queued nor among the wants; nor are
	 * wants that cost too much now among those queued. */
	unsigned nqueued, nwants, nmade;
	uint64_t orders;              /* the last `order` of a want */
	struct flights flights;       /* of wants */
	unsigned nflights_all;        /* … and of jobs */
	struct flight_list under_way; /* all of them, the last one first */
	struct notes *notes;
	uint32_t first_read_bytes; /* how much is read first of files */
	uint64_t opened;           /* the file that was opened or read last */
	struct pf_dir dirs[DIRS];  /* by key */
	struct pf_looked looked[PF_LOOKED];
	struct pf_mapped *mapped;              /* NULL: nothing was read */
	struct pf_cred *sessions[PF_SESSIONS]; /* in a session; then NULL */
	struct predictor_session_stats session_stats; /* as last counted */
	struct event *ev_session;
	struct pf_farmed farmed[PF_FARMED];
	unsigned nfarmed;
	struct pf_told told[LISTINGS_TOLD]; /* by key */
	struct {
		uint64_t call, us;
	} refused[REFUSED];                /* by call */
	struct iopool_job job;             /* writes what was learned */
	struct predictor_snapshot *saving; /* NULL: nothing is gathered */
	int save_error;
	bool saves;
	uint64_t saved_events;
};

/* prefetch.c */
/* A prediction becomes a want; false where it is not worth it, or there are too
 * many. */
bool prefetch_want(struct prefetch *pf, struct pf_cred *cred,
    const struct prediction *pred, uint64_t now_us);

/* prefetch_cred.c */
/* The reference is the list's: take one of your own. NULL without memory. */
struct pf_cred *pf_cred_get(struct prefetch *pf, const struct rpc_cred *cred,
    uint32_t id, uint32_t uid);
struct pf_cred *pf_cred_ref(struct pf_cred *c);
void pf_creds_free(struct prefetch *pf);

/* prefetch_want.c */
/* A prediction of an object; what is wanted already is wanted sooner, or for
 * more. NULL where there are too many. */
struct want *want_add(struct prefetch *pf, struct pf_cred *cred,
    const struct prediction *pred, uint64_t now_us);
/* A range is not wanted any more; calls under way go on. */
void want_drop_range(struct prefetch *pf, struct pf_cred *cred, uint64_t object,
    uint64_t offset, enum note_source source);
/* It was withdrawn: what of it is not under way is not asked for. */
void want_withdraw(struct prefetch *pf, struct pf_cred *cred, uint64_t object,
    uint64_t now_us);
/* The first of the first lane that has any, which it leaves; or NULL. Jobs that
 * were blocked in this turn of the pump are passed over. */
struct want *want_next(struct prefetch *pf);
/* Into its lane: at the end, or `again`, where its order says. */
void want_queue(struct want *w, bool again);
/* It could not go out in this turn. */
void want_queue_blocked(struct want *w);
/* The first bytes of the file are there, or under way. True where its lane is
 * another one from now on. */
bool want_begins_tail(struct want *w);
/* A client has begun to read the file: what follows is wanted at once. NULL
 * where nothing is known to follow. */
struct want *want_rest(struct prefetch *pf, struct pf_cred *cred,
    uint64_t object, uint64_t now_us);
/* The same, where it is not the predictor that knows it. */
struct want *want_more(struct prefetch *pf, struct pf_cred *cred,
    uint64_t object, uint64_t now_us);
/* The file is opened, or read: what follows in others, as far as only their
 * kinds say so, goes behind what follows in this one. */
void want_opened(struct prefetch *pf, struct pf_cred *cred, uint64_t object);
/* Whether somebody has asked for it, so that it was not predicted. */
bool want_is_asked(const struct want *w);
/* Not before a grain of the server's clock has passed. */
void want_delay(struct want *w, uint64_t now_us);
/* Wants whose time has come go back into their lanes. Returns when the next
 * one's comes, or 0. */
uint64_t wants_ripen(struct prefetch *pf, uint64_t now_us);
void want_drop(struct want *w);
void wants_free(struct prefetch *pf);
/* It has its next turn when the call is over. False where there is none. */
bool want_watch(struct want *w, const struct fetch_about *about);
/* It costs too much now: it goes behind all others; or no more. */
void want_put_off(struct want *w, bool off);

/* prefetch_worth.c */
/* Whether the route is so short that little can be spared on it. */
bool trip_is_short(const struct prefetch *pf);
/* Whether what is used with probability `p` is worth a reply of `bytes`, when
 * nobody else wants the link: else it need not be queued at all. */
bool want_worth(
    const struct prefetch *pf, bool guess, double p, uint64_t bytes);
/* Whether whoever predicts has not seen it used, but others like it. */
bool source_is_guess(uint8_t source);
/* Whether a call of a want is worth it now, used with probability `p`. */
bool want_pays(const struct want *w, double p, uint64_t bytes);
/* Whether waste.h bounds the want. */
bool want_is_bounded(const struct want *w);
void waste_now(const struct prefetch *pf, struct waste_status *st);
/* Whether a listing of `bytes` is worth it where it spares so many calls. */
bool listing_worth(const struct prefetch *pf, double calls, uint64_t bytes);

/* prefetch_step.c */
/* What grows too old within this time is confirmed again. */
uint64_t confirm_slack_us(const struct config_policy *policy);
enum step want_step(struct want *w, uint64_t now_us, uint64_t *wait_us);

/* prefetch_list.c */
/* A listing of the directory came for the credential, or more of its entries:
 * the predictor hears of it. */
void prefetch_listed(
    struct prefetch *pf, struct pf_cred *cred, struct node *dir);
/* The next page of a listing of which some have come is wanted. */
void listing_goes_on(struct prefetch *pf, struct pf_cred *cred, uint64_t dir,
    float calls_spared, uint64_t now_us);
/* Whether a client reads the listing just now, by larger pages than would come
 * ahead: those in between would cost it a round trip each. */
bool listing_comes(struct prefetch *pf, uint64_t dir, uint64_t now_us);
/* A client has read some of a listing. What has not come yet is wanted, if it
 * came with attributes: a client that asks for the names alone further on will
 * look them up, or open what they lead to. */
void listing_read(struct prefetch *pf, struct pf_cred *cred, struct node *dir,
    uint64_t now_us);
/*
 * From `span->to` on, the next entries that are not fresh: `span` becomes the
 * cookie behind which they begin, and that of the last of them. Returns the
 * bytes of a READDIRPLUS reply with them, about `room` at most; 0: none left.
 */
uint32_t listing_page(struct caches *c, struct node *dir, struct listing *l,
    uint64_t fresh_us, size_t room, struct list_span *span);

/* Tell the predictor of listings that the farm gave; `all`: only drop them. */
void farmed_tell(struct prefetch *pf, bool all);

/* prefetch_flight.c */
/* Ask for a want; `args` begin with `node`'s handle. False without memory. */
bool pf_flight_start(const struct want *w, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes);
void pf_flights_init(struct prefetch *pf);

/* prefetch_dir.c */
/* A call about a directory, or a name in it, went to the server. */
void dir_missed(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);
/* Whether its listing is cached, but must not be relied on any more. */
bool dir_loose(struct prefetch *pf, const struct pf_cred *cred,
    struct node *dir, uint64_t now_us);
/* The attributes of a name are wanted, and no rights. True where those of other
 * names there were wanted just before: a listing brings them all. */
bool dir_groups(struct prefetch *pf, const struct node *dir, uint64_t now_us);
/* Whether a directory that has changed is listed again ahead: one that changes
 * all the time would be for ever. */
bool dir_lists_anew(struct prefetch *pf, uint64_t dir, uint64_t now_us);
/* A client reads the listing by READDIRPLUS, `page_bytes` at once; 0: by
 * READDIR. */
void dir_is_read(
    struct prefetch *pf, uint64_t dir, uint32_t page_bytes, uint64_t now_us);
/* How many bytes a client asked for at once just before, by READDIRPLUS; 0: no
 * client did. */
uint32_t dir_read_page(struct prefetch *pf, uint64_t dir, uint64_t now_us);
/* Whether what came ahead of it is confirmed again: once in a while. */
bool dir_renews(struct prefetch *pf, uint64_t dir, uint64_t now_us);

/* prefetch_walk.c */
/* NULL without memory; of walk_close(). */
struct walks *walk_open(void);
void walk_close(struct walks *ws);
/* A client came to a directory, perhaps. */
void walk_seen(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);
/* The listing of a directory is known whole; `more`: more entries are. */
void walk_listed(struct prefetch *pf, struct pf_cred *cred, struct node *dir,
    bool more, uint64_t now_us);

/* prefetch_habit.c */
/* May want what the object of a lookup will need. */
void habit_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us);
/* The same of a call that the server is being asked. */
void habit_begins(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us);
/* How likely a file is read that is looked up. */
float habit_reads(
    const struct prefetch *pf, const struct pf_cred *cred, uint64_t object);

/* prefetch_kind.c */
/* The server is being asked for the beginning of a file: may want the rest. */
void kind_begins(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us);
/* A READ was answered: may want what follows. */
void kind_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us);
/* Whether the `rest_bytes` of a file that stand behind its beginning may be
 * worth it; then the want says how much. False where it was read before, as it
 * will be read then. */
bool kind_wants_rest(struct want *w, uint64_t size_bytes, uint64_t rest_bytes);

/* prefetch_renew.c */
/* A client comes to a directory, perhaps: what came ahead of it, and is not
 * used yet, may be too old by now, and is confirmed again. */
void renew_seen(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);

/* A READ was answered; and a call waits until its object is confirmed: what was
 * mapped with it, a program, is confirmed beside it. */
void renew_note_read(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);
void renew_begins(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);

/* prefetch_session.c */
bool session_open(struct prefetch *pf);
void session_close(struct prefetch *pf);
void session_configure(struct prefetch *pf);
/* The predictor has heard of a call of that credential. */
void session_seen(struct prefetch *pf, struct pf_cred *cred);
/* What comes next in the sessions is wanted. */
void session_go_on(struct prefetch *pf, uint64_t now_us);
/* Whether the want's session has had its share of bytes (`session_size`). */
bool session_spent(const struct want *w);

/* prefetch_pattern.c */
/* NULL without memory; of patterns_free(). */
struct patterns *pattern_open(struct prefetch *pf);
void pattern_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us);

/* prefetch_mention.c */
/* NULL without memory; of mention_close(). */
struct pf_mentions *mention_open(struct prefetch *pf);
/* Waits for scans under way. */
void mention_close(struct pf_mentions *x);
/* A complete listing of the directory came for the credential. */
void mention_listing(
    struct prefetch *pf, const struct pf_cred *cred, struct node *dir);
/* What the credential may do in a directory was answered. */
void mention_rights(struct prefetch *pf, uint64_t dir);
void mention_observe(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us);
/* What can be done in this turn of the loop. True where more is left. */
bool mention_turn(struct prefetch *pf, uint64_t now_us);

/* prefetch_note.c */
struct note *note_find(const struct prefetch *pf, uint64_t object);
/* Whether all of it came ahead lately, and nobody used it. By the time of its
 * use, if that ever comes, it may have to be confirmed: but whoever guesses may
 * guess so again and again. `x` may be NULL. */
bool note_came_in_vain(const struct note *x, const struct prediction *pred);
/* Nothing has become of it yet: it is wanted, or asked for, or has come. */
bool note_is_ahead(const struct note *x);
void note_tell(
    const struct note *x, uint64_t now_us, struct prefetch_told *out);
/* "tree", …; of enum note_source, and predictor_source. */
const char *note_source_name(uint8_t source);
/* It was predicted by what `uid` did. */
void note_predicted(struct prefetch *pf, const struct prediction *pred,
    uint32_t uid, uint64_t now_us);
void note_set(struct prefetch *pf, uint64_t object, enum note_state state,
    uint64_t now_us);
void note_bytes(struct prefetch *pf, uint64_t object, uint64_t bytes);
/* `uid` asked for it; `late`: had to wait for it; `missed`: the server was
 * asked for it all the same. */
void note_used(struct prefetch *pf, uint64_t object, uint32_t uid, bool late,
    bool missed, uint64_t now_us);
/* A name in the directory was answered from the caches: that was of use. */
void note_name_used(struct prefetch *pf, uint64_t dir);
/* What was not used for too long counts as unused. */
void notes_age(struct prefetch *pf, uint64_t now_us);

/* prefetch_save.c */
void pf_save_open(struct prefetch *pf);
void pf_save_close(struct prefetch *pf);
/* Begin to share it with other machines, where there is a farm. */
void pf_save_share(struct prefetch *pf);

#endif
