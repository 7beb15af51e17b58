/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listings that no sound server would send. */
#include <stdio.h>
#include <string.h>

#include "conversation/answer.h"
#include "nfsproto/nfs3_list.h"
#include "scenario/memfs.h"

enum list_kind {
	LIST_LOOP,      /* each entry has the first one's cookie */
	LIST_SAME_NAME, /* of different files */
	LIST_DOTS,
	LIST_SLASH,
	LIST_NUL,
	LIST_NAMELESS,
	LIST_LONG,
	LIST_ENDLESS,
	LIST_EMPTY, /* and not the end */
	LIST_MANY,
	LIST_NO_HANDLE, /* one of no bytes */
	LIST_LONG_HANDLE,
	LIST_SAME_HANDLE,   /* under different names */
	LIST_NO_ATTRIBUTES, /* and no handles */
	LIST_BACKWARDS,
	LIST_KINDS,
};

static const unsigned counts[LIST_KINDS] = {
    [LIST_LOOP] = 4,
    [LIST_SAME_NAME] = 4,
    [LIST_DOTS] = 4,
    [LIST_SLASH] = 3,
    [LIST_NUL] = 3,
    [LIST_NAMELESS] = 2,
    [LIST_LONG] = 3,
    [LIST_ENDLESS] = 8,
    [LIST_MANY] = 300,
    [LIST_NO_HANDLE] = 3,
    [LIST_LONG_HANDLE] = 3,
    [LIST_SAME_HANDLE] = 3,
    [LIST_NO_ATTRIBUTES] = 5,
    [LIST_BACKWARDS] = 5,
};

static char name[NFS3_NAME_MAX + 1];

static nfs3_name name_of(enum list_kind kind, unsigned i, uint64_t cookie)
{
	static const char *const dots[] = {".", "..", "a", "..."};
	uint32_t len = 1;

	memset(name, 'n', sizeof(name));
	switch (kind) {
	case LIST_SAME_NAME:
		name[0] = 'a';
		break;
	case LIST_DOTS:
		len = (uint32_t)snprintf(name, sizeof(name), "%s", dots[i % 4]);
		break;
	case LIST_SLASH:
		len = (uint32_t)snprintf(name, sizeof(name), "a/%u", i);
		break;
	case LIST_NUL:
		memcpy(name, "a\0b", 3);
		len = 3;
		break;
	case LIST_NAMELESS:
		len = 0;
		break;
	case LIST_LONG:
		len = NFS3_NAME_MAX - i;
		break;
	default:
		len = (uint32_t)snprintf(name, sizeof(name), "%c%ju",
		    i % 26 + 'a', (uintmax_t)cookie + i / 26);
	}
	return (nfs3_name){.len = len, .data = name};
}

static uint64_t cookie_of(enum list_kind kind, unsigned i, uint64_t cookie)
{
	if (kind == LIST_LOOP)
		return 1;
	if (kind == LIST_BACKWARDS)
		return UINT64_MAX - i;
	return cookie + i + 1;
}

static nfs3_fh handle_of(
    enum list_kind kind, const struct memfs_object *o, struct memfs *fs)
{
	static char longest[NFS3_FHSIZE_MAX] = "a-long-one";

	if (kind == LIST_NO_HANDLE)
		return (nfs3_fh){.len = 0};
	if (kind == LIST_LONG_HANDLE)
		return (nfs3_fh){.len = sizeof(longest), .data = longest};
	return memfs_fh(kind == LIST_SAME_HANDLE ? fs->objects : o);
}

size_t answer_list(struct memfs *fs, bool plus, unsigned kind,
    unsigned long long cookie, unsigned char to[ANSWER_LIST_MAX])
{
	enum list_kind k = kind % LIST_KINDS;
	bool ok = true;
	XDR xdrs;

	xdrmem_create(&xdrs, (char *)to, ANSWER_LIST_MAX, XDR_ENCODE);
	for (unsigned i = 0; ok && i < counts[k]; i++) {
		const struct memfs_object *o = &fs->objects[i % fs->n];
		struct nfs3_dirent e = {.fileid = o->fileid,
		    .name = name_of(k, i, cookie),
		    .cookie = cookie_of(k, i, cookie)};

		if (k != LIST_NO_ATTRIBUTES) {
			e.attributes = memfs_attr(fs, o);
			e.handle.handle_follows = TRUE;
			e.handle.post_op_fh3_u.handle = handle_of(k, o, fs);
		}
		ok = nfs3_dirent_encode(&xdrs, plus, &e);
	}
	(void)nfs3_dirlist_end(&xdrs, k >= LIST_NO_HANDLE || k == LIST_MANY);
	return xdr_getpos(&xdrs);
}
