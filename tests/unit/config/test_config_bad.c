/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser refuses wrong configurations, and says why in these very words. */
#include "config/config_fixture.h"

#include <unistd.h>

/* Lines 1 to 3 of most texts here. */
#define NAS                                                                    \
	"[server nas]\n"                                                       \
	"address = nas\n"                                                      \
	"listen = 127.0.0.1:2050\n"

/* Ends of messages. */
#define IS_NO_SIZE " is not a size such as 65536, 16K, 1.5G or 10GiB"
#define BAD_PORT   ": the port must be 1 to 65535"
#define IS_NO_TIME                                                             \
	" is not a time with its unit, such as 500ms, 3s, 2m or 1h30m"
#define IS_NO_RATE                                                             \
	" is not a rate such as 500kbit, 20 Mbit/s or 2.5MB/s, or a share "    \
	"such as 80%"
#define IS_NO_OFF " is not off, or a rate such as 500kbit, 64 Mbit/s or 8MB/s"
#define BAD_LISTEN                                                             \
	": the address must be numeric, IPv6 in brackets, or localhost"
#define BAD_IPV4 ": it looks like an IPv4 address, but is not a valid one"
#define UNKNOWN_SECTION                                                        \
	"unknown section; want [forefetch], [farm], [server NAME] or [export " \
	"SERVER:/PATH]"
#define BAD_NAME                                                               \
	"want [server NAME], the name of 1 to 64 letters, digits, '-', '.' "   \
	"or '_', and no '.' first"

/* Text, and the whole message. */
struct refusal {
	const char *text, *err;
};

static const struct refusal bad[] = {
    /* The file as a whole. */
    {"[server nas]\nlisten = 127.0.0.1:1\n",
	"t:1: [server nas] address: the key is missing; it has no default"},
    {NAS "\n[server b]\naddress = b\n",
	"t:5: [server b] listen: the key is missing; it has no default"},
    {NAS "[export b:/x]\n",
	"t:4: [export b:/x]: there is no section [server b]"},

    /* Sections. */
    {"secure = yes\n", "t:1: secure: stands before the first [section]"},
    {"[sever nas]\n", "t:1: [sever nas]: " UNKNOWN_SECTION},
    {"[forefetch nas]\n", "t:1: [forefetch nas]: " UNKNOWN_SECTION},
    {"[]\n", "t:1: []: " UNKNOWN_SECTION},
    {"[server nas\n", "t:1: the section has no closing ']'"},
    {"[server]\n", "t:1: [server]: " BAD_NAME},
    {"[server a b]\n", "t:1: [server a\\x20b]: " BAD_NAME},
    {"[server ..]\n", "t:1: [server ..]: " BAD_NAME},
    {"[forefetch]\n\n[forefetch]\n",
	"t:3: [forefetch]: duplicate section; the first is at line 1"},
    {"#\n[server a]\n[server b]\n[server a]\n",
	"t:4: [server a]: duplicate section; the first is at line 2"},
    {"[export a:/x]\n[export a:/x/]\n",
	"t:2: [export a:/x/]: duplicate section; the first is at line 1"},
    {"[export nas]\n", "t:1: [export nas]: want [export SERVER:/PATH]"},
    {"[export :/x]\n", "t:1: [export :/x]: want [export SERVER:/PATH]"},
    {"[export n@s:/x]\n", "t:1: [export n@s:/x]: no server can have that name"},
    {"[export nas:x]\n", "t:1: [export nas:x]: 'x': not an absolute path"},
    {"[export nas:/a/../b]\n", "t:1: [export nas:/a/../b]: '/a/../b': a path "
			       "must not have '//', '.' or '..' in it"},

    /* Lines. */
    {"[forefetch]\nsecure\n", "t:2: [forefetch]: want KEY = VALUE"},
    {"[forefetch]\nsecure: yes\n", "t:2: [forefetch]: want KEY = VALUE"},
    {NAS "allow 127.0.0.1 = yes\n", "t:4: [server nas]: want KEY = VALUE"},
    {"[forefetch]\n= yes\n", "t:2: [forefetch]: want KEY = VALUE"},
    {"[forefetch]\na\001b = yes\n",
	"t:2: [forefetch]: a control character (byte 0x01)"},
    {"[forefetch]\rcache_size = 1\n", "t:1: a control character (byte 0x0d)"},
    {"[export nas:/x]\nlisten = 127.0.0.1:1\n",
	"t:2: [export nas:/x] listen: unknown key; it belongs in [server "
	"NAME]"},
    {"[forefetch]\nk\xff = 1\n", "t:2: [forefetch] k\\xff: unknown key"},
    {NAS "secure = yes\nsecure = yes\n",
	"t:5: [server nas] secure: duplicate key"},
    {NAS "prefetch_rate = 50%\nprefetch_cap = 50%\n",
	"t:5: [server nas] prefetch_cap: duplicate key; 'prefetch_cap' is the "
	"former name of 'prefetch_rate'"},
    {NAS "prefetch_cap = 50%\nprefetch_rate = 50%\n",
	"t:5: [server nas] prefetch_rate: duplicate key; 'prefetch_cap' is the "
	"former name of 'prefetch_rate'"},
    {NAS "secure =\n", "t:4: [server nas] secure: no value"},
    {NAS "[server b]\nlisten = [::1]:1 127.0.0.1:2050\n",
	"t:5: [server b] listen: 127.0.0.1:2050 is taken by [server nas]"},
    {NAS "[server b]\nlisten = 0.0.0.0:2050\n",
	"t:5: [server b] listen: 0.0.0.0:2050 is taken by [server nas]"},
    {"[server b]\nlisten = [::]:1 [::1]:1\n",
	"t:2: [server b] listen: [::1]:1 overlaps with another address here"},
    {NAS "[forefetch]\nmetrics_listen = 127.0.0.1:2050\n",
	"t:5: [forefetch] metrics_listen: 127.0.0.1:2050 is taken by [server "
	"nas]"},
    {"[forefetch]\nmetrics_listen = 127.0.0.1:2050\n" NAS,
	"t:5: [server nas] listen: 127.0.0.1:2050 is taken by metrics_listen"},
};

