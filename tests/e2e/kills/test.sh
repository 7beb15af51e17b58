#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kills    no operation fails while the daemon is killed -9 again and again
# lab: --rtt 40ms --timeout 3000
#
# kills [KILLS]: mkdir, rename, link, unlink, rmdir, symlink and exclusive
# creates in a loop, while forefetchd is killed at random moments and started
# again.  A spurious EEXIST or ENOENT is a change that was done twice, unless the
# daemon says in its log that nobody could tell: after a kill another program may
# have the port by which the server knew the call (docs/CONTRACT.md).
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

kills=${1:-200}
workers="1 2 3 4 5 6 7 8" # so that each kill finds calls in flight
rm -f /tmp/stop
mkdir "$LAB_EXPORT/kills"
pids=()
for worker in $workers; do
	mkdir "$LAB_EXPORT/kills/$worker"
	python3 "$E2E/kills/kills.py" "$LAB_PROXY/kills/$worker" /tmp/stop \
		>/tmp/kills.$worker 2>&1 &
	pids+=($!)
done
check "the workers work" lab_poll 60 test -e "$LAB_EXPORT/kills/8/begun"

started=0
for ((i = 1; i <= kills; i++)); do
	printf -v nap '%d.%03d' $((RANDOM % 2)) $((RANDOM % 1000))
	lab_nap "$nap"
	lab_proxy_kill || fail "kill $i"
	lab_proxy_start || { fail "start $i"; break; }
	started=$i
done
check "$kills kills, each followed by a start" test $started -eq "$kills"
touch /tmp/stop
over() {
	local p
	for p in "${pids[@]}"; do lab_dead "$p" || return 1; done
}
check "the workers end" lab_poll 120 over || lab_hang_report
for p in "${pids[@]}"; do
	lab_dead "$p" || kill -9 "$p"
	wait "$p"
done
cat /tmp/kills.?
check "every worker reports" test "$(cat /tmp/kills.? | grep -c operations)" = 8
known=0
while read -r op error procedure status; do
	failed=$(cat /tmp/kills.? | grep -c "^  $op .*: $error\$")
	told=$(grep -c "procedure=$procedure status=$status " "$LAB_PROXY_LOG")
	known=$((known + failed))
	[ "$failed" -eq 0 ] || check "$failed times $error of $op, none of which could be told" \
		test "$failed" -le "$told"
done <<-END
	mkdir EEXIST MKDIR 17
	create EEXIST CREATE 17
	symlink EEXIST SYMLINK 17
	link EEXIST LINK 17
	rename ENOENT RENAME 2
	unlink ENOENT REMOVE 2
	rmdir ENOENT RMDIR 2
END
check "no other operation failed" test "$(cat /tmp/kills.? | grep -c '^  ')" -eq "$known"
grep -o 'program=nfs connection=[0-9]* port=[0-9]*' "$LAB_PROXY_LOG" | sort | uniq -c
for worker in $workers; do
	ls -A "$LAB_EXPORT/kills/$worker" >/tmp/left
	echo begun >/tmp/left.want
	same "worker $worker left nothing behind" /tmp/left.want /tmp/left
done
e2e_end
