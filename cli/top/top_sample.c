/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sample: three questions over one connection, which is made anew where it
 * broke, and now and then a fourth one for names. */
#include "ctl/ctl_text.h"
#include "top/top_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/protocol.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_wire.h"
#include "top/top_names.h"
#include "top/top_text.h"

/* Looking names up may take one part in so many of the time. */
enum { NAMES_PART = 10 };

/* Who asks; used by one thread at a time. */
struct top_asker {
	const char *socket;
	ProtobufCBinaryData server;
	/* The connection; -1: there is none. */
	int fd;
	struct top_names *names;
	/* Samples of the past that are asked for. */
	uint32_t past;
	/* Names are not looked up again before that time. */
	uint64_t names_ms;
};

/* Milliseconds of a clock that does not go back. */
static uint64_t now_ms(void)
{
	return clock_now_us() / 1000;
}

struct top_asker *top_asker_new(const char *socket, const char *server)
{
	struct top_asker *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->socket = socket;
	a->server = ctl_bytes(server);
	a->fd = -1;
	a->names = top_names_new();
	if (a->names)
		return a;
	free(a);
	return NULL;
}

void top_asker_past(struct top_asker *a, uint32_t samples)
{
	a->past = samples;
}

static void hang_up(struct top_asker *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

void top_asker_free(struct top_asker *a)
{
	if (!a)
		return;
	hang_up(a);
	top_names_free(a->names);
	free(a);
}

/* ---- one question ----------------------------------------------------- */

static int exchange(struct top_asker *a,
    Forefetch__Request__CommandCase command, void *message,
    Forefetch__Response **res)
{
	int error;

	if (a->fd < 0)
		a->fd = ctl_wire_connect(a->socket);
	error = a->fd < 0 ? a->fd : ctl_wire_ask(a->fd, command, message, res);
	if (error)
		hang_up(a);
	return error;
}

static void set_errno(
    const struct top_asker *a, struct top_sample *s, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		snprintf(s->error, sizeof(s->error),
		    "it is not running (nobody listens at %s)", a->socket);
		return;
	case EAGAIN:
		snprintf(s->error, sizeof(s->error),
		    "it does not answer; see its log with journalctl -u "
		    "forefetchd");
		return;
	case ENODATA:
	case EPIPE:
	case ECONNRESET:
		snprintf(
		    s->error, sizeof(s->error), "it closed the connection");
		return;
	case EPROTO:
		snprintf(s->error, sizeof(s->error),
		    "the program at %s is not forefetchd, or is of another "
		    "release",
		    a->socket);
		return;
	default:
		snprintf(s->error, sizeof(s->error), "%s: %s", a->socket,
		    strerror(error));
	}
}

/* Writes into the sample that the daemon refused the question, and whether it
 * always will. */
static void set_refused(struct top_sample *s, const Forefetch__Error *error)
{
	char *text = ctl_text_clean(error->text, strlen(error->text));
	bool version = error->code == FOREFETCH__ERROR_CODE__BAD_VERSION ||
		       error->code == FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND;

	s->fatal = version;
	snprintf(s->error, sizeof(s->error), "%s%s",
	    version ? "forefetch and forefetchd are of different releases: "
		    : "",
	    text ? text : "");
	free(text);
}

/* The answer, to be freed; or NULL, and the reason in `s`. */
static Forefetch__Response *ask(struct top_asker *a, struct top_sample *s,
    Forefetch__Request__CommandCase command, void *message)
{
	bool was_open = a->fd >= 0;
	Forefetch__Response *res = NULL;
	int error = exchange(a, command, message, &res);

	/* The daemon may have been restarted since, and closes a connection
	 * over which nothing was asked for long. */
	if (error && was_open && error != -EAGAIN)
		error = exchange(a, command, message, &res);
	if (error) {
		set_errno(a, s, -error);
		return NULL;
	}
	if (res->result_case == (Forefetch__Response__ResultCase)command)
		return res;
	if (res->result_case == FOREFETCH__RESPONSE__RESULT_ERROR)
		set_refused(s, res->error);
	else
		set_errno(a, s, EPROTO);
	ctl_free(res);
	return NULL;
}

/* ---- names ------------------------------------------------------------ */

/* Replaces the rows of a server by those of now with their names, and learns
 * these. The daemon needs time for it, of which NAMES_PART makes a share of all
 * time. */
static void ask_names(struct top_asker *a, Forefetch__ServerActivity **srv)
{
	Forefetch__ActivityRequest request = FOREFETCH__ACTIVITY_REQUEST__INIT;
	struct top_sample none = {.error = ""};
	Forefetch__ServerActivity *former = *srv;
	Forefetch__Response *res;
	uint64_t began_ms = now_ms();

	request.server = former->name;
	request.names = true;
	request.past = a->past;
	res = ask(a, &none, FOREFETCH__REQUEST__COMMAND_ACTIVITY, &request);
	a->names_ms = now_ms() + NAMES_PART * (now_ms() - began_ms);
	if (res && res->activity->n_servers == 1) {
		*srv = res->activity->servers[0];
		res->activity->servers[0] = former;
		top_names_learn(a->names, *srv, now_ms());
	}
	ctl_free(res);
}

/* Fills names in, and asks for those that are missing if it is time for
 * that. */
static void name_rows(struct top_asker *a, const Forefetch__Activity *act)
{
	for (size_t i = 0; i < act->n_servers; i++) {
		if (!top_names_fill(a->names, act->servers[i], now_ms()) ||
		    now_ms() < a->names_ms)
			continue;
		ask_names(a, &act->servers[i]);
		(void)top_names_fill(a->names, act->servers[i], now_ms());
	}
}

/* ---- all of them ------------------------------------------------------ */

/* False, and the reason in `s`, if one of the three was not answered. */
static bool ask_all(struct top_asker *a, struct top_sample *s)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	Forefetch__StatsRequest stats = FOREFETCH__STATS_REQUEST__INIT;
	Forefetch__ActivityRequest activity = FOREFETCH__ACTIVITY_REQUEST__INIT;

	status.server = stats.server = activity.server = a->server;
	activity.past = a->past;
	s->answers[0] = ask(a, s, FOREFETCH__REQUEST__COMMAND_STATUS, &status);
	if (s->answers[0])
		s->answers[1] =
		    ask(a, s, FOREFETCH__REQUEST__COMMAND_STATS, &stats);
	if (s->answers[1])
		s->answers[2] =
		    ask(a, s, FOREFETCH__REQUEST__COMMAND_ACTIVITY, &activity);
	return s->answers[2] != NULL;
}

/* A sample without all three answers has none, so that nobody has to look. */
struct top_sample *top_ask(struct top_asker *a)
{
	struct top_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (!ask_all(a, s)) {
		for (int i = 0; i < 3; i++) {
			ctl_free(s->answers[i]);
			s->answers[i] = NULL;
		}
		return s;
	}
	s->status = s->answers[0]->status;
	s->stats = s->answers[1]->stats;
	s->activity = s->answers[2]->activity;
	name_rows(a, s->activity);
	return s;
}

void top_sample_free(struct top_sample *s)
{
	if (!s)
		return;
	for (int i = 0; i < 3; i++)
		ctl_free(s->answers[i]);
	free(s);
}