/* A line of a section, and the message behind the name of its key. */
static const struct refusal in_nas[] = {
    /* Keys. */
    {"atr_timeout = 3s", "unknown key; did you mean 'attr_timeout'?"},
    {"prefetch_block_szie = 16K",
	"unknown key; did you mean 'prefetch_block_size'?"},
    {"cache_dir = /x", "unknown key; it belongs in [forefetch]"},
    {"port = 2049", "unknown key; did you mean 'nfs_port'?"},
    {"IP = 10.0.0.1", "unknown key; did you mean 'address'?"},
    {"allowed = 10.0.0.1", "unknown key; did you mean 'allow'?"},
    {"metrics = off",
	"unknown key; did you mean 'metrics_listen' in [forefetch]?"},
    {"secure = # yes", "no value"},

    /* Numbers. */
    {"connections = 0", "'0' is out of range; want 1 to 16"},
    {"connections = 17", "'17' is out of range; want 1 to 16"},
    {"connections = 2x", "'2x' is not a number"},
    {"connections = 2 4", "'2\\x204' is not a number"},
    {"connections = -1", "'-1' is not a number"},
    {"connections = 18446744073709551617",
	"'18446744073709551617' is out of range; want 1 to 16"},
    {"nfs_port = 65536", "'65536' is out of range; want 0 to 65535"},
    {"prefetch_block_size = 5000", "must be a multiple of 4K"},
    {"prefetch_block_size = 2M", "'2M' is out of range; want 4K to 1M"},
    {"attr_timeout = 3", "'3'" IS_NO_TIME},
    {"attr_timeout = 3s 3s", "'3s\\x203s'" IS_NO_TIME},
    {"attr_timeout = 2h", "'2h' is out of range; want 0us to 1h"},
    {"attr_timeout = 99999999999999999d",
	"'99999999999999999d' is out of range; want 0us to 1h"},
    {"prefetch_rate = 80", "'80'" IS_NO_RATE},
    {"prefetch_rate = 101%", "'101%' is out of range; want 1% to 100%"},
    {"prefetch_rate = 1%%", "'1%%'" IS_NO_RATE},
    {"prefetch_rate = 10bit", "'10bit' is out of range; want 1kbit to 100gbit"},
    {"prefetch_rate = off", "off could mean two things; write 100% for no "
			    "limit, or prefetch = off to fetch nothing ahead"},

    /* Words. */
    {"consistency = loose", "'loose' is not one of strict, bounded or frozen"},
    {"secure = 1", "'1' is not one of yes or no"},
    {"link = auto wired",
	"'auto\\x20wired' is not one of auto, wired or wireless"},
    {"exports = /home src", "'src': not an absolute path"},
    {"exports = /home /home/", "'/home/': named twice"},
    {"allow = 10.0.0.0/33", "'10.0.0.0/33': the prefix must be 0 to 32 bits"},
    {"allow = fd00::/129", "'fd00::/129': the prefix must be 0 to 128 bits"},
    {"allow = 10.0.0.1/8",
	"'10.0.0.1/8': the address has bits set beyond the prefix"},
    {"allow = 127.0.0.0/8 nas.example.org",
	"'nas.example.org': want an address or ADDRESS/BITS, numeric"},
};

