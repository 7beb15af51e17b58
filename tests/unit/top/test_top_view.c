/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of any size: nothing is outside of them, and nothing that a terminal
 * would obey is in them. */
#include <locale.h>
#include "unittest.h"
#include "ctl/ctl_text.h"
#include "text/utf8.h"
#include "top/top_fixture.h"
#include "top/top_page.h"
#include "top/top_text.h"
#include "top/top_view.h"

static const struct {
	int columns, rows;
} sizes[] = {{1, 1}, {2, 2}, {10, 3}, {40, 10}, {80, 24}, {159, 12}, {160, 30},
    {200, 50}, {1000, 3}};

static const char *const names[] = {
    "file.c",
    "",
    "a name that is so long that it does not fit into any column of the page",
    "\xe6\x96\x87\xe4\xbb\xb6\xe5\x90\x8d\xe5\x89\x8d\xe6\x96\x87\xe4\xbb\xb6",
    "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
    "\x1b[2J\x1b]0;title\x07\r\n\t\x7f\xc2\x9b"
    "31m",
    "\xff\xfe\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80\xe2\x82",
    "\xe2\x80\xae"
    "evil\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81",
    "\xcc\x81\xcc\x81",
};

/* Returns the columns that the row takes, and fails where a terminal would obey
 * it. */
static int judge_row(const char *row)
{
	const uint8_t *s = (const uint8_t *)row;
	size_t len = strlen(row), n;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_length(s + i, len - i);
		assert_true(n > 0);
		assert_true(s[i] >= 0x20 && s[i] != 0x7f);
		assert_false(s[i] == 0xc2 && s[i + 1] < 0xa0);
		/* Directions, and what cannot be seen. */
		assert_false(n == 3 && s[i] == 0xe2 && s[i + 1] == 0x80 &&
			     s[i + 2] >= 0x8b && s[i + 2] <= 0xae &&
			     (s[i + 2] <= 0x8f || s[i + 2] >= 0xa8));
		assert_false(n == 4 && s[i] == 0xf3 && s[i + 1] == 0xa0);
	}
	return top_text_columns(row);
}

static void judge(const struct top_page *p)
{
	for (int i = 0; i < top_page_rows(p); i++) {
		FREED char *row = top_page_row(p, i);

		assert_non_null(row);
		assert_true(judge_row(row) <= top_page_columns(p));
	}
}

/* The first row that has the text; -1: none has. */
static int row_with(const struct top_page *p, const char *text)
{
	for (int i = 0; i < top_page_rows(p); i++) {
		FREED char *row = top_page_row(p, i);

		if (strstr(row, text))
			return i;
	}
	return -1;
}

static bool has(const struct top_page *p, const char *text)
{
	return row_with(p, text) >= 0;
}

static struct top_page *drawn(
    const struct top_model *m, struct top_look look, int columns, int rows)
{
	struct top_page *p = top_page_new(columns, rows);

	assert_non_null(p);
	if (!look.clock)
		look.clock = "12:34:56";
	top_view_draw(p, m, &look);
	return p;
}

/* It is there until the test is over. */
static struct top_page *page(
    const struct top_model *m, struct top_look look, int columns, int rows)
{
	return AFTER(top_page_free, drawn(m, look, columns, rows));
}

static void fill(struct top_model *m, const struct saying *what)
{
	struct saying first = *what;

	top_model_update(m, sample_make(&first));
	first.uptime_ms += 1000;
	first.count *= 2;
	top_model_update(m, sample_make(&first));
}

static void draw_one(const struct top_model *m, size_t size, unsigned k)
{
	struct top_look look = {.server = k & 1 ? 0 : -1,
	    .block = k == 10,
	    .wide = k & 2,
	    .keys = k & 4,
	    .help = (k & 8) && k < 16,
	    .paused = k == 5,
	    .shown = k < 16 ? TOP_ALL : (enum top_shown)(k % TOP_SHOWN),
	    .row = k,
	    .order = k < 16 ? 0 : k % 3,
	    .details = k % 3 == 0,
	    .typing = k % 5 == 0};
	struct top_page *p;

	if (k >= 24)
		strcpy(look.filter, "\xc3\x1b[2J\xe2\x80\xae");
	p = drawn(m, look, sizes[size].columns, sizes[size].rows);
	judge(p);
	top_page_free(p);
}

static void draw_all(const struct top_model *m)
{
	for (size_t i = 0; i < LENGTH(sizes); i++)
		for (unsigned k = 0; k < 32; k++)
			draw_one(m, i, k);
}

TEST(test_any_size_and_name)
{
	for (size_t i = 0; i < LENGTH(names); i++)
		for (unsigned k = 0; k < 4; k++) {
			static const unsigned rows[] = {0, 1, 5, 64};
			struct saying what = {.servers = k,
			    .rows = rows[k],
			    .uptime_ms = 1000,
			    .count = k == 3 ? UINT64_MAX / 4 : 1000,
			    .name = names[i],
			    .down = k == 2};
			ENDS_BY(top_model_clear) struct top_model m = {0};

			fill(&m, &what);
			draw_all(&m);
		}
}

