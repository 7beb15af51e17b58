/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of a mount. A table says of mount(8)'s and nfs(5)'s whether they
 * are passed on; what is not in it is asked of the configuration's keys.
 */
#include "mount/mount_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmount/libmount.h>

#define WAIT_DEFAULT_S 20u
#define WAIT_MAX_S     3600u

enum treat {
	PASS,   /* to libmount and the kernel, as it is */
	NUMBER, /* the same, and its value is a number */
	DROP,   /* it is so anyway */
	REFUSE,
	SPECIAL, /* by its name, in take_row() */
};

/* What forefetch sets itself, and why somebody else cannot. */
#define OURS "forefetch sets it: leave it out"
#define PORTS                                                                  \
	"forefetch sets it; the server's own ports are nfs_port= and "         \
	"mount_port="
#define VERSION "forefetch speaks NFSv3 only; for NFSv4 mount with -t nfs"
#define V4ONLY  "that is of NFSv4, and forefetch speaks NFSv3 only"
#define SECTION "set it in the server's section, see forefetch.conf(5)"
#define BIND    "use mount -t none -o bind, which needs no forefetch"

/* `only`: the value that is right anyway; with others it is refused. */
struct row {
	const char *name;
	enum treat treat;
	const char *only;
	const char *why;
};

/* clang-format off */
static const struct row rows[] = {
	/* mount(8) */
	{"defaults", DROP, NULL, NULL}, {"ro", PASS, NULL, NULL},
	{"rw", PASS, NULL, NULL}, {"suid", PASS, NULL, NULL},
	{"nosuid", PASS, NULL, NULL}, {"dev", PASS, NULL, NULL},
	{"nodev", PASS, NULL, NULL}, {"exec", PASS, NULL, NULL},
	{"noexec", PASS, NULL, NULL}, {"sync", PASS, NULL, NULL},
	{"async", PASS, NULL, NULL}, {"dirsync", PASS, NULL, NULL},
	{"atime", PASS, NULL, NULL}, {"noatime", PASS, NULL, NULL},
	{"diratime", PASS, NULL, NULL}, {"nodiratime", PASS, NULL, NULL},
	{"relatime", PASS, NULL, NULL}, {"norelatime", PASS, NULL, NULL},
	{"strictatime", PASS, NULL, NULL}, {"nostrictatime", PASS, NULL, NULL},
	{"lazytime", PASS, NULL, NULL}, {"nolazytime", PASS, NULL, NULL},
	{"mand", PASS, NULL, NULL}, {"nomand", PASS, NULL, NULL},
	{"silent", PASS, NULL, NULL}, {"loud", PASS, NULL, NULL},
	{"auto", PASS, NULL, NULL}, {"noauto", PASS, NULL, NULL},
	{"nofail", PASS, NULL, NULL}, {"_netdev", PASS, NULL, NULL},
	{"user", PASS, NULL, NULL}, {"nouser", PASS, NULL, NULL},
	{"users", PASS, NULL, NULL}, {"owner", PASS, NULL, NULL},
	{"noowner", PASS, NULL, NULL}, {"group", PASS, NULL, NULL},
	{"nogroup", PASS, NULL, NULL}, {"nousers", PASS, NULL, NULL},
	{"comment", PASS, NULL, NULL}, {"context", PASS, NULL, NULL},
	{"fscontext", PASS, NULL, NULL}, {"defcontext", PASS, NULL, NULL},
	{"rootcontext", PASS, NULL, NULL}, {"remount", SPECIAL, NULL, NULL},
	{"bind", REFUSE, NULL, BIND}, {"rbind", REFUSE, NULL, BIND},
	{"move", REFUSE, NULL, BIND}, {"loop", REFUSE, NULL,
	    "a server's directory is no image of a disk"},
	{"uhelper", REFUSE, NULL, OURS}, {"helper", REFUSE, NULL, OURS},
	/* nfs(5) */
	{"rsize", NUMBER, NULL, NULL}, {"wsize", NUMBER, NULL, NULL},
	{"hard", PASS, NULL, NULL}, {"soft", PASS, NULL, NULL},
	{"softerr", PASS, NULL, NULL}, {"softreval", PASS, NULL, NULL},
	{"nosoftreval", PASS, NULL, NULL}, {"timeo", NUMBER, NULL, NULL},
	{"retrans", NUMBER, NULL, NULL}, {"ac", PASS, NULL, NULL},
	{"noac", PASS, NULL, NULL}, {"acregmin", NUMBER, NULL, NULL},
	{"acregmax", NUMBER, NULL, NULL}, {"acdirmin", NUMBER, NULL, NULL},
	{"acdirmax", NUMBER, NULL, NULL}, {"actimeo", NUMBER, NULL, NULL},
	{"cto", PASS, NULL, NULL}, {"nocto", PASS, NULL, NULL},
	{"lookupcache", PASS, NULL, NULL}, {"nconnect", NUMBER, NULL, NULL},
	{"max_connect", NUMBER, NULL, NULL}, {"namlen", NUMBER, NULL, NULL},
	{"bsize", NUMBER, NULL, NULL}, {"acl", PASS, NULL, NULL},
	{"noacl", PASS, NULL, NULL}, {"rdirplus", PASS, NULL, NULL},
	{"nordirplus", PASS, NULL, NULL}, {"sharecache", PASS, NULL, NULL},
	{"nosharecache", PASS, NULL, NULL}, {"resvport", DROP, NULL, NULL},
	{"write", PASS, NULL, NULL}, {"fsc", PASS, NULL, NULL},
	{"nofsc", PASS, NULL, NULL}, {"alignwrite", PASS, NULL, NULL},
	{"noalignwrite", PASS, NULL, NULL}, {"intr", DROP, NULL, NULL},
	{"nointr", DROP, NULL, NULL}, {"fg", DROP, NULL, NULL},
	{"tcp", DROP, NULL, NULL}, {"v3", DROP, NULL, NULL},
	{"nolock", DROP, NULL, NULL}, {"noquota", DROP, NULL, NULL},
	{"vers", DROP, "3", VERSION}, {"nfsvers", DROP, "3", VERSION},
	{"proto", DROP, "tcp", "forefetchd listens on TCP only"},
	{"mountproto", DROP, "tcp", "forefetchd listens on TCP only"},
	{"mountvers", DROP, "3", VERSION},
	{"sec", DROP, "sys", "forefetch carries sec=sys only; for Kerberos mount with -t nfs"},
	{"xprtsec", DROP, "none", "forefetch does not encrypt; use a VPN, or mount with -t nfs"},
	{"local_lock", DROP, "all", "locks are local: forefetch does not carry the lock protocol"},
	{"lock", REFUSE, NULL, "locks are local: forefetch does not carry the lock protocol"},
	{"v2", REFUSE, NULL, VERSION}, {"v4", REFUSE, NULL, VERSION},
	{"v4.0", REFUSE, NULL, VERSION}, {"v4.1", REFUSE, NULL, VERSION},
	{"v4.2", REFUSE, NULL, VERSION}, {"minorversion", REFUSE, NULL, V4ONLY},
	{"clientaddr", REFUSE, NULL, V4ONLY}, {"migration", REFUSE, NULL, V4ONLY},
	{"nomigration", REFUSE, NULL, V4ONLY},
	{"trunkdiscovery", REFUSE, NULL, V4ONLY},
	{"udp", REFUSE, NULL, "forefetchd listens on TCP only"},
	{"rdma", REFUSE, NULL, "forefetchd listens on TCP only"},
	{"noresvport", REFUSE, NULL, "forefetchd believes calls from ports below 1024 only"},
	{"port", REFUSE, NULL, PORTS}, {"mountport", REFUSE, NULL, PORTS},
	{"addr", REFUSE, NULL, OURS}, {"mountaddr", REFUSE, NULL, OURS},
	{"mounthost", REFUSE, NULL, OURS},
	{"bg", REFUSE, NULL, "use x-systemd.automount, which mounts at the first use"},
	{"retry", REFUSE, NULL, "use wait=SECONDS"},
	{"wait", SPECIAL, NULL, NULL},
	/* mount(8) tells its helpers what is not the default only. */
	{"allow_suid", SPECIAL, NULL, NULL}, {"allow_dev", SPECIAL, NULL, NULL},
	/* Keys of a section that are no matter of one mount. */
	{"address", REFUSE, NULL, "SOURCE names the server"},
	{"listen", REFUSE, NULL, SECTION}, {"allow", REFUSE, NULL, SECTION},
	{"secure", REFUSE, NULL, SECTION}, {"rpcbind", REFUSE, NULL, SECTION},
	{"exports", REFUSE, NULL, SECTION},
};
/* clang-format on */
static const size_t nrows = sizeof(rows) / sizeof(rows[0]);

