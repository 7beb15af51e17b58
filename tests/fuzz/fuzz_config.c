/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text either loads, and then prints as a text that loads and prints the
 * same, or is refused with a message that names the file.
 */
#include "config/config.h"
#include "fuzz.h"

static char *print(const struct config *cfg)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	MUST(out != NULL);
	config_print(cfg, out);
	MUST(fclose(out) == 0);
	return text;
}

/*
 * A value may print longer than it was written (a default written out, an
 * IPv6 address); the limit on a line is the one way for a print not to load.
 */
static void check_round_trip(const struct config *cfg)
{
	char err[CONFIG_ERR_MAX] = "";
	char *text = print(cfg), *again;
	struct config *copy =
	    config_parse_string(text, "print", err, sizeof(err));

	if (copy) {
		again = print(copy);
		MUST(strcmp(text, again) == 0);
		MUST(config_diff(cfg, copy, NULL, NULL) == 0);
		free(again);
	} else {
		MUST(strstr(err, "the line is too long") != NULL);
	}
	config_free(copy);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[CONFIG_ERR_MAX] = "";
	char *text = malloc(size + 1);
	struct config *cfg;

	MUST(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	cfg = config_parse_string(text, "fuzz", err, sizeof(err));
	if (cfg) {
		for (size_t i = 0; i < cfg->nservers; i++)
			MUST(cfg->servers[i].listen.n > 0);
		check_round_trip(cfg);
	} else {
		MUST(strncmp(err, "fuzz:", 5) == 0);
		for (const char *c = err; *c; c++)
			MUST(*c >= ' ' && *c < 0x7f);
	}
	config_free(cfg);
	free(text);
	return 0;
}
