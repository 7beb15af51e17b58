/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which section serves a mount, what is written for it, and what is refused. */
#include <sys/stat.h>
#include <unistd.h>

#include "unittest.h"
#include "mount/mount_plan.h"

/* Files of a configuration, and what this host has mounted. */
struct host {
	const char *dir;
	char file[64], etc[64], run[64];
	struct config *cfg;
	unsigned taken;      /* ports from MOUNT_PORT_FIRST on */
	const char *mounted; /* a path, of any port */
	struct mount_plan plan;
	struct mount_why why;
};

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void setup(struct host *h)
{
	h->dir = unittest_folder();
	snprintf(h->file, sizeof(h->file), "%s/f.conf", h->dir);
	snprintf(h->etc, sizeof(h->etc), "%s/f.d", h->dir);
	snprintf(h->run, sizeof(h->run), "%s/run", h->dir);
	assert_int_equal(mkdir(h->etc, 0755), 0);
	assert_int_equal(mkdir(h->run, 0755), 0);
	put(h->dir, "f.conf", "[forefetch]\n");
}

static void teardown(struct host *h)
{
	mount_plan_release(&h->plan);
	config_free(h->cfg);
}

static bool port_taken(void *ctx, unsigned port)
{
	struct host *h = ctx;

	return port < MOUNT_PORT_FIRST + h->taken;
}

static bool is_mounted(void *ctx, unsigned port, const char *path)
{
	struct host *h = ctx;

	(void)port;
	return h->mounted && strcmp(h->mounted, path) == 0;
}

static bool plan(struct host *h, const char *source, const char *options)
{
	const struct config_source files = {.file = h->file, .run_dir = h->run};
	struct mount_plan_in in = {.run_dir = h->run,
	    .dir = h->run,
	    .port_taken = port_taken,
	    .is_mounted = is_mounted,
	    .ctx = h};
	struct mount_options opt;
	struct mount_source src;
	char err[CONFIG_ERR_MAX];

	config_free(h->cfg);
	h->cfg = config_load(&files, err, sizeof(err));
	if (!h->cfg)
		fail_msg("%s", err);
	if (!mount_source_parse(source, &src, &h->why) ||
	    !mount_options_parse(options, false, &opt, &h->why))
		fail_msg("%s", h->why.text);
	in.cfg = h->cfg;
	in.source = &src;
	in.options = &opt;
	mount_plan_release(&h->plan);
	return mount_plan_make(&in, &h->plan, &h->why);
}

static void planned(struct host *h, const char *source, const char *options)
{
	if (!plan(h, source, options))
		fail_msg("%s -o %s: %s", source, options ? options : "",
		    h->why.text);
}

/* Plans a mount, and writes its files as mount_store_write() does. */
static void mounted(struct host *h, const char *source, const char *options)
{
	char name[128];

	planned(h, source, options);
	snprintf(name, sizeof(name), "%s.conf", h->plan.name);
	if (h->plan.server_text)
		put(h->run, name, h->plan.server_text);
	snprintf(name, sizeof(name), "%s+exports.conf", h->plan.name);
	if (h->plan.exports_text)
		put(h->run, name, h->plan.exports_text);
}

static void refused(struct host *h, const char *source, const char *options,
    const char *first, const char *second)
{
	if (plan(h, source, options))
		fail_msg("%s -o %s is taken", source, options);
	if (!strstr(h->why.text, first) || !strstr(h->why.text, second))
		fail_msg("%s", h->why.text);
}

FIXTURE(struct host, setup, teardown);

TEST(test_new, struct host *h)
{
	mounted(h, "nas:/home", "ro");
	assert_true(h->plan.added);
	assert_string_equal(h->plan.name, "nas");
	assert_string_equal(h->plan.address, "127.0.0.1");
	assert_int_equal(h->plan.port, MOUNT_PORT_FIRST);
	assert_string_equal(h->plan.server_text,
	    MOUNT_MARK ".\n[server nas]\naddress = nas\n"
		       "listen = 127.0.0.1:288\n");
	assert_null(h->plan.exports_text);
	/* The next mount shares it. */
	mounted(h, "nas:/src", NULL);
	assert_false(h->plan.added);
	assert_null(h->plan.server_text);
	assert_null(h->plan.exports_text);
	assert_int_equal(h->plan.port, MOUNT_PORT_FIRST);
	mounted(h, "NAS.:/src", NULL);
	assert_false(h->plan.added);
}

