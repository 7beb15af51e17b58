/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way to an address, asked of this machine's kernel. */
#include "unittest.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "upstream/netpath.h"

ssize_t __real_recv(int fd, void *buf, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags);

/* In place of the kernel's next answer, if its length is not 0. */
static union {
	struct nlmsghdr head;
	char bytes[256];
} said;

ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags)
{
	ssize_t n = __real_recv(fd, buf, size, flags);

	if (said.head.nlmsg_len == 0)
		return n;
	n = said.head.nlmsg_len;
	memcpy(buf, &said, (size_t)n);
	said.head.nlmsg_len = 0;
	return n;
}

static void say_route(void)
{
	said.head.nlmsg_type = RTM_NEWROUTE;
	said.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg));
}

static void say_attr(unsigned short type, const void *data, size_t len)
{
	size_t at = NLMSG_ALIGN(said.head.nlmsg_len);
	struct rtattr *rta = (struct rtattr *)(said.bytes + at);

	rta->rta_type = type;
	rta->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(rta), data, len);
	said.head.nlmsg_len = (uint32_t)(at + RTA_ALIGN(rta->rta_len));
}

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

/* The kernel tells of an IPv4 route over a router's IPv6 address so. */
TEST(test_gateway_of_the_other_family)
{
	static const struct {
		unsigned short family;
		unsigned char address[16];
	} via = {AF_INET6, {0xfe, 0x80, [15] = 1}};
	struct netpath a, b;

	say_route();
	say_attr(RTA_VIA, &via, sizeof(via));
	find4("192.0.2.1", &a);
	assert_memory_equal(a.gateway, via.address, sizeof(a.gateway));
	say_route();
	find4("192.0.2.1", &b);
	assert_false(netpath_same(&a, &b));
	/* A malformed one is none. */
	say_route();
	say_attr(RTA_VIA, &via, 1);
	find4("192.0.2.1", &a);
	assert_true(netpath_same(&a, &b));
}

TEST(test_gateway_of_the_same_family)
{
	static const unsigned char gateway[] = {192, 0, 2, 254};
	struct netpath path;

	say_route();
	say_attr(RTA_GATEWAY, gateway, sizeof(gateway));
	find4("192.0.2.1", &path);
	assert_memory_equal(path.gateway, gateway, sizeof(gateway));
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
