/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether two places of a configuration want one address and port. A
 * port belongs to one server, because handles pass through unchanged, and
 * handles of two servers may be equal. config_parse.c asks after each key that
 * binds. */
#include "config/config_binds.h"

/* Whether anything that `cfg` binds, but for `mine`, stands in the way of `na`;
 * `owner` says what it is. */
static bool find_clash(const struct config *cfg,
    const struct config_addrs *mine, const struct netmatch_addr *na,
    struct config_why *owner)
{
	for (size_t i = 0; i < cfg->nservers; i++) {
		const struct config_server *srv = &cfg->servers[i];

		for (size_t j = 0; j < srv->listen.n; j++) {
			if (&srv->listen == mine ||
			    !netmatch_addr_clash(&srv->listen.list[j], na))
				continue;
			snprintf(owner->text, sizeof(owner->text),
			    "[server %s]", srv->name);
			return true;
		}
	}
	snprintf(owner->text, sizeof(owner->text), "metrics_listen");
	return &cfg->metrics != mine && cfg->metrics.n > 0 &&
	       netmatch_addr_clash(&cfg->metrics.list[0], na);
}

bool config_binds_check(const struct config *cfg,
    const struct config_addrs *mine, struct config_why *why)
{
	char text[NETMATCH_TEXT_MAX];
	struct config_why owner;

	for (size_t i = 0; i < mine->n; i++) {
		netmatch_addr_format(&mine->list[i], text);
		for (size_t j = 0; j < i; j++) {
			if (!netmatch_addr_clash(
				&mine->list[i], &mine->list[j]))
				continue;
			snprintf(why->text, sizeof(why->text),
			    "%s overlaps with another address here", text);
			return false;
		}
		if (!find_clash(cfg, mine, &mine->list[i], &owner))
			continue;
		snprintf(why->text, sizeof(why->text), "%s is taken by %.150s",
		    text, owner.text);
		return false;
	}
	return true;
}
