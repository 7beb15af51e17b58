/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two clients change a file in turn, never at the same time: one by the daemon,
 * as a program on Linux does it (open, append or edit a record, close), and
 * another one at the server itself. With close-to-open nothing is lost so, be
 * it that a write fails: no WRITE may change what the other one has written.
 *
 * The client by the daemon has a page cache. It reads a page that it lacks, and
 * believes one as long as the attributes that it is told at open are those that
 * it had the page with. A WRITE to a page that is there is widened to all of
 * it, as Linux does (nfs_can_extend_write()).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histories/play_private.h"
#include "scenario/vclock.h"

enum {
	RECORD = 8,
	RECORDS = 6,     /* in the file whose records are edited */
	LOG_MOST = 320,  /* then the other client begins the log anew */
	APART_US = 5000, /* more than what time stamps move by */
	PAGE_MAX = 480,
};

/* Files that two clients change in turn. */
enum { TURN_LOG, TURN_RECORDS, TURN_FILES };

enum turn_step { TURN_NONE, TURN_OPEN, TURN_READ, TURN_WRITE };

/* The turn of a client by the daemon. */
struct turn {
	enum turn_step step; /* NONE: it is nobody's turn */
	bool due;            /* its call is to be sent */
	bool hurried;        /* it is sent at once, not at the next event */
	bool reads;          /* a page that it lacks, before it writes to it */
	bool excused;        /* the daemon forgot that it told the attributes */
	bool narrow;         /* it writes the record alone */
	unsigned who, record;
	uint32_t xid;
	unsigned size; /* of the file, as told */
	char text[12]; /* of the new record */
};

/* The file's one page in a client's page cache. */
struct turn_page {
	bool valid;
	char attrs[128]; /* of the file, when it was read or written */
	unsigned size;
	char data[512];
};

/* A process plays one history. */
static struct turn turns[TURN_FILES];
static struct turn_page pages[TURN_FILES][PLACE_CLIENTS];
/* Since the daemon was killed, no reply has come that shows the file. */
static bool forgotten[TURN_FILES];
static unsigned records; /* that were written */

static const char *const paths[TURN_FILES] = {
    [TURN_LOG] = "/d/log", [TURN_RECORDS] = "/e/records"};

const char *play_turn_path(uint32_t place)
{
	return paths[place % TURN_FILES];
}

void play_turns_given(struct memfs *fs)
{
	play_make(fs, "CREATE /d/log");
	play_make(fs, "WRITE /d/log 0 thefirst");
	play_make(fs, "CREATE /e/records");
	play_make(fs,
	    "WRITE /e/records 0 record-0record-1record-2record-3record-4"
	    "record-5");
}

/* ---- the client by the daemon -------------------------------------------- */

static struct turn_page *page_of(const struct turn *t)
{
	return &pages[t - turns][t->who];
}

static bool send_step(struct play *p, struct turn *t, const char *text)
{
	if (!play_send(p, t->who, 0, text)) {
		t->step = TURN_NONE;
		return false;
	}
	t->xid = p->players[t->who].calls[0].xid;
	t->due = false;
	return true;
}

static bool open_file(struct play *p, struct turn *t)
{
	char text[CALLTEXT_MAX];

	snprintf(text, sizeof(text), "GETATTR %s", paths[t - turns]);
	return send_step(p, t, text);
}

static bool read_page(struct play *p, struct turn *t)
{
	char text[CALLTEXT_MAX];

	snprintf(text, sizeof(text), "READ %s 0 4096", paths[t - turns]);
	return send_step(p, t, text);
}

static unsigned write_offset(const struct turn *t)
{
	return t == &turns[TURN_LOG] ? t->size : t->record * RECORD;
}

static bool write_record(struct play *p, struct turn *t)
{
	const struct turn_page *page = page_of(t);
	unsigned at = write_offset(t);
	bool wide = page->valid && !t->narrow;
	char data[PAGE_MAX + RECORD + 1] = "", text[CALLTEXT_MAX];

	if (wide)
		memcpy(data, page->data, page->size);
	memcpy(data + (wide ? at : 0), t->text, RECORD);
	snprintf(text, sizeof(text), "WRITE %s %u %s", paths[t - turns],
	    wide ? 0 : at, data);
	return send_step(p, t, text);
}

/* True where a call was sent. */
static bool step(struct play *p, struct turn *t)
{
	if (!t->due || p->players[t->who].calls[0].waits || !p->place.daemon)
		return false;
	switch (t->step) {
	case TURN_OPEN:
		return open_file(p, t);
	case TURN_READ:
		return read_page(p, t);
	case TURN_WRITE:
		return write_record(p, t);
	default:
		return false;
	}
}

bool play_turns_go(struct play *p, bool all)
{
	bool sent = false;

	for (unsigned i = 0; i < TURN_FILES; i++)
		if (all || turns[i].hurried)
			sent |= step(p, &turns[i]);
	return sent;
}

