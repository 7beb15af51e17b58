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

enum { EXIT_USAGE = 2, PLAYED_MAX = 64, CLIENTS_MAX = 1000, HELP_COLUMN = 20 };

struct arguments {
	struct sim_options sim;
	const char *trace, *names, *predictor;
	bool json, frontier, labels, quiet;
};

/* The prices of a frontier, from careless to careful; 1 is the default. */
static const double frontier_prices[] = {
    0.05, 0.1, 0.2, 0.35, 0.6, 1, 1.7, 3, 5, 10, 20, 50, 200, 1000};

enum {
	OPT_TRACE,
	OPT_NAMES,
	OPT_PREDICTOR,
	OPT_STREAMS,
	OPT_CLIENTS,
	OPT_RTT,
	OPT_RATE,
	OPT_CACHE,
	OPT_NOISE,
	OPT_PRICE,
	OPT_FRONTIER,
	OPT_PIDS,
	OPT_CALLS,
	OPT_OTHERS,
	OPT_EVICT,
	OPT_BUDGET,
	OPT_WITHOUT,
	OPT_SEED,
	OPT_LABELS,
	OPT_JSON,
	OPT_QUIET,
	OPT_LIST,
	OPT_HELP,
	OPT_VERSION,
	OPTIONS
};

/* Options with `parse` have a number, others with `arg` a text; the rest are
 * flags. */
static const struct choice {
	const char *name, *arg;
	const char *help; /* NULL: --help does not show it */
	bool (*parse)(const char *text, double *value);
	double value; /* if it is not given */
	double max;   /* 0: any number */
} choices[OPTIONS] = {
#define TEXT(name, arg, help)                                                  \
	{                                                                      \
		name, arg, help, NULL, 0, 0                                    \
	}
#define FLAG(name, help)                                                       \
	{                                                                      \
		name, NULL, help, NULL, 0, 0                                   \
	}
    TEXT("trace", "FILE", "trace in the text format; - for standard input"),
    TEXT("names", "FILE", "names of all files, for honest listings"),
    TEXT("predictor", "NAME", "one of --list, several with commas, or all"),
    {"streams", "N", "runs that a client plays at a time (1)",
	units_parse_number, 1, PLAYED_MAX},
    {"clients", "N", "clients, each with streams of its own (1)",
	units_parse_number, 1, CLIENTS_MAX},
    {"rtt", "TIME", "round trip (30ms)", units_parse_time, 0.030, 0},
    {"rate", "RATE", "of the link (100mbit)", units_parse_rate, 100e6 / 8, 0},
    {"cache", "SIZE", "of the cache (32M)", units_parse_size, 32 << 20, 0},
    {"noise", "SHARE", "events sent without waiting (0%)", units_parse_share, 0,
	0},
    {"price", "P", "weight of waste against stall (1)", units_parse_number, 1,
	1e9},
    FLAG("frontier", "a row for each of several prices"),
    FLAG("pids", "tell predictors the pids"),
    FLAG("calls", "the finer model: every call counts"),
    FLAG("others", "first runs after all other workloads, too"),
    FLAG("evict", "a run begins with none of its files cached"),
    {"budget", "SIZE", "memory of our predictor (64M)", units_parse_size,
	64 << 20, 0},
    TEXT("without", "PART", "parts of our predictor, with commas; or list"),
    {"seed", "N", "of offsets, noise and keys (1)", units_parse_number, 1,
	1e15},
    FLAG("labels", "a table of the stall of each workload"),
    FLAG("json", "a list of objects in place of the table"),
    FLAG("quiet", "no progress on a terminal"),
    FLAG("list", "names of predictors"),
    FLAG("help", NULL),
    FLAG("version", NULL),
};

static void usage_error(const char *fmt, const char *what)
    __attribute__((noreturn));

static void usage_error(const char *fmt, const char *what)
{
	fputs("forefetch-sim: ", stderr);
	fprintf(stderr, "%s %s\n", fmt, what);
	fputs("Try 'forefetch-sim --help'.\n", stderr);
	exit(EXIT_USAGE);
}

static double choice_parse(const struct choice *c, const char *text)
{
	double v;

	if (!c->parse(text, &v))
		fprintf(stderr, "forefetch-sim: --%s: cannot read \"%s\"\n",
		    c->name, text);
	else if (c->max > 0 && v > c->max)
		fprintf(stderr, "forefetch-sim: --%s: at most %.0f\n", c->name,
		    c->max);
	else
		return v;
	exit(EXIT_USAGE);
}

static void list_predictors(void)
{
	for (int i = 0; models[i]; i++)
		printf("%-18s%s\n", models[i]->name, models[i]->what);
}

