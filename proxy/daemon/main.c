/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetchd: the command line; reads the configuration, goes into the
 * background, and serves (daemon.c). docs/ARCHITECTURE.md says which folder
 * does what.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>
#include <protobuf-c/protobuf-c.h>

#include "base/log.h"
#include "base/statedir.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "daemon/lastgood.h"
#include "daemon/listens.h"
#include "farm/seal.h"
#include "hashing/hash_key.h"
#include "text/build.h"

/* Exit statuses, as in forefetchd(8): a wrong command line or configuration,
 * and a port that somebody else has. */
enum { EXIT_USAGE = 2, EXIT_TAKEN = 3 };

enum {
	OPT_RUN_DIR = 256,
	/* Errors of the configuration that -t tells of. */
	ERRORS_MAX = 20,
};

/* The command line. */
struct options {
	struct config_source source;
	bool foreground;
	bool test;
	bool verbose;
};

static void print_help(FILE *out)
{
	fputs("usage: forefetchd [-F] [-f FILE] [--run-dir DIR] [-t [-v]]\n"
	      "A caching, prefetching NFS proxy; see forefetchd(8).\n"
	      "\n"
	      "  -f, --file FILE    configuration "
	      "(default " CONFIG_FILE_DEFAULT ")\n"
	      "      --run-dir DIR  more of it, *.conf, for this run "
	      "(default\n"
	      "                     " CONFIG_RUN_DIR_DEFAULT "; none with -f)\n"
	      "  -F, --foreground   stay in the foreground\n"
	      "  -t, --test         check the configuration and exit\n"
	      "  -v, --verbose      with -t: print every setting in force\n"
	      "  -V, --version      print the version and exit\n"
	      "  -h, --help         print this and exit\n",
	    out);
}

static void print_version(void)
{
	char libraries[128];

	snprintf(libraries, sizeof(libraries), "libevent %s, protobuf-c %s",
	    event_get_version(), protobuf_c_version());
	build_print("forefetchd", libraries);
}

static const struct option longs[] = {
    {"file", required_argument, NULL, 'f'},
    {"run-dir", required_argument, NULL, OPT_RUN_DIR},
    {"foreground", no_argument, NULL, 'F'},
    {"test", no_argument, NULL, 't'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Ends the program where the command line is wrong, or asks for help. */
static void parse_options(int argc, char **argv, struct options *o)
{
	int c;

	/* getopt's messages begin with it. */
	argv[0] = (char[]){"forefetchd"};
	while ((c = getopt_long(argc, argv, "f:FtvVh", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			o->source.file = optarg;
			break;
		case OPT_RUN_DIR:
			o->source.run_dir = optarg;
			break;
		case 'F':
			o->foreground = true;
			break;
		case 't':
			o->test = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'V':
			print_version();
			exit(EXIT_SUCCESS);
		case 'h':
			print_help(stdout);
			exit(EXIT_SUCCESS);
		default:
			print_help(stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind == argc && (o->test || !o->verbose))
		return;
	if (optind < argc)
		fprintf(stderr, "forefetchd: unexpected argument: %s\n",
		    argv[optind]);
	else
		fputs("forefetchd: -v is for -t only\n", stderr);
	print_help(stderr);
	exit(EXIT_USAGE);
}

/* The exit status of a child that failed. */
static int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) != EXIT_SUCCESS)
		return WEXITSTATUS(status);
	return EXIT_FAILURE;
}

/*
 * Go into the background. The parent waits until the child serves, so that
 * whoever started it learns of errors. Returns, in the child, a descriptor
 * to say so on; -1 and errno on failure.
 */
static int go_background(void)
{
	int ready[2];
	char ok = 0;
	pid_t pid;

	if (pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid > 0) {
		close(ready[1]);
		(void)!read(ready[0], &ok, 1);
		_exit(ok ? EXIT_SUCCESS : exit_status(pid));
	}
	close(ready[0]);
	if (setsid() < 0)
		return -1;
	return ready[1];
}

/* Servers of many clients need more descriptors than the usual soft limit. */
static void raise_descriptor_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return;
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		log_warn("main: RLIMIT_NOFILE: %s", strerror(errno));
}

/* After the start, messages go to the log, on stderr. Standard output is given
 * up, so that a program that reads it does not wait for its end. */
static void tell_ready(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char ok = 1;

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		close(null);
	}
	(void)!write(fd, &ok, 1);
	close(fd);
}

/* A setting that is more than the machine has; `all` 0: not known. */
static void warn_of_size(
    const char *key, uint64_t bytes, uint64_t all, const char *what)
{
	if (all == 0 || bytes <= all)
		return;
	fprintf(stderr,
	    "forefetchd: warning: [forefetch] %s is %.0f MiB, and %s has "
	    "%.0f MiB\n",
	    key, (double)bytes / (1 << 20), what, (double)all / (1 << 20));
}

/* Without its key the daemon starts, and shares nothing. */
static void warn_of_key(const struct config_farm *farm)
{
	char err[CONFIG_ERR_MAX];
	struct seal *seal;

	if (farm->engine.n == 0)
		return;
	seal = seal_load(farm->key_file, err, sizeof(err));
	if (!seal)
		fprintf(
		    stderr, "forefetchd: warning: [farm] key_file: %s\n", err);
	seal_free(seal);
}

/* Settings that are no errors, but risks, for those who check a configuration.
 */
