/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A play does here, event by event, what its history says. */
#include "histories/play.h"

#include <stdio.h>
#include <string.h>

#include <event2/event.h>

#include "histories/play_private.h"
#include "scenario/hosts.h"
#include "scenario/spare.h"
#include "scenario/vclock.h"
#include "sweep/commands.h"
#include "sweep/failure.h"

#define MS         UINT64_C(1000)
#define S          UINT64_C(1000000)
/* Longer than what is to be published waits. */
#define PUBLISH_US UINT64_C(250000)

enum { FLAP_S = 3, FLAPS_MOST = 10 };

/* ---- clients ----------------------------------------------------------- */

static void settle(struct play *p)
{
	static const struct event oldest = {.kind = EVENT_ANSWER, .a = 1};

	do {
		vclock_settle();
		play_check_replies(p);
		play_repeat_lost(p);
	} while (play_turns_go(p, false) ||
		 (p->prompt && ((!p->held && play_engine(p, &oldest)) ||
				   play_serve(p, &oldest))));
}

static bool do_call(struct play *p, const struct event *e)
{
	unsigned who = e->a % p->nplayers;
	char text[CALLTEXT_MAX];

	if (play_client_waits(&p->players[who]) || !p->place.daemon)
		return false;
	play_choose_call(p, e, text);
	return play_send(p, who, 0, text);
}

static bool do_close(struct play *p, const struct event *e)
{
	unsigned who = e->a % p->nplayers;
	struct player *c = &p->players[who];

	if (!client_connected(p->place.clients[who]))
		return false;
	client_close(p->place.clients[who]);
	/* One in four gives up what it waits for. */
	if (e->b % 4 == 0 && !play_turn_waits(p, who))
		play_give_up(c);
	return true;
}

static bool do_address(struct play *p, const struct event *e)
{
	unsigned who = e->a % p->nplayers;

	if (play_client_waits(&p->players[who]))
		return false;
	client_close(p->place.clients[who]);
	client_set_address(p->place.clients[who],
	    hosts_address(HOSTS_CLIENT + 10 + e->b % 40));
	return true;
}

/* ---- the daemon -------------------------------------------------------- */

static void start(struct play *p)
{
	char err[PLACE_ERR_MAX];

	p->away = false;
	p->first_conn = fakeserver_conns(p->place.nfs);
	if (!place_start(&p->place, err))
		script_fail("the daemon does not start: %s", err);
}

static bool do_kill(struct play *p, const struct event *e)
{
	place_kill(&p->place);
	judge_killed(p->judge);
	play_turns_killed();
	if (e->a % 2)
		vclock_pass(e->b % (5 * S));
	start(p);
	return true;
}

/* Most often a moment passes before, in which it publishes. */
static bool do_fresh(struct play *p, const struct event *e)
{
	if (e->a % 4) {
		vclock_pass(PUBLISH_US + e->b % S);
		play_check_replies(p);
	}
	play_leave(p);
	place_lose(&p->place);
	judge_killed(p->judge);
	start(p);
	return true;
}

/* An object whose attributes the daemon does not know is not saved: a RENAME,
 * as an example, tells none of what it moves. So the judge takes nothing that
 * was changed before for known. */
static bool do_restart(struct play *p)
{
	place_stop(&p->place);
	judge_forgot(p->judge);
	play_turns_killed();
	play_check_replies(p);
	start(p);
	return true;
}

static bool do_command(struct play *p, const struct event *e)
{
	static const char *const list[] = {"flush", "warm", "trees-list",
	    "hint", "compact", "pin", "stats", "activity"};
	char err[PLACE_ERR_MAX];

	if (!commands_give(&p->place, list[e->a % 8], err))
		script_fail("%s: %s", list[e->a % 8],
		    err[0] ? err : "it was not answered");
	if (e->a % 8 == 0) {
		judge_forgot(p->judge);
		play_turns_flushed();
	}
	return true;
}

/* ---- the server and time ----------------------------------------------- */

static bool do_outage(struct play *p, const struct event *e)
{
	uint64_t us = e->a % 4 ? e->b % (20 * S) : e->b % (200 * S);

	if (p->flaps > 0 || event_pending(p->place.ev_back, EV_TIMEOUT, NULL))
		return false;
	place_outage(&p->place, us);
	p->lost_ns = vclock_wall_ns();
	return true;
}

/* The server is away for a while again and again. An outage of its own sort
 * makes changes old that wait, and has each of their repeats cut off. */
static void on_flap(evutil_socket_t fd, short what, void *arg)
{
	struct play *p = arg;
	struct timeval tv = {.tv_sec = FLAP_S};

	(void)fd;
	(void)what;
	if (p->flaps == 0)
		return;
	p->flaps--;
	p->disturbed++;
	spare_begin();
	place_outage_begin(&p->place, p->flap_us);
	p->lost_ns = vclock_wall_ns();
	event_add(p->ev_flap, &tv);
	spare_end();
}

static bool do_flap(struct play *p, const struct event *e)
{
	if (p->flaps > 0 || event_pending(p->place.ev_back, EV_TIMEOUT, NULL))
		return false;
	p->flaps = 1 + e->a % FLAPS_MOST;
	p->flap_us = 1 + e->b % (FLAP_S * S);
	on_flap(-1, EV_TIMEOUT, p);
	return true;
}

