/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sealed values: what opens and what does not; names; key files. */
#include "farm/seal.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unittest.h"

#define NAME  "ff:abcdef:d:0123456789abcdef0123456789abcdef"
#define OTHER "ff:abcdef:d:0123456789abcdef0123456789abcdeg"

enum { LARGE = 64 << 10 };

static struct seal *make(unsigned char first)
{
	unsigned char key[SEAL_KEY_FILE_BYTES];
	struct seal *s;

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(first + i);
	s = seal_new(key);
	assert_non_null(s);
	return AFTER(seal_free, s);
}

/* ---- values ------------------------------------------------------------ */

/* Exactly as long as they are, so that a sanitizer sees a byte too many. */
static void check_round_trip(const struct seal *s, size_t len)
{
	FREED unsigned char *data = calloc(1, len),
			    *sealed = malloc(len + SEAL_EXTRA);
	FREED unsigned char *back = malloc(len);

	for (size_t i = 0; i < len; i++)
		data[i] = (unsigned char)(i * 7 + (i >> 8));
	seal_close(s, NAME, data, len, sealed);
	if (len >= 16) /* less may be there by chance */
		assert_null(memmem(sealed, len + SEAL_EXTRA, data, 16));
	assert_true(seal_open(s, NAME, sealed, len + SEAL_EXTRA, back));
	if (len > 0)
		assert_memory_equal(back, data, len);
}

TEST(test_round_trip)
{
	struct seal *s = make(1);

	check_round_trip(s, 0);
	check_round_trip(s, 1);
	check_round_trip(s, 15);
	check_round_trip(s, 16);
	check_round_trip(s, LARGE);
	seal_free(NULL);
}

/* Nothing at all may be passed as no pointer. */
TEST(test_nothing)
{
	unsigned char sealed[SEAL_EXTRA];
	struct seal *s = make(1);

	seal_close(s, NAME, NULL, 0, sealed);
	assert_true(seal_open(s, NAME, sealed, sizeof(sealed), NULL));
	sealed[SEAL_EXTRA - 1] ^= 1;
	assert_false(seal_open(s, NAME, sealed, sizeof(sealed), NULL));
}

enum { SMALL = 8 };

/* The value that the tests below damage. */
static void close_small(
    const struct seal *s, unsigned char sealed[SMALL + SEAL_EXTRA])
{
	seal_close(s, NAME, "8 bytes.", SMALL, sealed);
}

TEST(test_flips)
{
	unsigned char sealed[SMALL + SEAL_EXTRA], back[SMALL];
	struct seal *s = make(1);

	close_small(s, sealed);
	for (size_t bit = 0; bit < 8 * sizeof(sealed); bit++) {
		sealed[bit / 8] ^= (unsigned char)(1U << bit % 8);
		assert_false(seal_open(s, NAME, sealed, sizeof(sealed), back));
		sealed[bit / 8] ^= (unsigned char)(1U << bit % 8);
	}
	assert_true(seal_open(s, NAME, sealed, sizeof(sealed), back));
}

TEST(test_length)
{
	unsigned char sealed[SMALL + SEAL_EXTRA + 1] = {0}, back[SMALL + 1];
	struct seal *s = make(1);

	close_small(s, sealed);
	for (size_t len = 0; len < SMALL + SEAL_EXTRA; len++) {
		/* The end is cut off, and so is the beginning. */
		assert_false(seal_open(s, NAME, sealed, len, back));
		assert_false(seal_open(
		    s, NAME, sealed + SMALL + SEAL_EXTRA - len, len, back));
	}
	assert_false(seal_open(s, NAME, sealed, sizeof(sealed), back));
	assert_false(seal_open(s, NAME, NULL, 0, back));
}

TEST(test_name_and_key)
{
	unsigned char sealed[SMALL + SEAL_EXTRA], back[SMALL];
	struct seal *s = make(1), *same = make(1), *other = make(2);

	close_small(s, sealed);
	assert_false(seal_open(s, OTHER, sealed, sizeof(sealed), back));
	assert_false(seal_open(s, "", sealed, sizeof(sealed), back));
	assert_false(seal_open(other, NAME, sealed, sizeof(sealed), back));
	assert_true(seal_open(same, NAME, sealed, sizeof(sealed), back));
	assert_memory_equal(back, "8 bytes.", SMALL);
}

TEST(test_closes_differ)
{
	unsigned char a[SMALL + SEAL_EXTRA], b[SMALL + SEAL_EXTRA];
	struct seal *s = make(1);

	close_small(s, a);
	close_small(s, b);
	assert_memory_not_equal(a, b, 24); /* the nonce */
	assert_memory_not_equal(a + 24, b + 24, SMALL);
	assert_memory_not_equal(a + 24 + SMALL, b + 24 + SMALL, 16);
}