static const struct refusal in_forefetch[] = {
    {"colour = blue", "unknown key"},
    {"reorder_rate = on", "'on'" IS_NO_OFF},
    {"reorder_rate = 20M", "'20M'" IS_NO_OFF},
    {"compact_rate = on",
	"'on' is not off, or bytes a second such as 500K or 8M"},
    {"compact_rate = 0", "'0' is out of range; want 64K to 1T"},
    {"cache_size = 10GX", "'10GX'" IS_NO_SIZE},
    {"cache_size = 1,5G", "'1,5G'" IS_NO_SIZE},
    {"cache_size = 1G 5M", "'1G\\x205M'" IS_NO_SIZE},
    {"cache_size = 1.1234567G", "'1.1234567G'" IS_NO_SIZE},
    {"cache_size = 1.5", "'1.5'" IS_NO_SIZE},
    {"cache_size = 20000000T", "'20000000T' is out of range; want 1M to 1024T"},
    {"memory_size = 1M", "'1M' is out of range; want 16M to 1T"},
    {"log_level = notice", "'notice' is not one of error, warn, info or debug"},

    /* Paths and names. */
    {"cache_dir = cache", "'cache': not an absolute path"},
    {"cache_dir = /", "the root directory is not allowed here"},
    {"cache_dir = ///", "the root directory is not allowed here"},
    {"control_socket = /run/../x",
	"'/run/../x': a path must not have '//', '.' or '..' in it"},
    {"cache_dir = /a /", "the path must not end in a blank"},
    {"metrics_listen = 127.0.0.1:1 127.0.0.1:2",
	"want one ADDRESS:PORT, on or off"},
};

static const struct refusal in_a[] = {
    {"address = nas:2049", "'nas:2049': not a host name or a numeric address; "
			   "ports go into nfs_port and mount_port"},

    /* Addresses and networks. */
    {"listen = 2050", "'2050': want ADDRESS:PORT or [IPV6 ADDRESS]:PORT"},
    {"listen = localhost:2050 [::1]:2050",
	"[::1]:2050 overlaps with another address here"},
    {"listen = localhost:0", "'127.0.0.1:0'" BAD_PORT},
    {"listen = nas.example.org:2050", "'nas.example.org:2050'" BAD_LISTEN},
    {"address = 999.1.1.1", "'999.1.1.1'" BAD_IPV4},
    {"address = 10.1", "'10.1'" BAD_IPV4},
    {"listen = ::1:2050", "'::1:2050'" BAD_LISTEN},
    {"listen = 127.0.0.1:0", "'127.0.0.1:0'" BAD_PORT},
    {"listen = 127.0.0.1:65536", "'127.0.0.1:65536'" BAD_PORT},
    {"listen = 127.0.0.1:2050x", "'127.0.0.1:2050x'" BAD_PORT},
    {"listen = [::ffff:1.2.3.4]:1",
	"'[::ffff:1.2.3.4]:1': write an IPv4 address as A.B.C.D:PORT"},
};