static void print_warnings(const struct config *c)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	char text[LISTENS_TEXT_MAX];

	warn_of_size("cache_size", c->cache_size,
	    statedir_disk_bytes(c->cache_dir), "the disk of cache_dir");
	warn_of_size("memory_size", c->memory_size,
	    pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
	    "this machine");
	warn_of_key(&c->farm);
	for (size_t i = 0; i < c->nservers; i++)
		for (size_t k = 0; k < c->servers[i].listen.n; k++)
			if (listens_unsafe(&c->servers[i].listen.list[k], text))
				fprintf(stderr,
				    "forefetchd: warning: [server %s] %s\n",
				    c->servers[i].name, text);
}

/* The daemon does not take the configuration, for `err`: try the one that was
 * at work last. NULL with `err` as it was where that does not help either. */
static struct daemon *fall_back(const struct options *o, const char *err)
{
	char again[CONFIG_ERR_MAX];
	struct config *last = errno == EINVAL ? lastgood_load() : NULL;
	struct daemon *d =
	    last ? daemon_new(last, &o->source, again, sizeof(again)) : NULL;

	if (d)
		daemon_refused(d, err);
	return d;
}

/* `refused` says why the configuration of the files could not be read; then
 * `config` is the one that was at work before. It is NULL where `config` is
 * that of the files. */
static int serve(
    struct config *config, const struct options *o, const char *refused)
{
	char err[CONFIG_ERR_MAX];
	struct daemon *d;
	int ready = -1, rc;

	if (!o->foreground) {
		ready = go_background();
		if (ready < 0) {
			log_error("main: cannot fork: %s", strerror(errno));
			config_free(config);
			return EXIT_FAILURE;
		}
	}
	raise_descriptor_limit();
	d = daemon_new(config, &o->source, err, sizeof(err));
	if (d && refused)
		daemon_refused(d, refused);
	else if (d)
		daemon_keep(d);
	else {
		rc = errno == EADDRINUSE ? EXIT_TAKEN
		     : errno == EINVAL   ? EXIT_USAGE
					 : EXIT_FAILURE;
		d = refused ? NULL : fall_back(o, err);
		if (!d) {
			log_error("main: %s", err);
			return rc;
		}
	}
	/* The working directory may lie on what we serve. */
	if (chdir("/") < 0)
		log_warn("main: chdir: %s", strerror(errno));
	if (ready >= 0)
		tell_ready(ready);
	rc = daemon_run(d);
	daemon_free(d);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* -t: whether a daemon could run with this configuration; frees it. Returns an
 * exit status. */
static int test(struct config *config, const struct options *o)
{
	char err[CONFIG_ERR_MAX];
	bool ok = daemon_check(config, err, sizeof(err));

	print_warnings(config);
	if (!ok)
		fprintf(stderr, "forefetchd: %s\n", err);
	else if (o->verbose)
		config_print(config, stdout);
	else
		for (size_t i = 0; i < config->nfiles; i++)
			printf("%s: %s\n", config->files[i],
			    access(config->files[i], F_OK) == 0 ||
				    errno != ENOENT
				? "no errors found"
			    : config->nfiles > 1
				? "not there"
				: "not there; the defaults apply");
	config_free(config);
	return ok ? EXIT_SUCCESS : EXIT_USAGE;
}

/* HUP reads it again, from whatever directory. NULL and errno. */
static char *absolute(const char *path)
{
	char *here, *whole = NULL;

	if (*path == '/')
		return strdup(path);
	here = getcwd(NULL, 0);
	if (here && asprintf(&whole, "%s/%s", here, path) < 0)
		whole = NULL;
	free(here);
	return whole;
}

/* Reads the configuration, and does as the options say; an exit status. If the
 * files are wrong, a daemon goes on with the configuration that was at work
 * before, and -t prints all errors. */
static int run(struct options *o)
{
	char err[ERRORS_MAX * CONFIG_ERR_MAX], *save, *line;
	struct config *config;

	o->source.errors_max = ERRORS_MAX;
	config = config_load(&o->source, err, sizeof(err));
	o->source.errors_max = 1;
	if (config)
		return o->test ? test(config, o) : serve(config, o, NULL);
	config = o->test ? NULL : lastgood_load();
	if (config) {
		err[strcspn(err, "\n")] = '\0';
		log_error(
		    "main: %s; going on with the previous configuration", err);
		return serve(config, o, err);
	}
	for (line = strtok_r(err, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		fprintf(stderr, "forefetchd: %s\n", line);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct options o = {.source.file = CONFIG_FILE_DEFAULT};
	char *file, *run_dir = NULL;
	int rc;

	hash_key_draw();
	parse_options(argc, argv, &o);
	if (!o.source.run_dir &&
	    strcmp(o.source.file, CONFIG_FILE_DEFAULT) == 0)
		o.source.run_dir = CONFIG_RUN_DIR_DEFAULT;
	file = absolute(o.source.file);
	if (o.source.run_dir)
		run_dir = absolute(o.source.run_dir);
	if (!file || (o.source.run_dir && !run_dir)) {
		fprintf(stderr, "forefetchd: %s: %s\n", o.source.file,
		    strerror(errno));
		return EXIT_FAILURE;
	}
	o.source.file = file;
	o.source.run_dir = run_dir;
	rc = run(&o);
	free(file);
	free(run_dir);
	return rc;
}