/* Before the first sample, and while the daemon is away. */
TEST(test_away)
{
	struct saying what = {.servers = 1, .rows = 2, .uptime_ms = 1};
	struct top_look look = {.server = -1, .keys = true};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	draw_all(&m);
	top_model_update(&m, NULL);
	p = page(&m, look, 80, 24);
	assert_true(has(p, "forefetchd is away: out of memory"));
	draw_all(&m);
	fill(&m, &what);
	top_model_update(&m, NULL);
	p = page(&m, look, 80, 24);
	assert_true(has(p, "forefetchd is away"));
	assert_true(has(p, "nas0"));
}

/* A screen of ordinary size shows everything that matters. */
TEST(test_ordinary)
{
	static const char *const words[] = {"nas0", "CALLS/s", "1000", "50%",
	    "Who waits", "confirmed by strict 75%, link busy 25%",
	    "Calls that wait", "READDIRPLUS", "Fetched ahead", "(queued)",
	    "Last predictions", "withdrawn", "q quit"};
	struct saying what = {
	    .servers = 1, .rows = 3, .uptime_ms = 1, .count = 1000};
	struct top_look look = {.server = -1, .keys = true};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	fill(&m, &what);
	p = page(&m, look, 80, 24);
	for (size_t i = 0; i < LENGTH(words); i++)
		if (!has(p, words[i]))
			fail_msg("%s is not on it", words[i]);
	/* On a small one, how it goes and who waits. */
	p = page(&m, look, 40, 10);
	assert_true(has(p, "nas0"));
	assert_true(has(p, "1000"));
	assert_true(has(p, "WAITS s/s"));
}

/* One section alone has a cursor, and the rows around it. */
TEST(test_section_alone)
{
	struct saying what = {
	    .servers = 1, .rows = 64, .uptime_ms = 1, .count = 1000};
	struct top_look look = {.server = -1,
	    .keys = true,
	    .shown = TOP_OUTCOMES,
	    .clock = "12:34:56"};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p = top_page_new(80, 24);

	fill(&m, &what);
	look.row = 1000;
	top_view_draw(p, &m, &look);
	assert_int_equal(look.row, 63);
	assert_true(has(p, "Last predictions"));
	assert_false(has(p, "Who waits"));
	judge(p);
	top_page_free(p);
	/* The first row is out of sight now. */
	p = page(&m, look, 80, 24);
	assert_false(has(p, " used    "));
	look.row = 0;
	p = page(&m, look, 80, 24);
	assert_true(has(p, " used    "));
}

/* The rows of the one section are sorted as it was asked for; rows that are
 * equal keep their places. */
TEST(test_sorted)
{
	struct saying what = {
	    .servers = 1, .rows = 2, .uptime_ms = 1, .count = 1000};
	struct top_look look = {.server = -1, .keys = true, .shown = TOP_AHEAD};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	assert_int_equal(top_view_orders(TOP_ALL), 0);
	fill(&m, &what);
	p = page(&m, look, 120, 24);
	assert_true(has(p, "s sort: turn"));
	assert_true(row_with(p, "(queued)") < row_with(p, " READ "));
	m.servers[0].activity->ahead[1]->bytes = 1;
	look.order = 1;
	p = page(&m, look, 120, 24);
	assert_true(has(p, "s sort: size"));
	assert_true(row_with(p, " READ ") < row_with(p, "(queued)"));
	look.order = 2;
	p = page(&m, look, 120, 24);
	assert_true(row_with(p, "(queued)") < row_with(p, " READ "));
}

/* All of a row is there, on a page that has no room for it in a line. */
TEST(test_details)
{
	static const char name[] =
	    "a name that is so long that it does not fit into one line";
	struct saying what = {.servers = 1,
	    .rows = 3,
	    .uptime_ms = 1,
	    .count = 1000,
	    .name = name};
	struct top_look look = {
	    .server = -1, .keys = true, .shown = TOP_CALLS, .details = true};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	fill(&m, &what);
	p = page(&m, look, 40, 24);
	assert_true(has(p, "WHY"));
	assert_true(has(p, "one line"));
	judge(p);
}

/* Rows without the text are left out, whatever the case of its letters. */
TEST(test_filter)
{
	struct saying what = {
	    .servers = 1, .rows = 3, .uptime_ms = 1, .count = 1000};
	struct top_look look = {.server = -1, .filter = "readdirPLUS"};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	fill(&m, &what);
	p = page(&m, look, 80, 24);
	assert_true(has(p, "READDIRPLUS"));
	assert_false(has(p, "withdrawn"));
	strcpy(look.filter, "no such text");
	look.shown = TOP_CALLS;
	p = page(&m, look, 80, 24);
	assert_false(has(p, "READDIRPLUS"));
	assert_true(has(p, "no row has the text"));
}

