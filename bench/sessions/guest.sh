# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/sessions/run that runs in the lab's guest.
# It prints, for sessions.py:
#
#   session CASE ARM train|timed NUMBER LOGIN APP STATUS ok|wrong
#   count CASE ARM before|after nfsd CALLS... | link BYTES | stats JSON
#   done
#
# LOGIN and APP are microseconds; the pause between them is in neither.
#
# All arms mount the export at $LAB_WORK; nothing but the arm of the run is
# mounted.  A session is new to its client: mounted anew, the page cache empty.
set -u

state=$LAB_STATE/sessions
first_port=2200

give_up() { echo "sessions: $*" >&2; lab_logs >&2; exit 1; }
progress() { echo "sessions: $*" >&2; }
tool() { python3 "$LAB_ROOT/bench/sessions/sessions.py" "$@"; }
is_proxy() { [ "$1" != direct ] && [ "$1" != floor ]; }

# --- arms --------------------------------------------------------------------

# with_arm ARM COMMAND...: the lab's functions mean the daemon of that arm
with_arm() {
	local arm=$1
	shift
	LAB_PROXY_NAME=arm-$arm LAB_CONF=$state/$arm.conf \
		LAB_PROXY_LOG=$LAB_STATE/forefetchd-$arm.log "$@"
}

arm_port() {
	local i
	for i in "${!arms[@]}"; do
		[ "${arms[i]}" != "$1" ] || echo $((first_port + i))
	done
}

# arm_conf ARM SETTING...: KEY=VALUE of its server
arm_conf() {
	local arm=$1 setting
	shift
	lab_conf_write >"$LAB_CONF"
	lab_conf_set forefetch cache_dir "$LAB_CACHE/$arm"
	lab_conf_set forefetch control_socket "$state/$arm.sock"
	lab_conf_set "server lab" listen "127.0.0.1:$(arm_port "$arm")"
	for setting in "$@" $SESSIONS_SET; do
		lab_conf_set "server lab" "${setting%%=*}" "${setting#*=}"
	done
}

arm_unmount() {
	local i
	for ((i = 0; i < 100; i++)); do
		lab_mounted "$LAB_WORK" || break
		umount "$LAB_WORK" 2>/dev/null || lab_nap 0.1
	done
	lab_mounted "$LAB_WORK" && give_up "something still uses the mount"
	lab_drop_caches
}

# The daemon is a new one; after `gone`, what it learned is there, but no data.
arm_renew() {
	with_arm "$1" lab_proxy_stop || give_up "forefetchd ($1) does not end"
	[ "$2" != gone ] || rm -rf "$LAB_CACHE/$1/lab/data"
	with_arm "$1" lab_proxy_start || give_up "forefetchd ($1) does not start"
}

arm_mount() {
	if is_proxy "$1"; then
		lab_mount "127.0.0.1:$(arm_port "$1")" "$LAB_EXPORT" "$LAB_WORK"
	else
		lab_mount "$1" "$LAB_EXPORT" "$LAB_WORK"
	fi || give_up "$1 cannot be mounted"
}

# count CASE ARM WHEN
count() {
	local proc rx dev=lab0
	proc=$(lab_served)
	[ "$2" != floor ] || dev=floor0
	read -r rx <"/sys/class/net/$dev/statistics/rx_bytes"
	echo "count $1 $2 $3 nfsd ${proc#proc3 * }"
	echo "count $1 $2 $3 link $rx"
	! is_proxy "$2" || echo "count $1 $2 $3 stats" \
		"$(forefetch --socket "$state/$2.sock" stats --json)"
}

# --- a session ---------------------------------------------------------------

# The session sees no settings and no caches of the person who runs this.
session_environment() {
	export HOME=$LAB_WORK/home LC_ALL=C.UTF-8 TZ=UTC TERM=dumb
	export GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat GIT_CONFIG_NOSYSTEM=1
	export NODE_DISABLE_COMPILE_CACHE=1 PYTHONDONTWRITEBYTECODE=1
	export TMPDIR=$state/tmp
	unset PYTHONPATH PYTHONHOME NODE_OPTIONS NODE_PATH BASH_ENV ENV
	mkdir -p "$TMPDIR"
}

# The programs themselves are on the local disk: load them beforehand.
warm_programs() {
	git --version
	ls --version
	cat /dev/null
	head --version
	[ "$1" = ls ] || "$SESSIONS_NODE" -e 0
} >/dev/null 2>&1

# login GROUP: a login shell's files, and what its user looks at first
login() { cd "$HOME" && bash -l -c ". .login-tasks $1"; }

