/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SOURCE and the options of a mount: what is taken, for whom, what is refused.
 */
#include "unittest.h"
#include "mount/mount_options.h"
#include "mount/mount_source.h"

static void good_source(const char *text, const char *host, const char *path)
{
	struct mount_source s;
	struct mount_why why = {.text = ""};

	if (!mount_source_parse(text, &s, &why))
		fail_msg("%s: %s", text, why.text);
	assert_string_equal(s.host, host);
	assert_string_equal(s.path, path);
	assert_memory_equal(s.text, text, strlen(s.text));
}

static void bad_source(const char *text, const char *reason)
{
	struct mount_source s;
	struct mount_why why = {.text = ""};

	if (mount_source_parse(text, &s, &why))
		fail_msg("%s is taken", text);
	if (!strstr(why.text, reason))
		fail_msg("%s: %s", text, why.text);
}

TEST(test_source)
{
	good_source("nas:/home", "nas", "/home");
	good_source("nas:/", "nas", "/");
	good_source("nas.example.org:/a/b//", "nas.example.org", "/a/b");
	good_source("192.0.2.7:/with blank/#1", "192.0.2.7", "/with blank/#1");
	good_source("[2001:db8::1]:/home", "2001:db8::1", "/home");
	good_source("[fe80::1%eth0]:/home/", "fe80::1%eth0", "/home");
}

TEST(test_bad_source)
{
	char line[2048] = "nas:/";

	bad_source("", "has no path");
	bad_source("nas", "has no path");
	bad_source("/dev/sda", "has no path");
	bad_source(":/home", "server is missing");
	bad_source("nas:", "begin with a slash");
	bad_source("nas:home", "begin with a slash");
	bad_source("fe80::1:/home", "brackets");
	bad_source("[fe80::1:/home", "");
	bad_source("nas:/a//b", "'//'");
	bad_source("nas:/a/../b", "'..'");
	bad_source("nas:/a/.", "'.'");
	bad_source("nas:/a\n[server b]", "control character");
	bad_source("nas\nlisten = 0.0.0.0:1:/a", "");
	bad_source("nas\nsecure=no:/a", "not a name or address");
	bad_source("nas]:/a", "not a name or address");
	bad_source("n as:/a", "not a name or address");
	bad_source("-o:/a", "not a name of a server");
	bad_source("#:/a", "not a name of a server");
	memset(line + 5, 'x', 1500);
	bad_source(line, "too long");
}

