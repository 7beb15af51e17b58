/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes each kind of call by libnfs, and reads its reply; see call.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "call.h"
#include "clock.h"

#define READDIR_BYTES     8192
#define READDIRPLUS_BYTES 32768
#define IPPROTO_TCP_PMAP  6
/* The Linux client asks for these rights when it opens a regular file. */
#define ACCESS_LINUX                                                           \
	(ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_EXECUTE)

static const char *const op_names[] = {
    [CALL_NULL] = "null",
    [CALL_GETATTR] = "getattr",
    [CALL_LOOKUP] = "lookup",
    [CALL_ACCESS] = "access",
    [CALL_READ] = "read",
    [CALL_WRITE] = "write",
    [CALL_READDIR] = "readdir",
    [CALL_READDIRPLUS] = "readdirplus",
    [CALL_CREATE] = "create",
    [CALL_MKDIR] = "mkdir",
    [CALL_REMOVE] = "remove",
    [CALL_RMDIR] = "rmdir",
    [CALL_FSINFO] = "fsinfo",
    [CALL_MNT] = "mnt",
    [CALL_GETPORT] = "getport",
};

const char *call_op_name(enum call_op op)
{
	return op_names[op];
}

enum call_op call_op_parse(const char *name, size_t len)
{
	enum call_op op;

	for (op = 0; op < CALL_MEASURED; op++)
		if (strlen(op_names[op]) == len &&
		    strncmp(op_names[op], name, len) == 0)
			break;
	return op;
}

static void bad(struct call *c, const char *why)
{
	c->result = CALL_BAD;
	snprintf(c->text, sizeof(c->text), "%s", why);
}

static void take_handle(struct call *c, uint32_t len, const char *data)
{
	if (len == 0 || len > FHANDLE_MAX) {
		bad(c, "a file handle of impossible length");
		return;
	}
	c->found.len = len;
	memcpy(c->found.data, data, len);
}

static void take_new_object(struct call *c, const post_op_fh3 *obj)
{
	if (!obj->handle_follows)
		bad(c, "the server made it but gave no file handle");
	else
		take_handle(c, obj->post_op_fh3_u.handle.data.data_len,
		    obj->post_op_fh3_u.handle.data.data_val);
}

static void take_read(struct call *c, const READ3resok *ok)
{
	const char *want = c->content;

	if (ok->data.data_len != ok->count || ok->count > c->count) {
		bad(c, "READ: count and length of the data disagree");
		return;
	}
	if (ok->count == 0) {
		bad(c, "READ: no data inside the file");
		return;
	}
	c->value = ok->count;
	if (!want || memcmp(want, ok->data.data_val, ok->count) == 0)
		return;
	for (uint32_t i = 0; i < ok->count; i++) {
		if (want[i] == ok->data.data_val[i])
			continue;
		c->result = CALL_CORRUPT;
		snprintf(c->text, sizeof(c->text),
		    "wrong content: file %u, byte %llu", c->item,
		    (unsigned long long)(c->offset + i));
		return;
	}
}

static void take_write(struct call *c, const WRITE3resok *ok)
{
	if (ok->count == 0 || ok->count > c->count)
		bad(c, "WRITE: impossible count");
	else
		c->value = ok->count;
}

static void take_fsinfo(struct call *c, const FSINFO3resok *ok)
{
	c->value = ok->rtmax;
	c->value2 = ok->wtmax;
}

static void take_mnt(struct call *c, const mountres3 *res)
{
	const mountres3_ok *ok = &res->mountres3_u.mountinfo;

	take_handle(c, ok->fhandle.fhandle3_len, ok->fhandle.fhandle3_val);
}

