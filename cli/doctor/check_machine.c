/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of this machine: its memory and its clock; and the table of all
 * checks that are about no server and no mount. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "ctl/ctl_text.h"
#include "doctor/doctor_private.h"

/* Bytes: with less available memory, the kernel takes pages from programs. */
enum { SHORT_MEMORY = 64 << 20 };

const struct doctor_row doctor_machine_rows[] = {
    {"cache", doctor_check_disk},
    {"memory", doctor_check_memory},
    {"clock", doctor_check_clock},
    {"fstab", doctor_check_fstab},
    {NULL, NULL},
};

/* Bytes, of a file of /proc with lines "NAME: N kB" (proc(5)); 0 where it is
 * not there. */
static uint64_t read_kb(const char *file, const char *name)
{
	FILE *in = fopen(file, "re");
	char line[256];
	uint64_t kb = 0;

	while (in && fgets(line, sizeof(line), in))
		if (strncmp(line, name, strlen(name)) == 0 &&
		    sscanf(line + strlen(name), ": %" SCNu64, &kb) == 1)
			break;
	if (in)
		fclose(in);
	return kb << 10;
}

/* MemAvailable is what programs can get without swapping; the daemon's own
 * share is shown beside it, as one of those who take it. */
void doctor_check_memory(const struct doctor_env *env, struct findings *out)
{
	uint64_t avail = read_kb("/proc/meminfo", "MemAvailable"), has = 0;
	char a[CTL_TEXT_MAX], h[CTL_TEXT_MAX], proc[64];

	if (env->st) {
		snprintf(proc, sizeof(proc), "/proc/%u/status", env->st->pid);
		has = read_kb(proc, "VmRSS");
	}
	findings_add(out, avail < SHORT_MEMORY ? FINDING_WARN : FINDING_OK,
	    "memory", "%s available%s%s", ctl_text_bytes(a, avail),
	    has ? "; forefetchd has " : "", has ? ctl_text_bytes(h, has) : "");
	if (avail < SHORT_MEMORY)
		findings_remedy(
		    out, "lower memory_size, or end the programs that take it");
}

/* Whether the kernel says that something keeps its clock (adjtimex(2)). The
 * clock is compared with each server's in check_server.c. */
void doctor_check_clock(const struct doctor_env *env, struct findings *out)
{
	struct timex tx = {.modes = 0};
	int state = adjtimex(&tx);

	(void)env;
	if (state < 0) {
		findings_add(out, FINDING_SKIP, "clock", "it is not known");
	} else if (tx.status & STA_UNSYNC) {
		findings_add(out, FINDING_WARN, "clock",
		    "this machine's is not synchronised by NTP");
		findings_remedy(out,
		    "timedatectl set-ntp true, or install chrony or "
		    "systemd-timesyncd");
	} else {
		findings_add(out, FINDING_OK, "clock",
		    "this machine's is synchronised by NTP");
	}
}
