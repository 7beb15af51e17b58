/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real redis-servers for tests; see the header. */
#include "engine/redis_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPTIONS = 16, LIMIT_MS = 60000, LOOK_MS = 10 };

struct redis {
	pid_t pid; /* 0: none */
	uint16_t port, bus_port;
	char dir[48];
	char url[64], path_url[96];
	char options[OPTIONS][64];
	int noptions;
	redisContext *client; /* NULL: connect first */
};

static void fail(const struct redis *r, const char *what)
{
	fprintf(stderr, "redis-server in %s: %s\n", r->dir, what);
	abort();
}

bool redis_installed(void)
{
	if (access("/usr/bin/redis-server", X_OK) == 0)
		return true;
	printf("SKIP: there is no redis-server\n");
	return false;
}

static uint16_t free_port(void)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (void *)&at, len) < 0 ||
	    getsockname(fd, (void *)&at, &len) < 0)
		abort();
	close(fd);
	return ntohs(at.sin_port);
}

/* In the child. */
static void run_server(const struct redis *r)
{
	char port[8], bus_port[8];
	const char *argv[32 + OPTIONS] = {"redis-server", "--port", port,
	    "--cluster-port", bus_port, "--bind", "127.0.0.1", "--dir", r->dir,
	    "--unixsocket", "socket", "--save", "", "--appendonly", "no",
	    "--daemonize", "no", "--repl-diskless-sync-delay", "0"};
	int n = 19;
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);

	snprintf(port, sizeof(port), "%u", r->port);
	snprintf(bus_port, sizeof(bus_port), "%u", r->bus_port);
	for (int i = 0; i < r->noptions; i++)
		argv[n++] = r->options[i];
	if (log >= 0) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
	}
	execv("/usr/bin/redis-server", (char *const *)(uintptr_t)argv);
	_exit(127);
}

static void spawn(struct redis *r)
{
	pid_t parent = getpid();

	r->pid = fork();
	if (r->pid < 0)
		fail(r, strerror(errno));
	if (r->pid > 0)
		return;
	/* It ends with the test, however that ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || chdir(r->dir) < 0)
		_exit(127);
	run_server(r);
}

static void forget_client(struct redis *r)
{
	redisFree(r->client);
	r->client = NULL;
}

static bool answers(struct redis *r)
{
	char path[80];
	redisReply *reply;
	bool ok;

	snprintf(path, sizeof(path), "%s/socket", r->dir);
	forget_client(r);
	r->client = redisConnectUnix(path);
	reply = r->client && !r->client->err ? redisCommand(r->client, "PING")
					     : NULL;
	/* An error, such as that it wants a password, is an answer, too. */
	ok = reply && strncmp(reply->str, "LOADING", 7) != 0;
	if (reply)
		freeReplyObject(reply);
	return ok;
}

/* Until it is so; looks again and again. */
static void until(
    struct redis *r, bool (*is)(struct redis *r), const char *what)
{
	for (int ms = 0; !is(r); ms += LOOK_MS) {
		if (ms > LIMIT_MS || waitpid(r->pid, NULL, WNOHANG) == r->pid)
			fail(r, what);
		poll(NULL, 0, LOOK_MS);
	}
}

struct redis *redis_start(const char *const *options)
{
	struct redis *r = calloc(1, sizeof(*r));

	strcpy(r->dir, "/tmp/test_redis.XXXXXX");
	if (!mkdtemp(r->dir))
		abort();
	for (; options && *options; options++)
		snprintf(r->options[r->noptions++], sizeof(r->options[0]), "%s",
		    *options);
	r->port = free_port();
	r->bus_port = free_port();
	snprintf(r->url, sizeof(r->url), "redis://127.0.0.1:%u", r->port);
	snprintf(
	    r->path_url, sizeof(r->path_url), "redis+unix://%s/socket", r->dir);
	redis_restart(r);
	return r;
}

void redis_restart(struct redis *r)
{
	spawn(r);
	until(r, answers, "it does not answer");
}

void redis_kill(struct redis *r)
{
	if (r->pid == 0)
		return;
	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	r->pid = 0;
	forget_client(r);
}

