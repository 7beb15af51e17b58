#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sleep    the machine sleeps in the middle of a copy, and its network is gone
# lab: --rtt 20ms --rate 20mbit
#
# The guest suspends to idle, as a laptop does. Its CLOCK_MONOTONIC goes on in
# its sleep, so the daemon cannot tell that it slept; what it does where it can
# is in tests/hostile/laptop/test_sleep.py. The copy is frozen first, as systemd
# does from version 256 on: see forefetchd(8), "Sleep".
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

asleep=10 # s
soon=10   # s; for what must not wait for timeouts

mkdir "$LAB_EXPORT/src"
for i in $(seq 60); do head -c 100000 /dev/urandom >"$LAB_EXPORT/src/f$i"; done
echo old >"$LAB_EXPORT/changes"
(cd "$LAB_EXPORT/src" && sha1sum f* | sort) >/tmp/want

ff() { forefetch --socket /run/forefetch/control.sock "$@"; }
uptime_s() { cut -d. -f1 /proc/uptime; }
is_paused() { ff status | head -1 | grep -q ', paused'; }
is_up() { ff status | head -1 | grep -q ': up'; }
copied() { [ "$(find /tmp/out -type f | wc -l)" -ge "$1" ]; }
reads_new() { [ "$(timeout $soon cat "$LAB_PROXY/changes")" = new ]; }

check "read before" grep -q old "$LAB_PROXY/changes"
apps=/tmp/cgroup/apps
is_frozen() { grep -q 'frozen 1' $apps/cgroup.events; }
mkdir /tmp/out /tmp/cgroup
mount -t cgroup2 none /tmp/cgroup && mkdir $apps
cp "$LAB_PROXY"/src/f* /tmp/out & copy=$!
echo $copy >$apps/cgroup.procs
check "a copy is under way" lab_poll 60 copied 5
check "fetching ahead is paused" ff pause --for 8s
check "paused" is_paused
check "not over" lab_alive $copy

echo 1 >$apps/cgroup.freeze
check "what it waits for comes, and then it is frozen" lab_poll $soon is_frozen
check "the cable is pulled" lab_link_down pull
before=$(uptime_s)
check "the machine slept" lab_sleep $asleep
check "for $asleep s" test $(($(uptime_s) - before)) -ge $((asleep - 1))
check "the pause has passed" eval '! is_paused'
check "the cable is back" lab_link_up
echo new >"$LAB_EXPORT/changes"
echo 0 >$apps/cgroup.freeze
check "up soon" lab_poll $soon is_up
check "what has changed is read anew" reads_new
check "the copy ends" lab_poll 60 lab_dead $copy || lab_hang_report
wait $copy
check "and went well" test $? -eq 0
(cd /tmp/out && sha1sum f* | sort) >/tmp/got
same "what was copied" /tmp/want /tmp/got

# A nap with the cable in.
drops=$(ff stats --json | grep -o '"upstream_disconnects":[0-9]*')
check "the machine napped" lab_sleep 3
check "reads go on" reads_new
check "over the same connections" test "$drops" = \
	"$(ff stats --json | grep -o '"upstream_disconnects":[0-9]*')"
e2e_end
