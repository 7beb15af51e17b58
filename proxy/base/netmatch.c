/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses and networks: parsed, printed, compared. config/ reads `listen` and
 * `allow` by these, daemon/ compares each client's address with the latter; the
 * text is of a user, and anything may stand in it. */
#include "base/netmatch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define V4_BITS     32
#define V6_BITS     128
#define MAPPED_BITS 96 /* the length of ::ffff:0:0/96 */

/*
 * Parses a number of decimal digits only, no sign, no blank. Returns false when
 * there is none or it is above `max`. strtoul(3) would take more than that.
 */
static bool parse_number(const char *text, unsigned max, unsigned *out)
{
	unsigned n = 0;

	if (*text == '\0')
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (unsigned)(*text - '0');
		if (n > max)
			return false;
	}
	*out = n;
	return true;
}

/* Splits "a.b.c.d:port" or "[v6]:port"; `host` gets the address alone. False
 * for any other shape. */
static bool split_port(const char *text, char *host, size_t hostlen,
    const char **port, bool *bracketed)
{
	const char *end;
	size_t len;

	*bracketed = text[0] == '[';
	if (*bracketed)
		text++;
	end = *bracketed ? strchr(text, ']') : strrchr(text, ':');
	if (!end || (*bracketed && end[1] != ':'))
		return false;
	len = (size_t)(end - text);
	if (len >= hostlen)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = end + (*bracketed ? 2 : 1);
	return true;
}

const char *netmatch_addr_parse(const char *text, struct netmatch_addr *out)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct netmatch_addr na = {.len = 0};
	char host[NETMATCH_TEXT_MAX];
	const char *port;
	bool bracketed;
	unsigned number;

	if (!split_port(text, host, sizeof(host), &port, &bracketed))
		return "want ADDRESS:PORT or [IPV6 ADDRESS]:PORT";
	if (!parse_number(port, UINT16_MAX, &number) || number == 0)
		return "the port must be 1 to 65535";
	if (!bracketed && inet_pton(AF_INET, host, &in4.sin_addr) == 1) {
		in4.sin_port = htons((uint16_t)number);
		na.len = sizeof(in4);
		memcpy(&na.addr, &in4, sizeof(in4));
	} else if (bracketed &&
		   inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
			return "write an IPv4 address as A.B.C.D:PORT";
		in6.sin6_port = htons((uint16_t)number);
		na.len = sizeof(in6);
		memcpy(&na.addr, &in6, sizeof(in6));
	} else {
		return "the address must be numeric, IPv6 in brackets, or "
		       "localhost";
	}
	*out = na;
	return NULL;
}

void netmatch_format(const struct sockaddr *sa, char text[NETMATCH_TEXT_MAX])
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	char host[INET6_ADDRSTRLEN];

	if (sa->sa_family == AF_INET) {
		inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
		snprintf(text, NETMATCH_TEXT_MAX, "%s:%u", host,
		    ntohs(in4->sin_port));
	} else {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(text, NETMATCH_TEXT_MAX, "[%s]:%u", host,
		    ntohs(in6->sin6_port));
	}
}

void netmatch_addr_format(
    const struct netmatch_addr *na, char text[NETMATCH_TEXT_MAX])
{
	netmatch_format((const struct sockaddr *)&na->addr, text);
}

static bool clash_v4(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_port == b->sin_port &&
	       (a->sin_addr.s_addr == b->sin_addr.s_addr ||
		   a->sin_addr.s_addr == INADDR_ANY ||
		   b->sin_addr.s_addr == INADDR_ANY);
}

static bool clash_v6(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b)
{
	return a->sin6_port == b->sin6_port &&
	       (IN6_ARE_ADDR_EQUAL(&a->sin6_addr, &b->sin6_addr) ||
		   IN6_IS_ADDR_UNSPECIFIED(&a->sin6_addr) ||
		   IN6_IS_ADDR_UNSPECIFIED(&b->sin6_addr));
}

bool netmatch_addr_clash(
    const struct netmatch_addr *a, const struct netmatch_addr *b)
{
	if (a->addr.ss_family != b->addr.ss_family)
		return false;
	if (a->addr.ss_family == AF_INET)
		return clash_v4((const struct sockaddr_in *)&a->addr,
		    (const struct sockaddr_in *)&b->addr);
	return clash_v6((const struct sockaddr_in6 *)&a->addr,
	    (const struct sockaddr_in6 *)&b->addr);
}

static unsigned family_bits(sa_family_t family)
{
	return family == AF_INET ? V4_BITS : V6_BITS;
}

/* Returns the mask of byte `i` of an address under a prefix of `prefix` bits.
 */
static uint8_t mask_byte(unsigned prefix, unsigned i)
{
	if (prefix >= (i + 1) * 8)
		return 0xff;
	if (prefix <= i * 8)
		return 0;
	return (uint8_t)(0xff << ((i + 1) * 8 - prefix));
}

/* ::ffff:10.0.0.0/104 is 10.0.0.0/8: peers are compared as IPv4. */
static void unmap_net(struct netmatch_net *net)
{
	struct in6_addr addr;

	memcpy(&addr, net->bytes, sizeof(addr));
	if (net->family != AF_INET6 || net->prefix < MAPPED_BITS ||
	    !IN6_IS_ADDR_V4MAPPED(&addr))
		return;
	memset(net->bytes, 0, sizeof(net->bytes));
	memcpy(net->bytes, addr.s6_addr + 12, 4);
	net->family = AF_INET;
	net->prefix -= MAPPED_BITS;
}

const char *netmatch_net_parse(const char *text, struct netmatch_net *out)
{
	struct netmatch_net net = {.family = AF_INET};
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char host[NETMATCH_TEXT_MAX];
	unsigned bits;

	if (len >= sizeof(host))
		return "want an address or ADDRESS/BITS, numeric";
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, net.bytes) != 1) {
		net.family = AF_INET6;
		if (inet_pton(AF_INET6, host, net.bytes) != 1)
			return "want an address or ADDRESS/BITS, numeric";
	}
	bits = family_bits(net.family);
	if (slash && !parse_number(slash + 1, bits, &bits))
		return bits == V4_BITS ? "the prefix must be 0 to 32 bits"
				       : "the prefix must be 0 to 128 bits";
	net.prefix = (uint8_t)bits;
	for (unsigned i = 0; i < family_bits(net.family) / 8; i++)
		if (net.bytes[i] & ~mask_byte(net.prefix, i))
			return "the address has bits set beyond the prefix";
	unmap_net(&net);
	*out = net;
	return NULL;
}

void netmatch_net_format(
    const struct netmatch_net *net, char text[NETMATCH_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN];

	inet_ntop(net->family, net->bytes, host, sizeof(host));
	snprintf(text, NETMATCH_TEXT_MAX, "%s/%u", host, net->prefix);
}

bool netmatch_net_contains(
    const struct netmatch_net *net, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const uint8_t *bytes;
	sa_family_t family = sa->sa_family;

	if (family == AF_INET) {
		bytes = (const uint8_t *)&((const struct sockaddr_in *)sa)
			    ->sin_addr;
	} else if (family == AF_INET6) {
		bytes = in6->sin6_addr.s6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			family = AF_INET;
			bytes += 12;
		}
	} else {
		return false;
	}
	if (family != net->family)
		return false;
	for (unsigned i = 0; i * 8 < net->prefix; i++)
		if ((bytes[i] ^ net->bytes[i]) & mask_byte(net->prefix, i))
			return false;
	return true;
}
