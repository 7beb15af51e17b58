/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of the daemon: whether it runs and is of this release, its unit,
 * its configuration, its log and its farm. doctor.c has asked it for its status
 * before, which stands in the doctor_env; the checks here judge that, and ask
 * systemd and the journal, which may hang, so each runs as a job of its own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "ctl/ctl_text.h"
#include "doctor/doctor_private.h"
#include "doctor/jobs.h"
#include "text/json.h"

const struct doctor_row doctor_daemon_rows[] = {
    {"forefetchd", doctor_check_running},
    {"unit", doctor_check_unit},
    {"configuration", doctor_check_config},
    {"log", doctor_check_log},
    {"farm", doctor_check_farm},
    {NULL, NULL},
};

/* The name of the unit, and of the program in remedies. */
static const char unit[] = "forefetchd";

const char *doctor_text(const ProtobufCBinaryData *b, char *buf, size_t size)
{
	snprintf(buf, size, "%.*s", (int)b->len,
	    b->data ? (const char *)b->data : "");
	return buf;
}

/* The daemon answered, and does not take the question: its release differs from
 * this one's so much that the protocol has another version. */
static void report_refusal(const char *refusal, struct findings *out)
{
	findings_add(out, FINDING_FAIL, "forefetchd",
	    "it is of another release than this program (%s): %s", FF_VERSION,
	    refusal);
	findings_remedy(out,
	    "sudo systemctl restart %s, so that the one that is installed "
	    "runs; "
	    "else install both from one package",
	    unit);
}

/* The daemon did not answer. The errno tells what a user can do: start it,
 * become root, or look why it hangs. */
static void report_away(const struct doctor_env *env, struct findings *out)
{
	switch (env->error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		findings_add(out, FINDING_FAIL, "forefetchd",
		    "it is not running (%s %s)",
		    env->error == ECONNREFUSED ? "nobody listens at"
					       : "no socket at",
		    env->socket);
		findings_remedy(out, "sudo systemctl start %s", unit);
		return;
	case EACCES:
	case EPERM:
		findings_add(out, FINDING_FAIL, "forefetchd",
		    "this user may not talk to it at %s", env->socket);
		findings_remedy(out, "run it as root (sudo)");
		return;
	case EAGAIN:
		findings_add(out, FINDING_FAIL, "forefetchd",
		    "it does not answer at %s", env->socket);
		findings_remedy(out,
		    "see journalctl -u %s; sudo systemctl restart %s (mounts "
		    "wait "
		    "meanwhile)",
		    unit, unit);
		return;
	default:
		findings_add(out, FINDING_FAIL, "forefetchd",
		    "the program that answers at %s is not forefetchd, or is "
		    "of another release than this one (%s): %s",
		    env->socket, FF_VERSION, strerror(env->error));
		findings_remedy(out, "sudo systemctl restart %s", unit);
	}
}

/* A daemon of another version than this program is mostly one that was not
 * restarted after an upgrade: it works, and lacks what the upgrade mended. */
void doctor_check_running(const struct doctor_env *env, struct findings *out)
{
	const Forefetch__Status *st = env->st;
	char age[CTL_TEXT_MAX], why[DOCTOR_TEXT];

	if (!st) {
		if (env->refusal)
			report_refusal(env->refusal, out);
		else
			report_away(env, out);
		return;
	}
	if (strcmp(st->version, FF_VERSION) != 0) {
		findings_add(out, FINDING_WARN, "forefetchd",
		    "version %s runs, and this program is of %s", st->version,
		    FF_VERSION);
		findings_remedy(out,
		    "sudo systemctl restart %s, so that the one that is "
		    "installed "
		    "runs (mounts wait meanwhile)",
		    unit);
	} else {
		findings_add(out, FINDING_OK, "forefetchd",
		    "version %s runs, process %u, for %s", st->version, st->pid,
		    ctl_text_duration(age, st->uptime_us));
	}
	if (st->reload_error.len > 0) {
		findings_add(out, FINDING_WARN, "reload",
		    "the last one failed: %s",
		    doctor_text(&st->reload_error, why, sizeof(why)));
		findings_remedy(
		    out, "correct the configuration, then forefetch reload");
	}
	if (st->n_servers == 0) {
		findings_add(out, FINDING_NOTE, "servers", "there are none");
		findings_remedy(out,
		    "forefetch mount nas:/path DIR, or a [server] section in "
		    "the configuration");
	}
}

