/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time, memory and descriptors of this process (getrusage(2), proc(5)). They
 * are read when somebody asks; /proc/self is memory, so nothing waits. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "web/process.h"

/* The two lines in front of a metric. */
static void head(
    struct text *out, const char *name, const char *type, const char *help)
{
	text_print(out, "# HELP process_%s %s\n# TYPE process_%s %s\n", name,
	    help, name, type);
}

static void number(
    struct text *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "gauge", help);
	text_print(out, "process_%s %" PRIu64 "\n", name, value);
}

static void seconds(struct text *out, const char *name, const char *type,
    const char *help, uint64_t us)
{
	head(out, name, type, help);
	text_print(out, "process_%s ", name);
	text_seconds(out, us);
	text_string(out, "\n");
}

static uint64_t timeval_us(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + (uint64_t)tv->tv_usec;
}

/* The first two numbers of statm are the size and what of it is in memory, in
 * pages. */
static void add_memory(struct text *out)
{
	unsigned long size, resident;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *f = fopen("/proc/self/statm", "re");
	bool read = f && fscanf(f, "%lu %lu", &size, &resident) == 2;

	if (f)
		fclose(f);
	if (!read)
		return;
	number(out, "resident_memory_bytes",
	    "Resident memory of the process, in bytes", resident * page);
	number(out, "virtual_memory_bytes",
	    "Virtual memory of the process, in bytes", size * page);
}

static void add_descriptors(struct text *out)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	struct rlimit limit;
	uint64_t n = 0;

	if (dir) {
		while ((entry = readdir(dir)))
			n += entry->d_name[0] != '.';
		closedir(dir);
		/* That of the directory itself. */
		number(out, "open_fds", "Open file descriptors", n - 1);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		number(out, "max_fds", "Limit of open file descriptors",
		    limit.rlim_cur);
}

void process_add(struct text *out, uint64_t started_us)
{
	struct rusage ru;

	if (getrusage(RUSAGE_SELF, &ru) == 0)
		seconds(out, "cpu_seconds_total", "counter",
		    "CPU time that the process has used, user and system",
		    timeval_us(&ru.ru_utime) + timeval_us(&ru.ru_stime));
	seconds(out, "start_time_seconds", "gauge",
	    "When the process began, in seconds since 1970", started_us);
	add_memory(out);
	add_descriptors(out);
}
