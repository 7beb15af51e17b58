/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the control program prints: JSON, units, bytes of unknown origin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctl_json.h"
#include "ctl_text.h"

static void expect_json(const uint8_t *bytes, size_t len, const char *want)
{
	struct ctl_json j = {0};
	char *text;
	size_t size;

	j.out = open_memstream(&text, &size);
	ctl_json_open(&j, NULL, '{');
	ctl_json_bytes(&j, "k", bytes, len);
	ctl_json_known(&j, "n", 0);
	ctl_json_number(&j, "m", UINT64_MAX);
	ctl_json_bool(&j, "b", false);
	ctl_json_bool(&j, "c", true);
	ctl_json_close(&j, '}');
	fclose(j.out);
	assert_int_equal(strncmp(text, "{\"k\":", 5), 0);
	assert_int_equal(strncmp(text + 5, want, strlen(want)), 0);
	assert_string_equal(text + 5 + strlen(want),
	    ",\"n\":null,\"m\":18446744073709551615,"
	    "\"b\":false,\"c\":true}");
	free(text);
}

static void test_json(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} rows[] = {
	    {"", 0, "\"\""},
	    {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
	    {"\0\n\x1f\x7f", 4, "\"\\u0000\\u000a\\u001f\\u007f\""},
	    {"\xc3\xa4\xe2\x82\xac", 5, "\"\xc3\xa4\xe2\x82\xac\""},
	    {"\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\""},
	    {"\xff", 1, "\"\\udcff\""},
	    {"\xc3", 1, "\"\\udcc3\""},
	    {"\xc3(", 2, "\"\\udcc3(\""},
	    {"\xc0\xaf", 2, "\"\\udcc0\\udcaf\""},
	    {"\xe0\x80\x80", 3, "\"\\udce0\\udc80\\udc80\""},
	    {"\xed\xa0\x80", 3, "\"\\udced\\udca0\\udc80\""},
	    {"\xf4\x90\x80\x80", 4, "\"\\udcf4\\udc90\\udc80\\udc80\""},
	    {"\xf0\x9f\x98", 3, "\"\\udcf0\\udc9f\\udc98\""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_json(
		    (const uint8_t *)rows[i].bytes, rows[i].len, rows[i].want);
}

static void test_text(void **state)
{
	char buf[CTL_TEXT_MAX], *text;
	size_t size;
	FILE *out;

	(void)state;
	assert_string_equal(ctl_text_us(buf, 0), "0 us");
	assert_string_equal(ctl_text_us(buf, 999), "999 us");
	assert_string_equal(ctl_text_us(buf, 1000), "1.00 ms");
	assert_string_equal(ctl_text_us(buf, 40200), "40.2 ms");
	assert_string_equal(ctl_text_us(buf, 999499), "999 ms");
	assert_string_equal(ctl_text_us(buf, 999500), "1.00 s");
	assert_string_equal(ctl_text_us(buf, 1526000), "1.53 s");
	assert_string_equal(ctl_text_bytes(buf, 1023), "1023 B");
	assert_string_equal(ctl_text_bytes(buf, 1024), "1.00 KiB");
	assert_string_equal(ctl_text_bytes(buf, 1048575), "1.00 MiB");
	assert_string_equal(ctl_text_bytes(buf, UINT64_MAX), "16.0 EiB");
	assert_string_equal(ctl_text_age(buf, 59999), "59 s");
	assert_string_equal(ctl_text_age(buf, 61000), "1 min 1 s");
	assert_string_equal(ctl_text_age(buf, 11520000), "3 h 12 min");
	assert_string_equal(ctl_text_age(buf, 97 * 3600000), "4 d 1 h");
	out = open_memstream(&text, &size);
	ctl_put_bytes(out, (const uint8_t *)"a\x1b[\xc2\x9b\xc3\xa4\xff", 8);
	fclose(out);
	assert_string_equal(text, "a\\x1b[\\xc2\\x9b\xc3\xa4\\xff");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json),
	    cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