/* The value of a line NAME=VALUE of `systemctl show`; "" where there is none.
 * Returns `buf`. */
static const char *property(
    const char *text, const char *name, char *buf, size_t size)
{
	size_t len = strlen(name);

	*buf = '\0';
	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, len) != 0 || p[len] != '=')
			continue;
		p += len + 1;
		snprintf(buf, size, "%.*s", (int)strcspn(p, "\n"), p);
		break;
	}
	return buf;
}

/* Reports the unit's state by systemd's properties. One that was started again
 * is a warning although it runs now: each crash made all mounts wait. Where a
 * daemon answers and the unit is not active, somebody started it by hand, which
 * is no mistake. */
static void report_unit(
    const struct doctor_env *env, const char *text, struct findings *out)
{
	char active[64], sub[64], file[64], result[64], restarts[64];

	property(text, "ActiveState", active, sizeof(active));
	property(text, "SubState", sub, sizeof(sub));
	property(text, "UnitFileState", file, sizeof(file));
	property(text, "Result", result, sizeof(result));
	property(text, "NRestarts", restarts, sizeof(restarts));
	if (strcmp(active, "active") == 0 && atoi(restarts) > 0) {
		findings_add(out, FINDING_WARN, "unit",
		    "active, but systemd started it again %s times", restarts);
		findings_remedy(out, "see why: journalctl -u %s", unit);
	} else if (strcmp(active, "active") == 0) {
		findings_add(out, FINDING_OK, "unit", "%s (%s)", active, sub);
	} else if (env->st) {
		findings_add(out, FINDING_NOTE, "unit",
		    "%s; the daemon that answers was started otherwise",
		    active);
	} else {
		findings_add(out, FINDING_FAIL, "unit", "%s (%s; %s)", active,
		    sub, result);
		findings_remedy(out,
		    "sudo systemctl start %s; see why it ended: systemctl "
		    "status "
		    "%s",
		    unit, unit);
	}
	if (strcmp(file, "disabled") == 0 || strncmp(file, "masked", 6) == 0) {
		findings_add(out, FINDING_WARN, "unit file",
		    "%s: it does not start with the machine", file);
		findings_remedy(out, "sudo systemctl enable %s", unit);
	}
}

/* Asks for the properties by name, whose output is made for programs
 * (systemctl(1), show). */
void doctor_check_unit(const struct doctor_env *env, struct findings *out)
{
	static const char *const argv[] = {"systemctl", "show", unit, "-p",
	    "LoadState,ActiveState,SubState,UnitFileState,Result,NRestarts",
	    NULL};
	char text[4096], load[64];

	if (access("/run/systemd/system", F_OK) != 0) {
		findings_add(out, FINDING_SKIP, "unit",
		    "this machine does not run systemd");
		return;
	}
	if (jobs_output(argv, text, sizeof(text)) != 0) {
		findings_add(
		    out, FINDING_SKIP, "unit", "systemctl does not know");
		return;
	}
	property(text, "LoadState", load, sizeof(load));
	if (strcmp(load, "loaded") == 0) {
		report_unit(env, text, out);
	} else if (env->st) {
		findings_add(out, FINDING_NOTE, "unit",
		    "%s; the daemon that answers was started otherwise", load);
	} else {
		findings_add(out, FINDING_FAIL, "unit", "%s", load);
		findings_remedy(out,
		    "install the package, or systemctl daemon-reload if it "
		    "was just installed");
	}
}

/* Finds the daemon's program: beside this one, as in a build folder, or where
 * packages put it. False where it is in none of these places. */
