/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words in data: what is found in sources, in programs, and in noise. */
#include "unittest.h"
#include "predictor/mention/tokens.h"

static struct tokens tokens;

/* The first token of that name, or NULL. */
static const struct token *token(const char *name)
{
	uint32_t h = name_hash32(name, strlen(name));

	for (uint32_t i = 0; i < tokens.n; i++)
		if (tokens.at[i].hash == h)
			return &tokens.at[i];
	return NULL;
}

static void scan(const char *text)
{
	tokens_scan(&tokens, text, strlen(text));
}

TEST(finds_what_javascript_requires)
{
	scan("const a = require('./util/memoize');\n"
	     "const b = require(\"../lib/x.js\"), c = require('tapable');\n");
	assert_non_null(token("util"));
	assert_int_equal(token("util")->flags, TOKEN_HERE | TOKEN_QUOTED);
	assert_int_equal(token("util")->ups, 0);
	assert_ptr_equal(token("memoize"), token("util") + 1);
	assert_true(token("memoize")->flags & TOKEN_CONT);
	assert_int_equal(token("lib")->ups, 1);
	assert_true(token("x.js")->flags & TOKEN_DOTTED);
	assert_int_equal(token("tapable")->flags, TOKEN_QUOTED);
	assert_int_equal(token("const")->flags, 0);
}

TEST(finds_what_c_includes)
{
	scan("#include <sys/queue.h>\n#include \"base/log.h\"\nint x;\n");
	assert_ptr_equal(token("queue.h"), token("sys") + 1);
	assert_ptr_equal(token("log.h"), token("base") + 1);
	assert_true(token("base")->flags & TOKEN_QUOTED);
}

TEST(takes_dots_of_modules_for_slashes)
{
	scan("import scipy.linalg\nfrom .core import x\n");
	assert_non_null(token("scipy.linalg"));
	assert_true(token("scipy")->flags & TOKEN_PARTS);
	assert_ptr_equal(token("linalg"), token("scipy") + 1);
	assert_true(token("core")->flags & TOKEN_PARTS);
}

TEST(finds_the_rest)
{
	scan("\\input{chapters/intro}\nLIBS = -lz -Iinclude\n"
	     "a.o: /usr/include/stdio.h src/a.c\nSee the README.\n");
	assert_ptr_equal(token("intro"), token("chapters") + 1);
	assert_non_null(token("z"));
	assert_non_null(token("include"));
	assert_true(token("usr")->flags & TOKEN_ABSOLUTE);
	assert_non_null(token("a.c"));
	assert_non_null(token("README"));
}

TEST(finds_strings_in_programs)
{
	static const char data[] =
	    "\177ELF\2\1\1\0\0\0libfoo.so.1\0libc.so.6\0printf\0"
	    "\1\2\3\4\5\6\7\0GLIBC_2.34\0";

	tokens_scan(&tokens, data, sizeof(data));
	assert_true(token("libfoo.so.1")->flags & TOKEN_QUOTED);
	assert_non_null(token("libc.so.6"));
}

TEST(heeds_lengths_before_strings)
{
	/* As Python keeps names: a type, a length, the name, the next type. */
	static const char data[] =
	    "\343\0\0\0\0\0\332\5numpyr\4\0\0\0\332\14scipy.linalgr"
	    "\2\0\0\0\0\0\0";

	tokens_scan(&tokens, data, sizeof(data) - 1);
	assert_non_null(token("numpy"));
	assert_null(token("numpyr"));
	assert_non_null(token("linalg"));
}

TEST(takes_names_in_any_encoding)
{
	scan("see \"gr\303\274n.txt\" and \"gr\374n.txt\"\n");
	assert_non_null(token("gr\303\274n.txt"));
	assert_non_null(token("gr\374n.txt"));
}

TEST(says_each_word_once)
{
	scan("one two one two one\n");
	assert_int_equal(tokens.n, 2);
}

TEST(finds_nothing_in_noise)
{
	static unsigned char data[TOKENS_DATA_MAX];
	uint64_t x = 88172645463325252u;

	for (size_t i = 0; i < sizeof(data); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		data[i] = (unsigned char)(x >> 32);
	}
	tokens_scan(&tokens, data, sizeof(data));
	assert_int_equal(tokens.n, 0);
	tokens_scan(&tokens, data, 0);
	assert_int_equal(tokens.n, 0);
}

/* Of a dictionary no more is taken than words are worth, so that there is room
 * for what looks like a name. */
TEST(is_bounded)
{
	static char data[2 * TOKENS_DATA_MAX];
	size_t n = 0;

	for (unsigned i = 0; n + 64 < sizeof(data); i++)
		n += (size_t)sprintf(data + n, "word%u ", i);
	tokens_scan(&tokens, data, n);
	assert_int_equal(tokens.n, TOKENS_MAX / 2);
	n = 0;
	for (unsigned i = 0; n + 64 < sizeof(data); i++)
		n += (size_t)sprintf(data + n, "/d%u/f%u\n", i, i);
	tokens_scan(&tokens, data, n);
	assert_in_range(tokens.n, TOKENS_MAX - 8, TOKENS_MAX);
	memset(data, 'a', sizeof(data));
	tokens_scan(&tokens, data, sizeof(data));
	assert_int_equal(tokens.n, 0);
	memset(data, '/', sizeof(data));
	tokens_scan(&tokens, data, sizeof(data));
	assert_int_equal(tokens.n, 0);
	for (size_t i = 0; i + 3 <= 999; i += 3)
		memcpy(data + i, "../", 3);
	memcpy(data + 999, "x ", 2);
	tokens_scan(&tokens, data, 1001);
	assert_true(tokens.n <= 1);
}
