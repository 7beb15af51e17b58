# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# guest.sh [MIB [KEY=VALUE...]]: a reader of large files on a slow link, alone and
# beside a second process that lists one unknown directory after another. In the
# lab, e.g.
#
#   bench/lab/run --rtt 20ms --rate 2mbit bench/slowread/guest.sh
#
# Twice, in turns. The daemon begins with an empty cache; KEY=VALUE are settings
# of its server.
set -u
mib=${1:-8}
tool() { python3 "$LAB_ROOT/bench/slowread/slowread.py" "$@"; }

tool make "$LAB_EXPORT" "$mib" 4
lab_umount "$LAB_PROXY" && lab_proxy_stop
for setting in "${@:2}"; do
	lab_conf_set "server lab" "${setting%%=*}" "${setting#*=}"
done
lab_proxy_start && lab_mount_proxy || exit 1
for turn in 0 1; do
	tool cat "$LAB_PROXY/big-$((2 * turn))" alone
	lab_drop_caches
	tool cat "$LAB_PROXY/big-$((2 * turn + 1))" beside &
	reader=$!
	tool beside "$LAB_PROXY" $((200 * turn)) $reader
	wait $reader
done
forefetch --socket "$(sed -n 's/^control_socket *= *//p' "$LAB_CONF")" stats |
	grep -E '^ *(reads_|read_pieces|upstream_|link_|prefetch_calls)' || true
