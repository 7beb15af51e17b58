#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# offline  the link goes away: offline = serve reads on, offline = wait waits
# lab: --rtt 25ms --timeout 1800
#
# offline [pull|drop|serve|wait...]: for each kind of outage, with `serve`: what
# was read before can be mounted, listed and read on, the rest ends in EIO soon,
# changes wait and go through later; the same after the daemon was killed or
# stopped meanwhile.  With `wait` nothing fails.  All, or what is named.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

kinds=() values=()
for word; do
	case $word in
	serve | wait) values+=("$word") ;;
	*) kinds+=("$word") ;;
	esac
done
[ ${#kinds[@]} -gt 0 ] || kinds=(pull drop)
[ ${#values[@]} -gt 0 ] || values=(wait serve)
soon=20 # s; for what must not hang

# A tree that will be cached, and a file beside it that will not, since nothing
# is fetched ahead.
make_tree() {
	python3 "$E2E/cachekill/cachekill.py" make "$LAB_EXPORT/tree-$1" 30
	mkdir "$LAB_EXPORT/tree-$1/sub"
	echo inner >"$LAB_EXPORT/tree-$1/sub/inner"
	ln -s sub/inner "$LAB_EXPORT/tree-$1/link"
	head -c 100000 /dev/urandom >"$LAB_EXPORT/never-$1"
	mkdir "$LAB_EXPORT/made-$1"
}

mode_set() {	# CONSISTENCY OFFLINE
	lab_umount "$LAB_PROXY" && lab_proxy_stop &&
		lab_conf_set "server lab" consistency "$1" &&
		lab_conf_set "server lab" offline "$2" &&
		lab_conf_set "server lab" prefetch off &&
		lab_proxy_start && lab_mount_proxy
}

contents() { (cd "$1" && find . -type f -exec sha1sum {} + | sort -k2); }
listing() { (cd "$1" && ls -lR --time-style=full-iso .); }

# Bounded: a command that hangs in the kernel cannot be killed at once, so it is
# only looked at.
within() {	# SECONDS COMMAND...
	local pid seconds=$1 rc=0
	shift
	rm -f /tmp/within.rc
	( "$@" >/tmp/within.out 2>/tmp/within.err; echo $? >/tmp/within.rc ) &
	pid=$!
	disown
	lab_poll "$seconds" test -s /tmp/within.rc || {
		echo "still running after $seconds s: $*"
		kill -9 $pid
		return 124
	}
	read -r rc </tmp/within.rc
	[ "$rc" -eq 0 ] || cat /tmp/within.err
	return "$rc"
}

status_is() { forefetch --socket /run/forefetch/control.sock status |
	grep -qi "$1"; }
status_offline() {
	forefetch --socket /run/forefetch/control.sock status >/tmp/status
	# Offline, since when, and how old what it serves may be.
	grep -q 'serving what is cached' /tmp/status &&
		grep -q 'the oldest answer' /tmp/status
}

refused_eio() {	# FILE: EIO, and neither data nor a hang
	within $soon cat "$1" && return 1
	[ "$(cat /tmp/within.rc 2>/dev/null)" ] &&
		grep -q 'Input/output error' /tmp/within.err
}

is_there() { within $soon listing "$1/tree-$2" &&
	cmp /tmp/want.list /tmp/within.out; }
is_read() { within 60 contents "$1/tree-$2" &&
	cmp /tmp/want.sums /tmp/within.out; }

cached_works() {	# NAME KIND
	local dir=/mnt/again-$RANDOM
	lab_drop_caches
	check "$1: another mount" within $soon lab_mount_proxy_at "$dir" || return
	# Only now: a daemon that nobody asks need not notice.
	check "$1: status says that it is offline, and how old" \
		lab_poll 30 status_offline || cat /tmp/status
	check "$1: df" within $soon df "$dir"
	check "$1: ls -lR" is_there "$dir" "$2"
	check "$1: cat" is_read "$dir" "$2"
	check "$1: a file that was never read: EIO" refused_eio "$dir/never-$2"
	check "$1: and what is cached still works" is_read "$dir" "$2"
	umount -l "$dir"
}
lab_mount_proxy_at() { lab_mount proxy "$LAB_EXPORT" "$1" soft,timeo=600; }

# A change that is begun while the link is down, in a directory of its own: the
# kernel looks up no other name there meanwhile.
begin_write() {	# NAME KIND
	rm -f /tmp/write.rc /tmp/write.begun
	( python3 - "$LAB_PROXY/made-$2/written" <<'P'
import os, sys
open("/tmp/write.begun", "w").close()
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
os.write(fd, b"written while offline")
os.fsync(fd)
P
	echo $? >/tmp/write.rc ) >/tmp/write.out 2>&1 &
	disown
}

serve() {	# KIND
	local name="serve, $1"
	check "$name: the daemon starts" mode_set bounded serve
	contents "$LAB_PROXY/tree-$1" >/tmp/want.sums
	listing "$LAB_PROXY/tree-$1" >/tmp/want.list
	contents "$LAB_EXPORT/tree-$1" >/tmp/server.sums
	same "$name: read before" /tmp/server.sums /tmp/want.sums
	check "$name: mounted and df before" df "$LAB_PROXY"
	check "$name: another directory before" ls "$LAB_PROXY/made-$1"
	check "$name: the link goes" lab_link_down "$1"
	cached_works "$name" "$1"
	check "$name: kill -9 and start" \
		eval 'lab_proxy_kill && lab_proxy_start'
	cached_works "$name, after kill -9" "$1"
	check "$name: stop and start" eval 'lab_proxy_stop && lab_proxy_start'
	cached_works "$name, after a stop" "$1"
	begin_write "$name" "$1"
	check "$name: the write begins" lab_poll 30 test -e /tmp/write.begun
	check "$name: what is cached works beside a waiting write" \
		is_read "$LAB_PROXY" "$1"
	check "$name: the write waits" test ! -e /tmp/write.rc
	check "$name: the link is back" lab_link_up
	check "$name: the write went through" \
		lab_poll 120 grep -qx 0 /tmp/write.rc || cat /tmp/write.out
	check "$name: and is on the server" \
		grep -qx 'written while offline' "$LAB_EXPORT/made-$1/written"
	check "$name: the file that was not cached can be read" \
		lab_poll 60 cmp "$LAB_EXPORT/never-$1" "$LAB_PROXY/never-$1"
	not_offline() { ! status_is 'serving what is cached'; }
	check "$name: status no longer says offline" lab_poll 60 not_offline
	echo changed >"$LAB_EXPORT/tree-$1/sub/inner"
	fresh() { grep -qx changed "$LAB_PROXY/tree-$1/sub/inner"; }
	check "$name: a change on the server is seen again" \
		lab_poll 90 fresh "$1"
}

# Neither ends before the link is back, then both are right.
waits() {	# KIND RESTART
	local name="wait, $1, $2"
	check "$name: the daemon starts" mode_set bounded wait
	contents "$LAB_PROXY/tree-$1" >/tmp/want.sums
	check "$name: the link goes" lab_link_down "$1"
	lab_drop_caches
	rm -f /tmp/read.rc "$LAB_EXPORT/made-$1/written"
	( contents "$LAB_PROXY/tree-$1" >/tmp/read.out 2>&1
	cmp "$LAB_EXPORT/never-$1" "$LAB_PROXY/never-$1" >>/tmp/read.out 2>&1
	echo $? >/tmp/read.rc ) & disown
	begin_write "$name" "$1"
	if [ "$2" = restart ]; then
		check "$name: kill -9 and start" \
			eval 'lab_proxy_kill && lab_proxy_start'
	fi
	# The length of the outage is what is tested: beyond the first
	# repeats, and beyond attr_timeout.
	lab_nap 12
	check "$name: the read waits" test ! -e /tmp/read.rc
	check "$name: the write waits" test ! -e /tmp/write.rc
	check "$name: the link is back" lab_link_up
	check "$name: the read went through" \
		lab_poll 180 grep -qx 0 /tmp/read.rc || cat /tmp/read.out
	check "$name: the write went through" \
		lab_poll 180 grep -qx 0 /tmp/write.rc || cat /tmp/write.out
	same "$name: what was read" /tmp/want.sums /tmp/read.out
	check "$name: what was written" \
		grep -qx 'written while offline' "$LAB_EXPORT/made-$1/written"
}

for kind in "${kinds[@]}"; do
	make_tree "$kind"
	for value in "${values[@]}"; do
		if [ "$value" = serve ]; then
			rm -f "$LAB_EXPORT/made-$kind/written"
			serve "$kind"
		else
			waits "$kind" run
			waits "$kind" restart
		fi
	done
done
e2e_end
