/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any message in a block of a binary trace, past the checksum, either plays
 * or is refused with a message that names the file.
 */
#include "predictor/sim/sim.h"

#include <xxhash.h>

#include "predictor/trace/trace_format.h"
#include "fuzz.h"

static void play(const struct trace *t)
{
	struct sim_options opt = {.streams = 2,
	    .clients = 1,
	    .rtt_s = 0.03,
	    .bytes_per_s = 1e7,
	    .cache_bytes = 200000,
	    .price = 1,
	    .seed = 1,
	    .budget_bytes = 1 << 20,
	    .calls = true};
	struct sim_result res;

	MUST(sim_run(t, model_find("forefetch"), &opt, &res) == 0);
	sim_result_done(&res);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[TRACE_ERR_MAX] = "";
	uint8_t *file = malloc(TRACE_HEAD_BYTES + TRACE_FRAME_BYTES + size);
	uint32_t sum = (uint32_t)XXH3_64bits(data, size);
	struct trace *t;
	FILE *in;

	MUST(file != NULL);
	memcpy(file, TRACE_MAGIC, TRACE_MAGIC_BYTES);
	file[TRACE_MAGIC_BYTES] = TRACE_VERSION;
	for (int i = 0; i < 4; i++) {
		file[TRACE_HEAD_BYTES + i] = (uint8_t)(size >> 8 * i);
		file[TRACE_HEAD_BYTES + 4 + i] = (uint8_t)(sum >> 8 * i);
	}
	memcpy(file + TRACE_HEAD_BYTES + TRACE_FRAME_BYTES, data, size);
	in = fmemopen(file, TRACE_HEAD_BYTES + TRACE_FRAME_BYTES + size, "r");
	MUST(in != NULL);
	t = trace_read(in, "fuzz", 1, err);
	fclose(in);
	if (t)
		play(t);
	else
		MUST(strncmp(err, "fuzz:", 5) == 0);
	trace_free(t);
	free(file);
	return 0;
}
