/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a call, as arguments; the arguments of a call, as words. */
#include "scenario/calltext.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096 };

struct parser {
	struct memfs *fs;
	char *const *words; /* behind the procedure's name */
	unsigned n;
	char *err;
	bool ok;
};

static const struct {
	nfsstat3 status;
	const char *name;
} statuses[] = {
    {NFS3_OK, "OK"},
    {NFS3ERR_PERM, "PERM"},
    {NFS3ERR_NOENT, "NOENT"},
    {NFS3ERR_IO, "IO"},
    {NFS3ERR_ACCES, "ACCES"},
    {NFS3ERR_EXIST, "EXIST"},
    {NFS3ERR_NOSPC, "NOSPC"},
    {NFS3ERR_ROFS, "ROFS"},
    {NFS3ERR_STALE, "STALE"},
    {NFS3ERR_BADHANDLE, "BADHANDLE"},
    {NFS3ERR_NOT_SYNC, "NOT_SYNC"},
    {NFS3ERR_NOTSUPP, "NOTSUPP"},
    {NFS3ERR_SERVERFAULT, "SERVERFAULT"},
    {NFS3ERR_JUKEBOX, "JUKEBOX"},
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

int calltext_status(const char *name)
{
	for (int i = 0; i < STATUSES; i++)
		if (strcmp(statuses[i].name, name) == 0)
			return (int)statuses[i].status;
	return -1;
}

const char *calltext_status_name(nfsstat3 status)
{
	for (int i = 0; i < STATUSES; i++)
		if (statuses[i].status == status)
			return statuses[i].name;
	return "an unknown status";
}

/* ---- from text --------------------------------------------------------- */

static void bad(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	if (!p->ok)
		return;
	p->ok = false;
	va_start(ap, fmt);
	vsnprintf(p->err, CALLTEXT_MAX, fmt, ap);
	va_end(ap);
}

static const char *word(struct parser *p, unsigned i)
{
	if (i < p->n)
		return p->words[i];
	bad(p, "the call wants more words");
	return "/";
}

static bool has(const struct parser *p, const char *flag)
{
	return p->n > 0 && strcmp(p->words[p->n - 1], flag) == 0;
}

static struct xdr_view view_of(const char *s)
{
	return (struct xdr_view){.len = (uint32_t)strlen(s), .data = s};
}

static struct memfs_object *by_number(struct memfs *fs, const char *number)
{
	uint64_t fileid = strtoull(number, NULL, 10);

	for (unsigned i = 0; i < fs->n; i++)
		if (fs->objects[i].fileid == fileid)
			return &fs->objects[i];
	return NULL;
}

static struct memfs_object *object_at(struct parser *p, unsigned i)
{
	const char *path = word(p, i);
	struct memfs_object *o = path[0] == '#' ? by_number(p->fs, path + 1)
						: memfs_find(p->fs, path);

	if (!o)
		bad(p, "there never was a %s", path);
	return o ? o : p->fs->objects;
}

static nfs3_fh handle_at(struct parser *p, unsigned i)
{
	return memfs_fh(object_at(p, i));
}

static diropargs3 name_at(struct parser *p, unsigned i)
{
	const char *path = word(p, i), *slash = strrchr(path, '/');
	char dir[MEMFS_PATH_MAX];
	struct memfs_object *o;

	if (!slash)
		bad(p, "%s is no path", path);
	if (!p->ok)
		return (diropargs3){0};
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	o = memfs_find(p->fs, dir[0] ? dir : "/");
	if (!o)
		bad(p, "there never was a %s", dir);
	return (diropargs3){.dir = memfs_fh(o ? o : p->fs->objects),
	    .name = view_of(slash + 1)};
}

static void parse_nothing(struct parser *p, union nfs_args *args)
{
	(void)p;
	(void)args;
}

static void parse_object(struct parser *p, union nfs_args *args)
{
	args->object = handle_at(p, 0);
}

static void parse_name(struct parser *p, union nfs_args *args)
{
	args->dirop = name_at(p, 0);
}

static void parse_setattr(struct parser *p, union nfs_args *args)
{
	SETATTR3args *a = &args->setattr;
	const struct memfs_object *o = object_at(p, 0);
	const char *what = word(p, 1), *value = word(p, 2);
	nfstime3 *guard = &a->guard.sattrguard3_u.obj_ctime;
	sattr3 *to = &a->new_attributes;

	a->object = memfs_fh(o);
	if (strcmp(what, "mode") == 0) {
		to->mode.set_it = TRUE;
		to->mode.set_uint32_u.value = (unsigned)strtoul(value, NULL, 8);
	} else if (strcmp(what, "size") == 0) {
		to->size.set_it = TRUE;
		to->size.set_size3_u.size = strtoull(value, NULL, 10);
	} else if (strcmp(what, "mtime") == 0) {
		to->mtime.set_it = SET_TO_CLIENT_TIME;
		to->mtime.set_time_u.time.seconds =
		    (unsigned)strtoul(value, NULL, 10);
	} else {
		bad(p, "SETATTR of %s is not known", what);
	}
	a->guard.check = has(p, "guarded");
	guard->seconds = (unsigned)(o->ctime_ns / 1000000000);
	guard->nseconds = (unsigned)(o->ctime_ns % 1000000000);
}

static void parse_access(struct parser *p, union nfs_args *args)
{
	args->access.object = handle_at(p, 0);
	args->access.access = 0x3f;
}

static void parse_read(struct parser *p, union nfs_args *args)
{
	READ3args *a = &args->read;

	a->file = handle_at(p, 0);
	a->offset = p->n > 1 ? strtoull(word(p, 1), NULL, 10) : 0;
	a->count = p->n > 2 ? (unsigned)strtoul(word(p, 2), NULL, 10) : COUNT;
}

static void parse_write(struct parser *p, union nfs_args *args)
{
	WRITE3args *a = &args->write;

	a->file = handle_at(p, 0);
	a->offset = strtoull(word(p, 1), NULL, 10);
	a->data = view_of(word(p, 2));
	a->count = a->data.len;
	a->stable = has(p, "unstable") ? UNSTABLE : FILE_SYNC;
}

static void parse_create(struct parser *p, union nfs_args *args)
{
	createhow3 *how = &args->create.how;

	args->create.where = name_at(p, 0);
	if (has(p, "guarded"))
		how->mode = GUARDED;
	else if (has(p, "exclusive"))
		how->mode = EXCLUSIVE;
}

static void parse_symlink(struct parser *p, union nfs_args *args)
{
	args->symlink.where = name_at(p, 0);
	args->symlink.symlink.symlink_data = view_of(word(p, 1));
}

static void parse_mknod(struct parser *p, union nfs_args *args)
{
	args->mknod.where = name_at(p, 0);
	args->mknod.what.type = NF3FIFO;
}

static void parse_rename(struct parser *p, union nfs_args *args)
{
	args->rename.from = name_at(p, 0);
	args->rename.to = name_at(p, 1);
}

static void parse_link(struct parser *p, union nfs_args *args)
{
	args->link.file = handle_at(p, 0);
	args->link.link = name_at(p, 1);
}

static void parse_readdir(struct parser *p, union nfs_args *args)
{
	args->readdir.dir = handle_at(p, 0);
	args->readdir.count = COUNT;
}

static void parse_readdirplus(struct parser *p, union nfs_args *args)
{
	args->readdirplus.dir = handle_at(p, 0);
	args->readdirplus.dircount = COUNT;
	args->readdirplus.maxcount = 2 * COUNT;
	if (p->n > 1)
		args->readdirplus.maxcount =
		    (uint32_t)strtoul(word(p, 1), NULL, 10);
}

static void parse_mnt(struct parser *p, union nfs_args *args)
{
	args->mnt.dirpath = view_of(word(p, 0));
}

static void (*const parsers[])(struct parser *p, union nfs_args *args) = {
    [NFSPROC3_NULL] = parse_nothing,
    [NFSPROC3_GETATTR] = parse_object,
    [NFSPROC3_SETATTR] = parse_setattr,
    [NFSPROC3_LOOKUP] = parse_name,
    [NFSPROC3_ACCESS] = parse_access,
    [NFSPROC3_READLINK] = parse_object,
    [NFSPROC3_READ] = parse_read,
    [NFSPROC3_WRITE] = parse_write,
    [NFSPROC3_CREATE] = parse_create,
    [NFSPROC3_MKDIR] = parse_name, /* and no attributes */
    [NFSPROC3_SYMLINK] = parse_symlink,
    [NFSPROC3_MKNOD] = parse_mknod,
    [NFSPROC3_REMOVE] = parse_name,
    [NFSPROC3_RMDIR] = parse_name,
    [NFSPROC3_RENAME] = parse_rename,
    [NFSPROC3_LINK] = parse_link,
    [NFSPROC3_READDIR] = parse_readdir,
    [NFSPROC3_READDIRPLUS] = parse_readdirplus,
    [NFSPROC3_FSSTAT] = parse_object,
    [NFSPROC3_FSINFO] = parse_object,
    [NFSPROC3_PATHCONF] = parse_object,
    [NFSPROC3_COMMIT] = parse_object, /* all of it */
};

static const struct nfs_proc *proc_of_program(
    uint32_t prog, uint32_t vers, const char *name)
{
	const struct nfs_proc *proc;

	for (uint32_t i = 0; (proc = nfs_proc_find(prog, vers, i)) != NULL; i++)
		if (strcmp(proc->name, name) == 0)
			return proc;
	return NULL;
}

static const struct nfs_proc *proc_named(const char *name)
{
	const struct nfs_proc *proc =
	    proc_of_program(NFS_PROGRAM, NFS_V3, name);

	return proc ? proc : proc_of_program(MOUNT_PROGRAM, MOUNT_V3, name);
}

bool calltext_parse(struct memfs *fs, char *const *words, unsigned n,
    const struct nfs_proc **proc, union nfs_args *args, char err[CALLTEXT_MAX])
{
	struct parser p = {
	    .fs = fs, .words = words + 1, .n = n - 1, .err = err, .ok = true};

	memset(args, 0, sizeof(*args));
	*proc = n > 0 ? proc_named(words[0]) : NULL;
	if (!*proc) {
		snprintf(err, CALLTEXT_MAX, "%s is no procedure of NFS",
		    n > 0 ? words[0] : "nothing");
		return false;
	}
	if ((*proc)->prog == NFS_PROGRAM)
		parsers[(*proc)->proc](&p, args);
	else if ((*proc)->proc == MOUNTPROC3_MNT)
		parse_mnt(&p, args);
	return p.ok;
}

/* ---- to text ----------------------------------------------------------- */

struct text {
	char *to;
	size_t len;
};

static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->to + t->len, CALLTEXT_MAX - t->len, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
	if (t->len >= CALLTEXT_MAX)
		t->len = CALLTEXT_MAX - 1;
}

