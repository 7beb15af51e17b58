#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pin      forefetch pin: stays through restarts, kills and other data; offline
# lab: --rtt 2ms --timeout 300
#
# A tree is pinned, more than cache_size is read, the daemon is stopped, killed
# and started; without the server the tree is read right.  Who may pin what,
# what is too much, a list that is damaged, unpin.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

SOCK=/run/forefetch/control.sock
files=60 others=10

ff() { forefetch --socket $SOCK "$@"; }
user() { setpriv --reuid=4711 --regid=4711 --clear-groups "$@"; }
gauge() { ff stats --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["servers"][0]["gauges"][sys.argv[1]])' "$1"; }

# Of the first pin of an answer.
member() {	# FILE MEMBER
	python3 -c 'import json, sys
x = json.load(open(sys.argv[1]))["pins"][0]
for name in sys.argv[2].split("."):
    x = x[name]
print(int(x))' "$@"
}

refused() {	# STATUS TEXT COMMAND...
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >/tmp/refused 2>&1 || rc=$?
	cat /tmp/refused
	[ $rc -eq "$want" ] && grep -q "$text" /tmp/refused
}

t=$LAB_EXPORT/pinned
mkdir "$t" "$t/deep" "$LAB_EXPORT/other"
for ((i = 0; i < files; i++)); do
	head -c $((i * 1000)) /dev/urandom >"$t/deep/file$i"
done
head -c 12000000 /dev/urandom >"$t/large"
ln -s deep/file1 "$t/link"
mkdir -m 0700 "$t/secret"
echo secret >"$t/secret/file"
echo mine >"$t/closed"
chmod 600 "$t/closed"
for ((i = 0; i < others; i++)); do
	head -c 8000000 /dev/urandom >"$LAB_EXPORT/other/$i"
done

lab_umount "$LAB_PROXY" && lab_proxy_stop
lab_conf_set "server lab" offline serve
lab_conf_set forefetch cache_size 64M
check "the daemon starts" lab_proxy_start
lab_mount_proxy
p=$LAB_PROXY/pinned

check "pin" ff pin --json "$p" >/dev/null
cp /tmp/check.out /tmp/first
echo "     $(cat /tmp/first)"
check "all files were seen" test "$(member /tmp/first walk.files)" -eq $((files + 3))
complete() { ff pins --json >/tmp/list && cat /tmp/list &&
	[ "$(member /tmp/list complete)" -eq 1 ]; }
check "the list says that it is complete" lab_poll 10 complete
check "… and how much it is" test "$(member /tmp/list bytes)" -gt 12000000
check "pin again" ff pin --json "$p" >/dev/null
cp /tmp/check.out /tmp/second
check "… takes $(member /tmp/second walk.calls) calls" \
	test "$(member /tmp/second walk.calls)" -le 8

read_others() { cat "$LAB_PROXY/other/"* >/dev/null; lab_drop_caches; }
check "more than the cache holds is read" read_others
check "the daemon stops and starts" eval "lab_proxy_stop && lab_proxy_start"
check "other data is read again" read_others
cat "$LAB_PROXY/other/"* >/dev/null 2>&1 &
reader=$!
lab_nap 0.7
check "kill -9 meanwhile" eval "lab_proxy_kill && lab_proxy_start"
wait $reader
check "and once more" read_others
check "the cache is no larger than it may be" \
	test "$(gauge data_disk_bytes)" -le $(((64 << 20) * 102 / 100))
check "the tree is still complete" lab_poll 20 complete

sums "$t" >/tmp/want
lab_drop_caches
check "the link goes" lab_link_down pull
away() { ff status | grep -q 'serving what is cached'; }
back() { ! away; }
offline() { timeout 20 cat "$LAB_PROXY/other/never" 2>/dev/null; away; }
check "status says so" lab_poll 60 offline
check "the pinned tree is read without the server" eval "sums '$p' >/tmp/got"
same "… and is what the server has" /tmp/want /tmp/got
check "the link is back" lab_link_up
check "… status says so, too" lab_poll 60 back

echo changed >>"$t/deep/file7"
rm "$t/deep/file8"
check "pin after changes" ff pin --json "$p" >/dev/null
cp /tmp/check.out /tmp/third
check "… fetches little" test "$(member /tmp/third walk.fetched_bytes)" -lt 100000
check "… and is complete" lab_poll 10 complete
check "… with one file less" test "$(member /tmp/list files)" -eq $((files + 2))

check "too much is refused" refused 1 'half of cache_size' \
	forefetch --socket $SOCK pin "$LAB_PROXY/other"
check "… and of what is pinned, nothing is lost" complete
check "unpin that" ff unpin "$LAB_PROXY/other"

check "a user is not given what it may not read" refused 1 '2 refused' \
	user forefetch --socket $SOCK pin "$p"
user forefetch --socket $SOCK pins --json >/tmp/list.user
check "… and pins the rest" test "$(member /tmp/list.user files)" -eq $((files))
check "… sees its own pins only" eval "[ \$(grep -o uid /tmp/list.user | wc -l) -eq 1 ]"
check "… unpins its own" user forefetch --socket $SOCK unpin "$p"
check "… and no other's" refused 1 'not pinned, or not by you' \
	user forefetch --socket $SOCK unpin "$p"
check "the other's holds" complete
check "a path on no mount" refused 1 'no NFSv3 mount' \
	forefetch --socket $SOCK pin /proc

check "unpin" ff unpin "$p"
check "nothing is pinned then" test "$(gauge data_pinned_bytes)" -eq 0
read_others
read_others
gone() { ff explain --json "$p/large" | grep '"data_bytes":0[,}]'; }
check "and the data goes" gone || ff explain --json "$p/large"

check "pin a file" ff pin "$p/deep/file50"
pins=$(echo "$LAB_CACHE"/*/pins)
saved() { grep -q deep/file50 "$pins"; }
check "it is written down" lab_poll 10 saved
check "the daemon stops" lab_proxy_stop
printf x | dd of="$pins" bs=1 seek=20 conv=notrunc 2>/dev/null
check "a damaged list does not keep it from starting" lab_proxy_start
check "… is set aside" test -e "$pins.damaged"
check "… with a warning" grep -q 'pins.*damaged' "$LAB_PROXY_LOG"
e2e_end
