/* SPDX-License-Identifier: GPL-2.0-or-later */
/* READ from the data cache, by reference. */
#include "svc/cached.h"

#include "svc/cached_private.h"

enum { REST_MIN = 4096 };

static void reply_data(struct svc_rqst *rqst, const struct known *k,
    const struct rbuf_piece *pieces, unsigned n, uint32_t len)
{
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;

	r->file_attributes = known_attr(k);
	r->count = len;
	r->data.len = len;
	r->eof = rqst->args.read.offset + len >= k->node->size;
	cached_served(k, rqst, METRICS_DATA_HITS);
	svc_reply_pieces(rqst, &res, pieces, n);
}

/* How much of what is asked the file has. */
static uint32_t read_len(const struct node *node, const READ3args *a)
{
	uint64_t left = a->offset < node->size ? node->size - a->offset : 0;

	return left < a->count ? (uint32_t)left : a->count;
}

/* What is there need not come again, if it is not but a crumb; nor need what
 * is on its way. */
static bool rest_missed(struct svc_rqst *rqst, const struct known *k,
    const struct datacache_read *rd)
{
	uint32_t have;

	(void)cached_missed(rqst, METRICS_DATA_MISSES);
	if (rqst->filled || k->contract.offline || rqst->disk.late)
		return false;
	have = datacache_prefix(k->caches->data, rd);
	if (have < REST_MIN || have == rd->len)
		return false;
	svc_read_rest(rqst, have);
	return true;
}

static bool reply_found(struct svc_rqst *rqst, const struct known *k,
    const struct datacache_read *rd)
{
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n = 0;

	switch (datacache_find(k->caches->data, rd, pieces, &n, &rqst->disk)) {
	case DATACACHE_HIT:
		reply_data(rqst, k, pieces, n, rd->len);
		return true;
	case DATACACHE_WAIT:
		return true;
	default:
		return rest_missed(rqst, k, rd);
	}
}

bool cached_read(struct svc_rqst *rqst)
{
	const READ3args *a = &rqst->args.read;
	struct data_version version;
	struct datacache_read rd;
	struct known k;

	if (!cached_find(&k, rqst, &a->file) || k.sent_us == 0 ||
	    !k.caches->data || attrcache_type(k.caches->attr, k.node) != NF3REG)
		return cached_missed(rqst, METRICS_DATA_MISSES);
	rd = known_data(&k, &version, a->offset, read_len(k.node, a));
	rd.patient = k.contract.offline;
	if (known_fresh(&k) &&
	    (known_granted(&k, ACCESS3_READ) || known_own(&k))) {
		if (rd.len > 0) {
			svc_wait_disk(rqst);
			return reply_found(rqst, &k, &rd);
		}
		reply_data(rqst, &k, NULL, 0, 0);
		return true;
	}
	/* A confirmation is a small reply, the data may be a large one. */
	if (!rqst->confirmed && !k.contract.offline && rd.len > 0 &&
	    datacache_have(k.caches->data, &rd) == rd.len) {
		svc_confirm(rqst, &a->file);
		return true;
	}
	return cached_missed(rqst, METRICS_DATA_MISSES);
}
