/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way to an address, asked of this machine's kernel. */
#include "unittest.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "upstream/netpath.h"

static void find4(const char *to, struct netpath *path)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, to, &sin.sin_addr), 1);
	netpath_find((const struct sockaddr *)&sin, path);
}

TEST(test_loopback)
{
	struct in_addr source;
	struct netpath path;

	find4("127.0.0.1", &path);
	assert_int_equal(path.ifindex, if_nametoindex("lo"));
	memcpy(&source, path.source, sizeof(source));
	assert_int_equal(ntohl(source.s_addr) >> 24, 127);
}

TEST(test_same)
{
	struct netpath a, b;

	find4("127.0.0.1", &a);
	find4("127.0.0.1", &b);
	assert_true(netpath_same(&a, &b));
	b.carrier_changes++;
	assert_false(netpath_same(&a, &b));
	b = a;
	b.gateway[15] = 1;
	assert_false(netpath_same(&a, &b));
	b = a;
	b.source[0]++;
	assert_false(netpath_same(&a, &b));
	b = a;
	b.ifindex++;
	assert_false(netpath_same(&a, &b));
}

/* It is the interface's own, so that no route has to be found. */
TEST(test_link_local)
{
	struct sockaddr_in6 sin6 = {
	    .sin6_family = AF_INET6, .sin6_scope_id = if_nametoindex("lo")};
	struct netpath path;

	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &sin6.sin6_addr), 1);
	netpath_find((const struct sockaddr *)&sin6, &path);
	/* 0 where the machine has no IPv6. */
	assert_true(path.ifindex == 0 || path.ifindex == sin6.sin6_scope_id);
	sin6.sin6_scope_id = 1 << 30;
	netpath_find((const struct sockaddr *)&sin6, &path);
	assert_int_equal(path.ifindex, 0);
}

TEST(test_no_address)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct netpath path = {.ifindex = 1, .carrier_changes = 1};

	netpath_find((const struct sockaddr *)&sun, &path);
	assert_int_equal(path.ifindex, 0);
	assert_int_equal(path.carrier_changes, 0);
}
