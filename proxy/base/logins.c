/* SPDX-License-Identifier: GPL-2.0-or-later */
/* logind keeps a file for each session, and sd-login(3) watches the folder of
 * these. It says that something changed, but not what: so the sessions that
 * there are now are compared with those of the last time. */
#include "base/logins.h"

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

/* Whether the session's class begins with these letters. */
static bool is_class(const char *session, const char *letters)
{
	char *class = NULL;
	bool is = sd_session_get_class(session, &class) >= 0 &&
		  strncmp(class, letters, strlen(letters)) == 0;

	free(class);
	return is;
}

/* Gives the sessions that there are, sorted; -1 on failure. One whose user is
 * not known to the end yet is left out: it becomes another one. */
static int sessions_now(char ***out)
{
	char **names = NULL;
	int n = sd_get_sessions(&names), kept = 0;

	for (int i = 0; i < n; i++)
		if (is_class(names[i], "user-incomplete"))
			free(names[i]);
		else
			names[kept++] = names[i];
	if (kept > 0)
		qsort(names, (size_t)kept, sizeof(*names), compare);
	*out = names;
	return n < 0 ? n : kept;
}

/* Sessions of cron jobs, of services and of the login screen are of other
 * classes than users' own: "user", "user-early". */
static void tell(const char *session, logins_cb cb, void *arg)
{
	uid_t uid;

	if (is_class(session, "user") && sd_session_get_uid(session, &uid) >= 0)
		cb(arg, (uint32_t)uid);
}

static void on_change(evutil_socket_t fd, short what, void *arg)
{
	struct logins *l = arg;
	char **now;
	int n;

	(void)fd;
	(void)what;
	/* First, so that what changes from here on wakes the loop again. */
	(void)sd_login_monitor_flush(l->monitor);
	n = sessions_now(&now);
	if (n < 0)
		return;
	for (int i = 0; i < n; i++)
		if (!(l->n > 0 && bsearch(&now[i], l->sessions, (size_t)l->n,
				      sizeof(*now), compare)))
			tell(now[i], l->cb, l->arg);
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
	l->n = sessions_now(&l->sessions);
	if (l->n < 0)
		l->n = 0;
	return l;
}

void logins_tell(const struct logins *l, logins_cb cb, void *arg)
{
	for (int i = 0; l && i < l->n; i++)
		tell(l->sessions[i], cb, arg);
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

void logins_tell(const struct logins *l, logins_cb cb, void *arg)
{
	(void)l;
	(void)cb;
	(void)arg;
}

void logins_free(struct logins *l)
{
	(void)l;
}

#endif
