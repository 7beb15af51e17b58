/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings a batch to the disk: the payload, then the entries. */
#include "datacache/datacache_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <xxhash.h>

#include "base/clock.h"
#include "datacache/datacache_layout.h"

static int writev_all(int fd, struct iovec *iov, int n, uint64_t pos)
{
	while (n > 0) {
		ssize_t done = pwritev(fd, iov, n, (off_t)pos);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		pos += (uint64_t)done;
		while (n > 0 && (size_t)done >= iov->iov_len) {
			done -= (ssize_t)iov->iov_len;
			iov++;
			n--;
		}
		if (n > 0) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* Write side by side what goes side by side; a pend whose bytes are damaged
 * leaves a hole, and gets no entry. */
static int batch_write_data(struct data_batch *b, int fd, void **scratch)
{
	struct iovec iov[BATCH_MAX];
	uint64_t pos = b->pos;
	int rc = 0, k = 0;

	for (unsigned i = 0; rc == 0 && i < b->n; i++) {
		struct pend *p = b->pends[i];
		struct seg_entry *e = &b->entries[i];
		const unsigned char *data = pend_bytes(p, &scratch[i]);

		if (!data) {
			memset(e, 0, sizeof(*e));
			rc = writev_all(fd, iov, k, pos);
			pos = (uint64_t)p->pos + p->len;
			k = 0;
			continue;
		}
		e->extra = XXH3_64bits(data, p->len);
		e->sum = entry_sum(e, p->seg->dc->id);
		iov[k].iov_base = (void *)(uintptr_t)data;
		iov[k++].iov_len = p->len;
	}
	return rc < 0 ? rc : writev_all(fd, iov, k, pos);
}

/* Where the disk has room for some of the entries only, these are overwritten
 * with zeros: the cache forgets the data of the whole batch, so no tombstone
 * would ever void them. */
static int batch_write_entries(struct data_batch *b, int fd)
{
	uint64_t pos = (uint64_t)b->slot * sizeof(b->entries[0]);
	size_t len = b->n * sizeof(b->entries[0]);
	int rc = write_all(fd, b->entries, len, pos);

	if (rc < 0) {
		memset(b->entries, 0, len);
		(void)write_all(fd, b->entries, len, pos);
	}
	return rc;
}

static uint64_t batch_end(const struct data_batch *b)
{
	const struct pend *last = b->pends[b->n - 1];

	return (uint64_t)last->pos + last->len;
}

void batch_write(struct data_batch *b)
{
	uint64_t begun_us = clock_awake_us();
	struct segment *seg = b->pends[0]->seg;
	void *scratch[BATCH_MAX] = {0};

	b->err = batch_write_data(b, seg->fd, scratch);
	b->took_us = clock_awake_us() - begun_us;
	if (b->err == 0)
		b->err = write_out(seg->fd, b->pos, batch_end(b) - b->pos);
	if (b->err == 0)
		b->err = batch_write_entries(b, seg->idx_fd);
	for (unsigned i = 0; i < b->n; i++) {
		const struct pend *p = b->pends[i];

		if (b->err == 0 && p->by_layout && !p->kept_in_place)
			segment_forget_entry(p->src, p->src_slot);
		free(scratch[i]);
	}
}
