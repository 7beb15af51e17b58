/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch probe SERVER[:/PATH]: what a server is like, before anything is
 * configured. It runs all steps of a probe in this process, and prints the
 * facts as findings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_text.h"
#include "doctor/doctor.h"
#include "doctor/probe_report.h"
#include "text/json.h"

/* Bytes of the name of a server, with its NUL; DNS has 253. */
enum { HOST_MAX = 256 };

/* Prints what is wrong with the argument, and its form; an exit code. */
static int usage(const char *what)
{
	fprintf(stderr,
	    "forefetch: %s; it is SERVER or SERVER:/PATH, as in nas:/home or "
	    "[2001:db8::1]:/home\n",
	    what);
	return CTL_EXIT_USAGE;
}

/* Cuts "host", "host:/path" or "[v6]:/path" into its parts: 0, or an exit code
 * after a message. `*path` points into `text`; NULL: there is none. */
static int parse(const char *text, char host[HOST_MAX], const char **path)
{
	const char *end, *from = text;
	size_t len;

	if (*text == '[') {
		from = text + 1;
		end = strchr(from, ']');
		if (!end)
			return usage("\"]\" is missing");
		len = (size_t)(end - from);
		end++;
	} else {
		end = strstr(text, ":/");
		/* An address of IPv6, without a path. */
		if (!end && strchr(text, ':') == strrchr(text, ':'))
			end = strchr(text, ':');
		if (!end)
			end = text + strlen(text);
		len = (size_t)(end - text);
	}
	if (len == 0 || len >= HOST_MAX)
		return usage("the name of the server is empty or too long");
	memcpy(host, from, len);
	host[len] = '\0';
	if (*end && (*end != ':' || end[1] != '/'))
		return usage("the path must begin with \"/\"");
	*path = *end ? end + 1 : NULL;
	return strchr(host, '/') ? usage("there is a \"/\" in the name") : 0;
}

/* A number that is 0 where nobody knows it. */
static void put_known(struct json *j, const char *key, uint64_t value)
{
	if (value)
		json_number(j, key, value);
	else
		json_null(j, key);
}

/* The findings, and beside them what a program would have to read out of their
 * texts. */
static void print_json(const struct probe_target *t,
    const struct probe_facts *f, const struct findings *all)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_bytes(&j, "server", (uint8_t *)t->host, strlen(t->host));
	if (t->path)
		json_bytes(&j, "path", (uint8_t *)t->path, strlen(t->path));
	else
		json_null(&j, "path");
	json_bool(&j, "ok", findings_worst(all) != FINDING_FAIL);
	json_open(&j, "findings", '[');
	findings_json(all, &j);
	json_close(&j, ']');
	json_open(&j, "exports", '[');
	for (unsigned i = 0; i < f->nexports; i++)
		json_bytes(
		    &j, NULL, (uint8_t *)f->exports[i], strlen(f->exports[i]));
	json_close(&j, ']');
	put_known(&j, "round_trip_us", f->rtt_us);
	put_known(&j, "rate_bytes_per_second",
	    f->rate_us ? f->rate_bytes * 1000000 / f->rate_us : 0);
	json_close(&j, '}');
	putchar('\n');
}

/* The port of an option; 0 where the option was not given. 0, or an exit code
 * after a message. */
static int parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long value;

	*port = 0;
	if (!text)
		return 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || value == 0 || value > 65535) {
		fprintf(
		    stderr, "forefetch: %s is no port (1 to 65535)\n", text);
		return CTL_EXIT_USAGE;
	}
	*port = (uint16_t)value;
	return 0;
}

static int probe_command_run(const struct ctl_options *opt)
{
	char host[HOST_MAX];
	struct probe_target t = {.host = host};
	struct findings all = {0};
	struct probe_facts *f;
	int code = parse(opt->arg, host, &t.path);

	if (!code)
		code = parse_port(opt->nfs_port, &t.nfs_port);
	if (!code)
		code = parse_port(opt->mount_port, &t.mount_port);
	if (!code && opt->write && !t.path)
		code = usage("--write needs a path");
	if (code)
		return code;
	f = probe_run(&t);
	if (!f) {
		fputs("forefetch: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	probe_files(f);
	if (f->nfs_err == 0)
		probe_clock(f);
	if (opt->write)
		probe_write(f, opt->write);
	probe_report(&t, f, &all);
	if (opt->json)
		print_json(&t, f, &all);
	else
		findings_print(&all, stdout, ctl_colour(stdout));
	code =
	    findings_worst(&all) == FINDING_FAIL ? EXIT_FAILURE : EXIT_SUCCESS;
	findings_free(&all);
	probe_facts_free(f);
	return code;
}

const struct ctl_command probe_command = {
    .name = "probe",
    .usage = "[--write DIR] [--nfs-port PORT] [--mount-port PORT]\n"
	     "       [--json] SERVER[:/PATH]",
    .summary = "ask an NFS server what it offers, without a mount",
    .help = "Asks an NFS server directly, without forefetchd and before "
	    "anything is configured: its name, ports and versions, its "
	    "exports, and with a path, whether that can be mounted, a READ, "
	    "the round trip, the rate, and its clock. Root learns more: many "
	    "servers refuse ports above 1023. Nothing is changed there, unless "
	    "--write names a directory below the path: a file is created in "
	    "it, and removed. Exits with 1 if anything failed.\n",
    .options = "json write nfs-port mount-port",
    .run = probe_command_run,
    .args_min = 1,
    .args_max = 1,
    .completes = "server",
};
