/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch doctor looks at everything that may keep a mount from working, and
 * says of each how it is and what to do. First it asks the daemon, or where
 * that does not answer loads the configuration, and finds the mounts; from that
 * it plans jobs, which run side by side (jobs.c), each in a process of its own,
 * so that a mount that hangs costs only its own line. Then it prints what they
 * found, in the order of the plan.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ctl/ctl_text.h"
#include "ctl/ctl_wire.h"
#include "doctor/doctor.h"
#include "doctor/doctor_private.h"
#include "doctor/jobs.h"
#include "text/json.h"

/* Limits of the whole. */
enum {
	/* Seconds that the daemon may take to answer. */
	DAEMON_S = 4,
	/* Microseconds for all jobs together, so that with the daemon's seconds
	 * the help's "half a minute" is true. */
	LIMIT_US = 24000000,
	/* Bytes of a heading, such as "mount /home/anna". */
	GROUP_MAX = 300,
	/* Jobs that are kept for the rows of the tables and one host, when
	 * those of servers and mounts are planned. */
	ROWS_MAX = 16,
};

/* ---- the daemon -------------------------------------------------------- */

/* Asks for the status with a limit shorter than that of other commands: 0, or
 * an errno. ctl_call() is not used, as it prints what went wrong, which is a
 * finding here. */
static int ask_daemon(const char *path, Forefetch__Response **res)
{
	const struct timeval limit = {.tv_sec = DAEMON_S};
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	int fd = ctl_wire_connect(path), err;

	if (fd < 0)
		return -fd;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	err =
	    ctl_wire_ask(fd, FOREFETCH__REQUEST__COMMAND_STATUS, &status, res);
	close(fd);
	return -err;
}

/* Fills in env->st, or else why there is none. `*res` is to be freed, and lives
 * as long as `env`. */
static void ask(struct doctor_env *env, Forefetch__Response **res)
{
	*res = NULL;
	env->error = ask_daemon(env->socket, res);
	if (env->error)
		return;
	if ((*res)->result_case == FOREFETCH__RESPONSE__RESULT_STATUS)
		env->st = (*res)->status;
	else if ((*res)->result_case == FOREFETCH__RESPONSE__RESULT_ERROR)
		env->refusal = (*res)->error->text;
	else
		env->error = EPROTO;
}

/* ---- the jobs ---------------------------------------------------------- */

/* The jobs, in the order in which they are printed; those of one group stand
 * together, under one heading. */
struct doctor_plan {
	struct doctor_job jobs[JOBS_MAX];
	char groups[JOBS_MAX][GROUP_MAX];
	size_t count;
};

/* The functions run_…() are what jobs call, in a process of their own; `arg` is
 * what plan() was given. */
static void run_row(const void *env, const void *arg, struct findings *out)
{
	const struct doctor_row *row = arg;

	row->check(env, out);
}

static void run_server(const void *env, const void *arg, struct findings *out)
{
	doctor_check_server(env, arg, out);
}

static void run_configured(
    const void *env, const void *arg, struct findings *out)
{
	(void)env;
	doctor_check_configured(arg, out);
}

static void run_mount(const void *env, const void *arg, struct findings *out)
{
	doctor_check_mount(env, arg, out);
}

static void run_host(const void *env, const void *arg, struct findings *out)
{
	(void)env;
	doctor_check_host(arg, out);
}

/* Adds a job under the heading "KIND NAME". Leaves out jobs that there is no
 * room for; there is room for all rows, since plan_…() keep ROWS_MAX free. */
static void plan(struct doctor_plan *p, const char *kind, const char *name,
    void (*run)(const void *, const void *, struct findings *), const void *arg)
{
	size_t i = p->count;

	if (i == JOBS_MAX)
		return;
	snprintf(
	    p->groups[i], GROUP_MAX, "%s%s%s", kind, *name ? " " : "", name);
	p->jobs[i] = (struct doctor_job){
	    .group = p->groups[i], .name = kind, .run = run, .arg = arg};
	p->count++;
}

/* Adds the rows of a table under one heading; each job has the name of its row,
 * for the case that it hangs. */
static void plan_rows(
    struct doctor_plan *p, const char *group, const struct doctor_row *rows)
{
	for (; rows->name; rows++) {
		plan(p, group, "", run_row, rows);
		p->jobs[p->count - 1].name = rows->name;
	}
}

/* Whether the command is about the server of that name, or about all. */
static bool is_meant(const struct doctor_env *env, const char *name)
{
	return !env->only || strcmp(env->only, name) == 0;
}

/* Plans the servers that the daemon would serve if it ran. False where one is
 * meant that is not among them. */
static bool plan_configured(struct doctor_plan *p, const struct doctor_env *env)
{
	bool known = !env->only;

	for (size_t i = 0; env->config && i < env->config->nservers; i++) {
		const struct config_server *srv = &env->config->servers[i];

		if (!is_meant(env, srv->name) ||
		    p->count + ROWS_MAX >= JOBS_MAX)
			continue;
		known = true;
		plan(p, "server", srv->name, run_configured, srv);
	}
	return known;
}

/* Plans the servers that the daemon serves. False where one is meant that it
 * does not know. */
static bool plan_servers(struct doctor_plan *p, const struct doctor_env *env)
{
	bool known = !env->only;
	char name[256];

	for (size_t i = 0; env->st && i < env->st->n_servers; i++) {
		const Forefetch__ServerStatus *srv = env->st->servers[i];

		doctor_text(&srv->name, name, sizeof(name));
		if (!is_meant(env, name) || p->count + ROWS_MAX >= JOBS_MAX)
			continue;
		known = true;
		plan(p, "server", name, run_server, srv);
	}
	return known;
}

/* A name that nobody knows is taken for that of a host: a user may ask about a
 * server before it is configured. */
