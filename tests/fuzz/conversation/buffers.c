/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers are freed at once, so that a sanitizer sees who uses one that is
 * another's by now. To lay some in takes a third of a short conversation. */
#include "nfsproto/rbuf.h"

struct rbuf_pool *__real_rbuf_pool_new(unsigned reserve, unsigned keep);
struct rbuf_pool *__wrap_rbuf_pool_new(unsigned reserve, unsigned keep);

struct rbuf_pool *__wrap_rbuf_pool_new(unsigned reserve, unsigned keep)
{
	(void)reserve;
	(void)keep;
	return __real_rbuf_pool_new(0, 0);
}