static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < nrows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

/* One slip: a letter more, less or other, or two that changed places. */
static bool is_near(const char *a, const char *b)
{
	size_t n = 0, la = strlen(a), lb = strlen(b);

	while (a[n] && a[n] == b[n])
		n++;
	if (la < 3 || lb < 3)
		return false;
	if (la == lb)
		return strcmp(a + n + 1, b + n + 1) == 0 ||
		       (a[n] == b[n + 1] && a[n + 1] == b[n] &&
			   strcmp(a + n + 2, b + n + 2) == 0);
	return la + 1 == lb   ? strcmp(a + n, b + n + 1) == 0
	       : lb + 1 == la ? strcmp(a + n + 1, b + n) == 0
			      : false;
}

static bool refuse_unknown(const char *name, struct mount_why *why)
{
	struct mount_why hint = *why;

	for (size_t i = 0; i < nrows && !*hint.text; i++)
		if (rows[i].treat != REFUSE && is_near(name, rows[i].name))
			mount_refuse(&hint, "did you mean '%s'?", rows[i].name);
	return mount_refuse(why, "no option is called '%s'; %s", name,
	    *hint.text ? hint.text
		       : "mount.forefetch(8) lists those that there are");
}

static bool add_kernel(struct mount_options *out, const char *name,
    const char *value, struct mount_why *why)
{
	size_t at = strlen(out->kernel), room = sizeof(out->kernel) - at;
	int n = snprintf(out->kernel + at, room, "%s%s%s%s", at ? "," : "",
	    name, value ? "=" : "", value ? value : "");

	if (n < 0 || (size_t)n >= room)
		return mount_refuse(why, "all options together are too long");
	return true;
}

