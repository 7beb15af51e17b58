/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configurations that are right: every key, every form of value, reloads. */
#include "config/config_fixture.h"
#include "config/config_key.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* Where the presets are: the top of the sources. */
#ifndef FF_SOURCE_DIR
#define FF_SOURCE_DIR "."
#endif

/* Lines 1 to 3 of most texts here. */
#define NAS                                                                    \
	"[server nas]\n"                                                       \
	"address = nas\n"                                                      \
	"listen = 127.0.0.1:2050\n"

#define OTHER "[server b]\naddress = b\nlisten = 127.0.0.1:1\n"

/* The sample of the design, comments included. */
static const char sample[] =
    "[forefetch]\n"
    "cache_dir = /var/cache/forefetch\n"
    "cache_size = 10G\n"
    "memory_size = 256M             # metadata caches and predictor together\n"
    "control_socket = /run/forefetch/control.sock\n"
    "metrics_listen = off           # or ADDRESS:PORT, for Prometheus\n"
    "log_level = info\n"
    "\n"
    "[server nas]                   # one section a server\n"
    "address = nas.example.org\n"
    "#nfs_port, mount_port          # default: asked of the server's rpcbind\n"
    "#exports = /home /src          # paths that may be mounted through it\n"
    "listen = 127.0.0.1:2050        # NFSv3 and MOUNTv3 of this server\n"
    "allow = 127.0.0.0/8            # networks that may connect\n"
    "secure = yes                   # clients must come from a low port\n"
    "connections = 2\n"
    "consistency = bounded\n"
    "attr_timeout = 3s\n"
    "negative_timeout = 3s\n"
    "prefetch = on                  # off | metadata | first-block | on\n"
    "prefetch_block_count = 1       # first-block mode: how many blocks\n"
    "prefetch_block_size = 16K      # the Linux client's first READ\n"
    "prefetch_rate = 80%            # of the estimated rate; or 500kbit\n"
    "link = auto                    # wired | wireless are presets\n"
    "offline = wait                 # or serve\n"
    "grant_timeout = 1h             # how long a right to read holds\n"
    "\n"
    "[export nas:/src]              # optional overrides\n"
    "consistency = frozen\n";

static void check_policy(const struct config_policy *policy)
{
	assert_int_equal(policy->attr_timeout_us, 3000000);
	assert_int_equal(policy->negative_timeout_us, 3000000);
	assert_int_equal(policy->grant_timeout_us, UINT64_C(3600000000));
	assert_int_equal(policy->prefetch, CONFIG_PREFETCH_ON);
	assert_int_equal(policy->prefetch_block_count, 1);
	assert_int_equal(policy->prefetch_block_size, 16384);
}

static void check_sample(const struct config *cfg)
{
	const struct config_server *srv = &cfg->servers[0];
	const struct sockaddr_in *in4;

	assert_string_equal(cfg->cache_dir, "/var/cache/forefetch");
	assert_int_equal(cfg->cache_size, UINT64_C(10) << 30);
	assert_int_equal(cfg->reorder_rate, 64000000);
	assert_int_equal(cfg->memory_size, 256 << 20);
	assert_string_equal(cfg->control, "/run/forefetch/control.sock");
	assert_int_equal(cfg->metrics.n, 0);
	assert_int_equal(cfg->log_level, LOG_LEVEL_INFO);
	assert_int_equal(cfg->nservers, 1);
	assert_string_equal(srv->name, "nas");
	assert_int_equal(srv->nfs_port, 0);
	assert_int_equal(srv->mount_port, 0);
	assert_int_equal(srv->exports.n, 0);
	assert_int_equal(srv->listen.n, 1);
	in4 = (const struct sockaddr_in *)&srv->listen.list[0].addr;
	assert_int_equal(srv->listen.list[0].len, sizeof(*in4));
	assert_int_equal(in4->sin_family, AF_INET);
	assert_int_equal(ntohs(in4->sin_port), 2050);
	assert_int_equal(ntohl(in4->sin_addr.s_addr), INADDR_LOOPBACK);
	assert_true(srv->secure);
	assert_false(srv->rpcbind);
	assert_int_equal(srv->connections, 2);
	assert_int_equal(srv->prefetch_rate.percent, 80);
	assert_int_equal(srv->prefetch_rate.bits_per_second, 0);
	assert_int_equal(srv->link, CONFIG_LINK_AUTO);
	assert_int_equal(srv->offline, CONFIG_OFFLINE_WAIT);
	assert_int_equal(srv->policy.consistency, CONFIG_CONSISTENCY_BOUNDED);
	check_policy(&srv->policy);
}

