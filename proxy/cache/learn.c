/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies to calls that changed nothing: attributes, names, rights, answers
 * that are kept whole, data and listings. learn_change.c has the others.
 *
 * learn_reply() is the way in. Attributes go first, since they decide whether
 * the rest of the reply is of the version that is known; what is not is
 * dropped, but the attributes stay: the client has seen them.
 */
#include <string.h>

#include "base/log.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn_private.h"
#include "nfsproto/nfs3_list.h"

void learn_data_moved(const struct learn *l, const struct node *node,
    const struct data_version *from)
{
	struct data_version to = caches_data_version(l->caches, node);
	struct data_key key = caches_data_key(node);
	const struct node_ext *x = attrcache_ext(l->caches->attr, node);

	/* The change has just shown that the server's clock was set back, so
	 * what is there may not be firm. */
	if ((from->ctime_ns ^ to.ctime_ns) & CACHES_CLOCK_BACK)
		learn_data_drop(l, node);
	else if (l->caches->data)
		datacache_rebind(l->caches->data, &key, from, &to,
		    x && x->first_sent_us ? x->first_sent_us : l->sent_us);
}

/* Gives the version that is known, where one is. */
bool learn_version(
    const struct learn *l, const struct node *node, struct data_version *v)
{
	if (!(node->flags & NODE_ATTRS))
		return false;
	*v = caches_data_version(l->caches, node);
	return true;
}

/* Moves what PATHCONF said about case from the node to its file system, as soon
 * as that is known. A mount asks PATHCONF first of all, and knfsd's reply to it
 * has no attributes. */
static void learn_case(const struct learn *l, struct node *node)
{
	const unsigned said = NODE_CASE_SENSITIVE | NODE_CASE_BLIND;
	struct fsys *fs;

	if (!(node->flags & said) || !(node->flags & NODE_ATTRS))
		return;
	fs = attrcache_fsys(l->caches->attr, node);
	if (!fs)
		return;
	fs->case_known = true;
	fs->case_sensitive = (node->flags & NODE_CASE_SENSITIVE) != 0;
	node->flags &= ~said & 0xffff;
}

/* Applies attributes to a node, and to what hangs on it; false where nothing of
 * the reply may be kept. */
static bool apply_attr(
    const struct learn *l, struct node *node, const fattr3 *a)
{
	struct data_version from;
	bool had = learn_version(l, node, &from);
	fattr3 was = {0};

	if (had)
		attrcache_fattr(l->caches->attr, node, &was);

	switch (
	    attrcache_apply(l->caches->attr, node, a, l->sent_us, l->now_us)) {
	case ATTR_IGNORED:
		return false;
	case ATTR_SAME:
		metrics_add(l->caches->metrics, METRICS_CONFIRMED, 1);
		/* The mode was changed within the tick in which the version
		 * that is known was made. */
		if (had && learn_rights_differ(&was, a))
			accesscache_changed(l->caches->access, node);
		return true;
	case ATTR_CHANGED:
		metrics_add(l->caches->metrics, METRICS_CONTRADICTED, 1);
		/* Who may do what may have changed, too. */
		accesscache_changed(l->caches->access, node);
		return true;
	case ATTR_NEW:
		/* Rights from when nothing else was known of the object are of
		 * no version. */
		accesscache_changed(l->caches->access, node);
		return true;
	case ATTR_MOVED:
		if (had)
			learn_data_moved(l, node, &from);
		/* Somebody else may have changed the rights before our
		 * change, or after it. */
		if (had && learn_rights_differ(&was, a))
			accesscache_changed(l->caches->access, node);
		return true;
	default:
		return true;
	}
}

/* The same, and notes what else follows from them. */
static bool apply(const struct learn *l, struct node *node, const fattr3 *a)
{
	bool kept = apply_attr(l, node, a);

	learn_case(l, node);
	if (l->told)
		attrcache_tell(
		    l->caches->attr, node, l->machine, a, l->sent_us, 0);
	return kept;
}

/* The node of a handle in the reply, made where it is missing; NULL without
 * memory, and where the server has called the handle stale since the call was
 * sent. */
