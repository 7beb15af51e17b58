/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine and its administrators cannot read, change or move what they keep:
 * values are sealed, and keys are hashes, under the farm's own key.
 *
 * A value is XChaCha20-Poly1305 (libsodium's, IETF draft-irtf-cfrg-xchacha)
 * with a random nonce of 24 bytes in front; its key is the associated data, so
 * a value opens under no other key. A key is a keyed BLAKE2b (RFC 7693) of
 * whatever names the value. Both use keys derived from the 32 bytes of
 * key_file.
 */
#ifndef FOREFETCH_SEAL_H
#define FOREFETCH_SEAL_H

#include <stdbool.h>
#include <stddef.h>

struct seal;

enum {
	SEAL_KEY_FILE_BYTES = 32,
	SEAL_EXTRA = 24 + 16, /* nonce and tag, bytes of a sealed value */
	SEAL_ID_LEN = 6,      /* names the key, in each value's name */
	/* "ff:" ID ":" kind ":" and 24 bytes as base64. */
	SEAL_NAME_LEN = 3 + SEAL_ID_LEN + 1 + 1 + 1 + 32,
};

/* Derives all keys from the contents of a key file. NULL and errno: EINVAL
 * where all bytes are equal or libsodium does not start, ENOMEM. */
struct seal *seal_new(const unsigned char key[SEAL_KEY_FILE_BYTES]);
/* Derives them from a file: 32 bytes, or 64 hexadecimal digits and an end of
 * line; not to be read by others than its owner and group. NULL and a sentence
 * in `err` that says what to do. */
struct seal *seal_load(const char *path, char *err, size_t errlen);
/* Overwrites the keys. NULL is allowed. */
void seal_free(struct seal *s);

/* Makes a new key file, mode 0600, which must not be there. 0 or -errno:
 * -EEXIST where it is. */
int seal_make_file(const char *path);

/* All keys of this farm have this in front: "ff:ID:", where ID is the same for
 * all who have the key file. */
const char *seal_prefix(const struct seal *s);

/*
 * The key of a value: `kind` is a letter, `what` names it. Writes
 * SEAL_NAME_LEN bytes and a zero.
 */
void seal_name(const struct seal *s, char kind, const void *what, size_t len,
    char name[SEAL_NAME_LEN + 1]);

/* Seals `len` bytes under `name` into `to`, of len + SEAL_EXTRA bytes. `to` and
 * `data` do not overlap. */
void seal_close(const struct seal *s, const char *name, const void *data,
    size_t len, unsigned char *to);
/* Opens `len` sealed bytes into `to`, of len - SEAL_EXTRA bytes; false where
 * they were not sealed with this key under this name, or were changed. Nothing
 * is to be read of `to` then. */
bool seal_open(const struct seal *s, const char *name,
    const unsigned char *sealed, size_t len, void *to);

#endif
