/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies to looks: which states may have been seen, and whether one was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histories/judge_private.h"

#define BOUND_NS UINT64_C(3001000000) /* attr_timeout, and a reading's time */

/* "object-000012" is that of fileid 112; see memfs.c. */
static uint64_t fileid_of(const char *fh, size_t len)
{
	char text[17] = "";

	if (len > 16)
		len = 16;
	memcpy(text, fh, len);
	return strncmp(text, "object-", 7) == 0
		   ? 100 + strtoull(text + 7, NULL, 10)
		   : 0;
}

static uint64_t id_of(const nfs3_fh *fh)
{
	return fileid_of(fh->data, fh->len);
}

bool judge_is_once(const struct nfs_proc *proc)
{
	return proc->proc >= NFSPROC3_CREATE && proc->proc <= NFSPROC3_LINK;
}

/* ---- what a change is about ---------------------------------------------- */

static void touch_name(struct ack *k, unsigned i, const diropargs3 *d)
{
	k->names[i].dir = id_of(&d->dir);
	snprintf(k->names[i].name, MEMFS_NAME_MAX, "%.*s", (int)d->name.len,
	    d->name.data);
	k->objects[i] = id_of(&d->dir);
}

void judge_touched(const struct judge_op *op, struct ack *k)
{
	switch (op->proc->proc) {
	case NFSPROC3_SETATTR:
	case NFSPROC3_WRITE:
	case NFSPROC3_COMMIT:
		k->objects[0] = id_of(&op->args.object);
		break;
	case NFSPROC3_RENAME:
		touch_name(k, 0, &op->args.rename.from);
		touch_name(k, 1, &op->args.rename.to);
		break;
	case NFSPROC3_LINK:
		touch_name(k, 0, &op->args.link.link);
		k->objects[2] = id_of(&op->args.link.file);
		break;
	default:
		touch_name(k, 0, &op->args.dirop);
	}
}

/* ---- the states that a fact may be of ------------------------------------ */

/* What was saved may lack the last changes before a kill. */
static bool counts(
    const struct judge *j, const struct judge_op *op, const struct ack *k)
{
	return k->seq < op->sent_seq && !(op->away && j->killed_seq > k->seq);
}

/* No earlier than our own changes of the object, or of the name in it. */
static unsigned floor_of(const struct judge *j, const struct judge_op *op,
    uint64_t object, const char *name)
{
	unsigned floor = 0;

	for (unsigned i = 0; i < j->nacks; i++) {
		const struct ack *k = &j->acks[i];
		bool about = false;

		for (unsigned n = 0; !name && n < TOUCHED; n++)
			about |= k->objects[n] == object;
		for (unsigned n = 0; name && n < 2; n++)
			about |= k->names[n].dir == object &&
				 strcmp(k->names[n].name, name) == 0;
		if (about && counts(j, op, k) && k->state > floor)
			floor = k->state;
	}
	return floor;
}

/* No earlier than the mode allows. */
static unsigned bound_of(const struct judge *j, const struct judge_op *op)
{
	unsigned i = op->sent_state;

	if (op->away || j->mode == JUDGE_FROZEN)
		return 0;
	if (j->mode == JUDGE_STRICT)
		return i;
	while (i > 0 && j->states[i].ns + BOUND_NS > op->sent_ns)
		i--;
	return i;
}

static unsigned first_of(const struct judge *j, const struct judge_op *op,
    uint64_t object, const char *name)
{
	unsigned bound = bound_of(j, op);
	unsigned floor = floor_of(j, op, object, name);

	return floor > bound ? floor : bound;
}

/* ---- facts ----------------------------------------------------------------
 */

static void ask(struct memfs *fs, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, struct calltext_facts *facts)
{
	union nfs_res res;

	memfs_execute(fs, proc->proc, args, uid, &res);
	calltext_facts(proc, &res, facts);
}

/* Facts `from` to `to` of the reply, and as many of a state's. */
static bool agree(const struct calltext_facts *got, unsigned from, unsigned to,
    const struct calltext_facts *is)
{
	if (is->n < to)
		return false;
	for (unsigned i = from; i < to; i++)
		if (strcmp(got->list[i], is->list[i]) != 0)
			return false;
	return true;
}

