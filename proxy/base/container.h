/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a part of a struct, which a callback was given, to the whole. */
#ifndef FOREFETCH_CONTAINER_H
#define FOREFETCH_CONTAINER_H

#include <stddef.h>

/* The `type` whose member `member` is at `part`. Also of a const part, since
 * who has the part may have the whole. */
#define container_of(part, type, member)                                       \
	((type *)((char *)(part)-offsetof(type, member)))

#endif
