# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/linkfollow/run that runs in the lab's guest.
# It prints, for linkfollow.py,
# with microseconds of one clock:
#
#   phase ARM NAME BYTES_A_SECOND BEGIN     what the link is from then on
#   file ARM BEGIN END                      a file was read
#   rate ARM TIME BYTES_A_SECOND BASE_US    what forefetch shows
#   done
set -u
tool() { python3 "$LAB_ROOT/bench/linkfollow/linkfollow.py" "$@"; }
socket=$(sed -n 's/^control_socket *= *//p' "$LAB_CONF")

phase() {
	lab_now
	echo "phase $1 $2 $3 $LAB_NOW"
}

phases() {
	phase "$1" 20mbit 2500000
	lab_nap "$FOLLOW_PHASE"
	lab_link 40ms 1mbit - -
	phase "$1" 1mbit 125000
	lab_nap "$FOLLOW_PHASE"
	lab_link 40ms 20mbit - -
	phase "$1" 20mbit-again 2500000
	lab_nap "$FOLLOW_PHASE"
	lab_link_down drop
	phase "$1" gone 2500000
	lab_nap 10
	lab_link_up
	phase "$1" back 2500000
	lab_nap "$FOLLOW_PHASE"
	lab_link 40ms 20mbit 1% 10ms
	phase "$1" lossy 2500000
	lab_nap "$FOLLOW_PHASE"
	lab_link 40ms 20mbit - -
	phase "$1" end 2500000
}

# run ARM MOUNT
run() {
	local reader sampler=''
	lab_drop_caches
	rm -f /run/lab/stop /run/lab/begun-*
	tool read "$1" "$2/follow" /run/lab & reader=$!
	if [ "$1" = proxy ]; then
		tool sample "$1" "$socket" /run/lab & sampler=$!
	fi
	lab_poll 60 test -e /run/lab/begun-read || exit 1
	[ -z "$sampler" ] || lab_poll 60 test -e /run/lab/begun-sample || exit 1
	phases "$1"
	: >/run/lab/stop
	wait $reader $sampler
}

tool make "$LAB_EXPORT/follow"
lab_umount "$LAB_PROXY" && lab_proxy_stop
while read -r setting; do
	[ -z "$setting" ] || lab_conf_set "server lab" \
		"${setting%%=*}" "${setting#*=}"
done <<<"$FOLLOW_SET"
lab_proxy_start && lab_mount_proxy || exit 1
run proxy "$LAB_PROXY"
lab_umount "$LAB_PROXY"
run direct "$LAB_DIRECT"
echo "done"
