# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of tests/suites/run that runs in the lab's guest: one suite, first on the
# direct mount and then through the proxy. It prints for each test
#
#   result SIDE TEST pass|fail|skip|hang VALUE DETAIL      separated by tabs
#   done
#
# VALUE is what must be equal on both sides besides, such as a checksum. Programs get a
# time each; what is not over by then is killed, and its outcome is `hang`.
#
# From tests/suites/run: SUITES_SUITE; SUITES_PROGRAM, the path that `get` prints;
# SUITES_ONLY, names of tests, or nothing for all; SUITES_MODE, the consistency;
# SUITES_LOGS, where outputs are kept, or nothing.
set -u

. "$LAB_ROOT/tests/suites/suites.bash"

give_up() { echo "suites: $*" >&2; lab_logs >&2; exit 1; }
progress() { echo "suites: $LAB_SERVER: $SUITES_SUITE, $side: $*" >&2; }
wanted() { [ -z "$SUITES_ONLY" ] || [[ " $SUITES_ONLY " = *" $1 "* ]]; }

# result TEST OUTCOME [VALUE [DETAIL]]
result() {
	printf 'result\t%s\t%s\t%s\t%s\t%s\n' "$side" "$1" "$2" "${3:-}" \
		"$(printf '%s' "${4:-}" | tr -s '\t\n' '  ' | tail -c 400)"
}

# within SECONDS COMMAND...: its output to $out; status 137 where it was killed. SIGKILL
# ends what waits for an NFS server, too; the group, so that nothing of it goes on.
within() {
	local seconds=$1 pid killer sleeper rc
	shift
	setsid "$@" </dev/null >"$out" 2>&1 &
	pid=$!
	(
		sleep "$seconds"
		lab_hang_report >"$out.hang" 2>&1
		kill -9 -- "-$pid"
	) 2>/dev/null &
	killer=$!
	wait "$pid" 2>/dev/null
	rc=$?
	sleeper=$(pgrep -P "$killer")
	# shellcheck disable=SC2086 # words; the one that it runs goes last
	{ kill "$killer"; kill $sleeper; wait "$killer"; } 2>/dev/null
	kill -9 -- "-$pid" 2>/dev/null
	return $rc
}

# The outcome of a program that says by its status how it ended.
by_status() {
	case $1 in
	0) echo pass ;;
	137) echo hang ;;
	*) echo fail ;;
	esac
}

# one TEST SECONDS COMMAND...: a test that passes if the command succeeds
one() {
	local test=$1 rc=0
	shift
	wanted "$test" || return 0
	within "$@" || rc=$?
	result "$test" "$(by_status $rc)" '' "$([ $rc -eq 0 ] || cat "$out")"
	keep "$test"
	return $rc
}

# Outputs outlive the guest where somebody wants them.
keep() {
	local f
	[ -n "$SUITES_LOGS" ] || return 0
	for f in "$out" "$out.hang"; do
		[ ! -s "$f" ] || cp "$f" "$SUITES_LOGS/$side.${1//\//-}${f#"$out"}"
	done
	rm -f "$out.hang"
}

set_mode() {
	lab_umount "$LAB_PROXY" && lab_proxy_stop &&
		lab_conf_set "server lab" consistency "$SUITES_MODE" &&
		lab_proxy_start && lab_mount_proxy || give_up "forefetchd does not start"
}

umask 022
# Programs leave things where they stand, which would be the host.
cd /tmp || give_up "no /tmp"
out=/tmp/suite.out
[ "$SUITES_MODE" = bounded ] || set_mode
for side in direct proxy; do
	top=$LAB_DIRECT
	[ $side = direct ] || top=$LAB_PROXY
	mkdir "$top/$side" || give_up "$top cannot be written to"
	"suite_${SUITES_SUITE//-/_}" "$top/$side"
	rm -rf "${top:?}/$side"
done
[ -n "$(lab_proxy_pid)" ] || give_up "forefetchd is dead: status $(lab_proxy_status)"
if [ -n "$SUITES_LOGS" ]; then cp "$LAB_STATE"/*.log "$SUITES_LOGS/"; fi
printf "done\n"
