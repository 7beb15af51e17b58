/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket addresses and networks as text: what `listen` and `allow` hold.
 * Numeric only, nothing here asks a resolver. An IPv4 address that is mapped
 * into IPv6 (::ffff:a.b.c.d) counts as the IPv4 address that it is.
 */
#ifndef FOREFETCH_NETMATCH_H
#define FOREFETCH_NETMATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Room for "[v6 address]:port" or "v6 address/128", with the final NUL. */
#define NETMATCH_TEXT_MAX 64

/* A bound address: `len` is what bind(2) wants. */
struct netmatch_addr {
	struct sockaddr_storage addr;
	socklen_t len;
	bool may_lack; /* it is no error if this host has no such address */
};

/* A network. `prefix` counts bits; bits beyond it are 0. */
struct netmatch_net {
	uint8_t bytes[16];
	sa_family_t family; /* AF_INET (4 bytes used) or AF_INET6 */
	uint8_t prefix;
};

/*
 * Parses "127.0.0.1:2050" or "[::1]:2050". Returns NULL, or the reason for the
 * refusal (static text) with `out` untouched.
 */
const char *netmatch_addr_parse(const char *text, struct netmatch_addr *out);

/* Write an address and port as they are parsed; always with a NUL at the end.
 */
void netmatch_format(const struct sockaddr *sa, char text[NETMATCH_TEXT_MAX]);
void netmatch_addr_format(
    const struct netmatch_addr *na, char text[NETMATCH_TEXT_MAX]);

/*
 * Whether two sockets could not listen on both at once: port and family are
 * equal, and the addresses are too, or one of them is the wildcard. IPv6
 * sockets are taken to be V6ONLY (ipv6(7)).
 */
bool netmatch_addr_clash(
    const struct netmatch_addr *a, const struct netmatch_addr *b);

/*
 * Parses "10.0.0.0/8", "fd00::/8" or one address. Returns NULL, or the reason
 * for the refusal (static text) with `out` untouched.
 */
const char *netmatch_net_parse(const char *text, struct netmatch_net *out);

/* Writes a network as it is parsed; always with a NUL at the end. */
void netmatch_net_format(
    const struct netmatch_net *net, char text[NETMATCH_TEXT_MAX]);

/* Whether `sa` lies in `net`. An address of another family never does. */
bool netmatch_net_contains(
    const struct netmatch_net *net, const struct sockaddr *sa);

#endif