static void print_help(void)
{
	puts("usage: forefetch-sim --trace FILE [options]");
	for (const struct choice *c = choices; c < choices + OPTIONS; c++) {
		int n;

		if (!c->help)
			continue;
		n = printf("  --%s %s", c->name, c->arg ? c->arg : "");
		printf("%*s%s\n", HELP_COLUMN - n, "", c->help);
	}
}

/* Options that print something and end the program. */
static void take_action(int opt)
{
	if (opt == OPT_LIST)
		list_predictors();
	else if (opt == OPT_HELP)
		print_help();
	else if (opt == OPT_VERSION)
		puts("forefetch-sim " FF_VERSION);
	else
		return;
	exit(EXIT_SUCCESS);
}

/* Reads the command line into a number and a text for each option. */
static void options_parse(
    int argc, char **argv, double value[OPTIONS], const char *text[OPTIONS])
{
	struct option options[OPTIONS + 1] = {{0}};
	int opt;

	for (int i = 0; i < OPTIONS; i++) {
		options[i].name = choices[i].name;
		options[i].has_arg = choices[i].arg != NULL;
		options[i].val = i;
		value[i] = choices[i].value;
	}
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt >= OPTIONS)
			usage_error("bad usage", "");
		take_action(opt);
		text[opt] = optarg;
		value[opt] = choices[opt].parse
				 ? choice_parse(&choices[opt], optarg)
				 : 1;
	}
	if (optind < argc)
		usage_error("unexpected argument", argv[optind]);
}

static int part_find(const char *name)
{
	for (unsigned i = 0; i < PREDICTOR_PARTS; i++)
		if (strcmp(predictor_part_name(i), name) == 0)
			return (int)i;
	return -1;
}

static void list_parts(void)
{
	for (unsigned i = 0; i < PREDICTOR_PARTS; i++)
		puts(predictor_part_name(i));
	exit(0);
}

static uint32_t parts_parse(const char *text)
{
	char *copy = strdup(text ? text : ""), *rest = copy, *name;
	uint32_t parts = 0;

	if (text && strcmp(text, "list") == 0)
		list_parts();
	while (text && copy && (name = strsep(&rest, ","))) {
		int part = part_find(name);

		if (part < 0)
			usage_error("no such part (see --without list):", name);
		parts |= 1u << part;
	}
	free(copy);
	return parts;
}

static void arguments_parse(struct arguments *a, int argc, char **argv)
{
	const char *text[OPTIONS] = {[OPT_PREDICTOR] = "all"};
	double v[OPTIONS];

	options_parse(argc, argv, v, text);
	*a = (struct arguments){.trace = text[OPT_TRACE],
	    .names = text[OPT_NAMES],
	    .predictor = text[OPT_PREDICTOR],
	    .json = v[OPT_JSON] > 0,
	    .frontier = v[OPT_FRONTIER] > 0,
	    .labels = v[OPT_LABELS] > 0,
	    .quiet = v[OPT_QUIET] > 0,
	    .sim = {.streams = (unsigned)v[OPT_STREAMS],
		.clients = (unsigned)v[OPT_CLIENTS],
		.rtt_s = v[OPT_RTT],
		.bytes_per_s = v[OPT_RATE],
		.cache_bytes = (size_t)v[OPT_CACHE],
		.noise = v[OPT_NOISE],
		.price = v[OPT_PRICE],
		.use_pids = v[OPT_PIDS] > 0,
		.calls = v[OPT_CALLS] > 0,
		.others = v[OPT_OTHERS] > 0,
		.evict = v[OPT_EVICT] > 0,
		.seed = (uint64_t)v[OPT_SEED],
		.without = parts_parse(text[OPT_WITHOUT]),
		.budget_bytes = (size_t)v[OPT_BUDGET]}};
	if (!a->trace)
		usage_error("--trace is", "missing");
	if (a->names && strcmp(a->trace, "-") == 0 &&
	    strcmp(a->names, "-") == 0)
		usage_error("standard input cannot be both trace and", "names");
	if (a->sim.streams == 0 || a->sim.clients == 0 || a->sim.rtt_s <= 0 ||
	    a->sim.bytes_per_s <= 0)
		usage_error("streams, clients, rtt and rate are", "above zero");
}

static FILE *input_open(const char *path)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");

	if (in)
		return in;
	fprintf(stderr, "forefetch-sim: %s: %s\n", path, strerror(errno));
	exit(EXIT_USAGE);
}

static const char *input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "(standard input)" : path;
}

static struct trace *trace_open(const struct arguments *a)
{
	FILE *in = input_open(a->trace);
	FILE *names = a->names ? input_open(a->names) : NULL;
	char err[TRACE_ERR_MAX];
	struct trace *t;

	t = trace_read_named(in, input_name(a->trace), names,
	    names ? input_name(a->names) : NULL, a->sim.seed, err);
	if (in != stdin)
		fclose(in);
	if (names && names != stdin)
		fclose(names);
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

/* Plays the trace for one predictor: once, or once for each price. */
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
