/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of directories that a walk has met. */
#include "unittest.h"
#include "warm/dirset.h"

enum { MANY = 200000 };

static int add(struct dirset *s, unsigned i)
{
	char text[16];
	nfs3_fh fh = {.data = text,
	    .len = (uint32_t)snprintf(text, sizeof(text), "%u", i)};

	return dirset_add(s, &fh);
}

/* Each is new once, however the tables grow meanwhile. */
TEST(test_once)
{
	struct dirset s = {0};

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(add(&s, i), 1);
		assert_int_equal(add(&s, i / 2), 0);
	}
	assert_int_equal(s.count, MANY);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(add(&s, i), 0);
	dirset_clear(&s);
	assert_int_equal(s.count, 0);
	assert_int_equal(add(&s, 1), 1);
	dirset_clear(&s);
}

/* Handles that differ in their length alone, or in a byte at their end. */
TEST(test_alike)
{
	char text[NFS3_FHSIZE_MAX] = {0};
	ENDS_BY(dirset_clear) struct dirset s = {0};
	nfs3_fh fh = {.data = text};

	for (fh.len = 0; fh.len < sizeof(text); fh.len++)
		assert_int_equal(dirset_add(&s, &fh), 1);
	text[fh.len - 1] = 1;
	assert_int_equal(dirset_add(&s, &fh), 1);
	assert_int_equal(dirset_add(&s, &fh), 0);
}