static struct node *get_node(const struct learn *l, const nfs3_fh *fh)
{
	struct attrcache *ac = l->caches->attr;

	return attrcache_has_died(ac, fh, l->sent_us) ? NULL
						      : attrcache_get(ac, fh);
}

struct node *learn_node(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr)
{
	struct node *node = get_node(l, fh);

	if (!node)
		return NULL;
	if (attr && attr->attributes_follow)
		(void)apply(l, node, &attr->post_op_attr_u.attributes);
	return node;
}

/* A reply that is otherwise of no use, such as an error, may have attributes.
 * They are learned for objects that are known: the client sees them, too. */
void learn_attr(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr)
{
	struct node *node;

	if (!attr->attributes_follow)
		return;
	node = attrcache_find(l->caches->attr, fh);
	if (node)
		(void)apply(l, node, &attr->post_op_attr_u.attributes);
}

/* The binding of a reply that is of the node's present version. */
static struct binding bound_now(const struct learn *l, struct node *node)
{
	return (struct binding){
	    .generation = attrcache_generation(l->caches->attr, node),
	    .firm = attrcache_firm(l->caches->attr, node, l->sent_us),
	    .sent_us = l->sent_us};
}

static bool may_fill(const struct learn *l, const struct node *node)
{
	return attrcache_may_fill(l->caches->attr, node, l->sent_us);
}

bool learn_is_of_version(
    const struct learn *l, const struct node *node, const post_op_attr *attr)
{
	return !attr->attributes_follow ||
	       attrcache_is_version(
		   l->caches->attr, node, &attr->post_op_attr_u.attributes);
}

/* Binds a name, or an absence, in the directory, unless a change of our own
 * came in between. */
static void bind_name(const struct learn *l, struct node *dir,
    const nfs3_name *name, struct node *child)
{
	if (may_fill(l, dir))
		namecache_bind_answer(l->caches->names, dir, name, child,
		    l->sent_us,
		    attrcache_firm(l->caches->attr, dir, l->sent_us));
}

/* ---- procedures ------------------------------------------------------- */

static void learn_getattr(const struct learn *l)
{
	struct node *node = get_node(l, &l->args->object);

	if (!node)
		return;
	(void)apply(
	    l, node, &l->res->getattr.GETATTR3res_u.resok.obj_attributes);
	learn_answered(l, node, false);
}

static void learn_absent(const struct learn *l)
{
	const post_op_attr *attr = &l->res->lookup.LOOKUP3res_u.dir_attributes;
	struct node *dir = learn_node(l, &l->args->dirop.dir, attr);

	if (!dir)
		return;
	if (learn_is_of_version(l, dir, attr))
		bind_name(l, dir, &l->args->dirop.name, NULL);
	learn_answered(l, dir, learn_is_of_version(l, dir, attr));
}

/* A name was found. If the directory's own listing, which is firm and of the
 * same version, lacks it, listings of that file system prove nothing: the
 * server takes short names, for example, or drops what stands at the end. No
 * absence is answered from a listing there any more. */
static void learn_unlisted(
    const struct learn *l, struct node *dir, const nfs3_name *name)
{
	struct fsys *fs = attrcache_fsys(l->caches->attr, dir);
	struct listing *list;

	if (!fsys_lists_all(fs) || name->len == 0 || name->data[0] == '.')
		return;
	for (int plus = 0; plus < 2; plus++) {
		struct binding b;

		list =
		    listcache_find(l->caches->lists, dir, l->cred, plus != 0);
		b = list ? listing_binding(list) : (struct binding){0};
		if (list && b.firm &&
		    b.generation ==
			attrcache_generation(l->caches->attr, dir) &&
		    attrcache_may_fill(l->caches->attr, dir, b.sent_us) &&
		    listing_lacks(l->caches->lists, list, name))
			fs->unlisted = true;
	}
}

