# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/jobs/run that runs in the lab's guest.
# It prints a block of lines for each run of a job, which report.py reads:
#
#   run JOB ARM KIND NUMBER MICROSECONDS STATUS ok|wrong USER SYSTEM
#   before WHAT ...   after WHAT ...   settled WHAT ...
#   end
#
# KIND: ref (direct at RTT 0, not counted: its output is what all others must
# print), train, timed, teach (another job, before a timed first run; that one's
# ARM is then ARM+JOB; or the job itself on another route, and then ARM+ROUTE is
# the timed run on the given one; ARM+75s is a run on the same mount, so much
# later).  WHAT: nfsd (its calls by procedure), link
# (bytes from and to the server), cpu (microseconds of the daemon), client (the kernel
# client's calls by procedure), latency (milliseconds that those took, of all
# added up), server_cpu (microseconds of knfsd's threads), rss (KiB of the daemon,
# now and at most), mount (the options of the mount), stats (JSON of forefetch
# stats).  `settled` is when the server had nothing to do any more.  Beside these
# blocks: `missing ARM REASON`, an arm that cannot be had here.
#
# All arms mount the export at $LAB_WORK, so that a job prints the same paths.
# Nothing but the arm of the run is mounted.

jobs_dir=$LAB_ROOT/bench/jobs
state=$LAB_STATE/jobs
first_port=2100

progress() { echo "jobs: $*" >&2; }
give_up() { echo "jobs: $*" >&2; exit 1; }

. "$jobs_dir/jobs.sh"
. "$jobs_dir/order.sh"
. "$jobs_dir/peers.sh"
. "$jobs_dir/farm.sh"

# --- arms --------------------------------------------------------------------

is_proxy() { [ "$1" != direct ] && [ "$1" != floor ] && ! is_peer "$1"; }
learns() { is_proxy "$1" || peer_learns "$1"; }

# An arm that only keeps what it has read has learned everything in one run.
foresees() { is_proxy "$1" && [[ ${arm_settings[$1]} != *prefetch=off* ]]; }

# with_arm ARM COMMAND...: the lab's functions mean the daemon of that arm
with_arm() {
	local arm=$1
	shift
	LAB_PROXY_NAME=arm-$arm LAB_CONF=$state/$arm.conf \
		LAB_PROXY_LOG=$LAB_STATE/forefetchd-$arm.log "$@"
}

arm_port() {
	local i=0 a
	for a in "${proxy_arms[@]}"; do
		[ "$a" != "$1" ] || break
		i=$((i + 1))
	done
	echo $((first_port + i))
}

# The words after an arm's name are settings: KEY=VALUE for its server, or
# forefetch.KEY=VALUE for the daemon.
arm_conf() {
	local arm=$1 setting key section
	lab_conf_write >"$LAB_CONF"
	lab_conf_set forefetch cache_dir "$LAB_CACHE/jobs/$arm"
	lab_conf_set forefetch control_socket "$state/$arm.sock"
	lab_conf_set "server lab" listen "127.0.0.1:$(arm_port "$arm")"
	if farm_needed; then
		lab_conf_set "server lab" listen "0.0.0.0:$(arm_port "$arm")"
		lab_conf_set "server lab" allow "127.0.0.0/8 10.98.0.0/16"
	fi
	while read -r setting; do
		[ -n "$setting" ] || continue
		key=${setting%%=*} section="server lab"
		case $key in
		forefetch.*) section=forefetch key=${key#forefetch.} ;;
		esac
		lab_conf_set "$section" "$key" "${setting#*=}"
	done <<<"${arm_settings[$arm]}"$'\n'"$JOBS_SET"
}

arm_start() {
	mkdir -p "$LAB_CACHE/jobs/$1"
	with_arm "$1" lab_proxy_start || give_up "forefetchd ($1) does not start"
}

arm_stop() {
	case $JOBS_STOP in
	kill) with_arm "$1" lab_proxy_kill ;;
	*) with_arm "$1" lab_proxy_stop ;;
	esac || give_up "forefetchd ($1) does not end"
}

