/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text either is a file of names, beside which a trace then plays, or is
 * refused with a message that names the file. The rows that do not listen to
 * listings are not moved by it.
 */
#include "predictor/sim/sim.h"
#include "fuzz.h"

static const char trace_text[] = "1\tw\t0\t1\td/a\t1000\t1\n"
				 "1\tw\t20000\t1\td/b\t1000\t0\n"
				 "1\tv\t0\t1\td/e/c\t1000\t0\n"
				 "2\tw\t0\t1\td/a\t1000\t1\n"
				 "2\tw\t20000\t1\td/c\t1000\t0\n";

static struct sim_class play(const struct trace *t, const char *name)
{
	struct sim_options opt = {.streams = 2,
	    .clients = 1,
	    .rtt_s = 0.01,
	    .bytes_per_s = 1e7,
	    .cache_bytes = 200000,
	    .price = 1,
	    .others = true,
	    .seed = 1,
	    .budget_bytes = 1 << 20};
	struct sim_result res;

	MUST(sim_run(t, model_find(name), &opt, &res) == 0);
	MUST(res.first.used <= res.first.issued);
	MUST(res.others.used <= res.others.issued);
	MUST(res.first.events == 3 && res.others.events == 3);
	MUST(res.cold.events + res.warm.events == 5);
	sim_result_done(&res);
	return res.cold;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in, *names;
	struct trace *t;

	if (size == 0)
		return 0;
	in = fmemopen(
	    (void *)(uintptr_t)trace_text, sizeof(trace_text) - 1, "r");
	names = fmemopen((void *)(uintptr_t)data, size, "r");
	MUST(in && names);
	t = trace_read_named(in, "trace", names, "fuzz", 1, err);
	fclose(in);
	fclose(names);
	if (t) {
		play(t, "forefetch");
		MUST(play(t, "none").hits == 0);
	} else {
		MUST(strncmp(err, "fuzz:", 5) == 0);
	}
	trace_free(t);
	return 0;
}
