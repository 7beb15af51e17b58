/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep - every call fails once.
 *
 * Does the work of work.c again and again, each time in a process of its own,
 * in which another one of all calls that may fail does so (faults.h).
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenario/files.h"
#include "sweep/cli.h"
#include "sweep/faults.h"
#include "sweep/work.h"

static const char help[] =
    "usage: sweep [options]\n"
    "\n"
    "Lets each call of the daemon that may fail do so, one in each run of a\n"
    "fixed work in virtual time, and judges whether the work still goes "
    "right.\n"
    "\n"
    "  --kind KIND   error: the call fails; short: a read or write does a\n"
    "                part of what it should; disk: from it on, all that is\n"
    "                done with files below cache_dir fails; memory: a hundred\n"
    "                allocations fail (default: all four)\n"
    "  --mode MODE   strict, bounded or frozen (default: all three)\n"
    "  --from N      the first call, by its number (default: 1)\n"
    "  --to N        the last one (default: all)\n"
    "  --step N      every Nth (default: 1)\n"
    "  --jobs N      runs at once (default: one a processor)\n"
    "  --one N       this one alone, in this process; SCENARIO_TRACE=1 shows\n"
    "                all that happens\n"
    "  --seconds N   a run that takes longer hangs (default: 60)\n"
    "  --json        print JSON\n"
    "  --help\n"
    "\n"
    "exit status: 0; 1 something went wrong; 2 usage\n";

enum { JOBS_MAX = 64 };

static const char *const kind_names[] = {[FAULTS_ERROR] = "error",
    [FAULTS_SHORT] = "short",
    [FAULTS_DISK] = "disk",
    [FAULTS_MEMORY] = "memory"};

enum { MODES = 3 };

static const char *const mode_names[MODES] = {"strict", "bounded", "frozen"};

struct options {
	bool kinds[FAULTS_KINDS];
	bool modes[MODES];
	uint64_t from, to, step, one;
	unsigned jobs, seconds;
	bool json;
};

/* A run that is under way. */
struct job {
	pid_t pid; /* 0: none */
	const char *mode;
	enum faults_kind kind;
	uint64_t number;
	struct work_result *result; /* shared with the process */
};

enum end { END_WELL, END_WRONG, END_CRASH, END_HANG, ENDS };

static const char *const end_names[] = {"well", "wrong", "crashed", "hung"};

static struct options opt = {.kinds = {true, true, true, true},
    .modes = {true, true, true},
    .from = 1,
    .to = UINT64_MAX,
    .step = 1,
    .seconds = 60};
static struct job jobs[JOBS_MAX];
static uint64_t tried, missed, excused, ends[ENDS];

/* ---- what was found ---------------------------------------------------- */

/* The function and line of a caller, by addr2line; false where it is in a
 * library. */
static bool where(void *caller, char *to, size_t size)
{
	char command[256], name[128] = "?", line[256] = "?";
	Dl_info info, own;
	FILE *f;

	if (!dladdr(caller, &info) || !dladdr(where, &own) ||
	    info.dli_fbase != own.dli_fbase)
		return false;
	snprintf(command, sizeof(command),
	    "addr2line -fse /proc/%d/exe %#tx 2>/dev/null", (int)getpid(),
	    (char *)caller - 1 - (char *)info.dli_fbase);
	f = popen(command, "r");
	if (!f)
		return false;
	if (fscanf(f, "%127s %255s", name, line) != 2)
		snprintf(name, sizeof(name), "?");
	pclose(f);
	snprintf(to, size, "%.60s (%.60s)", name, line);
	return true;
}

/* The daemon's part of a stack, without what the sweep does itself. */
static void say_stack(const char *title, void *const *stack)
{
	char line[160];
	unsigned said = 0;

	for (unsigned i = 0; i < FAULTS_STACK && stack[i]; i++) {
		if (!where(stack[i], line, sizeof(line)) ||
		    strstr(line, "faults.c") || strstr(line, "sweep.c"))
			continue;
		if (strstr(line, "vclock.c") || said == 6)
			break;
		printf("%s%s", said++ ? " < " : title, line);
	}
	if (said)
		printf("\n");
}

