/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the 16384 slots of a Redis Cluster a key is in. */
#ifndef FOREFETCH_CRC16_H
#define FOREFETCH_CRC16_H

#include <stddef.h>
#include <stdint.h>

/* CRC-16/XMODEM: polynomial 0x1021, begun with 0, not reflected. */
uint16_t crc16(const void *data, size_t len);

/* Redis Cluster specification, "Key distribution model" and "Hash tags": where
 * a key has a {tag} that is not empty, only the first such counts. */
unsigned crc16_slot(const char *key, size_t len);

#endif
