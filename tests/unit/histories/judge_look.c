/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges replies to calls that change nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histories/judge_private.h"

/* ---- facts ------------------------------------------------------------- */

static void ask(struct memfs *fs, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, struct calltext_facts *facts)
{
	union nfs_res res;

	memfs_execute(fs, proc->proc, args, uid, &res);
	calltext_facts(proc, &res, facts);
}

/* The user had the right to READ in a state that counts. */
static bool might_read(const struct judge *j, const struct judge_op *op)
{
	struct calltext_facts is;

	for (unsigned i = judge_first_right(j, op);
	     op->proc->proc == NFSPROC3_READ && i < j->nstates; i++) {
		ask(j->states[i].fs, op->proc, &op->args, op->uid, &is);
		if (strcmp(is.list[0], "ACCES") != 0)
			return true;
	}
	return false;
}

/* Whom a state lets read the object. */
static unsigned owner_in(const struct state *s, const nfs3_fh *fh)
{
	const struct memfs_object *o = memfs_object_of(s->fs, fh);

	return o ? o->uid : 0;
}

/* How much room there is, is a fact of its own. A change of ours that takes or
 * gives some ends what was told before it; the attributes have their own age.
 */
static const char *look_room(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	struct calltext_facts is = {0};

	for (unsigned i = judge_first_room(j, op); i < j->nstates; i++) {
		ask(j->states[i].fs, op->proc, &op->args, op->uid, &is);
		if (calltext_same_facts(&is, got))
			return NULL;
	}
	return judge_wrong(j, "the room of no allowed state", got, &is);
}

/* All of the reply is one fact, but for the right to it. */
static const char *look_whole(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	unsigned i =
	    op->proc->proc == NFSPROC3_ACCESS
		? judge_first_right(j, op)
		: judge_first(j, op, judge_id(j, &op->args.object), NULL);
	struct calltext_facts is = {0};
	bool readable = might_read(j, op);

	for (; i < j->nstates; i++) {
		if (op->proc->proc != NFSPROC3_ACCESS &&
		    !judge_may(j, op, judge_id(j, &op->args.object), i))
			continue;
		ask(j->states[i].fs, op->proc, &op->args, op->uid, &is);
		if (calltext_same_facts(&is, got))
			return NULL;
		if (!readable)
			continue;
		ask(j->states[i].fs, op->proc, &op->args,
		    owner_in(&j->states[i], &op->args.object), &is);
		if (calltext_same_facts(&is, got))
			return NULL;
	}
	return judge_wrong(j, "true in no allowed state", got, &is);
}

static const char *look_name(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	const diropargs3 *d = &op->args.dirop;
	char name[MEMFS_NAME_MAX];
	bool found = strcmp(got->list[0], "OK") == 0;
	struct calltext_facts is = {0};
	unsigned i;

	judge_name(&d->name, name);
	i = judge_first(j, op, judge_id(j, &d->dir), name);
	for (; i < j->nstates; i++) {
		if (!judge_may(j, op, judge_id(j, &d->dir), i))
			continue;
		ask(j->states[i].fs, op->proc, &op->args, op->uid, &is);
		if (calltext_begin_alike(got, &is, found ? 2 : 1))
			return NULL;
	}
	return judge_wrong(j, "a name of no allowed state", got, &is);
}

/* ---- listings ---------------------------------------------------------- */

enum { NAMES_MAX = 64 };

struct names {
	unsigned n;
	struct {
		char text[MEMFS_NAME_MAX];
		unsigned listed; /* so many times in the reply */
	} list[NAMES_MAX];
};

/* Adds the name if it is not there, and counts it as listed so many times. */
static void add_name(struct names *names, const char *text, unsigned listed)
{
	unsigned i = 0;

	while (i < names->n && strcmp(names->list[i].text, text) != 0)
		i++;
	if (i == NAMES_MAX)
		abort();
	if (i == names->n) {
		snprintf(names->list[i].text, MEMFS_NAME_MAX, "%s", text);
		names->list[i].listed = 0;
		names->n++;
	}
	names->list[i].listed += listed;
}

/* Those of the reply ("names a b c"), and those that ever were there. */
static void collect_names(const struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got, struct names *names)
{
	char copy[CALLTEXT_MAX], *save;
	char *w;

	names->n = 0;
	snprintf(copy, sizeof(copy), "%s", got->list[1]);
	w = strtok_r(copy, " ", &save);
	while (w && strcmp(copy, "names") == 0 &&
	       (w = strtok_r(NULL, " ", &save)) != NULL)
		add_name(names, w, 1);
	for (unsigned i = 0; i < j->nstates; i++) {
		const struct memfs_object *dir =
		    memfs_object_of(j->states[i].fs, &op->args.object);

		for (unsigned k = 0; dir && k < dir->nnames; k++)
			add_name(names, dir->names[k].name, 0);
	}
}

static unsigned times_there(
    const struct state *s, const nfs3_fh *dir, const char *name)
{
	return judge_leads_to(s, dir, name) ? 1 : 0;
}

