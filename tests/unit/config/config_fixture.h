/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configurations that are right, from a text and back. */
#ifndef FOREFETCH_TEST_CONFIG_FIXTURE_H
#define FOREFETCH_TEST_CONFIG_FIXTURE_H

#include "unittest.h"
#include "config/config.h"

/* It is there until the test is over. */
static inline struct config *must_load(const char *text)
{
	char err[CONFIG_ERR_MAX] = "";
	struct config *cfg = config_parse_string(text, "t", err, sizeof(err));

	if (!cfg)
		fail_msg("%s\n%s", err, text);
	return AFTER(config_free, cfg);
}

/* It is refused, in these words. */
static inline void must_fail(const char *text, const char *want)
{
	char err[CONFIG_ERR_MAX] = "";

	if (config_parse_string(text, "t", err, sizeof(err)) ||
	    strcmp(err, want) != 0)
		fail_msg("%s\nnow:  %s\nwant: %s", text, err, want);
}

/* As `forefetchd -t` prints it; there until the test is over. */
static inline char *print(const struct config *cfg)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	config_print(cfg, out);
	assert_int_equal(fclose(out), 0);
	return AFTER(free, text);
}

#endif
