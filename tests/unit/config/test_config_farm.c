/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section of a farm: what its keys take, what they are refused for, and
 * that a reload leaves it as it is. */
#include "config/config_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

/* Lines 1 and 2 of most texts here. */
#define FARM "[farm]\nkey_file = /etc/forefetch.key\n"

TEST(test_none)
{
	struct config *cfg = must_load("[forefetch]\nlog_level = warn\n");
	char *printed = print(cfg);

	assert_null(cfg->farm.file);
	assert_int_equal(cfg->farm.engine.n, 0);
	assert_string_equal(cfg->farm.user, "");
	assert_string_equal(cfg->farm.password_file, "");
	assert_string_equal(cfg->farm.key_file, "");
	assert_null(strstr(printed, "[farm]"));
}

static void check_presets(const struct config_farm *farm)
{
	assert_string_equal(farm->user, "");
	assert_string_equal(farm->password_file, "");
	assert_int_equal(farm->share,
	    CONFIG_SHARE_DATA | CONFIG_SHARE_LISTINGS | CONFIG_SHARE_TREES);
	assert_int_equal(farm->publish_cap, 50000000);
}

/* A section may stand there, and say nothing. */
TEST(test_presets)
{
	struct config *cfg = must_load("\n[farm]\n");

	assert_string_equal(cfg->farm.file, "t");
	assert_int_equal(cfg->farm.line, 2);
	assert_int_equal(cfg->farm.engine.n, 0);
	check_presets(&cfg->farm);

	cfg = must_load(FARM "engine = redis://cache.example.org\n");
	assert_int_equal(cfg->farm.engine.n, 1);
	assert_string_equal(
	    cfg->farm.engine.list[0], "redis://cache.example.org:6379");
	assert_string_equal(cfg->farm.key_file, "/etc/forefetch.key");
	check_presets(&cfg->farm);
}

TEST(test_all_keys)
{
	struct config *cfg = must_load(
	    "[farm]\n"
	    "engine = redis://10.0.0.1:7000, redis://10.0.0.2:7000 \\\n"
	    "	redis://[2001:db8::1]:7000\n"
	    "user = forefetch\n"
	    "password_file = /etc/forefetch.password\n"
	    "key_file = /etc/forefetch.key\n"
	    "share = trees, data\n"
	    "publish_cap = 10 MB/s\n");
	const struct config_farm *farm = &cfg->farm;

	assert_int_equal(farm->engine.n, 3);
	assert_string_equal(farm->engine.list[0], "redis://10.0.0.1:7000");
	assert_string_equal(farm->engine.list[1], "redis://10.0.0.2:7000");
	assert_string_equal(farm->engine.list[2], "redis://[2001:db8::1]:7000");
	assert_string_equal(farm->user, "forefetch");
	assert_string_equal(farm->password_file, "/etc/forefetch.password");
	assert_string_equal(farm->key_file, "/etc/forefetch.key");
	assert_int_equal(farm->share, CONFIG_SHARE_DATA | CONFIG_SHARE_TREES);
	assert_int_equal(farm->publish_cap, 10000000);
}

/* Every form of a value, by what it prints as. */
static const struct {
	const char *line;
	const char *printed;
} values[] = {
    {"engine = none", "engine = none"},
    {"engine = NONE", "engine = none"},
    {"engine = redis://h", "engine = redis://h:6379"},
    {"engine = REDIS://h/", "engine = redis://h:6379"},
    {"engine = redis://h:1,redis://h:65535",
	"engine = redis://h:1 redis://h:65535"},
    {"engine = redis://a , redis://b,", "engine = redis://a:6379 "
					"redis://b:6379"},
    {"engine = redis://127.0.0.1:06380", "engine = redis://127.0.0.1:6380"},
    {"engine = redis://[::1]", "engine = redis://[::1]:6379"},
    {"engine = redis://[::1]:7/", "engine = redis://[::1]:7"},
    {"engine = redis://[fe80::1%eth0]:7", "engine = redis://[fe80::1%eth0]:7"},
    {"engine = redis+unix:///run/redis/s",
	"engine = redis+unix:///run/redis/s"},
    {"engine = redis+unix:///run/a@b", "engine = redis+unix:///run/a@b"},
    {"engine = redis+unix:///s/", "engine = redis+unix:///s"},
    {"user = default", "user = default"},
    {"user = u", "user = u"},
    {"password_file = none", "password_file = none"},
    {"password_file = /p", "password_file = /p"},
    {"share = TREES", "share = trees"},
    {"share = trees listings,data", "share = data listings trees"},
    {"publish_cap = 50MB/s", "publish_cap = 400mbit"},
    {"publish_cap = 400 Mbit/s", "publish_cap = 400mbit"},
    {"publish_cap = 80kbit", "publish_cap = 80kbit"},
    {"publish_cap = 80007bit", "publish_cap = 80kbit"},
};

