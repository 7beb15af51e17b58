/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch bugreport writes a file for whoever is to find a fault: versions,
 * settings, status, stats, the doctor's findings and the options of NFS mounts,
 * a line of JSON each.
 *
 * No name, path, address or key may be in it, so it goes by what is known to be
 * harmless: in the daemon's answers a field of type bytes comes from outside,
 * and one of type string has words of our own (control.proto). Of the settings
 * it has numbers with units and words that a program knows; of findings, not
 * their sentences. Each text that is left out becomes "text-N", equal ones with
 * the same N, so that a reader still sees what belongs together.
 */
#include <mntent.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <event2/event.h>

#include "config/config.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_outfile.h"
#include "ctl/ctl_text.h"
#include "doctor/doctor.h"
#include "text/build.h"
#include "text/json.h"

/* ---- texts that are left out ------------------------------------------- */

/* One text that was left out, by tsearch(3). */
struct left_out {
	uint8_t *data;
	size_t len;
	unsigned number; /* from 1 on */
};

/* All of them. */
struct texts {
	void *tree;
	unsigned count;
};

static int compare(const void *a, const void *b)
{
	const struct left_out *x = a, *y = b;

	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(x->data, y->data, x->len);
}

static void free_text(void *node)
{
	struct left_out *text = node;

	free(text->data);
	free(text);
}

/* The number of a text; 0 without memory. It keeps a copy. */
static unsigned number_of(struct texts *all, const void *data, size_t len)
{
	struct left_out *text = malloc(sizeof(*text)), **node;

	if (!text)
		return 0;
	*text = (struct left_out){.data = malloc(len), .len = len};
	if (text->data)
		memcpy(text->data, data, len);
	node = text->data ? tsearch(text, &all->tree, compare) : NULL;
	if (!node) {
		free_text(text);
		return 0;
	}
	if (*node != text)
		free_text(text);
	else
		text->number = ++all->count;
	return (*node)->number;
}

/* Puts "text-N" in the place of the bytes; an empty field stays empty. */
static void leave_out(struct texts *all, ProtobufCBinaryData *bytes)
{
	char *word;

	if (bytes->len == 0)
		return;
	if (asprintf(
		&word, "text-%u", number_of(all, bytes->data, bytes->len)) < 0)
		abort();
	free(bytes->data);
	*bytes =
	    (ProtobufCBinaryData){.data = (uint8_t *)word, .len = strlen(word)};
}

static void leave_out_all(struct texts *all, ProtobufCMessage *msg);

/* The same for `n` values of a field that follow each other. */
static void leave_out_field(struct texts *all,
    const ProtobufCFieldDescriptor *field, void *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (field->type == PROTOBUF_C_TYPE_BYTES)
			leave_out(all, (ProtobufCBinaryData *)values + i);
		else if (((ProtobufCMessage **)values)[i])
			leave_out_all(all, ((ProtobufCMessage **)values)[i]);
}

/* Leaves out every field of type bytes, of messages within it, too. */
static void leave_out_all(struct texts *all, ProtobufCMessage *msg)
{
	const ProtobufCMessageDescriptor *d = msg->descriptor;

	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &d->fields[i];
		char *at = (char *)msg + field->offset;

		if (field->type != PROTOBUF_C_TYPE_BYTES &&
		    field->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (field->label == PROTOBUF_C_LABEL_REPEATED)
			leave_out_field(all, field, *(void **)at,
			    *(size_t *)((char *)msg +
					field->quantifier_offset));
		else if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
			 *(uint32_t *)((char *)msg +
				       field->quantifier_offset) == field->id)
			leave_out_field(all, field, at, 1);
	}
}

/* ---- this machine ------------------------------------------------------- */

static void put_versions(struct json *j)
{
	struct utsname u;

	json_open(j, "versions", '{');
	json_text(j, "forefetch", FF_VERSION);
	json_text(j, "commit", build_commit());
	json_text(j, "compiler", build_compiler());
	json_text(j, "libevent", event_get_version());
	json_text(j, "protobuf_c", protobuf_c_version());
	if (uname(&u) == 0) {
		json_text(j, "kernel", u.release);
		json_text(j, "machine", u.machine);
	}
	json_close(j, '}');
}

