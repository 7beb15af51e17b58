/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MOUNT steps of a probe (RFC 1813 appendix I): what is exported, and the
 * handle of the path. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/probe_private.h"
#include "nfsproto/nfs3_list.h"

/* Keeps the first PROBE_EXPORTS_MAX names, and counts all. */
static void read_exports(struct probe_facts *f, const struct xdr_view *list)
{
	struct mnt3_export e;
	XDR xdrs;
	bool more;

	nfs3_list_open(&xdrs, list);
	while (mnt3_export_decode(&xdrs, &e, &more) && more) {
		f->exports_all++;
		if (f->nexports == PROBE_EXPORTS_MAX)
			continue;
		f->exports[f->nexports] = strndup(e.dir.data, e.dir.len);
		if (f->exports[f->nexports])
			f->nexports++;
	}
}

/* Notes whether AUTH_SYS is among the flavors of the export, and their names
 * for people. An empty list counts as AUTH_SYS, as clients take it. Numbers are
 * IANA's for RPC authentication (RFC 5531, RFC 2623, RFC 9289). */
static void read_flavors(struct probe_facts *f, const struct xdr_view *list)
{
	size_t len = 0;
	uint32_t word;

	f->auth_sys = list->len < sizeof(word);
	for (uint32_t i = 0; i + sizeof(word) <= list->len; i += 4) {
		memcpy(&word, list->data + i, sizeof(word));
		word = ntohl(word);
		f->auth_sys |= word == AUTH_SYS;
		if (len < sizeof(f->flavors))
			len += (size_t)snprintf(f->flavors + len,
			    sizeof(f->flavors) - len, "%s%s", len ? " " : "",
			    word == AUTH_NONE     ? "none"
			    : word == AUTH_SYS    ? "sys"
			    : word == 390003      ? "krb5"
			    : word == 390004      ? "krb5i"
			    : word == 390005      ? "krb5p"
			    : word == 7 /* TLS */ ? "tls"
						  : "?");
	}
}

/* MNT puts this machine on the server's list of clients (RFC 1813 appendix I,
 * section 5.2.1), from which it is not taken again: UMNT would also remove what
 * another mount of this machine has put there. */
static void ask_mnt(struct probe_facts *f, struct ask *a, const char *path)
{
	union nfs_args args = {
	    .mnt.dirpath = {.len = (uint32_t)strlen(path), .data = path}};
	const MNT3resok *ok;
	union nfs_res res;

	f->mnt_err = ask_proc(a, MOUNT_PROGRAM, MOUNTPROC3_MNT, &args, &res);
	if (f->mnt_err)
		return;
	f->mnt_status = res.mnt.status;
	if (f->mnt_status != MNT3_OK)
		return;
	ok = &res.mnt.MNT3res_u.resok;
	f->fh_len = ok->fhandle.len;
	memcpy(f->fh, ok->fhandle.data, f->fh_len);
	read_flavors(f, &ok->auth_flavors);
	/* The server's list of clients is as it was, but that another client
	 * of this machine may be on it. */
}

/* A server need not list its exports, so that an error of EXPORT is noted and
 * MNT is tried all the same. */
void probe_mount(const struct probe_target *t, struct probe_facts *f)
{
	union nfs_res res;
	struct ask *a;

	if (f->mount_err)
		return;
	a = ask_open(probe_addr(f), f->mount_port, f->until_us, &f->mount_err);
	if (!a)
		return;
	f->exports_err =
	    ask_proc(a, MOUNT_PROGRAM, MOUNTPROC3_EXPORT, NULL, &res);
	if (!f->exports_err)
		read_exports(f, &res.export_list.exports);
	if (t->path)
		ask_mnt(f, a, t->path);
	ask_close(a);
}

void probe_mnt(const struct probe_target *t, struct probe_facts *f)
{
	struct ask *a;

	if (f->mount_err)
		return;
	a = ask_open(probe_addr(f), f->mount_port, f->until_us, &f->mnt_err);
	if (a)
		ask_mnt(f, a, t->path);
	ask_close(a);
}
