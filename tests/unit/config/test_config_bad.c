/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a configuration is refused for, and in which words. */
#include "config/config_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines 1 to 3 of most texts here. */
#define NAS                                                                    \
	"[server nas]\n"                                                       \
	"address = nas\n"                                                      \
	"listen = 127.0.0.1:2050\n"

/* Text, and the whole message. */
static const struct {
	const char *text;
	const char *err;
} bad[] = {
    /* The file as a whole. */
    {"[server nas]\nlisten = 127.0.0.1:1\n",
	"t:1: [server nas] address: the key is missing; it has no default"},
    {NAS "\n[server b]\naddress = b\n",
	"t:5: [server b] listen: the key is missing; it has no default"},
    {NAS "[export b:/x]\n",
	"t:4: [export b:/x]: there is no section [server b]"},

    /* Sections. */
    {"secure = yes\n", "t:1: secure: stands before the first [section]"},
    {"[sever nas]\n",
	"t:1: [sever nas]: unknown section; want [forefetch], [farm], [server "
	"NAME] or [export SERVER:/PATH]"},
    {"[forefetch nas]\n",
	"t:1: [forefetch nas]: unknown section; want [forefetch], "
	"[farm], [server NAME] or [export SERVER:/PATH]"},
    {"[]\n",
	"t:1: []: unknown section; want [forefetch], [farm], [server NAME] or "
	"[export SERVER:/PATH]"},
    {"[server nas\n", "t:1: the section has no closing ']'"},
    {"[server]\n",
	"t:1: [server]: want [server NAME], the name of 1 to 64 letters, "
	"digits, '-', '.' or '_', and no '.' first"},
    {"[server a b]\n",
	"t:1: [server a\\x20b]: want [server NAME], the name of 1 to 64 "
	"letters, digits, '-', '.' or '_', and no '.' first"},
    {"[server ..]\n",
	"t:1: [server ..]: want [server NAME], the name of 1 to 64 "
	"letters, digits, '-', '.' or '_', and no '.' first"},
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
    {"[export nas:/a/../b]\n",
	"t:1: [export nas:/a/../b]: '/a/../b': a path must not have '//', "
	"'.' or '..' in it"},

    /* Lines. */
    {"[forefetch]\nsecure\n", "t:2: [forefetch]: want KEY = VALUE"},
    {"[forefetch]\nsecure: yes\n", "t:2: [forefetch]: want KEY = VALUE"},
    {NAS "allow 127.0.0.1 = yes\n", "t:4: [server nas]: want KEY = VALUE"},
    {"[forefetch]\n= yes\n", "t:2: [forefetch]: want KEY = VALUE"},
    {"[forefetch]\na\001b = yes\n",
	"t:2: [forefetch]: a control character (byte 0x01)"},
    {"[forefetch]\rcache_size = 1\n", "t:1: a control character (byte 0x0d)"},

    /* Keys. */
    {NAS "atr_timeout = 3s\n",
	"t:4: [server nas] atr_timeout: unknown key; did you mean "
	"'attr_timeout'?"},
    {NAS "prefetch_block_szie = 16K\n",
	"t:4: [server nas] prefetch_block_szie: unknown key; did you mean "
	"'prefetch_block_size'?"},
    {NAS "cache_dir = /x\n",
	"t:4: [server nas] cache_dir: unknown key; it belongs in "
	"[forefetch]"},
    {"[export nas:/x]\nlisten = 127.0.0.1:1\n",
	"t:2: [export nas:/x] listen: unknown key; it belongs in "
	"[server NAME]"},
    {"[forefetch]\ncolour = blue\n", "t:2: [forefetch] colour: unknown key"},
    {"[forefetch]\nk\xff = 1\n", "t:2: [forefetch] k\\xff: unknown key"},
    {NAS "secure = yes\nsecure = yes\n",
	"t:5: [server nas] secure: duplicate key"},
    {NAS "prefetch_rate = 50%\nprefetch_cap = 50%\n",
	"t:5: [server nas] prefetch_cap: duplicate key; 'prefetch_cap' is "
	"the former name of 'prefetch_rate'"},
    {NAS "prefetch_cap = 50%\nprefetch_rate = 50%\n",
	"t:5: [server nas] prefetch_rate: duplicate key; 'prefetch_cap' is "
	"the former name of 'prefetch_rate'"},
    {NAS "port = 2049\n",
	"t:4: [server nas] port: unknown key; did you mean 'nfs_port'?"},
    {NAS "IP = 10.0.0.1\n",
	"t:4: [server nas] IP: unknown key; did you mean 'address'?"},
    {NAS "allowed = 10.0.0.1\n",
	"t:4: [server nas] allowed: unknown key; did you mean 'allow'?"},
    {NAS "metrics = off\n",
	"t:4: [server nas] metrics: unknown key; did you mean "
	"'metrics_listen' in [forefetch]?"},
    {NAS "secure =\n", "t:4: [server nas] secure: no value"},
    {NAS "secure = # yes\n", "t:4: [server nas] secure: no value"},

    /* Numbers. */
    {NAS "connections = 0\n",
	"t:4: [server nas] connections: '0' is out of range; want 1 to 16"},
    {NAS "connections = 17\n",
	"t:4: [server nas] connections: '17' is out of range; want 1 to 16"},
    {NAS "connections = 2x\n",
	"t:4: [server nas] connections: '2x' is not a number"},
    {NAS "connections = 2 4\n",
	"t:4: [server nas] connections: '2\\x204' is not a number"},
    {NAS "connections = -1\n",
	"t:4: [server nas] connections: '-1' is not a number"},
    {NAS "connections = 18446744073709551617\n",
	"t:4: [server nas] connections: '18446744073709551617' is out of "
	"range; want 1 to 16"},
    {NAS "nfs_port = 65536\n",
	"t:4: [server nas] nfs_port: '65536' is out of range; want 0 to "
	"65535"},
    {"[forefetch]\nreorder_rate = on\n",
	"t:2: [forefetch] reorder_rate: 'on' is not off, or a rate such as "
	"500kbit, 64 Mbit/s or 8MB/s"},
    {"[forefetch]\nreorder_rate = 20M\n",
	"t:2: [forefetch] reorder_rate: '20M' is not off, or a rate such as "
	"500kbit, 64 Mbit/s or 8MB/s"},
    {"[forefetch]\ncompact_rate = on\n",
	"t:2: [forefetch] compact_rate: 'on' is not off, or bytes a second "
	"such as 500K or 8M"},
    {"[forefetch]\ncompact_rate = 0\n",
	"t:2: [forefetch] compact_rate: '0' is out of range; want 64K to 1T"},
    {"[forefetch]\ncache_size = 10GX\n",
	"t:2: [forefetch] cache_size: '10GX' is not a size such as 65536, "
	"16K, 1.5G or 10GiB"},
    {"[forefetch]\ncache_size = 1,5G\n",
	"t:2: [forefetch] cache_size: '1,5G' is not a size such as 65536, "
	"16K, 1.5G or 10GiB"},
    {"[forefetch]\ncache_size = 1G 5M\n",
	"t:2: [forefetch] cache_size: '1G\\x205M' is not a size such as "
	"65536, 16K, 1.5G or 10GiB"},
    {"[forefetch]\ncache_size = 1.1234567G\n",
	"t:2: [forefetch] cache_size: '1.1234567G' is not a size such as "
	"65536, 16K, 1.5G or 10GiB"},
    {"[forefetch]\ncache_size = 1.5\n",
	"t:2: [forefetch] cache_size: '1.5' is not a size such as 65536, "
	"16K, 1.5G or 10GiB"},
    {"[forefetch]\ncache_size = 20000000T\n",
	"t:2: [forefetch] cache_size: '20000000T' is out of range; want 1M "
	"to 1024T"},
    {"[forefetch]\nmemory_size = 1M\n",
	"t:2: [forefetch] memory_size: '1M' is out of range; want 16M to 1T"},
    {NAS "prefetch_block_size = 5000\n",
	"t:4: [server nas] prefetch_block_size: must be a multiple of 4K"},
    {NAS "prefetch_block_size = 2M\n", "t:4: [server nas] prefetch_block_size: "
				       "'2M' is out of range; want 4K to "
				       "1M"},
    {NAS "attr_timeout = 3\n",
	"t:4: [server nas] attr_timeout: '3' is not a time with its unit, "
	"such as 500ms, 3s, 2m or 1h30m"},
    {NAS "attr_timeout = 3s 3s\n",
	"t:4: [server nas] attr_timeout: '3s\\x203s' is not a time with its "
	"unit, such as 500ms, 3s, 2m or 1h30m"},
    {NAS "attr_timeout = 2h\n",
	"t:4: [server nas] attr_timeout: '2h' is out of range; want 0us to "
	"1h"},
    {NAS "attr_timeout = 99999999999999999d\n",
	"t:4: [server nas] attr_timeout: '99999999999999999d' is out of "
	"range; want 0us to 1h"},
    {NAS "prefetch_rate = 80\n",
	"t:4: [server nas] prefetch_rate: '80' is not a rate such as "
	"500kbit, 20 Mbit/s or 2.5MB/s, or a share such as 80%"},
    {NAS "prefetch_rate = 101%\n",
	"t:4: [server nas] prefetch_rate: '101%' is out of range; want 1% to "
	"100%"},
    {NAS "prefetch_rate = 1%%\n",
	"t:4: [server nas] prefetch_rate: '1%%' is not a rate such as "
	"500kbit, 20 Mbit/s or 2.5MB/s, or a share such as 80%"},
    {NAS "prefetch_rate = 10bit\n",
	"t:4: [server nas] prefetch_rate: '10bit' is out of range; want 1kbit "
	"to 100gbit"},

    {NAS "prefetch_rate = off\n",
	"t:4: [server nas] prefetch_rate: off could mean two things; write "
	"100% for no limit, or prefetch = off to fetch nothing ahead"},

    /* Words. */
    {NAS "consistency = loose\n", "t:4: [server nas] consistency: 'loose' is "
				  "not one of strict, bounded or frozen"},
    {NAS "secure = 1\n",
	"t:4: [server nas] secure: '1' is not one of yes or no"},
    {NAS "link = auto wired\n", "t:4: [server nas] link: 'auto\\x20wired' is "
				"not one of auto, wired or wireless"},
    {"[forefetch]\nlog_level = notice\n",
	"t:2: [forefetch] log_level: 'notice' is not one of error, warn, info "
	"or debug"},

    /* Paths and names. */
    {"[forefetch]\ncache_dir = cache\n",
	"t:2: [forefetch] cache_dir: 'cache': not an absolute path"},
    {"[forefetch]\ncache_dir = /\n",
	"t:2: [forefetch] cache_dir: the root directory is not allowed here"},
    {"[forefetch]\ncache_dir = ///\n",
	"t:2: [forefetch] cache_dir: the root directory is not allowed here"},
    {"[forefetch]\ncontrol_socket = /run/../x\n",
	"t:2: [forefetch] control_socket: '/run/../x': a path must not have "
	"'//', "
	"'.' or '..' in it"},
    {"[forefetch]\ncache_dir = /a /\n",
	"t:2: [forefetch] cache_dir: the path must not end in a blank"},
    {NAS "exports = /home src\n",
	"t:4: [server nas] exports: 'src': not an absolute path"},
    {NAS "exports = /home /home/\n",
	"t:4: [server nas] exports: '/home/': named twice"},
    {"[server a]\naddress = nas:2049\n",
	"t:2: [server a] address: 'nas:2049': not a host name or a numeric "
	"address; ports go into nfs_port and mount_port"},

    /* Addresses and networks. */
    {"[server a]\nlisten = 2050\n",
	"t:2: [server a] listen: '2050': want ADDRESS:PORT or "
	"[IPV6 ADDRESS]:PORT"},
    {"[server a]\nlisten = localhost:2050 [::1]:2050\n",
	"t:2: [server a] listen: [::1]:2050 overlaps with another address "
	"here"},
    {"[server a]\nlisten = localhost:0\n",
	"t:2: [server a] listen: '127.0.0.1:0': the port must be 1 to "
	"65535"},
    {"[server a]\nlisten = nas.example.org:2050\n",
	"t:2: [server a] listen: 'nas.example.org:2050': the address must "
	"be numeric, IPv6 in brackets, or localhost"},
    {"[server a]\naddress = 999.1.1.1\n",
	"t:2: [server a] address: '999.1.1.1': it looks like an IPv4 address, "
	"but is not a valid one"},
    {"[server a]\naddress = 10.1\n",
	"t:2: [server a] address: '10.1': it looks like an IPv4 address, but "
	"is not a valid one"},
    {"[server a]\nlisten = ::1:2050\n",
	"t:2: [server a] listen: '::1:2050': the address must be numeric, "
	"IPv6 in brackets, or localhost"},
    {"[server a]\nlisten = 127.0.0.1:0\n",
	"t:2: [server a] listen: '127.0.0.1:0': the port must be 1 to "
	"65535"},
    {"[server a]\nlisten = 127.0.0.1:65536\n",
	"t:2: [server a] listen: '127.0.0.1:65536': the port must be 1 to "
	"65535"},
    {"[server a]\nlisten = 127.0.0.1:2050x\n",
	"t:2: [server a] listen: '127.0.0.1:2050x': the port must be 1 to "
	"65535"},
    {"[server a]\nlisten = [::ffff:1.2.3.4]:1\n",
	"t:2: [server a] listen: '[::ffff:1.2.3.4]:1': write an IPv4 address "
	"as A.B.C.D:PORT"},
    {NAS "[server b]\nlisten = [::1]:1 127.0.0.1:2050\n",
	"t:5: [server b] listen: 127.0.0.1:2050 is taken by [server nas]"},
    {NAS "[server b]\nlisten = 0.0.0.0:2050\n",
	"t:5: [server b] listen: 0.0.0.0:2050 is taken by [server nas]"},
    {"[server b]\nlisten = [::]:1 [::1]:1\n",
	"t:2: [server b] listen: [::1]:1 overlaps with another address "
	"here"},
    {NAS "[forefetch]\nmetrics_listen = 127.0.0.1:2050\n",
	"t:5: [forefetch] metrics_listen: 127.0.0.1:2050 is taken by [server "
	"nas]"},
    {"[forefetch]\nmetrics_listen = 127.0.0.1:2050\n" NAS,
	"t:5: [server nas] listen: 127.0.0.1:2050 is taken by metrics_listen"},
    {"[forefetch]\nmetrics_listen = 127.0.0.1:1 127.0.0.1:2\n",
	"t:2: [forefetch] metrics_listen: want one ADDRESS:PORT, on or off"},
    {NAS "allow = 10.0.0.0/33\n",
	"t:4: [server nas] allow: '10.0.0.0/33': the prefix must be 0 to 32 "
	"bits"},
    {NAS "allow = fd00::/129\n",
	"t:4: [server nas] allow: 'fd00::/129': the prefix must be 0 to 128 "
	"bits"},
    {NAS "allow = 10.0.0.1/8\n",
	"t:4: [server nas] allow: '10.0.0.1/8': the address has bits set "
	"beyond the prefix"},
    {NAS "allow = 127.0.0.0/8 nas.example.org\n",
	"t:4: [server nas] allow: 'nas.example.org': want an address or "
	"ADDRESS/BITS, numeric"},
};

TEST(test_bad)
{
	char err[CONFIG_ERR_MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = '\0';
		assert_null(
		    config_parse_string(bad[i].text, "t", err, sizeof(err)));
		if (strcmp(err, bad[i].err) != 0)
			fail_msg("%s\nnow:  %s\nwant: %s", bad[i].text, err,
			    bad[i].err);
	}
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
