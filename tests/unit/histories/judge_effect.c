/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which objects and names a change is about, and whether it shows. */
#include <stdio.h>
#include <string.h>

#include "histories/judge_private.h"

uint64_t judge_id(const struct judge *j, const nfs3_fh *fh)
{
	const struct memfs_object *o =
	    memfs_object_of(j->states[j->nstates - 1].fs, fh);

	return o ? o->fileid : 0;
}

void judge_name(const nfs3_name *name, char to[MEMFS_NAME_MAX])
{
	snprintf(to, MEMFS_NAME_MAX, "%.*s", (int)name->len, name->data);
}

const struct memfs_object *judge_object(const struct state *s, uint64_t fileid)
{
	for (unsigned i = 0; i < s->fs->n; i++)
		if (s->fs->objects[i].fileid == fileid)
			return &s->fs->objects[i];
	return NULL;
}

uint64_t judge_leads_to(
    const struct state *s, const nfs3_fh *dir, const char *name)
{
	const struct memfs_object *d = memfs_object_of(s->fs, dir);

	for (unsigned i = 0; d && i < d->nnames; i++)
		if (strcmp(d->names[i].name, name) == 0)
			return d->names[i].object->fileid;
	return 0;
}

static uint64_t leads_to(const struct state *s, const diropargs3 *d)
{
	char name[MEMFS_NAME_MAX];

	judge_name(&d->name, name);
	return judge_leads_to(s, &d->dir, name);
}

uint64_t judge_victim(const struct state *before, const struct nfs_proc *proc,
    const union nfs_args *args)
{
	switch (proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return leads_to(before, &args->dirop);
	case NFSPROC3_RENAME:
		return leads_to(before, &args->rename.from);
	default:
		return 0;
	}
}

/* ---- what a change is about ---------------------------------------------- */

static void touch(struct ack *k, uint64_t object)
{
	unsigned i = 0;

	while (i < ACK_OBJECTS - 1 && k->objects[i])
		i++;
	k->objects[i] = object;
}

/* The directory, the name, and what it led to before and leads to now. */
static void touch_name(
    const struct judge *j, struct ack *k, unsigned i, const diropargs3 *d)
{
	const struct state *after = &j->states[k->state];
	uint64_t object = leads_to(after - 1, d);

	k->names[i].dir = judge_id(j, &d->dir);
	judge_name(&d->name, k->names[i].name);
	touch(k, k->names[i].dir);
	touch(k, object ? object : leads_to(after, d));
}

void judge_touched(
    const struct judge *j, const struct judge_op *op, struct ack *k)
{
	struct memfs_room before = memfs_room(j->states[k->state - 1].fs);
	struct memfs_room after = memfs_room(j->states[k->state].fs);

	k->rights = op->proc->proc == NFSPROC3_SETATTR;
	k->room = before.bytes != after.bytes || before.files != after.files;
	switch (op->proc->proc) {
	case NFSPROC3_SETATTR:
	case NFSPROC3_WRITE:
	case NFSPROC3_COMMIT:
		touch(k, judge_id(j, &op->args.object));
		break;
	case NFSPROC3_RENAME:
		touch_name(j, k, 0, &op->args.rename.from);
		touch_name(j, k, 1, &op->args.rename.to);
		break;
	default: /* a name stands first in the arguments of all but LINK */
		touch_name(j, k, 0,
		    op->proc->proc == NFSPROC3_LINK ? &op->args.link.link
						    : &op->args.dirop);
	}
}

/* The name led to the object in some state. The daemon notes what its caches
 * know, however old that is. */
static bool led_to(const struct judge *j, const struct judge_op *op,
    const diropargs3 *d, uint64_t object)
{
	for (unsigned i = 0; i <= op->sent_state; i++)
		if (leads_to(&j->states[i], d) == object)
			return true;
	return false;
}

/* Everything that a SETATTR asks for is in force, whoever set it. */
static bool is_as_asked(const struct memfs_object *o, const sattr3 *a)
{
	return o &&
	       (!a->mode.set_it || a->mode.set_uint32_u.value == o->mode) &&
	       (!a->uid.set_it || a->uid.set_uint32_u.value == o->uid) &&
	       (!a->size.set_it || a->size.set_size3_u.size == o->size) &&
	       a->mtime.set_it == DONT_CHANGE;
}

static bool shows(
    const struct judge *j, const struct judge_op *op, const struct state *s)
{
	const union nfs_args *args = &op->args;
	uint64_t object;

	switch (op->proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return leads_to(s, &args->dirop) == 0;
	case NFSPROC3_RENAME:
		object = leads_to(s, &args->rename.to);
		return object && led_to(j, op, &args->rename.from, object);
	case NFSPROC3_LINK:
		object = leads_to(s, &args->link.link);
		return object && object == judge_id(j, &args->link.file);
	case NFSPROC3_SETATTR:
		return is_as_asked(judge_object(s, judge_id(j, &args->object)),
		    &args->setattr.new_attributes);
	default:
		return false;
	}
}

bool judge_has_effect(const struct judge *j, const struct judge_op *op)
{
	for (unsigned i = op->sent_state; i < j->nstates; i++)
		if (shows(j, op, &j->states[i]))
			return true;
	return false;
}
