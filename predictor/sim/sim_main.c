/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch-sim: arguments and wiring; sim.c plays, sim_report.c prints. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/sim/sim.h"
#include "predictor/sim/sim_report.h"
#include "predictor/sim/sim_units.h"

enum { EXIT_USAGE = 2, STREAMS_MAX = 64 };

struct arguments {
	struct sim_options sim;
	const char *trace, *predictor;
	bool json, frontier, labels, quiet;
};

/* The prices of a frontier, from careless to careful; 1 is the default. */
static const double frontier_prices[] = {
    0.05, 0.1, 0.2, 0.35, 0.6, 1, 1.7, 3, 5, 10, 20, 50, 200, 1000};

enum {
	OPT_TRACE = 256,
	OPT_PREDICTOR,
	OPT_STREAMS,
	OPT_RTT,
	OPT_RATE,
	OPT_CACHE,
	OPT_PIDS,
	OPT_CALLS,
	OPT_JSON,
	OPT_FRONTIER,
	OPT_NOISE,
	OPT_PRICE,
	OPT_SEED,
	OPT_BUDGET,
	OPT_LABELS,
	OPT_QUIET,
	OPT_LIST,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
    {"trace", required_argument, NULL, OPT_TRACE},
    {"predictor", required_argument, NULL, OPT_PREDICTOR},
    {"streams", required_argument, NULL, OPT_STREAMS},
    {"rtt", required_argument, NULL, OPT_RTT},
    {"rate", required_argument, NULL, OPT_RATE},
    {"cache", required_argument, NULL, OPT_CACHE},
    {"pids", no_argument, NULL, OPT_PIDS},
    {"calls", no_argument, NULL, OPT_CALLS},
    {"json", no_argument, NULL, OPT_JSON},
    {"frontier", no_argument, NULL, OPT_FRONTIER},
    {"noise", required_argument, NULL, OPT_NOISE},
    {"price", required_argument, NULL, OPT_PRICE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"budget", required_argument, NULL, OPT_BUDGET},
    {"labels", no_argument, NULL, OPT_LABELS},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"list", no_argument, NULL, OPT_LIST},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char usage_text[] =
    "usage: forefetch-sim --trace FILE [options]\n"
    "  --trace FILE      trace in the text format; - for standard input\n"
    "  --predictor NAME  one of --list, several with commas, or all\n"
    "  --streams N       runs that play at a time (1)\n"
    "  --rtt TIME        round trip (30ms)\n"
    "  --rate RATE       of the link (100mbit)\n"
    "  --cache SIZE      of the cache (32M)\n"
    "  --noise SHARE     events sent without waiting (0%)\n"
    "  --price P         weight of waste against stall (1)\n"
    "  --frontier        a row for each of several prices\n"
    "  --pids            tell predictors the pids\n"
    "  --calls           the finer model: every call counts\n"
    "  --budget SIZE     memory of our predictor (64M)\n"
    "  --seed N          of offsets, noise and keys (1)\n"
    "  --labels          a table of the stall of each workload\n"
    "  --json            a list of objects in place of the table\n"
    "  --quiet           no progress on a terminal\n"
    "  --list            names of predictors\n";

static void usage_error(const char *fmt, const char *what)
    __attribute__((noreturn));

static void usage_error(const char *fmt, const char *what)
{
	fputs("forefetch-sim: ", stderr);
	fprintf(stderr, "%s %s\n", fmt, what);
	fputs("Try 'forefetch-sim --help'.\n", stderr);
	exit(EXIT_USAGE);
}

static double parse_or_die(
    bool (*parse)(const char *, double *), const char *name, const char *text)
{
	double v;

	if (!parse(text, &v)) {
		fprintf(stderr, "forefetch-sim: --%s: cannot read \"%s\"\n",
		    name, text);
		exit(EXIT_USAGE);
	}
	return v;
}

static double parse_range(const char *name, const char *text, double max)
{
	double v = parse_or_die(units_parse_number, name, text);

	if (v > max) {
		fprintf(
		    stderr, "forefetch-sim: --%s: at most %.0f\n", name, max);
		exit(EXIT_USAGE);
	}
	return v;
}

static void list_predictors(void)
{
	for (int i = 0; models[i]; i++)
		printf("%-18s%s\n", models[i]->name, models[i]->what);
}

/* Options that print something and end the program. */
static void take_action(int opt)
{
	if (opt == OPT_LIST)
		list_predictors();
	else if (opt == OPT_HELP)
		fputs(usage_text, stdout);
	else if (opt == OPT_VERSION)
		puts("forefetch-sim " FF_VERSION);
	else
		usage_error("bad usage", "");
	exit(EXIT_SUCCESS);
}

static bool take_flag(struct arguments *a, int opt)
{
	switch (opt) {
	case OPT_PIDS:
		return a->sim.use_pids = true;
	case OPT_CALLS:
		return a->sim.calls = true;
	case OPT_JSON:
		return a->json = true;
	case OPT_FRONTIER:
		return a->frontier = true;
	case OPT_LABELS:
		return a->labels = true;
	case OPT_QUIET:
		return a->quiet = true;
	default:
		return false;
	}
}

