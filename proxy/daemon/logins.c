/* SPDX-License-Identifier: GPL-2.0-or-later */
/* logind keeps a file for each session, and sd-login(3) watches the folder of
 * these. It says that something changed, but not what: so the sessions that
 * there are now are compared with those of the last time. */
#include "daemon/logins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef FF_SYSTEMD

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-login.h>

#include <event2/event.h>

struct logins {
	logins_cb cb;
	void *arg;
	sd_login_monitor *monitor;
	struct event *ev;
	char **sessions; /* their names, sorted; NULL: none */
	int n;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_free(char **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* Sessions of cron jobs and of services are of class "background" or another
 * one: nobody logs in there. */
static bool is_login(const char *session)
{
	char *class = NULL;
	bool is = sd_session_get_class(session, &class) >= 0 &&
		  strcmp(class, "user") == 0;

	free(class);
	return is;
}

static void on_change(evutil_socket_t fd, short what, void *arg)
{
	struct logins *l = arg;
	char **now = NULL;
	uid_t uid;
	int n;

	(void)fd;
	(void)what;
	/* First, so that what changes from here on wakes the loop again. */
	(void)sd_login_monitor_flush(l->monitor);
	n = sd_get_sessions(&now);
	if (n < 0)
		return;
	if (n > 0)
		qsort(now, (size_t)n, sizeof(*now), compare);
	for (int i = 0; i < n; i++)
		if (!(l->n > 0 && bsearch(&now[i], l->sessions, (size_t)l->n,
				      sizeof(*now), compare)) &&
		    is_login(now[i]) && sd_session_get_uid(now[i], &uid) >= 0)
			l->cb(l->arg, (uint32_t)uid);
	names_free(l->sessions, l->n);
	l->sessions = now;
	l->n = n;
}

struct logins *logins_new(struct event_base *base, logins_cb cb, void *arg)
{
	struct logins *l = calloc(1, sizeof(*l));
	int rc = l ? sd_login_monitor_new("session", &l->monitor) : -ENOMEM;

	if (rc >= 0)
		l->ev = event_new(base, sd_login_monitor_get_fd(l->monitor),
		    EV_READ | EV_PERSIST, on_change, l);
	if (rc < 0 || !l->ev || event_add(l->ev, NULL) < 0) {
		logins_free(l);
		errno = rc < 0 ? -rc : ENOMEM;
		return NULL;
	}
	l->cb = cb;
	l->arg = arg;
	l->n = sd_get_sessions(&l->sessions);
	if (l->n < 0)
		l->n = 0;
	if (l->n > 0)
		qsort(l->sessions, (size_t)l->n, sizeof(char *), compare);
	return l;
}

void logins_free(struct logins *l)
{
	if (!l)
		return;
	if (l->ev)
		event_free(l->ev);
	sd_login_monitor_unref(l->monitor);
	names_free(l->sessions, l->n);
	free(l);
}

#else

struct logins *logins_new(struct event_base *base, logins_cb cb, void *arg)
{
	(void)base;
	(void)cb;
	(void)arg;
	errno = ENOSYS;
	return NULL;
}

void logins_free(struct logins *l)
{
	(void)l;
}

#endif