static void refused(
    const char *section, const char *at, const struct refusal *r, size_t n)
{
	for (; n > 0; r++, n--) {
		char text[512], want[CONFIG_ERR_MAX];

		snprintf(text, sizeof(text), "%s%s\n", section, r->text);
		snprintf(want, sizeof(want), "%s %.*s: %s", at,
		    (int)strcspn(r->text, " "), r->text, r->err);
		must_fail(text, want);
	}
}

TEST(test_bad)
{
	for (size_t i = 0; i < LENGTH(bad); i++)
		must_fail(bad[i].text, bad[i].err);
}

TEST(test_bad_lines)
{
	refused(NAS, "t:4: [server nas]", in_nas, LENGTH(in_nas));
	refused("[forefetch]\n", "t:2: [forefetch]", in_forefetch,
	    LENGTH(in_forefetch));
	refused("[server a]\n", "t:2: [server a]", in_a, LENGTH(in_a));
}

/* A name is never cut. */
TEST(test_long_section)
{
	char text[4096], path[1200];
	char err[CONFIG_ERR_MAX];
	struct config *cfg;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[1000] = '\0';
	snprintf(text, sizeof(text), NAS "[export nas:%s]\n", path);
	cfg = must_load(text);
	assert_string_equal(cfg->servers[0].overrides[0].path, path);

	path[1000] = 'x';
	path[1100] = '\0';
	snprintf(text, sizeof(text), NAS "[export nas:%s]\n", path);
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_non_null(strstr(err, "]: the path is too long"));
}

static struct config *load(const char *path, char *err, size_t errlen)
{
	const struct config_source source = {.file = path};

	return config_load(&source, err, errlen);
}

TEST(test_files)
{
	char path[] = "/tmp/test_config.XXXXXX", err[CONFIG_ERR_MAX];
	char want[CONFIG_ERR_MAX];
	static const char nul[] = NAS "secure = \0yes\n";
	int fd = mkstemp(path);
	struct config *cfg;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, NAS, strlen(NAS)), strlen(NAS));
	cfg = load(path, err, sizeof(err));
	assert_non_null(cfg);
	config_free(cfg);

	/* A NUL byte does not end the file early. */
	assert_int_equal(pwrite(fd, nul, sizeof(nul) - 1, 0), sizeof(nul) - 1);
	close(fd);
	assert_null(load(path, err, sizeof(err)));
	snprintf(want, sizeof(want),
	    "%s:4: [server nas]: a control character (byte 0x00)", path);
	assert_string_equal(err, want);

	assert_int_equal(truncate(path, (1 << 20) + 1), 0);
	assert_null(load(path, err, sizeof(err)));
	assert_non_null(strstr(err, ": larger than 1048576 bytes"));
	unlink(path);

	assert_null(load("/nonexistent/f", err, sizeof(err)));
	assert_string_equal(
	    err, "/nonexistent/f: cannot be read: No such file or directory");
	assert_null(load("/", err, sizeof(err)));
	assert_string_equal(err, "/: cannot be read: Is a directory");
	assert_null(load("/", err, 10)); /* cut, not overrun */
	assert_int_equal(strlen(err), 9);
}

TEST(test_many)
{
	char text[16384], err[CONFIG_ERR_MAX];
	size_t n = 0;

	for (int i = 0; i <= 64; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "[server s%d]\naddress = a\nlisten = 127.0.0.1:%d\n", i,
		    i + 1);
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_string_equal(err, "t:193: [server s64]: more than 64 servers");
	config_free(NULL);
}
