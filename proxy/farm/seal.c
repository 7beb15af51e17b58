/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values sealed and keys hashed with libsodium; the file that has the key. */
#include "farm/seal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

enum {
	NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
	VALUE_KEY_BYTES = crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
	NAME_KEY_BYTES = crypto_generichash_KEYBYTES,
	NAME_HASH_BYTES = 24,
	ID_BYTES = crypto_kdf_BYTES_MIN,
	HEX_DIGITS = 2 * SEAL_KEY_FILE_BYTES,
	FILE_MAX = HEX_DIGITS + 2, /* and "\r\n" */
};

#define BASE64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(SEAL_EXTRA == NONCE_BYTES + TAG_BYTES, "what stands beside");
_Static_assert(SEAL_KEY_FILE_BYTES == crypto_kdf_KEYBYTES, "the key of all");
_Static_assert(
    sodium_base64_ENCODED_LEN(NAME_HASH_BYTES, BASE64) == 32 + 1, "no padding");

/* The keys of one farm, derived from that of its file. */
struct seal {
	unsigned char value_key[VALUE_KEY_BYTES];
	unsigned char name_key[NAME_KEY_BYTES];
	char prefix[3 + SEAL_ID_LEN + 1 + 1]; /* "ff:ID:" */
};

/* ---- keys -------------------------------------------------------------- */

/*
 * One key for each purpose, so that no output of one says anything of another
 * (libsodium, "Key derivation"). The contexts are a part of the format: all
 * machines of a farm must have the same.
 */
static void derive(unsigned char *out, size_t len, const char *context,
    const unsigned char key[SEAL_KEY_FILE_BYTES])
{
	int rc = crypto_kdf_derive_from_key(out, len, 1, context, key);

	assert(strlen(context) == crypto_kdf_CONTEXTBYTES);
	assert(rc == 0); /* only lengths can be wrong */
}

/* The id shows which farm a value is of. It is derived as the keys are, so it
 * says nothing of them. */
static void set_prefix(
    struct seal *s, const unsigned char key[SEAL_KEY_FILE_BYTES])
{
	char text[sodium_base64_ENCODED_LEN(ID_BYTES, BASE64)];
	unsigned char id[ID_BYTES];

	derive(id, sizeof(id), "ff-farm.", key);
	sodium_bin2base64(text, sizeof(text), id, sizeof(id), BASE64);
	snprintf(s->prefix, sizeof(s->prefix), "ff:%.*s:", SEAL_ID_LEN, text);
}

/* Nobody's key, but a file that was never filled. */
static bool is_one_byte(const unsigned char key[SEAL_KEY_FILE_BYTES])
{
	return memcmp(key, key + 1, SEAL_KEY_FILE_BYTES - 1) == 0;
}

struct seal *seal_new(const unsigned char key[SEAL_KEY_FILE_BYTES])
{
	struct seal *s;