static void say_end(const struct job *j, enum end end, int sig)
{
	const struct work_result *r = j->result;
	const struct faults_point *at = &r->point;

	printf("%s, %s %ju: %s of %s: %s%s%s after %u lines\n%s%s%s", j->mode,
	    kind_names[j->kind], (uintmax_t)j->number,
	    at->error ? strerror(at->error) : "a part", at->call,
	    end_names[end], sig ? ", " : "", sig ? strsignal(sig) : "",
	    r->lines, r->said[0] ? "  " : "", r->said, r->said[0] ? "\n" : "");
	say_stack("  fault: ", at->stack);
	say_stack("  crash: ", r->stack);
	fflush(stdout);
}

/* ---- one run ----------------------------------------------------------- */

/* A fault that AddressSanitizer finds is a crash, too. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "abort_on_error=1:handle_segv=0:handle_abort=0";
}

static struct work_result *running;

static void on_crash(int sig)
{
	(void)backtrace(running->stack, FAULTS_STACK - 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_crashes(struct work_result *result)
{
	static const int signals[] = {
	    SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};

	running = result;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_crash);
}

/* Only in a build with AddressSanitizer. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void run(const struct job *j, bool quiet)
{
	int fd;

	if (quiet && (fd = open("/dev/null", O_WRONLY)) >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	catch_crashes(j->result);
	alarm(opt.seconds);
	j->result->spotless = j->kind == FAULTS_DISK;
	faults_begin(j->kind, j->number, &j->result->point);
	work_run(j->mode, j->result);
	if (__lsan_do_recoverable_leak_check &&
	    __lsan_do_recoverable_leak_check()) {
		snprintf(j->result->said, sizeof(j->result->said),
		    "memory leaks; --one %ju shows where",
		    (uintmax_t)j->number);
		_exit(1);
	}
}

static void begin(
    struct job *j, const char *mode, enum faults_kind kind, uint64_t number)
{
	memset(j->result, 0, sizeof(*j->result));
	j->mode = mode;
	j->kind = kind;
	j->number = number;
	fflush(NULL);
	j->pid = fork();
	if (j->pid == 0) {
		run(j, true);
		_exit(0);
	}
	if (j->pid < 0) {
		perror("sweep: fork");
		exit(1);
	}
}

static enum end end_of(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? END_HANG : END_CRASH;
	return WEXITSTATUS(status) == 0 ? END_WELL : END_WRONG;
}

static void ended(struct job *j, int status)
{
	enum end end = end_of(status);

	j->pid = 0;
	if (j->result->dir[0])
		files_remove(j->result->dir);
	tried += j->result->point.call[0] != '\0';
	missed += !j->result->point.call[0];
	excused += j->result->errors > 0;
	ends[end]++;
	if (end != END_WELL && !opt.json)
		say_end(j, end, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* Waits for one that ends; false where none is under way. */
static bool reap(void)
{
	int status;
	pid_t pid = wait(&status);

	for (unsigned i = 0; i < opt.jobs; i++)
		if (pid > 0 && jobs[i].pid == pid) {
			ended(&jobs[i], status);
			return true;
		}
	return pid > 0;
}

static struct job *free_job(void)
{
	for (;;) {
		for (unsigned i = 0; i < opt.jobs; i++)
			if (jobs[i].pid == 0)
				return &jobs[i];
		reap();
	}
}

/* ---- all of them ------------------------------------------------------- */

/* How many calls there are where none fails; 0: that run went wrong. */
static uint64_t count(const char *mode, enum faults_kind kind)
{
	uint64_t *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct job *j = &jobs[0];
	int status;

	memset(j->result, 0, sizeof(*j->result));
	j->mode = mode;
	j->kind = kind;
	j->number = 0;
	fflush(NULL);
	j->pid = fork();
	if (j->pid == 0) {
		run(j, true);
		*n = faults_count();
		_exit(0);
	}
	waitpid(j->pid, &status, 0);
	j->pid = 0;
	if (end_of(status) != END_WELL)
		fprintf(stderr, "sweep: %s without any fault: %s: %s\n", mode,
		    end_names[end_of(status)], j->result->said);
	return *n;
}

static void progress(
    const char *mode, enum faults_kind kind, uint64_t n, uint64_t last)
{
	static time_t said;
	time_t now = time(NULL);

	if (now - said < 5)
		return;
	said = now;
	fprintf(stderr, "sweep: %s, %s: %ju of %ju, %ju wrong\n", mode,
	    kind_names[kind], (uintmax_t)n, (uintmax_t)last,
	    (uintmax_t)(ends[END_WRONG] + ends[END_CRASH] + ends[END_HANG]));
}

