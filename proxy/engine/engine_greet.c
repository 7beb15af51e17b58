/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that was just connected to is greeted: it is asked, one after the
 * other, for the password, INFO, the map of its cluster, which commands it has,
 * a key that is not there, and a PING, whose round trip is the first that is
 * measured.
 *
 * A user's rights may leave out INFO, COMMAND and CLUSTER: what they would say
 * then shows at the first question.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "engine/engine_private.h"

/* VERSION_MIN is Redis 6, the first with ACLs. */
enum {
	VERSION_MIN = 6,
	/* Bytes of a password, with a NUL. */
	SECRET_MAX = 512,
};

/* A key that nobody keeps; it begins as those of a farm do. */
#define PROBE_KEY "ff:probe"

/* The steps of a greeting, in their order; some may be left out. */
enum greet_step { AUTH, INFO, MYID, MAP, COMMANDS, PROBE, PING };

/* A question of one greeting. Its answer may come when that has ended, and
 * while the next one is under way. */
struct greet_call {
	struct redis_call call;
	enum greet_step step;
	unsigned greeting;
};

static void greet_ask(struct redis_node *n, enum greet_step step);

static bool is_error(const redisReply *r)
{
	return r->type == REDIS_REPLY_ERROR;
}

/* ---- whether it answers ------------------------------------------------ */

/* The last answer: the node is ready. */
static void take_ping(struct redis_node *n, const redisReply *r)
{
	if (is_error(r))
		redis_node_judge(n, r);
	if (n->phase == NODE_GREETING)
		redis_node_ready(n);
}

/* "No permissions to access a key", as redis-server 7 says: the user may GET,
 * and perhaps other keys than this one. */
static bool only_key_denied(const redisReply *r)
{
	return strncmp(r->str, "NOPERM", 6) == 0 && strstr(r->str, " key");
}

/* MOVED and ASK say as well that the user may ask. */
static void take_probe(struct redis_node *n, const redisReply *r)
{
	if (is_error(r) && !only_key_denied(r))
		redis_node_judge(n, r);
	else if (!is_error(r) && r->type != REDIS_REPLY_STRING &&
		 r->type != REDIS_REPLY_NIL)
		redis_node_fail(n, ENGINE_REFUSES,
		    "it is no Redis: see engine in [farm] (its answer to GET)");
	if (n->phase == NODE_GREETING)
		greet_ask(n, PING);
}

/* The answer to COMMAND INFO: nil for a command that is not there, which an
 * administrator may have renamed. Without the right to ask, nothing is
 * known. */
static void take_commands(struct redis_node *n, const redisReply *r)
{
	static const char *const name[] = {"GET", "SET", "PING"};
	bool told = r->type == REDIS_REPLY_ARRAY && r->elements == 3;
	char why[96];

	for (size_t i = 0; told && i < 3; i++) {
		if (r->element[i]->type != REDIS_REPLY_NIL)
			continue;
		(void)snprintf(why, sizeof(why),
		    "it lacks the command %s, or has another name for it",
		    name[i]);
		redis_node_fail(n, ENGINE_REFUSES, why);
		return;
	}
	greet_ask(n, PROBE);
}

/* ---- a cluster --------------------------------------------------------- */

/* Whether the node has to be one of a cluster: several servers are configured,
 * or it says so. */
static bool must_be_cluster(const struct redis_node *n)
{
	const struct engine *e = n->owner;

	return e->many || e->slots || n->says_cluster;
}

/* A node without a map is not ready; in a single server the error is
 * expected. */
static void take_map(struct redis_node *n, const redisReply *r)
{
	const char *why;

	if (!is_error(r) && !cluster_take_map(n, r))
		redis_node_unready(n, "it has no slots of a cluster yet: see "
				      "redis-cli --cluster create");
	else if (!is_error(r) || !must_be_cluster(n))
		greet_ask(n, COMMANDS);
	else if (redis_fault_of(r, &why) == FAULT_WAIT)
		redis_node_unready(n, why);
	else
		redis_node_fail(n, ENGINE_REFUSES,
		    "it does not tell the slots of its cluster: is it in "
		    "cluster mode, and has its user +cluster|slots?");
}

/* A map means the node by this. */
static void take_id(struct redis_node *n, const redisReply *r)
{
	if (r->type == REDIS_REPLY_STRING && r->len == REDIS_ID_LEN)
		memcpy(n->id, r->str, REDIS_ID_LEN);
	greet_ask(n, MAP);
}

/* ---- what it is -------------------------------------------------------- */

/* Whether INFO tells of a server that will do. False after
 * redis_node_fail(). */
static bool info_judge(struct redis_node *n, const redisReply *r)
{
	struct engine *e = n->owner;
	char value[32], why[96];
	bool valkey =
	    redis_info_text(r, "valkey_version", value, sizeof(value));

	if (!valkey &&
	    !redis_info_text(r, "redis_version", value, sizeof(value))) {
		redis_node_fail(n, ENGINE_REFUSES,
		    "it is no Redis: see engine in [farm] (INFO names no "
		    "version)");
		return false;
	}
	memcpy(e->version, value, sizeof(e->version));
	if (!valkey && strtol(value, NULL, 10) < VERSION_MIN) {
		(void)snprintf(why, sizeof(why),
		    "it is of version %s: it must be %d or later", value,
		    VERSION_MIN);
		redis_node_fail(n, ENGINE_REFUSES, why);
		return false;
	}
	if (redis_info_text(r, "redis_mode", value, sizeof(value)) &&
	    strcmp(value, "sentinel") == 0) {
		redis_node_fail(n, ENGINE_REFUSES,
		    "it is a Sentinel: name the server itself in engine");
		return false;
	}
	n->says_cluster =
	    redis_info_text(r, "cluster_enabled", value, sizeof(value)) &&
	    strcmp(value, "1") == 0;
	return true;
}

