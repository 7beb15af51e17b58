#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# disk  the disk of the cache fails in many ways: slower, and never an outage
# lab: --rtt 1ms --timeout 1800
#
# disk [KIND...]: full, cow (full, a file system that copies on write), readonly,
# unwritten (the kernel has taken data that it cannot write, and gives it up),
# error (some sectors), gone (all), slow (10 s).  All but unwritten set in under a
# copy of a tree in and out through the mount, and are there at a start.  Checksums are right
# each time, the daemon is the same one, `forefetch status` says what is wrong, and
# when the disk is well, data is kept on it again.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

kinds=("$@")
[ $# -gt 0 ] || kinds=(full cow readonly unwritten error gone slow)
size=128 # MiB, of the cache's disk; btrfs takes no less than 109

command -v dmsetup >/dev/null || skip "dmsetup is missing (Debian: dmsetup)"
module dm-flakey && module dm-delay ||
	skip "this kernel has no dm-flakey or no dm-delay"

ctl() { forefetch "$@"; }
# Not by python3, whose start takes as long here as a copy of the tree.
problem() { ctl status --json | sed -n 's/.*"disk_problem":"\([^"]*\)".*/\1/p'; }
says() { problem | grep -q "$1"; }
gauge() { ctl stats --json | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

# --- the disk ----------------------------------------------------------------

# With `error` the second third of it cannot be read or written.
table() {
	local third=$((sectors / 3))
	case $1 in
	well) echo "0 $sectors linear $loop 0" ;;
	gone) echo "0 $sectors error" ;;
	slow) echo "0 $sectors delay $loop 0 10000" ;;
	readonly | unwritten) echo "0 $sectors flakey $loop 0 0 3600 1 error_writes" ;;
	error)
		echo "0 $third linear $loop 0"
		echo "$third $third flakey $loop $third 0 3600"
		echo "$((2 * third)) $((sectors - 2 * third))" \
			"linear $loop $((2 * third))" ;;
	esac
}

turn() {	# WELL|GONE|...: what the disk is from now on
	dmsetup --noudevsync suspend --noflush --nolockfs bad
	table "$1" | dmsetup --noudevsync reload bad
	dmsetup --noudevsync resume bad
}

disk_make() {	# FILESYSTEM
	image=$(mktemp -p "$LAB_WORK" disk.XXXXXX)
	truncate -s "${size}M" "$image"
	loop=$(losetup -f --show "$image")
	sectors=$(blockdev --getsz "$loop")
	table well | dmsetup --noudevsync create bad
	dmsetup --noudevsync mknodes
	"mkfs.$1" -q /dev/mapper/bad >/dev/null && disk_mount
}

disk_mount() {
	mount /dev/mapper/bad /srv/bad || return
	[ "$fs" != ext4 ] || mount -o remount,errors=remount-ro /srv/bad
}

disk_free() {
	umount -l /srv/bad
	umount -l /srv/bad 2>/dev/null
	dmsetup --noudevsync remove --force --retry bad
	losetup -d "$loop"
	rm -f "$image" "$image.new"
}

# --- what fails, and mends ---------------------------------------------------

fill() {
	local bs
	for bs in 1M 4k 512; do
		dd if=/dev/zero of=/srv/bad/fill bs=$bs oflag=append \
			conv=notrunc 2>/dev/null
	done
	sync -f /srv/bad
}

fault() {
	case $1 in
	full | cow)
		# Not so that what is there has room for all that comes.
		ctl drop >/dev/null 2>&1
		lab_nap 0.5
		fill ;;
	readonly)
		# Writes fail, so it is mounted read-only by itself.
		turn readonly
		touch /srv/bad/written
		sync -f /srv/bad ;;
	unwritten)
		# The disk fails before the kernel has written what comes now.
		ctl drop >/dev/null
		lab_poll 10 emptied
		again
		cp -a "$LAB_PROXY/tree" /tmp/read && rm -rf /tmp/read
		lab_umount "$LAB_PROXY"
		turn unwritten
		sync -f /srv/bad ;;
	*) turn "$1" ;;
	esac 2>/dev/null
	# Nothing of what is cached is in memory by chance.
	echo 1 >/proc/sys/vm/drop_caches
}

mend() {
	case $1 in
	full | cow) rm -f /srv/bad/fill ;;
	gone | error | readonly | unwritten)
		# Another disk in its place.
		turn well
		umount -l /srv/bad
		truncate -s "${size}M" "$image.new" &&
			mkfs.ext4 -q -F "$image.new" &&
			mount -o loop "$image.new" /srv/bad ;;
	*) turn well ;;
	esac
}

runs=0
declare -A said=([full]="full\|No space" [cow]="full\|No space\|failed" [readonly]="Read-only\|Input/output"
	[unwritten]="." [error]="." [gone]="Read-only\|Input/output" [slow]="does not answer")

