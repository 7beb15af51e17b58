/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch hint sends the daemon what will be read, from arguments or a pipe.
 * If the daemon has no more room, this waits, and so does the program that
 * writes into the pipe: a list of a million files needs no memory for a million
 * hints, here or there.
 *
 * A path may lie on any mount of the proxy; each mount has a stream of its own
 * (struct hint_line_stream) over a connection of its own, since a connection
 * has one stream of hints (control.proto, HintRequest). Paths are resolved
 * without access to the files, so that the kernel does not ask for each of them
 * what the hint is to bring.
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

/* The limits of one run. BATCH and BATCH_BYTES keep a request below
 * CONTROL_REQUEST_MAX; a longer batch would gain nothing, since the daemon
 * takes only what it has room for. */
enum {
	/* Mounts that the paths of one run may lie on. */
	MOUNTS = 8,
	/* Hints in one request. */
	BATCH = 256,
	/* Bytes of paths and HINT_BYTES of all hints in one request. */
	BATCH_BYTES = 40 << 10,
	/* Bytes that a hint takes in a request beside its path, at most. */
	HINT_BYTES = 40,
	/* Messages about bad lines that are printed one by one; a wrong list of
	 * a million lines would else scroll everything away. */
	COMPLAINTS = 10,
};

/* The hints for one mount: a connection, and the hints that the daemon has not
 * taken yet. The stream owns both. */
struct hint_line_stream {
	/* The mount; its path is "", and those of the hints are below it. */
	struct ctl_place place;
	struct ctl_client *client;
	/* The daemon knows the place: it was sent with the first request. */
	bool begun;
	/* The number of the last hint; the first one is 1. */
	uint64_t seq;
	/* In the order of their numbers. */
	Forefetch__Hint *hints[BATCH];
	/* How many there are, and their bytes as BATCH_BYTES counts them. */
	size_t n, bytes;
	/* The daemon's last answer, which counts the whole stream. It has
	 * numbers only, so the copy outlives the response that it came in. */
	Forefetch__Hinted answer;
};

/* The mounts and streams that a run of the command has opened, and its counts.
 */
struct hint_run {
	const struct ctl_options *opt;
	struct ctl_mounts *mounts;
	struct hint_line_stream *streams[MOUNTS];
	unsigned nstreams;
	struct walk_screen screen;
	/* Lines that were parsed, also those whose file lies on no mount. */
	uint64_t lines;
	/* Lines that are malformed, and files that lie on no mount. */
	uint64_t bad;
	/* The daemon cannot be asked any more, or memory is short; all loops
	 * end. */
	bool failed;
};

/* ---- one stream ------------------------------------------------------- */

static void hint_free(Forefetch__Hint *h)
{
	free(h->path.data);
	free(h);
}

/* Forgets the hints up to number `seq`, which the daemon has taken. Those
 * behind it are sent again with the next request. */
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

/* Sends what is queued and notes the answer. With nothing queued it only asks
 * how the stream does. False if the daemon does not answer, after a message. */
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

/* Sums of all streams, for the screen and the result. `full` is set if any of
 * them waits because the reader has not come to what was fetched already. */
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

/* Puts the line of progress, if one is due, and waits before the daemon is
 * asked again, each time a little longer. */
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

/* Sends all hints of a stream, and waits until the daemon has taken them. An
 * empty stream is sent once too, so that the daemon says then whether it knows
 * the place at all. */
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

/* Counts a line that cannot be used, and says why, for the first ten. */
static void complain(struct hint_run *run, const char *path, const char *why)
{
	if (++run->bad <= COMPLAINTS)
		ctl_complain(path, "%s", why);
	if (run->bad == COMPLAINTS + 1)
		fputs("forefetch: ... and more like these\n", stderr);
}

/* Opens a connection for the mount of `at`. NULL after a message; the run ends
 * then, as the next path would fail in the same way. */
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

/* The stream of the mount that `at` lies on, made where it is missing. NULL
 * after a message. Few mounts are named in one run, so a list is enough. */
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

/* Adds a hint, after a place was made for it by sending what is there. */
static void queue_hint(struct hint_run *run, struct hint_line_stream *s,
    const struct ctl_place *at, const struct hint_line *line)
{
	Forefetch__Hint *h = malloc(sizeof(*h));
	char *path = strdup(at->path);
	size_t len = strlen(at->path);

	if (s->n == BATCH || s->bytes + len + HINT_BYTES > BATCH_BYTES)
		flush_stream(run, s);
	if (!h || !path)
		complain(run, line->path, "out of memory");
	if (run->failed || walk_stopped() || !h || !path) {
		free(path);
		free(h);
		return;
	}
	forefetch__hint__init(h);
	h->seq = ++s->seq;
	h->path = (ProtobufCBinaryData){.data = (uint8_t *)path, .len = len};
	h->offset = line->offset;
	h->length = line->length;
	s->hints[s->n++] = h;
	s->bytes += h->path.len + HINT_BYTES;
}

/* Resolves the path of a line to a mount, and queues the hint. `line->path`
 * stays the caller's. */
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

/* Standard input, read in large parts. Records end in `sep`; those from `at` on
 * are still to be taken out of `buf`. */
struct input {
	/* A newline, or NUL with -0. */
	char sep;
	char buf[65536];
	size_t len, at;
	/* Nothing more will come. */
	bool end;
	/* The rest of a record that was longer than `buf` is skipped. */
	bool skips;
};

/* Reads more of the pipe. If nothing is there yet, it first sends what is
 * queued: a program may write a line only when the one before has had an
 * effect. */
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

/* Cuts the next record out of the buffer; NULL if none is complete. The last
 * record of the input may lack its end, as files often lack the last newline.
 * The result is valid until read_more(). */
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

/* A record that was too long ends here and is complained of once, whatever its
 * rest contains. Empty lines are ignored. */
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

/* Takes records until the input ends. If the buffer is full without any end of
 * a record, it is emptied, and the record counts as too long. */
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

/* Whether the daemon has asked the server for everything that was hinted. */
static bool all_asked(const struct hint_run *run)
{
	for (unsigned i = 0; i < run->nstreams; i++)
		if (run->streams[i]->answer.waiting > 0)
			return false;
	return true;
}

/* Waits until everything was asked for: the end of a connection ends its
 * stream, so leaving now would drop what waits. */
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

/* "done" is false if ^C or an error ended the run before all was asked for. */
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

/* Prints the counts of the run: a line for people, or one JSON value. Hints
 * that had no use get a line each, since they cost the link something. */
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

/* A path "-" stands for standard input; the hints of it keep their place in the
 * order of the arguments. */
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
