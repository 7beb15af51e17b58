/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls and replies as text, so that a scenario can name them:
 *
 *	GETATTR /f              READ /f OFFSET COUNT        CREATE /f [guarded]
 *	ACCESS /f               WRITE /f OFFSET TEXT [unstable]
 *	LOOKUP /f               COMMIT /f                   REMOVE /f
 *	READDIR /d              SYMLINK /l TARGET           RENAME /a /b
 *	SETATTR /f mode OCTAL|size N|mtime SECONDS [guarded]
 *
 * and others alike; of MOUNT there are MNT /path and EXPORT. #N is the object
 * that has the file number. A path stands for the handle of what has it now at
 * the server, or had it last.
 */
#ifndef FOREFETCH_TESTS_CALLTEXT_H
#define FOREFETCH_TESTS_CALLTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/memfs.h"

enum { CALLTEXT_MAX = 512 };

enum { CALLTEXT_ATTRS = 24 };

struct calltext_attr {
	uint64_t fileid;
	char text[128]; /* "type 1, size 5, …" */
};

struct calltext_facts {
	unsigned n;
	char list[16][CALLTEXT_MAX];
	/* All attributes of the reply, and the handles that READDIRPLUS told of
	 * entries. They are no facts, since a server may leave them out. */
	unsigned nattrs, nentries;
	struct calltext_attr attrs[CALLTEXT_ATTRS];
	struct calltext_entry {
		char name[MEMFS_NAME_MAX];
		char handle[17];
	} entries[MEMFS_NAMES];
};

/* False and a sentence in `err`. Arguments point into `words` and `fs`. */
bool calltext_parse(struct memfs *fs, char *const *words, unsigned n,
    const struct nfs_proc **proc, union nfs_args *args, char err[CALLTEXT_MAX]);
/* A call as it is written in a scenario; `words` are told apart by blanks. */
void calltext_describe(struct memfs *fs, const struct nfs_proc *proc,
    const union nfs_args *args, char text[CALLTEXT_MAX]);
/* Words with blanks between them. */
void calltext_join(char *const *words, unsigned n, char *to, size_t size);
/* Writes the facts that a reply tells: "OK", "size 5", "data hello", "verifier
 * 1", … */
void calltext_facts(const struct nfs_proc *proc, const union nfs_res *res,
    struct calltext_facts *facts);
/* The one fact `text`, for a reply that has no results. */
void calltext_one_fact(struct calltext_facts *facts, const char *text);
/* The first `n` facts of both are there, and the same. */
bool calltext_begin_alike(
    const struct calltext_facts *a, const struct calltext_facts *b, unsigned n);
bool calltext_same_facts(
    const struct calltext_facts *a, const struct calltext_facts *b);
/* The facts in one line, each one cut to 60 bytes. */
void calltext_say_facts(
    const struct calltext_facts *facts, char *to, size_t size);
/* replyattrs.c */
/* Procedures of NFS that change something, and COMMIT. */
bool calltext_is_change(const struct nfs_proc *proc);
/* Sets the attributes of the reply. */
void calltext_attrs(struct calltext_facts *facts, const struct nfs_proc *proc,
    const union nfs_res *res);
void calltext_attr(const post_op_attr *attr, struct calltext_attr *to);
/* NFS3ERR_… by its name without NFS3ERR_; -1. */
int calltext_status(const char *name);
const char *calltext_status_name(nfsstat3 status);

#endif
