/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the configuration again, and reports what came of it, from a request to
 * a report:
 *
 *	reload_begin() ──▶ thread: config_load() ──▶ loop: take_up() ──▶ servers
 *	                                                                   │
 *	          report, log, systemd ◀── finish() ◀── reload_on_used() ◀─┘
 *
 * The report of a reload is collected while the servers come and go, in a ring
 * of the last ones, so that a client that asks a little late still gets its
 * own.
 */
#include "daemon/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/notify.h"
#include "daemon/lastgood.h"
#include "daemon/pending.h"
#include "daemon/servers.h"

/* Bounds of what is kept. */
enum {
	/* Reports that are kept for those who ask. */
	REPORTS = 8,
	/* Changes of one report; a larger file is still taken up, and only not
	 * told of in full. */
	CHANGES_MAX = 1024,
};

/* One change, and what became of it. `server` and `why` are allocated. */
struct reload_change {
	/* The section's name; "": it is the daemon's own. */
	char *server;
	/* Static text; "": it is the whole section. */
	const char *setting;
	Forefetch__Change__ChangeKind kind;
	char *why;
};

/* The changes of one reload. */
struct report {
	struct reload_change *list;
	size_t n;
};

/* `loaded` and `err` are the job's while it runs. */
struct reload {
	struct reload_params p;
	struct iopool *iopool;
	struct iopool_job job;
	/* The configuration that the job has read; NULL: it failed, for
	 * `err`. */
	struct config *loaded;
	char err[CONFIG_ERR_MAX];
	/* Whether a reload is under way: from reload_begin() to finish(). */
	bool busy;
	/* Another reload is to follow this one. */
	bool again;
	bool closing;
	/* Reloads are numbered from 1 on; so many are over. */
	uint64_t done;
	/* When the last one began, or was refused (reload_refused()). */
	uint64_t begun_us;
	/* The files were taken up, though some changes may have failed. */
	bool any;
	/* A report is at the number of its reload, modulo REPORTS. */
	struct report reports[REPORTS];
	/* The last reload's first failure, and the settings that wait for a
	 * restart, with commas between them. */
	char error[CONFIG_ERR_MAX], restart[CONFIG_ERR_MAX];
};

/* ---- reports ----------------------------------------------------------- */

static void change_free(struct reload_change *c)
{
	free(c->server);
	free(c->why);
}

static void report_clear(struct report *rp)
{
	for (size_t i = 0; i < rp->n; i++)
		change_free(&rp->list[i]);
	free(rp->list);
	*rp = (struct report){.n = 0};
}

/* The report of the reload that is under way. */
static struct report *report_of(struct reload *r)
{
	return &r->reports[(r->done + 1) % REPORTS];
}

/* Adds a change to the report. Without memory, or beyond CHANGES_MAX, it is
 * left out. */
static void note(struct reload *r, const char *server, const char *setting,
    Forefetch__Change__ChangeKind kind, const char *why)
{
	struct report *rp = report_of(r);
	struct reload_change c = {.server = strdup(server),
	    .setting = setting,
	    .kind = kind,
	    .why = strdup(why)};
	struct reload_change *list = NULL;

	if (c.server && c.why && rp->n < CHANGES_MAX)
		list = reallocarray(rp->list, rp->n + 1, sizeof(*list));
	if (!list) {
		change_free(&c);
		return;
	}
	rp->list = list;
	list[rp->n++] = c;
}

/* Removes what the report says of a server, since it does not hold any more. */
static void forget(struct reload *r, const char *server)
{
	struct report *rp = report_of(r);
	size_t n = 0;

	for (size_t i = 0; i < rp->n; i++) {
		if (strcmp(rp->list[i].server, server) == 0)
			change_free(&rp->list[i]);
		else
			rp->list[n++] = rp->list[i];
	}
	rp->n = n;
}

/* Whether the report says anything of that server. */
static bool is_noted(struct reload *r, const char *server)
{
	const struct report *rp = report_of(r);

	for (size_t i = 0; i < rp->n; i++)
		if (strcmp(rp->list[i].server, server) == 0)
			return true;
	return false;
}

/* ---- the log, status and systemd --------------------------------------- */

/* Words for the kinds of a change, by the numbers of Change.ChangeKind. */
static const char *const kinds[] = {
    [FOREFETCH__CHANGE__CHANGE_KIND__ADDED] = "added",
    [FOREFETCH__CHANGE__CHANGE_KIND__CHANGED] = "changed",
    [FOREFETCH__CHANGE__CHANGE_KIND__REMOVED] = "removed",
    [FOREFETCH__CHANGE__CHANGE_KIND__NEEDS_RESTART] = "needs a restart",
    [FOREFETCH__CHANGE__CHANGE_KIND__FAILED] = "failed",
};

