/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch trace records accesses for forefetch-sim. `start` leaves a process
 * in the background that asks the daemon for what it saw and writes that to the
 * file, with the rights of the user who started it, until the trace is stopped;
 * so the daemon needs no right to write anywhere for users. `stop` tells the
 * daemon, and waits until those processes have taken everything and closed
 * their connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Milliseconds between two questions, while there is nothing to take and while
 * `stop` waits; and how often `stop` asks: ten seconds in all. */
enum { TAKE_MS = 200, STOP_MS = 50, STOP_TRIES = 200 };

/* Sleeps for less than a second. */
static void rest(unsigned ms)
{
	const struct timespec ts = {.tv_nsec = ms * 1000000L};

	nanosleep(&ts, NULL);
}

/* NULL after a message. */
static Forefetch__Response *ask_trace(struct ctl_client *c,
    const struct ctl_options *opt, Forefetch__TraceAction action)
{
	Forefetch__TraceRequest trace = FOREFETCH__TRACE_REQUEST__INIT;

	trace.action = action;
	trace.server = ctl_bytes(opt->server);
	return ctl_ask(c, FOREFETCH__REQUEST__COMMAND_TRACE, &trace);
}

/* ---- start ------------------------------------------------------------ */

/* False and errno where the file takes no more. */
static bool write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* In the background: takes parts and writes them until the daemon says why no
 * more will come. Nobody reads messages of it any more. */
static int take_all(struct ctl_client *c, const struct ctl_options *opt, int fd)
{
	bool good = true, over = false;

	while (good && !over) {
		Forefetch__Response *res =
		    ask_trace(c, opt, FOREFETCH__TRACE_ACTION__TAKE);
		const Forefetch__Traced *t = res ? res->trace : NULL;

		if (!t)
			return EXIT_FAILURE;
		good = write_all(fd, t->data.data, t->data.len);
		over = t->data.len == 0 && t->why[0];
		if (t->data.len == 0 && !over)
			rest(TAKE_MS);
		ctl_free(res);
	}
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Leaves the session of the terminal, so that closing that does not end the
 * trace, and gives up its streams, so that a shell that reads them sees their
 * end. */
static void leave_terminal(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	for (int i = 0; fd >= 0 && i <= STDERR_FILENO; i++)
		(void)dup2(fd, i);
}

/* With --json the pid is told, for whoever wants to watch the process. */
static void put_started(const struct ctl_options *opt, pid_t pid)
{
	struct json j = {.out = stdout};

	if (!opt->json) {
		ctl_say(stdout, "tracing to %s until \"forefetch trace stop\"",
		    opt->args[1]);
		return;
	}
	json_open(&j, NULL, '{');
	json_text(&j, "file", opt->args[1]);
	json_number(&j, "pid", (uint64_t)pid);
	json_close(&j, '}');
	putchar('\n');
}

/* Begins the trace before the process goes to the background, so that a refusal
 * is an error of this command. The child keeps the connection, with which the
 * trace ends. */
static int begin(struct ctl_client *c, const struct ctl_options *opt, int fd)
{
	Forefetch__Response *res =
	    ask_trace(c, opt, FOREFETCH__TRACE_ACTION__BEGIN);
	pid_t pid;

	if (!res)
		return EXIT_FAILURE;
	ctl_free(res);
	pid = fork();
	if (pid < 0) {
		fprintf(stderr, "forefetch: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (pid == 0) {
		leave_terminal();
		_exit(take_all(c, opt, fd));
	}
	put_started(opt, pid);
	return EXIT_SUCCESS;
}

/* The file is made first: a daemon that traces for nobody would be of no
 * use. */
static int start(const struct ctl_options *opt)
{
	struct ctl_client *c = ctl_open(opt->socket);
	int fd, code = EXIT_FAILURE;

	if (!c)
		return code;
	fd = open(opt->args[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0) {
		code = begin(c, opt, fd);
		close(fd);
	} else {
		ctl_complain(opt->args[1], "%s", strerror(errno));
	}
	ctl_close(c);
	return code;
}

/* ---- stop ------------------------------------------------------------- */

/* Stops all traces of this user, and waits until their files are complete. The
 * exit code is EXIT_FAILURE if there was none, or one did not end. */
static int stop(const struct ctl_options *opt)
{
	struct ctl_client *c = ctl_open(opt->socket);
	uint32_t first = 0, going = 1;

	if (!c)
		return EXIT_FAILURE;
	for (int i = 0; i < STOP_TRIES && going > 0; i++) {
		Forefetch__Response *res =
		    ask_trace(c, opt, FOREFETCH__TRACE_ACTION__STOP);

		if (!res)
			break;
		going = res->trace->going;
		if (i == 0)
			first = going;
		ctl_free(res);
		if (going > 0)
			rest(STOP_MS);
	}
	ctl_close(c);
	if (going > 0 || first == 0) {
		fprintf(stderr, "forefetch: %s\n",
		    first == 0 ? "no trace of yours is being written"
			       : "a trace does not end; check the process that "
				 "writes it");
		return EXIT_FAILURE;
	}
	if (opt->json)
		printf("{\"stopped\":%" PRIu32 "}\n", first);
	else
		printf("%" PRIu32 " trace%s ended and complete\n", first,
		    first == 1 ? " is" : "s are");
	return EXIT_SUCCESS;
}

static int trace_run(const struct ctl_options *opt)
{
	if (strcmp(opt->arg, "start") == 0 && opt->nargs == 2)
		return start(opt);
	if (strcmp(opt->arg, "stop") == 0 && opt->nargs == 1)
		return stop(opt);
	fputs("forefetch: see forefetch help trace\n", stderr);
	return CTL_EXIT_USAGE;
}

const struct ctl_command trace_command = {
    .name = "trace",
    .usage = "[--server SERVER] [--json] start FILE | stop",
    .summary = "record accesses for forefetch-sim",
    .help =
	"start records your accesses through the proxy to FILE, or for root "
	"those of all users,\n"
	"in the background. stop ends that and returns when FILE is complete.\n"
	"Names are recorded as hashes.\n",
    .options = "server json",
    .run = trace_run,
    .actions = "start:file stop",
    .args_min = 1,
    .args_max = 2,
};
