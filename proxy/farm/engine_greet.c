/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of a server that was just connected to, one after the other:
 * the password, INFO, which commands it has, the map of its cluster, a key that
 * is not there, and a PING, whose round trip is the first that is measured.
 *
 * A user's rights may leave out INFO, COMMAND and CLUSTER: what they would say
 * then shows at the first question.
 */
#include "farm/engine_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION_MIN = 6 };

/* A key that nobody keeps; it begins as those of a farm do. */
#define PROBE_KEY "ff:probe"

static void greet_info(struct node *n);

static void on_ping(struct node *n, struct call *c, const redisReply *r)
{
	(void)c;
	if (!r)
		return;
	if (r->type == REDIS_REPLY_ERROR)
		node_judge(n, r);
	if (n->phase == NODE_GREETING)
		node_ready(n);
}

static void greet_ping(struct node *n)
{
	static const char *const words[] = {"PING"};

	(void)call_words(n, on_ping, 1, words);
}

/* "No permissions to access a key", as redis-server 7 says: the user may GET,
 * and perhaps other keys than this one. */
static bool only_key_denied(const redisReply *r)
{
	return strncmp(r->str, "NOPERM", 6) == 0 && strstr(r->str, " key");
}

/* MOVED and ASK say as well that the user may ask. */
static void on_probe(struct node *n, struct call *c, const redisReply *r)
{
	(void)c;
	if (!r)
		return;
	if (r->type == REDIS_REPLY_ERROR && !only_key_denied(r))
		node_judge(n, r);
	else if (r->type != REDIS_REPLY_ERROR &&
		 r->type != REDIS_REPLY_STRING && r->type != REDIS_REPLY_NIL)
		node_fail(n, ENGINE_REFUSES,
		    "it is no Redis: see engine in [farm] (its answer to GET)");
	if (n->phase == NODE_GREETING)
		greet_ping(n);
}

static void greet_probe(struct node *n)
{
	static const char *const words[] = {"GET", PROBE_KEY};

	(void)call_words(n, on_probe, 2, words);
}

static void on_commands(struct node *n, struct call *c, const redisReply *r)
{
	static const char *const name[] = {"GET", "SET", "PING"};
	char why[96];

	(void)c;
	if (!r)
		return;
	if (r->type == REDIS_REPLY_ARRAY && r->elements == 3)
		for (size_t i = 0; i < 3; i++) {
			if (r->element[i]->type != REDIS_REPLY_NIL)
				continue;
			(void)snprintf(why, sizeof(why),
			    "it lacks the command %s, or has another name for "
			    "it",
			    name[i]);
			node_fail(n, ENGINE_REFUSES, why);
			return;
		}
	greet_probe(n);
}

static void greet_commands(struct node *n)
{
	static const char *const words[] = {
	    "COMMAND", "INFO", "get", "set", "ping"};

	(void)call_words(n, on_commands, 5, words);
}

static bool must_be_cluster(const struct node *n)
{
	return n->e->many || n->e->slots || n->says_cluster;
}

static void on_slots(struct node *n, struct call *c, const redisReply *r)
{
	const char *why;

	(void)c;
	if (!r)
		return;
	if (r->type != REDIS_REPLY_ERROR) {
		if (cluster_take_map(n, r))
			greet_commands(n);
		else
			node_unready(n, "it has no slots of a cluster yet: see "
					"redis-cli --cluster create");
	} else if (!must_be_cluster(n)) {
		greet_commands(n);
	} else if (fault_of(r, &why) == FAULT_WAIT) {
		node_unready(n, why);
	} else {
		node_fail(n, ENGINE_REFUSES,
		    "it does not tell the slots of its cluster: is it in "
		    "cluster mode, and has its user +cluster|slots?");
	}
}

/* Whom a map means by this. */
static void on_id(struct node *n, struct call *c, const redisReply *r)
{
	static const char *const words[] = {"CLUSTER", "SLOTS"};

	(void)c;
	if (!r)
		return;
	if (r->type == REDIS_REPLY_STRING && r->len == NODE_ID_LEN)
		memcpy(n->id, r->str, NODE_ID_LEN);
	(void)call_words(n, on_slots, 2, words);
}

static void greet_cluster(struct node *n)
{
	static const char *const words[] = {"CLUSTER", "MYID"};

	(void)call_words(n, on_id, 2, words);
}