/* Writes "server nas: listen: failed: why". */
static void describe(const struct reload_change *c, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s%s%s%s%s%s", *c->server ? "server " : "",
	    c->server, *c->server ? ": " : "", c->setting,
	    *c->setting ? ": " : "", kinds[c->kind], *c->why ? ": " : "",
	    c->why);
}

/* Adds a setting to those that wait for a restart. The daemon's settings are
 * few, so that their names fit. */
static void note_restart(struct reload *r, const char *setting)
{
	size_t len = strlen(r->restart);

	snprintf(r->restart + len, sizeof(r->restart) - len, "%s%s",
	    len > 0 ? ", " : "", setting);
}

/* Logs a change, and notes what status is to tell of it. */
static void tell_change(struct reload *r, const struct reload_change *c)
{
	char text[CONFIG_ERR_MAX];

	describe(c, text, sizeof(text));
	switch (c->kind) {
	case FOREFETCH__CHANGE__CHANGE_KIND__NEEDS_RESTART:
		log_warn("daemon: %s", text);
		note_restart(r, c->setting);
		return;
	case FOREFETCH__CHANGE__CHANGE_KIND__FAILED:
		if (r->any)
			log_error("daemon: %s", text);
		if (!*r->error)
			snprintf(r->error, sizeof(r->error), "%s",
			    r->any ? text : c->why);
		return;
	default:
		log_info("daemon: %s", text);
	}
}

/* Tells of the whole reload. A reload whose files were refused leaves alone
 * which settings wait for a restart, as the earlier one found them. */
static void tell(struct reload *r)
{
	const struct report *rp = report_of(r);

	r->error[0] = '\0';
	/* One that changed nothing leaves what an earlier one found. */
	if (r->any)
		r->restart[0] = '\0';
	for (size_t i = 0; i < rp->n; i++)
		tell_change(r, &rp->list[i]);
	/* Before anybody is told that it works. */
	if (r->any)
		lastgood_save(servers_config(r->p.servers));
	if (!r->any)
		log_error("daemon: not reloaded: %s", r->error);
	else
		log_info("daemon file=%s: reloaded%s%s%s", r->p.source.file,
		    *r->error ? ", but not all of it was applied" : "",
		    *r->restart ? "; a restart is needed for " : "",
		    r->restart);
}

static void begin(struct reload *r);

/* The reload is over: whoever waits for it finds its report, and systemd hears
 * that the daemon is ready again (sd_notify(3), RELOADING). */
static void finish(struct reload *r)
{
	tell(r);
	r->done++;
	r->busy = false;
	notify_ready();
	if (r->again)
		begin(r);
}

/* ---- taking it up ------------------------------------------------------ */

/* Called for each difference between the two configurations. A fixed setting of
 * the daemon keeps its value; a fixed one of a server makes that server begin
 * anew. */
static void on_difference(void *ctx, const struct config_change *change)
{
	static const Forefetch__Change__ChangeKind of[] = {
	    [CONFIG_ADDED] = FOREFETCH__CHANGE__CHANGE_KIND__ADDED,
	    [CONFIG_REMOVED] = FOREFETCH__CHANGE__CHANGE_KIND__REMOVED,
	    [CONFIG_CHANGED] = FOREFETCH__CHANGE__CHANGE_KIND__CHANGED,
	};
	const char *server = change->server ? change->server : "";
	const char *setting = change->setting ? change->setting : "";
	struct reload *r = ctx;

	if (!change->server && change->fixed)
		note(r, server, setting,
		    FOREFETCH__CHANGE__CHANGE_KIND__NEEDS_RESTART,
		    "the daemon keeps the old value while it runs");
	else
		note(r, server, setting, of[change->kind],
		    change->fixed ? "its clients connect again" : "");
}

/* The configuration in force, which this file alone may change; nobody else
 * looks at it now. */
static struct config *in_force(struct reload *r)
{
	return (struct config *)servers_config(r->p.servers);
}

/* Puts the configuration that was read in force. The servers report each on its
 * way, and reload_on_used() when all have. */
static void take_up(struct reload *r)
{
	struct config *config = r->loaded;

	r->loaded = NULL;
	r->any = true;
	config_diff(in_force(r), config, on_difference, r);
	config_keep_fixed(in_force(r), config);
	r->p.on_config(r->p.ctx, config);
	servers_use(r->p.servers, config);
}

/* ---- reading it -------------------------------------------------------- */

/* Whether a server comes that the configuration in force does not have, or has
 * at another address. */
