/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch hint: sends the daemon what will be read, from arguments or a pipe.
 * If the daemon has no more room, this waits, and so does the program that
 * writes into the pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "commands/command_list.h"
#include "commands/hint_line.h"
#include "commands/json_error.h"
#include "commands/walk.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

enum {
	MOUNTS = 8,  /* that one run may name files of */
	BATCH = 256, /* hints of a request */
	BATCH_BYTES = 40 << 10,
	HINT_BYTES = 40, /* at most, of a hint without its path */
	COMPLAINTS = 10,
};

/* The hints for one mount: a connection, and what was not taken yet. */
struct hint_line_stream {
	struct ctl_place place; /* its path is "" */
	struct ctl_client *client;
	bool begun;
	uint64_t seq; /* of the last hint */
	Forefetch__Hint *hints[BATCH];
	size_t n, bytes;
	Forefetch__Hinted answer; /* the last answer */
};

struct hint_run {
	const struct ctl_options *opt;
	struct ctl_mounts *mounts;
	struct hint_line_stream *streams[MOUNTS];
	unsigned nstreams;
	struct walk_screen screen;
	uint64_t lines;
	uint64_t bad; /* lines, and files that are on no mount */
	bool failed;  /* the daemon cannot be asked any more */
};

/* ---- one stream ------------------------------------------------------- */

static void hint_free(Forefetch__Hint *h)
{
	free(h->path.data);
	free(h);
}

static void drop_taken(struct hint_line_stream *s, uint64_t seq)
{
	size_t n = 0;

	while (n < s->n && s->hints[n]->seq <= seq) {
		s->bytes -= s->hints[n]->path.len + HINT_BYTES;
		hint_free(s->hints[n++]);
	}
	s->n -= n;
	memmove(s->hints, s->hints + n, s->n * sizeof(*s->hints));
}

static bool send_hints(struct hint_run *run, struct hint_line_stream *s)
{
	Forefetch__HintRequest hint = FOREFETCH__HINT_REQUEST__INIT;
	Forefetch__Response *res;
	Forefetch__Place place;

	if (!s->begun) {
		ctl_place_fill(&s->place, &place);
		hint.place = &place;
	}
	hint.hints = s->hints;
	hint.n_hints = s->n;
	res = ctl_ask(s->client, FOREFETCH__REQUEST__COMMAND_HINT, &hint);
	if (!res) {
		run->failed = true;
		return false;
	}
	s->begun = true;
	s->answer = *res->hint;
	ctl_free(res);
	drop_taken(s, s->answer.accepted);
	return true;
}

/* ---- the screen ------------------------------------------------------- */

static struct hint_sum {
	uint64_t accepted, waiting, ahead, used, passed, unused, failed;
	bool full;
} sum_of(const struct hint_run *run)
{
	struct hint_sum sum = {0};

	for (unsigned i = 0; i < run->nstreams; i++) {
		const Forefetch__Hinted *h = &run->streams[i]->answer;

		sum.accepted += h->accepted;
		sum.waiting += h->waiting;
		sum.ahead += h->ahead;
		sum.used += h->used;
		sum.passed += h->passed;
		sum.unused += h->unused;
		sum.failed += h->failed;
		sum.full = sum.full || (h->full && h->waiting > 0);
	}
	return sum;
}

static void put_sum(FILE *out, const struct hint_sum *sum)
{
	fprintf(out,
	    "%" PRIu64 " hint%s taken, %" PRIu64 " read, %" PRIu64
	    " ahead, %" PRIu64 " waiting",
	    sum->accepted, sum->accepted == 1 ? "" : "s", sum->used, sum->ahead,
	    sum->waiting);
}

static void show_and_rest(struct hint_run *run)
{
	struct hint_sum sum = sum_of(run);
	char *text = NULL;
	size_t len;
	FILE *out;

	if (progress_due(&run->screen.progress, clock_now_us()) &&
	    (out = open_memstream(&text, &len))) {
		put_sum(out, &sum);
		fputs(sum.full ? " for the reader" : "", out);
		if (fclose(out) == 0)
			progress_put(&run->screen.progress, text);
		free(text);
	}
	walk_rest(&run->screen);
}

/* Sends all hints of a stream, and waits until they were taken. */
static void flush_stream(struct hint_run *run, struct hint_line_stream *s)
{
	run->screen.ms = 0;
	while ((s->n > 0 || !s->begun) && !run->failed && !walk_stopped()) {
		if (!send_hints(run, s))
			return;
		if (s->n > 0)
			show_and_rest(run);
	}
}

static void flush_all(struct hint_run *run)
{
	for (unsigned i = 0; i < run->nstreams; i++)
		flush_stream(run, run->streams[i]);
}