TEST(test_sample)
{
	struct config *cfg = must_load(sample);
	const struct config_server *srv = &cfg->servers[0];

	check_sample(cfg);
	assert_string_equal(srv->address, "nas.example.org");
	assert_int_equal(srv->allow.n, 1);
	assert_int_equal(srv->noverrides, 1);
	assert_string_equal(srv->overrides[0].path, "/src");
	assert_string_equal(srv->overrides[0].server, "nas");
	assert_int_equal(
	    srv->overrides[0].policy.consistency, CONFIG_CONSISTENCY_FROZEN);
	check_policy(&srv->overrides[0].policy);
}

/* The defaults are what the sample shows. */
TEST(test_defaults)
{
	struct config *cfg = must_load(NAS);

	check_sample(cfg);
	assert_int_equal(cfg->servers[0].allow.n, 2);
	assert_int_equal(cfg->servers[0].noverrides, 0);
}

/* Sections in any order; an override keeps what it says, whatever it is. */
TEST(test_inherit)
{
	struct config *cfg =
	    must_load("[export nas:/a b/]\n"
		      "attr_timeout = 3s\n"
		      "[export other:/x]\n"
		      "prefetch = off\n"
		      "[export nas:/]\n" NAS "attr_timeout = 500ms\n"
		      "prefetch_block_count = 7\n"
		      "[server other]\n"
		      "listen = [::1]:2050 127.0.0.2:2050\n"
		      "address = fe80::1%eth0\n"
		      "exports = /a/ /b ; /c\n"
		      "[forefetch]\n"
		      "reorder_rate = Off\n"
		      "metrics_listen = [::1]:9150\n");
	const struct config_server *nas = config_server_find(cfg, "nas");
	const struct config_server *other = config_server_find(cfg, "other");

	assert_int_equal(cfg->reorder_rate, 0);
	assert_int_equal(nas->policy.attr_timeout_us, 500000);
	assert_int_equal(nas->noverrides, 2);
	assert_string_equal(nas->overrides[0].path, "/a b");
	assert_int_equal(nas->overrides[0].policy.attr_timeout_us, 3000000);
	assert_int_equal(nas->overrides[0].policy.prefetch_block_count, 7);
	assert_string_equal(nas->overrides[1].path, "/");
	assert_int_equal(nas->overrides[1].policy.attr_timeout_us, 500000);
	assert_int_equal(other->noverrides, 1);
	assert_int_equal(
	    other->overrides[0].policy.prefetch, CONFIG_PREFETCH_OFF);
	assert_int_equal(other->listen.n, 2);
	assert_int_equal(other->listen.list[0].addr.ss_family, AF_INET6);
	assert_int_equal(other->exports.n, 2);
	assert_string_equal(other->exports.list[0], "/a");
	assert_int_equal(cfg->metrics.n, 1);
	assert_null(config_server_find(cfg, "na"));
}

