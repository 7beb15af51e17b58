/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format that both ends of the control socket share. A message is its
 * length in four bytes, big endian, and as many bytes of protobuf
 * (control.proto).
 */
#ifndef FOREFETCH_CONTROL_PROTOCOL_H
#define FOREFETCH_CONTROL_PROTOCOL_H

#include <stdint.h>

/* The version of the protocol that both sides announce. Versions 2 and 3
 * renamed, retyped and moved fields; those of hints are as they were in version
 * 1. */
#define CONTROL_VERSION       3
#define CONTROL_VERSION_HINTS 1 /* the oldest that may still give hints */

/* Bounds of both sides, so that neither needs memory that the other chooses.
 * The first two count bytes of a message without its length. */
#define CONTROL_REQUEST_MAX  (64U << 10) /* bytes, without the length */
#define CONTROL_RESPONSE_MAX (1U << 20)  /* bytes, without the length */
#define CONTROL_PATH_MAX     4096        /* of each path, with the final NUL */

/* Values that stand for "not known" where 0 is a value. */
#define PERMILLE_UNKNOWN UINT32_MAX
#define UID_NOBODY       UINT32_MAX
#define AGE_UNKNOWN      UINT64_MAX
#define SIZE_UNKNOWN     UINT64_MAX

#endif