/* A configuration that was printed reads as the same, and prints so again. */
TEST(test_values)
{
	for (size_t i = 0; i < LENGTH(values); i++) {
		char text[256], want[256], *first, *second;
		struct config *cfg, *again;

		snprintf(text, sizeof(text), FARM "%s\n", values[i].line);
		snprintf(want, sizeof(want), "\n%s\n", values[i].printed);
		cfg = must_load(text);
		first = print(cfg);
		if (!strstr(first, want))
			fail_msg("no '%s' in %s", values[i].printed, first);
		again = must_load(first);
		second = print(again);
		assert_string_equal(first, second);
		assert_int_equal(config_diff(cfg, again, NULL, NULL), 0);
	}
}

/* Ends of messages. */
#define NO_USER                                                                \
	"a URL can have neither a user nor a password; use the keys user and " \
	"password_file"
#define NO_OPTIONS                                                             \
	"a URL can have neither a database number nor options; a user and a "  \
	"password go into the keys user and password_file"
#define WANT_URL                                                               \
	"want redis://HOST[:PORT] or redis+unix:///PATH, an IPv6 address in "  \
	"brackets"
#define BAD_PORT "the port must be 1 to 65535"
#define ONE_SOCKET                                                             \
	"a socket must be the only entry; only nodes of a cluster can be "     \
	"listed together"

/* A line, and what is said of it behind "t:3: [farm] " and its key. */
static const struct {
	const char *line, *err;
} bad[] = {
    /* A password is not quoted, whatever it is made of. */
    {"engine = redis://joe:secret@h", NO_USER},
    {"engine = redis://:se,cret@h", NO_USER},
    {"engine = redis+unix://:secret@/s", NO_USER},
    {"engine = redis://h?password=secret", NO_OPTIONS},
    {"engine = redis+unix:///s?db=1", NO_OPTIONS},
    {"engine = redis://h:6379/3",
	"a URL cannot have a database number: a farm uses number 0, where a "
	"user of its own keeps it apart (keys user and password_file)"},
    {"engine = rediss://h", "'rediss://h': TLS is not supported, and values "
			    "are encrypted anyway; use redis:// through a "
			    "tunnel such as stunnel, or in a private network"},
    {"engine = h:6379", "'h:6379': " WANT_URL},
    {"engine = unix:///s", "'unix:///s': " WANT_URL},
    {"engine = redis://", "'redis://': " WANT_URL},
    {"engine = redis://[h]:1", "'redis://[h]:1': " WANT_URL},
    {"engine = redis://1.2.3", "'redis://1.2.3': " WANT_URL},
    {"engine = ,", WANT_URL},
    {"engine = redis://::1:7",
	"'redis://::1:7': an IPv6 address must be in brackets"},
    {"engine = redis://h:0", "'redis://h:0': " BAD_PORT},
    {"engine = redis://h:", "'redis://h:': " BAD_PORT},
    {"engine = redis://h:65536", "'redis://h:65536': " BAD_PORT},
    {"engine = redis://[::1]:x", "'redis://[::1]:x': " BAD_PORT},
    {"engine = redis+unix://s", "'s': not an absolute path"},
    {"engine = redis+unix:///", "a path must follow redis+unix://"},
    {"engine = redis+unix:///../s",
	"'/../s': a path must not have '//', '.' or '..' in it"},
    {"engine = redis://a redis+unix:///s", "'redis+unix:///s': " ONE_SOCKET},
    {"engine = redis+unix:///s redis://a", "'redis+unix:///s': " ONE_SOCKET},
    {"engine = redis://a, redis://a:6379", "'redis://a:6379': named twice"},
    {"user = a b",
	"'a\\x20b': the name of an engine's user cannot have a blank"},
    {"password_file = secret", "'secret': not an absolute path"},
    {"password_file = /", "the root directory is not allowed here"},
    {"share = none",
	"a farm that shares nothing is useless; write engine = none"},
    {"share = data attributes",
	"'attributes': want some of data, listings and trees"},
    {"share = data data", "'data': named twice"},
    {"share = ,", "want some of data, listings and trees"},
    {"publish_cap = off", "off could mean two things; write a high rate for no "
			  "limit, or engine = none to publish nothing"},
    {"publish_cap = 50M",
	"'50M' is not a rate such as 500kbit, 400 Mbit/s or 50MB/s"},
    {"publish_cap = 1kbit", "'1kbit' is out of range; want 80kbit to 100gbit"},
    {"password = secret", "unknown key; did you mean 'password_file'?"},
    {"address = h", "unknown key; did you mean 'engine'?"},
    {"rate = 1", "unknown key; did you mean 'publish_cap'?"},
    {"publish_cpa = 1", "unknown key; did you mean 'publish_cap'?"},
    {"cache_dir = /x", "unknown key; it belongs in [forefetch]"},
    {"key_file = /x", "duplicate key"},
    {"share =", "no value"},
};

