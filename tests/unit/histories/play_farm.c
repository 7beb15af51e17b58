/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A farm between machines that follow one another, and its engine. */
#include <stdio.h>
#include <sys/stat.h>

#include "farm/seal.h"
#include "histories/engine_memory.h"
#include "histories/play_private.h"
#include "scenario/vclock.h"

#define S UINT64_C(1000000)

void play_set_farm(struct play *p)
{
	char key[64];
	FILE *f;

	snprintf(key, sizeof(key), "%s/key", p->place.dir);
	f = fopen(key, "w");
	fchmod(fileno(f), 0600);
	/* The same in each run, so that a seed repeats its history. */
	for (unsigned i = 0; i < SEAL_KEY_FILE_BYTES; i++)
		fprintf(f, "%02x", i);
	fprintf(f, "\n");
	fclose(f);
	f = fopen(p->place.file, "a");
	fprintf(f, "[farm]\nengine = redis://127.0.0.1\nkey_file = %s\n", key);
	fclose(f);
}

static void on_lie(void *arg, enum memory_lie lie)
{
	struct play *p = arg;

	p->out->faults[EVENT_DAMAGED + (int)(lie - MEMORY_DAMAGED)]++;
}

/* Nobody repeats the calls that the clients of the former machine wait for. */
void play_leave(struct play *p)
{
	play_turns_leave();
	for (unsigned i = 0; i < p->nplayers; i++) {
		client_close(p->place.clients[i]);
		play_give_up(&p->players[i]);
	}
}

bool play_engine(struct play *p, const struct event *e)
{
	uint64_t until_ns = vclock_wall_ns() + e->b % (10 * S) * 1000;

	switch (e->kind) {
	case EVENT_ENGINE_AWAY:
		memory_away(until_ns);
		return true;
	case EVENT_ENGINE_HANGS:
		memory_hang(until_ns);
		return true;
	case EVENT_DAMAGED:
		memory_lie(MEMORY_DAMAGED, e->b, on_lie, p);
		return false;
	case EVENT_OTHER:
		memory_lie(MEMORY_OTHER, e->b, on_lie, p);
		return false;
	case EVENT_FORMER:
		memory_lie(MEMORY_FORMER, e->b, on_lie, p);
		return false;
	default:
		return memory_answer(e->a % 3 ? 0 : e->b);
	}
}
