/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which mount of the proxy a path lies on. The C library's getmntent(3) does
 * for the command and for the library for hints alike: that one is preloaded
 * into programs of others, and linked into static ones, so that libmount (with
 * libblkid, libselinux and libpcre behind it) is nothing to bring along.
 */
#include "ctl/ctl_mount.h"

#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS "/proc/self/mounts"

/* The longest line that is read: five fields, of which three may be paths whose
 * blanks take four bytes each. A longer one is cut off, and is no mount of
 * ours. */
enum { LINE_BYTES = 64 << 10 };

/* The part of `path` below `point`, without a slash in front; NULL: it is not
 * below. */
static const char *below(const char *path, const char *point)
{
	size_t len = strlen(point);

	while (len > 0 && point[len - 1] == '/')
		len--;
	if (strncmp(path, point, len) != 0 ||
	    (path[len] != '\0' && path[len] != '/'))
		return NULL;
	path += len;
	return *path == '/' ? path + 1 : path;
}

/* The value of `name=` among a mount's options; "" where it is not there. */
static void option(
    const struct mntent *m, const char *name, char *out, size_t size)
{
	const char *value = hasmntopt(m, name);

	*out = '\0';
	value = value ? value + strlen(name) : "";
	if (*value == '=')
		snprintf(
		    out, size, "%.*s", (int)strcspn(value + 1, ","), value + 1);
}

/* Fills in the place of a path on a mount; false where that is none of NFSv3
 * with an address, or a part is too long. */
static bool fill(
    const struct mntent *m, const char *path, struct ctl_place *out)
{
	char addr[64], port[16];
	const char *export = strstr(m->mnt_fsname, ":/");

	option(m, "addr", addr, sizeof(addr));
	option(m, "port", port, sizeof(port));
	if (strcmp(m->mnt_type, "nfs") != 0 || !export || !*addr ||
	    strlen(export) >= sizeof(out->export) ||
	    strlen(path) >= sizeof(out->path))
		return false;
	snprintf(out->listen, sizeof(out->listen),
	    strchr(addr, ':') ? "[%s]:%s" : "%s:%s", addr,
	    *port ? port : "2049");
	strcpy(out->export, export + 1);
	strcpy(out->path, path);
	return true;
}

bool ctl_mount_find(FILE *mounts, const char *path, struct ctl_place *out)
{
	char *buf = malloc(LINE_BYTES);
	size_t longest = 0;
	struct mntent m;
	const char *rest;
	bool found = false;

	/* The last of the longest ones hides the others. */
	while (buf && getmntent_r(mounts, &m, buf, LINE_BYTES)) {
		rest = below(path, m.mnt_dir);
		if (!rest || strlen(m.mnt_dir) < longest)
			continue;
		longest = strlen(m.mnt_dir);
		found = fill(&m, rest, out);
	}
	free(buf);
	return found;
}

/* A copy of the list, since reading it from the kernel once for each of a
 * million hints would take most of the time. */
struct ctl_mounts {
	char *text;
	FILE *file; /* of the text */
};

/* A file of /proc has no size. */
static char *read_mounts(size_t *len)
{
	FILE *in = fopen(MOUNTS, "re"), *out;
	char part[4096], *text = NULL;
	size_t n;

	if (!in)
		return NULL;
	out = open_memstream(&text, len);
	while (out && (n = fread(part, 1, sizeof(part), in)) > 0)
		fwrite(part, 1, n, out);
	if (out)
		fclose(out);
	fclose(in);
	return text;
}

struct ctl_mounts *ctl_mounts_load(void)
{
	struct ctl_mounts *m = calloc(1, sizeof(*m));
	size_t len = 0;

	if (m)
		m->text = read_mounts(&len);
	if (m && m->text)
		m->file = fmemopen(m->text, len, "r");
	if (m && m->file)
		return m;
	ctl_mounts_free(m);
	return NULL;
}

void ctl_mounts_free(struct ctl_mounts *m)
{
	if (!m)
		return;
	if (m->file)
		fclose(m->file);
	free(m->text);
	free(m);
}

bool ctl_mounts_place(
    struct ctl_mounts *m, const char *path, struct ctl_place *out)
{
	rewind(m->file);
	return ctl_mount_find(m->file, path, out);
}

/* Works on the text alone: a look at the file could wait for its server. */
char *ctl_path_plain(const char *path)
{
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);
	char *out = NULL, *to;

	if ((*path != '/' && !cwd) ||
	    asprintf(&out, "%s/%s", cwd ? cwd : "", path) < 0)
		out = NULL;
	free(cwd);
	if (!out)
		return NULL;
	to = out;
	for (char *s = out; *s;) {
		size_t n;

		s += strspn(s, "/");
		n = strcspn(s, "/");
		if (n == 2 && memcmp(s, "..", 2) == 0) {
			while (to > out && *--to != '/')
				;
		} else if (n > 0 && !(n == 1 && *s == '.')) {
			*to++ = '/';
			memmove(to, s, n);
			to += n;
		}
		s += n;
	}
	if (to == out)
		*to++ = '/';
	*to = '\0';
	return out;
}

static ProtobufCBinaryData bytes_of(char *text)
{
	return (ProtobufCBinaryData){
	    .len = strlen(text), .data = (uint8_t *)text};
}

void ctl_place_fill(struct ctl_place *place, Forefetch__Place *out)
{
	forefetch__place__init(out);
	out->listen = bytes_of(place->listen);
	out->export = bytes_of(place->export);
	out->path = bytes_of(place->path);
}
