/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three watches, any of which this machine may lack, and what each one makes
 * the servers do. */
#include "daemon/hostwatch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/logins.h"
#include "daemon/server.h"
#include "daemon/servers.h"
#include "upstream/netstate.h"
#include "upstream/netwatch.h"

struct hostwatch {
	struct servers *servers;
	struct netwatch *netwatch; /* NULL: changes go unnoticed */
	struct netstate *netstate; /* NULL: never metered */
	struct logins *logins;     /* NULL: nobody is seen to log in */
};

static void on_network(void *arg, bool woke)
{
	struct hostwatch *hw = arg;

	log_debug("daemon woke=%d: the network changed", woke);
	for (size_t i = 0; i < servers_count(hw->servers); i++)
		server_network_changed(servers_at(hw->servers, i), woke);
}

static void on_metered(void *arg, bool metered)
{
	struct hostwatch *hw = arg;

	servers_set_metered(hw->servers, metered);
}

static void on_login(void *arg, uint32_t uid)
{
	struct hostwatch *hw = arg;

	for (size_t i = 0; i < servers_count(hw->servers); i++)
		server_end_rights(servers_at(hw->servers, i), uid);
}

static void end_rights(void *server, uint32_t uid)
{
	server_end_rights(server, uid);
}

void hostwatch_server_serves(const struct hostwatch *hw, const char *server)
{
	for (size_t i = 0; hw && i < servers_count(hw->servers); i++) {
		struct server *s = servers_at(hw->servers, i);

		if (strcmp(server_name(s), server) == 0)
			logins_tell(hw->logins, end_rights, s);
	}
}

struct hostwatch *hostwatch_new(
    struct event_base *base, struct servers *servers)
{
	struct hostwatch *hw = calloc(1, sizeof(*hw));

	if (!hw) {
		log_warn("daemon: out of memory: changes of the network and "
			 "logins go unnoticed");
		return NULL;
	}
	hw->servers = servers;
	hw->netwatch = netwatch_new(base, on_network, hw);
	if (!hw->netwatch)
		log_warn("daemon: changes of the network go unnoticed: %s",
		    strerror(errno));
	hw->netstate = netstate_new(base, on_metered, hw);
	if (!hw->netstate)
		log_debug(
		    "daemon: NetworkManager is not asked: %s", strerror(errno));
	hw->logins = logins_new(base, on_login, hw);
	if (!hw->logins)
		log_debug("daemon: logind is not asked: %s", strerror(errno));
	logins_tell(hw->logins, on_login, hw);
	return hw;
}

void hostwatch_free(struct hostwatch *hw)
{
	if (!hw)
		return;
	netwatch_free(hw->netwatch);
	netstate_free(hw->netstate);
	logins_free(hw->logins);
	free(hw);
}