# --- a job -------------------------------------------------------------------

python3 - "$LAB_EXPORT/tree" <<'END'
import os, random, sys
random.seed(7)
for d in range(3):
    os.makedirs("%s/%d" % (sys.argv[1], d))
    for f in range(10):
        with open("%s/%d/%d" % (sys.argv[1], d, f), "wb") as out:
            out.write(random.randbytes(random.choice((300, 20000, 200000))))
END
sums "$LAB_EXPORT/tree" | cut -d' ' -f1,2,5- >/tmp/want

# In and out: what was read through the mount is written back through it.
job() {	# NAME
	rm -rf /tmp/in
	cp -a "$LAB_PROXY/tree" /tmp/in &&
		cp -a /tmp/in "$LAB_PROXY/$1" || return
	sums "$LAB_EXPORT/$1" | cut -d' ' -f1,2,5- >"/tmp/got"
	cmp /tmp/want /tmp/got
}

daemon_start() {
	lab_proxy_start && lab_mount_proxy
}

# The kernel's client forgets what it has read.
again() { lab_umount "$LAB_PROXY"; lab_mount_proxy; }

emptied() { [ "$(gauge data_files)" -eq 0 ]; }

kept() { [ "$(gauge data_disk_bytes)" -gt 1000000 ]; }

well_again() {	# KIND
	mend "$1" || return
	# That the former disk failed may be noticed only now.
	for _ in 1 2 3; do
		lab_poll 40 tried || { problem; return 1; }
		again
		runs=$((runs + 1))
		job "well-$1-$runs" || return
		! lab_poll 10 kept || return 0
	done
	problem
	return 1
}

tried() { ctl drop >/dev/null; [ -z "$(problem)" ]; }

# The daemon says what is wrong when it meets it, which may be in the middle of
# a job.
watch() { lab_poll 120 says "${said[$1]}" & watched=$!; }

# With these kinds nobody may have to use what fails of the disk.
told() {	# NAME KIND
	case $2 in
	error | unwritten) kill $watched ;;
	*) check "$1" wait $watched ;;
	esac
}

during() {	# KIND
	local kind=$1 pid faulty
	daemon_start || return
	pid=$(lab_proxy_pid)
	check "$kind: before" job "before-$kind"
	again
	watch "$kind"
	if [ "$kind" = unwritten ]; then
		fault "$kind"
	else
		(lab_nap 1; fault "$kind") &
		faulty=$!
		check "$kind: sets in under a job" job "under-$kind"
		wait $faulty
	fi
	again
	check "$kind: a job meanwhile" job "with-$kind"
	told "$kind: status says it" "$kind"
	check "$kind: the disk is used again" well_again "$kind"
	check "$kind: the daemon is the same" \
		test "$(lab_proxy_pid)" = "$pid"
	lab_umount "$LAB_PROXY"
	check "$kind: stop" lab_proxy_stop
}

at_start() {	# KIND
	local kind=$1 pid
	case $kind in
	# Extents that are kept need not be written again.
	full | cow) rm -rf /srv/bad/cache ;;
	gone | error | readonly)
		disk_free
		disk_make "$fs" && daemon_start && job "fill-$kind"
		lab_umount "$LAB_PROXY"
		lab_proxy_stop ;;
	esac
	fault "$kind"
	check "$kind: a start" daemon_start || return
	watch "$kind"
	pid=$(lab_proxy_pid)
	check "$kind: a job after the start" job "start-$kind"
	told "$kind: status says it after the start" "$kind"
	check "$kind: the disk is used after the start" well_again "$kind"
	check "$kind: still the same daemon" test "$(lab_proxy_pid)" = "$pid"
	lab_umount "$LAB_PROXY"
	check "$kind: stop again" lab_proxy_stop
}

# A file system that copies on write, if there is one; not nilfs2, which frees
# nothing before it is an hour old.
cow_fs() {
	local fs
	for fs in btrfs f2fs; do
		command -v "mkfs.$fs" >/dev/null || continue
		grep -qw "$fs" /proc/filesystems || module "$fs" || continue
		echo "$fs"
		return
	done
	return 1
}

lab_umount "$LAB_PROXY"
lab_proxy_stop
mkdir -p /srv/bad
lab_conf_set forefetch cache_dir /srv/bad/cache
lab_conf_set forefetch cache_size 32M
for kind in "${kinds[@]}"; do
	fs=ext4
	if [ "$kind" = cow ] && ! fs=$(cow_fs); then
		echo "# cow: not tried, neither btrfs nor f2fs is there"
		continue
	fi
	disk_make "$fs" || { fail "$kind: a disk"; continue; }
	during "$kind"
	# When a daemon starts, no data waits to be written.
	[ "$kind" = unwritten ] || at_start "$kind"
	disk_free
done
e2e_end
