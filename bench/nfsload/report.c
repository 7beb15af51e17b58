/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates and percentiles of all turns, as a table or as JSON; see report.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "report.h"

struct report {
	const struct options *o;
	struct turn *turn; /* [round][target] */
};

/* One procedure at one target, all rounds. */
struct line {
	uint64_t ops, errors;
	double seconds, ops_s, mb_s;
	double cpu_s; /* of all procedures of the turns */
	double p50_us, p90_us, p99_us, max_us;
	const char *first_error;
};

/* Of several rounds. */
struct spread {
	double median, least, most;
};

struct contrast {
	uint32_t rounds; /* in which both targets had good calls */
	struct spread diff_us, ratio;
};

struct report *report_new(const struct options *o)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->o = o;
	r->turn = calloc((size_t)o->rounds * o->targets, sizeof(*r->turn));
	if (!r->turn) {
		free(r);
		return NULL;
	}
	return r;
}

struct turn *report_turn(struct report *r, uint32_t round, uint32_t target)
{
	return &r->turn[(size_t)round * r->o->targets + target];
}

static const struct tally *get(
    const struct report *r, uint32_t round, uint32_t target, enum call_op op)
{
	return &r->turn[(size_t)round * r->o->targets + target].tally[op];
}

static double elapsed_s(const struct report *r, uint32_t round, uint32_t target)
{
	uint64_t ns =
	    r->turn[(size_t)round * r->o->targets + target].elapsed_ns;

	return (double)ns / NS_PER_SEC;
}

static double cpu_s(const struct report *r, uint32_t round, uint32_t target)
{
	uint64_t ns = r->turn[(size_t)round * r->o->targets + target].cpu_ns;

	return (double)ns / NS_PER_SEC;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < (size_t)r->o->rounds * r->o->targets; i++)
		turn_clear(&r->turn[i]);
	free(r->turn);
	free(r);
}

static uint64_t sum(const struct report *r, bool errors)
{
	uint64_t n = 0;

	for (size_t i = 0; i < (size_t)r->o->rounds * r->o->targets; i++)
		for (enum call_op op = 0; op < CALL_MEASURED; op++)
			n += errors ? r->turn[i].tally[op].errors
				    : r->turn[i].tally[op].ops;
	return n;
}

uint64_t report_errors(const struct report *r)
{
	return sum(r, true);
}

uint64_t report_ops(const struct report *r)
{
	return sum(r, false);
}

static int make_line(
    const struct report *r, uint32_t target, enum call_op op, struct line *l)
{
	struct histogram *all = calloc(1, sizeof(struct histogram));
	double bytes = 0;

	*l = (struct line){.first_error = ""};
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->o->rounds; i++) {
		const struct tally *t = get(r, i, target, op);

		l->ops += t->ops;
		l->errors += t->errors;
		bytes += (double)t->bytes;
		l->seconds += elapsed_s(r, i, target);
		l->cpu_s += cpu_s(r, i, target);
		if (t->latency)
			histogram_merge(all, t->latency);
		if (t->errors && !l->first_error[0])
			l->first_error = t->first_error;
	}
	if (l->seconds > 0) {
		l->ops_s = (double)l->ops / l->seconds;
		l->mb_s = bytes / 1e6 / l->seconds;
	}
	l->p50_us = (double)histogram_percentile(all, 500) / 1e3;
	l->p90_us = (double)histogram_percentile(all, 900) / 1e3;
	l->p99_us = (double)histogram_percentile(all, 990) / 1e3;
	l->max_us = (double)all->max / 1e3;
	free(all);
	return 0;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread make_spread(double *v, uint32_t n)
{
	struct spread s = {0};

	if (n == 0)
		return s;
	qsort(v, n, sizeof(*v), compare_double);
	s.least = v[0];
	s.most = v[n - 1];
	s.median = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
	return s;
}

static int make_contrast(const struct report *r, uint32_t target,
    enum call_op op, struct contrast *c)
{
	double *diff = calloc(r->o->rounds, sizeof(*diff));
	double *ratio = calloc(r->o->rounds, sizeof(*ratio));
	uint32_t n = 0;

	for (uint32_t i = 0; diff && ratio && i < r->o->rounds; i++) {
		const struct tally *a = get(r, i, 0, op);
		const struct tally *b = get(r, i, target, op);

		if (!a->ops || !b->ops)
			continue;
		diff[n] = ((double)histogram_percentile(b->latency, 500) -
			      (double)histogram_percentile(a->latency, 500)) /
			  1e3;
		ratio[n++] = (double)b->ops / elapsed_s(r, i, target) /
			     ((double)a->ops / elapsed_s(r, i, 0));
	}
	if (diff && ratio) {
		c->rounds = n;
		c->diff_us = make_spread(diff, n);
		c->ratio = make_spread(ratio, n);
	}
	free(diff);
	free(ratio);
	return diff && ratio ? 0 : -ENOMEM;
}