/* The value of a line "NAME:VALUE" of INFO; false where there is none. */
static bool info_field(
    const redisReply *r, const char *name, char *value, size_t size)
{
	const char *p = r->str;
	size_t len = strlen(name);

	while (p && (strncmp(p, name, len) != 0 || p[len] != ':')) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return false;
	p += len + 1;
	len = strcspn(p, "\r\n");
	if (len >= size)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		value[i] = isprint((unsigned char)p[i]) ? p[i] : '?';
	value[len] = '\0';
	return true;
}

/* Whether it is what it should be. */
static bool info_judge(struct node *n, const redisReply *r)
{
	struct engine *e = n->e;
	char value[32], why[96];
	bool valkey = info_field(r, "valkey_version", value, sizeof(value));

	if (!valkey && !info_field(r, "redis_version", value, sizeof(value))) {
		node_fail(n, ENGINE_REFUSES,
		    "it is no Redis: see engine in [farm] (INFO names no "
		    "version)");
		return false;
	}
	memcpy(e->version, value, sizeof(e->version));
	if (!valkey && strtol(value, NULL, 10) < VERSION_MIN) {
		(void)snprintf(why, sizeof(why),
		    "it is of version %s: it must be %d or later", value,
		    VERSION_MIN);
		node_fail(n, ENGINE_REFUSES, why);
		return false;
	}
	if (info_field(r, "redis_mode", value, sizeof(value)) &&
	    strcmp(value, "sentinel") == 0) {
		node_fail(n, ENGINE_REFUSES,
		    "it is a Sentinel: name the server itself in engine");
		return false;
	}
	n->says_cluster =
	    info_field(r, "cluster_enabled", value, sizeof(value)) &&
	    strcmp(value, "1") == 0;
	return true;
}

static void on_info(struct node *n, struct call *c, const redisReply *r)
{
	const char *why;
	bool told = r && r->type == REDIS_REPLY_STRING;

	(void)c;
	if (!r)
		return;
	if (r->type == REDIS_REPLY_ERROR) {
		switch (fault_of(r, &why)) {
		case FAULT_NONE:
		case FAULT_RIGHTS:
			break;
		default:
			node_judge(n, r);
			return;
		}
	} else if (!told) {
		node_fail(n, ENGINE_REFUSES,
		    "it is no Redis: see engine in [farm] (its answer to "
		    "INFO)");
		return;
	}
	if (told && !info_judge(n, r))
		return;
	if (!told || must_be_cluster(n))
		greet_cluster(n);
	else
		greet_commands(n);
}

static void greet_info(struct node *n)
{
	static const char *const words[] = {"INFO"};

	(void)call_words(n, on_info, 1, words);
}

static void on_auth(struct node *n, struct call *c, const redisReply *r)
{
	char why[160];

	(void)c;
	if (!r)
		return;
	if (r->type == REDIS_REPLY_STATUS) {
		greet_info(n);
		return;
	}
	if (r->type == REDIS_REPLY_ERROR) {
		char text[LOG_ESCAPE_MAX(20)];

		node_judge(n, r);
		(void)snprintf(why, sizeof(why),
		    "it does not take the password: %s",
		    log_escape(text, sizeof(text), r->str, r->len));
	} else {
		(void)strcpy(why, "it is no Redis: see engine in [farm] (its "
				  "answer to AUTH)");
	}
	if (n->phase == NODE_GREETING)
		node_fail(n, ENGINE_REFUSES, why);
}

/* The first line of the password's file. 0 or -errno. */
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

static void greet_auth(struct node *n)
{
	const struct config_farm *farm = n->e->farm;
	char secret[SECRET_MAX] = "";
	const char *words[3] = {"AUTH", farm->user, secret};
	const char *pair[2] = {"AUTH", secret};
	char why[160];
	int rc = 0;

	if (farm->password_file && farm->password_file[0])
		rc = read_secret(farm->password_file, secret);
	if (rc < 0) {
		(void)snprintf(why, sizeof(why), "password_file %.80s: %s",
		    farm->password_file,
		    rc == -ENODATA ? "has no password in its first line"
				   : strerror(-rc));
		node_fail(n, ENGINE_REFUSES, why);
	} else if (farm->user && farm->user[0]) {
		(void)call_words(n, on_auth, 3, words);
	} else {
		(void)call_words(n, on_auth, 2, pair);
	}
	explicit_bzero(secret, sizeof(secret));
}

void greet_begin(struct node *n)
{
	const struct config_farm *farm = n->e->farm;

	if ((farm->user && farm->user[0]) ||
	    (farm->password_file && farm->password_file[0]))
		greet_auth(n);
	else
		greet_info(n);
}
