#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# consistency  two raw clients change files under each other's eyes, all modes
# lab: --no-mount --timeout 1500
#
# consistency [--selftest] [OPERATIONS [SEED...]]: 2000 operations a mode.
# Every answer that the proxy's client gets must be explained by a state that
# was true within the bound of the mode; see consistency_model.py.  --selftest
# tries proxies that are wrong on purpose, each of which must be caught.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

selftest=no
if [ "${1:-}" = --selftest ]; then selftest=yes; shift; fi
operations=${1:-2000}
[ $# -eq 0 ] || shift
seeds=("$@")
[ ${#seeds[@]} -gt 0 ] || seeds=($((RANDOM * 32768 + RANDOM)))
options=()
# nfs-ganesha says eof only to a READ that is cut short.
[ "$LAB_SERVER" = knfsd ] || options+=(--eof-lax)

judge() {	# MODE SEED PROXY [OPTION...]
	local mode=$1 seed=$2 proxy=$3
	shift 3
	python3 "$E2E/consistency/consistency.py" --direct "$LAB_ADDR:2049" \
		--mount "$LAB_ADDR:20048" --proxy "$proxy" --mode "$mode" \
		--seed "$seed" "${options[@]}" "$@" "$LAB_EXPORT"
}

mode_set() {
	lab_proxy_stop
	lab_conf_set "server lab" consistency "$1"
	lab_conf_set "server lab" attr_timeout 300ms
	lab_conf_set "server lab" negative_timeout 200ms
	lab_conf_set "server lab" secure no
	lab_proxy_start
}

run_modes() {
	local mode seed
	for mode in strict bounded frozen; do
		check "$mode: the daemon starts" mode_set $mode
		for seed in "${seeds[@]}"; do
			if judge $mode "$seed" 127.0.0.1:2050 \
				--ops "$operations" >/tmp/judge.out 2>&1; then
				ok "$(cat /tmp/judge.out)"
			else
				fail "$mode, seed $seed"
				sed 's/^/     /' /tmp/judge.out
			fi
		done
	done
}

# A fault must be caught with one of three seeds.
caught() {	# MODE FAULT
	local seed
	for seed in 1 2 3; do
		judge "$1" $seed "$LAB_ADDR:2049" --fault "$2" --ops 3000 \
			--log 0 >/tmp/judge.out 2>&1 || {
			grep -q "seed $seed: " /tmp/judge.out
			return
		}
	done
	return 1
}

# Without a fault the direct connection passes; so does a plain cache that
# keeps to the bound.
run_selftest() {
	local mode fault
	check "strict: the server itself passes" \
		judge strict 1 "$LAB_ADDR:2049" --ops 2000
	check "bounded: a right cache passes" \
		judge bounded 1 "$LAB_ADDR:2049" --fault right --ops 2000
	check "frozen: a right cache passes" \
		judge frozen 1 "$LAB_ADDR:2049" --fault right --ops 2000
	for mode in strict bounded; do
		for fault in stale stale-names own racy mix reorder absent; do
			# Within the bound, one answer back in time shows.
			check "$mode: $fault is caught" caught $mode $fault &&
				sed -n '1s/^/     /p' /tmp/judge.out
		done
	done
	for fault in own mix; do
		check "frozen: $fault is caught" caught frozen $fault &&
			sed -n '1s/^/     /p' /tmp/judge.out
	done
}

if [ $selftest = yes ]; then run_selftest; else run_modes; fi
e2e_end