static void learn_lookup(const struct learn *l)
{
	const LOOKUP3resok *r = &l->res->lookup.LOOKUP3res_u.resok;
	struct node *dir =
	    learn_node(l, &l->args->dirop.dir, &r->dir_attributes);
	struct node *child = learn_node(l, &r->object, &r->obj_attributes);
	bool bound;

	if (!dir || !child)
		return;
	bound = learn_is_of_version(l, dir, &r->dir_attributes);
	if (bound && r->dir_attributes.attributes_follow)
		learn_unlisted(l, dir, &l->args->dirop.name);
	if (bound)
		bind_name(l, dir, &l->args->dirop.name, child);
	learn_answered(l, dir, bound);
	learn_answered(l, child, false);
}

/* Keeps an answer whole. `attr` are the attributes in it, which may be NULL;
 * `key` is the mask of a GETACL. */
static void learn_answer(const struct learn *l, const nfs3_fh *fh,
    const post_op_attr *attr, uint32_t key)
{
	struct node *node = learn_node(l, fh, attr);
	struct binding bound;

	if (!node)
		return;
	learn_answered(l, node, false);
	if (!may_fill(l, node) || (attr && !learn_is_of_version(l, node, attr)))
		return;
	/* A node without an ext has the generation 0. It must have one first,
	 * so that its next generation differs from the one in the binding. */
	if (!attrcache_make_ext(l->caches->attr, node))
		return;
	bound = bound_now(l, node);
	answercache_put(
	    l->caches->answers, node, l->proc, key, l->body, &bound);
}

static void learn_pathconf(const struct learn *l)
{
	const PATHCONF3resok *r = &l->res->pathconf.PATHCONF3res_u.resok;
	struct node *node;

	learn_answer(l, &l->args->object, &r->obj_attributes, 0);
	node = get_node(l, &l->args->object);
	if (!node)
		return;
	node->flags &= ~(NODE_CASE_SENSITIVE | NODE_CASE_BLIND) & 0xffff;
	node->flags |=
	    r->case_insensitive ? NODE_CASE_BLIND : NODE_CASE_SENSITIVE;
	learn_case(l, node);
}

static void add_data(const struct learn *l, struct node *node)
{
	const READ3resok *r = &l->res->read.READ3res_u.resok;
	const fattr3 *a = &r->file_attributes.post_op_attr_u.attributes;
	uint64_t end = l->args->read.offset + r->data.len;
	struct learn_bytes b = {.caches = l->caches,
	    .node = node,
	    .cred = l->cred,
	    .offset = l->args->read.offset,
	    .data = r->data.data,
	    .len = r->data.len,
	    .hold = l->hold,
	    .sent_us = l->sent_us,
	    .again_us = l->again_us,
	    .firm = attrcache_firm(l->caches->attr, node, l->sent_us),
	    .ahead = l->ahead};

	/* A reply whose range, end of file and size contradict each other is
	 * not cached. */
	if (end < l->args->read.offset || end > a->size ||
	    (r->eof && end != a->size) || a->type != NF3REG)
		return;
	learn_bytes(&b);
}

static void learn_read(const struct learn *l)
{
	const READ3resok *r = &l->res->read.READ3res_u.resok;
	const post_op_attr *attr = &r->file_attributes;
	struct node *node = get_node(l, &l->args->read.file);
	bool kept;

	if (!node)
		return;
	kept = attr->attributes_follow &&
	       apply(l, node, &attr->post_op_attr_u.attributes);
	learn_answered(l, node, learn_is_of_version(l, node, attr));
	if (kept && l->caches->data && r->data.len > 0)
		add_data(l, node);
}

/*
 * Whether the attributes of an entry are as good as those of a GETATTR. Some
 * servers keep listings apart, as GlusterFS does with its readdir-ahead, and
 * list what they have told otherwise before. Such an entry confirms nothing;
 * and once one is older by more than clocks of one server differ, no entry of
 * its file system does. What entries show otherwise is asked for.
 */
static bool entry_counts(
    const struct learn *l, struct node *node, const fattr3 *a)
{
	enum { CLOCKS_NS = 1000000000 };
	struct attrcache *ac = l->caches->attr;
	struct fsys *fs = attrcache_get_fsys(ac, a->fsid);
	uint64_t listed_ns = nfstime_ns(&a->ctime), known_ns = 0;

	if (!fs || fs->clock_back)
		return true;
	if ((node->flags & NODE_ATTRS) && l->sent_us >= node->seen_us &&
	    node->fileid == a->fileid)
		known_ns = nfstime_ns(&node->ctime);
	if (known_ns > listed_ns + CLOCKS_NS)
		fs->lists_old = true;
	if (!fs->lists_old && known_ns <= listed_ns)
		return true;
	if (!attrcache_is_version(ac, node, a))
		node->sent_us = 0;
	return false;
}

