# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/layout/run that runs in the lab's guest.
# It prints `compact US JSON`, and for each run
# `run DELAY SIDE US SUM BYTES SEQUENTIAL RUNS READS`; SIDE is before or after,
# READS is how often the disk was read.
set -eu

give_up() { echo "layout: $*" >&2; exit 1; }
tool() { python3 "$LAB_ROOT/bench/layout/layout.py" "$@"; }

# Only reads take longer.
disk_table() { echo "0 $sectors delay $device 0 $1 $device 0 0"; }
# shellcheck source=bench/lab/slow-disk.sh
. "$LAB_D/slow-disk.sh"

ctl() { forefetch --socket "$(sed -n 's/^control_socket *= *//p' "$LAB_CONF")" "$@"; }

up() {	# SIDE
	lab_conf_set forefetch cache_dir "$LAB_CACHE/$1"
	lab_proxy_start && lab_mount_proxy
}

down() { lab_umount && lab_proxy_stop; }

one_run() {	# DELAY SIDE
	local before out
	lab_drop_caches
	up "$2"
	lab_drop_caches
	set_delay "$1"
	before=$(disk_reads)
	out=$(tool run "$LAB_PROXY")
	before=$(($(disk_reads) - before))
	set_delay 0
	ctl stats --json >/run/lab/stats.json
	echo "run $1 $2 $out $(tool gauges /run/lab/stats.json) $before"
	down
}

lab_umount
lab_proxy_stop
slow_disk
tool make "$LAB_EXPORT" "$LAYOUT_FILES"
lab_conf_set "server lab" consistency frozen
lab_conf_set forefetch reorder_rate off
while read -r setting; do
	[ -z "$setting" ] ||
		lab_conf_set "server lab" "${setting%%=*}" "${setting#*=}"
done <<<"$LAYOUT_SET"

echo "layout: filling the cache" >&2
mkdir "$LAB_CACHE/before"
up before
tool fill "$LAB_PROXY"
down
# The job uses its files in its order, twice, so that the daemon learns what
# is prefetched, too.
for turn in 1 2; do
	up before
	lab_drop_caches
	tool run "$LAB_PROXY" >/run/lab/turn.$turn
	down
done
cp -a "$LAB_CACHE/before" "$LAB_CACHE/after"
lab_conf_set forefetch reorder_rate 8gbit
up after
lab_drop_caches
tool run "$LAB_PROXY" >/dev/null
lab_now; t0=$LAB_NOW
made=$(ctl reorder --json)
lab_now
echo "compact $((LAB_NOW - t0)) $made"
down
lab_conf_set forefetch reorder_rate off
for delay in 0 $LAYOUT_DELAY; do
	for ((n = 0; n < LAYOUT_RUNS; n++)); do
		echo "layout: delay $delay, pair $n" >&2
		# Each of the two goes first equally often.
		if ((n % 2)); then sides="after before"
		else sides="before after"; fi
		for side in $sides; do one_run "$delay" "$side"; done
	done
done
