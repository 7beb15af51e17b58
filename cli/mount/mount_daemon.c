/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of mount and umount to forefetchd: is it there, and of this
 * release; has it taken the section up; is the server up. */
#include "mount/mount_daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Between two looks at a server that is waited for. */
#define POLL_NS     100000000
#define QUIET_US    2000000 /* no word of waiting before that */
/* The two arguments of "%.*s". */
#define TEXT(bytes) (int)(bytes).len, (const char *)(bytes).data

Forefetch__Response *mount_daemon_status(
    const struct mount_talk *talk, const char *socket)
{
	Forefetch__Response *res;
	static char speaker[64];

	snprintf(speaker, sizeof(speaker), "%s: daemon", talk->prog);
	ctl_speak_as(speaker);
	res = ctl_status(socket, NULL);
	if (!res || strcmp(res->status->version, FF_VERSION) == 0)
		return res;
	mount_fail(talk, MOUNT_SYSTEM, "daemon",
	    "forefetchd is of release %s, and this program is of %s; run "
	    "sudo systemctl restart forefetchd, which mounts survive",
	    res->status->version, FF_VERSION);
	ctl_free(res);
	return NULL;
}

/* Other sections' failures are none of this mount's: only a change of the whole
 * file, or of the section that it needs, counts. */
bool mount_daemon_reload(
    const char *socket, const char *name, struct mount_why *why)
{
	Forefetch__ReloadRequest reload = FOREFETCH__RELOAD_REQUEST__INIT;
	Forefetch__Response *res =
	    ctl_call(socket, FOREFETCH__REQUEST__COMMAND_RELOAD, &reload);
	bool good = true;

	*why = (struct mount_why){.text = ""};
	if (!res)
		return false;
	for (size_t i = 0; good && i < res->reload->n_changes; i++) {
		const Forefetch__Change *change = res->reload->changes[i];
		bool whole = change->server.len == 0 && !*change->setting;

		if (!whole && !(name && ctl_is(&change->server, name)))
			continue;
		if (change->kind == FOREFETCH__CHANGE__CHANGE_KIND__FAILED ||
		    change->kind ==
			FOREFETCH__CHANGE__CHANGE_KIND__NEEDS_RESTART)
			good = mount_refuse(why, "%s%s%.*s", change->setting,
			    *change->setting ? ": " : "", TEXT(change->why));
	}
	ctl_free(res);
	return good;
}

/* ---- waiting ---------------------------------------------------------- */

/* Asks how the server is: 1: calls would get through, 0: not yet, with the
 * reason, -1: after a message. An idle connection is made when a call comes. */
static int look(const char *socket, const char *name, struct mount_why *why)
{
	Forefetch__Response *res = ctl_status(socket, name);
	const Forefetch__ServerStatus *srv;
	char state[CTL_TEXT_MAX];
	int good = 0;

	*why = (struct mount_why){.text = ""};
	if (!res)
		return -1;
	srv = ctl_server_named(res->status, name);
	if (srv && (srv->state == FOREFETCH__STATE__UP ||
		       srv->state == FOREFETCH__STATE__IDLE)) {
		good = 1;
	} else if (srv) {
		const ProtobufCBinaryData *text =
		    srv->reason.len > 0 ? &srv->reason : &srv->last_error;

		json_word(
		    state, &forefetch__state__descriptor, (int)srv->state);
		mount_refuse(why, "%s%s%.*s", state, text->len > 0 ? ": " : "",
		    TEXT(*text));
	}
	ctl_free(res);
	return good;
}

/* One line on a terminal, which is written anew. */
static void put_waiting(
    const struct mount_talk *talk, const char *name, const char *why)
{
	fprintf(stderr, "\r\033[K%s: waiting for %s (", talk->prog, name);
	ctl_put_bytes(stderr, (const uint8_t *)why, strnlen(why, 60));
	fputs(")...", stderr);
}

/* The signals that would end this process. */
static void fill_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGINT);
	sigaddset(ends, SIGTERM);
	sigaddset(ends, SIGHUP);
}

/* Asks until the server is up, `wait_s` have passed, or a signal of `ends` is
 * there, which is blocked and taken by sigtimedwait(2). Returns as
 * mount_daemon_wait() does. */
static int wait_loop(const struct mount_talk *talk, const char *socket,
    const char *name, unsigned wait_s, const sigset_t *ends,
    struct mount_why *why)
{
	const struct timespec rest = {.tv_nsec = POLL_NS};
	bool screen = isatty(STDERR_FILENO), put = false;
	uint64_t begun_us = clock_now_us();
	int good;

	for (;;) {
		uint64_t waited_us = clock_now_us() - begun_us;

		good = look(socket, name, why);
		if (good != 0 || waited_us >= (uint64_t)wait_s * 1000000)
			break;
		if (screen && waited_us >= QUIET_US) {
			put_waiting(talk, name, why->text);
			put = true;
		}
		if (sigtimedwait(ends, NULL, &rest) > 0) {
			mount_refuse(why, "interrupted");
			good = -1;
			break;
		}
	}
	if (put)
		fputs("\r\033[K", stderr);
	return good;
}

void mount_daemon_hold_signals(sigset_t *former)
{
	sigset_t ends;

	fill_ends(&ends);
	sigprocmask(SIG_BLOCK, &ends, former);
}

int mount_daemon_wait(const struct mount_talk *talk, const char *socket,
    const char *name, unsigned wait_s, struct mount_why *why)
{
	sigset_t ends;

	fill_ends(&ends);
	return wait_loop(talk, socket, name, wait_s, &ends, why);
}
