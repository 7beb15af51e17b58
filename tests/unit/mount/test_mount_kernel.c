/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of the kernel's mounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

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
static void test_out_of_memory(void **state)
{
	struct mount_entry *list;
	size_t n = 1;

	(void)state;
	calls_left = 1;
	list = mount_kernel_list(&n);
	assert_null(list);
	assert_int_equal(n, 0);
	calls_left = 1000000;
	list = mount_kernel_list(&n);
	assert_non_null(list);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
