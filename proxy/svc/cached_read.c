/* SPDX-License-Identifier: GPL-2.0-or-later */
/* READ from the data cache, by reference: svc_reply.c sends the pieces from the
 * cache's memory without a copy. An answer needs attributes that are fresh, a
 * right to read, and all bytes up to the end of the file. */
#include "svc/cached_private.h"

/* Where fewer than these first bytes are there, a page of a client's memory,
 * they spare nothing worth a call of its own. */
enum { REST_MIN = 4096 };

/* Returns how many of the bytes asked for the file has. */
static uint32_t read_len(const struct node *node, const READ3args *args)
{
	uint64_t left =
	    args->offset < node->size ? node->size - args->offset : 0;

	return left < args->count ? (uint32_t)left : args->count;
}

static enum cached_verdict found(const struct cached_call *call,
    struct cached_answer *a, const struct known *k, uint32_t len)
{
	READ3resok *r = &a->res.read.READ3res_u.resok;

	r->file_attributes = known_attr(k);
	r->count = len;
	r->data.len = len;
	r->eof = call->args->read.offset + len >= k->node->size;
	return answer_end(a, k);
}

/* Decides where not all bytes are there. The first bytes need not come again if
 * there are enough of them, unless the disk hangs with some of them. */
static enum cached_verdict not_all(const struct cached_call *call,
    struct cached_answer *a, const struct known *k,
    const struct datacache_read *rd)
{
	if (call->rest_asked || call->who.offline || call->disk->late)
		return CACHED_MISS;
	a->have = datacache_prefix(k->caches->data, rd);
	return a->have >= REST_MIN && a->have < rd->len ? CACHED_REST
							: CACHED_MISS;
}

static enum cached_verdict look(const struct cached_call *call,
    struct cached_answer *a, const struct known *k,
    const struct datacache_read *rd)
{
	if (rd->len == 0)
		return found(call, a, k, 0);
	switch (datacache_find(
	    k->caches->data, rd, a->pieces, &a->npieces, call->disk)) {
	case DATACACHE_HIT:
		return found(call, a, k, rd->len);
	case DATACACHE_WAIT:
		return CACHED_WAIT;
	default:
		return not_all(call, a, k, rd);
	}
}

enum cached_verdict cached_read(
    const struct cached_call *call, struct cached_answer *a)
{
	const READ3args *args = &call->args->read;
	struct data_version version;
	struct datacache_read rd;
	struct known k;

	answer_begin(a);
	if (!known_find(&k, &call->who, &args->file) || k.sent_us == 0 ||
	    !k.caches->data || attrcache_type(k.caches->attr, k.node) != NF3REG)
		return CACHED_MISS;
	rd = known_data(&k, &version, args->offset, read_len(k.node, args));
	rd.patient = call->who.offline;
	if (known_fresh(&k) &&
	    (known_granted(&k, ACCESS3_READ) || known_own(&k)))
		return look(call, a, &k, &rd);
	/* A confirmation is a small reply, the data may be a large one. */
	if (!call->confirmed && !call->who.offline && rd.len > 0 &&
	    datacache_have(k.caches->data, &rd) == rd.len)
		return CACHED_CONFIRM;
	return CACHED_MISS;
}
