/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All sentences of scenarios. `*` is a word, `...` all words that follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/server.h"
#include "scenario/counters.h"
#include "scenario/script.h"
#include "scenario/vclock.h"
#include "scenario/world.h"

enum { PHRASE_MAX = CALLTEXT_MAX };

/* Words up to a comma, or to `stop`; the rest behind that. */
struct phrase {
	char text[PHRASE_MAX];
	char **words;
	unsigned n;
};

static bool take_phrase(
    char ***words, unsigned *n, const char *stop, struct phrase *p)
{
	unsigned i = 0;

	while (i < *n && strcmp((*words)[i], ",") != 0 &&
	       (!stop || strcmp((*words)[i], stop) != 0))
		i++;
	p->words = *words;
	p->n = i;
	calltext_join(*words, i, p->text, sizeof(p->text));
	if (i < *n && strcmp((*words)[i], ",") == 0)
		i++;
	*words += i;
	*n -= i;
	return p->n > 0;
}

/* ---- the server's files ------------------------------------------------ */

static void config(struct world *w, const struct script_match *m)
{
	size_t len = strlen(w->settings);
	char line[PHRASE_MAX];

	if (w->server)
		script_fail("the daemon runs already");
	calltext_join(m->rest, m->n, line, sizeof(line));
	snprintf(w->settings + len, sizeof(w->settings) - len, "%s\n", line);
}

/* Somebody else's doing, at the server itself. */
static void execute(struct world *w, char **words, unsigned n, unsigned uid)
{
	const struct nfs_proc *proc;
	union nfs_args args;
	union nfs_res res;
	char err[CALLTEXT_MAX];

	if (!calltext_parse(w->fs, words, n, &proc, &args, err))
		script_fail("%s", err);
	memfs_execute(w->fs, proc->proc, &args, uid, &res);
	if (res.status != NFS3_OK)
		script_fail(
		    "the server says %s", calltext_status_name(res.status));
}

static void somebody_does(struct world *w, const struct script_match *m)
{
	w->fs->now_ns = vclock_wall_ns();
	execute(w, m->rest, m->n, 0);
}

/* An hour ago. */
static void given(
    struct world *w, const char *proc, char *path, char *more, unsigned uid)
{
	char *make[] = {(char *)proc, path, more};
	char zero[] = "0", *write[] = {(char *)"WRITE", path, zero, more};
	bool link = strcmp(proc, "SYMLINK") == 0;

	w->fs->now_ns = vclock_wall_ns() - UINT64_C(3600000000000) + 8000000;
	execute(w, make, link ? 3 : 2, uid);
	if (more && !link)
		execute(w, write, 4, uid);
	memfs_find(w->fs, path)->uid = uid;
}

static void given_dir(struct world *w, const struct script_match *m)
{
	given(w, "MKDIR", m->one[0], NULL, 1000);
}

static void given_file(struct world *w, const struct script_match *m)
{
	given(w, "CREATE", m->one[0], m->one[1], 1000);
}

static void given_link(struct world *w, const struct script_match *m)
{
	given(w, "SYMLINK", m->one[0], m->one[1], 1000);
}

static void set_private(
    struct world *w, const struct script_match *m, bool private)
{
	struct memfs_object *o = memfs_find(w->fs, m->one[0]);

	if (!o)
		script_fail("there is no %s", m->one[0]);
	o->private = private;
}

static void given_private(struct world *w, const struct script_match *m)
{
	set_private(w, m, true);
}

static void given_public(struct world *w, const struct script_match *m)
{
	set_private(w, m, false);
}

static void given_folding(struct world *w, const struct script_match *m)
{
	(void)m;
	w->fs->folds_case = true;
}

static void given_old_lists(struct world *w, const struct script_match *m)
{
	(void)m;
	w->fs->lists_old = true;
}

static void given_mute(struct world *w, const struct script_match *m)
{
	(void)m;
	w->fs->mute = true;
}

static void given_speaking(struct world *w, const struct script_match *m)
{
	(void)m;
	w->fs->mute = false;
}

/* ---- clients ----------------------------------------------------------- */

static struct client *client_of(struct world *w, const char *name)
{
	return world_client(w, name[1] ? '?' : name[0]);
}

static bool ends_with(const struct script_match *m, const char *word)
{
	return m->n > 1 && strcmp(m->rest[m->n - 1], word) == 0;
}

static void client_sends(struct world *w, const struct script_match *m)
{
	bool again = ends_with(m, "again");

	client_send(client_of(w, m->one[0]), m->rest, m->n - again, again);
}

