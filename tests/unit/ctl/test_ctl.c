/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control program prints JSON, units, and bytes of unknown origin. */
#include <locale.h>
#include <unistd.h>
#include "unittest.h"
#include "commands/hint_line.h"
#include "control/control.pb-c.h"
#include "control/protocol.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

static void expect_json(const uint8_t *bytes, size_t len, const char *want)
{
	struct json j = {0};
	FREED char *text;
	size_t size;

	j.out = open_memstream(&text, &size);
	json_open(&j, NULL, '{');
	json_bytes(&j, "k", bytes, len);
	json_number(&j, "m", UINT64_MAX);
	json_bool(&j, "b", false);
	json_bool(&j, "c", true);
	json_close(&j, '}');
	fclose(j.out);
	assert_int_equal(strncmp(text, "{\"k\":", 5), 0);
	assert_int_equal(strncmp(text + 5, want, strlen(want)), 0);
	assert_string_equal(text + 5 + strlen(want),
	    ",\"m\":18446744073709551615,"
	    "\"b\":false,\"c\":true}");
}

TEST(test_json)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} rows[] = {
	    {"", 0, "null"},
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

	for (i = 0; i < LENGTH(rows); i++)
		expect_json(
		    (const uint8_t *)rows[i].bytes, rows[i].len, rows[i].want);
}

static char *json_of(const void *message)
{
	struct json j = {0};
	char *text;
	size_t size;

	j.out = open_memstream(&text, &size);
	json_message(&j, NULL, message);
	fclose(j.out);
	return text;
}

static void expect_message(const void *message, const char *want)
{
	FREED char *text = json_of(message);

	assert_string_equal(text, want);
}

/* Fields have their names; what is not known is null. */
TEST(test_messages)
{
	Forefetch__UpstreamStatus up = FOREFETCH__UPSTREAM_STATUS__INIT;
	Forefetch__Tree tree = FOREFETCH__TREE__INIT;
	Forefetch__CompactedServer end = FOREFETCH__COMPACTED_SERVER__INIT;
	char *text;

	up.state = FOREFETCH__STATE__CONNECTING;
	expect_message(&up, "{\"state\":\"connecting\",\"local_port\":null,"
			    "\"srtt_us\":null,\"in_flight\":0,\"queued\":0}");
	up.state = (Forefetch__State)77;
	up.local_port = 800;
	up.srtt_us = UINT64_MAX;
	expect_message(&up, "{\"state\":\"unknown\",\"local_port\":800,"
			    "\"srtt_us\":18446744073709551615,"
			    "\"in_flight\":0,\"queued\":0}");
	tree.id = 0xabc;
	tree.uid = UID_NOBODY;
	text = json_of(&tree);
	assert_non_null(
	    strstr(text, "\"id\":\"0000000000000abc\",\"uid\":null,"));
	free(text);
	end.end = FOREFETCH__COMPACT_END__LAID_OUT;
	expect_message(&end, "{\"name\":null,\"busy\":false,"
			     "\"end\":\"laid-out\",\"before\":null,"
			     "\"after\":null,\"moved_bytes\":0}");
}

/* Buckets are arrays, counters an object. */
TEST(test_stats)
{
	uint64_t buckets[] = {1, 2, 3, 4, 5, UINT64_MAX};
	Forefetch__CallStats call = FOREFETCH__CALL_STATS__INIT;
	Forefetch__CallStats *calls[] = {&call};
	Forefetch__Counter counter = FOREFETCH__COUNTER__INIT;
	Forefetch__Counter *counters[] = {&counter};
	Forefetch__ServerStats srv = FOREFETCH__SERVER_STATS__INIT;

	call.side = FOREFETCH__SIDE__UPSTREAM;
	call.procedure = "LOOKUP";
	call.histogram = buckets;
	call.n_histogram = 6;
	counter.key = "drc_hits";
	counter.value = 5;
	srv.name.data = (uint8_t *)"n\xff";
	srv.name.len = 2;
	srv.calls = calls;
	srv.n_calls = 1;
	srv.counters = counters;
	srv.n_counters = 1;
	expect_message(&srv,
	    "{\"name\":\"n\\udcff\",\"calls\":[{\"side\":\"upstream\","
	    "\"program\":null,\"procedure\":\"LOOKUP\",\"calls\":0,"
	    "\"errors\":0,\"bytes_in\":0,\"bytes_out\":0,\"p50_us\":0,"
	    "\"p90_us\":0,\"p99_us\":0,\"max_us\":0,\"sum_us\":0,"
	    "\"histogram\":[[1,2,3],[4,5,18446744073709551615]]}],"
	    "\"counters\":{\"drc_hits\":5},\"gauges\":{},"
	    "\"prefetch\":null,"
	    "\"balance\":null,\"days\":[],\"mounts\":[]}");
}