static void add_object(struct text *t, struct memfs *fs, const nfs3_fh *fh)
{
	const struct memfs_object *o = memfs_object_of(fs, fh);

	add(t, " %s", o ? o->path : "an-unknown-handle");
}

static void add_name(struct text *t, struct memfs *fs, const diropargs3 *d)
{
	const struct memfs_object *o = memfs_object_of(fs, &d->dir);

	add(t, " %s/%.*s", o && o->path[1] ? o->path : "", (int)d->name.len,
	    d->name.data);
}

static void add_setattr(struct text *t, const SETATTR3args *a)
{
	const sattr3 *s = &a->new_attributes;

	if (s->mode.set_it)
		add(t, " mode %o", s->mode.set_uint32_u.value);
	if (s->size.set_it)
		add(t, " size %ju", (uintmax_t)s->size.set_size3_u.size);
	if (s->mtime.set_it == SET_TO_CLIENT_TIME)
		add(t, " mtime %u", s->mtime.set_time_u.time.seconds);
	if (a->guard.check)
		add(t, " guarded");
}

static void add_page(struct text *t, const READDIRPLUS3args *a)
{
	if (a->cookie > 0)
		add(t, " behind %ju", (uintmax_t)a->cookie);
	else if (a->maxcount != 2 * COUNT)
		add(t, " %u", a->maxcount);
}

