/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration in several files: which are read, in which order, and what
 * is said of those that cannot be. */
#include <sys/stat.h>
#include <unistd.h>

#include "unittest.h"
#include "config/config.h"

#define SERVER(name, port)                                                     \
	"[server " name "]\naddress = " name "\nlisten = 127.0.0.1:" port "\n"

struct place {
	const char *dir;
	char file[96];
	char run_dir[96];
	char err[8192];
	struct config_source source;
	struct config *config;
};

static const char *in(const struct place *p, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	return path;
}

static void put(const struct place *p, const char *name, const char *text)
{
	FILE *out = fopen(in(p, name), "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(in(p, name), 0644), 0);
}

static void set_up(struct place *p)
{
	p->dir = unittest_folder();
	snprintf(p->file, sizeof(p->file), "%s/ff.conf", p->dir);
	snprintf(p->run_dir, sizeof(p->run_dir), "%s/run", p->dir);
	assert_int_equal(mkdir(in(p, "ff.d"), 0755), 0);
	assert_int_equal(mkdir(p->run_dir, 0755), 0);
	p->source.file = p->file;
	p->source.run_dir = p->run_dir;
}

static void tear_down(struct place *p)
{
	config_free(p->config);
}

/* The names of its servers; the former one is compared and freed. */
static void loads(struct place *p, const char *servers)
{
	struct config *config = config_load(&p->source, p->err, sizeof(p->err));
	char names[1024] = "";

	if (!config)
		fail_msg("%s", p->err);
	for (size_t i = 0; i < config->nservers; i++) {
		strcat(names, i ? " " : "");
		strcat(names, config->servers[i].name);
	}
	assert_string_equal(names, servers);
	config_free(p->config);
	p->config = config;
}

/* The whole message, where "@" is the directory. */
static void refuses(struct place *p, const char *want)
{
	char text[8192], *to = text;

	assert_null(config_load(&p->source, p->err, sizeof(p->err)));
	for (; *want; want++)
		if (*want == '@')
			to += sprintf(to, "%s", p->dir);
		else
			*to++ = *want;
	*to = '\0';
	assert_string_equal(p->err, text);
}

FIXTURE(struct place, set_up, tear_down);

TEST(test_order, struct place *p)
{
	put(p, "ff.conf", "[forefetch]\nlog_level = debug\n" SERVER("m", "1"));
	loads(p, "m");
	put(p, "run/a.conf", SERVER("r", "2"));
	put(p, "ff.d/b.conf", SERVER("b", "3"));
	put(p, "ff.d/B.conf", SERVER("B", "4"));
	put(p, "ff.d/10-x.conf", SERVER("x", "5") SERVER("y", "6"));
	loads(p, "m x y B b r");
	assert_int_equal(p->config->log_level, LOG_LEVEL_DEBUG);
	p->source.run_dir = NULL;
	loads(p, "m x y B b");
	assert_int_equal(rmdir(in(p, "nowhere")), -1);
	p->source.run_dir = in(p, "nowhere");
	loads(p, "m x y B b");
}

/* Those of an editor, of a package manager, and a directory's own. */
TEST(test_skipped, struct place *p)
{
	static const char *const names[] = {"ff.d/a.conf~", "ff.d/.a.conf",
	    "ff.d/a.conf.dpkg-new", "ff.d/README", "ff.d/.conf", "ff.d/conf"};

	put(p, "ff.conf", "");
	for (size_t i = 0; i < LENGTH(names); i++)
		put(p, names[i], "nonsense");
	loads(p, "");
}

TEST(test_export_elsewhere, struct place *p)
{
	put(p, "ff.conf", "[export nas:/x]\nconsistency = strict\n");
	put(p, "ff.d/nas.conf", SERVER("nas", "1"));
	put(p, "run/z.conf", "[export nas:/y]\nprefetch = off\n");
	loads(p, "nas");
	assert_int_equal(p->config->servers[0].noverrides, 2);
	put(p, "run/z.conf", "\n\n[export src:/y]\nprefetch = off\n");
	refuses(p, "@/run/z.conf:3: [export src:/y]: there is no section "
		   "[server src]");
}

TEST(test_errors, struct place *p)
{
	put(p, "ff.conf", SERVER("nas", "1"));
	put(p, "ff.d/a.conf", "\n" SERVER("nas", "2"));
	refuses(p,
	    "@/ff.d/a.conf:2: [server nas]: duplicate section; the first is "
	    "at @/ff.conf:1");
	put(p, "ff.d/a.conf", "[server b]\n\nadress = x\n");
	refuses(p,
	    "@/ff.d/a.conf:3: [server b] adress: unknown key; did you mean "
	    "'address'?");
	put(p, "ff.d/a.conf", "\n[server b]\naddress = x\n");
	refuses(p,
	    "@/ff.d/a.conf:2: [server b] listen: the key is missing; it has "
	    "no default");
	put(p, "ff.d/a.conf", "[forefetch]\nlog_level = debug\n");
	refuses(p, "@/ff.d/a.conf:1: [forefetch]: this section belongs in "
		   "@/ff.conf, and not in other files");
	/* A key belongs to a section of its own file. */
	put(p, "ff.d/a.conf", "secure = no\n");
	refuses(
	    p, "@/ff.d/a.conf:1: secure: stands before the first [section]");
	put(p, "ff.d/a.conf", SERVER("b", "1"));
	refuses(p,
	    "@/ff.d/a.conf:3: [server b] listen: 127.0.0.1:1 is taken by "
	    "[server nas]");
}

TEST(test_several_errors, struct place *p)
{
	p->source.errors_max = 20;
	put(p, "ff.conf",
	    "[forefetch]\ncache_sise = 1\n[sever nas]\naddress = x\n[server "
	    "b]\nlisten = nowhere\na\x01\nsecure = no\n");
	put(p, "ff.d/a.conf", "[server b]\n");
	refuses(p,
	    "@/ff.conf:2: [forefetch] cache_sise: unknown key; did you mean "
	    "'cache_size'?\n"
	    "@/ff.conf:3: [sever nas]: unknown section; want [forefetch], "
	    "[farm], [server NAME] or [export SERVER:/PATH]\n"
	    "@/ff.conf:6: [server b] listen: 'nowhere': want ADDRESS:PORT "
	    "or [IPV6 ADDRESS]:PORT\n"
	    "@/ff.conf:7: [server b]: a control character (byte 0x01)\n"
	    "@/ff.d/a.conf:1: [server b]: duplicate section; the first is at "
	    "@/ff.conf:5");
	p->source.errors_max = 2;
	assert_null(config_load(&p->source, p->err, sizeof(p->err)));
	assert_non_null(strstr(p->err, "[sever nas]"));
	assert_null(strstr(p->err, "nowhere"));
	/* Errors that do not fit into the caller's text are left out, all but
	 * the first. */
	p->source.errors_max = 20;
	assert_null(config_load(&p->source, p->err, 300));
	assert_true(strlen(p->err) < 300);
	assert_null(strstr(p->err, "duplicate"));
	assert_null(config_load(&p->source, p->err, 10));
	assert_int_equal(strlen(p->err), 9);
}

TEST(test_unreadable, struct place *p)
{
	put(p, "ff.conf", "");
	assert_int_equal(mkfifo(in(p, "ff.d/a.conf"), 0644), 0);
	refuses(p, "@/ff.d/a.conf: it is not a file");
	unlink(in(p, "ff.d/a.conf"));
	assert_int_equal(symlink("nowhere", in(p, "ff.d/a.conf")), 0);
	refuses(p, "@/ff.d/a.conf: it is a link to a file that does not exist");
	unlink(in(p, "ff.d/a.conf"));
	assert_int_equal(symlink("a.conf", in(p, "ff.d/a.conf")), 0);
	refuses(p, "@/ff.d/a.conf: cannot be read: Too many levels of symbolic "
		   "links");
	unlink(in(p, "ff.d/a.conf"));
	assert_int_equal(symlink("/dev/zero", in(p, "ff.d/a.conf")), 0);
	refuses(p, "@/ff.d/a.conf: it is not a file");
	unlink(in(p, "ff.d/a.conf"));
	assert_int_equal(mkdir(in(p, "ff.d/a.conf"), 0755), 0);
	refuses(p, "@/ff.d/a.conf: it is not a file");
	rmdir(in(p, "ff.d/a.conf"));
	put(p, "ff.d/a.conf", "");
	assert_int_equal(truncate(in(p, "ff.d/a.conf"), 1 << 30), 0);
	refuses(p, "@/ff.d/a.conf: larger than 1048576 bytes");
	put(p, "ff.d/a\n.conf", "x");
	unlink(in(p, "ff.d/a.conf"));
	refuses(p, "@/ff.d/a\\x0a.conf:1: want KEY = VALUE");
}

TEST(test_owner, struct place *p)
{
	static const char unsafe[] =
	    "@/ff.d/a.conf: others may write to it; chmod go-w it";

	put(p, "ff.conf", "");
	put(p, "ff.d/a.conf", SERVER("a", "1"));
	assert_int_equal(chmod(in(p, "ff.d/a.conf"), 0646), 0);
	refuses(p, unsafe);
	/* Our own group is we. */
	assert_int_equal(chmod(in(p, "ff.d/a.conf"), 0660), 0);
	loads(p, "a");
	assert_int_equal(chmod(in(p, "ff.d"), 0777), 0);
	refuses(p, "@/ff.d: others may write to it; chmod go-w it");
	assert_int_equal(chmod(in(p, "ff.d"), 0755), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(in(p, "ff.d/a.conf"), 0, 12345), 0);
	refuses(p, unsafe);
	assert_int_equal(chmod(in(p, "ff.d/a.conf"), 0644), 0);
	loads(p, "a");
	assert_int_equal(chown(in(p, "ff.d/a.conf"), 12345, 0), 0);
	refuses(p,
	    "@/ff.d/a.conf: it belongs neither to root nor to the user that "
	    "forefetchd runs as; change its owner with chown");
}

/* A file that an editor is about to write, or that is gone, is a mistake; what
 * mount made for this run may go. */
TEST(test_again, struct place *p)
{
	put(p, "ff.conf", SERVER("nas", "1"));
	put(p, "run/a.conf", SERVER("a", "2"));
	loads(p, "nas a");
	p->source.former = p->config;
	put(p, "ff.conf", "");
	refuses(p, "@/ff.conf: it has no section any more; restart forefetchd "
		   "if that is intended");
	unlink(p->file);
	refuses(p, "@/ff.conf: cannot be read: No such file or directory");
	assert_int_equal(mkfifo(p->file, 0644), 0);
	refuses(p, "@/ff.conf: it is not a file");
	unlink(p->file);
	put(p, "ff.conf", "[forefetch]\n");
	put(p, "run/a.conf", "");
	loads(p, "");
}

TEST(test_many, struct place *p)
{
	char name[32];

	put(p, "ff.conf", "");
	for (int i = 0; i <= 1024; i++) {
		snprintf(name, sizeof(name), "ff.d/%d.conf", i);
		put(p, name, "");
	}
	refuses(p, "@/ff.d: there are too many files *.conf in it");
	unlink(in(p, name));
	loads(p, "");
}
