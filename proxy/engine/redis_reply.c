/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a server's errors and its INFO mean, and says what to do about it.
 */
#include "engine/redis_reply.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------ */

/* Errors by the beginning of their text, which Redis keeps from release to
 * release; the first that fits counts. `why` is for status and log. */
static const struct redis_fault_text {
	const char *begin; /* of the error's text */
	enum redis_fault kind;
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

enum redis_fault redis_fault_of(const redisReply *r, const char **why)
{
	*why = NULL;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct redis_fault_text *f = &faults[i];

		if (strncmp(r->str, f->begin, strlen(f->begin)) != 0)
			continue;
		*why = f->why;
		return f->kind;
	}
	return FAULT_NONE;
}

/* ---- INFO: lines "NAME:VALUE" ------------------------------------------ */

/* The text behind NAME: in its line; NULL where there is none. */
static const char *info_find(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, len) == 0 && p[len] == ':')
			return p + len + 1;
	}
	return NULL;
}

bool redis_info_text(
    const redisReply *r, const char *name, char *value, size_t size)
{
	const char *p = info_find(r->str, name);
	size_t len = p ? strcspn(p, "\r\n") : 0;

	if (len >= size)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		value[i] = isprint((unsigned char)p[i]) ? p[i] : '?';
	value[len] = '\0';
	return p != NULL;
}

uint64_t redis_info_number(const redisReply *r, const char *name)
{
	const char *p = info_find(r->str, name);

	return p ? strtoull(p, NULL, 10) : 0;
}

/* Sums up lines "dbN:keys=K,…" of the section "Keyspace". */
uint64_t redis_info_keys(const redisReply *r)
{
	uint64_t keys = 0;

	for (const char *p = r->str; p; p = strchr(p, '\n')) {
		const char *value;

		p += *p == '\n';
		if (strncmp(p, "db", 2) != 0)
			continue;
		value = p + 2 + strspn(p + 2, "0123456789");
		if (strncmp(value, ":keys=", 6) == 0)
			keys += strtoull(value + 6, NULL, 10);
	}
	return keys;
}
