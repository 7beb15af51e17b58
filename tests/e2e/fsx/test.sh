#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fsx      random writes, truncates, mmaps and reads through the proxy mount
# lab: --timeout 3000
# host: ../../suites/get fsx
#
# fsx [OPERATIONS [SEEDS]]: `fsx` of crates.io, which nobody here wrote, with
# seeds 1 to SEEDS (20) in each mode: what it wrote itself it must read back.
# Two at a time, so that files disturb each other; in every other run the client
# keeps as little as it can.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

operations=${1:-1000}
seeds=${2:-20}
fsx=$("$LAB_ROOT/tests/suites/get" --path fsx)
if [ ! -x "$fsx" ]; then
	skip "$fsx is not there; tests/suites/get fsx on the host builds it," \
		"which needs cargo"
fi

mode_set() {
	lab_umount "$LAB_PROXY" && lab_proxy_stop &&
		lab_conf_set "server lab" consistency "$1" &&
		lab_proxy_start && lab_mount_proxy "${2:-}"
}

one() {	# MODE SEED
	local file=$LAB_PROXY/fsx-$1-$2
	if ! "$fsx" -q -S "$2" -N "$operations" -f "$E2E/fsx/fsx.toml" \
		-P /tmp "$file" >"/tmp/fsx-$1-$2.out" 2>&1; then
		echo "FAILED with status $?" >>"/tmp/fsx-$1-$2.out"
		touch "/tmp/fsx-$1-$2.failed"
	fi
}

run_seeds() {	# MODE FIRST LAST
	local seed pids
	for ((seed = $2; seed <= $3; seed += 2)); do
		pids=()
		one "$1" $seed & pids+=($!)
		if [ $seed -lt "$3" ]; then
			one "$1" $((seed + 1)) & pids+=($!)
		fi
		wait "${pids[@]}"
	done
}

report() {	# MODE
	local seed good=0
	for ((seed = 1; seed <= seeds; seed++)); do
		if [ ! -e "/tmp/fsx-$1-$seed.failed" ]; then
			good=$((good + 1))
			continue
		fi
		fail "$1, seed $seed"
		tail -n 25 "/tmp/fsx-$1-$seed.out" | cut -c 1-160 |
			sed 's/^/     /'
	done
	check "$1: $good of $seeds seeds, $operations operations each" \
		test $good -eq "$seeds"
	rm -f /tmp/fsx-*
}

check "fsx runs" "$fsx" --version
for mode in strict bounded frozen; do
	check "$mode: the daemon starts" mode_set $mode
	run_seeds $mode 1 $((seeds / 2))
	check "$mode: mounted with noac" mode_set $mode noac,lookupcache=none
	run_seeds $mode $((seeds / 2 + 1)) "$seeds"
	report $mode
done
e2e_end