static void expect_put(const void *message, const char *text, const char *want)
{
	FREED char *got;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	ctl_put(out, message, text);
	fclose(out);
	assert_string_equal(got, want);
}

/* Text that is made of the fields of a message. */
TEST(test_put)
{
	Forefetch__MountStatus mount = FOREFETCH__MOUNT_STATUS__INIT;
	Forefetch__ServerStatus srv = FOREFETCH__SERVER_STATUS__INIT;
	Forefetch__SequentialShare share = FOREFETCH__SEQUENTIAL_SHARE__INIT;
	Forefetch__Counter counter = FOREFETCH__COUNTER__INIT;
	Forefetch__Counter *gauges[] = {&counter};
	Forefetch__ServerStats stats = FOREFETCH__SERVER_STATS__INIT;

	srv.state = FOREFETCH__STATE__UP;
	srv.name.data = (uint8_t *)"n\x1b";
	srv.name.len = 2;
	srv.consistency = "frozen";
	srv.srtt_us = 40200;
	srv.grant_timeout_us = UINT64_C(3600000000);
	srv.state_age_us = 61000000;
	srv.clients_bytes = 2048;
	expect_put(&srv,
	    "{name}: {state}, {consistency} {srtt_us:T} {grant_timeout_us:T} "
	    "{state_age_us:A} {clients_bytes:B} {mount.reason} {none}.",
	    "n\\x1b: up, frozen 40.2 ms 1 h 0 min 1 min 1 s 2.00 KiB - -.");
	mount.state = FOREFETCH__STATE__IDLE;
	srv.mount = &mount;
	expect_put(&srv, "{mount.state}{clients:B}", "idle-");
	share.bytes = 8;
	share.sequential_bytes = 1;
	expect_put(&share,
	    "{sequential_bytes/bytes} {runs/runs} {bytes}{bytes:S}"
	    "{sequential_bytes:S}",
	    "12.5% 0.0% 8s");
	counter.key = "names";
	counter.value = 7;
	stats.gauges = gauges;
	stats.n_gauges = 1;
	expect_put(&stats, "{names} {other}", "7 -");
	assert_int_equal(ctl_number(&stats, "names"), 7);
	assert_int_equal(ctl_number(&stats, "other"), 0);
}

TEST(test_text)
{
	char buf[CTL_TEXT_MAX], *text;
	size_t size;
	FILE *out;

	assert_string_equal(ctl_text_us(buf, 0), "0 us");
	assert_string_equal(ctl_text_us(buf, 999), "999 us");
	assert_string_equal(ctl_text_us(buf, 1000), "1.00 ms");
	assert_string_equal(ctl_text_us(buf, 40200), "40.2 ms");
	assert_string_equal(ctl_text_us(buf, 999499), "999 ms");
	assert_string_equal(ctl_text_us(buf, 999500), "1.00 s");
	assert_string_equal(ctl_text_us(buf, 1526000), "1.53 s");
	assert_string_equal(ctl_text_bytes(buf, 1023), "1023 B");
	assert_string_equal(ctl_text_rate(buf, 100), "800 bit/s");
	assert_string_equal(ctl_text_rate(buf, 5000000), "40.0 Mbit/s");
	assert_string_equal(ctl_text_rate(buf, UINT64_MAX), "147573953 Tbit/s");
	assert_string_equal(ctl_text_bytes(buf, 1024), "1.00 KiB");
	assert_string_equal(ctl_text_bytes(buf, 1048575), "1.00 MiB");
	assert_string_equal(ctl_text_bytes(buf, UINT64_MAX), "16.0 EiB");
	assert_string_equal(ctl_text_duration(buf, 59999999), "59 s");
	assert_string_equal(ctl_text_duration(buf, 61000000), "1 min 1 s");
	assert_string_equal(ctl_text_duration(buf, 11520000000), "3 h 12 min");
	assert_string_equal(ctl_text_duration(buf, 97 * 3600000000), "4 d 1 h");
	out = open_memstream(&text, &size);
	ctl_put_bytes(out, (const uint8_t *)"a\x1b[\xc2\x9b\xc3\xa4\xff", 8);
	fclose(out);
	assert_string_equal(text, "a\\x1b[\\xc2\\x9b\xc3\xa4\\xff");
	free(text);
	/* Where UTF-8 is not wanted. */
	setlocale(LC_CTYPE, "C");
	out = open_memstream(&text, &size);
	ctl_put_bytes(out, (const uint8_t *)"a\xc3\xa4", 3);
	fclose(out);
	setlocale(LC_CTYPE, "C.UTF-8");
	assert_string_equal(text, "a\\xc3\\xa4");
	free(text);
}

