# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/harm/run that runs in the lab's guest.
# It prints, for harm.py:
#
#   run CASE ARM train|first|timed NUMBER MICROSECONDS
#   ls ARM idle|load NUMBER CALLS MICROSECONDS...     a listing each
#   count CASE ARM before|after nfsd CALLS... | link BYTES | stats JSON
#   done
set -u

give_up() { echo "harm: $*" >&2; lab_logs >&2; exit 1; }
progress() { echo "harm: $*" >&2; }
tool() { python3 "$LAB_ROOT/bench/harm/harm.py" "$@"; }

# with_arm ARM COMMAND...: the lab's functions mean the daemon of that arm
with_arm() {
	local arm=$1
	shift
	LAB_PROXY_NAME=arm-$arm LAB_CONF=/run/lab/$arm.conf \
		LAB_PROXY_LOG=$LAB_STATE/forefetchd-$arm.log "$@"
}

arm_port() { if [ "$1" = on ]; then echo 2101; else echo 2102; fi; }

arm_conf() {
	local setting
	lab_conf_write >"$LAB_CONF"
	lab_conf_set forefetch cache_dir "$LAB_CACHE/harm-$1"
	lab_conf_set forefetch control_socket "/run/lab/$1.sock"
	lab_conf_set "server lab" listen "127.0.0.1:$(arm_port "$1")"
	lab_conf_set "server lab" prefetch "$1"
	while read -r setting; do
		[ -z "$setting" ] || lab_conf_set "server lab" \
			"${setting%%=*}" "${setting#*=}"
	done <<<"$HARM_SET"
}

# Also what it counted, and the greatest it had in flight, begin anew.
arm_new() {
	arm_unmount
	with_arm "$1" lab_proxy_stop
	rm -rf "$LAB_CACHE/harm-$1"
	mkdir -p "$LAB_CACHE/harm-$1"
	with_arm "$1" lab_proxy_start || give_up "forefetchd does not start"
}

# The daemon keeps what it has learned and the names; its data is removed.
arm_data_gone() {
	arm_unmount
	with_arm "$1" lab_proxy_stop
	rm -rf "$LAB_CACHE/harm-$1/lab/data"
	with_arm "$1" lab_proxy_start || give_up "forefetchd does not start"
}

arm_unmount() {
	local i
	for ((i = 0; i < 100; i++)); do
		lab_mounted "$LAB_WORK" || break
		umount "$LAB_WORK" 2>/dev/null || lab_nap 0.1
	done
	lab_drop_caches
}

arm_mount() {
	arm_unmount
	lab_mount "127.0.0.1:$(arm_port "$1")" "$LAB_EXPORT" "$LAB_WORK" ||
		give_up "$1 cannot be mounted"
}

stats() { forefetch --socket "/run/lab/$1.sock" stats --json; }

# count CASE ARM WHEN
count() {
	local proc rx
	proc=$(lab_in server grep '^proc3 ' /proc/net/rpc/nfsd)
	read -r rx </sys/class/net/lab0/statistics/rx_bytes
	echo "count $1 $2 $3 nfsd ${proc#proc3 * }"
	echo "count $1 $2 $3 link $rx"
	echo "count $1 $2 $3 stats $(stats "$2")"
}

# The daemon counts data as fetched in vain ten seconds later, when asked.
judged() {
	lab_settle 1
	lab_nap 11
	stat "$LAB_WORK" >/dev/null
	lab_nap 0.5
}

# one_run CASE ARM KIND NUMBER COMMAND...
one_run() {
	local case=$1 arm=$2 kind=$3 number=$4 t0 t1
	shift 4
	cd "$LAB_WORK" || give_up "not mounted"
	count "$case" "$arm" before
	lab_now; t0=$LAB_NOW
	"$@" >/run/lab/harm.out || give_up "failed: $*"
	lab_now; t1=$LAB_NOW
	[ "$kind" != timed ] || judged
	cd /
	echo "run $case $arm $kind $number $((t1 - t0))"
	count "$case" "$arm" after
	progress "$case $kind $number, $arm: $(((t1 - t0) / 1000)) ms"
}

