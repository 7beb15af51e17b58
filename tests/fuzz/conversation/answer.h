/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fuzzer's server answers a call in one of these ways:
 *
 *	do                 the truth
 *	pieces N           the truth in so many fragments
 *	keep               the truth, and it is kept for `old`
 *	old                what was kept last, and then the truth
 *	twice              the truth, twice
 *	lose               it does the call, and says nothing
 *	drop               it does nothing
 *	error STATUS       it does nothing, and says so
 *	badly STATUS       it does the call, and says that it did not
 *	rpc STATUS, deny   an error of RPC
 *	babble             results that do not decode
 *	nonsense           a record that is no reply
 *	bend AT XOR        one byte of the reply is another
 *	cut LEN, grow LEN  the reply is shorter, or longer
 *	mark XOR           the record mark is another
 *	xid XOR            a reply to another call
 *	other PROC         a reply of another procedure
 *	word I VALUE       one word of all attributes is another
 *	read COUNT LEN BYTES
 *	                   a READ with two lengths, and so many bytes
 *	list KIND          a strange listing
 *	raw BYTES          no record
 */
#ifndef FOREFETCH_FUZZ_ANSWER_H
#define FOREFETCH_FUZZ_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

struct fakeserver_call;
struct memfs;
struct place;

enum { ANSWER_LIST_MAX = 60000 };

/* Ends the call. True where what it said was not the truth. False, and nothing
 * is done, where there is no such lie for the call. */
bool answer_call(struct place *p, struct fakeserver_call *call,
    char *const *words, unsigned n, bool *lied);
void answer_forget(void);

/* Writes a strange list of entries that begins behind `cookie`, and returns its
 * length. */
size_t answer_list(struct memfs *fs, bool plus, unsigned kind,
    unsigned long long cookie, unsigned char to[ANSWER_LIST_MAX]);

#endif
