/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a text from its first line to the judgement. */
#include "conversation/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversation/answer.h"
#include "conversation/stranger.h"
#include "scenario/script.h"
#include "scenario/vclock.h"
#include "sweep/failure.h"

static void given(struct memfs *fs, const char *text)
{
	struct line l;
	const struct nfs_proc *proc;
	char err[CALLTEXT_MAX];
	union nfs_args args;
	union nfs_res res;

	(void)line_cut(&l, text, strlen(text));
	if (!calltext_parse(fs, l.words, l.n, &proc, &args, err))
		script_fail("%s", err);
	fs->now_ns = vclock_wall_ns();
	memfs_execute(fs, proc->proc, &args, 1000, &res);
}

static void give_all(struct memfs *fs)
{
	static const char *const lines[] = {"CREATE /file",
	    "WRITE /file 0 what-an-honest-client-reads", "MKDIR /d",
	    "CREATE /d/a", "WRITE /d/a 0 the-first-file-of-all", "CREATE /d/b",
	    "WRITE /d/b 0 see-./a-and-../big", "CREATE /big",
	    "SETATTR /big size 60000", "WRITE /big 59000 near-the-end",
	    "MKDIR /e", "SYMLINK /e/link ../d/a", "CREATE /e/c"};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		given(fs, lines[i]);
}

/* A first line that is no mode is a step as any. */
static const char *settings_of(const char *text, size_t len)
{
	static const struct {
		const char *name, *settings;
	} modes[] = {
	    {"strict", "consistency = strict\n"},
	    {"frozen", "consistency = frozen\n"},
	    {"offline", "consistency = bounded\noffline = serve\n"},
	};
	struct line l;

	(void)line_cut(&l, text, len);
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (l.n > 1 && strcmp(l.words[0], "mode") == 0 &&
		    strcmp(l.words[1], modes[i].name) == 0)
			return modes[i].settings;
	return "consistency = bounded\n";
}

static char said[8192];

/* The fuzzer keeps the input of a process that aborts. */
static void give_up(void)
{
	fprintf(stderr, "conversation: %s\n", said);
	abort();
}

static void begin(struct talk *t, const char *settings)
{
	memset(t, 0, sizeof(*t));
	failure_begin(said, sizeof(said), give_up);
	answer_forget();
	place_begin(&t->place, settings);
	give_all(t->place.fs);
	for (unsigned i = 0; i < TALK_STRANGERS; i++)
		t->strangers[i] = stranger_new(&t->place, i);
	talk_start(t);
	fakeserver_serve(t->place.nfs, false);
}

static void end(struct talk *t)
{
	for (unsigned i = 0; i < TALK_STRANGERS; i++)
		stranger_free(t->strangers[i]);
	place_end(&t->place);
}

void talk(const char *text, size_t len)
{
	static struct talk t;
	struct line l;

	begin(&t, settings_of(text, len));
	for (unsigned i = 0; len > 0 && i < TALK_STEPS; i++) {
		size_t n = line_cut(&l, text, len);

		talk_step(&t, &l);
		text += n;
		len -= n;
	}
	talk_judge(&t);
	end(&t);
}