bool play_turns_over(void)
{
	for (unsigned i = 0; i < TURN_FILES; i++)
		if (turns[i].step != TURN_NONE)
			return false;
	return true;
}

/* ---- its replies --------------------------------------------------------- */

/* The object's attributes in the reply, or NULL. */
static const char *attrs_in(const struct calltext_facts *facts)
{
	return facts->nattrs > 0 ? facts->attrs[0].text : NULL;
}

static bool is_told(struct turn *t, const char *attrs)
{
	const char *size = attrs ? strstr(attrs, "size ") : NULL;

	if (!size)
		return false;
	t->size = (unsigned)strtoul(size + 5, NULL, 10);
	return true;
}

static enum turn_step opened(
    struct turn *t, struct turn_page *page, const char *attrs)
{
	if (!is_told(t, attrs) || t->size > PAGE_MAX - RECORD)
		return TURN_NONE;
	if (strcmp(page->attrs, attrs) != 0)
		page->valid = false;
	return page->valid || !t->reads ? TURN_WRITE : TURN_READ;
}

static enum turn_step got_page(struct turn *t, struct turn_page *page,
    const char *attrs, const struct calltext_facts *facts)
{
	if (!is_told(t, attrs) || t->size > PAGE_MAX - RECORD)
		return TURN_NONE;
	for (unsigned i = 0; i < facts->n; i++)
		if (strncmp(facts->list[i], "data ", 5) == 0)
			snprintf(page->data, sizeof(page->data), "%s",
			    facts->list[i] + 5);
	page->size = (unsigned)strlen(page->data);
	snprintf(page->attrs, sizeof(page->attrs), "%s", attrs);
	page->valid = page->size == t->size;
	return page->valid ? TURN_WRITE : TURN_NONE;
}

static void written(struct turn *t, struct turn_page *page, const char *attrs)
{
	unsigned at = write_offset(t);

	/* A page that was believed on the strength of such an answer may lack
	 * what the other one wrote; its next turn is not to be judged by it. */
	if (!attrs || t->excused)
		page->valid = false;
	if (!page->valid)
		return;
	memcpy(page->data + at, t->text, RECORD);
	if (at + RECORD > page->size)
		page->size = at + RECORD;
	snprintf(page->attrs, sizeof(page->attrs), "%s", attrs);
}

static void take_reply(struct turn *t, const struct calltext_facts *facts)
{
	struct turn_page *page = page_of(t);
	const char *attrs = attrs_in(facts);
	enum turn_step was = t->step;

	t->step = TURN_NONE;
	t->due = true;
	if (strcmp(facts->list[0], "OK") != 0) {
		page->valid = false;
		return;
	}
	/* Without the server, a daemon that was killed tells what it had saved,
	 * which may lack what another machine wrote. */
	if (was == TURN_OPEN)
		t->excused |= forgotten[t - turns];
	if (was == TURN_OPEN)
		t->step = opened(t, page, attrs);
	else if (was == TURN_READ)
		t->step = got_page(t, page, attrs, facts);
	else
		written(t, page, attrs);
}

static struct turn *turn_of(unsigned who, uint32_t xid)
{
	for (unsigned i = 0; i < TURN_FILES; i++) {
		struct turn *t = &turns[i];

		if (t->step != TURN_NONE && !t->due && t->who == who &&
		    t->xid == xid)
			return t;
	}
	return NULL;
}

void play_turns_reply(
    unsigned who, uint32_t xid, const struct calltext_facts *facts)
{
	struct turn *t = turn_of(who, xid);

	if (t)
		take_reply(t, facts);
}

bool play_turn_waits(struct play *p, unsigned who)
{
	const struct play_call *c = &p->players[who].calls[0];

	return c->waits && turn_of(who, c->xid);
}

void play_turns_told(struct play *p, unsigned who)
{
	for (unsigned i = 0; i < TURN_FILES; i++) {
		struct turn *t = &turns[i];

		t->excused |= t->step > TURN_OPEN && t->who != who &&
			      !(p->parts & 1u << PART_MACHINES);
	}
}

void play_turns_flushed(void)
{
	for (unsigned i = 0; i < TURN_FILES; i++)
		turns[i].excused |= turns[i].step > TURN_OPEN;
}

void play_turns_killed(void)
{
	play_turns_flushed();
	for (unsigned i = 0; i < TURN_FILES; i++)
		forgotten[i] = true;
}

void play_turns_learn(struct play *p, const struct learn *l)
{
	const struct memfs_object *o;

	if (l->proc->prog != NFS_PROGRAM ||
	    (l->proc->proc != NFSPROC3_WRITE &&
		l->proc->proc != NFSPROC3_GETATTR &&
		l->proc->proc != NFSPROC3_ACCESS &&
		l->proc->proc != NFSPROC3_READ) ||
	    l->res->status != NFS3_OK)
		return;
	/* Their handles all stand first. */
	o = memfs_object_of(p->place.fs, &l->args->object);
	for (unsigned i = 0; o && i < TURN_FILES; i++)
		if (strcmp(o->path, paths[i]) == 0)
			forgotten[i] = false;
}

