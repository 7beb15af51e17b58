/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mentions: how each language names its other files. A language is a row. */
#include "unittest.h"
#include "predictor/mention/mention.h"

enum { CRED = 1, WANTS = 256, DIRS = 3, TOLD = 3, TOP = 1 };

/*
 * Names stand between spaces; those that end with a slash are directories. The
 * key of a name is that of its directory, times 100, and its number from 1 on;
 * the first directory is 1, so that the second name in it is 102.
 */
static const struct language {
	const char *what;
	struct {
		uint64_t key;
		const char *names;
	} dirs[DIRS];
	uint64_t file;
	const char *text;
	uint64_t told[TOLD]; /* at least these; 0: no more */
} languages[] = {
    {"C", {{1, "main.c util.h other.h"}}, 101,
	"#include \"util.h\"\nint main(void)\n{\n}\n", {102}},
    {"C++", {{1, "main.cc lib/"}, {102, "shape.hpp line.hpp"}}, 101,
	"#include \"lib/shape.hpp\"\n", {102, 10201}},
    {"Python", {{1, "run.py pkg/"}, {102, "__init__.py core.py more.py"}}, 101,
	"from pkg.core import thing\n", {102, 10202}},
    {"JavaScript", {{1, "main.js x.js y.js"}}, 101,
	"const x = require('./x');\n", {102}},
    {"TypeScript", {{1, "main.ts part.ts other.ts"}}, 101,
	"import { a } from \"./part\";\n", {102}},
    {"Rust, a file beside", {{1, "main.rs net.rs disk.rs"}}, 101,
	"mod net;\nfn main() {}\n", {102}},
    {"Rust, a directory beside", {{1, "main.rs net/"}, {102, "tcp.rs mod.rs"}},
	101, "mod net;\nfn main() {}\n", {102, 10202}},
    {"Rust, in the directory that is called as the file",
	{{1, "main.rs net.rs net/"}, {103, "tcp.rs udp.rs"}}, 102,
	"mod tcp;\npub mod udp;\n", {10301, 10302}},
    {"Rust, two levels down",
	{{1, "main.rs net.rs net/"}, {103, "tcp/"}, {10301, "seg.rs mod.rs"}},
	102, "mod tcp;\n", {10301, 1030102}},
    {"Ruby", {{1, "main.rb part.rb other.rb"}}, 101,
	"require_relative 'part'\n", {102}},
    {"Java", {{1, "Main.java com/"}, {102, "acme/"}, {10201, "Tool.java"}}, 101,
	"import com.acme.Tool;\n", {102, 10201, 1020101}},
    {"shell", {{1, "run.sh lib.sh other.sh"}}, 101, ". ./lib.sh\n", {102}},
    {"make", {{1, "Makefile rules.mk other.mk"}}, 101, "include rules.mk\n",
	{102}},
    {"TeX", {{1, "book.tex one.tex two.tex"}}, 101, "\\input{one}\n", {102}},
};

static bool may_search(void *ctx, uint32_t cred, uint64_t dir)
{
	(void)ctx;
	(void)dir;
	return cred == CRED;
}

static void list(struct mention *m, uint64_t dir, const char *names)
{
	struct nameindex_name at[16];
	char copy[256], *save, *name;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", names);
	for (name = strtok_r(copy, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		size_t len = strlen(name);

		at[n] = (struct nameindex_name){.object = dir * 100 + n + 1,
		    .size_bytes = 1000,
		    .directory = name[len - 1] == '/'};
		nameindex_fill(&at[n], name, len - at[n].directory);
		n++;
	}
	mention_listed(m, dir, at, n, 1);
}

static bool is_told(const struct mention_want *wants, size_t n, uint64_t object)
{
	for (size_t i = 0; i < n; i++)
		if (wants[i].pred.object == object)
			return true;
	return false;
}

static bool finds(const struct language *l)
{
	struct mention_params p = {
	    .memory_bytes = 1 << 20, .may_search = may_search};
	struct mention *m = mention_new(&p);
	struct mention_data d = {.object = l->file,
	    .version = 1,
	    .len = (uint32_t)strlen(l->text),
	    .cred = CRED,
	    .p = 1};
	static struct mention_want wants[WANTS];
	static struct tokens words;
	bool all = true;
	size_t n = 0;

	assert_non_null(m);
	for (int i = 0; i < DIRS && l->dirs[i].key; i++)
		list(m, l->dirs[i].key, l->dirs[i].names);
	assert_true(mention_may_scan(m, &d, 1));
	tokens_scan(&words, l->text, d.len);
	mention_scanned(m, &d, &words, 1);
	while (mention_has_work(m) && n < WANTS)
		n += mention_step(m, 1, wants + n, WANTS - n);
	for (int i = 0; i < TOLD && l->told[i]; i++)
		all = all && is_told(wants, n, l->told[i]);
	mention_free(m);
	return all;
}

TEST(test_languages)
{
	unsigned missed = 0;

	for (size_t i = 0; i < LENGTH(languages); i++) {
		if (finds(&languages[i]))
			continue;
		print_error("not found: %s\n", languages[i].what);
		missed++;
	}
	assert_int_equal(missed, 0);
}

/* "./x" is no word for what is in there. */
TEST(test_here_is_not_there)
{
	struct language l = {"JavaScript",
	    {{1, "main.js main/"}, {102, "x.js"}}, 101,
	    "const x = require('./x');\n", {10201}};

	assert_false(finds(&l));
}