TEST(test_bad)
{
	char text[256], want[CONFIG_ERR_MAX];

	for (size_t i = 0; i < LENGTH(bad); i++) {
		snprintf(text, sizeof(text), FARM "%s\n", bad[i].line);
		snprintf(want, sizeof(want), "t:3: [farm] %.*s: %s",
		    (int)strcspn(bad[i].line, " "), bad[i].line, bad[i].err);
		must_fail(text, want);
	}
}

TEST(test_bad_section)
{
	static const char missing[] =
	    "t:1: [farm] key_file: the key is missing; \"forefetch farm key "
	    "FILE\" makes such a file, which every machine of the farm needs";

	must_fail("[farm]\nengine = redis://h\n", missing);
	must_fail("[farm]\nengine = redis://h\nkey_file = none\n", missing);
	must_fail("[farm]\n[farm]\n",
	    "t:2: [farm]: duplicate section; the first is at line 1");
	must_fail("[farm nas]\n",
	    "t:1: [farm nas]: unknown section; want [forefetch], [farm], "
	    "[server NAME] or [export SERVER:/PATH]");
	must_fail("[forefetch]\nengine = redis://h\n",
	    "t:2: [forefetch] engine: unknown key; it belongs in [farm]");
	must_fail("[server a]\nredis = h\n",
	    "t:2: [server a] redis: unknown key; did you mean 'engine' in "
	    "[farm]?");
	must_fail("[export a:/x]\naddress = h\n",
	    "t:2: [export a:/x] address: unknown key; it belongs in [server "
	    "NAME]");
}

TEST(test_limits)
{
	char text[4096] = FARM "engine =", err[CONFIG_ERR_MAX];
	size_t n = strlen(text);
	struct config *cfg;

	for (int i = 0; i < 32; i++)
		n += (size_t)snprintf(
		    text + n, sizeof(text) - n, " redis://h%d", i);
	cfg = must_load(text);
	assert_int_equal(cfg->farm.engine.n, 32);
	strcpy(text + n, " redis://one-more");
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_non_null(strstr(err, "too many nodes"));

	/* As long as a path of a socket can be, and one more. */
	snprintf(text, sizeof(text), FARM "engine = redis+unix:///%0106d", 0);
	cfg = must_load(text);
	strcat(text, "0");
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_non_null(strstr(err, "t:3: [farm] engine: the path is too "
				    "long"));
	snprintf(text, sizeof(text), FARM "engine = redis://%0600d", 0);
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_non_null(strstr(err, "t:3: [farm] engine: a word is too long"));
	snprintf(text, sizeof(text), FARM "user = %0129d", 0);
	assert_null(config_parse_string(text, "t", err, sizeof(err)));
	assert_non_null(strstr(err, "t:3: [farm] user: the name is too long"));
}

