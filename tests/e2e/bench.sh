#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bench    forefetch bench: figures, the user's rights, nothing changed, nothing left
# lab: --rtt 10ms --timeout 300
#
# Each end of it is tried: a good one, a job that cannot run, a server that does
# not let it in, ^C, and kill -9. None may leave a mount, a process or a file.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

tree=$LAB_EXPORT/src
mkdir -p "$tree/one" "$tree/two" "$LAB_EXPORT/closed"
for ((i = 0; i < 20; i++)); do
	echo "$i" >"$tree/one/$i"
	echo "$i" >"$tree/two/$i"
done
ln -s one/1 "$tree/link"
echo mine >"$LAB_EXPORT/closed/file"
chmod 0700 "$LAB_EXPORT/closed"
mkfifo "$tree/fifo"
lab_mount_direct
before_mounts=$(cut -d' ' -f1,2,3 /proc/mounts)
before_daemons=$(pgrep -x forefetchd)

number() {	# KEY FILE; the first one of that name
	grep -o "\"$1\":[0-9]*" "$2" | head -n 1 | cut -d: -f2
}
status_is() { grep -q '"status":' "$1" && ! grep -o '"status":[0-9]*' "$1" | grep -qvx "\"status\":$2"; }

nothing_left() {
	[ "$(cut -d' ' -f1,2,3 /proc/mounts)" = "$before_mounts" ] &&
		[ "$(pgrep -x forefetchd)" = "$before_daemons" ] &&
		! pgrep -f 'sleep 9876' && ! ls -d /tmp/forefetch-bench.*
}

refused() {	# STATUS TEXT COMMAND...
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >/tmp/refused 2>&1 || rc=$?
	cat /tmp/refused
	[ $rc -eq "$want" ] && grep -qF -- "$text" /tmp/refused && nothing_left
}

figures() {	# FILE
	# The root, two directories and what is in them.
	[ "$(number files "$1")" = 45 ] && status_is "$1" 0 &&
		[ "$(number bytes "$1")" = 100 ]
}
fewer_calls() {	# FILE
	local direct learned
	direct=$(sed 's/.*"direct"://' "$1" | grep -o '"calls":[0-9]*' | head -n 1 | cut -d: -f2)
	learned=$(sed 's/.*"learned"://' "$1" | grep -o '"calls":[0-9]*' | head -n 1 | cut -d: -f2)
	echo "direct $direct, learned $learned"
	[ "$direct" -gt 80 ] && [ "$learned" -gt 0 ] && [ "$learned" -lt "$direct" ]
}

bench() { forefetch bench --json "$@" >/tmp/json; }

check "a walk" bench --runs 2 "$LAB_DIRECT/src"
check "each run does the same work, once" figures /tmp/json
check "learned runs ask the server less than the direct mount, and do ask it" fewer_calls /tmp/json
check "nothing is left" nothing_left

text() { forefetch bench --runs 1 "$LAB_ADDR:$tree" ls -R >/tmp/text; }
check "a path of a server, for people" text
check "its report has the three rows" test "$(grep -cE '^(direct mount|forefetch, )' /tmp/text)" = 3
check "a mount through the daemon is measured" bench --runs 1 "$LAB_PROXY/src" ls -R
check "... beside its server" grep -q "\"source\":\"$LAB_ADDR:" /tmp/json

# The job has the rights of who called sudo, and can write nowhere.
sudo_as() { SUDO_UID=4711 SUDO_GID=4711 "$@"; }
check "the job is the user's" sudo_as bench --runs 1 "$LAB_DIRECT" \
	sh -c 'test "$(id -u) $(id -g)" = "4711 4711" && ! cat closed/file'
check "... on both sides" status_is /tmp/json 0
check "a job that writes is refused" bench --runs 1 "$LAB_DIRECT/src" \
	sh -c '! echo x >new && ! rm one/1'
check "... on both sides" status_is /tmp/json 0
check "so is one that names the files by their paths" bench --runs 1 "$LAB_DIRECT/src" \
	sh -c "! echo x >$LAB_DIRECT/src/new && cat $LAB_DIRECT/src/one/1"
check "... on both sides" status_is /tmp/json 0
fails() { bench --runs 1 "$LAB_DIRECT/src" sh -c "exit 128" 2>/tmp/said; }
check "a job that fails each time" fails
check "... is said to have done so" grep -q "status 128 each time" /tmp/said

# Root is nobody at many servers, and users close their homes.
chown 4711:4711 "$LAB_EXPORT/closed" "$LAB_EXPORT/closed/file"
lab_export "$LAB_EXPORT" root_squash
check "a directory that root may not enter" sudo_as bench --runs 1 "$LAB_DIRECT/closed" cat file
check "... on both sides" status_is /tmp/json 0
lab_export "$LAB_EXPORT"
check "nothing has changed on the server" test ! -e "$tree/new" -a -e "$tree/one/1"

check "no such program" refused 1 "no-such-program" \
	forefetch bench "$LAB_DIRECT/src" no-such-program
check "no such path" refused 1 "cannot be mounted" forefetch bench "$LAB_ADDR:/no/such/path"
check "no such directory" refused 1 "No such file" forefetch bench /no/such/directory
check "a directory of this machine" refused 1 "no mount of NFS" forefetch bench /tmp
check "a number of runs" refused 2 "1 to 99" forefetch bench --runs 0 "$LAB_DIRECT"
check "no argument" refused 2 "usage" forefetch bench
check "not root" refused 1 "only root" setpriv --reuid=4711 --regid=4711 --clear-groups \
	forefetch bench "$LAB_DIRECT"

# The job's process shows that the bench is under way.
begin() {
	# One of its processes is in a session of its own.
	forefetch bench "$LAB_DIRECT/src" \
		sh -c 'setsid sleep 98766 & sleep 98765' >/tmp/began 2>&1 &
	bench=$!
	lab_poll 30 pgrep -x -f 'sleep 98765' && lab_poll 30 pgrep -x -f 'sleep 98766'
}
for signal in INT TERM HUP; do
	check "a bench begins" begin
	kill -$signal $bench
	wait $bench
	check "SIG$signal ends it, with status 1" test $? = 1
	check "... and nothing is left" nothing_left
done
check "a bench begins" begin
pkill -KILL -f 'forefetchd -F -f /tmp/forefetch-bench'
wait $bench
check "it ends with its daemon, with status 1" test $? = 1
check "... and nothing is left" nothing_left
check "a bench begins" begin
kill -KILL $bench
wait $bench
rmdir_left() { rmdir /tmp/forefetch-bench.*; }
check "after kill -9 an empty directory is left" rmdir_left
check "... and nothing else" lab_poll 10 nothing_left

e2e_end
