#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# clock    the server's clock is set back an hour: told once, nothing stale
# lab: --rtt 4ms
#
# The guest has one clock for server and daemon; the daemon does not go by it.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

files=40
back=3600 # s
apart=3   # s between two ctimes: more than a grain and a second

ff() { forefetch --socket /run/forefetch/control.sock "$@"; }
number() { python3 -c 'import json, sys
server = json.load(sys.stdin)["servers"][0]
if sys.argv[1] == "READ":
    print(sum(c["calls"] for c in server["calls"]
              if (c["side"], c["procedure"]) == ("upstream", "READ")))
else:
    print(server["counters"].get(sys.argv[1], 0))' "$1"; }
stat_is() {
	local n
	n=$(ff stats --json | number "$1")
	test "$n" "$2" "$3" || { echo "$1 is $n, not $2 $3"; return 1; }
}
read_all() {
	lab_drop_caches
	sums "$LAB_PROXY/src" >/tmp/proxy.sums
	sums "$LAB_EXPORT/src" >/tmp/server.sums
	same "$1" /tmp/server.sums /tmp/proxy.sums
}
restart() { lab_proxy_stop && lab_proxy_start; }

mkdir "$LAB_EXPORT/src"
for i in $(seq $files); do head -c 30000 /dev/urandom >"$LAB_EXPORT/src/f$i"; done
lab_nap $apart
echo newest >"$LAB_EXPORT/newest"
check "the newest" grep -q newest "$LAB_PROXY/newest"
read_all "read for the first time"
check "the daemon is restarted" restart
read_all "read again"
check "nothing but the newest was fetched again" stat_is READ -le 1

check "the clock is set back" date -s "@$(($(date +%s) - back))"
echo changed >"$LAB_EXPORT/src/f1"
shows() { grep -q changed "$LAB_PROXY/src/f1"; }
check "the change shows" lab_poll 10 shows
check "the step was noticed" stat_is clocks_back -eq 1
read_all "read after it"
check "all was fetched again" stat_is READ -ge $files

check "the daemon is restarted" restart
read_all "read again"
echo again >"$LAB_EXPORT/src/f2"
shows() { grep -q again "$LAB_PROXY/src/f2"; }
check "a change shows" lab_poll 10 shows
check "that is not told again" stat_is clocks_back -eq 0
e2e_end