static void want_fact(const struct calltext_facts *facts, const char *fact)
{
	char all[2048] = "";
	size_t len = 0;

	for (unsigned i = 0; i < facts->n; i++)
		if (strcmp(facts->list[i], fact) == 0)
			return;
	for (unsigned i = 0; i < facts->n && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
		    i > 0 ? ", " : "", facts->list[i]);
	script_fail("the reply is: %s", all);
}

static void client_gets(struct world *w, const struct script_match *m)
{
	struct client *c = client_of(w, m->one[0]);
	char **words = m->rest, *to = NULL, call[PHRASE_MAX];
	unsigned n = m->n;
	struct calltext_facts facts;
	struct phrase p;

	for (unsigned i = 0; !to && i < n; i++)
		if (strcmp(words[i], "for") == 0) {
			calltext_join(
			    words + i + 1, n - i - 1, call, sizeof(call));
			to = call;
			n = i;
		}
	if (!client_take(c, to, &facts))
		script_fail("there is no reply");
	while (take_phrase(&words, &n, NULL, &p))
		want_fact(&facts, p.text);
}

static void client_gets_nothing(struct world *w, const struct script_match *m)
{
	struct calltext_facts facts;

	if (client_take(client_of(w, m->one[0]), NULL, &facts))
		script_fail("there is a reply: %s", facts.list[0]);
}

/* The call is over within the line; "OK" is a fact where none is given. */
static void client_does(struct world *w, const struct script_match *m)
{
	struct client *c = client_of(w, m->one[0]);
	char **words = m->rest;
	unsigned n = m->n;
	struct calltext_facts facts;
	struct phrase call, fact;

	(void)take_phrase(&words, &n, NULL, &call);
	fakeserver_serve(w->nfs, true);
	client_send(c, call.words, call.n, false);
	vclock_settle();
	fakeserver_serve(w->nfs, false);
	if (!client_take(c, call.text, &facts))
		script_fail("there is no reply");
	if (n == 0)
		want_fact(&facts, "OK");
	while (take_phrase(&words, &n, NULL, &fact))
		want_fact(&facts, fact.text);
}

static void client_is_uid(struct world *w, const struct script_match *m)
{
	client_set_uid(
	    client_of(w, m->one[0]), (unsigned)strtoul(m->one[1], NULL, 10));
}

static void client_comes_from(struct world *w, const struct script_match *m)
{
	client_set_address(
	    client_of(w, m->one[0]), client_address(client_of(w, m->one[1])));
}

static void client_goes_away(struct world *w, const struct script_match *m)
{
	client_close(client_of(w, m->one[0]));
}

static void client_gives_up(struct world *w, const struct script_match *m)
{
	client_give_up(client_of(w, m->one[0]));
}

static void client_forgets(struct world *w, const struct script_match *m)
{
	client_forget_xids(client_of(w, m->one[0]));
}

static void client_is_gone(struct world *w, const struct script_match *m)
{
	if (client_connected(client_of(w, m->one[0])))
		script_fail("it is connected");
}

/* ---- what the server does with a call ---------------------------------- */

static void repeat_reply(struct fakeserver *s, struct fakeserver_call *c)
{
	if (!fakeserver_repeat(s, c))
		script_fail("the server never answered it");
}

static void keep(struct fakeserver *s, struct fakeserver_call *c)
{
	(void)s;
	(void)c;
}

static const struct {
	const char *words;
	void (*run)(struct fakeserver *s, struct fakeserver_call *call);
} deeds[] = {
    {"", keep},
    {"does it", fakeserver_do},
    {"does it silently", fakeserver_do_silently},
    {"does it and answers later", fakeserver_hold},
    {"sends its answer", fakeserver_release},
    {"ignores it", fakeserver_drop},
    {"repeats its reply", repeat_reply},
    {"denies it", fakeserver_deny},
    {"answers nonsense", fakeserver_babble},
    {"breaks the record", fakeserver_break_record},
};

enum { DEEDS = sizeof(deeds) / sizeof(deeds[0]) };

static const char *const rpc_errors[] = {
    [PROG_UNAVAIL] = "PROG_UNAVAIL",
    [PROG_MISMATCH] = "PROG_MISMATCH",
    [PROC_UNAVAIL] = "PROC_UNAVAIL",
    [GARBAGE_ARGS] = "GARBAGE_ARGS",
    [SYSTEM_ERR] = "SYSTEM_ERR",
};

/* "answers …": an error of RPC, or a status. */
static bool answer(
    struct world *w, struct fakeserver_call *call, const char *word)
{
	int status = calltext_status(word);

	for (unsigned i = PROG_UNAVAIL; i <= SYSTEM_ERR; i++)
		if (strcmp(rpc_errors[i], word) == 0) {
			fakeserver_answer_rpc(
			    w->nfs, call, (enum accept_stat)i);
			return true;
		}
	if (status >= 0)
		fakeserver_answer(w->nfs, call, (nfsstat3)status);
	return status >= 0;
}