static void take_value(struct arguments *a, int opt, const char *v)
{
	struct sim_options *s = &a->sim;

	switch (opt) {
	case OPT_TRACE:
		a->trace = v;
		break;
	case OPT_PREDICTOR:
		a->predictor = v;
		break;
	case OPT_STREAMS:
		s->streams = (unsigned)parse_range("streams", v, STREAMS_MAX);
		break;
	case OPT_RTT:
		s->rtt_s = parse_or_die(units_parse_time, "rtt", v);
		break;
	case OPT_RATE:
		s->bytes_per_s = parse_or_die(units_parse_rate, "rate", v);
		break;
	case OPT_CACHE:
		s->cache_bytes =
		    (size_t)parse_or_die(units_parse_size, "cache", v);
		break;
	case OPT_NOISE:
		s->noise = parse_or_die(units_parse_share, "noise", v);
		break;
	case OPT_PRICE:
		s->price = parse_range("price", v, 1e9);
		break;
	case OPT_SEED:
		s->seed = (uint64_t)parse_range("seed", v, 1e15);
		break;
	case OPT_BUDGET:
		s->budget_bytes =
		    (size_t)parse_or_die(units_parse_size, "budget", v);
		break;
	default:
		take_action(opt);
	}
}

static void arguments_parse(struct arguments *a, int argc, char **argv)
{
	int opt;

	*a = (struct arguments){.predictor = "all",
	    .sim = {.streams = 1,
		.rtt_s = 0.030,
		.bytes_per_s = 100e6 / 8,
		.cache_bytes = 32u << 20,
		.price = 1,
		.seed = 1,
		.budget_bytes = 64u << 20}};
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (!take_flag(a, opt))
			take_value(a, opt, optarg);
	if (optind < argc)
		usage_error("unexpected argument", argv[optind]);
	if (!a->trace)
		usage_error("--trace is", "missing");
	if (a->sim.streams == 0 || a->sim.rtt_s <= 0 || a->sim.bytes_per_s <= 0)
		usage_error("streams, rtt and rate are", "above zero");
}

static struct trace *trace_open(const struct arguments *a)
{
	bool in_is_stdin = strcmp(a->trace, "-") == 0;
	const char *name = in_is_stdin ? "(standard input)" : a->trace;
	FILE *in = in_is_stdin ? stdin : fopen(a->trace, "r");
	char err[TRACE_ERR_MAX];
	struct trace *t;

	if (!in) {
		fprintf(
		    stderr, "forefetch-sim: %s: %s\n", name, strerror(errno));
		exit(EXIT_USAGE);
	}
	t = trace_read(in, name, a->sim.seed, err);
	if (!in_is_stdin)
		fclose(in);
	if (!t) {
		fprintf(stderr, "forefetch-sim: %s\n", err);
		exit(EXIT_USAGE);
	}
	return t;
}

static void on_progress(void *ctx, size_t done, size_t of)
{
	fprintf(stderr, "\r%s: %zu%%   ", (const char *)ctx,
	    of ? done * 100 / of : 0);
}

static int play(const struct arguments *a, const struct trace *t,
    const struct model_ops *ops, struct sim_report *out)
{
	bool many = a->frontier && !ops->ungated;
	size_t n = many ? sizeof(frontier_prices) / sizeof(double) : 1;
	struct sim_options opt = a->sim;

	if (!a->quiet && isatty(STDERR_FILENO)) {
		opt.on_progress = on_progress;
		opt.progress_ctx = (void *)(uintptr_t)ops->name;
	}
	for (size_t i = 0; i < n; i++) {
		struct sim_result res;
		int ret;

		if (many)
			opt.price = frontier_prices[i];
		ret = sim_run(t, ops, &opt, &res);
		if (ret)
			return ret;
		if (opt.on_progress)
			fputs("\r\033[K", stderr);
		sim_report_row(out, &res);
		sim_result_done(&res);
	}
	return 0;
}

static int play_named(const struct arguments *a, const struct trace *t,
    char *names, struct sim_report *out)
{
	char *name;
	int ret = 0;

	while (!ret && (name = strsep(&names, ",")))
		ret = play(a, t, model_find(name), out);
	return ret;
}

static int play_all(
    const struct arguments *a, const struct trace *t, struct sim_report *out)
{
	int ret = 0;

	for (int i = 0; !ret && models[i]; i++)
		ret = play(a, t, models[i], out);
	return ret;
}

/* Before the trace is read, which may take a while. */
static void check_names(const char *text)
{
	char *copy = strdup(text), *rest = copy, *name;

	while (copy && (name = strsep(&rest, ",")))
		if (!model_find(name))
			usage_error("no such predictor (see --list):", name);
	free(copy);
}

int main(int argc, char **argv)
{
	struct arguments a;
	struct trace *t;
	struct sim_report *out;
	char *names;
	int ret;

	arguments_parse(&a, argc, argv);
	if (strcmp(a.predictor, "all") != 0)
		check_names(a.predictor);
	t = trace_open(&a);
	out = sim_report_new(stdout, t, a.json, a.labels);
	names = strdup(a.predictor);
	if (!out || !names)
		ret = -ENOMEM;
	else if (strcmp(names, "all") == 0)
		ret = play_all(&a, t, out);
	else
		ret = play_named(&a, t, names, out);
	if (out)
		sim_report_free(out);
	free(names);
	trace_free(t);
	if (ret) {
		fprintf(stderr, "forefetch-sim: %s\n", strerror(-ret));
		return EXIT_FAILURE;
	}
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : 0;
}