static bool brings_servers(const struct config *old, const struct config *now)
{
	for (size_t i = 0; i < now->nservers; i++) {
		const struct config_server *s =
		    config_server_find(old, now->servers[i].name);

		if (!s || strcmp(s->address, now->servers[i].address) != 0)
			return true;
	}
	return false;
}

/* In a thread: reads the files, which may be on a disk that hangs. A later
 * release may have run meanwhile, and left writes that are pending to a server
 * that comes; then nothing is taken up. */
static void job_run(struct iopool_job *job)
{
	struct reload *r = container_of(job, struct reload, job);

	r->loaded = config_load(&r->p.source, r->err, sizeof(r->err));
	if (!r->loaded || !brings_servers(r->p.source.former, r->loaded) ||
	    pending_check(r->err, sizeof(r->err)))
		return;
	config_free(r->loaded);
	r->loaded = NULL;
}

/* On the loop: goes on with what the thread has read. */
static void job_done(struct iopool_job *job)
{
	struct reload *r = container_of(job, struct reload, job);

	if (r->closing)
		return;
	if (r->loaded) {
		take_up(r);
		return;
	}
	note(r, "", "", FOREFETCH__CHANGE__CHANGE_KIND__FAILED, r->err);
	finish(r);
}

/* Begins a reload; none is under way. */
static void begin(struct reload *r)
{
	notify_reloading();
	r->busy = true;
	r->again = false;
	r->any = false;
	r->begun_us = clock_now_us();
	report_clear(report_of(r));
	/* The thread reads of it what does not change. */
	r->p.source.former = servers_config(r->p.servers);
	r->job.run = job_run;
	r->job.done = job_done;
	iopool_submit(r->iopool, &r->job);
}

uint64_t reload_begin(struct reload *r)
{
	if (!r->busy) {
		begin(r);
		return r->done + 1;
	}
	/* The reload under way may have read the files before they were as this
	 * request means them, so another one follows. */
	r->again = true;
	return r->done + 2;
}

void reload_refused(struct reload *r, const char *why)
{
	r->begun_us = clock_now_us();
	snprintf(r->error, sizeof(r->error), "%s", why);
}

void reload_on_serves(struct reload *r, const char *server)
{
	if (r->busy && !is_noted(r, server))
		note(r, server, "", FOREFETCH__CHANGE__CHANGE_KIND__ADDED, "");
}

/* The sentence may begin with the name of the server, for a log; the report has
 * that already, so it is taken off. */
void reload_on_failed(struct reload *r, const char *server, const char *why)
{
	if (!r->busy) {
		log_error("daemon server=%s: %s", server, why);
		return;
	}
	forget(r, server);
	/* The report names the server in a field of its own. */
	if (strncmp(why, "server ", 7) == 0 &&
	    strncmp(why + 7, server, strlen(server)) == 0 &&
	    strncmp(why + 7 + strlen(server), ": ", 2) == 0)
		why += 7 + strlen(server) + 2;
	note(r, server, "", FOREFETCH__CHANGE__CHANGE_KIND__FAILED, why);
}

void reload_on_used(struct reload *r)
{
	finish(r);
}

/* ---- whoever asks ------------------------------------------------------ */

/* A report that was overwritten since is answered by the last one. */
bool reload_answer(struct reload *r, uint64_t number, struct arena *a,
    Forefetch__Reloaded *out)
{
	const struct report *rp = &r->reports[number % REPORTS];

	if (r->done < number)
		return false;
	/* The question came so late that its own report is overwritten. */
	if (r->done - number >= REPORTS - 1)
		rp = &r->reports[r->done % REPORTS];
	out->changes = arena_messages(a, &forefetch__change__descriptor, rp->n);
	for (size_t i = 0; out->changes && i < rp->n; i++) {
		Forefetch__Change *msg = out->changes[out->n_changes++];
		const struct reload_change *c = &rp->list[i];

		msg->server = arena_bytes(a, "%s", c->server);
		msg->setting = (char *)c->setting;
		msg->kind = c->kind;
		msg->why = arena_bytes(a, "%s", c->why);
	}
	return true;
}

uint64_t reload_time_us(const struct reload *r)
{
	return r->begun_us;
}

const char *reload_error(const struct reload *r)
{
	return r->error;
}

const char *reload_restart(const struct reload *r)
{
	return r->restart;
}

struct reload *reload_new(const struct reload_params *p)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->p = *p;
	/* A thread of its own: a disk of cache_dir that hangs keeps all others.
	 */
	r->iopool = iopool_new(p->base, 1);
	if (r->iopool)
		return r;
	free(r);
	return NULL;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	r->closing = true;
	iopool_free(r->iopool);
	config_free(r->loaded);
	for (size_t i = 0; i < REPORTS; i++)
		report_clear(&r->reports[i]);
	free(r);
}
