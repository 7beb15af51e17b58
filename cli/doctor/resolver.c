/* SPDX-License-Identifier: GPL-2.0-or-later */
/* getaddrinfo(3) on a thread that is not waited for too long. */
#include "doctor/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Freed by whichever of the two sides is the last. */
struct job {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done, left;
	int gai;
	struct addrinfo *list;
	char host[];
};

static void job_free(struct job *j)
{
	if (j->list)
		freeaddrinfo(j->list);
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->changed);
	free(j);
}

static void *job_run(void *arg)
{
	const struct addrinfo hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct job *j = arg;
	struct addrinfo *list = NULL;
	int gai = getaddrinfo(j->host, NULL, &hints, &list);
	bool left;

	pthread_mutex_lock(&j->lock);
	j->gai = gai;
	j->list = gai ? NULL : list;
	j->done = true;
	left = j->left;
	pthread_cond_signal(&j->changed);
	pthread_mutex_unlock(&j->lock);
	if (left)
		job_free(j);
	return NULL;
}

static struct job *job_start(const char *host)
{
	struct job *j = calloc(1, sizeof(*j) + strlen(host) + 1);
	pthread_condattr_t attr;
	pthread_t thread;

	if (!j)
		return NULL;
	strcpy(j->host, host);
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&j->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&thread, NULL, job_run, j) == 0) {
		pthread_detach(thread);
		return j;
	}
	job_free(j);
	return NULL;
}

static void take(
    const struct addrinfo *list, struct sockaddr_storage *addr, unsigned *count)
{
	unsigned n = 0;

	for (; list && n < *count; list = list->ai_next) {
		if (list->ai_family != AF_INET && list->ai_family != AF_INET6)
			continue;
		memset(&addr[n], 0, sizeof(addr[n]));
		memcpy(&addr[n++], list->ai_addr, list->ai_addrlen);
	}
	*count = n;
}

int resolver_find(const char *host, uint64_t limit_us,
    struct sockaddr_storage *addr, unsigned *count)
{
	struct job *j = job_start(host);
	struct timespec until;
	bool done;
	int gai, err = 0;

	if (!j)
		return EAI_MEMORY;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(limit_us / 1000000);
	pthread_mutex_lock(&j->lock);
	while (!j->done && !err)
		err = pthread_cond_timedwait(&j->changed, &j->lock, &until);
	done = j->done;
	j->left = true;
	pthread_mutex_unlock(&j->lock);
	if (!done) {
		*count = 0;
		return EAI_AGAIN;
	}
	gai = j->gai;
	take(j->list, addr, count);
	job_free(j);
	return !gai && *count == 0 ? EAI_NODATA : gai;
}
