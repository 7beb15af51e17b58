/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job runs as the user who asked for it, so that it has that user's rights,
 * here and at the server. It is in a PID namespace (pid_namespaces(7)), whose
 * first process waits for it: with that one the kernel ends all that the job
 * has started, whatever ends this program.
 */
#include "bench/bench_job.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/ctl_text.h"

/* One READ of the walk: larger than any rsize. */
enum { READ_BYTES = 1 << 20 };

/* Memory that the processes of a job share with this one. nftw(3) hands no
 * argument on, so the walk finds its counters here, too. */
static struct shared {
	uint64_t files, bytes;
	uint64_t files_max, bytes_max, end_us;
	int status;  /* as of waitpid(2) */
	bool unable; /* the job could not begin, and has said why */
} * shared;
static char *walk_buffer;
static volatile sig_atomic_t ended;

/* ---- signals ---------------------------------------------------------- */

static void on_signal(int signo)
{
	ended = signo;
}

static void fill_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGINT);
	sigaddset(ends, SIGTERM);
	sigaddset(ends, SIGHUP);
}

/* They are blocked but within ppoll(2), so that none is lost before a wait. */
void bench_job_hold_signals(void)
{
	const struct sigaction act = {.sa_handler = on_signal};
	sigset_t ends;

	fill_ends(&ends);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(&ends, signo) == 1)
			sigaction(signo, &act, NULL);
}

void bench_job_pass_signals(void)
{
	sigset_t ends;

	fill_ends(&ends);
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(&ends, signo) == 1)
			signal(signo, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

bool bench_job_ended(void)
{
	return ended != 0;
}

bool bench_job_sleep(uint64_t us)
{
	const struct timespec rest = {.tv_sec = (time_t)(us / 1000000),
	    .tv_nsec = (long)(us % 1000000) * 1000};
	sigset_t none;

	sigemptyset(&none);
	if (!ended)
		ppoll(NULL, 0, &rest, &none);
	return !ended;
}

/* ---- the user --------------------------------------------------------- */

/* A number of the environment that sudo sets; false where it is none. */
static bool number(const char *text, unsigned *out)
{
	char *end;
	unsigned long value;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*out = (unsigned)value;
	return !*end && errno == 0 && value < (unsigned)-1;
}

bool bench_job_user(struct bench_job *job)
{
	const char *sudo_uid = getenv("SUDO_UID");
	unsigned uid = 0, gid = 0;
	const struct passwd *who;

	job->uid = getuid();
	job->gid = getgid();
	if (sudo_uid) {
		if (!number(sudo_uid, &uid) ||
		    !number(getenv("SUDO_GID"), &gid)) {
			ctl_complain(NULL,
			    "SUDO_UID and SUDO_GID name no user; unset both, "
			    "or call this by sudo");
			return false;
		}
		job->uid = uid;
		job->gid = gid;
	}
	who = getpwuid(job->uid);
	if (who)
		snprintf(job->user, sizeof(job->user), "%s", who->pw_name);
	else
		snprintf(job->user, sizeof(job->user), "user %u",
		    (unsigned)job->uid);
	return true;
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

/* ---- the processes of the job ----------------------------------------- */

/* Reads one file. A file that may not be read is part of the job all the same:
 * it cost a call. */
static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	while (fd >= 0 && shared->bytes < shared->bytes_max &&
	       (n = read(fd, walk_buffer, READ_BYTES)) > 0)
		shared->bytes += (uint64_t)n;
	if (fd >= 0)
		close(fd);
}

/* Each file, for nftw(3); 1 ends the walk, and -1 fails it. */
static int visit(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (where->level == 0 && type == FTW_DNR) {
		errno = EACCES;
		return -1;
	}
	if (shared->files >= shared->files_max ||
	    shared->bytes >= shared->bytes_max ||
	    (shared->end_us && clock_read_us() >= shared->end_us))
		return 1;
	shared->files++;
	if (type == FTW_F && S_ISREG(st->st_mode))
		read_file(path);
	return 0;
}

/* Ends a job that could not begin. */
static void give_up(const char *what)
{
	ctl_complain(what, "%s", strerror(errno));
	shared->unable = true;
	_exit(EXIT_FAILURE);
}

/* Does the job, and ends the process. */
static void work(const struct bench_job *job, const char *root, bool loud)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || !become(job))
		give_up(job->user);
	if (chdir(root) < 0 || chdir(*job->below ? job->below : ".") < 0)
		give_up(*job->below ? job->below : root);
	unsetenv("PWD");
	unsetenv("OLDPWD");
	if (job->argv) {
		if (!loud)
			dup2(null, STDERR_FILENO);
		execvp(job->argv[0], job->argv);
		give_up(job->argv[0]);
	}
	walk_buffer = malloc(READ_BYTES);
	if (!walk_buffer || nftw(".", visit, 32, FTW_PHYS | FTW_MOUNT) < 0)
		give_up(*job->below ? job->below : root);
	_exit(EXIT_SUCCESS);
}

/* The first process of the namespace: waits for the job, and takes its orphans
 * along. It has no terminal, so that no job can be stopped by asking for one.
 */
static void child(const struct bench_job *job, const char *root, bool loud)
{
	pid_t pid;

	setsid();
	bench_job_pass_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pid = fork();
	if (pid == 0)
		work(job, root, loud);
	if (pid < 0)
		give_up("fork");
	while (waitpid(pid, &shared->status, 0) < 0)
		if (errno != EINTR)
			_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

/* Waits for the first process. It is ended by a signal to this one, and by the
 * end of the process that it needs; false then. */
static bool wait_for(pid_t pid, pid_t needed)
{
	struct pollfd fds[] = {{.fd = pidfd_open(pid, 0), .events = POLLIN},
	    {.fd = pidfd_open(needed, 0), .events = POLLIN}};
	bool good = fds[0].fd >= 0 && fds[1].fd >= 0;
	sigset_t none;

	sigemptyset(&none);
	while (good && fds[0].revents == 0) {
		ppoll(fds, 2, NULL, &none);
		good = !ended && fds[1].revents == 0;
	}
	if (!good)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < 2; i++)
		if (fds[i].fd >= 0)
			close(fds[i].fd);
	return good;
}

/* fork(2) into a PID namespace. */
static pid_t fork_namespace(void)
{
	return (pid_t)syscall(
	    SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
}

bool bench_job_run(const struct bench_job *job, const char *root, bool loud,
    pid_t needed, struct bench_run *out)
{
	uint64_t begun_us;
	bool good = false;
	pid_t pid;

	*out = (struct bench_run){.calls = 0};
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		ctl_complain(NULL, "out of memory");
		return false;
	}
	begun_us = clock_read_us();
	*shared = (struct shared){.files_max = job->files_max,
	    .bytes_max = job->bytes_max,
	    .end_us = job->limit_s ? begun_us + job->limit_s * 1000000u : 0};
	pid = fork_namespace();
	if (pid == 0)
		child(job, root, loud);
	if (pid < 0)
		ctl_complain(NULL, "no PID namespace: %s", strerror(errno));
	else
		good = wait_for(pid, needed) && !shared->unable;
	out->elapsed_us = clock_read_us() - begun_us;
	out->files = shared->files;
	out->bytes = shared->bytes;
	out->signalled = WIFSIGNALED(shared->status);
	out->status = out->signalled ? 128 + WTERMSIG(shared->status)
				     : WEXITSTATUS(shared->status);
	munmap(shared, sizeof(*shared));
	return good;
}
