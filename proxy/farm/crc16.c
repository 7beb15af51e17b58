/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC-16/XMODEM, four bits at a time, and the slots of a Redis Cluster. */
#include "farm/crc16.h"

#include <string.h>

uint16_t crc16(const void *data, size_t len)
{
	static const uint16_t table[16] = {0x0000, 0x1021, 0x2042, 0x3063,
	    0x4084, 0x50a5, 0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
	    0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
	const unsigned char *p = data;
	unsigned crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc = crc << 4 ^ table[(crc >> 12 ^ p[i] >> 4) & 15];
		crc = crc << 4 ^ table[(crc >> 12 ^ p[i]) & 15];
	}
	return (uint16_t)crc;
}

unsigned crc16_slot(const char *key, size_t len)
{
	const char *open = memchr(key, '{', len);
	const char *tag = open ? open + 1 : NULL;
	const char *close =
	    open ? memchr(tag, '}', len - (size_t)(tag - key)) : NULL;

	if (close && close > tag)
		return crc16(tag, (size_t)(close - tag)) & 16383;
	return crc16(key, len) & 16383;
}
