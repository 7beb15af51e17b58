/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the daemon is set up, and what is made wrong with it. Some of its
 * functions are wrapped by the linker: they tell when it takes its server for
 * away, of which changes it cannot know whether they were done, and which
 * replies it gets; and from one of them its caches learn of our own changes.
 * What comes from a farm is counted on its way to the caches.
 */
#include <stdio.h>

#include "cache/answercache.h"
#include "cache/learn_private.h"
#include "farm/farm_private.h"
#include "histories/play_private.h"
#include "svc/doubt.h"
#include "svc/svc_rqst.h"

const char *const play_mode_names[PLAY_MODES] = {[JUDGE_STRICT] = "strict",
    [JUDGE_BOUNDED] = "bounded",
    [JUDGE_FROZEN] = "frozen",
    [JUDGE_OFFLINE] = "offline"};

/* Strict asks the server for everything, so it needs to learn nothing; frozen
 * has no bound that could be overstepped. */
enum {
	STRICT = 1 << JUDGE_STRICT,
	BOUNDED = 1 << JUDGE_BOUNDED,
	FROZEN = 1 << JUDGE_FROZEN,
	OFFLINE = 1 << JUDGE_OFFLINE,
	CACHING = BOUNDED | FROZEN | OFFLINE,
	ALL = STRICT | CACHING,
};

const struct play_defect_row play_defects[PLAY_DEFECTS] = {
    [DEFECT_NONE] = {"none", "all is well", 0, false, PART_BASE},
    [DEFECT_STALE] = {"stale", "attributes count for too long",
	STRICT | BOUNDED | OFFLINE, false, PART_TURNS},
    [DEFECT_OWN] = {"own", "own changes are not learned", CACHING, false,
	PART_BASE},
    [DEFECT_TWICE] = {"twice", "what is sent again is done again", ALL, false,
	PART_BASE},
    [DEFECT_UNDONE] = {"undone", "a change is answered and not done", ALL,
	false, PART_BASE},
    [DEFECT_ROOM] = {"room", "own changes end no FSSTAT", CACHING, false,
	PART_SPACE},
    [DEFECT_YOUNG] = {"young", "what changed lately counts for attr_timeout",
	BOUNDED | OFFLINE, false, PART_AGES},
    [DEFECT_BLIND] = {"blind", "a WRITE is sent that rests on old attributes",
	CACHING, false, PART_TURNS},
    [DEFECT_ORDER] = {"order", "a look does not wait for own changes", CACHING,
	false, PART_ORDER},
    [DEFECT_UNASKED] = {"unasked", "clients are not asked for late changes",
	ALL, false, PART_GIVE_UP},
    [DEFECT_LATE] = {"late", "the engine's answer counts as of now", ALL, true,
	PART_BASE},
    [DEFECT_VERSION] = {"version", "its values are of any version", ALL, true,
	PART_BASE},
    [DEFECT_MOVED] = {"moved", "they open under any key", ALL, true, PART_BASE},
};

static struct play *playing;

void __real_svc_set_offline(struct svc *svc, bool offline);
void __wrap_svc_set_offline(struct svc *svc, bool offline);
bool __real_doubt_begin(struct svc_rqst *rqst);
bool __wrap_doubt_begin(struct svc_rqst *rqst);
void __real_doubt_claim(struct svc_rqst *rqst);
void __wrap_doubt_claim(struct svc_rqst *rqst);
bool __real_answer_is_past(const struct attrcache *ac, const struct node *node,
    const struct answer *a);
bool __wrap_answer_is_past(const struct attrcache *ac, const struct node *node,
    const struct answer *a);
void __real_contract_set_still(struct contract *c, uint64_t still_us);
void __wrap_contract_set_still(struct contract *c, uint64_t still_us);
void __real_svc_write(struct svc_rqst *rqst);
void __wrap_svc_write(struct svc_rqst *rqst);
void __real_svc_order_enter(struct svc_rqst *rqst);
void __wrap_svc_order_enter(struct svc_rqst *rqst);
void __real_svc_hold_changes(struct svc *svc, uint64_t now_us);
void __wrap_svc_hold_changes(struct svc *svc, uint64_t now_us);
void __real_learn_reply(const struct learn *l);
void __wrap_learn_reply(const struct learn *l);
void __real_learn_change(const struct learn *l);
void __wrap_learn_change(const struct learn *l);
bool __real_learn_shared_data(const struct learn_shared *s, uint64_t offset,
    const void *data, uint32_t len);
bool __wrap_learn_shared_data(const struct learn_shared *s, uint64_t offset,
    const void *data, uint32_t len);
bool __real_learn_shared_listing(const struct learn_shared *s,
    const struct nfs_proc *proc, const union nfs_res *res);
bool __wrap_learn_shared_listing(const struct learn_shared *s,
    const struct nfs_proc *proc, const union nfs_res *res);
bool __real_seal_open(const struct seal *s, const char *name,
    const unsigned char *sealed, size_t len, void *to);
bool __wrap_seal_open(const struct seal *s, const char *name,
    const unsigned char *sealed, size_t len, void *to);
void __real_seal_close(const struct seal *s, const char *name, const void *data,
    size_t len, unsigned char *to);
void __wrap_seal_close(const struct seal *s, const char *name, const void *data,
    size_t len, unsigned char *to);
void __real_farm_data_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, uint64_t cell, struct farm_key *key);
void __wrap_farm_data_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, uint64_t cell, struct farm_key *key);

void play_watch(struct play *p)
{
	playing = p;
}