static void plan_all(struct doctor_plan *p, const struct doctor_env *env)
{
	plan_rows(p, "forefetchd", doctor_daemon_rows);
	if (!(env->st ? plan_servers(p, env) : plan_configured(p, env)))
		plan(p, "server", env->only, run_host, env->only);
	for (size_t i = 0; i < env->nmounts; i++) {
		const struct doctor_mount *m = &env->mounts[i];

		if (is_meant(env, m->server) && p->count + ROWS_MAX < JOBS_MAX)
			plan(p, "mount", m->dir, run_mount, m);
	}
	plan_rows(p, "this machine", doctor_machine_rows);
}

/* ---- what comes out ---------------------------------------------------- */

/* Findings of that state, of all jobs. */
static size_t count_all(const struct doctor_plan *p, enum finding_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += findings_count(&p->jobs[i].found, state);
	return n;
}

/* Whether a heading stands before the i-th job. */
static bool is_new_group(const struct doctor_plan *p, size_t i)
{
	return i == 0 || strcmp(p->groups[i], p->groups[i - 1]) != 0;
}

/* A heading holds a path of a mount, which anybody may have named. */
static void print_heading(const char *text, bool colour)
{
	fputs(colour ? "\033[1m" : "", stdout);
	ctl_put_bytes(stdout, (const uint8_t *)text, strlen(text));
	puts(colour ? "\033[0m" : "");
}

static void print_text(const struct doctor_plan *p)
{
	bool colour = ctl_colour(stdout);
	size_t warns = count_all(p, FINDING_WARN),
	       fails = count_all(p, FINDING_FAIL);

	for (size_t i = 0; i < p->count; i++) {
		if (is_new_group(p, i))
			print_heading(p->groups[i], colour);
		findings_print(&p->jobs[i].found, stdout, colour);
	}
	if (fails + warns == 0)
		puts("nothing is wrong");
	else
		printf("%zu failed, %zu to look at\n", fails, warns);
}

/* "ok" and the exit code go by failures alone: a warning is no reason for a
 * script to stop. */
static void print_json(const struct doctor_plan *p)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_bool(&j, "ok", count_all(p, FINDING_FAIL) == 0);
	json_number(&j, "failed", count_all(p, FINDING_FAIL));
	json_number(&j, "warned", count_all(p, FINDING_WARN));
	json_open(&j, "groups", '[');
	for (size_t i = 0; i < p->count; i++) {
		if (is_new_group(p, i)) {
			json_open(&j, NULL, '{');
			json_bytes(&j, "group", (uint8_t *)p->groups[i],
			    strlen(p->groups[i]));
			json_open(&j, "findings", '[');
		}
		findings_json(&p->jobs[i].found, &j);
		if (i + 1 == p->count || is_new_group(p, i + 1)) {
			json_close(&j, ']');
			json_close(&j, '}');
		}
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
}

/* Progress is shown only where both streams are a terminal, as it would stand
 * between the findings otherwise. */
static void run_plan(struct doctor_plan *p, struct doctor_env *env)
{
	plan_all(p, env);
	jobs_run(p->jobs, p->count, env, LIMIT_US,
	    isatty(STDERR_FILENO) && isatty(STDOUT_FILENO) ? stderr : NULL);
}

/* Looks at everything; `only`: at that server, or NULL. The configuration is
 * loaded only without a daemon, which would know better. The result is to be
 * freed by free_plan(); NULL, after a message, without memory. */
static struct doctor_plan *look(const char *socket, const char *only)
{
	struct doctor_env *env = calloc(1, sizeof(*env));
	struct doctor_plan *p = calloc(1, sizeof(*p));
	const struct config_source source = {
	    .file = CONFIG_FILE_DEFAULT, .run_dir = CONFIG_RUN_DIR_DEFAULT};
	Forefetch__Response *res = NULL;

	if (!env || !p) {
		fputs("forefetch: out of memory\n", stderr);
		free(env);
		free(p);
		return NULL;
	}
	env->socket = socket;
	env->only = only;
	ask(env, &res);
	if (!env->st)
		env->config = config_load(
		    &source, env->config_error, sizeof(env->config_error));
	doctor_find_mounts(env, "/proc/self/mountinfo");
	run_plan(p, env);
	if (res)
		forefetch__response__free_unpacked(res, NULL);
	config_free(env->config);
	free(env);
	return p;
}

static void free_plan(struct doctor_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		findings_free(&p->jobs[i].found);
	free(p);
}

void doctor_json(const char *socket, struct json *j)
{
	struct doctor_plan *p = look(socket, NULL);

	json_open(j, "doctor", '[');
	for (size_t i = 0; p && i < p->count; i++)
		findings_json_short(&p->jobs[i].found, j);
	json_close(j, ']');
	if (p)
		free_plan(p);
}

static int doctor_run(const struct ctl_options *opt)
{
	struct doctor_plan *p = look(opt->socket, opt->server);
	bool failed;

	if (!p)
		return EXIT_FAILURE;
	failed = count_all(p, FINDING_FAIL) > 0;
	if (opt->json)
		print_json(p);
	else
		print_text(p);
	free_plan(p);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct ctl_command doctor_command = {
    .name = "doctor",
    .usage = "[--json] [SERVER]",
    .summary = "find out what is wrong, and what to do",
    .help =
	"Checks everything that may keep a mount from working: forefetchd, its "
	"unit, configuration and log; each server, directly and through "
	"forefetchd; each mount; the disk of the cache, memory and the clock. "
	"It prints a line for each check, and what to do if something is "
	"wrong. Root sees more. It changes nothing, and takes half a minute at "
	"most, whatever hangs. Exits with 1 if anything failed.\n",
    .options = "json server",
    .run = doctor_run,
};
