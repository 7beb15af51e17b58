/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an error of the server means for us, and what to do about it. */
#include "farm/engine_private.h"

#include <string.h>

static const struct fault {
	const char *begin; /* of the error's text */
	enum fault_kind kind;
	const char *why;
} faults[] = {
    {"MOVED ", FAULT_MOVED, NULL},
    {"ASK ", FAULT_ASK, NULL},
    {"NOAUTH", FAULT_REFUSE,
	"it wants a password: set password_file in [farm]"},
    {"WRONGPASS", FAULT_REFUSE,
	"it does not take the password: see user and password_file in [farm]"},
    {"ERR invalid password", FAULT_REFUSE,
	"it does not take the password: see password_file in [farm]"},
    {"ERR AUTH <password> called without any password", FAULT_REFUSE,
	"it has no password: remove password_file from [farm], or set "
	"requirepass there"},
    {"ERR wrong number of arguments for 'auth'", FAULT_REFUSE,
	"it knows no users: remove user from [farm]"},
    {"DENIED", FAULT_REFUSE,
	"it is in protected mode: set a password there, and password_file in "
	"[farm]"},
    {"NOPERM", FAULT_RIGHTS,
	"its user lacks rights: +get +set +unlink +scan +ping ~ff:*"},
    {"ERR unknown command", FAULT_REFUSE,
	"it lacks commands (GET, SET, PING), or has other names for them"},
    {"LOADING", FAULT_WAIT, "it is loading its data"},
    {"BUSY", FAULT_WAIT, "it is busy with a script"},
    {"MASTERDOWN", FAULT_WAIT,
	"it is a replica that has lost its master: name the master in engine"},
    {"CLUSTERDOWN", FAULT_WAIT,
	"its cluster is down: see redis-cli cluster info there"},
    {"ERR max number of clients", FAULT_WAIT,
	"it has as many clients as it takes: raise maxclients there"},
    {"OOM", FAULT_FULL,
	"it is full and evicts nothing: set maxmemory-policy allkeys-lru "
	"there"},
    {"READONLY", FAULT_FULL,
	"it is a replica and keeps nothing: name its master in engine"},
    {"MISCONF", FAULT_FULL,
	"it cannot save to its disk and keeps nothing: set "
	"stop-writes-on-bgsave-error no there"},
    {"NOREPLICAS", FAULT_FULL,
	"it lacks replicas and keeps nothing: see min-replicas-to-write there"},
};

enum fault_kind fault_of(const redisReply *r, const char **why)
{
	*why = NULL;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *f = &faults[i];

		if (strncmp(r->str, f->begin, strlen(f->begin)) != 0)
			continue;
		*why = f->why;
		return f->kind;
	}
	return FAULT_NONE;
}
