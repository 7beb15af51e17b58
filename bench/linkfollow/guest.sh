# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/linkfollow/run that runs in the lab's guest.
# It prints, for linkfollow.py,
# with microseconds of one clock:
#
#   phase ARM NAME VALUE BEGIN              what the link is from then on: bytes
#                                           a second, or a round trip's us
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

rates() {
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

# route ARM NAME RTT_US
route() {
	lab_link "$3us" 20mbit - -
	phase "$@"
}
routes() {
	local name
	route "$1" 0.5ms 500
	lab_nap "$FOLLOW_PHASE"
	for name in 40ms 5ms 40ms-again 300ms 40ms-back; do
		route "$1" $name $((${name%%ms*} * 1000))
		lab_nap "$FOLLOW_PHASE"
	done
	route "$1" end 40000
}

# run ARM MOUNT
run() {
	local reader others=()
	lab_drop_caches
	rm -f /run/lab/stop /run/lab/begun-*
	tool read "$1" "$2/follow" /run/lab & reader=$!
	if [ "$1" = proxy ]; then
		tool sample "$1" "$socket" /run/lab & others+=($!)
		lab_poll 60 test -e /run/lab/begun-sample || exit 1
	fi
	if [ "$FOLLOW_CROSS" = yes ]; then
		tool read cross "$LAB_DIRECT/cross" /run/lab >/dev/null &
		others+=($!)
	fi
	lab_poll 60 test -e /run/lab/begun-read || exit 1
	"$FOLLOW_WHAT" "$1"
	: >/run/lab/stop
	wait $reader "${others[@]}"
}

tool make "$LAB_EXPORT/follow"
[ "$FOLLOW_CROSS" = no ] || tool make "$LAB_EXPORT/cross"
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
