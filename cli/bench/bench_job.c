/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job runs in a process of its own, as the user who asked for it, so that it
 * has that user's rights at the server and cannot change anything here. */
#include "bench/bench_job.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/ctl_text.h"

/* One READ of the walk: larger than any rsize. */
enum { READ_BYTES = 1 << 20 };

/* The walk and its counters, which the process of the job shares with its
 * parent. nftw(3) hands no argument on, so they are found here. */
static struct walk {
	uint64_t files, bytes;
	uint64_t files_max, bytes_max, end_us;
} * walk;
static char *walk_buffer;
static volatile sig_atomic_t ended;

/* ---- signals ---------------------------------------------------------- */

static void on_signal(int signo)
{
	ended = signo;
}

void bench_job_hold_signals(void)
{
	/* Without SA_RESTART, so that it ends the wait for the job. */
	struct sigaction act = {.sa_handler = on_signal};
	const int ends[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &act, NULL);
}

bool bench_job_ended(void)
{
	return ended != 0;
}

/* ---- the user --------------------------------------------------------- */

/* A number of the environment that sudo sets; false where there is none. */
static bool number(const char *name, unsigned *out)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*out = (unsigned)value;
	return !*end && errno == 0 && value < (unsigned)-1;
}

void bench_job_user(struct bench_job *job)
{
	unsigned uid, gid;
	const struct passwd *who;

	job->uid = getuid();
	job->gid = getgid();
	if (job->uid == 0 && number("SUDO_UID", &uid) &&
	    number("SUDO_GID", &gid)) {
		job->uid = uid;
		job->gid = gid;
	}
	who = getpwuid(job->uid);
	if (who)
		snprintf(job->user, sizeof(job->user), "%s", who->pw_name);
	else
		snprintf(job->user, sizeof(job->user), "user %u",
		    (unsigned)job->uid);
}

/* Becomes the user, with the groups and the home that belong to it: programs
 * look there for their settings. */
static bool become(const struct bench_job *job)
{
	const struct passwd *who = getpwuid(job->uid);

	if (job->uid == getuid())
		return true;
	if (who ? initgroups(who->pw_name, job->gid) : setgroups(0, NULL))
		return false;
	setenv("HOME", who ? who->pw_dir : "/", 1);
	setenv("USER", job->user, 1);
	setenv("LOGNAME", job->user, 1);
	return setgid(job->gid) == 0 && setuid(job->uid) == 0;
}

/* ---- the process of the job ------------------------------------------- */

/* Reads one file. A file that may not be read is part of the job all the same:
 * it cost a call. */
static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	while (fd >= 0 && walk->bytes < walk->bytes_max &&
	       (n = read(fd, walk_buffer, READ_BYTES)) > 0)
		walk->bytes += (uint64_t)n;
	if (fd >= 0)
		close(fd);
}

/* Each file, for nftw(3); nonzero ends the walk. */
static int visit(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)where;
	if (walk->files >= walk->files_max || walk->bytes >= walk->bytes_max ||
	    (walk->end_us && clock_read_us() >= walk->end_us))
		return 1;
	walk->files++;
	if (type == FTW_F && S_ISREG(st->st_mode))
		read_file(path);
	return 0;
}

/* Does the job, and ends the process. */
static void child(const struct bench_job *job, const char *root, bool loud)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int ends[] = {SIGINT, SIGTERM, SIGHUP};

	setpgid(0, 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], SIG_DFL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || !become(job) || chdir(root) < 0 ||
	    chdir(*job->below ? job->below : ".") < 0) {
		ctl_complain(*job->below ? job->below : root, "%s: %s",
		    job->user, strerror(errno));
		_exit(126);
	}
	/* After the change of user, which would undo it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (job->argv) {
		if (!loud)
			dup2(null, STDERR_FILENO);
		execvp(job->argv[0], job->argv);
		fprintf(stderr, "forefetch: ");
		ctl_put_bytes(stderr, (const uint8_t *)job->argv[0],
		    strlen(job->argv[0]));
		fprintf(stderr, ": %s\n", strerror(errno));
		_exit(127);
	}
	walk_buffer = malloc(READ_BYTES);
	if (walk_buffer && nftw(".", visit, 32, FTW_PHYS | FTW_MOUNT) >= 0)
		_exit(EXIT_SUCCESS);
	ctl_complain(*job->below ? job->below : root, "%s", strerror(errno));
	_exit(EXIT_FAILURE);
}

/* Waits for the process; the signal that this one got ends it. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
		else if (ended)
			kill(-pid, SIGKILL);
	/* Processes that it left behind must not hold the mount. */
	kill(-pid, SIGKILL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool bench_job_run(const struct bench_job *job, const char *root, bool loud,
    struct bench_run *out)
{
	uint64_t begun_us;
	pid_t pid;

	*out = (struct bench_run){.calls = 0};
	walk = mmap(NULL, sizeof(*walk), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (walk == MAP_FAILED) {
		ctl_complain(NULL, "out of memory");
		return false;
	}
	begun_us = clock_read_us();
	*walk = (struct walk){.files_max = job->files_max,
	    .bytes_max = job->bytes_max,
	    .end_us = job->limit_s ? begun_us + job->limit_s * 1000000u : 0};
	pid = ended ? -1 : fork();
	if (pid == 0)
		child(job, root, loud);
	if (pid > 0) {
		setpgid(pid, pid);
		out->status = wait_for(pid);
		out->elapsed_us = clock_read_us() - begun_us;
		out->files = walk->files;
		out->bytes = walk->bytes;
	} else if (!ended) {
		ctl_complain(NULL, "fork: %s", strerror(errno));
	}
	munmap(walk, sizeof(*walk));
	return pid > 0 && !ended;
}