/* Whether it is a number, perhaps with a unit that config_print() writes. A
 * name or an address may begin with a digit, too. */
static bool is_number(const char *word)
{
	static const char *const units[] = {"", "%", "K", "M", "G", "T", "us",
	    "ms", "s", "m", "h", "d", "kbit", "mbit", "gbit"};
	size_t n = strspn(word, "0123456789");

	if (n == 0)
		return false;
	if (word[n] == '.')
		n += 1 + strspn(word + n + 1, "0123456789");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i], word + n) == 0)
			return true;
	return false;
}

/* Whether a value is one of the words that settings and mount options have. */
static bool is_word(const char *value)
{
	static const char *const words[] = {"yes", "no", "on", "off", "auto",
	    "bounded", "strict", "frozen", "wait", "serve", "metadata",
	    "first-block", "tcp", "udp", "sys", "all", "none", "pos",
	    "positive", "debug", "info", "warn", "error", "wired", "wireless",
	    "guarded", "verified"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i], value) == 0)
			return true;
	return false;
}

/* Puts "text-N" in the place of a text that is not empty. */
static void put_left_out(
    struct json *j, struct texts *all, const char *key, const char *text)
{
	char word[CTL_TEXT_MAX];

	snprintf(
	    word, sizeof(word), "text-%u", number_of(all, text, strlen(text)));
	json_text(j, key, word);
}

/* Puts a value that is a number or a word, and leaves others out; null where it
 * is empty. */
static void put_value(
    struct json *j, struct texts *all, const char *key, const char *value)
{
	if (!*value)
		json_null(j, key);
	else if (is_number(value) || is_word(value))
		json_text(j, key, value);
	else
		put_left_out(j, all, key, value);
}

/* The options of one mount; those without a value are words of the kernel. */
static void put_options(struct json *j, struct texts *all, char *options)
{
	char *save, *equals;

	json_open(j, NULL, '{');
	for (char *o = strtok_r(options, ",", &save); o;
	     o = strtok_r(NULL, ",", &save)) {
		equals = strchr(o, '=');
		if (equals)
			*equals = '\0';
		if (equals)
			put_value(j, all, o, equals + 1);
		else
			json_bool(j, o, true);
	}
	json_close(j, '}');
}

static void put_mounts(struct json *j, struct texts *all)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	json_open(j, "mounts", '[');
	while (f && (m = getmntent(f)))
		if (strncmp(m->mnt_type, "nfs", 3) == 0)
			put_options(j, all, m->mnt_opts);
	if (f)
		endmntent(f);
	json_close(j, ']');
}