/* Without the right to ask for INFO the greeting goes on. */
static void take_info(struct redis_node *n, const redisReply *r)
{
	bool told = r->type == REDIS_REPLY_STRING;
	enum redis_fault fault;
	const char *why;

	fault = is_error(r) ? redis_fault_of(r, &why) : FAULT_NONE;
	if (fault != FAULT_NONE && fault != FAULT_RIGHTS)
		redis_node_judge(n, r);
	else if (!told && !is_error(r))
		redis_node_fail(n, ENGINE_REFUSES,
		    "it is no Redis: see engine in [farm] (its answer to "
		    "INFO)");
	else if (told && !info_judge(n, r))
		return;
	else if (!told || must_be_cluster(n))
		greet_ask(n, MYID);
	else
		greet_ask(n, COMMANDS);
}

/* ---- the password ------------------------------------------------------ */

/* The answer to AUTH. The error may have the password's user in it, so it is
 * cut and escaped. */
static void take_auth(struct redis_node *n, const redisReply *r)
{
	char text[LOG_ESCAPE_MAX(20)], why[160];

	if (r->type == REDIS_REPLY_STATUS) {
		greet_ask(n, INFO);
		return;
	}
	if (is_error(r)) {
		redis_node_judge(n, r);
		(void)snprintf(why, sizeof(why),
		    "it does not take the password: %s",
		    log_escape(text, sizeof(text), r->str, r->len));
	} else {
		(void)strcpy(why, "it is no Redis: see engine in [farm] (its "
				  "answer to AUTH)");
	}
	if (n->phase == NODE_GREETING)
		redis_node_fail(n, ENGINE_REFUSES, why);
}

/* Reads the first line of the password's file, each time anew, so that a
 * changed password needs no restart. 0 or -errno. */
static int read_secret(const char *path, char secret[SECRET_MAX])
{
	/* It must not wait where the file is a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, secret, SECRET_MAX - 1);
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return err;
	secret[n] = '\0';
	secret[strcspn(secret, "\r\n")] = '\0';
	return secret[0] ? 0 : -ENODATA;
}

/* ---- one after the other ----------------------------------------------- */

/* The steps, by their numbers: who takes the answer, and the command, which for
 * AUTH is made when it is sent. */
static const struct {
	void (*take)(struct redis_node *n, const redisReply *r);
	int argc;
	const char *argv[5];
} steps[] = {
    [AUTH] = {take_auth, 0, {NULL}},
    [INFO] = {take_info, 1, {"INFO"}},
    [MYID] = {take_id, 2, {"CLUSTER", "MYID"}},
    [MAP] = {take_map, 2, {"CLUSTER", "SLOTS"}},
    [COMMANDS] = {take_commands, 5, {"COMMAND", "INFO", "get", "set", "ping"}},
    [PROBE] = {take_probe, 2, {"GET", PROBE_KEY}},
    [PING] = {take_ping, 1, {"PING"}},
};

/* Nothing follows where the connection or the greeting has ended. */
static void on_answer(struct redis_call *c, const redisReply *r)
{
	const struct greet_call *g = (const struct greet_call *)c;
	struct redis_node *n = c->node;

	if (r && n->phase == NODE_GREETING && g->greeting == n->greeting)
		steps[g->step].take(n, r);
}

/* Without memory the connection ends, and is tried again later. */
static void greet_send(struct redis_node *n, enum greet_step step, int argc,
    const char *const *argv)
{
	struct greet_call *g = calloc(1, sizeof(*g));

	if (g) {
		g->step = step;
		g->greeting = n->greeting;
	}
	(void)redis_node_ask_call(
	    n, g ? &g->call : NULL, on_answer, argc, argv);
}

static void greet_ask(struct redis_node *n, enum greet_step step)
{
	greet_send(n, step, steps[step].argc, steps[step].argv);
}

/* Sends AUTH with the user and password of the configuration; the copy of the
 * password is overwritten. */
static void greet_auth(struct redis_node *n, const struct config_farm *farm)
{
	bool user = farm->user && farm->user[0];
	char secret[SECRET_MAX] = "";
	const char *words[3] = {
	    "AUTH", user ? farm->user : secret, user ? secret : NULL};
	char why[160];
	int rc = 0;

	if (farm->password_file && farm->password_file[0])
		rc = read_secret(farm->password_file, secret);
	if (rc < 0) {
		(void)snprintf(why, sizeof(why), "password_file %.80s: %s",
		    farm->password_file,
		    rc == -ENODATA ? "has no password in its first line"
				   : strerror(-rc));
		redis_node_fail(n, ENGINE_REFUSES, why);
	} else {
		greet_send(n, AUTH, user ? 3 : 2, words);
	}
	explicit_bzero(secret, sizeof(secret));
}

/* Answers of a greeting before this one do not count. */
void greet_begin(struct redis_node *n)
{
	const struct config_farm *farm = ((struct engine *)n->owner)->farm;

	n->greeting++;
	if ((farm->user && farm->user[0]) ||
	    (farm->password_file && farm->password_file[0]))
		greet_auth(n, farm);
	else
		greet_ask(n, INFO);
}