static bool add_setting(struct mount_options *out,
    const struct mount_setting *setting, struct mount_why *why)
{
	unsigned i = 0;

	while (i < out->nsettings &&
	       strcmp(out->settings[i].key, setting->key) != 0)
		i++;
	if (i == MOUNT_SETTINGS_MAX)
		return mount_refuse(why, "too many options");
	out->settings[i] = *setting;
	out->nsettings += i == out->nsettings;
	return true;
}

/* "20", "20s" or "2m". */
static bool take_wait(
    struct mount_options *out, const char *value, struct mount_why *why)
{
	char *end = NULL;
	unsigned long n = 0;

	if (value && isdigit((unsigned char)*value))
		n = strtoul(value, &end, 10);
	if (end && strcmp(end, "m") == 0 && n <= WAIT_MAX_S / 60)
		n *= 60;
	else if (!end || (*end && strcmp(end, "s") != 0) || n > WAIT_MAX_S)
		return mount_refuse(why,
		    "wait=%s: want seconds, 0 to %u, such as wait=20",
		    value ? value : "", WAIT_MAX_S);
	out->wait_s = (unsigned)n;
	return true;
}

static bool is_number(const char *value)
{
	return value && *value && value[strspn(value, "0123456789")] == '\0';
}

static bool take_row(struct mount_options *out, const struct row *row,
    const char *value, struct mount_why *why)
{
	switch (row->treat) {
	case NUMBER:
		if (!is_number(value))
			return mount_refuse(why, "%s=%s: want a number",
			    row->name, value ? value : "");
		return add_kernel(out, row->name, value, why);
	case PASS:
		out->ordered |= strcmp(row->name, "_netdev") == 0;
		return add_kernel(out, row->name, value, why);
	case DROP:
		if (!row->only || (value && strcmp(value, row->only) == 0))
			return true;
		break;
	case SPECIAL:
		if (strcmp(row->name, "wait") == 0)
			return take_wait(out, value, why);
		if (strncmp(row->name, "allow_", 6) == 0)
			return add_kernel(out, row->name + 6, NULL, why);
		out->remount = true;
		return add_kernel(out, row->name, value, why);
	case REFUSE:
		break;
	}
	return mount_refuse(why, "%s%s%s is refused: %s", row->name,
	    value ? "=" : "", value ? value : "", row->why);
}