/* One among many that were not worth a call is seen. */
TEST(test_what_was_fetched_is_seen)
{
	struct saying what = {
	    .servers = 1, .rows = 64, .uptime_ms = 1, .count = 1000};
	struct top_look look = {.server = -1};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	fill(&m, &what);
	p = page(&m, look, 80, 24);
	assert_true(has(p, " used    "));
	/* And on a narrow page, why somebody waits. */
	p = page(&m, look, 40, 24);
	assert_true(has(p, "confirmed by s"));
}

/* Where UTF-8 is not wanted, there is none, whatever is shown. */
TEST(test_plain)
{
	setlocale(LC_CTYPE, "C");
	for (size_t i = 0; i < LENGTH(names); i++) {
		struct saying what = {.servers = 2,
		    .rows = 5,
		    .uptime_ms = 1000,
		    .count = 1000,
		    .name = names[i]};
		struct top_look look = {.server = -1, .keys = true};
		ENDS_BY(top_model_clear) struct top_model m = {0};
		struct top_page *p;

		fill(&m, &what);
		p = page(&m, look, 160, 30);
		for (int k = 0; k < top_page_rows(p); k++) {
			FREED char *row = top_page_row(p, k);

			for (const char *s = row; *s; s++)
				assert_true(*s >= 0x20 && *s < 0x7f);
		}
	}
	setlocale(LC_CTYPE, "C.UTF-8");
}

TEST(test_down)
{
	struct saying what = {.servers = 1, .uptime_ms = 1, .down = true};
	struct top_look look = {.server = -1};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	what.name = "refused";
	fill(&m, &what);
	p = page(&m, look, 80, 24);
	assert_true(has(p, "connecting 1 h 2 min"));
	assert_true(has(p, "refused0: refused"));
}

TEST(test_farm)
{
	struct saying what = {.servers = 1, .uptime_ms = 1};
	struct top_look look = {.server = -1};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	fill(&m, &what);
	p = page(&m, look, 80, 24);
	assert_false(has(p, "farm"));
	what.farm = true;
	what.uptime_ms += 1000;
	fill(&m, &what);
	p = page(&m, look, 80, 24);
	assert_true(has(p, "farm full"));
}

/* Of more servers than there is room for it says how many there are. */
TEST(test_many_servers)
{
	struct saying what = {
	    .servers = 100, .rows = 1, .uptime_ms = 1, .count = 9};
	struct top_look look = {.server = -1};
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_page *p;

	fill(&m, &what);
	p = page(&m, look, 80, 24);
	assert_true(has(p, "more"));
	assert_true(has(p, "Who waits"));
	look.server = 99;
	p = page(&m, look, 80, 24);
	assert_true(has(p, "nas99"));
	assert_false(has(p, "nas98"));
	/* It is gone since it was chosen. */
	look.server = 1000;
	p = page(&m, look, 80, 24);
	assert_true(has(p, "nas0"));
}

/* ---- the parts -------------------------------------------------------- */

static void assert_clean(const char *bytes, const char *want)
{
	FREED char *text = ctl_text_clean(bytes, strlen(bytes));

	assert_string_equal(text, want);
}

TEST(test_clean)
{
	char *text;

	assert_clean("a b", "a b");
	assert_clean("\x1b[31m", "\\x1b[31m");
	assert_clean("\xff", "\\xff");
	assert_clean("\xc2\x9b", "\\xc2\\x9b");
	assert_clean("\xe2\x80\xae", "\\xe2\\x80\\xae");
	assert_clean("\xe6\x96\x87", "\xe6\x96\x87");
	text = AFTER(free, ctl_text_clean("a\0b", 3));
	assert_string_equal(text, "a\\x00b");
	text = AFTER(free, ctl_text_clean(NULL, 0));
	assert_string_equal(text, "");
}

TEST(test_put)
{
	struct top_page *p = AFTER(top_page_free, top_page_new(6, 2));
	char *row;

	assert_int_equal(top_page_put(p, 0, 0, 6, TOP_PLAIN, "abcdefgh"), 6);
	row = AFTER(free, top_page_row(p, 0));
	assert_string_equal(row, "abcde…");
	/* Half a wide character does not fit. */
	assert_int_equal(top_page_put(p, 1, 0, 4, TOP_PLAIN,
			     "\xe6\x96\x87\xe6\x96\x87\xe6\x96\x87"),
	    3);
	row = AFTER(free, top_page_row(p, 1));
	assert_string_equal(row, "\xe6\x96\x87…");
	/* Outside. */
	assert_int_equal(top_page_put(p, 2, 0, 6, TOP_PLAIN, "x"), 0);
	assert_int_equal(top_page_put(p, -1, 0, 6, TOP_PLAIN, "x"), 0);
	assert_int_equal(top_page_put(p, 0, 6, 6, TOP_PLAIN, "x"), 0);
	assert_int_equal(top_page_put(p, 0, -1, 6, TOP_PLAIN, "x"), 0);
	assert_int_equal(top_page_put(p, 0, 5, 6, TOP_PLAIN, "xy"), 1);
}

int main(void)
{
	/* As the program does. */
	setlocale(LC_CTYPE, "C.UTF-8");
	return unittest_run(NULL, NULL);
}