/*
 * All releases seal in the same way, or a farm would be two during an upgrade.
 * The key is 1, 2, …, 32. Prefix and names are of Python's hashlib, the value
 * is of its "cryptography" (with HChaCha20), so other programs seal so, too.
 */
TEST(test_format)
{
	static const unsigned char sealed[] = {0x64, 0x65, 0x66, 0x67, 0x68,
	    0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73,
	    0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x7b, 0x89, 0xc4, 0x9e,
	    0x8d, 0x3f, 0x41, 0xf4, 0xba, 0xb3, 0xc2, 0xad, 0xfd, 0x4b, 0xe7,
	    0x50, 0xf9, 0x10, 0x6a, 0xba, 0x71, 0xa7, 0x8f, 0x0d, 0x33};
	char name[SEAL_NAME_LEN + 1];
	unsigned char back[SMALL];
	struct seal *s = make(1);

	assert_string_equal(seal_prefix(s), "ff:wct2M_:");
	seal_name(s, 'd', "what", 4, name);
	assert_string_equal(
	    name, "ff:wct2M_:d:ySReq_uqtr0fF6IJ1rOdaJdizBtc2UAI");
	seal_name(s, 't', NULL, 0, name);
	assert_string_equal(
	    name, "ff:wct2M_:t:_WOmUAkQoe3MXk-B1gw9zNPt7s-3emo7");
	assert_true(seal_open(s, NAME, sealed, sizeof(sealed), back));
	assert_memory_equal(back, "8 bytes.", SMALL);
}

/* ---- names ------------------------------------------------------------- */

static void check_shape(const struct seal *s, const char *name, char kind)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789-_";

	assert_int_equal(strlen(name), SEAL_NAME_LEN);
	assert_int_equal(strlen(seal_prefix(s)), 3 + SEAL_ID_LEN + 1);
	assert_memory_equal(name, "ff:", 3);
	assert_memory_equal(name, seal_prefix(s), strlen(seal_prefix(s)));
	assert_int_equal(strspn(name + 3, digits), SEAL_ID_LEN);
	assert_int_equal(name[3 + SEAL_ID_LEN], ':');
	assert_int_equal(name[3 + SEAL_ID_LEN + 1], kind);
	assert_int_equal(name[3 + SEAL_ID_LEN + 2], ':');
	assert_int_equal(strspn(name + 3 + SEAL_ID_LEN + 3, digits), 32);
}

TEST(test_names)
{
	struct seal *s[] = {make(1), make(9)};
	char names[8][SEAL_NAME_LEN + 1];
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		seal_name(s[i], 'd', "ab", 2, names[n]);
		check_shape(s[i], names[n++], 'd');
		seal_name(s[i], 'd', "a", 1, names[n++]);
		seal_name(s[i], 'l', "ab", 2, names[n++]);
		seal_name(s[i], 'd', "", 0, names[n++]);
	}
	/* Nothing but the prefix and the kind may be equal. */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i] + SEAL_NAME_LEN - 32,
			    names[j] + SEAL_NAME_LEN - 32);
	assert_string_not_equal(seal_prefix(s[0]), seal_prefix(s[1]));
	seal_name(s[0], 'd', "ab", 2, names[1]);
	assert_string_equal(names[0], names[1]);
}

TEST(test_bad_keys)
{
	unsigned char key[SEAL_KEY_FILE_BYTES] = {0};
	struct seal *s;

	errno = 0;
	assert_null(seal_new(key));
	assert_int_equal(errno, EINVAL);
	memset(key, 0xff, sizeof(key));
	assert_null(seal_new(key));
	key[SEAL_KEY_FILE_BYTES - 1] = 1;
	s = AFTER(seal_free, seal_new(key));
	assert_non_null(s);
}

/* ---- key files --------------------------------------------------------- */

struct folder {
	char path[64];
	char file[96];
	char err[512];
};

static void folder_begin(struct folder *f)
{
	assert_non_null(f);
	strcpy(f->path, "/tmp/ff-seal.XXXXXX");
	assert_non_null(mkdtemp(f->path));
	snprintf(f->file, sizeof(f->file), "%s/key", f->path);
}

static void folder_end(struct folder *f)
{
	unlink(f->file);
	assert_int_equal(rmdir(f->path), 0);
}

static void put(struct folder *f, const void *data, size_t len, mode_t mode)
{
	FILE *out;

	/* An earlier file may have a mode that keeps an ordinary user from
	 * writing to it. */
	(void)unlink(f->file);
	out = fopen(f->file, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(f->file, mode), 0);
}

static void put_text(struct folder *f, const char *text)
{
	put(f, text, strlen(text), 0600);
}

/* It is refused with a sentence that begins with its name and has `part`. */
static void must_refuse(struct folder *f, const char *part)
{
	assert_null(seal_load(f->file, f->err, sizeof(f->err)));
	assert_memory_equal(f->err, f->file, strlen(f->file));
	if (!strstr(f->err, part))
		fail_msg("no \"%s\" in: %s", part, f->err);
}