/* Every form of a value, by what it prints as. */
static const struct {
	const char *line;
	const char *printed;
} values[] = {
    {"prefetch_block_size=65536", "prefetch_block_size = 64K"},
    {"prefetch_block_size = 1m", "prefetch_block_size = 1M"},
    {"prefetch_block_size = 12K", "prefetch_block_size = 12K"},
    {"attr_timeout = 0", "attr_timeout = 0s"},
    {"attr_timeout = 0ms", "attr_timeout = 0s"},
    {"attr_timeout = 1500ms", "attr_timeout = 1500ms"},
    {"attr_timeout = 1us", "attr_timeout = 1us"},
    {"attr_timeout = 60m", "attr_timeout = 1h"},
    {"grant_timeout = 2d", "grant_timeout = 2d"},
    {"grant_timeout = 120s", "grant_timeout = 2m"},
    {"prefetch_rate = 1%", "prefetch_rate = 1%"},
    {"prefetch_rate = 100%", "prefetch_rate = 100%"},
    {"prefetch_rate = 500kbit", "prefetch_rate = 500kbit"},
    {"prefetch_rate = 20000kbit", "prefetch_rate = 20mbit"},
    {"prefetch_rate = 1234bit", "prefetch_rate = 1234bit"},
    {"prefetch_rate = 100Gbit", "prefetch_rate = 100gbit"},
    {"prefetch_rate = 2.5 Mbit/s", "prefetch_rate = 2500kbit"},
    {"prefetch_rate = 20 Mb/s", "prefetch_rate = 20mbit"},
    {"prefetch_rate = 20Mbps", "prefetch_rate = 20mbit"},
    {"prefetch_rate = 8MB/s", "prefetch_rate = 64mbit"},
    {"prefetch_rate = 800kbit", "prefetch_rate = 800kbit"},
    {"prefetch_rate = 1 KiB/s", "prefetch_rate = 8192bit"},
    {"prefetch_rate = 2 megabytes/s", NULL},
    {"prefetch_rate = 80 %", "prefetch_rate = 80%"},
    {"session_size = 5GiB", "session_size = 5G"},
    {"session_size = 5 GB", "session_size = 5000000000"},
    {"session_size = 1.5G", "session_size = 1536M"},
    {"session_size = 0.1K", "session_size = 102"},
    {"session_size = 10 bytes", "session_size = 10"},
    {"session_size = 64 k", "session_size = 64K"},
    {"attr_timeout = 2.5s", "attr_timeout = 2500ms"},
    {"attr_timeout = 500 ms", "attr_timeout = 500ms"},
    {"attr_timeout = 2 min 3 sec", "attr_timeout = 123s"},
    {"grant_timeout = 1h30m", "grant_timeout = 90m"},
    {"grant_timeout = 2 days", "grant_timeout = 2d"},
    {"listen = localhost:2050", "listen = 127.0.0.1:2050 [::1]:2050"},
    {"address = 192.0.2.7", "address = 192.0.2.7"},
    {"address = 7.example.org", "address = 7.example.org"},
    {"prefetch = yes", "prefetch = on"},
    {"prefetch = False", "prefetch = off"},
    {"secure = on", "secure = yes"},
    {"prefetch_cap = 50%", "prefetch_rate = 50%"},
    {"prefetch_blocks = 3", "prefetch_block_count = 3"},
    {"prefetch_block = 8K", "prefetch_block_size = 8K"},
    {"rpcbind = yes", "rpcbind = yes"},
    {"rpcbind = Off", "rpcbind = no"},
    {"secure = false", "secure = no"},
    {"link = WIRED", "link = wired"},
    {"  connections\t=\t16\t# most", "connections = 16"},
    {"consistency = frozen;x", NULL},
    {"nfs_port = 2049\r", "nfs_port = 2049"},
    {"allow = ::ffff:10.0.0.0/104", "allow = 10.0.0.0/8"},
    {"allow = 10.1.2.3 fd00::/8", "allow = 10.1.2.3/32 fd00::/8"},
    {"allow = 0.0.0.0/0 ::/0", "allow = 0.0.0.0/0 ::/0"},
    {"exports = /a#b /c;d//", "exports = /a#b /c;d"},
    {"prefetch = first-block", "prefetch = first-block"},
    {"offline = serve", "offline = serve"},
};

TEST(test_values)
{
	char text[512], want[256], err[CONFIG_ERR_MAX];

	for (size_t i = 0; i < LENGTH(values); i++) {
		struct config *cfg;
		char *printed;

		snprintf(text, sizeof(text), "[server nas]\n%s%s%s\n",
		    strncmp(values[i].line, "address", 7) ? "address = nas\n"
							  : "",
		    strncmp(values[i].line, "listen", 6)
			? "listen = 127.0.0.1:2050\n"
			: "",
		    values[i].line);
		cfg = config_parse_string(text, "t", err, sizeof(err));
		if (!values[i].printed) {
			assert_null(cfg);
			continue;
		}
		if (!cfg)
			fail_msg("%s", err);
		printed = print(cfg);
		snprintf(want, sizeof(want), "\n%s\n", values[i].printed);
		if (!strstr(printed, want))
			fail_msg("no '%s' in %s", values[i].printed, printed);
		config_free(cfg);
	}
}

/* In bytes a second, as before. */
TEST(test_former_rate)
{
	struct config *cfg = must_load("[forefetch]\ncompact_rate = 1M\n" NAS);

	assert_int_equal(cfg->reorder_rate, UINT64_C(8) << 20);
}