void play_turns_leave(void)
{
	for (unsigned i = 0; i < TURN_FILES; i++)
		turns[i].step = TURN_NONE;
	memset(pages, 0, sizeof(pages));
}

/* ---- turns --------------------------------------------------------------- */

/* A daemon that was killed had sent a WRITE, its next one has sent it again as
 * another call, and the server would do the first after the other's turn. No
 * client of any kind can know that it was dropped, so it is. */
static void drop_lost(struct play *p, const char *path)
{
	struct fakeserver *nfs = p->place.nfs;
	char text[CALLTEXT_MAX];

	snprintf(text, sizeof(text), "WRITE %s", path);
	for (unsigned i = 0; i < fakeserver_waiting(nfs);) {
		struct fakeserver_call *call = fakeserver_nth(nfs, i);

		if (strncmp(call->text, text, strlen(text)) == 0 &&
		    !fakeserver_connected(nfs, call->conn))
			fakeserver_drop(nfs, call);
		else
			i++;
	}
}

/* Two changes within one tick of the server's clock may have one time stamp, by
 * which no client could tell them apart. */
static void begin_turn(struct play *p, unsigned file)
{
	drop_lost(p, paths[file]);
	vclock_pass(APART_US);
	play_check_replies(p);
}

bool play_turn_begin(struct play *p, const struct event *e)
{
	unsigned file = e->place % TURN_FILES;
	struct turn *t = &turns[file];

	if (t->step != TURN_NONE)
		return false;
	begin_turn(p, file);
	*t = (struct turn){.step = TURN_OPEN,
	    .due = true,
	    .who = e->a % p->nplayers,
	    .hurried = e->detail % 4 > 0,
	    .reads = file == TURN_RECORDS || e->b >> 31,
	    .narrow = (e->b >> 28) % 4 == 0,
	    .record = e->b % RECORDS};
	snprintf(t->text, sizeof(t->text), "%c%06u.", 'A' + t->who,
	    records++ % 1000000);
	return true;
}

static void begin_anew(struct memfs *fs, const struct memfs_object *o)
{
	if (o->size > LOG_MOST)
		play_make(fs, "SETATTR /d/log size 0");
}

bool play_turn_other(struct play *p, const struct event *e)
{
	unsigned file = e->place % TURN_FILES;
	struct memfs *fs = p->place.fs;
	const struct memfs_object *o = memfs_find(fs, paths[file]);
	char text[CALLTEXT_MAX];

	if (turns[file].step != TURN_NONE)
		return false;
	begin_turn(p, file);
	if (file == TURN_LOG)
		begin_anew(fs, o);
	snprintf(text, sizeof(text), "WRITE %s %u z%06u.", paths[file],
	    file == TURN_LOG ? (unsigned)o->size : e->b % RECORDS * RECORD,
	    records++ % 1000000);
	play_make(fs, text);
	judge_changed(p->judge, fs);
	p->out->strangers++;
	return true;
}

/* ---- what the server gets ------------------------------------------------ */

/* Whether the byte is the turn's own to write. */
static bool is_own(
    const struct turn *t, const struct memfs_object *o, uint64_t at)
{
	uint64_t first =
	    t == &turns[TURN_LOG] ? o->size : (uint64_t)t->record * RECORD;

	return at >= first && at < first + RECORD;
}

/* `lost`: the connection over which the WRITE came is closed by now. */
static const char *wrong_with(const struct turn *t,
    const struct memfs_object *o, const WRITE3args *a, bool lost)
{
	if (t->excused)
		return NULL;
	/* A machine that left had sent it in its turn, and no other turn has
	 * begun (begin_turn()). */
	if (lost && t->step == TURN_NONE)
		return NULL;
	if (t->step != TURN_WRITE)
		return "outside of any turn";
	if (a->offset > o->size)
		return "behind the end";
	for (uint64_t i = 0; i < a->count; i++) {
		uint64_t at = a->offset + i;

		if (!is_own(t, o, at) &&
		    (at >= o->size || o->data[at] != a->data.data[i]))
			return "over what another client has written";
	}
	return NULL;
}

void play_turns_look(struct play *p, const struct fakeserver_call *call)
{
	const WRITE3args *a = &call->args.write;
	bool lost = !fakeserver_connected(p->place.nfs, call->conn);
	const struct memfs_object *o;

	if (call->proc->prog != NFS_PROGRAM ||
	    call->proc->proc != NFSPROC3_WRITE)
		return;
	o = memfs_object_of(p->place.fs, &a->file);
	for (unsigned i = 0; o && i < TURN_FILES; i++) {
		const char *wrong = strcmp(o->path, paths[i]) == 0
					? wrong_with(&turns[i], o, a, lost)
					: NULL;

		if (wrong)
			script_fail("the server is about to do %s: it writes "
				    "%s (%ju bytes, \"%.*s\")",
			    call->text, wrong, (uintmax_t)o->size, (int)o->size,
			    o->data);
	}
}