/* Learns an entry of a READDIRPLUS. `dir` is NULL where the listing is not
 * kept, and then its names are not either. The attributes are: once a client
 * has seen them, be it those of "." and "..", it must not be told older ones.
 */
static void learn_entry(
    const struct learn *l, struct node *dir, const struct nfs3_dirent *e)
{
	const fattr3 *a = &e->attributes.post_op_attr_u.attributes;
	struct node *child;

	if (!e->handle.handle_follows || !e->attributes.attributes_follow ||
	    e->name.len == 0)
		return;
	child = get_node(l, &e->handle.post_op_fh3_u.handle);
	if (!child)
		return;
	if (entry_counts(l, child, a))
		(void)apply(l, child, a);
	if (dir)
		bind_name(l, dir, &e->name, child);
	learn_answered(l, child, false);
}

/* Tells the hooks of a listing that is complete. It is looked up for each,
 * since a hook may have made room for something else. */
static void tell_listing(const struct learn *l, struct node *dir, bool plus)
{
	struct listing *list;
	struct caches_hook *h;

	LIST_FOREACH (h, &l->caches->hooks, link) {
		if (!h->on_listing)
			continue;
		list = listcache_find(l->caches->lists, dir, l->cred, plus);
		if (list && listing_complete(list))
			h->on_listing(h, dir, l->cred, plus);
	}
}

/* Returns the directory, where the listing in the reply is of the version that
 * is known and may be kept; else NULL. */
static struct node *listed_dir(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr)
{
	struct node *dir = get_node(l, fh);

	if (!dir || !attr->attributes_follow ||
	    !apply(l, dir, &attr->post_op_attr_u.attributes) ||
	    !attrcache_make_ext(l->caches->attr, dir))
		return NULL;
	return dir;
}

static void learn_list(const struct learn *l, const nfs3_fh *fh,
    const post_op_attr *attr, struct list_page *page)
{
	struct node *dir = listed_dir(l, fh, attr);
	struct nfs3_dirent e;
	bool more = false;
	XDR xdrs;

	if (dir) {
		learn_answered(l, dir, false);
		page->bound = bound_now(l, dir);
		page->cred = l->cred;
		listcache_add(l->caches->lists, dir, page);
	}
	nfs3_list_open(&xdrs, page->entries);
	while (page->plus && nfs3_dirent_decode(&xdrs, true, &e, &more) && more)
		learn_entry(l, dir, &e);
	if (dir)
		tell_listing(l, dir, page->plus);
}

static void learn_readdir(const struct learn *l)
{
	const READDIR3resok *r = &l->res->readdir.READDIR3res_u.resok;
	struct list_page page = {.cookie = l->args->readdir.cookie,
	    .verf = r->cookieverf,
	    .entries = &r->reply};

	learn_list(l, &l->args->readdir.dir, &r->dir_attributes, &page);
}

static void learn_readdirplus(const struct learn *l)
{
	const READDIRPLUS3resok *r =
	    &l->res->readdirplus.READDIRPLUS3res_u.resok;
	struct list_page page = {.plus = true,
	    .cookie = l->args->readdirplus.cookie,
	    .verf = r->cookieverf,
	    .entries = &r->reply};

	learn_list(l, &l->args->readdirplus.dir, &r->dir_attributes, &page);
}

/* FSSTAT and FSINFO: their attributes stand first in the results. */
static void learn_fs(const struct learn *l)
{
	learn_answer(l, &l->args->object,
	    &l->res->fsinfo.FSINFO3res_u.resok.obj_attributes, 0);
}

static void learn_readlink(const struct learn *l)
{
	learn_answer(l, &l->args->object,
	    &l->res->readlink.READLINK3res_u.resok.symlink_attributes, 0);
}

