/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client that sends what it likes. What it gets must be replies all the
 * same, and those to sound calls must be sound. */
#ifndef FOREFETCH_FUZZ_STRANGER_H
#define FOREFETCH_FUZZ_STRANGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nfs_proc;
struct place;
struct stranger;

struct stranger *stranger_new(struct place *p, unsigned number);
void stranger_free(struct stranger *s);

uint32_t stranger_next_xid(struct stranger *s);
unsigned stranger_uid(const struct stranger *s);

/* It keeps the record of a sound call, to judge the reply. */
void stranger_expect(struct stranger *s, uint32_t xid,
    const struct nfs_proc *proc, const void *record, size_t len);
/* From now on it cannot tell which reply is for which call. */
void stranger_blind(struct stranger *s);

/* Connects where there is no connection. */
void stranger_send(struct stranger *s, const void *bytes, size_t len);
/* A record, of so many fragments. */
void stranger_send_record(
    struct stranger *s, const void *bytes, size_t len, unsigned fragments);
/* The newest record once more. */
void stranger_repeat(struct stranger *s);
void stranger_close(struct stranger *s);
void stranger_shut(struct stranger *s);
void stranger_turn_deaf(struct stranger *s);

#endif
