/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the server answers to a call:
 *
 *	do                   the truth
 *	pieces N             … in so many fragments
 *	lose                 it does it, and says nothing
 *	drop                 it does nothing
 *	error STATUS         it does nothing, and says so
 *	badly STATUS         it does it, and says that it did not
 *	rpc STATUS, deny     as RPC has it
 *	babble, nonsense     results that do not decode, a record that is no
 *reply bend AT XOR          one byte of the reply is another cut LEN, grow LEN
 *the reply is shorter, or longer mark XOR             the record mark is
 *another xid XOR              for another call other PROC           as if it
 *were for another procedure twice                two equal replies old the last
 *reply that was kept, and then the truth keep                 the truth, to be
 *kept word I VALUE         a word of all attributes in the reply read COUNT LEN
 *BYTES a READ with two lengths and so many bytes list KIND            a strange
 *listing raw BYTES            no record
 */
#ifndef FOREFETCH_FUZZ_LIES_H
#define FOREFETCH_FUZZ_LIES_H

#include <stdbool.h>
#include <stddef.h>

struct fakeserver_call;
struct memfs;
struct place;

enum { LIES_LIST_MAX = 60000 };

/* Ends the call. True where what it said was not the truth. False, and nothing
 * is done, where there is no such lie for the call. */
bool lies_tell(struct place *p, struct fakeserver_call *call,
    char *const *words, unsigned n, bool *lied);
void lies_forget(void);

/* lists.c: entries of a READDIR(PLUS) from a cookie on; the bytes. */
size_t lies_list(struct memfs *fs, bool plus, unsigned kind,
    unsigned long long cookie, unsigned char to[LIES_LIST_MAX]);

#endif