TEST(test_name)
{
	char name[MOUNT_NAME_MAX], host[MOUNT_HOST_MAX];

	mount_source_name("nas.example.org", name);
	assert_string_equal(name, "nas.example.org");
	mount_source_name("fe80::1%eth0", name);
	assert_string_equal(name, "fe80--1-eth0");
	mount_source_name("::1", name);
	assert_string_equal(name, "_-1");
	memset(host, 'a', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	mount_source_name(host, name);
	assert_int_equal(strlen(name), 64);
}

static void good(const char *text, struct mount_options *out)
{
	struct mount_why why = {.text = ""};

	if (!mount_options_parse(text, false, out, &why))
		fail_msg("%s: %s", text, why.text);
}

static void bad(const char *text, const char *reason)
{
	struct mount_options out;
	struct mount_why why = {.text = ""};

	if (mount_options_parse(text, false, &out, &why))
		fail_msg("%s is taken", text);
	if (!strstr(why.text, reason))
		fail_msg("%s: %s", text, why.text);
}

TEST(test_for_kernel)
{
	struct mount_options o;

	good(NULL, &o);
	assert_string_equal(o.kernel, "nosuid,nodev");
	assert_int_equal(o.wait_s, 20);
	good("ro,noatime,rsize=65536,soft,timeo=50,nconnect=2", &o);
	assert_string_equal(o.kernel,
	    "nosuid,nodev,ro,noatime,rsize=65536,soft,timeo=50,nconnect=2");
	assert_int_equal(o.nsettings, 0);
	good("defaults,vers=3,tcp,nolock,sec=sys,,", &o);
	assert_string_equal(o.kernel, "nosuid,nodev");
	good("suid,allow_dev", &o);
	assert_string_equal(o.kernel, "nosuid,nodev,suid,dev");
	good("_netdev,x-systemd.automount,nofail,X-mount.mkdir=0755", &o);
	assert_string_equal(o.kernel,
	    "nosuid,nodev,_netdev,x-systemd.automount,nofail,"
	    "X-mount.mkdir=0755");
	assert_true(o.ordered);
	good("context=\"a,b\",ro", &o);
	assert_string_equal(o.kernel, "nosuid,nodev,context=\"a,b\",ro");
}

TEST(test_for_daemon)
{
	struct mount_options o;

	good("consistency=FROZEN,ro,prefetch=off,link=wireless,"
	     "attr_timeout=3000ms,connections=4,consistency=strict",
	    &o);
	assert_string_equal(o.kernel, "nosuid,nodev,ro");
	assert_int_equal(o.nsettings, 5);
	assert_string_equal(o.settings[0].key, "consistency");
	assert_string_equal(o.settings[0].value, "strict");
	assert_true(o.settings[0].policy);
	assert_string_equal(o.settings[2].key, "link");
	assert_false(o.settings[2].policy);
	/* One value has one form. */
	assert_string_equal(o.settings[3].value, "3s");
	assert_string_equal(o.settings[4].key, "connections");
	assert_string_equal(o.settings[4].value, "4");
	assert_string_equal(o.former, "");
	/* A former name is taken for the present one. */
	good("prefetch_cap=50%", &o);
	assert_string_equal(o.settings[0].key, "prefetch_rate");
	assert_string_equal(o.settings[0].value, "50%");
	assert_string_equal(
	    o.former, "prefetch_cap is called prefetch_rate now");
	good("wait=2m", &o);
	assert_int_equal(o.wait_s, 120);
	good("wait=0", &o);
	assert_int_equal(o.wait_s, 0);
}

TEST(test_bad_options)
{
	bad("vers=4", "NFSv3 only");
	bad("nfsvers=4.2", "NFSv3 only");
	bad("v4", "NFSv3 only");
	bad("sec=krb5", "Kerberos");
	bad("udp", "TCP only");
	bad("proto=rdma", "TCP only");
	bad("lock", "locks are local");
	bad("port=2049", "nfs_port=");
	bad("mountport=1", "mount_port=");
	bad("addr=10.0.0.1", "leave it out");
	bad("helper=sh", "leave it out");
	bad("bg", "automount");
	bad("bind", "bind");
	bad("listen=0.0.0.0:1", "section");
	bad("secure=no", "section");
	bad("allow=0.0.0.0/0", "section");
	bad("address=x", "SOURCE");
	bad("consistncy=frozen", "did you mean 'consistency'");
	bad("rsze=4096", "did you mean 'rsize'");
	bad("raed-only", "no option is called");
	bad("cache_dir=/tmp", "no option is called");
	bad("consistency=forzen", "forzen");
	bad("consistency", "consistency=");
	bad("attr_timeout=3", "attr_timeout=3");
	bad("rsize=big", "want a number");
	bad("rsize", "want a number");
	bad("wait=forever", "want seconds");
	bad("wait=99999999999999999999", "want seconds");
	bad("wait", "want seconds");
	bad("x\n=y", "control character");
	bad("consistency=a\\b", "consistency=");
	bad("[server x]=1", "no option is called");
}

/* mount -s, and whatever else its helpers may be asked to overlook. */
TEST(test_sloppy)
{
	struct mount_options o;
	struct mount_why why;

	assert_true(mount_options_parse("foo=1,ro,bar", true, &o, &why));
	assert_string_equal(o.kernel, "nosuid,nodev,ro");
	assert_false(mount_options_parse("vers=4", true, &o, &why));
}

/* noalignwrite is refused by kernels that do not know it. */
TEST(test_preset)
{
	assert_string_equal(
	    mount_options_preset("6.1.0-49-amd64"), "acdirmin=1");
	assert_string_equal(mount_options_preset("6.11.99"), "acdirmin=1");
	assert_string_equal(mount_options_preset("5.15.0"), "acdirmin=1");
	assert_string_equal(
	    mount_options_preset("6.12.0-rc1"), "acdirmin=1,noalignwrite");
	assert_string_equal(
	    mount_options_preset("7.2.1"), "acdirmin=1,noalignwrite");
	assert_string_equal(mount_options_preset("odd"), "acdirmin=1");
}
