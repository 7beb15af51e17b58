/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The meaning of a server's replies: of errors, in a sentence, and of INFO. */
#ifndef FOREFETCH_REDIS_REPLY_H
#define FOREFETCH_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* The ways in which an error is to be dealt with. */
enum redis_fault {
	FAULT_NONE,   /* of this one command */
	FAULT_REFUSE, /* asking again is of no use */
	FAULT_WAIT,   /* it is not ready */
	FAULT_FULL,   /* it keeps nothing now */
	FAULT_RIGHTS, /* of this kind of command */
	FAULT_MOVED,
	FAULT_ASK,
};
/* Says what an error reply means; `*why` is a sentence that says what to do, or
 * NULL, and is constant. */
enum redis_fault redis_fault_of(const redisReply *r, const char **why);

/* The value of NAME in an answer to INFO, a string reply, whose bytes that are
 * not printable come as '?'; cut to `size`. False and "" where there is
 * none. */
bool redis_info_text(
    const redisReply *r, const char *name, char *value, size_t size);
/* The value as a number; 0 where there is none. */
uint64_t redis_info_number(const redisReply *r, const char *name);
/* The keys of all databases of the server. */
uint64_t redis_info_keys(const redisReply *r);

#endif