arm_restart() {
	arm_stop "$1"
	[ "$JOBS_RESTART" != first ] || rm -rf "$LAB_CACHE/jobs/$1"
	if [ -n "$JOBS_BETWEEN" ] && [ -z "$JOBS_AFTER" ]; then
		ARM_CACHE=$LAB_CACHE/jobs/$1 bash -c "$JOBS_BETWEEN" >&2 ||
			give_up "failed: $JOBS_BETWEEN"
	fi
	arm_start "$1"
}

arm_mount() {
	if is_proxy "$1"; then
		lab_mount "127.0.0.1:$(arm_port "$1")" "$LAB_EXPORT" "$LAB_WORK"
	elif is_peer "$1"; then
		peer_mount "$1"
	else	# direct or floor
		lab_mount "$1" "$LAB_EXPORT" "$LAB_WORK"
	fi || give_up "$1 cannot be mounted"
}

# The client's pages, names and attributes go with its last mount; what the
# server and the proxies keep in the page cache, and the programs, go too.
arm_unmount() {
	local i
	for ((i = 0; i < 100; i++)); do
		lab_mounted "$LAB_WORK" || break
		umount "$LAB_WORK" 2>/dev/null || lab_nap 0.1
	done
	lab_poll 10 no_client ||
		give_up "something still uses the mount: $(cat /proc/fs/nfsfs/volumes)"
	lab_drop_caches
}

no_client() { [ "$(wc -l </proc/fs/nfsfs/volumes)" -le 1 ]; }

