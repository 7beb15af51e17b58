/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far a word is from another one. */
#include "config/spelling.h"

#include "unittest.h"

TEST(test_distance)
{
	static const char x33[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

	assert_int_equal(spelling_distance("", ""), 0);
	assert_int_equal(spelling_distance("", "ab"), 2);
	assert_int_equal(spelling_distance("ab", ""), 2);
	assert_int_equal(spelling_distance("drop", "drop"), 0);
	assert_int_equal(spelling_distance("dorp", "drop"), 1);
	assert_int_equal(spelling_distance("rdop", "drop"), 1);
	assert_int_equal(spelling_distance("dop", "drop"), 1);
	assert_int_equal(spelling_distance("drrop", "drop"), 1);
	assert_int_equal(spelling_distance("dxop", "drop"), 1);
	assert_int_equal(spelling_distance("prod", "drop"), 2);
	assert_int_equal(spelling_distance("explian", "explain"), 1);
	assert_int_equal(spelling_distance(x33 + 1, x33 + 2), 1);
	assert_true(spelling_distance(x33, "x") == SIZE_MAX);
	assert_true(spelling_distance("x", x33) == SIZE_MAX);
}
