# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# One machine of several that work at once: once.sh JOB MOUNT STATE, in a mount
# namespace of its own, where MOUNT becomes $LAB_WORK. What the job prints goes
# to STATE/out, its status to the end of that.

# shellcheck disable=SC2034 # jobs.sh reads it
jobs_dir=$LAB_ROOT/bench/jobs
state=$3
# shellcheck source=bench/jobs/jobs.sh
. "$jobs_dir/jobs.sh"
job_environment
mount --bind "$2" "$LAB_WORK" || exit 1
cd "$LAB_WORK/$(job_where "$1")" || exit 1
rc=0
(job_run "$1" >"$state/out" 2>"$state/err" </dev/null) || rc=$?
echo "status $rc" >>"$state/out"