/* Every result but that of NULL and GETPORT starts with its status. */
static void take_body(struct call *c, const void *data)
{
	switch (c->op) {
	case CALL_LOOKUP: {
		const LOOKUP3resok *ok =
		    &((const LOOKUP3res *)data)->LOOKUP3res_u.resok;

		take_handle(
		    c, ok->object.data.data_len, ok->object.data.data_val);
		break;
	}
	case CALL_READ:
		take_read(c, &((const READ3res *)data)->READ3res_u.resok);
		break;
	case CALL_WRITE:
		take_write(c, &((const WRITE3res *)data)->WRITE3res_u.resok);
		break;
	case CALL_CREATE:
		take_new_object(
		    c, &((const CREATE3res *)data)->CREATE3res_u.resok.obj);
		break;
	case CALL_MKDIR:
		take_new_object(
		    c, &((const MKDIR3res *)data)->MKDIR3res_u.resok.obj);
		break;
	case CALL_FSINFO:
		take_fsinfo(c, &((const FSINFO3res *)data)->FSINFO3res_u.resok);
		break;
	case CALL_MNT:
		take_mnt(c, data);
		break;
	default:
		break;
	}
}

static void take_reply(struct call *c, const void *data)
{
	uint32_t word;

	if (c->op == CALL_NULL)
		return;
	if (!data) {
		bad(c, "an empty reply");
		return;
	}
	memcpy(&word, data, sizeof(word));
	if (c->op == CALL_GETPORT) {
		c->value = word;
		return;
	}
	c->status = word;
	if (word != 0)
		c->result = CALL_STATUS;
	else
		take_body(c, data);
}

static void call_on_reply(
    struct rpc_context *rpc, int rpc_status, void *data, void *private_data)
{
	struct call *c = private_data;
	const char *why = data;

	c->done_ns = clock_now_ns();
	c->result = CALL_OK;
	if (rpc_status == RPC_STATUS_SUCCESS) {
		take_reply(c, data);
	} else if (rpc_status == RPC_STATUS_ERROR && rpc_get_fd(rpc) >= 0) {
		c->result = CALL_DENIED;
		snprintf(c->text, sizeof(c->text), "%s", why ? why : "refused");
	} else {
		c->result = CALL_LOST;
	}
	c->finish(c);
}

static struct nfs_fh3 wire_handle(const struct fhandle *fh)
{
	struct nfs_fh3 h = {.data = {.data_len = fh->len}};

	/* libnfs only reads it; its type lacks the const. */
	h.data.data_val = (char *)(uintptr_t)fh->data;
	return h;
}

static struct diropargs3 wire_dirop(const struct call *c)
{
	struct diropargs3 what = {.dir = wire_handle(c->fh)};

	what.name = (char *)(uintptr_t)c->name;
	return what;
}

static int queue_write(struct call *c, struct rpc_context *rpc)
{
	WRITE3args args = {
	    .file = wire_handle(c->fh),
	    .offset = c->offset,
	    .count = c->count,
	    .stable = c->stable ? FILE_SYNC : UNSTABLE,
	};

	args.data.data_len = c->count;
	args.data.data_val = (char *)(uintptr_t)c->content;
	return rpc_nfs3_write_async(rpc, call_on_reply, &args, c);
}

static int queue_read(struct call *c, struct rpc_context *rpc)
{
	READ3args args = {
	    .file = wire_handle(c->fh),
	    .offset = c->offset,
	    .count = c->count,
	};

	return rpc_nfs3_read_async(rpc, call_on_reply, &args, c);
}

/* Anybody may use what set-up makes: the credentials of --uids vary. */
static int queue_create(struct call *c, struct rpc_context *rpc)
{
	CREATE3args args = {.where = wire_dirop(c)};
	sattr3 *attr = &args.how.createhow3_u.obj_attributes;

	args.how.mode = UNCHECKED;
	attr->mode.set_it = 1;
	attr->mode.set_mode3_u.mode = 0666;
	return rpc_nfs3_create_async(rpc, call_on_reply, &args, c);
}

static int queue_mkdir(struct call *c, struct rpc_context *rpc)
{
	MKDIR3args args = {.where = wire_dirop(c)};

	args.attributes.mode.set_it = 1;
	args.attributes.mode.set_mode3_u.mode = 0777;
	return rpc_nfs3_mkdir_async(rpc, call_on_reply, &args, c);
}

