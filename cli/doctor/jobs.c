/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process and a pipe for each check. A process is what can be given up: a
 * thread that waits in the kernel for a dead mount or disk could not be ended,
 * and would keep the program from ending. */
#include "base/clock.h"
#include "doctor/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/ask.h"

/* The PATH of root's checks, which run programs of the system by name. */
#define ROOT_PATH "/usr/sbin:/usr/bin:/sbin:/bin"

/* Bytes that a check may send, and columns that the line of progress takes. */
enum { OUTPUT_MAX = 1 << 20, CLEAR_COLUMNS = 60 };

/* A job under way: its process, and what has come from it so far. */
struct child {
	struct doctor_job *job;
	pid_t pid;
	char *data;
	size_t len;
};

/* All jobs under way. fds[i] is the pipe of children[i]; its fd is -1 once that
 * job has ended. */
struct crew {
	struct child children[JOBS_MAX];
	struct pollfd fds[JOBS_MAX]; /* fd -1: it ended */
	size_t count;
	size_t ended;
};

/* The process of one job. It leads a process group, so that the programs that
 * it starts end with it; and the kernel kills it when we end (prctl(2),
 * PR_SET_PDEATHSIG), unless we ended before it could ask for that, which its
 * parent then tells. */
__attribute__((noreturn)) static void child_main(
    struct doctor_job *job, const void *env, pid_t parent, int fd)
{
	FILE *to;

	/* Programs that it starts end with it, and it ends with us. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	job->run(env, job->arg, &job->found);
	to = fdopen(fd, "w");
	if (to) {
		findings_send(&job->found, to);
		fclose(to);
	}
	_exit(0);
}

/* Starts a job, or adds a finding that it could not be started. */
static void start(struct crew *c, struct doctor_job *job, const void *env)
{
	size_t i = c->count++;
	pid_t parent = getpid();
	int fd[2];

	c->children[i] = (struct child){.job = job, .pid = -1};
	c->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	if (pipe2(fd, O_CLOEXEC) == 0) {
		c->children[i].pid = fork();
		if (c->children[i].pid == 0)
			child_main(job, env, parent, fd[1]);
		close(fd[1]);
		c->fds[i].fd = fd[0];
		if (c->children[i].pid > 0)
			return;
		close(fd[0]);
		c->fds[i].fd = -1;
	}
	c->ended++;
	findings_add(&job->found, FINDING_SKIP, job->name,
	    "no process could be started for it: %s", strerror(errno));
}

/* Takes the findings of a job whose pipe has ended, or which is `late` and is
 * killed. If they are not whole, that is a finding itself. A process in the
 * middle of a dead disk does not even die, and is left behind. */
static void end(struct crew *c, size_t i, bool late)
{
	struct child *ch = &c->children[i];
	struct doctor_job *job = ch->job;
	int status = 0;

	if (late)
		kill(-ch->pid, SIGKILL);
	close(c->fds[i].fd);
	c->fds[i].fd = -1;
	c->ended++;
	/* One in the middle of a dead disk is left behind. */
	(void)waitpid(ch->pid, &status, late ? WNOHANG : 0);
	if (!findings_receive(&job->found, ch->data, ch->len)) {
		findings_add(&job->found, FINDING_FAIL, job->name,
		    late ? "it does not answer" : "the check itself failed%s",
		    WIFSIGNALED(status) ? " (it crashed)" : "");
		if (late)
			findings_remedy(&job->found,
			    "something that it needs hangs: a mount, a disk or "
			    "the resolver; see the other lines, and dmesg(1)");
	}
	free(ch->data);
}

/* Takes what is there to be read; false at its end, or where it is too much. */
static bool take(struct child *ch, int fd)
{
	char part[4096];
	ssize_t n = read(fd, part, sizeof(part));
	char *data;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0 || ch->len + (size_t)n > OUTPUT_MAX)
		return false;
	data = realloc(ch->data, ch->len + (size_t)n);
	if (!data)
		return false;
	memcpy(data + ch->len, part, (size_t)n);
	ch->data = data;
	ch->len += (size_t)n;
	return true;
}

/* Names a job that is still under way: with luck the one that hangs. */
static void show(FILE *progress, const struct crew *c)
{
	const char *name = "";

	for (size_t i = 0; i < c->count; i++)
		if (c->fds[i].fd >= 0)
			name = c->children[i].job->name;
	if (progress)
		fprintf(progress, "\r%-*.*s\r%zu of %zu checks done; %.40s",
		    CLEAR_COLUMNS, CLEAR_COLUMNS, "", c->ended, c->count, name);
}

/* Waits for all jobs until `until_us`, then ends those that are late. */
static void collect(struct crew *c, uint64_t until_us, FILE *progress)
{
	uint64_t now;

	while (c->ended < c->count && (now = clock_now_us()) < until_us) {
		show(progress, c);
		if (poll(c->fds, c->count,
			(int)((until_us - now) / 1000) + 1) <= 0)
			continue;
		for (size_t i = 0; i < c->count; i++)
			if (c->fds[i].fd >= 0 && c->fds[i].revents &&
			    !take(&c->children[i], c->fds[i].fd))
				end(c, i, false);
	}
	for (size_t i = 0; i < c->count; i++)
		if (c->fds[i].fd >= 0)
			end(c, i, true);
	if (progress)
		fprintf(progress, "\r%*s\r", CLEAR_COLUMNS, "");
}

/* Streams are flushed first, since a child would print again what is buffered
 * in them. */
void jobs_run(struct doctor_job *list, size_t count, const void *env,
    uint64_t limit_us, FILE *progress)
{
	uint64_t until = clock_now_us() + limit_us;
	struct crew c = {.count = 0};

	fflush(NULL);
	for (size_t i = 0; i < count; i++) {
		if (c.count < JOBS_MAX)
			start(&c, &list[i], env);
		else
			findings_add(&list[i].found, FINDING_SKIP, list[i].name,
			    "more than %d things to look at", JOBS_MAX);
	}
	collect(&c, until, progress);
}

/* The child's other descriptors are all closed on exec (O_CLOEXEC). */
int jobs_output(const char *const argv[], char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd[2], status;
	pid_t pid;

	*out = '\0';
	if (pipe2(fd, O_CLOEXEC) < 0)
		return 127;
	pid = fork();
	if (pid == 0) {
		(void)dup2(fd[1], STDOUT_FILENO);
		(void)dup2(fd[1], STDERR_FILENO);
		/* Root runs the system's programs, whoever set its PATH. */
		if (geteuid() == 0)
			(void)setenv("PATH", ROOT_PATH, 1);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(fd[1]);
	while (pid > 0 && len + 1 < size &&
	       (n = read(fd[0], out + len, size - len - 1)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(fd[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 127;
	return WEXITSTATUS(status);
}
