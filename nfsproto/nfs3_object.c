/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles and names as keys. */
#include "nfsproto/nfs3_object.h"

#include <xxhash.h>

uint64_t fh_key(const nfs3_fh *fh)
{
	uint64_t key = XXH3_64bits(fh->data, fh->len);

	return key ? key : 1;
}

bool nfs3_name_is_dots(const nfs3_name *name)
{
	return (name->len == 1 && name->data[0] == '.') ||
	       (name->len == 2 && name->data[0] == '.' && name->data[1] == '.');
}
