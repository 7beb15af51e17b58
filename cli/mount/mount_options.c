/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of a mount, sorted into those for the kernel and those for the
 * daemon. A table says of mount(8)'s and nfs(5)'s whether they are passed on;
 * what is not in it is asked of the configuration's keys. An option that would
 * have no effect, or the wrong one, is refused with the reason: nobody looks
 * for it later.
 */
#include "mount/mount_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmount/libmount.h>

#include "config/spelling.h"

/* Seconds that a mount waits for a server that is not up. */
#define WAIT_DEFAULT_S 20u
#define WAIT_MAX_S     3600u

/* The ways in which an option is treated. */
enum treat {
	/* Passes to libmount and the kernel as it is. */
	PASS,
	/* Passes too, if its value is a number. */
	NUMBER,
	/* Is left out, as the mount is so anyway. */
	DROP,
	/* Ends the mount with the reason in its row. */
	REFUSE,
	/* Each has its own rule in take_row(). */
	SPECIAL,
};

/* Why an option is refused. */
#define OURS    "forefetch sets it: leave it out"
#define VERSION "forefetch speaks NFSv3 only; for NFSv4 mount with -t nfs"
#define BIND    "use mount -t none -o bind, which needs no forefetch"
#define TCP     "forefetchd listens on TCP only"
#define LOCKS   "locks are local: forefetch does not carry the lock protocol"

/* Options that are treated alike. */
struct option_group {
	enum treat treat;
	/* The options of the row, with a blank between two. */
	const char *names;
	/* For DROP: the value that is right anyway; with others they are
	 * refused. NULL: they have none. */
	const char *only;
	const char *why;
};

/* clang-format off */
static const struct option_group rows[] = {
	/* mount(8) */
	{PASS, "ro rw suid nosuid dev nodev exec noexec sync async dirsync atime "
	    "noatime diratime nodiratime relatime norelatime strictatime "
	    "nostrictatime lazytime nolazytime mand nomand silent loud auto noauto "
	    "nofail _netdev user nouser users nousers owner noowner group nogroup "
	    "comment context fscontext defcontext rootcontext", NULL, NULL},
	{DROP, "defaults", NULL, NULL},
	{SPECIAL, "remount", NULL, NULL},
	{REFUSE, "bind rbind move", NULL, BIND},
	{REFUSE, "loop", NULL, "a server's directory is not an image of a disk"},
	{REFUSE, "uhelper helper", NULL, OURS},
	/* nfs(5) */
	{PASS, "hard soft softerr softreval nosoftreval ac noac cto nocto "
	    "lookupcache acl noacl rdirplus nordirplus sharecache nosharecache "
	    "write fsc nofsc alignwrite noalignwrite", NULL, NULL},
	{NUMBER, "rsize wsize timeo retrans acregmin acregmax acdirmin acdirmax "
	    "actimeo nconnect max_connect namlen bsize", NULL, NULL},
	{DROP, "resvport intr nointr fg tcp v3 nolock noquota", NULL, NULL},
	{DROP, "vers nfsvers mountvers", "3", VERSION},
	{DROP, "proto mountproto", "tcp", TCP},
	{DROP, "sec", "sys",
	    "forefetch supports sec=sys only; for Kerberos mount with -t nfs"},
	{DROP, "xprtsec", "none",
	    "forefetch does not encrypt; use a VPN, or mount with -t nfs"},
	{DROP, "local_lock", "all", LOCKS},
	{REFUSE, "lock", NULL, LOCKS},
	{REFUSE, "v2 v4 v4.0 v4.1 v4.2", NULL, VERSION},
	{REFUSE, "minorversion clientaddr migration nomigration trunkdiscovery",
	    NULL, "that is an option of NFSv4, and forefetch speaks NFSv3 only"},
	{REFUSE, "udp rdma", NULL, TCP},
	{REFUSE, "noresvport", NULL,
	    "forefetchd accepts calls from ports below 1024 only"},
	{REFUSE, "port mountport", NULL,
	    "forefetch sets it; the server's own ports are nfs_port= and "
	    "mount_port="},
	{REFUSE, "addr mountaddr mounthost", NULL, OURS},
	{REFUSE, "bg", NULL,
	    "use x-systemd.automount, which mounts at the first use"},
	{REFUSE, "retry", NULL, "use wait=SECONDS"},
	/* mount(8) tells its helpers what is not the default only. */
	{SPECIAL, "wait allow_suid allow_dev", NULL, NULL},
	/* Keys of a section that are no matter of one mount. */
	{REFUSE, "address", NULL, "SOURCE names the server"},
	{REFUSE, "listen allow secure rpcbind exports", NULL,
	    "set it in the server's section, see forefetch.conf(5)"},
};
/* clang-format on */
static const size_t nrows = sizeof(rows) / sizeof(rows[0]);