static void act(
    struct world *w, struct fakeserver_call *call, const struct phrase *deed)
{
	for (int i = 0; i < DEEDS; i++)
		if (strcmp(deeds[i].words, deed->text) == 0) {
			deeds[i].run(w->nfs, call);
			return;
		}
	if (deed->n != 2 || strcmp(deed->words[0], "answers") != 0 ||
	    !answer(w, call, deed->words[1]))
		script_fail("a server cannot do this: %s", deed->text);
}

/* The call that a phrase names; "again", "from another port", "of uid 5" and
 * "on connection 1" may stand behind it. */
static void split_phrase(struct phrase *p, const char *const *ends, bool *has)
{
	for (unsigned i = 0; ends[i]; i++) {
		size_t len = strlen(p->text), end = strlen(ends[i]);

		has[i] = len > end && strcmp(p->text + len - end, ends[i]) == 0;
		if (has[i])
			p->text[len - end] = '\0';
	}
}

static struct fakeserver_call *claim(struct world *w, struct phrase *p)
{
	static const char *const ends[] = {
	    " on another connection", " from another port", " again", NULL};
	struct fakeserver_call *call, *other;
	bool has[3];

	split_phrase(p, ends, has);
	call = fakeserver_find(w->nfs, p->text, false);
	other = fakeserver_find(w->nfs, NULL, false);
	if (!call)
		script_fail(
		    "the server got %s", other ? other->text : "nothing");
	call->claimed = true;
	if (call->again != has[2])
		script_fail(
		    "its XID %s", call->again ? "came before" : "is a new one");
	if (call->again && call->moved != has[1])
		script_fail("it came from %s port",
		    call->moved ? "another" : "the same");
	return call;
}

static void server_gets(struct world *w, const struct script_match *m)
{
	char **words = m->rest;
	unsigned n = m->n;
	struct phrase call, deed;
	struct fakeserver_call *found;

	(void)take_phrase(&words, &n, NULL, &call);
	found = claim(w, &call);
	(void)take_phrase(&words, &n, NULL, &deed);
	act(w, found, &deed);
}

static void server_gets_nothing(struct world *w, const struct script_match *m)
{
	struct fakeserver_call *call = fakeserver_find(w->nfs, NULL, false);

	(void)m;
	if (call)
		script_fail("it got %s", call->text);
}

/* A call that it got before. */
static void server_now(struct world *w, const struct script_match *m)
{
	char **words = m->rest;
	unsigned n = m->n;
	struct phrase call, deed;
	struct fakeserver_call *found;

	(void)take_phrase(&words, &n, NULL, &call);
	found = fakeserver_find(w->nfs, call.text, true);
	if (!found)
		script_fail("the server has no such call");
	(void)take_phrase(&words, &n, NULL, &deed);
	act(w, found, &deed);
}

/* All copies that come, and it has. */
static void server_ignores(struct world *w, const struct script_match *m)
{
	struct fakeserver_call *call;
	char text[PHRASE_MAX];
	bool any = false;

	calltext_join(m->rest, m->n, text, sizeof(text));
	for (int claimed = 0; claimed < 2; claimed++)
		while ((call = fakeserver_find(w->nfs, text, claimed))) {
			fakeserver_drop(w->nfs, call);
			any = true;
		}
	if (!any)
		script_fail("it got no such call");
}

static void server_takes_mount(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_take_mount(w->nfs);
}

static void server_serves(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_serve(w->nfs, true);
}

static void server_waits(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_serve(w->nfs, false);
}

/* ---- the link, and the machines ---------------------------------------- */

static void connection_breaks(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_break(w->nfs);
}

static void connection_of_breaks(struct world *w, const struct script_match *m)
{
	char text[PHRASE_MAX];
	struct fakeserver_call *call;

	calltext_join(m->rest, m->n, text, sizeof(text));
	call = fakeserver_find(w->nfs, text, true);
	if (!call)
		script_fail("the server has no such call");
	fakeserver_break_one(w->nfs, call->conn);
}

static void server_goes_away(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_listen(w->nfs, false);
	fakeserver_break(w->nfs);
}

static void server_comes_back(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_listen(w->nfs, true);
}

static void server_reboots(struct world *w, const struct script_match *m)
{
	(void)m;
	fakeserver_reboot(w->nfs);
}

/* The daemon begins to put the server away; its loop goes on meanwhile. */
static void server_leaves(struct world *w, const struct script_match *m)
{
	(void)m;
	(void)server_leave(w->server, clock_now_us());
}

