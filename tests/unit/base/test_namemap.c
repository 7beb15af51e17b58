/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names by number: what was put in is found, and memory has a bound. */
#include "base/namemap.h"

#include "unittest.h"

static void put(struct namemap *m, uint64_t number, const char *name)
{
	namemap_put(m, number, name, strlen(name));
}

static void assert_name(
    const struct namemap *m, uint64_t number, const char *name)
{
	size_t len;
	const char *got = namemap_get(m, number, &len);

	if (!name) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(got, name, len);
}

TEST(test_names)
{
	struct namemap *m = AFTER(namemap_free, namemap_new());
	char longest[NAMEMAP_LEN_MAX + 2];

	assert_name(m, 7, NULL);
	put(m, 7, ".gitignore");
	put(m, 8, ".gitignore");
	assert_name(m, 7, ".gitignore");
	assert_name(m, 8, ".gitignore");
	/* The first one stays. */
	put(m, 7, "other");
	assert_name(m, 7, ".gitignore");
	/* The map keeps no name of number 0, no empty name, and none that is
	 * too long. */
	put(m, 0, "none");
	assert_name(m, 0, NULL);
	put(m, 9, "");
	assert_name(m, 9, NULL);
	memset(longest, 'x', sizeof(longest));
	longest[NAMEMAP_LEN_MAX + 1] = 0;
	put(m, 10, longest);
	assert_name(m, 10, NULL);
	longest[NAMEMAP_LEN_MAX] = 0;
	put(m, 10, longest);
	assert_name(m, 10, longest);
}

/* The newest are there, however many came before, and however much alike their
 * numbers are. */
TEST(test_bound)
{
	struct namemap *m = AFTER(namemap_free, namemap_new());
	char name[16];

	for (uint64_t i = 1; i <= 3 * (uint64_t)NAMEMAP_NAMES; i++) {
		snprintf(name, sizeof(name), "%ju", (uintmax_t)i);
		put(m, i, name);
		assert_name(m, i, name);
	}
	assert_name(m, 1, NULL);
}
