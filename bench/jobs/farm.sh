# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The job `farm`: eight machines that build the same sources at once, through
# one proxy (or each directly).  A machine is a network namespace with a
# connection, an NFS client and caches of its own:
#
#   10.98.N.2 eth0 in the namespace  <-->  farmN 10.98.N.1  -->  link, server
#
# The floor goes by the other way to the server, in both directions, as 10.96.N.2.

farm=/mnt/farm
farm_clients=8

farm_needed() { [[ " $JOBS_LIST " = *" farm "* ]]; }

farm_start() {
	local i holder
	farm_needed || return 0
	echo 1 >/proc/sys/net/ipv4/ip_forward
	lab_in server ip route add 10.98.0.0/16 via 10.99.0.1 &&
		lab_in server ip route add 10.96.0.0/16 via 10.97.0.1 || return 1
	for ((i = 1; i <= farm_clients; i++)); do
		setsid unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
		holder=$!
		disown
		farm_holders[i]=$holder
		lab_poll 10 farm_ready "$holder" || return 1
		mkdir -p "$farm/$i"
		lab_join "farm$i" eth0 "10.98.$i" "$holder" &&
			ip addr add "10.96.$i.1/24" dev "farm$i" &&
			nsenter -t "$holder" -n sh -c "ip link set lo up &&
				ip addr add 10.96.$i.2/24 dev eth0 &&
				ip route add default via 10.98.$i.1 &&
				ip route add 10.97.0.0/24 via 10.96.$i.1 \
					src 10.96.$i.2" || return 1
	done
}

farm_ready() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
		grep -qx sleep "/proc/$1/comm"
}

# farm_mount ARM
farm_mount() {
	local i where port opts=vers=3,nolock,tcp,mountproto=tcp
	for ((i = 1; i <= farm_clients; i++)); do
		where=$(lab_addr server) port=mountport=20048
		if [ "$1" = floor ]; then
			where=$(lab_floor_addr server)
		elif is_proxy "$1"; then
			where=10.98.$i.1
			port=port=$(arm_port "$1"),mountport=$(arm_port "$1")
		fi
		nsenter -t "${farm_holders[i]}" -n mount -t nfs \
			-o "$opts,$port" "$where:$LAB_EXPORT" "$farm/$i" ||
			give_up "client $i of the farm cannot mount ($1)"
	done
}

farm_umount() {
	local i
	for ((i = 1; i <= farm_clients; i++)); do
		lab_poll 10 umount "$farm/$i" 2>/dev/null
	done
}