/* ---- hints ------------------------------------------------------------ */

static void complain(struct hint_run *run, const char *path, const char *why)
{
	if (++run->bad <= COMPLAINTS)
		ctl_complain(path, "%s", why);
	if (run->bad == COMPLAINTS + 1)
		fputs("forefetch: ... and more like these\n", stderr);
}

static struct hint_line_stream *stream_new(
    struct hint_run *run, const struct ctl_place *at)
{
	struct hint_line_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		fputs("forefetch: out of memory\n", stderr);
		run->failed = true;
		return NULL;
	}
	s->place = *at;
	s->place.path[0] = '\0';
	s->client = ctl_open(run->opt->socket);
	if (!s->client) {
		run->failed = true;
		free(s);
		return NULL;
	}
	run->streams[run->nstreams++] = s;
	return s;
}

static struct hint_line_stream *stream_of(
    struct hint_run *run, const struct ctl_place *at, const char *path)
{
	for (unsigned i = 0; i < run->nstreams; i++) {
		struct hint_line_stream *s = run->streams[i];

		if (strcmp(s->place.listen, at->listen) == 0 &&
		    strcmp(s->place.export, at->export) == 0)
			return s;
	}
	if (run->nstreams < MOUNTS)
		return stream_new(run, at);
	complain(run, path,
	    "hints for more than eight mounts; run forefetch hint once for "
	    "each mount");
	return NULL;
}

static void queue_hint(struct hint_run *run, struct hint_line_stream *s,
    const struct ctl_place *at, const struct hint_line *line)
{
	Forefetch__Hint *h = malloc(sizeof(*h));
	size_t len = strlen(at->path);

	if (s->n == BATCH || s->bytes + len + HINT_BYTES > BATCH_BYTES)
		flush_stream(run, s);
	if (run->failed || walk_stopped() || !h) {
		free(h);
		return;
	}
	forefetch__hint__init(h);
	h->seq = ++s->seq;
	h->path.data = (uint8_t *)strdup(at->path);
	h->path.len = h->path.data ? len : 0;
	h->offset = line->offset;
	h->length = line->length;
	s->hints[s->n++] = h;
	s->bytes += h->path.len + HINT_BYTES;
}

static void hint_at(struct hint_run *run, const struct hint_line *line)
{
	char *path = ctl_path_plain(line->path);
	struct ctl_place at;
	struct hint_line_stream *s;

	run->lines++;
	if (!path || !ctl_mounts_place(run->mounts, path, &at)) {
		complain(run, line->path,
		    "not on an NFSv3 mount; name a file below the mount point "
		    "of the proxy");
	} else {
		s = stream_of(run, &at, line->path);
		if (s)
			queue_hint(run, s, &at, line);
	}
	free(path);
}

/* ---- a pipe ----------------------------------------------------------- */

struct input {
	char sep;
	char buf[65536];
	size_t len, at;
	bool end;
	bool skips; /* the rest of a record that is too long */
};

/* More of it; what is known is sent before this waits. */
static void read_more(struct hint_run *run, struct input *in)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	memmove(in->buf, in->buf + in->at, in->len - in->at);
	in->len -= in->at;
	in->at = 0;
	if (poll(&p, 1, 0) == 0)
		flush_all(run);
	if (walk_stopped() || run->failed)
		return;
	n = read(STDIN_FILENO, in->buf + in->len, sizeof(in->buf) - in->len);
	if (n < 0 && errno == EINTR)
		return;
	if (n < 0)
		fprintf(
		    stderr, "forefetch: standard input: %s\n", strerror(errno));
	in->end = n <= 0;
	in->len += n > 0 ? (size_t)n : 0;
}

/* The next record; NULL: none yet, or no more. */
static char *next_record(struct input *in)
{
	char *begin = in->buf + in->at, *end;

	end = memchr(begin, in->sep, in->len - in->at);
	if (!end && in->end && in->at < in->len && in->len < sizeof(in->buf))
		end = in->buf + in->len;
	if (!end)
		return NULL;
	*end = '\0';
	in->at = (size_t)(end - in->buf) + 1;
	if (in->at > in->len)
		in->len = in->at;
	return begin;
}

static void from_line(struct hint_run *run, struct input *in, char *text)
{
	struct hint_line line;

	if (in->skips) {
		in->skips = false;
		complain(run, "standard input",
		    "a line is too long; a file name ends with its line, or "
		    "with -0 at a NUL");
	} else if (*text && !hint_line_parse(text, &line)) {
		complain(run, text,
		    "a range is OFFSET LENGTH, such as 1M 64K, within 2^64");
	} else if (*text) {
		hint_at(run, &line);
	}
}