void redis_stop(struct redis *r)
{
	kill(r->pid, SIGSTOP);
}

void redis_continue(struct redis *r)
{
	kill(r->pid, SIGCONT);
}

static int on_file(
    const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void redis_free(struct redis *r)
{
	if (!r)
		return;
	redis_kill(r);
	nftw(r->dir, on_file, 8, FTW_DEPTH | FTW_PHYS);
	free(r);
}

uint16_t redis_port(const struct redis *r)
{
	return r->port;
}

const char *redis_url(const struct redis *r)
{
	return r->url;
}

const char *redis_path_url(const struct redis *r)
{
	return r->path_url;
}

static redisReply *ask(struct redis *r, const char *format, va_list ap)
{
	redisReply *reply = redisvCommand(r->client, format, ap);

	if (!reply)
		fail(r, "no answer");
	return reply;
}

redisReply *redis_ask(struct redis *r, const char *format, ...)
{
	redisReply *reply;
	va_list ap;

	va_start(ap, format);
	reply = ask(r, format, ap);
	va_end(ap);
	return reply;
}

void redis_do(struct redis *r, const char *format, ...)
{
	redisReply *reply;
	va_list ap;

	va_start(ap, format);
	reply = ask(r, format, ap);
	va_end(ap);
	if (reply->type == REDIS_REPLY_ERROR)
		fail(r, reply->str);
	freeReplyObject(reply);
}

long long redis_number(struct redis *r, const char *format, ...)
{
	redisReply *reply;
	long long number;
	va_list ap;

	va_start(ap, format);
	reply = ask(r, format, ap);
	va_end(ap);
	if (reply->type != REDIS_REPLY_INTEGER)
		fail(r, "its answer is no number");
	number = reply->integer;
	freeReplyObject(reply);
	return number;
}

/* ---- a cluster --------------------------------------------------------- */

static bool says(struct redis *r, const char *command, const char *word)
{
	redisReply *reply = redis_ask(r, command);
	bool is = reply->str && strstr(reply->str, word);

	freeReplyObject(reply);
	return is;
}

static bool knows_all(struct redis *r)
{
	return says(r, "CLUSTER INFO", "cluster_known_nodes:6") &&
	       !says(r, "CLUSTER NODES", "handshake");
}

static bool is_well(struct redis *r)
{
	return says(r, "CLUSTER INFO", "cluster_state:ok") &&
	       says(r, "CLUSTER INFO", "cluster_slots_ok:16384") &&
	       !says(r, "INFO replication", "master_link_status:down") &&
	       (says(r, "INFO replication", "role:slave") ||
		   says(r, "INFO replication", "connected_slaves:1"));
}

static void copy_id(struct redis *r, char id[41])
{
	redisReply *reply = redis_ask(r, "CLUSTER MYID");

	snprintf(id, 41, "%s", reply->str);
	freeReplyObject(reply);
}

void redis_cluster_start(struct redis *nodes[REDIS_NODES])
{
	static const char *const options[] = {"--cluster-enabled", "yes",
	    "--cluster-node-timeout", "1000",
	    "--cluster-allow-replica-migration", "no", NULL};
	char id[41];

	for (int i = 0; i < REDIS_NODES; i++) {
		nodes[i] = redis_start(options);
		redis_do(nodes[i], "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
		if (i < REDIS_MASTERS)
			redis_do(nodes[i], "CLUSTER ADDSLOTSRANGE %d %d",
			    16384 * i / REDIS_MASTERS,
			    16384 * (i + 1) / REDIS_MASTERS - 1);
		if (i > 0)
			redis_do(nodes[i], "CLUSTER MEET 127.0.0.1 %d %d",
			    nodes[0]->port, nodes[0]->bus_port);
	}
	for (int i = 0; i < REDIS_NODES; i++)
		until(nodes[i], knows_all, "it does not know the others");
	for (int i = REDIS_MASTERS; i < REDIS_NODES; i++) {
		copy_id(nodes[i - REDIS_MASTERS], id);
		redis_do(nodes[i], "CLUSTER REPLICATE %s", id);
	}
	for (int i = 0; i < REDIS_NODES; i++)
		until(nodes[i], is_well, "its cluster is not well");
}
