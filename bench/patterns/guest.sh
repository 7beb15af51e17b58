# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/patterns/run that runs in the lab's guest.
# It prints, for report.py:
#
#   run CASE direct|train|ours NUMBER CHECKSUM READS BYTES MICROSECONDS RECEIVED
#   stats CASE NUMBER JSON
#   done
#
# RECEIVED is what came over the link meanwhile, in bytes with all headers.
set -u
io=$LAB_BUILD/../bench/patternio

give_up() { echo "patterns: $*" >&2; lab_logs >&2; exit 1; }

# Its arguments, and the file that it reads.
program() {
	local work=$PATTERNS_WORK args
	case $1 in
	forward-1) args="-n 256 forward f" ;;
	forward-2) args="-n 128 -b 8192 forward f" ;;
	backward-1) args="-n 256 backward f" ;;
	backward-2) args="-n 128 -b 8192 backward f" ;;
	stride) args="-n 256 -s 16 stride f" ;;
	stride-back) args="-n 256 -s -16 stride f" ;;
	mmap-stride) args="-m -n 16 -s 256 stride f" ;;
	orthonormal-4) args="-d -n 10 -c $work volume-z f" ;;
	orthonormal-32) args="-d -n 4 -b 32768 -c $((8 * work)) volume-z f" ;;
	oblique-4) args="-n 10 -c $work volume-oblique f" ;;
	oblique-32) args="-n 4 -b 32768 -c $((8 * work)) volume-oblique f" ;;
	fft-256K) args="-n 262144 fft points" ;;
	fft-512K) args="-n 524288 fft points" ;;
	esac
	# Not echo, which has a -n of its own.
	printf '%s\n' "$args"
}

unmounted() {
	lab_mounted "$LAB_WORK" || return 0
	umount "$LAB_WORK" || return 1
}

# daemon_new all|data: what is gone
daemon_new() {
	lab_proxy_stop
	[ "$1" = data ] && rm -rf "$LAB_CACHE/lab/data" || rm -rf "$LAB_CACHE/lab"
	lab_proxy_start || give_up "forefetchd does not start"
}

received() { cat "/sys/class/net/lab$(lab_index)/statistics/rx_bytes"; }

# one_run CASE ARM NUMBER
one_run() {
	local args out rx where=proxy gone=all
	lab_poll 20 unmounted || give_up "$LAB_WORK stays mounted"
	if [ "$2" = direct ]; then
		where=direct
	else
		[ "$2" = train ] || [[ $1 != oblique-* ]] || gone=data
		daemon_new $gone
	fi
	lab_mount $where "$LAB_EXPORT" "$LAB_WORK" || give_up "cannot mount"
	lab_drop_caches
	read -ra args <<<"$(program "$1")"
	args[-1]=$LAB_WORK/${args[-1]}
	rx=$(received)
	out=$("$io" "${args[@]}") || give_up "$1 failed"
	echo "run $1 $2 $3 $out $(($(received) - rx))"
	[ "$2" != ours ] || echo "stats $1 $3 $(forefetch stats --json)"
}

conf() {
	local setting
	while read -r setting; do
		[ -z "$setting" ] || lab_conf_set "server lab" \
			"${setting%%=*}" "${setting#*=}"
	done <<<"$PATTERNS_SET"
}

conf
mkdir -p "$LAB_WORK"
"$io" -n 8192 make "$LAB_EXPORT/f" && "$io" -n 2048 make "$LAB_EXPORT/points" ||
	give_up "no files"
for c in $PATTERNS_CASES; do
	[[ $c != oblique-* ]] || one_run "$c" train 0
	for ((n = 1; n <= PATTERNS_RUNS; n++)); do
		arms='direct ours'
		((n % 2)) || arms='ours direct'
		for arm in $arms; do one_run "$c" "$arm" $n; done
	done
	echo "patterns: $c" >&2
done
lab_poll 20 unmounted
echo "done"