static void add_more(
    struct text *t, struct memfs *fs, uint32_t proc, const union nfs_args *a)
{
	if (proc == NFSPROC3_SETATTR)
		add_setattr(t, &a->setattr);
	else if (proc == NFSPROC3_READ)
		add(t, " %ju %u", (uintmax_t)a->read.offset, a->read.count);
	else if (proc == NFSPROC3_READDIRPLUS)
		add_page(t, &a->readdirplus);
	else if (proc == NFSPROC3_WRITE)
		add(t, " %ju %.*s%s", (uintmax_t)a->write.offset,
		    (int)(a->write.count < 99 ? a->write.count : 99),
		    a->write.data.data,
		    a->write.stable == UNSTABLE ? " unstable" : "");
	else if (proc == NFSPROC3_RENAME)
		add_name(t, fs, &a->rename.to);
	else if (proc == NFSPROC3_LINK)
		add_name(t, fs, &a->link.link);
}

/* The arguments of all but a few begin with a handle, or with a handle and a
 * name. */
void calltext_describe(struct memfs *fs, const struct nfs_proc *proc,
    const union nfs_args *args, char text[CALLTEXT_MAX])
{
	struct text t = {.to = text};

	add(&t, "%s", proc->name);
	if (proc->prog == MOUNT_PROGRAM) {
		if (proc->proc == MOUNTPROC3_MNT)
			add(&t, " %.*s", (int)args->mnt.dirpath.len,
			    args->mnt.dirpath.data);
		return;
	}
	switch (proc->proc) {
	case NFSPROC3_NULL:
		return;
	case NFSPROC3_LOOKUP:
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_RENAME:
		add_name(&t, fs, &args->dirop);
		break;
	default:
		add_object(&t, fs, &args->object);
		break;
	}
	add_more(&t, fs, proc->proc, args);
}

void calltext_join(char *const *words, unsigned n, char *to, size_t size)
{
	size_t len = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
		    to + len, size - len, "%s%s", i > 0 ? " " : "", words[i]);
}
