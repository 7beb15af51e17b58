#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# doctor   twelve faults put by hand, each found; nothing found where there is none
# lab: --rtt 10ms --rate 50mbit --no-mount --timeout 400
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

export LAB_MOUNT_OPTS=nosuid,nodev
at=127.0.0.1:289
here=$LAB_ROOT/tests/e2e/doctor
clock=$LAB_BUILD/../tests/doctor_clock.so
small=/srv/small
lab_conf_set "server lab" listen $at
mkdir -p "$LAB_EXPORT/dir"
head -c 300000 /dev/urandom >"$LAB_EXPORT/dir/data"
echo text >"$LAB_EXPORT/file"

# As on a machine that takes its time by NTP: neither unsynchronised nor unsure.
synchronise() {
	python3 - <<'P'
import ctypes, struct
timex = bytearray(208)
struct.pack_into("=I", timex, 0, 0x10 | 0x4 | 0x8)  # status, two errors
libc = ctypes.CDLL(None)
if libc.adjtimex((ctypes.c_char * 208).from_buffer(timex)) < 0:
    raise SystemExit("adjtimex failed")
P
}

restart() { lab_proxy_stop; lab_proxy_start; }
is_up() { forefetch status --json | grep -q '"state":"up"'; }
mounted() { lab_mount $at "$LAB_EXPORT" "$LAB_PROXY" "${1:-}"; }
# Programs that wait for the server may be given up.
gone() { umount -f -l "$LAB_PROXY" 2>/dev/null; true; }
set_key() { lab_conf_set "$@"; restart; }

# fault NAME PUT MEND LINE [DOCTOR...]: PUT it, and a LINE of doctor's names it.
fault() {
	local name=$1 put=$2 mend=$3 line=$4 t0 t1
	shift 4
	[ $# -gt 0 ] || set -- forefetch doctor
	eval "$put" || { fail "$name: could not be put there"; return; }
	lab_now; t0=$LAB_NOW
	"$@" >/tmp/doctor.out 2>/tmp/doctor.err
	lab_now; t1=$LAB_NOW
	if grep -qE "^  $line" /tmp/doctor.out && [ ! -s /tmp/doctor.err ]; then
		ok "$name ($(((t1 - t0) / 1000)) ms): $(grep -m1 -E "^  $line" \
			/tmp/doctor.out)"
	else
		fail "$name"
		sed 's/^/     /' /tmp/doctor.out /tmp/doctor.err
	fi
	check "$name: within half a minute" test $((t1 - t0)) -lt 30000000
	eval "$mend" || fail "$name: could not be mended"
}

clean() {
	forefetch doctor >/tmp/doctor.out 2>&1 &&
		! grep -E "^  (warn|fail)" /tmp/doctor.out ||
		{ cat /tmp/doctor.out; return 1; }
}

only_v4() { lab_in server rpc.nfsd 0; lab_in server rpc.nfsd -N 3 -V 4.2 8; }
v3_again() { lab_in server rpc.nfsd 0; lab_in server rpc.nfsd -V 3 -N 4 8; }
deny() {
	lab_in server exportfs -ua
	lab_in server exportfs -i -o "$LAB_EXPORT_OPTS" "10.77.0.1:$LAB_EXPORT"
}
rpcbind() { kill "-$1" "$(cat "$LAB_STATE/srv/server/rpcbind.pid")"; }
fill() { cat /dev/zero >$small/fill 2>/dev/null; true; }
stub() {
	rm -f /run/stub.sock
	python3 "$here/stub.py" /run/stub.sock "$1" &
	export stub_pid=$!
	lab_poll 60 test -S /run/stub.sock
}
stale() { ! ls /mnt/stale >/dev/null 2>&1; }

check "the clock is as NTP leaves it" synchronise
restart
check "mounted" mounted
check "nothing is found where all is well" clean
grep -E "^  (ok|note|skip)" /tmp/doctor.out
check "a READ through the daemon is compared" \
	grep -q "read through it: the same" /tmp/doctor.out
check "JSON is one object" sh -c 'forefetch doctor --json |
	python3 -c "import json, sys; assert json.load(sys.stdin)[\"ok\"]"'

#     fault            | put                       | mend      | line
fault "squashed root" "lab_export $LAB_EXPORT root_squash" \
	"lab_export $LAB_EXPORT" 'note  root: .*squashed'
fault "rsize 4096" "lab_umount $LAB_PROXY; mounted rsize=4096" \
	"lab_umount $LAB_PROXY; mounted" 'warn  rsize: rsize=4096'
fault "stale handle" "mkdir $LAB_EXPORT/stale
	lab_mount $at $LAB_EXPORT/stale /mnt/stale
	rm -r $LAB_EXPORT/stale; lab_poll 30 stale" \
	"umount -l /mnt/stale" 'fail  answer: stale file handle'
fault "clock off by a minute" : : 'fail  clock: .* 60.[0-9] s behind ours' \
	env LD_PRELOAD="$clock" CLOCK_AHEAD_S=60 forefetch doctor
fault "metered link" "set_key 'server lab' metered yes; lab_poll 60 is_up" \
	"lab_conf_set 'server lab' metered no" 'note  metered:'
fault "another version" "stub old" "kill \$stub_pid" \
	'warn  forefetchd: version 0.0.9 runs' \
	forefetch --socket /run/stub.sock doctor
fault "another protocol" "stub refuse" "kill \$stub_pid" \
	'fail  forefetchd: it is of another release' \
	forefetch --socket /run/stub.sock doctor
lab_disk_new $small 40M
fault "full disk" "lab_conf_set forefetch cache_dir $small
	set_key forefetch cache_size 24M; fill" \
	"rm $small/fill; lab_conf_set forefetch cache_size 1G
	lab_conf_set forefetch cache_dir $LAB_CACHE; restart" \
	'fail  room: the disk of the cache is full'
fault "blocked rpcbind" "rpcbind STOP" "rpcbind CONT" \
	'fail  rpcbind: .* does not answer'
fault "export denied" deny "lab_export $LAB_EXPORT" \
	'fail  export: .*not to this machine'
fault "wrong port" "gone; lab_conf_set 'server lab' nfs_port 4711
	set_key 'server lab' mount_port 20048" \
	"sed -i '/_port = /d' $LAB_CONF; restart" \
	'fail  nfs: .* nothing listens at its port 4711'
fault "NFSv4 only" "only_v4; restart" "" 'fail  nfs: .* offers NFSv4 only'
check "status says so, too" lab_poll 60 sh -c \
	'forefetch status | grep -q "offers NFSv4 only"'
check "and so does probe" sh -c \
	"forefetch probe $LAB_ADDR:$LAB_EXPORT | grep -q 'offers NFSv4 only'"
v3_again
fault "daemon stopped" lab_proxy_stop lab_proxy_start \
	'fail  forefetchd: it is not running'
lab_poll 60 is_up
fault "black hole" "lab_link_down drop" lab_link_up \
	'fail  route: nothing answers'
lab_poll 60 is_up
check "mounted again" mounted
check "nothing is found when all is mended" clean
e2e_end