/* A rate from a file of a former version can be printed and read again. */
TEST(test_former_rate_is_printed)
{
	struct config *cfg = must_load("[forefetch]\ncompact_rate = 1T\n" NAS);
	char *printed = print(cfg);
	struct config *again = must_load(printed);

	assert_int_equal(again->reorder_rate, UINT64_C(8) << 40);
}

/* As many networks as somebody may list, over many lines. */
TEST(test_many_networks)
{
	FREED char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct config *cfg;

	fputs(NAS "allow = 127.0.0.0/8", out);
	for (unsigned i = 0; i < 2000; i++)
		fprintf(out, " \\\n\t10.%u.%u.0/24", i / 256, i % 256);
	fputc('\n', out);
	assert_int_equal(fclose(out), 0);
	cfg = must_load(text);
	assert_int_equal(cfg->servers[0].allow.n, 2001);
}

/* A byte order mark, lines that end as on another system. */
TEST(test_foreign)
{
	struct config *cfg = must_load("\xef\xbb\xbf[server nas]\r\n"
				       "address = nas\r\n\r\n"
				       "listen = 127.0.0.1:1");

	assert_string_equal(cfg->servers[0].address, "nas");
	assert_int_equal(cfg->servers[0].line, 1);
}

TEST(test_print_loads)
{
	struct config *cfg = must_load(sample);
	char *first = print(cfg), *second;
	struct config *again = must_load(first);

	second = print(again);
	assert_string_equal(first, second);
	assert_int_equal(config_diff(cfg, again, NULL, NULL), 0);
}

TEST(test_presets)
{
	static const char *const names[] = {
	    "wired", "wireless", "home", "build-farm"};
	char path[512], err[CONFIG_ERR_MAX];

	for (size_t i = 0; i < LENGTH(names); i++) {
		const struct config_source source = {.file = path};
		struct config *cfg;

		snprintf(path, sizeof(path), "%s/configs/%s.conf",
		    FF_SOURCE_DIR, names[i]);
		cfg = config_load(&source, err, sizeof(err));
		if (!cfg)
			fail_msg("%s", err);
		config_free(cfg);
	}
}

/* The manual has a paragraph for every key of the table. */
TEST(test_manual)
{
	static const char path[] = FF_SOURCE_DIR "/docs/forefetch.conf.5";
	FILE *in = fopen(path, "re");
	static char text[65536];
	char item[64];

	assert_non_null(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
	fclose(in);
	for (size_t k = 0; k < config_nkeys; k++) {
		snprintf(item, sizeof(item),
		    "\n.It Cm %s No = ", config_keys[k].name);
		if (!strstr(text, item))
			fail_msg("%s: no paragraph for %s", path,
			    config_keys[k].name);
	}
}

static bool allows(const struct config_server *srv, const char *peer)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, peer, &in4.sin_addr) == 1)
		return config_server_allows(srv, (struct sockaddr *)&in4);
	assert_int_equal(inet_pton(AF_INET6, peer, &in6.sin6_addr), 1);
	return config_server_allows(srv, (struct sockaddr *)&in6);
}

TEST(test_allow)
{
	struct config *cfg =
	    must_load(NAS "allow = 127.0.0.0/8 10.1.2.0/23 192.0.2.7 fd00::/9 "
			  "2001:db8::1 ::ffff:172.16.0.0/108\n");
	const struct config_server *srv = &cfg->servers[0];
	struct sockaddr unix_peer = {.sa_family = AF_UNIX};

	assert_true(allows(srv, "127.0.0.1"));
	assert_true(allows(srv, "127.255.255.255"));
	assert_true(allows(srv, "::ffff:127.0.0.1"));
	assert_false(allows(srv, "128.0.0.1"));
	assert_true(allows(srv, "10.1.3.255"));
	assert_false(allows(srv, "10.1.4.0"));
	assert_true(allows(srv, "192.0.2.7"));
	assert_false(allows(srv, "192.0.2.6"));
	assert_true(allows(srv, "fd7f::1"));
	assert_false(allows(srv, "fd80::1"));
	assert_true(allows(srv, "2001:db8::1"));
	assert_false(allows(srv, "2001:db8::2"));
	assert_false(allows(srv, "::1"));
	assert_true(allows(srv, "172.31.0.1"));
	assert_true(allows(srv, "::ffff:172.31.0.1"));
	assert_false(allows(srv, "172.32.0.1"));
	assert_false(config_server_allows(srv, &unix_peer));

	/* All of IPv6 is not all of IPv4. */
	cfg = must_load(NAS "allow = ::/0\n");
	assert_true(allows(&cfg->servers[0], "2001:db8::1"));
	assert_false(allows(&cfg->servers[0], "127.0.0.1"));
	assert_false(allows(&cfg->servers[0], "::ffff:127.0.0.1"));
}