/* ---- reloads ------------------------------------------------------------ */

static void note_change(void *ctx, const struct config_change *change)
{
	char *text = ctx;

	assert_null(change->server);
	assert_int_equal(change->kind, CONFIG_CHANGED);
	sprintf(text + strlen(text), " %s%s", change->setting,
	    change->fixed ? "!" : "");
}

static void check_diff(const char *was, const char *is, const char *want)
{
	struct config *old = must_load(was), *now = must_load(is);
	char text[256] = "";
	size_t n = config_diff(old, now, note_change, text);

	assert_string_equal(text, want);
	assert_int_equal(n == 0, *want == '\0');
}

TEST(test_diff)
{
	check_diff("", "[farm]\n", "");
	check_diff(FARM "engine = redis://h\n",
	    "[forefetch]\n" FARM "engine = redis://h:6379/\n"
	    "share = trees listings data\n",
	    "");
	check_diff("", FARM "engine = redis://h\n", " engine! key_file!");
	check_diff(FARM "engine = redis://h\n", "", " engine! key_file!");
	check_diff(FARM,
	    FARM "user = u\npassword_file = /p\nshare = data\n"
		 "publish_cap = 1mbit\n",
	    " user! password_file! share! publish_cap!");
}

/* A farm that is at work stays at work over a reload, and its settings are
 * freed with the last configuration that has them. */
TEST(test_keep_fixed)
{
	struct config *old = must_load(FARM "engine = redis://h\n");
	struct config *now = must_load("");
	char *printed;

	config_keep_fixed(old, now);
	assert_int_equal(now->farm.engine.n, 1);
	assert_string_equal(now->farm.engine.list[0], "redis://h:6379");
	assert_string_equal(now->farm.key_file, "/etc/forefetch.key");
	assert_null(now->farm.file);
	printed = print(now);
	assert_non_null(strstr(printed, "\n[farm]\nengine = redis://h:6379\n"));

	old = must_load("");
	now = must_load(FARM "engine = redis://h\n");
	config_keep_fixed(old, now);
	assert_int_equal(now->farm.engine.n, 0);
}

/* ---- files --------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

/* It may stand in any file; messages name that one. */
TEST(test_files)
{
	const char *dir = unittest_folder();
	char want[CONFIG_ERR_MAX];
	char own[64], file[64], more[96], err[CONFIG_ERR_MAX] = "";
	const struct config_source source = {.file = file};
	struct config *cfg;

	snprintf(own, sizeof(own), "%s/f.d", dir);
	snprintf(file, sizeof(file), "%s/f.conf", dir);
	snprintf(more, sizeof(more), "%s/farm.conf", own);
	assert_int_equal(mkdir(own, 0755), 0);
	put(file, "[forefetch]\n");
	put(more, "\n" FARM "engine = redis://h\n");
	cfg = config_load(&source, err, sizeof(err));
	if (!cfg)
		fail_msg("%s", err);
	assert_string_equal(cfg->farm.file, more);
	assert_int_equal(cfg->farm.line, 2);
	config_free(cfg);

	put(more, "\n[farm]\nengine = redis://h\n");
	assert_null(config_load(&source, err, sizeof(err)));
	snprintf(
	    want, sizeof(want), "%s:2: [farm] key_file: the key is ", more);
	assert_memory_equal(err, want, strlen(want));

	put(file, "[farm]\n");
	assert_null(config_load(&source, err, sizeof(err)));
	snprintf(want, sizeof(want),
	    "%s:2: [farm]: duplicate section; the first is at %s:1", more,
	    file);
	assert_string_equal(err, want);
}