# application: loads webpack, eslint, typescript and babel
application() { cd "$LAB_WORK/node" && "$SESSIONS_NODE" node.js; }

# timed COMMAND...: appends what it prints; microseconds into $took
timed() {
	local t0
	lab_now; t0=$LAB_NOW
	("$@") >>"$state/out" 2>>"$state/err" </dev/null || rc=$?
	lab_now
	took=$((LAB_NOW - t0))
}

# session CASE ARM KIND NUMBER GROUP START
session() {
	local case=$1 arm=$2 kind=$3 number=$4 group=$5 start=$6
	local rc=0 verdict=ok took first ref=$state/ref-login-$group
	arm_unmount
	! is_proxy "$arm" || arm_renew "$arm" "$start"
	warm_programs "$case"
	count "$case" "$arm" before >"$state/before"
	: >"$state/out"
	: >"$state/err"
	arm_mount "$arm"
	if [ "$case" = ls ]; then
		ref=$state/ref-ls
		timed ls "$LAB_WORK/home"
		first=$took took=0
	else
		timed login "$group"
		first=$took
		lab_nap "$SESSIONS_THINK"
		timed application
	fi
	if is_proxy "$arm"; then lab_settle 1; fi
	count "$case" "$arm" after >"$state/after"
	cd /
	echo "status $rc" >>"$state/out"
	[ "$kind" != ref ] || cp "$state/out" "$ref"
	cmp -s "$state/out" "$ref" || {
		verdict=wrong
		{ diff "$ref" "$state/out" | head -n 10
		tail -n 5 "$state/err"; } >&2
	}
	[ "$kind" != ref ] || [ $rc = 0 ] ||
		give_up "the session fails: $(tail -n 5 "$state/err")"
	[ "$kind" = ref ] || {
		echo "session $case $arm $kind $number $first $took $rc $verdict"
		cat "$state/before" "$state/after"
	}
	progress "$case $kind $number, $arm, group $group:" \
		"$((first / 1000)) + $((took / 1000)) ms ${verdict#ok}"
}

# --- cases -------------------------------------------------------------------

# Which group a session is about, where they differ: some come again soon.
changing=(0 1 2 1 1 0 2 2 0 1 0 0 2 1 2 0)

# group SESSION GROUPS: into $group
pick_group() {
	group=0
	[ "$2" = 1 ] || group=${changing[$1 % ${#changing[@]}]}
}

# In turns, each round beginning with another arm.
rounds() {
	local case=$1 start=$2 groups=$3 round i group all=(floor "${arms[@]}")
	for ((round = 1; round <= SESSIONS_RUNS; round++)); do
		pick_group $((SESSIONS_TRAIN + round)) "$groups"
		[ "$round" -gt "$SESSIONS_DIRECT" ] ||
			session "$case" direct timed $round $group -
		for i in "${!all[@]}"; do
			session "$case" "${all[(i + round - 1) % ${#all[@]}]}" \
				timed $round $group "$start"
		done
	done
}

# begin CASE GROUPS: references, then sessions that teach
begin() {
	local case=$1 groups=$2 g i arm group
	for ((g = 0; g < groups; g++)); do
		session "$case" floor ref 0 $g -
	done
	for arm in "${arms[@]}"; do
		arm_unmount
		with_arm "$arm" lab_proxy_stop
		rm -rf "${LAB_CACHE:?}/$arm"
		mkdir -p "$LAB_CACHE/$arm"
		with_arm "$arm" lab_proxy_start ||
			give_up "forefetchd ($arm) does not start"
		for ((i = 1; i <= SESSIONS_TRAIN; i++)); do
			pick_group $i "$groups"
			session login "$arm" train $i $group kept
		done
	done
}

case_login() { begin login 1; rounds login kept 1; }
case_gone() { begin login 1; rounds gone gone 1; }
case_vary() { begin login 3; rounds vary gone 3; }
case_ls() { begin login 1; session ls floor ref 0 0 -; rounds ls kept 1; }

main() {
	local words c
	declare -ga arms=()
	mkdir -p "$state" "$LAB_WORK"
	lab_proxy_stop
	tool make "$LAB_EXPORT/home" || give_up "no home"
	session_environment
	while read -ra words; do
		[ ${#words[@]} -gt 0 ] || continue
		arms+=("${words[0]}")
		with_arm "${words[0]}" arm_conf "${words[@]}"
	done <<<"$SESSIONS_ARMS"
	for c in $SESSIONS_CASES; do "case_$c"; done
	arm_unmount
	echo "done"
}

main