# The rate of a mobile link moves all the time.
vary_link() {
	local mbits=(5 2 8 1 6 3 7 4) n=0 rtt
	read -r rtt _ <"$LAB_STATE/srv/$LAB_ON/link"
	while :; do
		lab_nap 2
		n=$(((n + 1) % ${#mbits[@]}))
		lab_link "$rtt" "${mbits[n]}mbit" - -
	done
}

# --- what is counted ---------------------------------------------------------

# count WHEN ARM: lines of the block
count() {
	local proc rx tx pid stat ticks dev=lab0
	[ "$2" != floor ] || dev=floor0
	proc=$(lab_in server grep '^proc3 ' /proc/net/rpc/nfsd)
	read -r rx </sys/class/net/$dev/statistics/rx_bytes
	read -r tx </sys/class/net/$dev/statistics/tx_bytes
	echo "$1 nfsd ${proc#proc3 * }"
	echo "$1 link $rx $tx"
	echo "$1 server_cpu $(server_ticks)"
	is_proxy "$2" || return 0
	pid=$(with_arm "$2" lab_proxy_pid) || return 0
	echo "$1 rss $(awk '/^VmRSS/ { now = $2 } /^VmHWM/ { most = $2 }
		END { print now, most }' "/proc/$pid/status")"
	read -r stat <"/proc/$pid/stat"
	# shellcheck disable=SC2086 # the fields after the name
	set -- "$1" "$2" ${stat##*) }
	ticks=$((${14} + ${15}))
	echo "$1 cpu $((ticks * 1000000 / hertz))"
}

server_ticks() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v hertz="$hertz" '
	$2 == "(nfsd)" { ticks += $14 + $15 }
	END { printf "%d", ticks * 1000000 / hertz }'
}

mount_options() {
	awk -v dir="$LAB_WORK" '$2 == dir { print $3 ":" $4 }' /proc/mounts
}

count_client() {
	awk -v dir="$LAB_WORK" -v when="$1" '
	$1 == "device" { here = ($5 == dir) }
	here && /^\t *[A-Z]+: / {
		sub(":", "", $1)
		calls = calls " " $1 " " $2
		took = took " " $1 " " $9
	}
	END { print when " client" calls; print when " latency" took }' \
		/proc/self/mountstats
}

count_stats() {
	local json
	is_proxy "$2" || return 0
	json=$(forefetch --socket "$state/$2.sock" stats --json) &&
		echo "$1 stats $json"
}

# --- what went over the wire --------------------------------------------------

# calls_begin JOB ARM KIND NUMBER NAME
calls_begin() {
	local where=${JOBS_CALLS:-}/$1-$5-$4 ports
	[ -n "${JOBS_CALLS:-}" ] && [ "$3" = timed ] || return 0
	ports="port 2049"
	! is_proxy "$2" || ports+=" or port $(arm_port "$2")"
	capturing=()
	capture lo "$ports" "$where.client"
	capture lab0 "$ports" "$where.server"
}

capture() {
	tcpdump -i "$1" -s 0 -B 32768 -U -w "$3.pcap" "$2" 2>"$state/tcpdump-$1" &
	capturing+=($!)
	lab_poll 10 grep -q 'listening on' "$state/tcpdump-$1" ||
		give_up "tcpdump: $(cat "$state/tcpdump-$1")"
}

calls_end() {
	[ ${#capturing[@]} -gt 0 ] || return 0
	lab_nap 0.3
	kill "${capturing[@]}"
	wait "${capturing[@]}"
	capturing=()
}

# --- a run -------------------------------------------------------------------

# one_run JOB ARM KIND NUMBER; the arm was taught the job $taught before, if any.
# With $kept the mount stays as it is.
one_run() {
	local job=$1 arm=$2 kind=$3 number=$4 t0 t1 rc=0 verdict=ok times
	local name=$arm${taught:++$taught}
	[ -n "${kept:-}" ] || arm_unmount
	# Before the mount: a daemon that had a second between the mount and the
	# job would fetch in it what the job asks for first.
	calls_begin "$job" "$arm" "$kind" "$number" "$name"
	[ -n "${kept:-}" ] || arm_mount "$arm"
	[ "$job" != farm ] || farm_mount "$arm"
	cd "$LAB_WORK/$(job_where "$job")" ||
		give_up "the image has no files for $job: bench/jobs/prepare"
	job_warm "$job"
	{
		echo "before mount $(mount_options)"
		count before "$arm"
		count_client before
		count_stats before "$arm"
	} >"$state/before"
	TIMEFORMAT='%U %S'
	lab_now; t0=$LAB_NOW
	{ time (job_run "$job" >"$state/out" 2>"$state/err" </dev/null); } \
		2>"$state/times" || rc=$?
	lab_now; t1=$LAB_NOW
	{ count after "$arm"; count_client after; } >"$state/after"
	calls_end
	if is_proxy "$arm"; then
		lab_settle 1
		{ count settled "$arm"; count_stats settled "$arm"; } \
			>>"$state/after"
	elif peer_settle "$arm" "$job"; then
		count settled "$arm" >>"$state/after"
	fi
	cd /
	[ "$job" != farm ] || farm_umount
	# shell's own words about a job that was killed may precede it
	times=$(tail -n 1 "$state/times")
	echo "status $rc" >>"$state/out"
	[ "$kind" != ref ] || keep_reference "$job" "$rc"
	as_printed "$arm" "$state/ref-$job" >"$state/wanted"
	as_printed "$arm" "$state/out" | cmp -s - "$state/wanted" ||
		{ verdict=wrong; show_wrong "$arm"; }
	echo "run $job $name $kind $number $((t1 - t0)) $rc $verdict $times"
	cat "$state/before" "$state/after"
	echo end
	[ "$kind" = ref ] || progress "$(printf '%s, %s %s, %s: %d.%03d s %s' \
		"$job" "$kind" "$number" "$name" $(((t1 - t0) / 1000000)) \
		$(((t1 - t0) / 1000 % 1000)) "${verdict#ok}")"
}

keep_reference() {
	cp "$state/out" "$state/ref-$1"
	[ "$2" = 0 ] || {
		cat "$state/err" >&2
		give_up "$1 fails on the direct mount, with status $2"
	}
}

# as_printed ARM FILE: what the arms must have in common. No order of names in a
# directory is wrong, and one peer has its own.
as_printed() {
	if peer_sorts "$1"; then LC_ALL=C sort "$2"; else cat "$2"; fi
}

# show_wrong ARM: what differs from $state/wanted
show_wrong() {
	{
		echo "jobs: WRONG: the output differs from the direct mount's:"
		as_printed "$1" "$state/out" | diff "$state/wanted" - | head -n 10
		tail -n 5 "$state/err"
	} >&2
}

train() {
	local job=$1 arm i
	for arm in "${all_arms[@]}"; do
		learns "$arm" || continue
		if is_proxy "$arm"; then
			rm -rf "$LAB_CACHE/jobs/$arm"
			arm_start "$arm"
		else
			arm_unmount
			peer_forget "$arm"
		fi
		[ "$JOBS_RESTART" != first ] || continue
		for ((i = 1; i <= JOBS_TRAIN; i++)); do
			one_run "$job" "$arm" train $i
			foresees "$arm" || break
		done
		if [ "$JOBS_RESTART" = once ] && is_proxy "$arm"; then
			arm_unmount
			arm_restart "$arm"
		fi
	done
}

# In each round the arms take turns in another order.
timed() {
	local job=$1 round arm
	local -a arms
	for ((round = 1; round <= JOBS_RUNS; round++)); do
		arms=()
		for arm in "${all_arms[@]}"; do
			[ "$arm" = floor ] || is_proxy "$arm" ||
				[ "$round" -le "$JOBS_DIRECT" ] || continue
			arms+=("$arm")
		done
		for arm in $(shuffled "$JOBS_SEED" "$round" "${arms[@]}"); do
			if [ -n "$JOBS_AFTER" ] && is_proxy "$arm"; then
				beside_another "$job" "$arm" "$round"
				continue
			fi
			if [ -n "$JOBS_ROUTE" ] && is_proxy "$arm"; then
				beside_other_route "$job" "$arm" "$round"
				continue
			fi
			if is_proxy "$arm" && [[ $JOBS_RESTART = [ef]* ]]; then
				arm_unmount
				arm_restart "$arm"
			fi
			[ "$JOBS_IDLE" = 0 ] || { arm_unmount; lab_nap "$JOBS_IDLE"; }
			one_run "$job" "$arm" timed "$round"
			run_again "$job" "$arm" "$round"
		done
	done
}

# run_again JOB ARM ROUND: the same on the same mount, after each pause
run_again() {
	local pause
	for pause in $JOBS_AGAIN; do
		lab_nap "$pause"
		kept=yes taught=${pause}s one_run "$1" "$2" timed "$3"
	done
}

# beside_another JOB ARM ROUND: a first run in an empty cache and one after
# another job, in an order that alternates
beside_another() {
	local job=$1 arm=$2 round=$3 other
	local -a others=('' "$JOBS_AFTER")
	((round % 2)) || others=("$JOBS_AFTER" '')
	for other in "${others[@]}"; do
		arm_unmount
		arm_restart "$arm"
		[ -z "$other" ] || teach "$arm" "$round"
		taught=$other one_run "$job" "$arm" timed "$round"
	done
}

# beside_other_route JOB ARM ROUND: a run on the link as it has been for a while,
# and one right after it was another one under the same daemon
beside_other_route() {
	local job=$1 arm=$2 round=$3 i rtt rate loss jitter
	for ((i = 0; i < 3; i++)); do one_run "$job" "$arm" train "$round"; done
	one_run "$job" "$arm" timed "$round"
	read -r rtt rate loss jitter <"$LAB_STATE/srv/$LAB_ON/link"
	lab_link "$JOBS_ROUTE" "$rate" "$loss" "$jitter"
	for ((i = 0; i < 2; i++)); do one_run "$job" "$arm" teach "$round"; done
	lab_link "$rtt" "$rate" "$loss" "$jitter"
	taught=$JOBS_ROUTE one_run "$job" "$arm" timed "$round"
}

# teach ARM ROUND: a new daemon learns another job before the one that is timed
teach() {
	local arm=$1 round=$2 i
	for ((i = 1; i <= JOBS_TRAIN; i++)); do
		one_run "$JOBS_AFTER" "$arm" teach "$round"
	done
	[ -n "$JOBS_BETWEEN" ] || return 0
	arm_unmount
	arm_stop "$arm"
	ARM_CACHE=$LAB_CACHE/jobs/$arm bash -c "$JOBS_BETWEEN" >&2 ||
		give_up "failed: $JOBS_BETWEEN"
	arm_start "$arm"
}

run_job() {
	local job=$1 arm
	progress "$job: reference"
	one_run "$job" floor ref 1
	[ -z "$JOBS_AFTER" ] || one_run "$JOBS_AFTER" floor ref 1
	train "$job"
	arm_unmount
	if job_update "$job"; then
		progress "$job: a newer version, and its reference"
		one_run "$job" floor ref 2
	fi
	timed "$job"
	arm_unmount
	for arm in "${proxy_arms[@]}"; do arm_stop "$arm"; done
}

# --- mixed life --------------------------------------------------------------

# Other work of a day, between the jobs.
unrelated() {
	cd "$LAB_WORK/filters" || return
	ls -lR . && find . -name '*7.txt' -exec md5sum {} + &&
		head -c 100 ./*/*1.txt && du -s .
	cd /
} >/dev/null

# Makes one text file in twenty a byte longer, on the server.
change_files() {
	find "$LAB_EXPORT"/{import,node,git} -type f \
		\( -name '*.py' -o -name '*.js' -o -name '*.json' -o -name '*.[ch]' \) |
		LC_ALL=C sort | awk 'NR % 20 == 0' |
		while read -r f; do echo >>"$f"; done
	sync
}

# Trained one after the other in any order, with other things between; then
# two at once, after changes on the server.
mixed_life() {
	local arm=${proxy_arms[0]} i job both
	local -a pairs
	read -ra pairs <<<"$JOBS_PAIRS"
	for job in $JOBS_LIST; do
		progress "$job: reference"
		one_run "$job" floor ref 1
	done
	arm_start "$arm"
	for ((i = 1; i <= JOBS_TRAIN; i++)); do
		for job in $(shuffled 0 $i $JOBS_LIST); do
			one_run "$job" "$arm" train $i
			unrelated
		done
	done
	for job in $JOBS_LIST; do timed "$job"; done
	arm_unmount
	change_files
	for both in "${pairs[@]}"; do
		progress "$both: reference"
		one_run "$both" floor ref 1
		timed "$both"
	done
	arm_unmount
	arm_stop "$arm"
}

# Prints the arms that are available, and for the others the reason.
set_arms() {
	local arm why
	local -a words
	while read -r -a words; do
		[ ${#words[@]} -gt 0 ] || continue
		arm=${words[0]}
		proxy_arms+=("$arm")
		arm_settings[$arm]=$(printf '%s\n' "${words[@]:1}")
	done <<<"$JOBS_ARMS"
	all_arms=(floor)
	[ "$JOBS_DIRECT" = 0 ] || all_arms+=(direct)
	for arm in $JOBS_PEERS; do
		if why=$(peer_start "$arm"); then
			all_arms+=("$arm")
		else
			echo "missing $arm $why" | head -n 1
			progress "$arm cannot be had: $why"
		fi
	done
	all_arms+=("${proxy_arms[@]}")
	for arm in "${proxy_arms[@]}"; do
		with_arm "$arm" arm_conf "$arm"
		with_arm "$arm" check_conf "$arm"
	done
}

main() {
	local job
	declare -gA arm_settings
	declare -ga proxy_arms=() all_arms=() farm_holders=() capturing=()
	taught=''
	hertz=$(getconf CLK_TCK)
	mkdir -p "$state" "$LAB_CACHE/jobs" "$LAB_WORK"
	job_environment
	lab_proxy_stop || exit 1
	set_arms
	if [ "$JOBS_VARY" = yes ]; then
		vary_link &
		varying=$!
		trap 'kill "$varying"' EXIT
	fi
	farm_start || give_up "the farm's machines cannot be made"
	for job in $JOBS_LIST $JOBS_AFTER; do job_prepare "$job"; done
	if [ -n "$JOBS_PAIRS" ]; then
		mixed_life
	else
		for job in $JOBS_LIST; do run_job "$job"; done
	fi
	echo "done"
}

check_conf() {
	"$LAB_BUILD/forefetchd" -t -f "$LAB_CONF" >"$state/check" 2>&1 || {
		cat "$state/check" >&2
		give_up "arm $1: forefetchd refuses its configuration"
	}
}

main
