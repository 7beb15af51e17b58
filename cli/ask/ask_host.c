/* SPDX-License-Identifier: GPL-2.0-or-later */
/* getaddrinfo_a(3), which is not waited for too long. */
#include "ask/ask_host.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* The library keeps pointers into it until it has the answer. */
struct host_question {
	struct addrinfo hints;
	struct gaicb cb;
	char host[];
};

/* NULL without memory. */
static struct host_question *question_new(const char *host)
{
	struct host_question *q = calloc(1, sizeof(*q) + strlen(host) + 1);

	if (!q)
		return NULL;
	strcpy(q->host, host);
	q->hints.ai_socktype = SOCK_STREAM;
	q->cb.ar_name = q->host;
	q->cb.ar_request = &q->hints;
	return q;
}

/* Waits for the answer for `limit_us`: what gai_error(3) says then. */
static int wait_for(struct host_question *q, uint64_t limit_us)
{
	const struct gaicb *const list[] = {&q->cb};
	uint64_t until_us = clock_now_us() + limit_us, now_us;
	struct timespec rest;
	int gai;

	while ((gai = gai_error(&q->cb)) == EAI_INPROGRESS &&
	       (now_us = clock_now_us()) < until_us) {
		rest.tv_sec = (time_t)((until_us - now_us) / 1000000);
		rest.tv_nsec = (long)((until_us - now_us) % 1000000 * 1000);
		(void)gai_suspend(list, 1, &rest);
	}
	return gai;
}

/* Copies the first `count` addresses of families that are of use; how many. */
static unsigned take(
    const struct addrinfo *list, struct sockaddr_storage *addr, unsigned count)
{
	unsigned n = 0;

	for (; list && n < count; list = list->ai_next) {
		if (list->ai_family != AF_INET && list->ai_family != AF_INET6)
			continue;
		memset(&addr[n], 0, sizeof(addr[n]));
		memcpy(&addr[n++], list->ai_addr, list->ai_addrlen);
	}
	return n;
}

int ask_host(const char *host, uint64_t limit_us, struct sockaddr_storage *addr,
    unsigned *count)
{
	struct host_question *q = question_new(host);
	unsigned room = *count;
	int gai = EAI_MEMORY;

	*count = 0;
	if (q)
		gai = getaddrinfo_a(
		    GAI_NOWAIT, (struct gaicb *[]){&q->cb}, 1, NULL);
	if (q && !gai)
		gai = wait_for(q, limit_us);
	if (gai == EAI_INPROGRESS)
		return EAI_AGAIN;
	if (!gai) {
		*count = take(q->cb.ar_result, addr, room);
		freeaddrinfo(q->cb.ar_result);
	}
	free(q);
	return !gai && *count == 0 ? EAI_NODATA : gai;
}
