#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# outage   server, link and daemon go away in the middle of copies both ways
# lab: --rtt 10ms --rate 50mbit --timeout 1800 --mem 768M
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

files=${1:-160}
python3 - /tmp/src "$files" <<'P'
import os, random, sys
random.seed(1)
for i in range(int(sys.argv[2])):
    d = "%s/d%d" % (sys.argv[1], i % 5)
    os.makedirs(d, exist_ok=True)
    with open("%s/f%d" % (d, i), "wb") as f:
        f.write(random.randbytes(random.choice([100, 5000, 70000, 300000])))
P
cp -r /tmp/src "$LAB_EXPORT/src"
contents() { (cd "$1" && find . -type f -exec sha1sum {} + | sort -k2); }
contents /tmp/src >/tmp/want

copied() { local n=0; { read -r n <"$1"; } 2>/dev/null; [ "${n:-0}" -ge "$2" ]; }

# during NAME BREAK MEND: both copies run, BREAK when both are under way.
during() {
	local name=$1 in out in_rc=0 out_rc=0
	rm -rf /tmp/out /tmp/in.progress /tmp/out.progress
	rm -rf "$LAB_PROXY/in"
	lab_drop_caches
	# Files that were copied before would come out of the cache at once.
	forefetch --socket /run/forefetch/control.sock drop >/dev/null
	python3 "$E2E/outage/copy.py" /tmp/src "$LAB_PROXY/in" /tmp/in.progress & in=$!
	python3 "$E2E/outage/copy.py" "$LAB_PROXY/src" /tmp/out /tmp/out.progress & out=$!
	check "$name: copies are under way" lab_poll 120 \
		eval 'copied /tmp/in.progress 8 && copied /tmp/out.progress 8'
	check "$name: break" eval "$2"
	check "$name: neither copy was over" \
		eval "lab_alive $in && lab_alive $out"
	check "$name: mend" eval "$3"
	ended() { lab_dead $in && lab_dead $out; }
	check "$name: copies end" lab_poll 300 ended || { lab_hang_report; }
	lab_dead $in || kill -9 $in
	lab_dead $out || kill -9 $out
	wait $in || in_rc=$?
	wait $out || out_rc=$?
	check "$name: copy in succeeded" test $in_rc -eq 0
	check "$name: copy out succeeded" test $out_rc -eq 0
	contents "$LAB_EXPORT/in" >/tmp/in.sums
	contents /tmp/out >/tmp/out.sums
	same "$name: what was written" /tmp/want /tmp/in.sums
	same "$name: what was read" /tmp/want /tmp/out.sums
}

# Not a wait for something to happen: the length of the outage is the test.
outage() { lab_now; local end=$((LAB_NOW + $1 * 1000000)); \
	while [ "$LAB_NOW" -lt $end ]; do lab_nap 0.5; lab_now; done; }

during "server gone for 20 s" lab_server_stop "outage 20; lab_server_start"
during "daemon killed" lab_proxy_kill lab_proxy_start
check "daemon runs" lab_proxy_pid
during "cable pulled for 15 s" "lab_link_down pull" "outage 15; lab_link_up"
during "packets lost for 15 s" "lab_link_down drop" "outage 15; lab_link_up"
e2e_end
