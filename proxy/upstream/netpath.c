/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two questions to the kernel: the route to an address, and how often its
 * interface's carrier has changed. daemon/ asks when netwatch.c has told of a
 * change, and has the link measured anew only where the way is another one. */
#include "upstream/netpath.h"

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An answer about a link is long, since it has the link's statistics, too. */
enum { ANSWER_MAX = 16384 };

/* A question of either kind, with room for an address and an interface. */
struct netpath_question {
	struct nlmsghdr head;
	union {
		struct rtmsg route;
		struct ifinfomsg link;
	} u;
	char attrs[64];
};

static void put_attr(struct netpath_question *q, unsigned short type,
    const void *data, size_t len)
{
	struct rtattr *at =
	    (struct rtattr *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	at->rta_type = type;
	at->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(at), data, len);
	q->head.nlmsg_len =
	    (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(at->rta_len));
}

static void put_head(
    struct netpath_question *q, unsigned short type, size_t len)
{
	memset(q, 0, sizeof(*q));
	q->head.nlmsg_type = type;
	q->head.nlmsg_flags = NLM_F_REQUEST;
	q->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
}

static bool put_route(struct netpath_question *q, const struct sockaddr *to)
{
	const struct sockaddr_in *in = (const void *)to;
	const struct sockaddr_in6 *in6 = (const void *)to;

	put_head(q, RTM_GETROUTE, sizeof(q->u.route));
	q->u.route.rtm_family = (unsigned char)to->sa_family;
	if (to->sa_family == AF_INET) {
		q->u.route.rtm_dst_len = 32;
		put_attr(q, RTA_DST, &in->sin_addr, sizeof(in->sin_addr));
		return true;
	}
	if (to->sa_family != AF_INET6)
		return false;
	q->u.route.rtm_dst_len = 128;
	put_attr(q, RTA_DST, &in6->sin6_addr, sizeof(in6->sin6_addr));
	/* Each interface has neighbours of the same link-local address. */
	if (in6->sin6_scope_id != 0)
		put_attr(q, RTA_OIF, &in6->sin6_scope_id,
		    sizeof(in6->sin6_scope_id));
	return true;
}

static void put_link(struct netpath_question *q, unsigned ifindex)
{
	put_head(q, RTM_GETLINK, sizeof(q->u.link));
	q->u.link.ifi_family = AF_UNSPEC;
	q->u.link.ifi_index = (int)ifindex;
}

/* Asks, and returns the answer's length; 0 where it is none of `type`. The
 * kernel has answered before sendto() returns, so nothing waits here. */
static size_t ask(
    int fd, const struct netpath_question *q, unsigned short type, char *buf)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	const struct nlmsghdr *nh = (const void *)buf;
	ssize_t n;

	if (sendto(fd, q, q->head.nlmsg_len, 0, (struct sockaddr *)&kernel,
		sizeof(kernel)) < 0)
		return 0;
	n = recv(fd, buf, ANSWER_MAX, MSG_DONTWAIT);
	if (n < 0 || !NLMSG_OK(nh, (size_t)n) || nh->nlmsg_type != type)
		return 0;
	return (size_t)n;
}

/* Finds an attribute behind a body of `body` bytes: returns its data if that is
 * at most `max` bytes long, or NULL. */
static const void *attr(
    const char *buf, size_t body, unsigned short type, size_t max, size_t *len)
{
	const struct nlmsghdr *nh = (const void *)buf;
	const char *at = buf + NLMSG_HDRLEN + NLMSG_ALIGN(body);
	const struct rtattr *rta = (const void *)at;
	size_t left = nh->nlmsg_len;

	if (left < (size_t)(at - buf))
		return NULL;
	left -= (size_t)(at - buf);
	for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
		*len = RTA_PAYLOAD(rta);
		if (rta->rta_type == type)
			return *len <= max ? RTA_DATA(rta) : NULL;
	}
	return NULL;
}

static void copy_attr(
    const char *buf, size_t body, unsigned short type, void *to, size_t max)
{
	size_t len;
	const void *data = attr(buf, body, type, max, &len);

	if (data)
		memcpy(to, data, len);
}

/* Copies the gateway of a route, which is of the other family behind RTA_VIA:
 * an IPv4 route may lead over a router's IPv6 address (RFC 5549). */
static void copy_gateway(const char *buf, struct netpath *path)
{
	size_t body = sizeof(struct rtmsg), max = sizeof(path->gateway), len;
	const struct rtvia *via =
	    attr(buf, body, RTA_VIA, sizeof(*via) + max, &len);

	if (via && len > sizeof(*via))
		memcpy(path->gateway, via->rtvia_addr, len - sizeof(*via));
	else
		copy_attr(buf, body, RTA_GATEWAY, path->gateway, max);
}

void netpath_find(const struct sockaddr *to, struct netpath *path)
{
	_Alignas(struct nlmsghdr) char buf[ANSWER_MAX];
	struct netpath_question q;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	memset(path, 0, sizeof(*path));
	if (fd < 0)
		return;
	if (put_route(&q, to) && ask(fd, &q, RTM_NEWROUTE, buf)) {
		copy_attr(buf, sizeof(q.u.route), RTA_OIF, &path->ifindex,
		    sizeof(path->ifindex));
		copy_gateway(buf, path);
		copy_attr(buf, sizeof(q.u.route), RTA_PREFSRC, path->source,
		    sizeof(path->source));
	}
	put_link(&q, path->ifindex);
	if (path->ifindex != 0 && ask(fd, &q, RTM_NEWLINK, buf))
		copy_attr(buf, sizeof(q.u.link), IFLA_CARRIER_CHANGES,
		    &path->carrier_changes, sizeof(path->carrier_changes));
	close(fd);
}

bool netpath_same(const struct netpath *a, const struct netpath *b)
{
	return a->ifindex == b->ifindex &&
	       a->carrier_changes == b->carrier_changes &&
	       memcmp(a->gateway, b->gateway, sizeof(a->gateway)) == 0 &&
	       memcmp(a->source, b->source, sizeof(a->source)) == 0;
}
