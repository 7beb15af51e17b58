/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Printing results: a table for people, JSON for bench/frontier. */
#include "predictor/sim/sim_report.h"

#include <stdlib.h>

struct sim_report {
	FILE *out;
	const struct trace *t;
	bool json, labels;
	size_t rows;
};

struct sim_report *sim_report_new(
    FILE *out, const struct trace *t, bool json, bool labels)
{
	struct sim_report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct sim_report){out, t, json, labels, 0};
	if (json)
		fputs("[", out);
	return r;
}

static void json_class(FILE *out, const char *name, const struct sim_class *c)
{
	fprintf(out,
	    ",\n  \"stall_%s\": %.4f, \"precision_%s\": %.4f, "
	    "\"waste_%s\": %.4f, \"late_%s\": %.4f, "
	    "\"events_%s\": %lu, \"issued_%s\": %lu, \"used_%s\": %lu, "
	    "\"demand_bytes_%s\": %lu, \"waste_bytes_%s\": %lu, "
	    "\"stall_s_%s\": %.3f",
	    name, sim_stall(c), name, sim_precision(c), name, sim_waste(c),
	    name, sim_late(c), name, c->events, name, c->issued, name, c->used,
	    name, c->demand_bytes, name, c->waste_bytes, name, c->stall_s);
}

static void json_reliability(FILE *out, const struct predictor_reliability *r)
{
	fputs(",\n  \"calibration\": [", out);
	for (int i = 0; i < 10; i++) {
		double n = r->n[i] ? (double)r->n[i] : 1;

		fprintf(out,
		    "%s{\"n\": %lu, \"predicted\": %.3f, \"used\": %.3f}",
		    i ? ", " : "", r->n[i], r->predicted[i] / n,
		    (double)r->used[i] / n);
	}
	fputs("]", out);
}

/* Labels come from a file, so they may have any bytes. */
static void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void json_label(
    FILE *out, const struct sim_result *res, const struct sim_label *l)
{
	fprintf(out,
	    ": {\"stall\": %.4f, \"waste\": %.4f, \"stall_cold\": %.4f, "
	    "\"stall_first\": %.4f, \"waste_first\": %.4f",
	    sim_stall(&l->all), sim_waste(&l->all), sim_stall(&l->cold),
	    sim_stall(&l->first), sim_waste(&l->first));
	if (res->has_others)
		fprintf(out, ", \"stall_others\": %.4f, \"waste_others\": %.4f",
		    sim_stall(&l->others), sim_waste(&l->others));
	fputs("}", out);
}

static void json_labels(struct sim_report *r, const struct sim_result *res)
{
	fputs(",\n  \"labels\": {", r->out);
	for (size_t i = 0; i < res->nlabels; i++) {
		fputs(i ? ",\n    " : "\n    ", r->out);
		json_string(r->out, r->t->labels[i]);
		json_label(r->out, res, &res->labels[i]);
	}
	fputs("}", r->out);
}

static void json_row(struct sim_report *r, const struct sim_result *res)
{
	fprintf(r->out,
	    "%s\n {\"predictor\": \"%s\", \"streams\": %u, \"clients\": %u, "
	    "\"price\": %g, "
	    "\"ns_per_event\": %.0f, \"bytes_per_event\": %.1f",
	    r->rows ? "," : "", res->predictor, res->streams, res->clients,
	    res->price, res->ns_per_event, res->bytes_per_event);
	json_class(r->out, "cold", &res->cold);
	json_class(r->out, "warm", &res->warm);
	json_class(r->out, "first", &res->first);
	if (res->has_others) {
		json_class(r->out, "others", &res->others);
		fprintf(r->out, ",\n  \"hindered\": %zu", sim_hindered(res));
	}
	if (res->has_reliability)
		json_reliability(r->out, &res->reliability);
	if (r->labels)
		json_labels(r, res);
	fputs("}", r->out);
}

static void table_head(FILE *out)
{
	fprintf(out,
	    "%-18s %3s %6s | %6s %6s %6s %6s | %6s %6s %6s | %6s %6s %6s | "
	    "%7s %7s\n",
	    "predictor", "str", "price", "warm", "prec", "waste", "late",
	    "cold", "prec", "waste", "first", "prec", "waste", "ns/ev", "B/ev");
}

static void table_reliability(FILE *out, const struct predictor_reliability *r)
{
	fputs("    said/was", out);
	for (int i = 0; i < 10; i++) {
		if (r->n[i] == 0)
			fputs("  -/-", out);
		else
			fprintf(out, "  %.2f/%.2f",
			    r->predicted[i] / (double)r->n[i],
			    (double)r->used[i] / (double)r->n[i]);
	}
	fputs("\n", out);
}

/* Prints how much first runs gain or lose by what the other workloads taught.
 */
static void table_others(FILE *out, const struct sim_result *res)
{
	const struct sim_class *o = &res->others;

	fprintf(out,
	    "    first after all others: stall %.3f (%+.3f)  prec %.3f  "
	    "waste %.3f  worse in %zu of %zu\n",
	    sim_stall(o), sim_stall(o) - sim_stall(&res->first),
	    sim_precision(o), sim_waste(o), sim_hindered(res), res->nlabels);
}

static void table_label(FILE *out, const char *name,
    const struct sim_result *res, const struct sim_label *l)
{
	double first = sim_stall(&l->first);

	fprintf(out,
	    "    %-32s stall %.3f  waste %.3f  events %lu  cold %.3f (%+.3f)  "
	    "first %.3f",
	    name, sim_stall(&l->all), sim_waste(&l->all), l->all.events,
	    sim_stall(&l->cold), sim_stall(&l->cold) - first, first);
	if (res->has_others)
		fprintf(out, "  others %.3f (%+.3f)", sim_stall(&l->others),
		    sim_stall(&l->others) - first);
	fputs("\n", out);
}

static void table_labels(struct sim_report *r, const struct sim_result *res)
{
	for (size_t i = 0; i < res->nlabels; i++)
		table_label(r->out, r->t->labels[i], res, &res->labels[i]);
}

static void table_row(struct sim_report *r, const struct sim_result *res)
{
	const struct sim_class *w = &res->warm, *c = &res->cold;
	const struct sim_class *f = &res->first;

	if (r->rows == 0)
		table_head(r->out);
	fprintf(r->out,
	    "%-18s %3u %6.2f | %6.3f %6.3f %6.3f %6.3f | %6.3f %6.3f %6.3f | "
	    "%6.3f %6.3f %6.3f | %7.0f %7.1f\n",
	    res->predictor, res->streams, res->price, sim_stall(w),
	    sim_precision(w), sim_waste(w), sim_late(w), sim_stall(c),
	    sim_precision(c), sim_waste(c), sim_stall(f), sim_precision(f),
	    sim_waste(f), res->ns_per_event, res->bytes_per_event);
	if (res->has_others)
		table_others(r->out, res);
	if (res->has_reliability)
		table_reliability(r->out, &res->reliability);
	if (r->labels)
		table_labels(r, res);
}

void sim_report_row(struct sim_report *r, const struct sim_result *res)
{
	if (r->json)
		json_row(r, res);
	else
		table_row(r, res);
	r->rows++;
	fflush(r->out);
}

void sim_report_free(struct sim_report *r)
{
	if (r->json)
		fputs("\n]\n", r->out);
	free(r);
}
