#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# repair   changes under way when the server is lost: nothing OK that was not
# lab: --no-mount --rtt 2ms --mem 768M --timeout 2400
#
# repair [N [KIND...]]: N lock directories and N renames (1000 of each) in
# each kind of outage: refused, silent and long; see repair.py.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

n=${1:-1000}
shift
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(refused silent long)
FLOOR=$(lab_floor_addr)
export FLOOR
lab_export "$LAB_EXPORT" async || fail "cannot export"
# knfsd goes on without acknowledgments for some hundred replies a connection.
lab_proxy_stop
lab_conf_set "server lab" connections 16
lab_proxy_start || fail "the daemon starts"

for kind in "${kinds[@]}"; do
	if python3 "$E2E/repair/repair.py" "$kind" "$n" >/tmp/repair.out 2>&1; then
		ok "$kind"
	else
		fail "$kind"
	fi
	tail -n 60 /tmp/repair.out | cut -c 1-300 | sed 's/^/     /'
done
e2e_end