static void somebody_takes_port(struct world *w, const struct script_match *m)
{
	(void)m;
	world_take_port(w, fakeserver_peer_port(w->nfs));
}

static uint64_t duration(const struct script_match *m)
{
	static const struct {
		const char *unit;
		uint64_t us;
	} units[] = {{"ms", 1000}, {"s", 1000000}, {"min", 60000000}};

	for (int i = 0; i < 3; i++)
		if (strcmp(m->one[1], units[i].unit) == 0)
			return strtoull(m->one[0], NULL, 10) * units[i].us;
	script_fail("a time is in ms, s or min");
}

static void time_passes(struct world *w, const struct script_match *m)
{
	(void)w;
	vclock_pass(duration(m));
}

static void clock_is_behind(struct world *w, const struct script_match *m)
{
	w->fs->behind_ns = duration(m) * 1000;
}
static void machine_sleeps(struct world *w, const struct script_match *m)
{
	vclock_sleep(duration(m));
	server_network_changed(w->server, true);
}

static void daemon_starts(struct world *w, const struct script_match *m)
{
	(void)m;
	world_start(w);
}

static void daemon_is_killed(struct world *w, const struct script_match *m)
{
	(void)m;
	world_kill(w);
}

static void daemon_stops(struct world *w, const struct script_match *m)
{
	(void)m;
	world_stop(w);
}

static void machine_crashes(struct world *w, const struct script_match *m)
{
	(void)m;
	world_crash(w);
}

static void caches_are_flushed(struct world *w, const struct script_match *m)
{
	(void)m;
	(void)server_flush(w->server);
}

static void ahead_is_paused(struct world *w, const struct script_match *m)
{
	world_pause(w, m->one[0] ? duration(m) : 0);
}

void script_end(struct world *w)
{
	struct fakeserver_call *call = fakeserver_find(w->nfs, NULL, false);
	struct calltext_facts facts;

	if (call)
		script_fail(
		    "no line names %s, which the server got", call->text);
	for (int i = 0; i < WORLD_CLIENTS; i++)
		if (w->clients[i] && client_take(w->clients[i], NULL, &facts))
			script_fail("no line names a reply to client %c: %s",
			    'A' + i, facts.list[0]);
}

const struct script_step script_steps[] = {
    {"config ...", config, true},
    {"given directory *", given_dir, true},
    {"given file *", given_file, true},
    {"given file * *", given_file, true},
    {"given link * *", given_link, true},
    {"given * is its owner's alone", given_private, true},
    {"given * is everybody's", given_public, true},
    {"given names whose case does not count", given_folding, true},
    {"server lists attributes of before the last change", given_old_lists,
	true},
    {"server sends no attributes", given_mute, true},
    {"server sends attributes", given_speaking, true},
    {"somebody does ...", somebody_does, true},
    {"somebody takes the port", somebody_takes_port, true},
    {"client * sends ...", client_sends, false},
    {"client * gets nothing", client_gets_nothing, true},
    {"client * gets ...", client_gets, true},
    {"client * does ...", client_does, false},
    {"client * is uid *", client_is_uid, true},
    {"client * comes from the address of *", client_comes_from, true},
    {"client * goes away", client_goes_away, true},
    {"client * gives up", client_gives_up, true},
    {"client * counts its XIDs anew", client_forgets, true},
    {"client * is disconnected", client_is_gone, true},
    {"server gets nothing", server_gets_nothing, true},
    {"server gets ...", server_gets, true},
    {"server has ...", server_now, true},
    {"server ignores ...", server_ignores, true},
    {"server takes calls of MOUNT", server_takes_mount, true},
    {"server serves", server_serves, true},
    {"server waits", server_waits, true},
    {"server goes away", server_goes_away, true},
    {"server comes back", server_comes_back, true},
    {"server reboots", server_reboots, true},
    {"server is taken out of the configuration", server_leaves, false},
    {"connection breaks", connection_breaks, true},
    {"connection breaks under ...", connection_of_breaks, true},
    {"time passes * *", time_passes, true},
    {"server's clock is * * behind", clock_is_behind, true},
    {"machine sleeps * *", machine_sleeps, false},
    {"daemon starts", daemon_starts, true},
    {"daemon is killed", daemon_is_killed, false},
    {"daemon stops", daemon_stops, false},
    {"machine crashes", machine_crashes, false},
    {"caches are flushed", caches_are_flushed, false},
    {"fetching ahead is paused for * *", ahead_is_paused, false},
    {"fetching ahead goes on", ahead_is_paused, false},
    {"counter * is at least *", counter_is_least, false},
    {"counter * is at most *", counter_is_most, false},
    {"counter * is *", counter_is, false},
    {NULL, NULL, false},
};