/* Each text stands beside its differences from NAS: "-nas +b" are servers that
 * went and came, "nas.secure" is a key of one, and "!" marks a key that a
 * reload cannot change. */
static const struct {
	const char *text;
	const char *diff;
} changes[] = {
    {NAS, ""},
    {NAS "secure = no\nallow = 10.0.0.0/8\nexports = /a\n",
	" nas.exports nas.allow nas.secure"},
    {NAS "consistency = strict\nprefetch = off\nlink = wired\n",
	" nas.link nas.consistency nas.prefetch"},
    {NAS "[export nas:/x]\nattr_timeout = 1s\n", " nas.export"},
    {"[forefetch]\nlog_level = debug\n" NAS, " .log_level"},
    {"[forefetch]\ncache_size = 1G\nmemory_size = 1G\n" NAS,
	" .cache_size .memory_size"},
    {"[forefetch]\ncache_dir = /x\n" NAS, " .cache_dir!"},
    {"[forefetch]\ncontrol_socket = /x\n" NAS, " .control_socket!"},
    {"[forefetch]\nmetrics_listen = 127.0.0.1:1\n" NAS, " .metrics_listen!"},
    {NAS "connections = 3\n", " nas.connections!"},
    {NAS "nfs_port = 2049\n", " nas.nfs_port!"},
    {NAS "rpcbind = yes\n", " nas.rpcbind!"},
    {"[server nas]\naddress = b\nlisten = 127.0.0.1:2050\n", " nas.address!"},
    {"[server nas]\naddress = nas\nlisten = 127.0.0.1:2051\n", " nas.listen!"},
    {"[server b]\naddress = nas\nlisten = 127.0.0.1:2050\n", " -nas +b"},
    {NAS OTHER, " +b"},
    {"", " -nas"},
};

static void note_change(void *ctx, const struct config_change *change)
{
	char *text = ctx;

	sprintf(text + strlen(text), " %s%s%s%s%s",
	    change->kind == CONFIG_ADDED     ? "+"
	    : change->kind == CONFIG_REMOVED ? "-"
					     : "",
	    change->server ? change->server : "", change->setting ? "." : "",
	    change->setting ? change->setting : "", change->fixed ? "!" : "");
}

TEST(test_diff)
{
	struct config *old = must_load(NAS);

	for (size_t i = 0; i < LENGTH(changes); i++) {
		struct config *cfg = must_load(changes[i].text);
		char text[256] = "";

		config_diff(old, cfg, note_change, text);
		assert_string_equal(text, changes[i].diff);
	}
}

/* A key of the server that its exports inherit counts as a change of the server
 * only. */
TEST(test_diff_exports)
{
	static const char export[] = NAS "[export nas:/x]\nprefetch = off\n"
					 "[export nas:/y]\nprefetch = on\n";
	struct config *old = must_load(export), *cfg;
	char text[256] = "";

	cfg = must_load(NAS "attr_timeout = 9s\n"
			    "[export nas:/y]\nprefetch = on\n"
			    "[export nas:/x]\nprefetch = off\n");
	config_diff(old, cfg, note_change, text);
	assert_string_equal(text, " nas.attr_timeout");
	cfg = must_load(NAS "[export nas:/x]\nprefetch = on\n"
			    "[export nas:/y]\nprefetch = on\n");
	text[0] = '\0';
	config_diff(old, cfg, note_change, text);
	assert_string_equal(text, " nas.export");
}

/* The order of the servers in the file is of no account. */
TEST(test_diff_order)
{
	struct config *old = must_load(NAS OTHER);
	struct config *cfg = must_load(OTHER NAS);

	assert_int_equal(config_diff(old, cfg, NULL, NULL), 0);
}