/* The longest name in the table has fewer. */
enum { NAME_BYTES = 32 };

/* Cuts the next name off a list; false at its end. */
static bool next_name(const char **names, char name[NAME_BYTES])
{
	size_t len = strcspn(*names, " ");

	snprintf(name, NAME_BYTES, "%.*s", (int)len, *names);
	*names += len + ((*names)[len] == ' ');
	return len > 0;
}

/* The row that has the name, or NULL. */
static const struct option_group *find_row(const char *name)
{
	char one[NAME_BYTES];

	for (size_t i = 0; i < nrows; i++)
		for (const char *names = rows[i].names; next_name(&names, one);)
			if (strcmp(one, name) == 0)
				return &rows[i];
	return NULL;
}

/* The name of an option of which `name` is one slip away; "": of none. Very
 * short ones are one slip from anything, and those that are refused help
 * nobody. */
static void find_meant(const char *name, char meant[NAME_BYTES])
{
	char one[NAME_BYTES];

	*meant = '\0';
	for (size_t i = 0; i < nrows && !*meant; i++)
		for (const char *names = rows[i].names;
		     rows[i].treat != REFUSE && next_name(&names, one);)
			if (strlen(one) > 2 && strlen(name) > 2 &&
			    spelling_distance(name, one) == 1)
				strcpy(meant, one);
}

/* `hint` is the configuration's own guess, or empty. */
static bool refuse_unknown(
    const char *name, const char *hint, struct mount_why *why)
{
	char meant[NAME_BYTES] = "";

	if (!*hint)
		find_meant(name, meant);
	if (*meant)
		return mount_refuse(why,
		    "no option is called '%s'; did you mean '%s'?", name,
		    meant);
	return mount_refuse(why, "no option is called '%s'; %s", name,
	    *hint ? hint : "mount.forefetch(8) lists all options");
}

/* Appends an option for the kernel; `value` NULL: it has none. */
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

/* Adds a setting, or replaces the one of the same key: the last one counts, as
 * with mount(8). */
static bool add_setting(struct mount_options *out,
    const struct config_setting *setting, struct mount_why *why)
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

/* Parses "20", "20s" or "2m". */
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

static bool take_row(struct mount_options *out, const struct option_group *row,
    const char *name, const char *value, struct mount_why *why)
{
	switch (row->treat) {
	case NUMBER:
		if (!value || !*value || value[strspn(value, "0123456789")])
			return mount_refuse(why, "%s=%s: want a number", name,
			    value ? value : "");
		return add_kernel(out, name, value, why);
	case PASS:
		out->ordered |= strcmp(name, "_netdev") == 0;
		return add_kernel(out, name, value, why);
	case DROP:
		if (!row->only || (value && strcmp(value, row->only) == 0))
			return true;
		break;
	case SPECIAL:
		if (strcmp(name, "wait") == 0)
			return take_wait(out, value, why);
		if (strncmp(name, "allow_", 6) == 0)
			return add_kernel(out, name + 6, NULL, why);
		out->remount = true;
		return add_kernel(out, name, value, why);
	case REFUSE:
		break;
	}
	return mount_refuse(why, "%s%s%s is refused: %s", name,
	    value ? "=" : "", value ? value : "", row->why);
}

/* Takes one option. Comments for other programs (x-…) are passed on, and not
 * judged. */
static bool take(struct mount_options *out, const char *name, const char *value,
    bool sloppy, struct mount_why *why)
{
	const struct option_group *row = find_row(name);
	struct config_setting setting;
	char reason[256];
	int found;

	if (row)
		return take_row(out, row, name, value, why);
	if (strncasecmp(name, "x-", 2) == 0) {
		out->ordered |= strcmp(name, "x-systemd.automount") == 0;
		return add_kernel(out, name, value, why);
	}
	value = value ? value : "";
	found =
	    config_setting_parse(name, value, &setting, reason, sizeof(reason));
	if (found < 0)
		return mount_refuse(why, "%s=%s: %s", name, value, reason);
	if (found == 0)
		return sloppy || refuse_unknown(name, reason, why);
	if (strcmp(name, setting.key) != 0)
		snprintf(out->former, sizeof(out->former),
		    "%s is called %s now", name, setting.key);
	return add_setting(out, &setting, why);
}

/* Takes an option as libmount has cut it out of the list, which knows of
 * quotes; the texts have no NUL at their ends. */
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

/* A control character could end a line of the configuration that an option
 * becomes, so none is accepted. */
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