static bool do_silence(struct play *p, const struct event *e)
{
	uint64_t us = e->a % 4 ? e->b % (6 * S) : e->b % (100 * S);

	p->silent_until_ns = vclock_wall_ns() + us * 1000;
	return true;
}

static bool do_reboot(struct play *p)
{
	fakeserver_reboot(p->place.nfs);
	p->lost_ns = vclock_wall_ns();
	judge_reboot(p->judge, p->place.fs);
	return true;
}

static bool do_break(struct play *p)
{
	fakeserver_break(p->place.nfs);
	p->lost_ns = vclock_wall_ns();
	return true;
}

/* It is counted when a call meets it. */
static bool do_next(struct play *p, const struct event *e)
{
	p->next = *e;
	return false;
}

static bool do_stranger(struct play *p, const struct event *e)
{
	play_stranger(p->place.fs, e);
	judge_changed(p->judge, p->place.fs);
	p->out->strangers++;
	return true;
}

static bool do_pass(const struct event *e)
{
	static const uint64_t most[] = {
	    1 * MS, 5 * MS, 20 * MS, 100 * MS, 500 * MS, 2 * S, 4 * S, 8 * S};

	vclock_pass(e->b % most[e->a % 8]);
	return true;
}

static bool do_sleep(const struct event *e)
{
	vclock_sleep(e->a % (600 * S));
	return true;
}

/* ---- a history --------------------------------------------------------- */

static bool do_fault(struct play *p, const struct event *e)
{
	p->disturbed++;
	switch (e->kind) {
	case EVENT_KILL:
		return do_kill(p, e);
	case EVENT_RESTART:
		return do_restart(p);
	case EVENT_OUTAGE:
		return do_outage(p, e);
	case EVENT_FLAP:
		return do_flap(p, e);
	case EVENT_SILENCE:
		return do_silence(p, e);
	case EVENT_REBOOT:
		return do_reboot(p);
	case EVENT_BREAK:
		return do_break(p);
	case EVENT_LOSE:
	case EVENT_REFUSE:
	case EVENT_HALF:
		return do_next(p, e);
	case EVENT_GIVE_UP:
		return play_give_up_one(p, e);
	case EVENT_CLOSE:
		return do_close(p, e);
	case EVENT_ADDRESS:
		return do_address(p, e);
	case EVENT_SLEEP:
		return do_sleep(e);
	case EVENT_FRESH:
		return do_fresh(p, e);
	default:
		return play_engine(p, e);
	}
}

/* True where something was done. */
static bool do_event(struct play *p, const struct event *e)
{
	switch (e->kind) {
	case EVENT_CALL:
		return do_call(p, e);
	case EVENT_SERVE:
		return play_serve(p, e);
	case EVENT_PASS:
		return do_pass(e);
	case EVENT_STRANGER:
		return do_stranger(p, e);
	case EVENT_BEHIND:
		return play_behind(p, e);
	case EVENT_TURN:
		return play_turn_begin(p, e);
	case EVENT_OTHER_TURN:
		return play_turn_other(p, e);
	case EVENT_COMMAND:
		return do_command(p, e);
	default:
		return do_fault(p, e);
	}
}

/* From now on all is well, so every call has to end. */
static void finish(struct play *p)
{
	p->silent_until_ns = 0;
	p->flaps = 0;
	p->next.kind = EVENT_SERVE;
	p->prompt = true;
	p->held = false;
	settle(p);
	for (unsigned i = 0; play_anybody_waits(p) || !play_turns_over(); i++) {
		if (i == 10000)
			script_fail("a call does not end");
		(void)play_turns_go(p, true);
		vclock_pass(100 * MS);
		settle(p);
	}
}

static bool has(const struct play *p, enum event_part part)
{
	return p->parts & 1u << part;
}

static void begin(struct play *p, enum judge_mode mode, const struct history *h)
{
	char settings[100];

	p->nplayers = h->clients;
	p->parts = h->parts;
	play_watch(p);
	play_settings(mode, p->defect, settings, sizeof(settings));
	place_begin(&p->place, settings);
	p->ev_flap = evtimer_new(p->place.base, on_flap, p);
	if (h->farm)
		play_set_farm(p);
	memcpy(p->out->dir, p->place.dir, sizeof(p->out->dir));
	play_take_server(p);
	play_given(p->place.fs);
	if (has(p, PART_TURNS))
		play_turns_given(p->place.fs);
	p->judge = judge_new(
	    (struct judge_rules){.mode = mode, .ages = has(p, PART_AGES)},
	    p->place.fs);
	p->next.kind = EVENT_SERVE;
	start(p);
}

void play(enum judge_mode mode, enum play_defect defect,
    const struct history *h, struct play_result *out)
{
	static struct play p;

	p.out = out;
	p.defect = defect;
	failure_begin(out->said, sizeof(out->said), NULL);
	begin(&p, mode, h);
	for (unsigned i = 0; i < h->n; i++) {
		const struct event *e = &h->list[i];

		script_trace("--- %u %s", i, event_name(e->kind));
		p.prompt = e->prompt;
		p.held = e->held;
		(void)play_turns_go(&p, true);
		out->faults[e->kind] += do_event(&p, e);
		settle(&p);
		out->events = i + 1;
	}
	finish(&p);
	event_free(p.ev_flap);
	place_end(&p.place);
	judge_free(p.judge);
	out->dir[0] = '\0';
	out->over = true;
}