static bool sweep(const char *mode, enum faults_kind kind)
{
	uint64_t last = count(mode, kind);

	if (last == 0)
		return false;
	if (last > opt.to)
		last = opt.to;
	for (uint64_t n = opt.from; n <= last; n += opt.step) {
		begin(free_job(), mode, kind, n);
		progress(mode, kind, n, last);
	}
	while (reap())
		continue;
	return true;
}

/* ---- the report -------------------------------------------------------- */

static void report(void)
{
	if (opt.json) {
		printf("{\"points\": %ju, \"not_reached\": %ju, "
		       "\"with_errors\": %ju, \"wrong\": %ju, "
		       "\"crashes\": %ju, \"hangs\": %ju}\n",
		    (uintmax_t)tried, (uintmax_t)missed, (uintmax_t)excused,
		    (uintmax_t)ends[END_WRONG], (uintmax_t)ends[END_CRASH],
		    (uintmax_t)ends[END_HANG]);
		return;
	}
	printf("points of failure    %ju (%ju not reached any more)\n"
	       "errors to a client   %ju\n"
	       "wrong                %ju\n"
	       "crashes              %ju\n"
	       "hangs                %ju\n",
	    (uintmax_t)tried, (uintmax_t)missed, (uintmax_t)excused,
	    (uintmax_t)ends[END_WRONG], (uintmax_t)ends[END_CRASH],
	    (uintmax_t)ends[END_HANG]);
}

/* ---- the command line -------------------------------------------------- */

static void set_option(int c, const char *value)
{
	switch (c) {
	case 'k':
		cli_choose(value, kind_names, opt.kinds, FAULTS_KINDS,
		    "--kind is error, short, disk or memory");
		break;
	case 'm':
		cli_choose(value, mode_names, opt.modes, MODES,
		    "--mode is strict, bounded or frozen");
		break;
	case 'f':
		opt.from = cli_number(value, 1, UINT64_MAX);
		break;
	case 't':
		opt.to = cli_number(value, 1, UINT64_MAX);
		break;
	case 's':
		opt.step = cli_number(value, 1, UINT64_MAX);
		break;
	case 'j':
		opt.jobs = (unsigned)cli_number(value, 1, JOBS_MAX);
		break;
	case 'o':
		opt.one = cli_number(value, 1, UINT64_MAX);
		break;
	case 'S':
		opt.seconds = (unsigned)cli_number(value, 1, 86400);
		break;
	case 'J':
		opt.json = true;
		break;
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		exit(2);
	}
}

static void read_options(int argc, char **argv)
{
	static const struct option list[] = {{"kind", 1, NULL, 'k'},
	    {"mode", 1, NULL, 'm'}, {"from", 1, NULL, 'f'},
	    {"to", 1, NULL, 't'}, {"step", 1, NULL, 's'},
	    {"jobs", 1, NULL, 'j'}, {"one", 1, NULL, 'o'},
	    {"seconds", 1, NULL, 'S'}, {"json", 0, NULL, 'J'},
	    {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	opt.jobs = cli_processors(JOBS_MAX);
	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0)
		set_option(c, optarg);
	if (optind < argc)
		cli_bad_usage("no words are wanted");
}

static void run_one(void)
{
	struct job *j = &jobs[0];

	for (int i = MODES; i-- > 0;)
		if (opt.modes[i])
			j->mode = mode_names[i];
	for (int i = FAULTS_KINDS; i-- > 0;)
		if (opt.kinds[i])
			j->kind = (enum faults_kind)i;
	j->number = opt.one;
	/* It may end the process. */
	if (fork() == 0) {
		run(j, false);
		_exit(0);
	}
	reap();
	wait(NULL);
	printf("%s\n", j->result->said);
}

int main(int argc, char **argv)
{
	bool ok = true;

	read_options(argc, argv);
	files_scratch_begin();
	for (unsigned i = 0; i < opt.jobs; i++) {
		jobs[i].result = mmap(NULL, sizeof(*jobs[i].result),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (jobs[i].result == MAP_FAILED) {
			perror("sweep");
			return 1;
		}
	}
	if (opt.one) {
		run_one();
		return 0;
	}
	for (int i = 0; i < MODES * FAULTS_KINDS; i++)
		if (opt.modes[i % MODES] && opt.kinds[i / MODES])
			ok = sweep(mode_names[i % MODES],
				 (enum faults_kind)(i / MODES)) &&
			     ok;
	report();
	return ok && ends[END_WELL] == tried + missed ? 0 : 1;
}