static bool find_daemon(char *buf, size_t size)
{
	static const char *const places[] = {
	    "/usr/sbin/forefetchd", "/usr/local/sbin/forefetchd"};
	char self[512], *name;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	name = strrchr(self, '/');
	if (name) {
		*name = '\0';
		snprintf(buf, size, "%s/forefetchd", self);
		if (access(buf, X_OK) == 0)
			return true;
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(buf, size, "%s", places[i]);
		if (access(buf, X_OK) == 0)
			return true;
	}
	return false;
}

static void first_line(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}

static void report_config(const char *error, struct findings *out)
{
	findings_add(out, FINDING_FAIL, "configuration", "%s", error);
	findings_remedy(out,
	    "correct it (forefetchd -t says what is wrong, "
	    "forefetch.conf(5) what is allowed), then forefetch reload");
}

/* Checks the configuration without the daemon's program: forefetchd -t also
 * tries the directories that it names, which only root and the daemon's user
 * may do. */
static void check_syntax(const char *file, struct findings *out)
{
	const struct config_source source = {.file = file,
	    .run_dir = strcmp(file, CONFIG_FILE_DEFAULT) == 0
			   ? CONFIG_RUN_DIR_DEFAULT
			   : NULL};
	char err[CONFIG_ERR_MAX];
	struct config *c = config_load(&source, err, sizeof(err));

	if (c)
		findings_add(out, FINDING_OK, "configuration",
		    "%s; root can also check the directories that it names",
		    file);
	else
		report_config(err, out);
	config_free(c);
}

/* The text behind the lines of warnings that forefetchd -t prints first; the
 * error stands there. */
static char *skip_warnings(char *text)
{
	static const char mark[] = "forefetchd: warning: ";
	char *end;

	while (strncmp(text, mark, sizeof(mark) - 1) == 0 &&
	       (end = strchr(text, '\n')) && end[1])
		text = end + 1;
	return text;
}

/* The daemon's own check of the file that it uses, or of the default one. A
 * machine without a file is in order, as `forefetch mount` writes sections of
 * its own. Root without a daemon has loaded the configuration already
 * (doctor.c), so its error is taken from there. */
void doctor_check_config(const struct doctor_env *env, struct findings *out)
{
	char file[DOCTOR_TEXT] = "/etc/forefetch.conf", program[600];
	const char *argv[] = {program, "-t", "-f", file, NULL};
	char text[4096], *error;
	int code;

	if (env->st && env->st->config_file.len > 0)
		doctor_text(&env->st->config_file, file, sizeof(file));
	if (!env->st && !env->config && geteuid() == 0) {
		report_config(env->config_error, out);
		return;
	}
	if (access(file, F_OK) != 0 && errno == ENOENT) {
		findings_add(out, FINDING_NOTE, "configuration",
		    "there is no %s; forefetch mount does not need one", file);
		return;
	}
	if (access(file, R_OK) != 0 || !find_daemon(program, sizeof(program))) {
		findings_add(out, FINDING_SKIP, "configuration",
		    "%s cannot be read by this user, or forefetchd is not "
		    "installed",
		    file);
		return;
	}
	code = jobs_output(argv, text, sizeof(text));
	if (code == 0) {
		findings_add(out, FINDING_OK, "configuration", "%s", file);
		return;
	}
	if (geteuid() != 0) {
		check_syntax(file, out);
		return;
	}
	error = skip_warnings(text);
	first_line(error);
	report_config(error, out);
}

/* Counts the daemon's warnings of the last hour and shows the last one: it
 * often names the cause of all that fails below. Users outside of the group
 * systemd-journal see only their own messages, so for them no line proves
 * nothing. */
