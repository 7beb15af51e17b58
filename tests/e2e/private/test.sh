#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# private  nobody gets through the proxy what the server would deny him
# lab: --no-mount --timeout 1500
#
# private [--short]: private.py compares every procedure's answer, direct and
# through the proxy, for several credentials, after root and the owner have read
# everything; then rights are taken away.  In all modes, and where root is
# squashed; --short: in bounded only, and half of the cases.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

modes=(strict bounded frozen) squashed=(everybody together)
cases=(everybody together revoked given own_revoke)
if [ "${1:-}" = --short ]; then
	modes=(bounded) cases=(together revoked) squashed=(everybody)
fi

mode_set() {
	lab_proxy_stop
	lab_conf_set "server lab" consistency "$1"
	lab_conf_set "server lab" attr_timeout 300ms
	lab_conf_set "server lab" negative_timeout 300ms
	lab_conf_set "server lab" secure no
	lab_proxy_start
}

try() {	# NAME MODE CASE EXPORT [OPTION...]
	local name=$1 mode=$2 case=$3 export=$4
	shift 4
	if python3 "$E2E/private/private.py" --direct "$LAB_ADDR:2049" \
		--mount "$LAB_ADDR:20048" --proxy 127.0.0.1:2050 \
		--mode "$mode" --case "$case" "$@" "$export" \
		>/tmp/private.out 2>&1; then
		ok "$name $mode, $case: $(tail -1 /tmp/private.out)"
	else
		fail "$name $mode, $case"
		head -n 60 /tmp/private.out | cut -c 1-400 | sed 's/^/     /'
	fi
}

# A squashed root owns nothing here, so the owner makes what is there.
mkdir /srv/squash
lab_disk_new /srv/squash 256M && chmod 777 /srv/squash
opts=${LAB_EXPORT_OPTS/no_root_squash/root_squash}
LAB_EXPORT_OPTS=$opts lab_export /srv/squash
for mode in "${modes[@]}"; do
	check "$mode: the daemon starts" mode_set "$mode"
	for case in "${cases[@]}"; do
		try no_root_squash "$mode" "$case" "$LAB_EXPORT"
	done
	for case in "${squashed[@]}"; do
		try root_squash "$mode" "$case" /srv/squash --owner-makes
	done
done
e2e_end
