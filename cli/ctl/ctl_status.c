/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers in a status, by their names and by where they listen. */
#include "ctl/ctl_status.h"

#include <stdio.h>
#include <string.h>

enum { LISTEN_BYTES = 64 };

bool ctl_is(const ProtobufCBinaryData *bytes, const char *text)
{
	size_t len = strlen(text);

	return bytes->len == len &&
	       (len == 0 || memcmp(bytes->data, text, len) == 0);
}

const Forefetch__ServerStatus *ctl_server_named(
    const Forefetch__Status *status, const char *name)
{
	for (size_t i = 0; i < status->n_servers; i++)
		if (ctl_is(&status->servers[i]->name, name))
			return status->servers[i];
	return NULL;
}

const Forefetch__ServerStatus *ctl_server_at(
    const Forefetch__Status *status, const char *at)
{
	const char *colon = strrchr(at, ':');
	char any4[LISTEN_BYTES], any6[LISTEN_BYTES];

	snprintf(any4, sizeof(any4), "0.0.0.0%s", colon ? colon : "");
	snprintf(any6, sizeof(any6), "[::]%s", colon ? colon : "");
	for (size_t i = 0; i < status->n_servers; i++) {
		const Forefetch__ServerStatus *srv = status->servers[i];

		for (size_t k = 0; k < srv->n_listen; k++)
			if (ctl_is(&srv->listen[k], at) ||
			    ctl_is(&srv->listen[k], any4) ||
			    ctl_is(&srv->listen[k], any6))
				return srv;
	}
	return NULL;
}
