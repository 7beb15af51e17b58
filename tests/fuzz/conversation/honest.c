/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a conversation: what an honest client gets from the daemon. */
#include <string.h>

#include "conversation/stranger.h"
#include "conversation/talk.h"
#include "scenario/files.h"
#include "scenario/script.h"
#include "scenario/vclock.h"

enum {
	HONEST = PLACE_CLIENTS - 1,
	HONEST_UID = 1000 + HONEST,
	LATER = 20, /* times that it may be told to ask again */
};

#define S        UINT64_C(1000000)
/* The kernel's client repeats a call after a minute. */
#define REPEAT_S UINT64_C(60)
/* More than the daemon gives a record that does not end. */
#define END_S    UINT64_C(600)
#define DELAY_S  UINT64_C(5)
/* After that no answer is older than the end of the conversation, and a daemon
 * that has lost the server is connected again: it tries each 7.5 s at least. */
#define QUIET_S  UINT64_C(10)

static void await(
    struct client *c, const char *what, struct calltext_facts *facts)
{
	for (uint64_t s = 0; s < END_S; s++) {
		vclock_settle();
		if (client_take(c, NULL, facts))
			return;
		if (!client_connected(c) || s % REPEAT_S == REPEAT_S - 1)
			(void)client_repeat(c);
		vclock_pass(S);
	}
	script_fail("%s: no reply within %u s", what, (unsigned)END_S);
}

static void ask_until_told(struct client *c, char *const *words, unsigned n,
    struct calltext_facts *facts)
{
	for (unsigned i = 0; i < LATER; i++) {
		client_send(c, words, n, false);
		await(c, words[0], facts);
		if (strcmp(facts->list[0], "JUKEBOX") != 0)
			return;
		vclock_pass(DELAY_S * S);
	}
	script_fail("%s: JUKEBOX for ever", words[0]);
}

static void judge(struct talk *t, char *const *words, unsigned n)
{
	struct calltext_facts got, right;
	const struct nfs_proc *proc;
	char err[CALLTEXT_MAX];
	union nfs_args args;
	union nfs_res res;

	if (!calltext_parse(t->place.fs, words, n, &proc, &args, err))
		return;
	ask_until_told(t->place.clients[HONEST], words, n, &got);
	if (t->lied)
		return;
	(void)calltext_parse(t->place.fs, words, n, &proc, &args, err);
	memfs_execute(t->place.fs, proc->proc, &args, HONEST_UID, &res);
	calltext_facts(proc, &res, &right);
	for (unsigned i = 0; i < got.n || i < right.n; i++)
		if (i >= got.n || i >= right.n ||
		    strcmp(got.list[i], right.list[i]) != 0)
			script_fail("%s %s: got %.90s; right is %.90s",
			    words[0], words[1], i < got.n ? got.list[i] : "",
			    i < right.n ? right.list[i] : "");
}

static void judge_object(struct talk *t, const struct memfs_object *o)
{
	char path[MEMFS_PATH_MAX];
	char getattr[] = "GETATTR", lookup[] = "LOOKUP", read[] = "READ",
	     zero[] = "0", count[] = "4096";
	char *words[] = {getattr, path, zero, count};

	memcpy(path, o->path, sizeof(path));
	judge(t, words, 2);
	if (!path[1])
		return;
	words[0] = lookup;
	judge(t, words, 2);
	words[0] = read;
	judge(t, words, 4);
}

/* The first file of all, and the root. */
static void judge_objects(struct talk *t)
{
	const struct memfs *fs = t->place.fs;

	judge_object(t, &fs->objects[0]);
	for (unsigned i = 0; i < fs->n; i++)
		if (fs->objects[i].type == NF3REG && fs->objects[i].nlink > 0) {
			judge_object(t, &fs->objects[i]);
			break;
		}
	client_close(t->place.clients[HONEST]);
	vclock_settle();
}

/* Nobody is connected, so nothing is held for anybody. */
static void judge_room(struct talk *t)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	char err[PLACE_ERR_MAX];
	Forefetch__Response *res;
	uint64_t bytes = 0;

	request.command_case = FOREFETCH__REQUEST__COMMAND_STATUS;
	request.status = &status;
	res = place_control(&t->place, &request, err);
	if (!res)
		script_fail("no status: %s", err);
	if (res->result_case == FOREFETCH__RESPONSE__RESULT_STATUS)
		bytes = res->status->clients_bytes;
	forefetch__response__free_unpacked(res, NULL);
	if (bytes > 0)
		script_fail(
		    "%ju bytes are held for no client", (uintmax_t)bytes);
}

static void be_good(struct talk *t)
{
	for (unsigned i = 0; i < TALK_STRANGERS; i++)
		stranger_close(t->strangers[i]);
	t->place.fs->mute = false;
	fakeserver_set_mount(t->place.nfs, NULL, 0);
	fakeserver_answer_by(t->place.nfs, NULL, NULL);
	fakeserver_listen(t->place.nfs, true);
	fakeserver_serve(t->place.nfs, true);
	vclock_pass(QUIET_S * S);
}

void talk_judge(struct talk *t)
{
	script_trace("--- the end");
	be_good(t);
	judge_objects(t);
	judge_room(t);
	if (!t->lied)
		return;
	script_trace("--- a new daemon");
	place_stop(&t->place);
	files_remove(t->place.cache);
	t->lied = false;
	talk_start(t);
	judge_objects(t);
}