# in_turns CASE KIND PREPARE COMMAND...: `N` in COMMAND is the pair's number
in_turns() {
	local case=$1 kind=$2 prepare=$3 n arms arm
	shift 3
	for ((n = 1; n <= HARM_PAIRS; n++)); do
		arms='on off'
		((n % 2)) || arms='off on'
		for arm in $arms; do
			"$prepare" "$arm"
			arm_mount "$arm"
			one_run "$case" "$arm" "$kind" "$n" "${@/N/$n}"
		done
	done
}

begin_case() {
	local arm
	for arm in on off; do arm_new "$arm"; done
}

case_random() {
	tool make-random "$LAB_EXPORT/random" "$HARM_FILES"
	in_turns random first arm_new \
		tool random random "$HARM_FILES" "$HARM_READS" N
	in_turns random timed : \
		tool random random "$HARM_FILES" "$HARM_READS" 1N
}

flush() {
	arm_unmount
	forefetch --socket "/run/lab/$1.sock" drop >/dev/null ||
		give_up "drop failed"
}

case_find() {
	tool make-find "$LAB_EXPORT/find" "$HARM_FIND"
	in_turns find first arm_new find find -name '*.none'
	in_turns find timed flush find find -name '*.none'
}

# Of the names alone: no attributes are of use.
case_names() {
	tool make-names "$LAB_EXPORT/names" "$HARM_NAMES"
	in_turns names first arm_new env ls -f names
	in_turns names timed flush env ls -f names
}

# The reader is timed, the other job goes on beside it.
reader_beside() {
	local pid
	tool paced wrong "$1" 150 /run/lab/stop & pid=$!
	tool read big
	: >/run/lab/stop
	wait $pid
	rm /run/lab/stop
}

case_reader() {
	local arm n
	tool make-reader "$LAB_EXPORT"
	begin_case
	for arm in on off; do
		for n in 1 2; do
			arm_mount "$arm"
			one_run reader "$arm" train $n tool paced wrong 0 0
			[ "$arm" = on ] || break
		done
	done
	in_turns reader timed arm_data_gone reader_beside N
}

# ls_run ARM idle|load NUMBER FROM
ls_run() {
	local pid='' stop=/run/lab/stop count=100
	rm -f $stop
	arm_data_gone "$1"
	arm_mount "$1"
	cd "$LAB_WORK" || give_up "not mounted"
	# The path to the directory is known, as in a terminal that is in use.
	tool ls ls 99 1 - >/dev/null
	count ls "$1" before
	if [ "$2" = load ]; then
		(tool paced build 0 0; : >$stop) & pid=$!
		count=400
		lab_nap 1
	fi
	echo "ls $1 $2 $3 $(tool ls ls "$4" $count $stop)"
	[ -z "$pid" ] || wait "$pid"
	judged
	cd /
	count ls "$1" after
	progress "ls $3, $1 $2"
}

case_ls() {
	local n
	tool make-ls "$LAB_EXPORT" $(((HARM_PAIRS + 1) * 600))
	begin_case
	for n in 1 2; do
		arm_mount on
		one_run ls on train $n tool paced build 0 0
	done
	arm_mount off
	one_run ls off train 1 tool paced build 0 0
	for ((n = 1; n <= HARM_PAIRS; n++)); do
		ls_run on idle $n $((n * 600))
		ls_run on load $n $((n * 600 + 100))
		ls_run off load $n $((n * 600))
	done
}

with_arm on arm_conf on
with_arm off arm_conf off
lab_proxy_stop
mkdir -p "$LAB_WORK"
for c in $HARM_CASES; do
	progress "$c: making files"
	"case_$c"
done
arm_unmount
echo "done"
