/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client of the fuzzer does one of these things in a step; PROC … is a call
 * as in calltext.h:
 *
 *	call PROC …          soundly
 *	odd KIND PROC …      with a strange handle, name or number
 *	bend AT XOR PROC …   one byte of the record is another
 *	cut LEN PROC …       the record is shorter
 *	mark XOR PROC …      the record mark is another
 *	pieces N PROC …      in so many fragments
 *	part LEN PROC …      no more than that of it is sent
 *	mount PROC PATH      a call of MOUNT, the procedure as a number
 *	acl PROC PATH        … of NFSACL
 *	rpc PROG VERS PROC FLAVOR BYTES BYTES    credential and arguments
 *	raw BYTES            no record
 *	again                the newest record once more
 *	close, half, deaf
 */
#ifndef FOREFETCH_FUZZ_CLIENT_STEP_H
#define FOREFETCH_FUZZ_CLIENT_STEP_H

struct memfs;
struct stranger;

void client_step(
    struct stranger *s, struct memfs *fs, char *const *words, unsigned n);

#endif