static int print_row(const struct report *r, uint32_t target, enum call_op op)
{
	struct line l;
	int err = make_line(r, target, op, &l);

	if (err)
		return err;
	printf("%-11s %-16s %9.0f %9.1f %9.1f %9.1f %9.1f %9.1f %7" PRIu64 "\n",
	    call_op_name(op), r->o->target[target].name, l.ops_s, l.mb_s,
	    l.p50_us, l.p90_us, l.p99_us, l.max_us, l.errors);
	if (r->o->target[target].pids && l.seconds > 0)
		printf("%-11s %-16s %.2f cores\n", "", "", l.cpu_s / l.seconds);
	if (l.errors)
		printf("%-11s %-16s first error: %s\n", "", "", l.first_error);
	return 0;
}

static int print_contrast_row(
    const struct report *r, uint32_t target, enum call_op op)
{
	struct contrast c;
	int err = make_contrast(r, target, op, &c);

	if (err || c.rounds == 0)
		return err;
	printf("%-11s %s against %s: p50 %+.1f us (%+.1f to %+.1f), rate "
	       "x %.3f (%.3f to %.3f), median of %u rounds\n",
	    "", r->o->target[target].name, r->o->target[0].name,
	    c.diff_us.median, c.diff_us.least, c.diff_us.most, c.ratio.median,
	    c.ratio.least, c.ratio.most, c.rounds);
	return 0;
}

int report_print_table(const struct report *r)
{
	int err = 0;

	printf("%-11s %-16s %9s %9s %9s %9s %9s %9s %7s\n", "procedure",
	    "target", "ops/s", "MB/s", "p50 us", "p90 us", "p99 us", "max us",
	    "errors");
	for (enum call_op op = 0; op < CALL_MEASURED; op++) {
		if (!r->o->weight[op])
			continue;
		for (uint32_t t = 0; !err && t < r->o->targets; t++)
			err = print_row(r, t, op);
		for (uint32_t t = 1; !err && t < r->o->targets; t++)
			err = print_contrast_row(r, t, op);
	}
	return err;
}

static void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char ch = (unsigned char)*s;

		if (ch == '"' || ch == '\\')
			printf("\\%c", ch);
		else if (ch < 0x20)
			printf("\\u%04x", ch);
		else
			putchar(ch);
	}
	putchar('"');
}

static void print_json_contrast(
    const struct report *r, const struct contrast *c)
{
	printf(",\n  \"against\": ");
	print_json_string(r->o->target[0].name);
	printf(", \"rounds_compared\": %u", c->rounds);
	if (c->rounds == 0)
		return;
	printf(",\n  \"p50_diff_us\": %.3f, \"p50_diff_us_min\": %.3f, "
	       "\"p50_diff_us_max\": %.3f",
	    c->diff_us.median, c->diff_us.least, c->diff_us.most);
	printf(",\n  \"rate_ratio\": %.4f, \"rate_ratio_min\": %.4f, "
	       "\"rate_ratio_max\": %.4f",
	    c->ratio.median, c->ratio.least, c->ratio.most);
}

/* In a mix, the processes' time is that of all its procedures. */
static void print_json_cpu(const struct line *l)
{
	double ops = l->ops_s * l->seconds, mb = l->mb_s * l->seconds;

	printf(",\n  \"cpu_s\": %.3f, \"cores\": %.3f", l->cpu_s,
	    l->seconds > 0 ? l->cpu_s / l->seconds : 0);
	if (l->cpu_s > 0)
		printf(", \"ops_per_cpu_s\": %.1f, \"mb_per_cpu_s\": %.2f",
		    ops / l->cpu_s, mb / l->cpu_s);
}

static int print_json_object(
    const struct report *r, uint32_t target, enum call_op op)
{
	struct contrast c;
	struct line l;
	int err = make_line(r, target, op, &l);

	if (!err && target > 0)
		err = make_contrast(r, target, op, &c);
	if (err)
		return err;
	printf("{\"op\": \"%s\", \"target\": ", call_op_name(op));
	print_json_string(r->o->target[target].name);
	printf(", \"rounds\": %u, \"concurrency\": %u, \"connections\": %u, "
	       "\"size\": %u,\n  \"ops\": %" PRIu64 ", \"errors\": %" PRIu64
	       ", \"first_error\": ",
	    r->o->rounds, r->o->concurrency, r->o->connections, r->o->size,
	    l.ops, l.errors);
	print_json_string(l.first_error);
	printf(",\n  \"seconds\": %.3f, \"ops_per_s\": %.1f, "
	       "\"mb_per_s\": %.2f, \"p50_us\": %.2f,\n  \"p90_us\": %.2f, "
	       "\"p99_us\": %.2f, \"max_us\": %.2f",
	    l.seconds, l.ops_s, l.mb_s, l.p50_us, l.p90_us, l.p99_us, l.max_us);
	if (r->o->target[target].pids)
		print_json_cpu(&l);
	if (target > 0)
		print_json_contrast(r, &c);
	putchar('}');
	return 0;
}

int report_print_json(const struct report *r)
{
	const char *between = "[";
	int err = 0;

	for (enum call_op op = 0; op < CALL_MEASURED; op++) {
		if (!r->o->weight[op])
			continue;
		for (uint32_t t = 0; !err && t < r->o->targets; t++) {
			fputs(between, stdout);
			between = ",\n ";
			err = print_json_object(r, t, op);
		}
	}
	puts("]");
	return err;
}
