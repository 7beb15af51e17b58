/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a server's address and ports, mounts its export, opens connections. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batch.h"
#include "target.h"

#define PMAP_PORT     111
#define NFS_PROGRAM   100003
#define MOUNT_PROGRAM 100005

struct target {
	struct target_spec spec;
	const struct options *o;
	char address[INET6_ADDRSTRLEN];
	struct fhandle root;
	struct connection **conn;
};

/* libnfs would resolve with a blocking call in each connect. */
static bool resolve(struct target *t, char *why, size_t why_size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *ai;
	int err = getaddrinfo(t->spec.host, NULL, &hints, &ai);

	if (err == 0) {
		err = getnameinfo(ai->ai_addr, ai->ai_addrlen, t->address,
		    sizeof(t->address), NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(ai);
	}
	if (err)
		snprintf(why, why_size, "cannot resolve '%s': %s", t->spec.host,
		    gai_strerror(err));
	return err == 0;
}

static struct connection *connect_to(struct target *t, const char *what,
    uint16_t port, char *why, size_t why_size)
{
	char reason[160] = "out of memory";
	struct connection *c = connection_open(
	    t->address, port, t->o->timeout_ns, reason, sizeof(reason));

	if (!c)
		snprintf(why, why_size,
		    "cannot connect to %s at %s port %u: %s", what, t->address,
		    port, reason);
	else
		connection_set_cred(c, t->o->cred[0].uid, t->o->cred[0].gid);
	return c;
}

/* One call over a connection of its own. */
static bool call_once(struct target *t, const char *what, uint16_t port,
    struct call *call, char *why, size_t why_size)
{
	struct connection *c = connect_to(t, what, port, why, why_size);
	int err;

	if (!c)
		return false;
	err = batch_call(c, call, t->o->timeout_ns, why, why_size);
	connection_close(c);
	return err == 0;
}

static bool ask_port(struct target *t, uint32_t program, const char *what,
    uint16_t *port, char *why, size_t why_size)
{
	struct call call = {
	    .op = CALL_GETPORT,
	    .count = program,
	    .version = 3,
	};
	size_t len;

	if (*port)
		return true;
	if (!call_once(t, "rpcbind", PMAP_PORT, &call, why, why_size)) {
		len = strlen(why);
		snprintf(why + len, why_size - len,
		    "; give the ports of NFS and MOUNT (see --help)");
		return false;
	}
	if (call.value == 0 || call.value > UINT16_MAX) {
		snprintf(why, why_size,
		    "rpcbind of %s knows no %s version 3 over TCP", t->address,
		    what);
		return false;
	}
	*port = (uint16_t)call.value;
	return true;
}

static void advise(const struct call *call, char *why, size_t why_size)
{
	size_t len = strlen(why);
	bool refused =
	    call->result == CALL_DENIED ||
	    (call->result == CALL_STATUS &&
		(call->status == STATUS_ACCES || call->status == STATUS_PERM));

	if (refused && geteuid() != 0)
		snprintf(why + len, why_size - len,
		    "; the server may want a port below 1024: run as root");
	else if (refused)
		snprintf(why + len, why_size - len,
		    "; the server does not export it to this host, or not to "
		    "this user: see exports(5) and --uids");
	else if (call->result == CALL_STATUS && call->status == STATUS_NOENT)
		snprintf(why + len, why_size - len,
		    "; see showmount -e %s for what there is", call->name);
}

static bool mount_export(struct target *t, char *why, size_t why_size)
{
	struct call call = {.op = CALL_MNT, .name = t->spec.path};
	size_t len;

	if (call_once(t, "MOUNT", t->spec.mount_port, &call, why, why_size)) {
		t->root = call.found;
		return true;
	}
	if (call.done_ns == 0)
		return false;
	len = strlen(why);
	snprintf(why + len, why_size - len, " for %s", t->spec.path);
	call.name = t->spec.host;
	advise(&call, why, why_size);
	return false;
}

static bool open_connections(struct target *t, char *why, size_t why_size)
{
	t->conn = calloc(t->o->connections, sizeof(struct connection *));
	if (!t->conn) {
		snprintf(why, why_size, "out of memory");
		return false;
	}
	for (uint32_t i = 0; i < t->o->connections; i++) {
		t->conn[i] = connect_to(t, "NFS", t->spec.port, why, why_size);
		if (!t->conn[i])
			return false;
	}
	return true;
}

static bool check_sizes(struct target *t, char *why, size_t why_size)
{
	struct call call = {.op = CALL_FSINFO, .fh = &t->root};
	uint32_t size = t->o->size;
	bool reads = t->o->weight[CALL_READ] > 0;
	bool writes = t->o->weight[CALL_WRITE] > 0;

	if (batch_call(t->conn[0], &call, t->o->timeout_ns, why, why_size)) {
		advise(&call, why, why_size);
		return false;
	}
	if ((reads && size > call.value) || (writes && size > call.value2)) {
		snprintf(why, why_size,
		    "--size %u is more than the server takes: READ %u, "
		    "WRITE %u",
		    size, call.value, call.value2);
		return false;
	}
	return true;
}

struct target *target_open(const struct target_spec *spec,
    const struct options *o, char *why, size_t why_size)
{
	struct target *t = calloc(1, sizeof(*t));

	if (!t) {
		snprintf(why, why_size, "out of memory");
		return NULL;
	}
	t->spec = *spec;
	t->o = o;
	if (resolve(t, why, why_size) &&
	    ask_port(t, MOUNT_PROGRAM, "MOUNT", &t->spec.mount_port, why,
		why_size) &&
	    ask_port(t, NFS_PROGRAM, "NFS", &t->spec.port, why, why_size) &&
	    mount_export(t, why, why_size) &&
	    open_connections(t, why, why_size) && check_sizes(t, why, why_size))
		return t;
	target_close(t);
	return NULL;
}

void target_close(struct target *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; t->conn && i < t->o->connections; i++)
		connection_close(t->conn[i]);
	free(t->conn);
	free(t);
}

const char *target_name(const struct target *t)
{
	return t->spec.name;
}

const struct fhandle *target_root(const struct target *t)
{
	return &t->root;
}

struct connection *target_connection(const struct target *t, uint32_t i)
{
	return t->conn[i];
}