static int queue_dir_change(struct call *c, struct rpc_context *rpc)
{
	REMOVE3args remove = {.object = wire_dirop(c)};
	RMDIR3args rmdir = {.object = remove.object};

	if (c->op == CALL_REMOVE)
		return rpc_nfs3_remove_async(rpc, call_on_reply, &remove, c);
	return rpc_nfs3_rmdir_async(rpc, call_on_reply, &rmdir, c);
}

static int queue_listing(struct call *c, struct rpc_context *rpc)
{
	READDIR3args plain = {
	    .dir = wire_handle(c->fh),
	    .count = READDIR_BYTES,
	};
	READDIRPLUS3args plus = {
	    .dir = plain.dir,
	    .dircount = READDIR_BYTES,
	    .maxcount = READDIRPLUS_BYTES,
	};

	if (c->op == CALL_READDIR)
		return rpc_nfs3_readdir_async(rpc, call_on_reply, &plain, c);
	return rpc_nfs3_readdirplus_async(rpc, call_on_reply, &plus, c);
}

static int queue_query(struct call *c, struct rpc_context *rpc)
{
	GETATTR3args getattr;
	ACCESS3args access = {.access = ACCESS_LINUX};
	FSINFO3args fsinfo;
	LOOKUP3args lookup;

	switch (c->op) {
	case CALL_GETATTR:
		getattr.object = wire_handle(c->fh);
		return rpc_nfs3_getattr_async(rpc, call_on_reply, &getattr, c);
	case CALL_ACCESS:
		access.object = wire_handle(c->fh);
		return rpc_nfs3_access_async(rpc, call_on_reply, &access, c);
	case CALL_FSINFO:
		fsinfo.fsroot = wire_handle(c->fh);
		return rpc_nfs3_fsinfo_async(rpc, call_on_reply, &fsinfo, c);
	default:
		lookup.what = wire_dirop(c);
		return rpc_nfs3_lookup_async(rpc, call_on_reply, &lookup, c);
	}
}

static int queue_any(struct call *c, struct rpc_context *rpc)
{
	switch (c->op) {
	case CALL_NULL:
		return rpc_nfs3_null_async(rpc, call_on_reply, c);
	case CALL_READ:
		return queue_read(c, rpc);
	case CALL_WRITE:
		return queue_write(c, rpc);
	case CALL_READDIR:
	case CALL_READDIRPLUS:
		return queue_listing(c, rpc);
	case CALL_CREATE:
		return queue_create(c, rpc);
	case CALL_MKDIR:
		return queue_mkdir(c, rpc);
	case CALL_REMOVE:
	case CALL_RMDIR:
		return queue_dir_change(c, rpc);
	case CALL_MNT:
		return rpc_mount3_mnt_async(
		    rpc, call_on_reply, (char *)(uintptr_t)c->name, c);
	case CALL_GETPORT:
		return rpc_pmap2_getport_async(rpc, (int)c->count,
		    (int)c->version, IPPROTO_TCP_PMAP, call_on_reply, c);
	default:
		return queue_query(c, rpc);
	}
}

int call_queue(struct call *c, struct rpc_context *rpc)
{
	c->result = CALL_OK;
	c->status = 0;
	c->value = 0;
	c->value2 = 0;
	c->text[0] = '\0';
	return queue_any(c, rpc) == 0 ? 0 : -EIO;
}

void call_explain(const struct call *c, char *buf, size_t size)
{
	const char *name = op_names[c->op];

	switch (c->result) {
	case CALL_STATUS:
		snprintf(buf, size, "%s: %s", name,
		    c->op == CALL_MNT ? mountstat3_to_str((int)c->status)
				      : nfsstat3_to_str((int)c->status));
		break;
	case CALL_TIMEOUT:
		snprintf(buf, size, "%s: no reply in time", name);
		break;
	case CALL_LOST:
		snprintf(buf, size, "%s: connection lost", name);
		break;
	default:
		snprintf(buf, size, "%s: %s", name, c->text);
		break;
	}
}
