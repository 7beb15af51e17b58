#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# histories  random changes, kill -9, a new start: nothing lost, nothing stale
# lab: --no-mount --no-proxy --timeout 3000
#
# histories [KILLS [SEED]]: KILLS (200) in frozen and as many in bounded, most
# of them by a raw client, which is faster, some under a kernel mount.  A failure
# prints the shortest history that it finds; the seed repeats it.  For thousands
# of kills run histories.py without the lab: see there.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

kills=${1:-200} seed=${2:-$((RANDOM * 32768 + RANDOM))}
mounted=$(((kills + 19) / 20))
# The server is not what is killed here.
lab_export "$LAB_EXPORT" async || fail "cannot export"

history() {	# MODE BY KILLS
	if python3 "$E2E/histories/histories.py" --mode "$1" --by "$2" --kills "$3" \
		--seed "$seed" --work "$LAB_CACHE/histories" \
		--export "$LAB_ADDR:$LAB_EXPORT" >/tmp/history.out 2>&1; then
		ok "$(cat /tmp/history.out)"
	else
		fail "$1, $2, seed $seed"
		tail -n 60 /tmp/history.out | sed 's/^/     /'
	fi
}

for mode in frozen bounded; do
	history $mode raw $((kills - mounted))
	history $mode mount $mounted
done
e2e_end
