# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/farm/run that runs in the lab's guest. It prints lines that
# table.py reads; all but the first word are KEY=VALUE:
#
#   farm known=yes|no      whether this build's daemon has farms
#   run row= job= case= arm= n= us= status= ok= hit= cpu= in= out= ein= eout=
#   many job= case= n= machines= ok= cpu= in= out= ein= eout=
#   keys what= value=      of the row f
#   done
#
# us: microseconds of the job; ok: whether it printed what it does on the direct
# mount; cpu: microseconds of the daemon; in, out: bytes of the slow link; ein,
# eout: those of the engine's link, all until the server had nothing to do any
# more. hit: whether the fault came while the job ran. `many` is of several
# machines, added up.
#
# All arms mount the export at $LAB_WORK, so that a job prints the same paths.

jobs_dir=$LAB_ROOT/bench/jobs
farm_dir=$LAB_ROOT/bench/farm
state=$LAB_STATE/farm

progress() { echo "farm: $*" >&2; }
give_up() {
	echo "farm: $*" >&2
	lab_logs >&2
	exit 1
}

# shellcheck source=bench/jobs/jobs.sh
. "$jobs_dir/jobs.sh"
# shellcheck source=bench/jobs/order.sh
. "$jobs_dir/order.sh"
# shellcheck source=bench/farm/engine.sh
. "$farm_dir/engine.sh"
# shellcheck source=bench/farm/machines.sh
. "$farm_dir/machines.sh"
# shellcheck source=bench/farm/rows.sh
. "$farm_dir/rows.sh"

# --- a run -------------------------------------------------------------------

# one_run ROW CASE ARM N JOB WHERE: WHERE is a machine that was started, or
# direct or floor. $fault, where it is not empty, is a command that is called
# after $fault_after seconds of the job.
one_run() {
	local row=$1 case=$2 arm=$3 n=$4 job=$5 where=$6 t0 t1 rc=0 ok=yes hit=-
	local counted
	machine_unmount "$LAB_WORK"
	machine_mount "$where" "$LAB_WORK"
	cd "$LAB_WORK/$(job_where "$job")" ||
		give_up "the image has no files for $job: bench/jobs/prepare"
	job_warm "$job"
	count_begin "$where"
	fault_arm
	lab_now; t0=$LAB_NOW
	(job_run "$job" >"$state/out" 2>"$state/err" </dev/null) || rc=$?
	lab_now; t1=$LAB_NOW
	fault_end
	[[ ! $where =~ ^[0-9]+$ ]] || lab_settle 1
	counted=$(count_end "$where")
	cd /
	echo "status $rc" >>"$state/out"
	[ "$row" != ref ] || keep_reference "$job" "$rc"
	cmp -s "$state/out" "$state/ref-$job" || {
		ok=no
		show_wrong "$state" "$job"
	}
	took=$((t1 - t0))
	echo "run row=$row job=$job case=$case arm=$arm n=$n us=$took" \
		"status=$rc ok=$ok hit=$hit $counted"
	progress "$(printf '%s: %s, %s, %s %s: %d.%03d s' "$row" "$job" \
		"$case" "$arm" "$n" $((took / 1000000)) $((took / 1000 % 1000)))" \
		"$([ $ok = yes ] || echo WRONG)"
}

# Sets `faulting`.
fault_arm() {
	faulting=''
	[ -n "$fault" ] || return 0
	rm -f "$state/fault"
	(
		lab_nap "$fault_after"
		"$fault"
		: >"$state/fault"
	) &
	faulting=$!
}

# Sets `hit` of its caller. A job that ended before is none that was hit.
fault_end() {
	[ -n "$faulting" ] || return 0
	hit=no
	[ ! -e "$state/fault" ] || hit=yes
	kill "$faulting" 2>/dev/null
	wait "$faulting" 2>/dev/null
	faulting=''
}

keep_reference() {
	cp "$state/out" "$state/ref-$1"
	[ "$2" = 0 ] || {
		cat "$state/err" >&2
		give_up "$1 fails on the direct mount, with status $2"
	}
}

# show_wrong DIR JOB
show_wrong() {
	{
		echo "farm: WRONG: the output differs from the direct mount's:"
		diff "$state/ref-$2" "$1/out" | head -n 10
		tail -n 5 "$1/err"
	} >&2
}

# Half of the last run, as seconds.
half_of_it() {
	printf '%d.%06d' $((took / 2000000)) $((took / 2 % 1000000))
}

wants() { [[ " $FARM_ROWS " = *" $1 "* ]]; }

main() {
	local job
	declare -ga node_pid=() was=()
	fault='' faulting='' fault_after=0 took=0
	hertz=$(getconf CLK_TCK)
	mkdir -p "$state" "$LAB_CACHE/machines" "$LAB_WORK"
	job_environment
	lab_proxy_stop || exit 1
	engine_machine || give_up "the engine's machine cannot be made"
	(umask 077 && head -c 32 /dev/urandom >"$state/key")
	machine_knows_farm || progress "this build knows no [farm]: the" \
		"machines do without, and the second gains nothing"
	echo "farm known=$farm_known"
	if wants f; then row_f; fi
	for job in filters $FARM_JOBS; do job_prepare "$job"; done
	for job in $FARM_JOBS; do job_rows "$job"; done
	machine_unmount "$LAB_WORK"
	engine_stop
	echo "done"
}

main