void play_settings(
    enum judge_mode mode, enum play_defect defect, char *to, size_t size)
{
	/* The weaker mode keeps attributes for longer than the judge allows. */
	static const char *const stale[PLAY_MODES] = {
	    [JUDGE_STRICT] = "bounded",
	    [JUDGE_BOUNDED] = "frozen",
	    [JUDGE_FROZEN] = "frozen",
	    [JUDGE_OFFLINE] = "frozen"};
	const char *name = play_mode_names[mode];

	if (defect == DEFECT_STALE)
		name = stale[mode];
	else if (mode == JUDGE_OFFLINE)
		name = play_mode_names[JUDGE_BOUNDED];
	snprintf(to, size, "consistency = %s\n%s", name,
	    mode == JUDGE_OFFLINE ? "offline = serve\n" : "");
}

void __wrap_svc_set_offline(struct svc *svc, bool offline)
{
	playing->away = offline;
	for (unsigned i = 0; offline && i < PLACE_CLIENTS; i++)
		for (unsigned k = 0; k < PLAYER_CALLS; k++)
			playing->players[i].calls[k].op.away = true;
	__real_svc_set_offline(svc, offline);
}

static unsigned uid_of(const struct svc_rqst *rqst)
{
	struct rpc_auth_sys auth = {.uid = 0};

	(void)rpc_auth_sys_decode(&rqst->call.cred.body, &auth);
	return auth.uid;
}

static uint64_t key_of(const struct svc_rqst *rqst)
{
	return judge_key(rqst->proc, &rqst->args, uid_of(rqst));
}

static void note_doubtful(const struct svc_rqst *rqst)
{
	uint64_t key = key_of(rqst);
	struct play_call *c = play_call_with(playing, key);

	play_doubt_given_up(playing, key);

	if (c && (rqst->proc->flags & NFS_PROC_CHANGE)) {
		c->op.doubtful = true;
		c->op.noted = rqst->object.key != 0;
	}
}

bool __wrap_doubt_begin(struct svc_rqst *rqst)
{
	note_doubtful(rqst);
	return __real_doubt_begin(rqst);
}

void __wrap_doubt_claim(struct svc_rqst *rqst)
{
	note_doubtful(rqst);
	__real_doubt_claim(rqst);
}

void __wrap_learn_reply(const struct learn *l)
{
	play_turns_learn(playing, l);
	__real_learn_reply(l);
}

void __wrap_learn_change(const struct learn *l)
{
	if (playing->defect != DEFECT_OWN)
		__real_learn_change(l);
}

bool __wrap_answer_is_past(
    const struct attrcache *ac, const struct node *node, const struct answer *a)
{
	return playing->defect != DEFECT_ROOM &&
	       __real_answer_is_past(ac, node, a);
}

void __wrap_contract_set_still(struct contract *c, uint64_t still_us)
{
	if (playing->defect != DEFECT_YOUNG)
		__real_contract_set_still(c, still_us);
}

void __wrap_svc_write(struct svc_rqst *rqst)
{
	if (rqst->tried & SVC_TRIED_CONFIRM)
		play_confirm_over(playing, key_of(rqst));
	if (playing->defect == DEFECT_BLIND)
		svc_forward(rqst);
	else
		__real_svc_write(rqst);
}

void __wrap_svc_order_enter(struct svc_rqst *rqst)
{
	if (playing->defect != DEFECT_ORDER)
		__real_svc_order_enter(rqst);
}

void __wrap_svc_hold_changes(struct svc *svc, uint64_t now_us)
{
	if (playing->defect != DEFECT_UNASKED)
		__real_svc_hold_changes(svc, now_us);
}

/* ---- a farm ------------------------------------------------------------ */

/* As if the engine had been asked just now, where it should be seen that it was
 * not. */
static struct learn_shared asked(const struct learn_shared *s)
{
	struct learn_shared now = *s;
	nfs3_fh fh = learn_shared_fh(s);
	struct node *node = attrcache_find(s->caches->attr, &fh);

	if (playing->defect != DEFECT_LATE || !node ||
	    !learn_shared_begin(&now, s->caches, node))
		return *s;
	return now;
}

bool __wrap_learn_shared_data(const struct learn_shared *s, uint64_t offset,
    const void *data, uint32_t len)
{
	struct learn_shared as = asked(s);
	bool taken = __real_learn_shared_data(&as, offset, data, len);

	playing->out->farm_data += taken;
	return taken;
}

bool __wrap_learn_shared_listing(const struct learn_shared *s,
    const struct nfs_proc *proc, const union nfs_res *res)
{
	struct learn_shared as = asked(s);
	bool taken = __real_learn_shared_listing(&as, proc, res);

	playing->out->farm_listings += taken;
	return taken;
}

void __wrap_farm_data_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, uint64_t cell, struct farm_key *key)
{
	static const struct data_version any;

	if (playing->defect == DEFECT_VERSION)
		v = &any;
	__real_farm_data_key(s, fh, v, cell, key);
}

/* Under which name a value is sealed. */
static const char *sealed_as(const char *name)
{
	static const char any[SEAL_NAME_LEN + 1];

	return playing->defect == DEFECT_MOVED ? any : name;
}

bool __wrap_seal_open(const struct seal *s, const char *name,
    const unsigned char *sealed, size_t len, void *to)
{
	return __real_seal_open(s, sealed_as(name), sealed, len, to);
}

void __wrap_seal_close(const struct seal *s, const char *name, const void *data,
    size_t len, unsigned char *to)
{
	__real_seal_close(s, sealed_as(name), data, len, to);
}
