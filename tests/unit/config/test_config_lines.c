/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a configuration is cut into lines: continuations, comments, ends of
 * lines, long lists, and the line numbers of messages. */
#include "config/config.h"

#include "config/config_fixture.h"

#define NAS "[server nas]\naddress = nas\nlisten = 127.0.0.1:2050\n"

/* All that a server exports, in one string. */
static void assert_exports(const char *text, const char *want)
{
	struct config *cfg = must_load(text);
	const struct config_strings *paths = &cfg->servers[0].exports;
	char got[256] = "";

	for (size_t i = 0; i < paths->n; i++) {
		strcat(got, i ? " " : "");
		strcat(got, paths->list[i]);
	}
	assert_string_equal(got, want);
}

TEST(test_continued)
{
	assert_exports(NAS "exports = /a \\\n/b\n", "/a /b");
	assert_exports(NAS "exports = /a \\\n\t/b\t\\\n  /c", "/a /b /c");
	assert_exports(NAS "exports = \\\n/a \\\n\\\n/b\n", "/a /b");
	assert_exports(NAS "exports = /a \\   # why\n/b # end\n", "/a /b");
	assert_exports(NAS "exports = /a \\\r\n/b\r\n", "/a /b");
	assert_exports(NAS "exports \\\n= \\\n/a", "/a");
	/* An empty line ends it. */
	assert_exports(NAS "exports = /a \\\n\nsecure = no\n", "/a");
}

TEST(test_comments_between)
{
	assert_exports(NAS "exports = /a \\\n# /b \\\n  ; /c\n/d\n", "/a /d");
	assert_exports(NAS "# \\\nexports = /a\n", "/a");
	assert_exports(NAS "exports = /a # \\\nsecure = no\n", "/a");
}

/* A path may end in a backslash, as it always could. */
TEST(test_backslash_in_word)
{
	assert_exports(NAS "exports = /a\\\nsecure = no\n", "/a\\");
	assert_exports(NAS "exports = /a\\ /b\n", "/a\\ /b");
	assert_exports(NAS "exports = /a \\ # x\n/b\\\\\n", "/a /b\\\\");
}

TEST(test_line_numbers)
{
	/* Of a continued value, where it begins; of others, as an editor
	 * counts. */
	must_fail(NAS "allow = ::1 \\\n 10.0.0.0/8 \\\n x\n",
	    "t:4: [server nas] allow: 'x': want an address or ADDRESS/BITS, "
	    "numeric");
	must_fail(NAS "exports = /a \\\n# no\n\t/b\n\n\nlink = 3\n",
	    "t:9: [server nas] link: '3' is not one of auto, wired or "
	    "wireless");
	must_fail(NAS "exports = /a \\\n/b \\\n\001\n",
	    "t:6: [server nas]: a control character (byte 0x01)");
	must_fail("\n\n[server \\\nb]\n[server b]\n",
	    "t:5: [server b]: duplicate section; the first is at line 3");
	must_fail("\xef\xbb\xbf\n\r\nx\n", "t:3: want KEY = VALUE");
}

TEST(test_nothing_follows)
{
	must_fail(NAS "exports = /a \\",
	    "t:4: [server nas]: nothing follows the '\\'");
	must_fail(NAS "exports = /a \\\n",
	    "t:4: [server nas]: nothing follows the '\\'");
	must_fail(NAS "exports = /a \\\n# only this\n",
	    "t:5: [server nas]: nothing follows the '\\'");
	must_fail(
	    NAS "exports = \\\n\n", "t:4: [server nas] exports: no value");
}

/* 10 KiB in one line, and in a line for each path. */
TEST(test_long_list)
{
	char text[16384], printed[16384];
	const char *const between[] = {" ", " \\\n\t"};

	for (size_t k = 0; k < 2; k++) {
		size_t n = (size_t)snprintf(
		    text, sizeof(text), NAS "exports = /export/0000");
		struct config *cfg, *again;
		FILE *out = fmemopen(printed, sizeof(printed), "w");

		for (int i = 1; i < 800; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%s/export/%04d", between[k], i);
		assert_true(n > 10240 && n < sizeof(text) - 1);
		cfg = must_load(text);
		assert_int_equal(cfg->servers[0].exports.n, 800);
		assert_string_equal(
		    cfg->servers[0].exports.list[799], "/export/0799");
		config_print(cfg, out);
		fclose(out);
		again = must_load(printed);
		assert_int_equal(again->servers[0].exports.n, 800);
	}
}

/* A line that does not fit is an error, and never becomes a shorter value. */
TEST(test_too_long)
{
	enum { MOST = 65536, KEY = 7, WORD = 9 };
	static char text[80000];
	char err[CONFIG_ERR_MAX];
	size_t n = (size_t)snprintf(text, sizeof(text), NAS "allow =");
	size_t words = (MOST - KEY) / WORD;
	struct config *cfg;

	for (size_t i = 0; i < words; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " 10.1.2.3");
	strcpy(text + n, " # the comment does not count\n");
	cfg = must_load(text);
	assert_int_equal(cfg->servers[0].allow.n, words);
	strcpy(text + n, " \\\n10.1.2.3");
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_non_null(strstr(err,
	    "t:4: [server nas]: the line is too long (65545 bytes, want 65536 "
	    "at most)"));
}

TEST(test_long_word)
{
	char text[2048], path[1101] = "/", err[CONFIG_ERR_MAX];

	memset(path + 1, 'x', sizeof(path) - 2);
	for (size_t len = 1100; len > 1000; len--) {
		struct config *cfg;

		path[len] = '\0';
		snprintf(text, sizeof(text), NAS "exports = %s\n", path);
		cfg = config_parse_string(text, "t", err, sizeof(err));
		assert_int_equal(cfg != NULL, len <= 1024);
		if (cfg)
			assert_string_equal(
			    cfg->servers[0].exports.list[0], path);
		else
			assert_non_null(strstr(err, "too long"));
		config_free(cfg);
	}
}
