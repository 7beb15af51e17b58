/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole conversations of hostile clients and a hostile server with the daemon,
 * in virtual time (conversation/line.h): it does not crash, strangers get sound
 * replies, and an honest client is served at the end.
 */
#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "conversation/mutate.h"
#include "conversation/talk.h"
#include "scenario/vclock.h"

enum { LIMIT_S = 60 /* of the processor's time, for one conversation */ };

int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(
    uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t alen,
    const uint8_t *b, size_t blen, uint8_t *to, size_t max, unsigned seed);

static void on_limit(int sig)
{
	(void)sig;
	fprintf(stderr, "conversation: it takes more than %d s\n", LIMIT_S);
	abort();
}

/* The fuzzer's own clocks are the machine's. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	vclock_stop();
	(void)signal(SIGVTALRM, on_limit);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct itimerval limit = {.it_value.tv_sec = LIMIT_S}, none = {0};
	sigset_t alarm;

	/* The fuzzer's timer would read a clock that is not the machine's. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	/* With one thread an input does the same each time, or nearly so. */
	place_threads = 1;
	talk((const char *)data, size);
	setitimer(ITIMER_VIRTUAL, &none, NULL);
	vclock_stop();
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	return 0;
}

size_t LLVMFuzzerCustomMutator(
    uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate(data, size, max, seed, LLVMFuzzerMutate);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t alen,
    const uint8_t *b, size_t blen, uint8_t *to, size_t max, unsigned seed)
{
	return mutate_cross(a, alen, b, blen, to, max, seed);
}
