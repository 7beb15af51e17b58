/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The secret of the process: see hash_key.h. */
#include "hashing/hash_key.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

/* The multipliers of splitmix64 (Steele, Lea and Flood 2014). */
struct hash_key hash_key = {
    .times = {0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu}};

void hash_key_draw(void)
{
	struct timespec now;

	if (getrandom(&hash_key, sizeof(hash_key), 0) != sizeof(hash_key)) {
		/* A kernel that gives none leaves what is hard to guess: the
		 * time, and where the kernel has put the stack. */
		clock_gettime(CLOCK_REALTIME, &now);
		hash_key.add = (uint64_t)now.tv_nsec ^ (uint64_t)&now;
		hash_key.times[0] ^= (uint64_t)now.tv_sec << 1;
		hash_key.times[1] ^= (uint64_t)getpid() << 1;
	}
	hash_key.times[0] |= 1;
	hash_key.times[1] |= 1;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t with)
{
	return XXH3_64bits_withSeed(data, len, hash_number(with));
}
