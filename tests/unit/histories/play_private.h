/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a played history share its state, and call each other through
 * these functions. */
#ifndef FOREFETCH_TESTS_PLAY_PRIVATE_H
#define FOREFETCH_TESTS_PLAY_PRIVATE_H

#include "cache/learn.h"
#include "histories/play.h"
#include "scenario/script.h"
#include "sweep/place.h"

enum { GIVEN_UP_MAX = 32, PLAYER_CALLS = 2 };

/* The first call by which the daemon finds out whether a change in doubt was
 * done, or confirms the file of a WRITE. */
struct play_look {
	uint64_t key; /* 0: it does not look at such a change */
	uint64_t ns;  /* when the server got it; see play_take_look() */
	/* When the daemon had the answer; set only if the look `confirms`. */
	uint64_t over_ns;
	bool confirms;
};

/* A client's call. */
struct play_call {
	bool waits; /* for its reply */
	uint32_t xid;
	char told[CALLTEXT_MAX]; /* in one piece */
	struct judge_op op;
	unsigned served;     /* by the server when it was sent */
	uint64_t asked_ns;   /* when it was sent last */
	unsigned arrived;    /* so often at the server */
	uint64_t arrived_ns; /* the last time */
	unsigned disturbed;  /* as that of the play, then */
	struct play_look look;
};

/* A change that its client gave up. */
struct gave_up {
	uint64_t key;
	uint64_t asked_ns;   /* when its client sent it last */
	unsigned arrived;    /* so often at the server */
	uint64_t arrived_ns; /* the last time */
	struct play_look look;
	bool doubtful;
	bool closed; /* with its connection */
};

/* A client, and what it waits for. */
struct player {
	struct play_call calls[PLAYER_CALLS];
	/* Keys of calls that it gave up. The server may still do them, and
	 * nobody could tell that from the same calls sent anew, which are
	 * therefore left out. */
	struct gave_up given_up[GIVEN_UP_MAX];
	unsigned ngiven_up;
};

struct play {
	struct place place;
	struct judge *judge;
	struct play_result *out;
	struct player players[PLACE_CLIENTS];
	unsigned nplayers;
	unsigned parts; /* of the history */
	enum play_defect defect;
	bool prompt;              /* the server answers whatever waits */
	bool held;                /* even then the farm's engine waits */
	bool away;                /* the daemon takes the server for away */
	struct event *ev_flap;    /* the next of some short outages */
	unsigned flaps;           /* that are still to come */
	uint64_t flap_us;         /* how long each is */
	uint64_t silent_until_ns; /* the server answers nothing */
	/* The server does this with the next call that it may do it with;
	 * EVENT_SERVE: it does what it should. */
	struct event next;
	uint64_t answered_ns; /* when the server last sent a reply */
	unsigned first_conn;  /* that the running daemon made */
	uint64_t lost_ns; /* when connections to the server were last lost */
	/* Faults that may have calls sent again, in another order. */
	unsigned disturbed;
	unsigned served; /* calls that the server did, or refused */
};

/* play_server.c */
/* From now on the server keeps calls until play_serve() deals with one, which
 * is true where it did. A change that no client sent fails the history. */
void play_take_server(struct play *p);
bool play_serve(struct play *p, const struct event *e);
/* Tells the judge that a reply is lost which the server keeps back for a
 * connection that is closed by now. */
void play_lose_held(struct play *p);

/* play_client.c */
/* Sends the call in the client's place for one; false where it cannot be sent:
 * what it is about never was there, or the same was given up before. */
bool play_send(struct play *p, unsigned who, unsigned slot, const char *text);
/* A look behind a change that its client waits for. */
bool play_behind(struct play *p, const struct event *e);
/* The call that somebody waits for; NULL: nobody does. */
struct play_call *play_call_with(struct play *p, uint64_t key);
bool play_client_waits(const struct player *c);
bool play_anybody_waits(const struct play *p);
/* Has the judge look at all replies that came. */
void play_check_replies(struct play *p);
/* As the kernel's client, which makes a lost connection again at once. */
void play_repeat_lost(struct play *p);

/* play_give_up.c */
/* Begins the call's `look`. */
void play_look_begin(struct play_call *c);
/* The server gets a call that is no change: it may be the look of one. */
void play_take_look(struct play *p, uint64_t key);
/* The daemon has the answer to the GETATTR that confirms the file of a WRITE,
 * whose key this is: it does not wait for the server any more. */
void play_confirm_over(struct play *p, uint64_t key);
/* All that the client waits for, when its connection is closed. */
void play_give_up(struct player *c);
/* A call that somebody waits for. */
bool play_give_up_one(struct play *p, const struct event *e);
bool play_gave_up(struct player *c, uint64_t key);
/* The daemon cannot know what became of the change. */
void play_doubt_given_up(struct play *p, uint64_t key);
/* The server gets the change, or COMMIT. A sentence's end where it should not,
 * or NULL. */
const char *play_take_change(
    struct play *p, uint64_t key, const struct nfs_proc *proc);

/* play_turns.c */
const char *play_turn_path(uint32_t place);
void play_turns_given(struct memfs *fs);
/* Somebody's turn; false where it is another's. */
bool play_turn_begin(struct play *p, const struct event *e);
bool play_turn_other(struct play *p, const struct event *e);
/* Sends the next calls of turns, of hurried ones or of all; true where it did.
 */
bool play_turns_go(struct play *p, bool all);
bool play_turns_over(void);
void play_turns_reply(
    unsigned who, uint32_t xid, const struct calltext_facts *facts);
/* A client was told something. Without PART_MACHINES that excuses a turn of
 * another one, as if both were users of one machine. */
void play_turns_told(struct play *p, unsigned who);
/* The client waits for a call of a turn. */
bool play_turn_waits(struct play *p, unsigned who);
/* The daemon forgets all that it has told. */
void play_turns_flushed(void);
/* The daemon ends: what it has told, the next one does not know. */
void play_turns_killed(void);
/* The machine of the clients is gone, and their turns are over. */
void play_turns_leave(void);
/* A reply of the server has come to the daemon. */
void play_turns_learn(struct play *p, const struct learn *l);
/* The server is about to do the call. Fails where it may not. */
void play_turns_look(struct play *p, const struct fakeserver_call *call);

/* play_farm.c */
/* The daemon has a farm from its next start on. */
void play_set_farm(struct play *p);
/* Does an event of the farm's engine; false where there was nothing to do. */
bool play_engine(struct play *p, const struct event *e);
/* All clients go, and give up what they wait for. */
void play_leave(struct play *p);

/* play_choose.c */
/* The files that are there at the beginning. */
void play_given(struct memfs *fs);
/* Does at the server what the line says. */
void play_make(struct memfs *fs, const char *line);
/* The text of a client's call, CALLTEXT_MAX bytes. */
void play_choose_call(const struct play *p, const struct event *e, char *text);
/* A change by somebody at the server. */
void play_stranger(struct memfs *fs, const struct event *e);
/* Cuts `text` into words where it lies, up to 8; `whole` gets a copy. */
unsigned play_cut(char *text, char **words, char *whole);

/* play_defect.c */
/* Lines of the server's section, for the mode and what is wrong with it. */
void play_settings(
    enum judge_mode mode, enum play_defect defect, char *to, size_t size);
/* Where the daemon says whether its server is away; the present play. */
void play_watch(struct play *p);

#endif