/* ---- settings ----------------------------------------------------------- */

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	for (n = strlen(s); n > 0 && strchr(" \t\n", s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

/* One line of config_print(): "[KIND NAME]", or "KEY = VALUE". `*open` says
 * whether a section is open. */
static void put_line(struct json *j, struct texts *all, char *line, bool *open)
{
	char *equals = strchr(line, '='), *name;

	line = trim(line);
	if (*line == '[') {
		if (*open)
			json_close(j, '}');
		*open = true;
		json_open(j, NULL, '{');
		line[strcspn(line, "]")] = '\0';
		name = line + strcspn(line, " ");
		name += *name == ' ' ? (*name = '\0', 1) : 0;
		json_text(j, "section", line + 1);
		if (*name)
			put_left_out(j, all, "name", name);
	} else if (*open && equals && *line != '#') {
		*equals = '\0';
		put_value(j, all, trim(line), trim(equals + 1));
	}
}

/* All settings in force, where this user may read the files: those of the
 * daemon; without one (`st` is NULL), those that it would have. */
static void put_settings(
    struct json *j, struct texts *all, const Forefetch__Status *st)
{
	char *file =
		 st ? strndup((char *)st->config_file.data, st->config_file.len)
		    : NULL,
	     *run_dir = st && st->run_dir.len > 0
			    ? strndup((char *)st->run_dir.data, st->run_dir.len)
			    : NULL;
	const struct config_source source = {
	    .file = file ? file : CONFIG_FILE_DEFAULT,
	    .run_dir = st ? run_dir : CONFIG_RUN_DIR_DEFAULT};
	char err[CONFIG_ERR_MAX], *text = NULL, *line = NULL;
	struct config *config = config_load(&source, err, sizeof(err));
	FILE *f = config ? open_memstream(&text, &(size_t){0}) : NULL;
	size_t size = 0;
	bool open = false;

	json_open(j, "settings", '[');
	if (f) {
		config_print(config, f);
		fclose(f);
		f = text ? fmemopen(text, strlen(text), "r") : NULL;
	}
	while (f && getline(&line, &size, f) >= 0)
		put_line(j, all, line, &open);
	if (open)
		json_close(j, '}');
	json_close(j, ']');
	if (f)
		fclose(f);
	free(line);
	free(text);
	config_free(config);
	free(file);
	free(run_dir);
}

/* ---- the daemon --------------------------------------------------------- */

/* Puts one answer of the daemon, `msg`, and ends the line; NULL: there is none.
 */
static void put_answer(
    struct json *j, struct texts *all, const char *key, ProtobufCMessage *msg)
{
	if (msg) {
		leave_out_all(all, msg);
		json_message(j, key, msg);
	} else {
		json_null(j, key);
	}
	fputc('\n', j->out);
}

/* A daemon that does not answer is told of on stderr, and all else is put. */
static void put_all(struct json *j, const char *socket)
{
	Forefetch__StatsRequest ask = FOREFETCH__STATS_REQUEST__INIT;
	Forefetch__Response *status = ctl_status(socket, NULL), *stats = NULL;
	struct texts all = {0};

	if (status)
		stats =
		    ctl_call(socket, FOREFETCH__REQUEST__COMMAND_STATS, &ask);
	json_open(j, NULL, '{');
	put_versions(j);
	fputc('\n', j->out);
	put_settings(j, &all, status ? status->status : NULL);
	fputc('\n', j->out);
	put_answer(j, &all, "status", status ? &status->status->base : NULL);
	put_answer(j, &all, "stats", stats ? &stats->stats->base : NULL);
	doctor_json(socket, j);
	fputc('\n', j->out);
	put_mounts(j, &all);
	json_close(j, '}');
	fputc('\n', j->out);
	tdestroy(all.tree, free_text);
	ctl_free(status);
	ctl_free(stats);
}

static int bugreport_run(const struct ctl_options *opt)
{
	char name[64];
	time_t now = time(NULL);
	struct ctl_outfile f;
	struct tm tm;

	if (opt->output && strcmp(opt->output, "-") == 0) {
		put_all(&(struct json){.out = stdout}, opt->socket);
		return EXIT_SUCCESS;
	}
	strftime(name, sizeof(name), "forefetch-bugreport-%Y%m%d-%H%M%S.json",
	    localtime_r(&now, &tm));
	if (!ctl_outfile_open(&f, opt->output ? opt->output : name))
		return EXIT_FAILURE;
	put_all(&(struct json){.out = f.out}, opt->socket);
	if (!ctl_outfile_close(&f, true))
		return EXIT_FAILURE;
	ctl_say(stdout,
	    "%s: written; no name, path, address or key is in it, but read it "
	    "before you send it",
	    f.file);
	return EXIT_SUCCESS;
}

const struct ctl_command bugreport_command = {
    .name = "bugreport",
    .usage = "[-o FILE]",
    .summary = "write a report for developers, without names or paths",
    .help =
	"Writes FILE, or forefetch-bugreport-DATE-TIME.json, for a report of a "
	"fault: versions, the daemon's status and stats, what forefetch doctor "
	"found, the settings, and the options of NFS mounts, as JSON.\n"
	"\n"
	"Names, paths, addresses and keys are left out: each becomes text-N, "
	"and equal ones have the same N. With -o -, it is printed.\n",
    .options = "output",
    .run = bugreport_run,
    .args_max = -1,
};