static void from_pipe(struct hint_run *run)
{
	struct input *in = calloc(1, sizeof(*in));
	char *text;

	if (!in) {
		run->failed = true;
		return;
	}
	in->sep = run->opt->null ? '\0' : '\n';
	while (!run->failed && !walk_stopped()) {
		text = next_record(in);
		if (text) {
			from_line(run, in, text);
			continue;
		}
		if (in->end)
			break;
		if (in->at == 0 && in->len == sizeof(in->buf)) {
			in->skips = true;
			in->len = 0;
		}
		read_more(run, in);
	}
	free(in);
}

/* ---- all of it -------------------------------------------------------- */

static bool all_asked(const struct hint_run *run)
{
	for (unsigned i = 0; i < run->nstreams; i++)
		if (run->streams[i]->answer.waiting > 0)
			return false;
	return true;
}

/* Until nothing is left to be asked for. */
static void wait_all(struct hint_run *run)
{
	flush_all(run);
	run->screen.ms = 0;
	while (!run->failed && !walk_stopped() && !all_asked(run)) {
		show_and_rest(run);
		for (unsigned i = 0; i < run->nstreams && !run->failed; i++)
			(void)send_hints(run, run->streams[i]);
	}
	walk_clear(&run->screen);
}

static void put_json(const struct hint_run *run, const struct hint_sum *sum)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_number(&j, "hints", run->lines);
	json_number(&j, "bad", run->bad);
	json_number(&j, "taken", sum->accepted);
	json_number(&j, "used", sum->used);
	json_number(&j, "passed", sum->passed);
	json_number(&j, "unused", sum->unused);
	json_number(&j, "failed", sum->failed);
	json_number(&j, "ahead", sum->ahead);
	json_number(&j, "waiting", sum->waiting);
	json_bool(&j, "done", !run->failed && !walk_stopped());
	json_error_put(
	    &j, run->failed || run->bad > 0 || walk_stopped(), "interrupted");
	json_close(&j, '}');
	putchar('\n');
}

static void put_result(const struct hint_run *run)
{
	struct hint_sum sum = sum_of(run);

	if (run->opt->json) {
		put_json(run, &sum);
		return;
	}
	if (run->nstreams == 0)
		return;
	put_sum(stdout, &sum);
	printf("%s\n", walk_stopped() ? ", stopped" : "");
	if (sum.passed > 0)
		printf("  %" PRIu64 " dropped: the reader had passed them\n",
		    sum.passed);
	if (sum.unused > 0)
		printf("  %" PRIu64 " not read within a minute\n", sum.unused);
	if (sum.failed > 0)
		printf("  %" PRIu64 " not found, refused by the server, or not "
		       "a file\n",
		    sum.failed);
}

static void run_end(struct hint_run *run)
{
	for (unsigned i = 0; i < run->nstreams; i++) {
		struct hint_line_stream *s = run->streams[i];

		drop_taken(s, UINT64_MAX);
		ctl_close(s->client);
		free(s);
	}
	ctl_mounts_free(run->mounts);
}

static int hint_run(const struct ctl_options *opt)
{
	struct hint_run run = {.opt = opt};
	struct hint_line line = {0};

	walk_init(&run.screen, opt, NULL, NULL);
	run.mounts = ctl_mounts_load();
	if (!run.mounts) {
		fprintf(stderr,
		    "forefetch: the list of mounts cannot be read: %s\n",
		    strerror(errno));
		return EXIT_FAILURE;
	}
	walk_catch();
	for (int i = 0; i < opt->nargs && !run.failed; i++) {
		line.path = opt->args[i];
		if (strcmp(line.path, "-") == 0)
			from_pipe(&run);
		else
			hint_at(&run, &line);
	}
	wait_all(&run);
	put_result(&run);
	run_end(&run);
	return run.failed || run.bad > 0 || walk_stopped() ? EXIT_FAILURE
							   : EXIT_SUCCESS;
}

const struct ctl_command hint_command = {
    .name = "hint",
    .usage = "[-0] [--progress] [--json] - | PATH...",
    .summary = "announce the files that will be read, in order",
    .help =
	"Reads lines \"PATH [OFFSET LENGTH]\" from standard input, and has "
	"these files fetched\n"
	"in this order, ahead of a program of the same user that reads them. "
	"Hints that the\n"
	"reader has passed are dropped; the others wait for it. A PATH is on a "
	"mount of the\n"
	"proxy; numbers may end in K, M, G or T. With -0, a NUL ends a line.\n",
    .options = "null progress json",
    .run = hint_run,
    .args_min = 1,
    .args_max = CTL_ARGS_MAX,
};