/* It has the key of make(1). */
static void must_load(struct folder *f)
{
	struct seal *s = seal_load(f->file, f->err, sizeof(f->err));
	struct seal *same = make(1);
	char name[2][SEAL_NAME_LEN + 1];

	if (!s)
		fail_msg("%s", f->err);
	seal_name(s, 'd', "x", 1, name[0]);
	seal_name(same, 'd', "x", 1, name[1]);
	assert_string_equal(name[0], name[1]);
	seal_free(s);
}

#define DIGITS                                                                 \
	"0102030405060708090a0b0c0d0e0f10"                                     \
	"1112131415161718191a1B1C1D1E1f20"

FIXTURE(struct folder, folder_begin, folder_end);

TEST(test_file, struct folder *f)
{
	unsigned char key[SEAL_KEY_FILE_BYTES + 1];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(1 + i);
	put(f, key, SEAL_KEY_FILE_BYTES, 0600);
	must_load(f);
	assert_int_equal(chmod(f->file, 0440), 0);
	must_load(f);
	put_text(f, DIGITS "\n");
	must_load(f);
	put_text(f, DIGITS);
	must_load(f);
	put_text(f, DIGITS "\r\n");
	must_load(f);

	put(f, key, SEAL_KEY_FILE_BYTES - 1, 0600);
	must_refuse(f, "too little in it");
	put(f, key, SEAL_KEY_FILE_BYTES + 1, 0600);
	must_refuse(f, "too little in it");
	put(f, key, 0, 0600);
	must_refuse(f, "nothing in it");
	memset(key, 0, sizeof(key));
	put(f, key, SEAL_KEY_FILE_BYTES, 0600);
	must_refuse(f, "all the same");
}

TEST(test_digits, struct folder *f)
{
	static const char *const wrong[] = {
	    DIGITS "\n\n",
	    DIGITS " \n",
	    DIGITS "21",
	    " " DIGITS "\n",
	    "0x" DIGITS,
	    "zz02030405060708090a0b0c0d0e0f10"
	    "1112131415161718191a1B1C1D1E1f20",
	    "0102030405060708090a0b0c0d0e0f10"
	    "1112131415161718191a1B1C1D1E1f2g",
	    "01:02030405060708090a0b0c0d0e0f1"
	    "1112131415161718191a1B1C1D1E1f20",
	    DIGITS DIGITS "\n",
	};

	for (size_t i = 0; i < LENGTH(wrong); i++) {
		put_text(f, wrong[i]);
		must_refuse(f, "32 bytes, or 64 hexadecimal digits");
	}
	put_text(f, "00000000000000000000000000000000"
		    "00000000000000000000000000000000\n");
	must_refuse(f, "all the same");
}

TEST(test_strange_files, struct folder *f)
{
	static const mode_t modes[] = {0604, 0602, 0644, 0660 | 01};

	must_refuse(f, "there is no such file");
	assert_non_null(strstr(f->err, "forefetch farm key"));
	put_text(f, DIGITS "\n");
	for (size_t i = 0; i < LENGTH(modes); i++) {
		assert_int_equal(chmod(f->file, modes[i]), 0);
		must_refuse(f, "chmod o-rwx");
	}
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(mkfifo(f->file, 0600), 0);
	must_refuse(f, "not a file");
	assert_null(seal_load(f->path, f->err, sizeof(f->err)));
	assert_non_null(strstr(f->err, "not a file"));
	/* A short buffer holds what it can. */
	assert_null(seal_load(f->file, f->err, 4));
	assert_int_equal(strlen(f->err), 3);
}

TEST(test_make_file, struct folder *f)
{
	mode_t old = umask(0777);
	struct seal *s[2];
	struct stat st;

	assert_int_equal(seal_make_file(f->file), 0);
	umask(old);
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	s[0] = seal_load(f->file, f->err, sizeof(f->err));
	assert_non_null(s[0]);

	/* seal_make_file() does not replace a file that exists, or a link to
	 * nowhere. */
	assert_int_equal(seal_make_file(f->file), -EEXIST);
	s[1] = seal_load(f->file, f->err, sizeof(f->err));
	assert_non_null(s[1]);
	assert_string_equal(seal_prefix(s[0]), seal_prefix(s[1]));
	seal_free(s[1]);
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(symlink("nowhere", f->file), 0);
	assert_int_equal(seal_make_file(f->file), -EEXIST);
	assert_int_equal(unlink(f->file), 0);

	/* No two are equal. */
	assert_int_equal(seal_make_file(f->file), 0);
	s[1] = seal_load(f->file, f->err, sizeof(f->err));
	assert_non_null(s[1]);
	assert_string_not_equal(seal_prefix(s[0]), seal_prefix(s[1]));
	seal_free(s[0]);
	seal_free(s[1]);
	assert_int_equal(seal_make_file("/nonexistent/key"), -ENOENT);
}