static bool may_be_listed(const struct judge *j, const struct judge_op *op,
    const char *name, unsigned times)
{
	const nfs3_fh *fh = &op->args.object;

	for (unsigned i = judge_first(j, op, judge_id(j, fh), name);
	     i < j->nstates; i++)
		if (times == times_there(&j->states[i], fh, name) &&
		    judge_may(j, op, judge_id(j, fh), i))
			return true;
	return false;
}

static bool is_bound_to(const struct judge *j, const struct judge_op *op,
    const char *name, uint64_t object)
{
	const nfs3_fh *dir = &op->args.object;

	for (unsigned i = judge_first(j, op, judge_id(j, dir), name);
	     i < j->nstates; i++)
		if (object &&
		    judge_leads_to(&j->states[i], dir, name) == object &&
		    judge_may(j, op, judge_id(j, dir), i))
			return true;
	return false;
}

static const char *look_entry(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got, const struct calltext_entry *e)
{
	char handle[sizeof(e->handle)];
	nfs3_fh fh = {.len = 16, .data = handle};
	char what[160];

	memcpy(handle, e->handle, sizeof(handle));
	if (is_bound_to(j, op, e->name, judge_id(j, &fh)))
		return NULL;
	snprintf(what, sizeof(what),
	    "the entry %s leads to %s, as in no allowed state", e->name,
	    e->handle);
	return judge_wrong(j, what, got, NULL);
}

/* In strict mode the server was asked for the listing, so it is of one state.
 */
static bool is_of_one_state(
    const struct judge *j, const struct judge_op *op, const struct names *names)
{
	const nfs3_fh *fh = &op->args.object;

	for (unsigned i = op->sent_state; i < j->nstates; i++) {
		unsigned alike = 0;

		for (unsigned k = 0; k < names->n; k++)
			alike +=
			    names->list[k].listed ==
			    times_there(&j->states[i], fh, names->list[k].text);
		if (alike == names->n)
			return true;
	}
	return false;
}

static const char *look_list(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	struct names names;
	char what[100];

	collect_names(j, op, got, &names);
	for (unsigned i = 0; i < names.n; i++) {
		const char *name = names.list[i].text;
		unsigned times = names.list[i].listed;

		if (may_be_listed(j, op, name, times))
			continue;
		snprintf(what, sizeof(what),
		    "%s is listed %u times, as in no allowed state", name,
		    times);
		return judge_wrong(j, what, got, NULL);
	}
	if (j->rules.mode == JUDGE_STRICT && !is_of_one_state(j, op, &names))
		return judge_wrong(j, "a listing of two states", got, NULL);
	for (unsigned i = 0; i < got->nentries; i++) {
		const char *wrong = look_entry(j, op, got, &got->entries[i]);

		if (wrong)
			return wrong;
	}
	return NULL;
}

/* ---- attributes -------------------------------------------------------- */

void judge_add_told(
    struct judge *j, const struct judge_op *op, uint64_t object, unsigned state)
{
	j->told = judge_grow(j->told, j->ntold, sizeof(j->told[0]));
	j->told[j->ntold++] = (struct told){.object = object,
	    .uid = op->uid,
	    .address = op->address,
	    .state = state,
	    .seq = j->seq};
}

/* The first state from `i` on that may be told, and in which the object had
 * them; `nstates`: none. */
static unsigned state_of(const struct judge *j, const struct judge_op *op,
    unsigned i, const struct calltext_attr *attr)
{
	for (; i < j->nstates; i++) {
		const struct state *s = &j->states[i];
		const struct memfs_object *o = judge_object(s, attr->fileid);
		struct calltext_attr is;
		post_op_attr a;

		if (!o || !judge_may(j, op, attr->fileid, i))
			continue;
		a = memfs_attr(s->fs, o);
		calltext_attr(&a, &is);
		if (strcmp(is.text, attr->text) == 0)
			break;
	}
	return i;
}

const char *judge_attrs(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	bool change = calltext_is_change(op->proc);
	char what[200];

	for (unsigned i = 0; i < got->nattrs; i++) {
		const struct calltext_attr *a = &got->attrs[i];
		unsigned first = change ? op->sent_state
					: judge_first(j, op, a->fileid, NULL);
		unsigned state = state_of(j, op, first, a);

		if (state == j->nstates) {
			snprintf(what, sizeof(what),
			    "attributes of object %ju of no allowed state "
			    "(%s)",
			    (uintmax_t)a->fileid, a->text);
			return judge_wrong(j, what, got, NULL);
		}
		judge_add_told(j, op, a->fileid, state);
	}
	return NULL;
}

static const char *look(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	uint32_t proc = op->proc->proc;

	if (proc == NFSPROC3_LOOKUP)
		return look_name(j, op, got);
	if (proc == NFSPROC3_FSSTAT)
		return look_room(j, op, got);
	if ((proc == NFSPROC3_READDIR || proc == NFSPROC3_READDIRPLUS) &&
	    strcmp(got->list[0], "OK") == 0)
		return look_list(j, op, got);
	return look_whole(j, op, got);
}

const char *judge_look(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got)
{
	const char *wrong = look(j, op, got);

	return wrong ? wrong : judge_attrs(j, op, got);
}
