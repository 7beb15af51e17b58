/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log: its forms, its level, its limit, and bytes of a peer in it. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unittest.h"

/* Stderr is a pipe between capture_begin and capture_end. */
struct capture {
	int saved;
	int fds[2];
	char text[4096];
};

static void capture_begin(struct capture *c)
{
	assert_int_equal(pipe(c->fds), 0);
	c->saved = dup(STDERR_FILENO);
	assert_true(c->saved >= 0);
	assert_int_equal(dup2(c->fds[1], STDERR_FILENO), STDERR_FILENO);
	close(c->fds[1]);
}

static const char *capture_end(struct capture *c)
{
	size_t len = 0;
	ssize_t n;

	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	while (
	    (n = read(c->fds[0], c->text + len, sizeof(c->text) - 1 - len)) > 0)
		len += (size_t)n;
	close(c->fds[0]);
	c->text[len] = '\0';
	return c->text;
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t re;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&re, text, 0, NULL, 0) != 0)
		fail_msg("'%s' does not match '%s'", text, pattern);
	regfree(&re);
}

TEST(test_timestamp)
{
	struct capture c;

	unsetenv("JOURNAL_STREAM");
	capture_begin(&c);
	errno = ENOENT;
	log_warn("conn peer=%s: closed", "127.0.0.1:700");
	assert_int_equal(errno, ENOENT);
	assert_matches(capture_end(&c),
	    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z warn "
	    "conn peer=127\\.0\\.0\\.1:700: closed\n$");
}

static void set_journal(uintmax_t shift)
{
	struct stat st;
	char text[64];

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino + shift);
	setenv("JOURNAL_STREAM", text, 1);
}

TEST(test_journal)
{
	struct capture c;

	capture_begin(&c);
	set_journal(0);
	log_set_level(LOG_LEVEL_DEBUG);
	log_error("a");
	log_warn("b");
	log_info("c");
	log_debug("d");
	log_set_level(LOG_LEVEL_INFO);
	assert_string_equal(capture_end(&c), "<3>a\n<4>b\n<6>c\n<7>d\n");

	/* Inherited, but stderr is another file by now. */
	capture_begin(&c);
	set_journal(1);
	log_error("a");
	assert_matches(capture_end(&c), "Z error a\n$");
	unsetenv("JOURNAL_STREAM");
}

TEST(test_level)
{
	struct capture c;

	capture_begin(&c);
	log_debug("not at info");
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(log_get_level(), LOG_LEVEL_ERROR);
	log_warn("not at error");
	log_set_level(LOG_LEVEL_INFO);
	assert_string_equal(capture_end(&c), "");
}

TEST(test_one_line)
{
	struct capture c;
	char longish[3000];
	const char *text;

	memset(longish, 'x', sizeof(longish) - 1);
	longish[sizeof(longish) - 1] = '\0';
	capture_begin(&c);
	log_info("two\nlines\t\033[0m");
	log_info("%s", longish);
	text = capture_end(&c);
	assert_non_null(strstr(text, "two?lines??[0m\n"));
	assert_matches(text, "xxx\\.\\.\\.\n$");
	assert_int_equal(strlen(strchr(text, '\n') + 1), 1024);
}

TEST(test_limit)
{
	struct log_limit limit = {0};
	uint64_t now = UINT64_C(5000000000);
	unsigned suppressed = 99;

	for (int i = 0; i < 5; i++) {
		assert_true(log_limit_ok(&limit, now, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	for (int i = 0; i < 7; i++)
		assert_false(log_limit_ok(&limit, now + 999999, &suppressed));
	assert_true(log_limit_ok(&limit, now + 1000000, &suppressed));
	assert_int_equal(suppressed, 7);
	assert_false(log_limit_ok(&limit, now + 1999999, &suppressed));
	assert_true(log_limit_ok(&limit, now + 2000000, &suppressed));
	assert_int_equal(suppressed, 1);

	/* A clock that went back neither opens nor locks the gate for good. */
	assert_false(log_limit_ok(&limit, 0, &suppressed));
	now += 60000000;
	for (int i = 0; i < 5; i++)
		assert_true(log_limit_ok(&limit, now, &suppressed));
	assert_false(log_limit_ok(&limit, now, &suppressed));
}

/* One line in ten milliseconds for a minute: the burst and one a second. */
TEST(test_limit_rate)
{
	struct log_limit limit = {0};
	unsigned passed = 0, suppressed = 0, total = 0;

	for (uint64_t now = 0; now < 60000000; now += 10000) {
		if (!log_limit_ok(&limit, now, &suppressed))
			continue;
		passed++;
		total += suppressed;
	}
	assert_int_equal(passed, 5 + 59);
	assert_int_equal(passed + total + limit.suppressed, 6000);
}

TEST(test_escape)
{
	char text[LOG_ESCAPE_MAX(300)];
	unsigned char all[256];

	assert_string_equal(
	    log_escape(text, sizeof(text), "a b\n\\\"'\0z\xff", 10),
	    "a\\x20b\\x0a\\\\\\x22\\x27\\x00z\\xff");
	assert_string_equal(log_escape(text, sizeof(text), "", 0), "");
	for (unsigned i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	log_escape(text, sizeof(text), all, sizeof(all));
	for (const char *c = text; *c; c++)
		assert_true(*c > ' ' && *c < 0x7f);
}

TEST(test_escape_cut)
{
	char text[16];

	assert_string_equal(log_escape(text, 9, "abcdefgh", 8), "abcdefgh");
	assert_string_equal(log_escape(text, 8, "abcdefgh", 8), "abcd...");
	/* Never in the middle of an escape. */
	assert_string_equal(log_escape(text, 8, "\n\n", 2), "\\x0a...");
	assert_string_equal(log_escape(text, 7, "\n\n", 2), "...");
	assert_string_equal(log_escape(text, 3, "abc", 3), "..");
	assert_string_equal(log_escape(text, 1, "abc", 3), "");
	text[0] = 'k';
	log_escape(text, 0, "abc", 3);
	assert_int_equal(text[0], 'k');
	for (size_t len = 1; len < sizeof(text); len++) {
		memset(text, 'z', sizeof(text));
		log_escape(text, len, "a\nb\nc\nd\ne\nf\n", 12);
		assert_true(strlen(text) < len);
	}
}
