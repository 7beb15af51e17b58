#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# warm     forefetch warm: a tree over a slow link, again, without it, as others
# lab: --rtt 40ms --rate 20mbit --timeout 900
#
# Warmed files are read without the server; a second walk takes few calls; a
# user gets what it may have and no more; bad paths are refused.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

SOCK=/run/forefetch/control.sock
dirs=20 files=20

ff() { forefetch --socket $SOCK "$@"; }
user() { setpriv --reuid=4711 --regid=4711 --clear-groups "$@"; }

make_tree() {
	local d f
	mkdir "$1"
	for ((d = 0; d < dirs; d++)); do
		mkdir "$1/dir$d"
		for ((f = 0; f < files; f++)); do
			echo "file $d $f" >"$1/dir$d/file$f"
		done
	done
	head -c 3000000 /dev/urandom >"$1/large"
	: >"$1/empty"
	ln -s dir1/file1 "$1/link"
	mkdir -m 0700 "$1/secret"
	echo secret >"$1/secret/file"
	mkdir -p "$1/with blank/deep/er"
	echo deep >"$1/with blank/deep/er/file"
}

# Members of the first tree of an answer.
member() {	# FILE MEMBER
	python3 -c 'import json, sys
print(int(json.load(open(sys.argv[1]))["trees"][0][sys.argv[2]]))' "$@"
}

mode_set() {	# CONSISTENCY OFFLINE
	lab_umount "$LAB_PROXY" && lab_proxy_stop &&
		lab_conf_set "server lab" consistency "$1" &&
		lab_conf_set "server lab" offline "$2" &&
		lab_proxy_start && lab_mount_proxy
}

away() { ff status | grep -q 'serving what is cached'; }
back() { ! away; }

refused() {	# STATUS TEXT COMMAND...
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >/tmp/refused 2>&1 || rc=$?
	cat /tmp/refused
	[ $rc -eq "$want" ] && grep -q "$text" /tmp/refused
}

warms() {	# CONSISTENCY
	local t="$LAB_PROXY/tree-$1" n calls
	check "$1: the daemon starts" mode_set "$1" serve
	sums "$LAB_EXPORT/tree-$1" >/tmp/want
	check "$1: warm" ff warm --json "$t" >/dev/null
	cp /tmp/check.out /tmp/first
	echo "     $(cat /tmp/first)"
	n=$(member /tmp/first files)
	check "$1: all files were seen ($n)" test "$n" -eq $((dirs * files + 4))
	check "$1: and their bytes" \
		test "$(member /tmp/first file_bytes)" -gt 3000000
	lab_nap 4 # longer than attr_timeout
	check "$1: warm again" ff warm --json "$t" >/dev/null
	cp /tmp/check.out /tmp/second
	echo "     $(cat /tmp/second)"
	n=$(member /tmp/second directories)
	calls=$(member /tmp/second calls)
	ff stats >/tmp/stats
	check "$1: which takes $calls calls for $n directories" \
		test "$calls" -le $((n + n / 2))
	lab_drop_caches
	check "$1: the link goes" lab_link_down pull
	offline_sums() { ls "$t" >/dev/null; timeout 20 cat "$t/never" 2>/dev/null
		away; }
	# With frozen, nobody need ask the server, nor notice.
	[ "$1" = frozen ] ||
		check "$1: status says so" lab_poll 60 offline_sums
	check "$1: what was warmed is read without it" \
		eval "sums '$t' >/tmp/got"
	same "$1: and is what the server has" /tmp/want /tmp/got
	check "$1: the link is back" lab_link_up
	check "$1: status says so, too" lab_poll 60 back
}

# All is there before anything is listed: frozen keeps what it has seen, and
# that a name is absent, over a restart.
for mode in bounded frozen; do
	make_tree "$LAB_EXPORT/tree-$mode"
done
head -c 30000000 /dev/urandom >"$LAB_EXPORT/huge"
for mode in bounded frozen; do
	warms $mode
done

t=$LAB_PROXY/tree-bounded
check "metadata only" ff warm --json --metadata "$t" >/dev/null
check "a part of it, with a blank" ff warm "$t/with blank" "$t/large"
check "another user is refused the directory that it may not read" \
	refused 1 '1 refused by the server' user forefetch --socket $SOCK warm "$t"
check "… and is told nothing of what lies in it" \
	refused 1 'Permission denied' user forefetch --socket $SOCK \
	warm "$t/secret/file"
nothing() { ! user cat "$t/secret/file" && ! user ls "$t/secret"; }
check "… nor may it read that afterwards" nothing
check "a path that is not there" \
	refused 1 'No such file' forefetch --socket $SOCK warm "$t/nothing"
check "a path on no mount" \
	refused 1 'no NFSv3 mount' forefetch --socket $SOCK warm /proc
check "a mount of the server itself" \
	refused 1 'not mounted from this' forefetch --socket $SOCK warm "$LAB_DIRECT"

says() {	# PATH PATTERN...
	local path=$1 pattern
	shift
	ff explain "$path" >/tmp/explain || return
	cat /tmp/explain
	for pattern; do
		grep -q "$pattern" /tmp/explain || return
	done
}
check "explain: a file that was warmed" says "$t/dir3/file4" \
	'regular file, 9 B' '9 B of 9 B' 'prefetch.*not predicted'
check "explain: a directory" says "$t/dir3" 'directory' '2[0-9] entries, all'
check "explain: nothing there" says "$t/dir3/none" 'not cached\|known to be absent'
check "explain: what a user may not see" refused 0 'not yet been seen' \
	user forefetch --socket $SOCK explain "$t/secret/file"
explain_json() { ff explain --json "$t/large" | python3 -c 'import json, sys
x = json.load(sys.stdin)
assert x["found"] == "object" and x["type"] == "file", x
assert x["data_bytes"] == x["size"] == 3000000, x'; }
check "explain --json" explain_json

# ^C: nothing goes on behind it.
# Not by the function: that would be a shell of its own.
forefetch --socket $SOCK warm "$LAB_PROXY/huge" >/tmp/stopped 2>&1 &
warm=$!
lab_nap 2
kill -INT $warm
rc=0
wait $warm || rc=$?
check "^C ends it" test $rc -eq 1
check "… and says how far it was" grep -q stopped /tmp/stopped
calls() { ff stats --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["servers"][0]["counters"]["warm_calls"])'; }
quiet() { local n; n=$(calls); lab_nap 1; [ "$n" -eq "$(calls)" ]; }
check "… and no call follows" lab_poll 10 quiet
check "begun again, it goes on" ff warm --json "$LAB_PROXY/huge" >/dev/null
cp /tmp/check.out /tmp/rest
check "… where it was" test "$(member /tmp/rest fetched_bytes)" -lt 29000000
e2e_end
