# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/hints/run that runs in the lab's guest.
# It prints, for hints.py:
#
#   run CASE ARM ROUND MICROSECONDS BYTES READS THINK-US LINK-BYTES SHA256
#   stats CASE ARM ROUND JSON       what the arm's daemon has counted
#   done
set -u

give_up() { echo "hints: $*" >&2; lab_logs >&2; exit 1; }
progress() { echo "hints: $*" >&2; }
tool() { python3 "$LAB_ROOT/bench/hints/hints.py" "$@"; }

# with_arm ARM COMMAND...: the lab's functions mean the daemon of that arm
with_arm() {
	local arm=$1
	shift
	LAB_PROXY_NAME=arm-$arm LAB_CONF=/run/lab/$arm.conf \
		LAB_PROXY_LOG=$LAB_STATE/forefetchd-$arm.log "$@"
}

arm_port() {
	case $1 in plain) echo 2101 ;; hints) echo 2102 ;; oracle) echo 2103 ;; esac
}

arm_conf() {
	lab_conf_write >"$LAB_CONF"
	lab_conf_set forefetch cache_dir "$LAB_CACHE/hints-$1"
	lab_conf_set forefetch cache_size 300M
	lab_conf_set forefetch control_socket "/run/lab/$1.sock"
	lab_conf_set "server lab" listen "127.0.0.1:$(arm_port "$1")"
	mkdir -p "$LAB_CACHE/hints-$1"
	lab_proxy_start || give_up "forefetchd does not start"
}

ff() { forefetch --socket "/run/lab/$1.sock" "${@:2}"; }

unmount() {
	local i
	cd / || return
	for ((i = 0; i < 100; i++)); do
		lab_mounted "$LAB_WORK" || break
		umount "$LAB_WORK" 2>/dev/null || lab_nap 0.1
	done
	lab_drop_caches
}

arm_mount() {
	local where=direct
	[ "$1" = direct ] || where=127.0.0.1:$(arm_port "$1")
	lab_mount "$where" "$LAB_EXPORT" "$LAB_WORK" ||
		give_up "$1 cannot be mounted"
}

# Nothing is cached anywhere; or, for the oracle, everything in the proxy only.
prepare() {	# ARM CASE-DIR
	unmount
	case $1 in
	plain | hints) ff "$1" drop >/dev/null || give_up "drop failed" ;;
	oracle)
		lab_floor on
		arm_mount oracle
		ff oracle warm "$LAB_WORK/$2" >/dev/null || give_up "warm failed"
		unmount
		lab_floor off
		;;
	esac
	arm_mount "$1"
}

link_bytes() { read -r "$1" </sys/class/net/lab0/statistics/rx_bytes; }

# one_run CASE ARM ROUND
one_run() {
	local dir=blocks count=$HINTS_BLOCKS load=$HINTS_LOAD hint=none a b out
	case $1 in
	files) dir=files count=$HINTS_FILES ;;
	bound) load=0 ;;
	esac
	if [ "$2" = hints ]; then
		hint=/run/lab/hints.sock
		[ "$1" != fadvise ] || hint=preload:$hint
	fi
	prepare "$2" $dir
	cd "$LAB_WORK" || give_up "not mounted"
	link_bytes a
	out=$(tool read $dir "$count" "$1-$3" "$load" "$HINTS_RATE" "$hint" \
		"$LAB_BUILD") || give_up "the reader failed: $1 $2"
	link_bytes b
	cd /
	read -ra out <<<"$out"
	echo "run $1 $2 $3 ${out[*]:0:4} $((b - a)) ${out[4]}"
	[ "$2" = direct ] || echo "stats $1 $2 $3 $(ff "$2" stats --json)"
	progress "$1 $3, $2: $((out[0] / 1000)) ms"
}

lab_proxy_stop
mkdir -p "$LAB_WORK"
progress "making files"
tool make "$LAB_EXPORT"
for arm in plain hints oracle; do with_arm $arm arm_conf $arm; done
arms=(direct plain hints oracle)
for ((n = 1; n <= HINTS_RUNS; n++)); do
	for c in $HINTS_CASES; do
		for ((k = 0; k < 4; k++)); do
			one_run "$c" "${arms[(k + n) % 4]}" $n
		done
	done
done
unmount
echo "done"