/* Was the whole reply true in one state? */
static const char *look_whole(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	unsigned i = first_of(j, op, id_of(&op->args.object), NULL);
	struct calltext_facts is;

	for (is.n = 0; i < j->nstates; i++) {
		ask(j->states[i].fs, op->proc, &op->args, op->uid, &is);
		if (is.n == got->n && agree(got, 0, got->n, &is))
			return NULL;
	}
	return judge_wrong(j, "true in no state that it may show", got, &is);
}

/* The attributes from fact 2 on are those of the object that was found. */
static const char *look_found(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	const struct nfs_proc *getattr =
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR);
	const char *fh = got->list[1] + strlen("handle ");
	uint64_t id = fileid_of(fh, strlen(fh));
	unsigned i = first_of(j, op, id, NULL);
	struct calltext_facts is = {0}, attr = {.n = got->n - 1};
	char handle[16] = "";
	union nfs_args args = {.object = {.len = 16, .data = handle}};

	if (strcmp(got->list[2], "no attributes") == 0)
		return NULL;
	memcpy(handle, fh, strnlen(fh, 15));
	strcpy(attr.list[0], "OK");
	for (unsigned k = 1; k < attr.n; k++)
		strcpy(attr.list[k], got->list[k + 1]);
	for (; i < j->nstates; i++) {
		ask(j->states[i].fs, getattr, &args, op->uid, &is);
		if (agree(&attr, 0, attr.n, &is))
			return NULL;
	}
	return judge_wrong(
	    j, "attributes of no state that it may show", got, &is);
}

static const char *look_name(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	const diropargs3 *d = &op->args.dirop;
	char name[MEMFS_NAME_MAX];
	bool found = strcmp(got->list[0], "OK") == 0;
	struct calltext_facts is = {0};
	unsigned i;

	snprintf(name, sizeof(name), "%.*s", (int)d->name.len, d->name.data);
	i = first_of(j, op, id_of(&d->dir), name);
	for (; i < j->nstates; i++) {
		ask(j->states[i].fs, op->proc, &op->args, op->uid, &is);
		if (agree(got, 0, found ? 2 : 1, &is))
			return found ? look_found(j, op, got) : NULL;
	}
	return judge_wrong(j, "a name of no state that it may show", got, &is);
}

static bool lists(const struct memfs_object *dir, const char *name)
{
	for (unsigned i = 0; i < dir->nnames; i++)
		if (strcmp(dir->names[i].name, name) == 0)
			return true;
	return false;
}

/* How often the name stands in "names a b c". */
static unsigned listed(const char *names, const char *name)
{
	char copy[CALLTEXT_MAX], *save;
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", names);
	strtok_r(copy, " ", &save);
	for (char *w; (w = strtok_r(NULL, " ", &save)) != NULL;)
		n += strcmp(w, name) == 0;
	return n;
}

/* Whether the one name may be listed so often. */
static bool may_be_listed(struct judge *j, const struct judge_op *op,
    const char *name, unsigned times)
{
	uint64_t id = id_of(&op->args.object);

	for (unsigned i = first_of(j, op, id, name); i < j->nstates; i++) {
		const struct memfs_object *dir =
		    &j->states[i].fs->objects[id - 100];

		if (times == (dir->nnames > 0 && lists(dir, name) ? 1 : 0))
			return true;
	}
	return false;
}

/* Every name that ever was there. */
static const char *look_list(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	uint64_t id = id_of(&op->args.object);
	char what[100];

	for (unsigned i = 0; i < j->nstates; i++) {
		const struct memfs_object *dir =
		    &j->states[i].fs->objects[id - 100];

		for (unsigned k = 0; k < dir->nnames; k++) {
			const char *name = dir->names[k].name;

			if (may_be_listed(
				j, op, name, listed(got->list[1], name)))
				continue;
			snprintf(what, sizeof(what),
			    "%s is listed %u times, or was listed too long",
			    name, listed(got->list[1], name));
			return judge_wrong(j, what, got, NULL);
		}
	}
	return NULL;
}

/* Offline, what is not cached is an error, and only then. */
static bool is_excused(
    const struct judge_op *op, const struct calltext_facts *got)
{
	return op->away && strcmp(got->list[0], "IO") == 0;
}

const char *judge_look(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	uint32_t proc = op->proc->proc;

	if (is_excused(op, got))
		return NULL;
	if (proc == NFSPROC3_LOOKUP)
		return look_name(j, op, got);
	if ((proc == NFSPROC3_READDIR || proc == NFSPROC3_READDIRPLUS) &&
	    strcmp(got->list[0], "OK") == 0)
		return look_list(j, op, got);
	return look_whole(j, op, got);
}
