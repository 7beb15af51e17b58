/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: makes a forefetchd copy payloads as usual designs do, so
 * that bench/copies/run has something to compare the same program with.
 *
 * Payloads leave the daemon by writev(), by reference. Here each is copied
 * twice before:
 *
 *   - from where it lies into a buffer: as by a read() of the cache's file, or
 *     by a decoder that gives its caller a buffer of his own;
 *   - from there into the reply, behind its header, as by an encoder.
 *
 * Both buffers are used again and again, as a good one of these would do.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>

enum {
	HEAD_MAX = 1024, /* what is shorter is no payload */
	BUFFER_BYTES = 1 << 20,
	FDS = 1024,
};

static unsigned char decoded[BUFFER_BYTES], encoded[BUFFER_BYTES];
/* Bytes that the kernel did not take: they come again, copied already. */
static size_t again[FDS];

static void copy_twice(const unsigned char *from, size_t len)
{
	while (len > 0) {
		size_t n = len < BUFFER_BYTES ? len : BUFFER_BYTES;

		memcpy(decoded, from, n);
		__asm__ volatile("" : : "r"(decoded) : "memory");
		memcpy(encoded, decoded, n);
		__asm__ volatile("" : : "r"(encoded) : "memory");
		from += n;
		len -= n;
	}
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	static ssize_t (*next)(int, const struct iovec *, int);
	size_t skip = fd >= 0 && fd < FDS ? again[fd] : 0, len = 0;
	ssize_t sent;

	if (!next)
		next = (ssize_t(*)(int, const struct iovec *, int))dlsym(
		    RTLD_NEXT, "writev");
	for (int i = 0; i < n; i++) {
		size_t old = skip < iov[i].iov_len ? skip : iov[i].iov_len;

		if (iov[i].iov_len > HEAD_MAX)
			copy_twice((const unsigned char *)iov[i].iov_base + old,
			    iov[i].iov_len - old);
		skip -= old;
		len += iov[i].iov_len;
	}
	sent = next(fd, iov, n);
	if (fd >= 0 && fd < FDS)
		again[fd] = len - (sent > 0 ? (size_t)sent : 0);
	return sent;
}
