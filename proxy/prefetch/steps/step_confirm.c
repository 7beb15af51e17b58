/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether what is known of an object will last until a client uses it, and the
 * ACCESS that confirms it. */
#include "link/linkest.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/steps/turn_private.h"

bool turn_confirmed(const struct turn *t, struct node *node, bool rights)
{
	struct asker who =
	    asker_now(t->c, credential_id(t->wish->cred), t->now_us);
	struct known k;

	known_node(&k, &who, node);
	/* In strict mode, and whatever the mode is where two machines write it,
	 * a client's call confirms it anyway: it need only be known. */
	if (k.contract.mode == CONFIG_CONSISTENCY_STRICT && k.sent_us)
		return true;
	/* Where the use is far off, it need only be known, too: a confirmation
	 * would be too old by then, and a READ shows the version. */
	if (t->wish->far_off && (node->flags & NODE_ATTRS))
		return true;
	return known_lasts(&k, linkest_srtt_us(t->g->link), rights);
}

bool turn_confirm(struct turn *t, struct node *node)
{
	union nfs_args args = {
	    .access = {.object = node_fh(node), .access = ACCESS_ALL}};

	if (turn_under_way(t, node, NFSPROC3_ACCESS))
		return true;
	return turn_send(t, node, NFSPROC3_ACCESS, &args, CONFIRM_BYTES) &&
	       turn_under_way(t, node, NFSPROC3_ACCESS);
}

bool turn_may_list(struct turn *t, struct node *node)
{
	if (node->flags & NODE_ATTRS)
		return attrcache_type(t->c->attr, node) == NF3DIR;
	/* Only its handle is known, as from another machine: the server says
	 * first of which type it is. It may say nothing of that for ever. */
	if (!t->at->typed)
		t->at->typed = turn_confirm(t, node);
	return false;
}
