/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text either is a trace, which then plays, or is refused with a message
 * that names the file.
 */
#include "predictor/sim/sim.h"
#include "fuzz.h"

static void play(const struct trace *t, const char *name)
{
	struct sim_options opt = {.streams = 2,
	    .clients = 1,
	    .rtt_s = 0.03,
	    .bytes_per_s = 1e7,
	    .cache_bytes = 200000,
	    .price = 1,
	    .seed = 1,
	    .budget_bytes = 1 << 20};
	struct sim_result res;

	MUST(sim_run(t, model_find(name), &opt, &res) == 0);
	MUST(res.cold.used <= res.cold.issued);
	MUST(res.warm.used <= res.warm.issued);
	MUST(res.seen == res.cold.events + res.warm.events);
	sim_result_done(&res);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in;
	struct trace *t;

	if (size == 0)
		return 0;
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	MUST(in != NULL);
	t = trace_read(in, "fuzz", 1, err);
	fclose(in);
	if (t) {
		play(t, "forefetch");
		play(t, "access-trees");
	} else {
		MUST(strncmp(err, "fuzz:", 5) == 0);
	}
	trace_free(t);
	return 0;
}