static const char mounts[] =
    "/dev/sda1 / ext4 rw 0 0\n"
    "127.0.0.1:/srv/a /mnt/a nfs rw,relatime,vers=3,port=2050,"
    "mountaddr=10.9.9.9,mountport=2051,addr=127.0.0.1 0 0\n"
    "[::1]:/ /mnt/a\\040b nfs rw,vers=3,addr=::1 0 0\n"
    "/dev/sdb1 /mnt/a/local ext4 rw 0 0\n"
    "127.0.0.1:/x /mnt/four nfs4 rw,port=1,addr=::1 0 0\n"
    "old:/x /twice nfs rw,port=1,addr=10.0.0.1 0 0\n"
    "new:/y /twice nfs rw,port=2,addr=10.0.0.2 0 0\n"
    "broken line\n36 - nfs\n";

static bool find(const char *path, struct ctl_place *out)
{
	FILE *f = fmemopen((char *)(uintptr_t)mounts, strlen(mounts), "r");
	bool found = ctl_mount_find(f, path, out);

	fclose(f);
	return found;
}

TEST(test_mounts)
{
	static struct ctl_place at;

	assert_true(find("/mnt/a/x/y", &at));
	assert_string_equal(at.listen, "127.0.0.1:2050");
	assert_string_equal(at.export, "/srv/a");
	assert_string_equal(at.path, "x/y");
	assert_true(find("/mnt/a", &at));
	assert_string_equal(at.path, "");
	assert_true(find("/mnt/a b/z", &at));
	assert_string_equal(at.listen, "[::1]:2049");
	assert_string_equal(at.export, "/");
	assert_string_equal(at.path, "z");
	assert_true(find("/twice/z", &at));
	assert_string_equal(at.listen, "10.0.0.2:2");
	assert_false(find("/mnt/a/local/z", &at));
	assert_false(find("/mnt/ab", &at));
	assert_false(find("/mnt/four/z", &at));
	assert_false(find("/", &at));
}

static void check_plain(const char *path, const char *want)
{
	FREED char *plain = ctl_path_plain(path);

	assert_string_equal(plain, want);
}

TEST(test_plain)
{
	char *here = getcwd(NULL, 0), *below = ctl_path_plain("x/./y/../z");

	check_plain("/", "/");
	check_plain("//a///b/", "/a/b");
	check_plain("/a/./b/../c", "/a/c");
	check_plain("/../..", "/");
	check_plain("/.a/..b", "/.a/..b");
	assert_non_null(here);
	assert_memory_equal(below, here, strlen(here));
	assert_string_equal(below + strlen(here), "/x/z");
	free(here);
	free(below);
}

static void check_line(
    const char *text, const char *path, uint64_t offset, uint64_t length)
{
	struct hint_line line;
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	assert_true(hint_line_parse(copy, &line));
	assert_string_equal(line.path, path);
	assert_true(line.offset == offset);
	assert_true(line.length == length);
}

TEST(test_hint_lines)
{
	static const char *const bad[] = {"a 18446744073709551615 1",
	    "a 0 18446744073709551616", "a 16777216T 1", "a 0 99999999999999G"};
	struct hint_line line;
	char copy[64];

	check_line("a", "a", 0, 0);
	check_line("a b", "a b", 0, 0);
	check_line("a 1 2", "a", 1, 2);
	check_line("a\t64K \t 1M", "a", 65536, 1048576);
	check_line("a b 0 3G", "a b", 0, UINT64_C(3) << 30);
	check_line("a 1T 0", "a", UINT64_C(1) << 40, 0);
	/* Not two numbers behind a name. */
	check_line("a 2", "a 2", 0, 0);
	check_line("1 2", "1 2", 0, 0);
	check_line(" 1 2", " 1 2", 0, 0);
	check_line("3 1 2", "3", 1, 2);
	check_line("a 1 2 0 0", "a 1 2", 0, 0);
	check_line("a 1 2k", "a 1 2k", 0, 0);
	check_line("a -1 2", "a -1 2", 0, 0);
	check_line("a 1 2 ", "a 1 2 ", 0, 0);
	check_line("a 0x1 2", "a 0x1 2", 0, 0);
	check_line("a K 2", "a K 2", 0, 0);
	check_line(" ", " ", 0, 0);
	check_line("a 0 18446744073709551615", "a", 0, UINT64_MAX);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		snprintf(copy, sizeof(copy), "%s", bad[i]);
		assert_false(hint_line_parse(copy, &line));
	}
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	return unittest_run(NULL, NULL);
}
