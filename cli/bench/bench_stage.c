/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A daemon and two mounts that end with this process. */
#include "bench/bench_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_job.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_text.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"
#include "mount/mount_options.h"

/* The name of the server in the daemon's configuration. */
#define NAME       "bench"
/* Seconds until the daemon listens, and until the server answers. */
#define DAEMON_S   10
#define SERVER_S   20
#define POLL_US    20000
/* The part of the machine's memory that the daemon's files may take. */
#define FILES_SIZE "size=25%,mode=0700"
#define MOUNTSTATS "/proc/self/mountstats"

struct bench_stage {
	const struct bench_target *target;
	char dir[64]; /* where the tmpfs is */
	const char *sides[2];
	char own[2][96], conf[96], log[96], socket[96];
	char address[64]; /* of the server */
	unsigned port;    /* of the daemon */
	pid_t daemon;     /* 0: it does not run */
	bool mounted[2];
};

/* ---- the place of its files ------------------------------------------- */

/* From here on, mounts of this process are its own. */
static bool make_namespace(void)
{
	if (unshare(CLONE_NEWNS) == 0 &&
	    mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
		return true;
	ctl_complain(NULL, "no mount namespace: %s%s", strerror(errno),
	    errno == EPERM ? "; the container does not allow it, so run this "
			     "on its host"
			   : "");
	return false;
}

static bool make_places(struct bench_stage *s)
{
	strcpy(s->dir, "/tmp/forefetch-bench.XXXXXX");
	if (!mkdtemp(s->dir)) {
		ctl_complain("/tmp", "%s", strerror(errno));
		*s->dir = '\0';
		return false;
	}
	snprintf(s->own[BENCH_DIRECT], 96, "%s/direct", s->dir);
	snprintf(s->own[BENCH_THROUGH], 96, "%s/through", s->dir);
	for (size_t i = 0; i < 2; i++)
		s->sides[i] = *s->target->dir ? s->target->dir : s->own[i];
	snprintf(s->conf, sizeof(s->conf), "%s/conf", s->dir);
	snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
	snprintf(s->socket, sizeof(s->socket), "%s/control.sock", s->dir);
	/* The job runs as another user, and has to get to the mounts. */
	if (mount("tmpfs", s->dir, "tmpfs", MS_NOSUID | MS_NODEV, FILES_SIZE) ==
		0 &&
	    chmod(s->dir, 0711) == 0 && mkdir(s->own[0], 0755) == 0 &&
	    mkdir(s->own[1], 0755) == 0)
		return true;
	ctl_complain(s->dir, "%s", strerror(errno));
	return false;
}

/* ---- the daemon ------------------------------------------------------- */

/* The address of the server, as numbers: both sides talk to the same one. */
static bool find_address(struct bench_stage *s)
{
	struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_family = AF_INET};
	const char *host = s->target->source.host;
	struct addrinfo *list = NULL;
	int error;

	strcpy(s->address, s->target->address);
	if (*s->address)
		return true;
	error = getaddrinfo(host, NULL, &hints, &list);
	hints.ai_family = AF_UNSPEC;
	if (error)
		error = getaddrinfo(host, NULL, &hints, &list);
	if (!error) {
		error = getnameinfo(list->ai_addr, list->ai_addrlen, s->address,
		    sizeof(s->address), NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(list);
	}
	if (error)
		ctl_complain(host, "%s", gai_strerror(error));
	return !error;
}

/* A port of the loopback address that nothing listens at. */
static unsigned find_port(void)
{
	struct sockaddr_in addr = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 &&
		    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
		    getsockname(fd, (struct sockaddr *)&addr, &len) == 0;

	if (fd >= 0)
		close(fd);
	return good ? ntohs(addr.sin_port) : 0;
}

/* The cache has three quarters of the tmpfs, so that there is always room for
 * the daemon's other files. */
static bool write_conf(struct bench_stage *s)
{
	FILE *out = fopen(s->conf, "we");
	struct statvfs fs;

	if (!out || statvfs(s->dir, &fs) < 0) {
		if (out)
			fclose(out);
		return false;
	}
	fprintf(out,
	    "[forefetch]\ncache_dir = %s/cache\ncache_size = %lluM\n"
	    "control_socket = %s\nlog_level = warn\n"
	    "[server " NAME "]\naddress = %s\nlisten = 127.0.0.1:%u\n",
	    s->dir, (unsigned long long)fs.f_blocks * fs.f_frsize / 4 * 3 >> 20,
	    s->socket, s->address, s->port);
	if (s->target->nfs_port)
		fprintf(out, "nfs_port = %u\n", s->target->nfs_port);
	if (s->target->mount_port)
		fprintf(out, "mount_port = %u\n", s->target->mount_port);
	return fclose(out) == 0;
}

/* Becomes the daemon, which is beside this program, or where sbin is. */
static void become_daemon(const struct bench_stage *s)
{
	char self[PATH_MAX] = "", *slash;
	int log = open(s->log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	bench_job_pass_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The terminal's ^C is for this process, which then ends the daemon. */
	setpgid(0, 0);
	if (log < 0 || dup2(log, STDERR_FILENO) < 0 ||
	    dup2(log, STDOUT_FILENO) < 0)
		_exit(126);
	/* Of a unit or a container it would find the directories of the daemon
	 * of this machine. */
	clearenv();
	if (readlink("/proc/self/exe", self, sizeof(self) - 16) > 0) {
		slash = strrchr(self, '/');
		strcpy(slash ? slash + 1 : self, "forefetchd");
		execl(self, "forefetchd", "-F", "-f", s->conf, (char *)NULL);
	}
	execl(FF_SBINDIR "/forefetchd", "forefetchd", "-F", "-f", s->conf,
	    (char *)NULL);
	fprintf(stderr, "forefetchd: %s\n", strerror(errno));
	_exit(127);
}

/* Shows what the daemon said, since its log goes with it. */
static void show_log(const struct bench_stage *s)
{
	FILE *in = fopen(s->log, "re");
	char line[1024];

	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		ctl_say(stderr, "%s", line);
	}
	if (in)
		fclose(in);
}

static bool daemon_ended(struct bench_stage *s)
{
	if (waitpid(s->daemon, NULL, WNOHANG) != s->daemon)
		return false;
	s->daemon = 0;
	return true;
}

/* Starts the daemon and waits until the server answers it. */
static bool start_daemon(struct bench_stage *s)
{
	const struct mount_talk talk = {.prog = "forefetch bench"};
	struct mount_why why = {.text = ""};
	int up;

	s->daemon = fork();
	if (s->daemon == 0)
		become_daemon(s);
	if (s->daemon < 0) {
		ctl_complain(NULL, "fork: %s", strerror(errno));
		s->daemon = 0;
		return false;
	}
	for (unsigned i = 0; i < DAEMON_S * 1000000 / POLL_US &&
			     access(s->socket, F_OK) < 0 && !daemon_ended(s);
	     i++)
		if (!bench_job_sleep(POLL_US))
			return false;
	if (s->daemon == 0 || access(s->socket, F_OK) < 0) {
		show_log(s);
		ctl_complain(NULL, "forefetchd could not be started");
		return false;
	}
	/* The socket is there a moment before the daemon listens at it. */
	if (!bench_job_sleep(POLL_US))
		return false;
	up = mount_daemon_wait(&talk, s->socket, NAME, SERVER_S, &why);
	if (up > 0)
		return true;
	if (up == 0)
		ctl_complain(s->target->source.host,
		    "it is not up (%s); forefetch probe %s says why", why.text,
		    s->target->source.host);
	else if (*why.text)
		ctl_complain(NULL, "%s", why.text);
	return false;
}

/* ---- mounts ----------------------------------------------------------- */

/* ",NAME=PORT", or nothing where the port is not known. */
static const char *port_option(char buf[32], const char *name, unsigned port)
{
	*buf = '\0';
	if (port)
		snprintf(buf, 32, ",%s=%u", name, port);
	return buf;
}

/* The options of a side: those that a user has, and a cache that it shares with
 * no other mount. To be freed; NULL without memory. */
static char *side_options(const struct bench_stage *s, enum bench_side side)
{
	static const char common[] = "ro,nosuid,nodev,nosharecache";
	const struct bench_target *t = s->target;
	const char *v6 = strchr(s->address, ':') ? "6" : "";
	struct utsname system = {.release = ""};
	char nfs[32], mnt[32], *text = NULL;
	int len;

	(void)uname(&system);
	if (side == BENCH_THROUGH)
		len = asprintf(&text,
		    "%s,%s,vers=3,nolock,proto=tcp,mountproto=tcp,"
		    "addr=127.0.0.1,mountaddr=127.0.0.1,port=%u,mountport=%u",
		    mount_options_preset(system.release), common, s->port,
		    s->port);
	else if (*t->vers == '4')
		len = asprintf(&text,
		    "%s,vers=%s,proto=tcp%s,addr=%s,clientaddr=%s%s", common,
		    t->vers, v6, s->address, *v6 ? "::" : "0.0.0.0",
		    port_option(nfs, "port", t->nfs_port));
	else
		len = asprintf(&text,
		    "%s,vers=3,nolock,proto=tcp%s,mountproto=tcp%s,addr=%s,"
		    "mountaddr=%s%s%s",
		    common, v6, v6, s->address, s->address,
		    port_option(nfs, "port", t->nfs_port),
		    port_option(mnt, "mountport", t->mount_port));
	return len < 0 ? NULL : text;
}

const char *bench_stage_mount(struct bench_stage *stage, enum bench_side side)
{
	char *options = side_options(stage, side);
	const struct mount_call call = {.source = stage->target->source.text,
	    .dir = stage->sides[side],
	    .options = options,
	    .fstype = side == BENCH_DIRECT && *stage->target->vers == '4'
			  ? "nfs4"
			  : "nfs",
	    .no_utab = true};
	struct mount_why why = {.text = "out of memory"};
	int code = MOUNT_SYSTEM, error;

	/* A handled signal would not end a mount(2) that waits for long. */
	bench_job_pass_signals();
	if (options)
		code = mount_kernel_mount(&call, &error, &why);
	bench_job_hold_signals();
	if (code != MOUNT_GOOD) {
		ctl_complain(call.source,
		    "%s: %s; forefetch probe %s says more",
		    side == BENCH_DIRECT ? "it cannot be mounted"
					 : "it cannot be mounted through "
					   "forefetchd",
		    why.text, call.source);
		free(options);
		return NULL;
	}
	free(options);
	stage->mounted[side] = true;
	return stage->sides[side];
}

/* A mount that somebody holds, or whose server is away, is detached: it ends
 * with the namespace. */
void bench_stage_umount(struct bench_stage *stage, enum bench_side side)
{
	if (stage->mounted[side] && umount2(stage->sides[side], 0) < 0)
		umount2(stage->sides[side], MNT_DETACH);
	stage->mounted[side] = false;
}

/* ---- figures ---------------------------------------------------------- */

/* The sum of calls in the list of procedures that stands behind the device in
 * mountstats: lines such as "GETATTR: 120 120 0 …", with the number of calls
 * first, after a line "per-op statistics". */
static uint64_t direct_calls(const struct bench_stage *s)
{
	FILE *in = fopen(MOUNTSTATS, "re");
	char *line = NULL, want[4200];
	unsigned long long n, sum = 0;
	bool here = false, list = false;
	size_t size = 0;

	snprintf(
	    want, sizeof(want), " mounted on %s with ", s->sides[BENCH_DIRECT]);
	while (in && getline(&line, &size, in) >= 0) {
		if (strncmp(line, "device ", 7) == 0) {
			/* A later mount at the same place hides those before
			 * it, and stands behind them. */
			if (strstr(line, want))
				sum = 0;
			here = strstr(line, want) != NULL;
			list = false;
		} else if (here && strstr(line, "per-op statistics")) {
			list = true;
		} else if (list &&
			   sscanf(line, " %*[A-Z0-9_]: %llu", &n) == 1) {
			sum += n;
		}
	}
	free(line);
	if (in)
		fclose(in);
	return sum;
}

static bool daemon_calls(const struct bench_stage *s, uint64_t *sum)
{
	Forefetch__StatsRequest stats = FOREFETCH__STATS_REQUEST__INIT;
	Forefetch__Response *res =
	    ctl_call(s->socket, FOREFETCH__REQUEST__COMMAND_STATS, &stats);

	*sum = 0;
	for (size_t i = 0; res && i < res->stats->n_servers; i++) {
		const Forefetch__ServerStats *srv = res->stats->servers[i];

		for (size_t k = 0; k < srv->n_calls; k++)
			if (srv->calls[k]->side == FOREFETCH__SIDE__UPSTREAM)
				*sum += srv->calls[k]->calls;
	}
	ctl_free(res);
	return res != NULL;
}

bool bench_stage_calls(
    struct bench_stage *stage, enum bench_side side, uint64_t *calls)
{
	if (side == BENCH_THROUGH)
		return daemon_calls(stage, calls);
	*calls = direct_calls(stage);
	return true;
}

pid_t bench_stage_daemon(const struct bench_stage *stage)
{
	return stage->daemon;
}

uint64_t bench_stage_round_trip(struct bench_stage *stage)
{
	Forefetch__Response *res = ctl_status(stage->socket, NAME);
	const Forefetch__ServerStatus *srv =
	    res ? ctl_server_named(res->status, NAME) : NULL;
	uint64_t least = 0;

	for (size_t i = 0; srv && i < srv->n_upstreams; i++) {
		uint64_t us = srv->upstreams[i]->srtt_us;

		if (us && (!least || us < least))
			least = us;
	}
	ctl_free(res);
	return least;
}

/* ---- begin and end ---------------------------------------------------- */

struct bench_stage *bench_stage_new(const struct bench_target *target)
{
	struct bench_stage *s = calloc(1, sizeof(*s));

	if (!s) {
		ctl_complain(NULL, "out of memory");
		return NULL;
	}
	s->target = target;
	if (find_address(s) && make_namespace() && make_places(s)) {
		s->port = find_port();
		if (!s->port || !write_conf(s))
			ctl_complain(s->dir, "%s", strerror(errno));
		else if (start_daemon(s))
			return s;
	}
	bench_stage_free(s);
	return NULL;
}

/* The daemon is killed: its caches end with it anyhow. */
void bench_stage_free(struct bench_stage *stage)
{
	if (!stage)
		return;
	bench_stage_umount(stage, BENCH_DIRECT);
	bench_stage_umount(stage, BENCH_THROUGH);
	if (stage->daemon > 0) {
		kill(stage->daemon, SIGKILL);
		while (waitpid(stage->daemon, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (*stage->dir) {
		umount2(stage->dir, MNT_DETACH);
		rmdir(stage->dir);
	}
	free(stage);
}
