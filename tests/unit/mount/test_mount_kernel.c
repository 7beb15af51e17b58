/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of the kernel's mounts. */
#include "unittest.h"
#include "mount/mount_kernel.h"

void *__real_reallocarray(void *old, size_t n, size_t bytes);
void *__wrap_reallocarray(void *old, size_t n, size_t bytes);

static unsigned calls_left; /* before memory is out */

void *__wrap_reallocarray(void *old, size_t n, size_t bytes)
{
	if (calls_left == 0)
		return NULL;
	calls_left--;
	return __real_reallocarray(old, n, bytes);
}

/* Nobody takes a part of it for all. */
TEST(test_out_of_memory)
{
	FREED struct mount_entry *list;
	size_t n = 1;

	calls_left = 1;
	list = mount_kernel_list(&n);
	assert_null(list);
	assert_int_equal(n, 0);
	calls_left = 1000000;
	list = mount_kernel_list(&n);
	assert_non_null(list);
}
