#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# learned  forefetch trees and trace: what was learned, looked at and carried
# lab: --rtt 20ms --timeout 600
#
# A program is run; its tree is listed, shown by names, exported, forgotten and
# brought back, by its own user only. A trace is what forefetch-sim reads.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

SOCK=/run/forefetch/control.sock
SIM=${LAB_BUILD:-}/../predictor/forefetch-sim

ff() { forefetch --socket $SOCK "$@"; }
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
ff_as() { as "$1" forefetch --socket $SOCK "${@:2}"; }

gives() {	# STATUS TEXT COMMAND...
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >/tmp/gives 2>&1 || rc=$?
	cat /tmp/gives
	[ $rc -eq "$want" ] && grep -q -- "$text" /tmp/gives
}
roots() { "$@" trees --json list | python3 -c 'import json, sys
print(*(t["name"] or "-" for t in json.load(sys.stdin)["trees"]))'; }
id_of() {	# NAME COMMAND...
	"${@:2}" trees --json list | python3 -c 'import json, sys
print(next(t["id"] for t in json.load(sys.stdin)["trees"]
	if t["name"] == sys.argv[1]))' "$1"
}

mkdir -p "$LAB_EXPORT/lib"
for i in 1 2 3 4 5 6 7 8; do echo "part $i" >"$LAB_EXPORT/lib/part$i"; done
printf '#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do cat %s/lib/part$i; done\n' \
	"$LAB_PROXY" >"$LAB_EXPORT/job"
chmod 755 "$LAB_EXPORT/job"

check "trace start" ff trace start /tmp/all.trace
check "trace start, as a user" ff_as 4711 trace start /tmp/user.trace
for _ in 1 2 3; do
	lab_drop_caches
	as 4711 "$LAB_PROXY/job" >/tmp/job.out
	lab_nap 4 # a pause: the next run is another one
done
as 4712 cat "$LAB_PROXY/lib/part1" >/dev/null
check "trace stop, as a user" ff_as 4711 trace stop
check "trace stop" ff trace stop
check "… and again" gives 1 'no trace of yours' ff trace stop
check "the users' trace is theirs, and root's is all" test \
	"$(stat -c %u /tmp/user.trace)-$(stat -c %u /tmp/all.trace)" = 4711-0
check "root's is not smaller" test \
	"$(stat -c %s /tmp/all.trace)" -ge "$(stat -c %s /tmp/user.trace)"
if [ -x "$SIM" ]; then
	check "forefetch-sim reads it" gives 0 forefetch "$SIM" \
		--trace /tmp/user.trace --predictor forefetch
fi

check "trees list, as the user" gives 0 ' job$' ff_as 4711 trees list
check "… as root" gives 0 ' job$' ff trees list
nobody() { ! ff_as 4712 trees list | grep -q ' job$'; }
check "… not as another" nobody
id=$(id_of job ff_as 4711)
check "trees show, by names" gives 0 ' part7$' ff_as 4711 trees show "$id"
check "… not to another" gives 1 'no such access tree' \
	ff_as 4712 trees show "$id"
check "trees export" ff_as 4711 trees export /tmp/mine
check "import where there are some" gives 1 'already' \
	ff_as 4711 trees import /tmp/mine
check "another's clear" ff_as 4712 trees clear
check "… leaves this one" gives 0 ' job$' ff_as 4711 trees list
check "trees clear" ff_as 4711 trees clear
check "… leaves none" test -z "$(roots ff_as 4711)"
check "trees import" ff_as 4711 trees import /tmp/mine
check "… brings one" test -n "$(roots ff_as 4711)"
check "trees merge" ff_as 4711 trees merge /tmp/mine
head -c 100000 /dev/urandom >/tmp/noise
check "noise" gives 1 'contains no' ff_as 4711 trees merge /tmp/noise
check "files are merged" ff_as 4711 trees merge /tmp/mine /tmp/mine -o /tmp/both
check "… into one that is taken" ff_as 4711 trees merge /tmp/both
check "… and noise is not" gives 1 'noise: it contains no' \
	ff_as 4711 trees merge /tmp/mine /tmp/noise -o /tmp/none
check "… with nothing written" test ! -e /tmp/none
check "what is no action" gives 2 'help trees' ff trees prune
check "explain tells what prefetch did" gives 0 'predicted at' \
	ff explain "$LAB_PROXY/lib/part7"
check "stats has a part about it" gives 0 'accuracy .*%' ff stats
check "the daemon lives" lab_proxy_pid
e2e_end