static bool take(struct mount_options *out, const char *name, const char *value,
    bool sloppy, struct mount_why *why)
{
	const struct row *row = find_row(name);
	struct mount_setting setting;

	if (row)
		return take_row(out, row, value, why);
	if (strncasecmp(name, "x-", 2) == 0) {
		out->ordered |= strcmp(name, "x-systemd.automount") == 0;
		return add_kernel(out, name, value, why);
	}
	switch (mount_value_look(name, value ? value : "", &setting, why)) {
	case MOUNT_KIND_SERVER:
	case MOUNT_KIND_POLICY:
		if (strcmp(name, setting.key) != 0)
			snprintf(out->former, sizeof(out->former),
			    "%.*s is called %s now", MOUNT_KEY_MAX, name,
			    setting.key);
		return add_setting(out, &setting, why);
	case MOUNT_KIND_BAD:
		return false;
	case MOUNT_KIND_NONE:
		break;
	}
	return sloppy || refuse_unknown(name, why);
}

/* `part` is from libmount, which knows of quotes. */
static bool take_part(struct mount_options *out, const char *name,
    size_t namelen, const char *value, size_t valuelen, bool sloppy,
    struct mount_why *why)
{
	char *n = strndup(name, namelen);
	char *v = value ? strndup(value, valuelen) : NULL;
	bool good = n && (v || !value);

	good = good ? take(out, n, v, sloppy, why)
		    : mount_refuse(why, "out of memory");
	free(n);
	free(v);
	return good;
}

bool mount_options_parse(const char *text, bool sloppy,
    struct mount_options *out, struct mount_why *why)
{
	char *copy = strdup(text ? text : ""), *rest = copy;
	char *name, *value;
	size_t namelen, valuelen;
	bool good = copy || mount_refuse(why, "out of memory");
	int more = 0;

	*out = (struct mount_options){
	    .kernel = "nosuid,nodev", .wait_s = WAIT_DEFAULT_S};
	for (const char *c = copy; good && *c; c++)
		if (iscntrl((unsigned char)*c))
			good = mount_refuse(why,
			    "a control character (byte "
			    "0x%02x) is in the options",
			    (unsigned)(unsigned char)*c);
	while (good && rest && *rest) {
		more = mnt_optstr_next_option(
		    &rest, &name, &namelen, &value, &valuelen);
		if (more != 0)
			break;
		if (namelen > 0)
			good = take_part(
			    out, name, namelen, value, valuelen, sloppy, why);
	}
	free(copy);
	if (good && more < 0)
		good = mount_refuse(why, "the options cannot be read: is a "
					 "quote missing?");
	return good;
}

const char *mount_options_preset(const char *release)
{
	unsigned major = 0, minor = 0;

	if (sscanf(release, "%u.%u", &major, &minor) == 2 &&
	    (major > 6 || (major == 6 && minor >= 12)))
		return "acdirmin=1,noalignwrite";
	return "acdirmin=1";
}