static void learn_getacl(const struct learn *l)
{
	if (l->res->status == NFS3_OK)
		learn_answer(l, &l->args->getacl.object,
		    &l->res->getacl.GETACL3res_u.resok.attributes,
		    l->args->getacl.mask);
	else if (l->res->status == NFS3ERR_ACCES)
		learn_refused(l, &l->args->getacl.object);
}

/*
 * Learns from an error. In all results but those of GETATTR, which have none
 * then, attributes stand first, and the handle stands first in all arguments.
 */
static void learn_error(const struct learn *l)
{
	if (l->proc->proc == NFSPROC3_LOOKUP &&
	    l->res->status == NFS3ERR_NOENT) {
		learn_absent(l);
		return;
	}
	if (l->proc->proc != NFSPROC3_GETATTR)
		learn_attr(l, &l->args->object,
		    &l->res->fsinfo.FSINFO3res_u.obj_attributes);
	if (l->res->status == NFS3ERR_ACCES)
		learn_refused(l, &l->args->object);
}

static void learn_nfs3(const struct learn *l)
{
	static void (*const rows[])(const struct learn *l) = {
	    [NFSPROC3_GETATTR] = learn_getattr,
	    [NFSPROC3_LOOKUP] = learn_lookup,
	    [NFSPROC3_ACCESS] = learn_access,
	    [NFSPROC3_READLINK] = learn_readlink,
	    [NFSPROC3_READ] = learn_read,
	    [NFSPROC3_READDIR] = learn_readdir,
	    [NFSPROC3_READDIRPLUS] = learn_readdirplus,
	    [NFSPROC3_FSSTAT] = learn_fs,
	    [NFSPROC3_FSINFO] = learn_fs,
	    [NFSPROC3_PATHCONF] = learn_pathconf,
	    [NFSPROC3_COMMIT] = NULL,
	};

	if (l->proc->proc == NFSPROC3_COMMIT || !rows[l->proc->proc])
		learn_change(l);
	else if (l->res->status == NFS3_OK)
		rows[l->proc->proc](l);
	else
		learn_error(l);
}

/* Keeps the answer to a MNT, so that its user can mount while the server is
 * away. */
static void learn_mnt(const struct learn *l)
{
	struct mounttab_entry e = {.path = l->args->mnt.dirpath.data,
	    .path_len = l->args->mnt.dirpath.len,
	    .cred = l->cred_key,
	    .body = *l->body,
	    .sent_us = l->sent_us};

	if (l->res->status == 0 && l->cred_key &&
	    l->body->len <= ANSWER_BYTES_MAX)
		mounttab_put(l->caches->mounts, &e);
	l->caches->dirty = true;
}

/* Logs that a server's clock was set back: it costs confirmations, and is worth
 * mending there. */
static void tell_clocks(const struct learn *l)
{
	uint32_t n = attrcache_take_clocks_back(l->caches->attr);
	unsigned suppressed;

	if (n == 0)
		return;
	metrics_add(l->caches->metrics, METRICS_CLOCKS_BACK, n);
	if (log_limit_ok(&l->caches->clocks_told, l->now_us, &suppressed))
		log_warn("cache server=%s suppressed=%u: a change has an "
			 "earlier ctime than the state before it: the clock of "
			 "the file system was set back. Everything known of it "
			 "is asked for again",
		    l->caches->config->name, suppressed);
}

void learn_reply(const struct learn *l)
{
	if (!(l->proc->flags & NFS_PROC_STATUS))
		return;
	if (l->proc->prog == MOUNT_PROGRAM) {
		learn_mnt(l);
		return;
	}
	if (l->res->status == NFS3ERR_STALE ||
	    l->res->status == NFS3ERR_BADHANDLE) {
		learn_stale(l);
		return;
	}
	if (l->proc->prog == NFS_PROGRAM)
		learn_nfs3(l);
	else if (l->proc->flags & NFS_PROC_CHANGE)
		learn_change(l);
	else if (l->proc->prog == NFSACL_PROGRAM)
		learn_getacl(l);
	tell_clocks(l);
	caches_trim(l->caches);
}