TEST(test_options, struct host *h)
{
	mounted(h, "nas:/src", "consistency=frozen,link=wireless,ro");
	assert_non_null(strstr(h->plan.server_text, "link = wireless\n"));
	assert_string_equal(h->plan.exports_text,
	    MOUNT_MARK ".\n[export nas:/src]\nconsistency = frozen\n");
	h->mounted = "/src";
	/* Equal, or none: shared. */
	mounted(h, "nas:/src", "consistency=frozen");
	assert_null(h->plan.exports_text);
	mounted(h, "nas:/src", "link=wireless");
	mounted(h, "nas:/src", NULL);
	assert_null(h->plan.exports_text);
	refused(h, "nas:/src", "consistency=strict", "consistency=strict",
	    "consistency=frozen");
	refused(h, "nas:/other", "link=wired", "link=wired", "link=wireless");
	refused(h, "nas:/other", "link=wired", "nas.conf", "unmount");
	/* Another path has its own. */
	mounted(h, "nas:/home", "consistency=strict,attr_timeout=9s");
	assert_non_null(strstr(
	    h->plan.exports_text, "[export nas:/src]\nconsistency = frozen\n"));
	assert_non_null(strstr(h->plan.exports_text,
	    "[export nas:/home]\nconsistency = strict\nattr_timeout = 9s\n"));
	planned(h, "nas:/home", "consistency=strict");
}

/* Options of a mount that is gone bind no later mount. */
TEST(test_left, struct host *h)
{
	mounted(h, "nas:/src", "consistency=frozen");
	mounted(h, "nas:/src", "consistency=strict");
	assert_non_null(strstr(h->plan.exports_text, "consistency = strict"));
	mounted(h, "nas:/src", NULL);
	assert_string_equal(h->plan.exports_text, "");
}

TEST(test_somebodys, struct host *h)
{
	put(h->etc, "a.conf",
	    "[server box]\naddress = nas.example.org\nlisten = [::1]:290\n"
	    "offline = serve\nprefetch = metadata\n"
	    "[export box:/src]\nconsistency = frozen\n");
	/* By its name, and by its address. */
	planned(h, "box:/home", NULL);
	assert_string_equal(h->plan.address, "::1");
	assert_int_equal(h->plan.port, 290);
	planned(h, "nas.example.org:/home", "offline=serve,prefetch=metadata");
	assert_string_equal(h->plan.name, "box");
	assert_false(h->plan.added);
	assert_null(h->plan.exports_text);
	refused(h, "box:/home", "offline=wait", "offline = serve", "a.conf:1");
	refused(h, "box:/home", "prefetch=on", "prefetch = metadata", "a.conf");
	refused(h, "box:/src", "consistency=strict", "[export box:/src]",
	    "a.conf:6");
	planned(h, "box:/src", "consistency=frozen");
	/* An option that the section leaves open goes into a file beside it. */
	mounted(h, "box:/home", "consistency=strict");
	assert_null(h->plan.server_text);
	assert_non_null(strstr(h->plan.exports_text, "[export box:/home]"));
	planned(h, "box:/home", "consistency=strict");
}

TEST(test_names, struct host *h)
{
	put(h->dir, "f.conf",
	    "[server nas-b]\naddress = other\nlisten = 127.0.0.1:288\n"
	    "[server fe80--1-eth0]\naddress = x\nlisten = 0.0.0.0:289\n");
	planned(h, "[fe80::1%eth0]:/home", NULL);
	assert_string_equal(h->plan.name, "fe80--1-eth0-2");
	assert_int_equal(h->plan.port, 290);
	/* A file of that name holds another server. */
	put(h->run, "nas.conf",
	    "[server b]\naddress = b\nlisten = [::1]:300\n");
	planned(h, "nas:/home", NULL);
	assert_string_equal(h->plan.name, "nas-2");
	/* A name of a section comes before an address. */
	planned(h, "nas-b:/home", NULL);
	assert_false(h->plan.added);
}

TEST(test_ports, struct host *h)
{
	h->taken = 5;
	planned(h, "nas:/home", NULL);
	assert_int_equal(h->plan.port, MOUNT_PORT_FIRST + 5);
	h->taken = MOUNT_PORT_LAST - MOUNT_PORT_FIRST + 1;
	planned(h, "nas:/home", NULL);
	assert_in_range(h->plan.port, MOUNT_PORT_LAST + 1, MOUNT_PORT_END);
	h->taken = 1000;
	refused(h, "nas:/home", NULL, "no port", "free");
}

/* A path may be anything but another section. */
TEST(test_odd_paths, struct host *h)
{
	mounted(h, "nas:/with blank", "consistency=frozen");
	assert_non_null(
	    strstr(h->plan.exports_text, "[export nas:/with blank]\n"));
	h->mounted = "/with blank";
	mounted(h, "nas:/a]b", "prefetch=off");
	assert_non_null(strstr(h->plan.exports_text, "[export nas:/a]b]\n"));
	assert_non_null(
	    strstr(h->plan.exports_text, "[export nas:/with blank]\n"));
	planned(h, "nas:/a #b", NULL);
	refused(h, "nas:/a #b", "prefetch=off", "cannot be kept", "/a #b");
	refused(h, "nas:/a ;]", "prefetch=off", "cannot be kept", "leave out");
	planned(h, "nas:/\"quoted\"", "prefetch=off");
}
