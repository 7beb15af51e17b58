# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# lab_pair [-n RUNS] [-w WARM] [-d DIR] [-p PREPARE] [-f] [-r] [-b]
#          [--json FILE] NAME -- COMMAND [ARG...]
#
# Runs COMMAND in DIR (below the export) of the direct mount and of the proxy
# mount in turn, RUNS times each (default 5), with the guest's caches dropped
# before each run, and prints the median times.  The first run through the
# proxy and WARM - 1 more (default 1 in all) come before and are shown apart.
#   -f  also run at RTT 0 on the direct mount (the floor)
#   -r  mount anew before each run
#   -p  shell command evaluated before each run, not timed
#   -b  also count the bytes that come from the server, until two seconds after
#       a run: what it wrote is on the server by then
#   --json FILE  append one JSON object
#
# Both mounts are bound to the same path, so that a job which prints where it
# is prints the same.  A run whose output (both streams) or exit status differs
# from the first direct run is WRONG: it is not timed, and lab_pair fails.

lab_pair() {
	local runs=5 warm=1 dir=. prepare=: floor=no remount=no bytes=no json='' name
	local rows=$LAB_STATE/pair/rows i side sides
	while [ $# -gt 0 ]; do
		case $1 in
		-n) runs=$2; shift 2 ;;
		-w) warm=$2; shift 2 ;;
		-d) dir=$2; shift 2 ;;
		-p) prepare=$2; shift 2 ;;
		-f) floor=yes; shift ;;
		-r) remount=yes; shift ;;
		-b) bytes=yes; shift ;;
		--json) json=$2; shift 2 ;;
		*) break ;;
		esac
	done
	[ $# -ge 3 ] && [ "$2" = -- ] ||
		{ lab_err "lab_pair: NAME -- COMMAND"; return 2; }
	name=$1
	shift 2
	rm -rf "$LAB_STATE/pair"
	mkdir -p "$LAB_STATE/pair" "$LAB_WORK"
	[ $floor = no ] || lab_mounted "$LAB_FLOOR" ||
		lab_pair_remount "$LAB_FLOOR" || return 1
	: >"$rows"
	lab_pair_run direct 1 "$@" || return 1
	for ((i = 1; i <= warm; i++)); do
		lab_pair_run first "$i" "$@" || return 1
	done
	for ((i = 1; i <= runs; i++)); do
		sides='direct proxy'
		((i % 2)) || sides='proxy direct'
		[ $floor = no ] || sides+=' floor'
		for side in $sides; do
			[ "$side$i" != direct1 ] || continue
			lab_pair_run "$side" "$i" "$@" || return 1
		done
	done
	/usr/bin/env python3 "$LAB_D/pair.py" "$name" "$rows" ${json:+"$json"}
}

# One run.  Uses dir, prepare, remount, bytes and rows of lab_pair.
lab_pair_run() {
	local side=$1 i=$2 mnt=$LAB_PROXY out=$LAB_STATE/pair/out t0 t1 rc ok=1
	local came=0
	shift 2
	case $side in direct) mnt=$LAB_DIRECT ;; floor) mnt=$LAB_FLOOR ;; esac
	if [ "$remount" = yes ]; then lab_pair_remount "$mnt" || return 1; fi
	eval "$prepare" || { lab_err "prepare failed: $prepare"; return 1; }
	mount --bind "$mnt/$dir" "$LAB_WORK" || return 1
	lab_drop_caches
	rc=0
	[ $bytes = no ] || came=$(lab_pair_came)
	lab_pair_timed "$@"
	if [ $bytes = yes ]; then
		sync
		lab_nap 2
		came=$(($(lab_pair_came) - came))
	fi
	# -i: else umount.nfs tells the server of an unmount for the bind too.
	umount -i "$LAB_WORK" || lab_err "the job left something running"
	echo "$rc" >>"$out"
	[ -e "$out.ref" ] || cp "$out" "$out.ref"
	if ! cmp -s "$out" "$out.ref"; then
		ok=0
		cp "$out" "$out.wrong-$side-$i"
		{
			echo "WRONG: $side run $i differs from the first direct run:"
			diff "$out.ref" "$out" | head -20
		} >&2
	fi
	echo "$side $i $((t1 - t0)) $rc $ok $came" >>"$rows"
}

# Bytes that have come from the server, but for those of the floor's device.
lab_pair_came() {
	cat "/sys/class/net/lab$(lab_index)/statistics/rx_bytes"
}

# Sets t0, t1 and rc of its caller.
lab_pair_timed() {
	cd "$LAB_WORK" || return
	lab_now; t0=$LAB_NOW
	"$@" >"$out" 2>&1 </dev/null || rc=$?
	lab_now; t1=$LAB_NOW
	cd "$OLDPWD" || cd /
}

lab_pair_remount() {
	lab_umount "$1" || return 1
	case $1 in
	"$LAB_DIRECT") lab_mount_direct ;;
	"$LAB_FLOOR") lab_mount floor "$LAB_EXPORT" "$1" ;;
	*) lab_mount_proxy ;;
	esac
}