	if (is_one_byte(key) || sodium_init() < 0) {
		errno = EINVAL;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	derive(s->value_key, sizeof(s->value_key), "ff-value", key);
	derive(s->name_key, sizeof(s->name_key), "ff-names", key);
	set_prefix(s, key);
	return s;
}

void seal_free(struct seal *s)
{
	if (!s)
		return;
	sodium_memzero(s, sizeof(*s));
	free(s);
}

/* ---- names and values -------------------------------------------------- */

const char *seal_prefix(const struct seal *s)
{
	return s->prefix;
}

void seal_name(const struct seal *s, char kind, const void *what, size_t len,
    char name[SEAL_NAME_LEN + 1])
{
	unsigned char hash[NAME_HASH_BYTES];
	crypto_generichash_state state;
	char text[32 + 1];
	int n;

	/* With the kind, or one thing would have the same hash in two kinds,
	 * and the engine could tell that these belong together. */
	crypto_generichash_init(
	    &state, s->name_key, sizeof(s->name_key), sizeof(hash));
	crypto_generichash_update(&state, (unsigned char *)&kind, 1);
	crypto_generichash_update(&state, what, len);
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_memzero(&state, sizeof(state));
	sodium_bin2base64(text, sizeof(text), hash, sizeof(hash), BASE64);
	n = snprintf(name, SEAL_NAME_LEN + 1, "%s%c:%s", s->prefix, kind, text);
	assert(n == SEAL_NAME_LEN);
}

void seal_close(const struct seal *s, const char *name, const void *data,
    size_t len, unsigned char *to)
{
	randombytes_buf(to, NONCE_BYTES);
	crypto_aead_xchacha20poly1305_ietf_encrypt(to + NONCE_BYTES, NULL, data,
	    len, (const unsigned char *)name, strlen(name), NULL, to,
	    s->value_key);
}

bool seal_open(const struct seal *s, const char *name,
    const unsigned char *sealed, size_t len, void *to)
{
	if (len < SEAL_EXTRA)
		return false;
	return crypto_aead_xchacha20poly1305_ietf_decrypt(to, NULL, NULL,
		   sealed + NONCE_BYTES, len - NONCE_BYTES,
		   (const unsigned char *)name, strlen(name), sealed,
		   s->value_key) == 0;
}

/* ---- the key file ------------------------------------------------------ */

/* Where a function says what is wrong with a file. */
struct seal_complaint {
	const char *path;
	char *err;
	size_t errlen;
};

__attribute__((format(printf, 2, 3))) static bool complain(
    const struct seal_complaint *c, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(c->err, c->errlen, "%s: %s", c->path, what);
	return false;
}

/* A descriptor, or -1 after a complaint that says what to do. */
static int open_key(const struct seal_complaint *c)
{
	/* Does not wait for whoever writes into a FIFO. */
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		complain(c, "there is no such file; copy that of the farm's "
			    "other machines, or make the first one with "
			    "\"forefetch farm key FILE\"");
	else if (errno == EACCES)
		complain(c, "it may not be read; give it to the user or the "
			    "group that forefetchd runs as");
	else
		complain(c, "it cannot be opened: %s", strerror(errno));
	return -1;
}

/* A key that others have read is none. */
static bool check_file(const struct seal_complaint *c, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return complain(
		    c, "it cannot be looked at: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return complain(c, "it is not a file; key_file names the file "
				   "that has the key");
	if (st.st_mode & S_IRWXO)
		return complain(c, "others than its owner and group may read "
				   "or change it; chmod o-rwx it, and make "
				   "a new key if they have read it");
	return true;
}

/* How many bytes there are, at most `size`; or -1 with errno. */
static ssize_t read_some(int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < size) {
		n = read(fd, text + len, size - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	return n < 0 ? -1 : (ssize_t)len;
}

/* 64 digits, and the end of a line or nothing. */
static bool from_hex(
    const char *text, size_t len, unsigned char key[SEAL_KEY_FILE_BYTES])
{
	const char *end;
	size_t n;

	if (len < HEX_DIGITS)
		return false;
	if (sodium_hex2bin(key, SEAL_KEY_FILE_BYTES, text, HEX_DIGITS, NULL, &n,
		&end) != 0 ||
	    n != SEAL_KEY_FILE_BYTES || end != text + HEX_DIGITS)
		return false;
	len -= HEX_DIGITS;
	return len == 0 || (len == 1 && *end == '\n') ||
	       (len == 2 && memcmp(end, "\r\n", 2) == 0);
}

/* The file has the bytes of the key, or its digits; complains of anything else.
 * The buffer is overwritten at the end. */
static bool read_key(const struct seal_complaint *c, int fd,
    unsigned char key[SEAL_KEY_FILE_BYTES])
{
	char text[FILE_MAX + 1];
	ssize_t len = read_some(fd, text, sizeof(text));
	bool good = true;

	if (len < 0)
		good = complain(c, "it cannot be read: %s", strerror(errno));
	else if (len == SEAL_KEY_FILE_BYTES)
		memcpy(key, text, SEAL_KEY_FILE_BYTES);
	else if (!from_hex(text, (size_t)len, key))
		good = complain(c,
		    "it has %s, not a key, which is %d bytes, or %d "
		    "hexadecimal digits in one line; \"forefetch farm key "
		    "FILE\" makes one",
		    len == 0           ? "nothing in it"
		    : len < HEX_DIGITS ? "too little in it"
		    : len <= FILE_MAX  ? "something else in it"
				       : "too much in it",
		    SEAL_KEY_FILE_BYTES, HEX_DIGITS);
	sodium_memzero(text, sizeof(text));
	return good;
}

struct seal *seal_load(const char *path, char *err, size_t errlen)
{
	const struct seal_complaint c = {path, err, errlen};
	unsigned char key[SEAL_KEY_FILE_BYTES];
	struct seal *s = NULL;
	int fd = open_key(&c);

	if (fd < 0)
		return NULL;
	if (check_file(&c, fd) && read_key(&c, fd, key)) {
		s = seal_new(key);
		if (!s && is_one_byte(key))
			complain(&c, "its bytes are all the same, which is no "
				     "key; \"forefetch farm key FILE\" makes "
				     "one");
		else if (!s)
			complain(&c, "it cannot be used: %s",
			    errno == ENOMEM ? strerror(errno)
					    : "libsodium does not start");
	}
	close(fd);
	sodium_memzero(key, sizeof(key));
	return s;
}

static bool write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

/* Digits rather than bytes: these go through an editor, a terminal, and the
 * stores that CI systems have for secrets. */
static bool write_key(int fd)
{
	unsigned char key[SEAL_KEY_FILE_BYTES];
	char text[HEX_DIGITS + 1];
	bool good;

	randombytes_buf(key, sizeof(key));
	sodium_bin2hex(text, sizeof(text), key, sizeof(key));
	text[HEX_DIGITS] = '\n';
	/* The umask may have taken away the owner's rights. */
	good = fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
	       write_all(fd, text, sizeof(text)) && fsync(fd) == 0;
	sodium_memzero(key, sizeof(key));
	sodium_memzero(text, sizeof(text));
	return good;
}

/* A file that could not be written whole is removed again. */
int seal_make_file(const char *path)
{
	int fd, rc;

	if (sodium_init() < 0)
		return -EINVAL;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY,
	    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	rc = write_key(fd) ? 0 : -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlink(path);
	return rc;
}