void doctor_check_log(const struct doctor_env *env, struct findings *out)
{
	static const char *const argv[] = {"journalctl", "-q", "-u", unit, "-p",
	    "warning", "--since", "-1h", "-n", "100", "-o", "cat", "--no-pager",
	    NULL};
	char text[32768], *last = text;
	unsigned lines = 0;

	(void)env;
	if (access("/run/systemd/system", F_OK) != 0 ||
	    jobs_output(argv, text, sizeof(text)) != 0) {
		findings_add(out, FINDING_SKIP, "log",
		    "the journal cannot be read (journalctl)");
		return;
	}
	for (char *p = text; (p = strchr(p, '\n')); p++) {
		lines++;
		if (p[1])
			last = p + 1;
	}
	first_line(last);
	if (lines == 0 && geteuid() != 0) {
		findings_add(out, FINDING_SKIP, "log",
		    "no warning that this user may read; root sees every "
		    "warning");
		return;
	}
	if (lines == 0) {
		findings_add(
		    out, FINDING_OK, "log", "no warning within the last hour");
		return;
	}
	findings_add(out, FINDING_NOTE, "log",
	    "%u%s warning%s within the last hour; the last: %s", lines,
	    lines == 100 ? " or more" : "", lines == 1 ? "" : "s", last);
	findings_remedy(out, "journalctl -u %s -p warning", unit);
}

/* The farm is not in order. Everything goes on without its engine, so that this
 * is a warning at most. */
static void report_farm(const Forefetch__FarmStatus *farm, struct findings *out)
{
	char why[DOCTOR_TEXT], word[CTL_TEXT_MAX];

	doctor_text(&farm->error, why, sizeof(why));
	json_word(
	    word, &forefetch__farm_status__state__descriptor, (int)farm->state);
	findings_add(out, FINDING_WARN, "farm", "%s%s%s; all goes on %s", word,
	    *why ? ": " : "", why,
	    farm->state == FOREFETCH__FARM_STATUS__STATE__UP
		? "with the nodes that can be asked"
	    : farm->state == FOREFETCH__FARM_STATUS__STATE__FULL
		? "with the values that are there already"
		: "without it");
	if (farm->state == FOREFETCH__FARM_STATUS__STATE__OFF)
		findings_remedy(out,
		    "correct [farm] or its key_file, then sudo systemctl "
		    "restart %s "
		    "(mounts wait meanwhile)",
		    unit);
	else
		findings_remedy(out,
		    "forefetch farm check says more; see engine, user and "
		    "password_file in [farm], and the engine's log");
}

/* Values from the engine, of all servers, that did not open since the daemon
 * started. */
static uint64_t bad_values(const Forefetch__Status *st)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < st->n_servers; i++)
		if (st->servers[i]->farm)
			bad += st->servers[i]->farm->bad;
	return bad;
}

/* Nothing is said where there is no farm. Bad values are reported beside the
 * state: an engine that is up may hold what somebody else has written. */
void doctor_check_farm(const struct doctor_env *env, struct findings *out)
{
	const Forefetch__FarmStatus *farm = env->st ? env->st->farm : NULL;
	char version[DOCTOR_TEXT], trip[CTL_TEXT_MAX];
	uint64_t bad;

	if (!farm)
		return;
	if (farm->state == FOREFETCH__FARM_STATUS__STATE__CONNECTING &&
	    farm->error.len == 0)
		findings_add(out, FINDING_NOTE, "farm", "connecting");
	else if (farm->state != FOREFETCH__FARM_STATUS__STATE__UP ||
		 farm->error.len > 0)
		report_farm(farm, out);
	else
		findings_add(out, FINDING_OK, "farm", "up, Redis %s, %s",
		    doctor_text(&farm->version, version, sizeof(version)),
		    ctl_text_us(trip, farm->srtt_us));
	bad = bad_values(env->st);
	if (bad == 0)
		return;
	findings_add(out, FINDING_WARN, "values of the farm",
	    "%" PRIu64 " did not open, and were of no use: damaged, or sealed "
	    "by another key",
	    bad);
	findings_remedy(out,
	    "see who else may write to the engine: its users need keys ff:*, "
	    "and the farm's key_file, which must be the same on all machines");
}
