# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# The farm's engine in the lab's guest: redis-server in a network namespace of
# its own, with an address that is 0.2 ms away on a link of 1 Gb/s:
#
#   engine0 10.95.0.1  <--netem-->  10.95.0.2 eth0 in the engine's namespace
#
# One node listens on port 6379; the nodes of a cluster on 7001 to 7006. What
# they keep is in $engine_dir: NAME.rdb is a snapshot that a node can start
# with, so that each run finds the engine as it was left by the same machine.
#
# Functions
#   engine_machine            makes namespace and link, once
#   engine_start SNAPSHOT [OPTION...]   one node; `none` is an empty one
#   engine_stop               kill -9, also where it was stopped by SIGSTOP
#   engine_hang               SIGSTOP
#   engine_keep SNAPSHOT      writes what it has, after it was started with `none`
#   engine_settle SECONDS     until nothing was stored for so long
#   cluster_start             six nodes: three masters, a replica of each
#   cluster_kill_master       kill -9 of one of them
#   cluster_mend              starts it again, and waits for the cluster
#   cluster_stop

engine_addr=10.95.0.2
engine_dir=$LAB_CACHE/engine
engine_memory=${FARM_MEMORY:-768mb}
cluster_ports=(7001 7002 7003 7004 7005 7006)

engine_machine() {
	local args
	setsid unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
	engine_holder=$!
	disown
	lab_poll 10 engine_machine_ready || return 1
	lab_join engine0 eth0 10.95.0 "$engine_holder" || return 1
	args=$(lab_netem 0.2ms 1gbit - -) || return 1
	# shellcheck disable=SC2086 # words
	tc qdisc replace dev engine0 root handle 1: $args &&
		engine_in ip link set lo up &&
		engine_in tc qdisc replace dev eth0 root handle 1: $args ||
		return 1
	mkdir -p "$engine_dir"
}

engine_machine_ready() {
	[ "$(readlink "/proc/$engine_holder/ns/net")" != \
		"$(readlink /proc/self/ns/net)" ] &&
		grep -qx sleep "/proc/$engine_holder/comm"
}

engine_in() { nsenter -t "$engine_holder" -n -- "$@"; }

# node_start PORT OPTION...: returns when it answers
node_start() {
	local port=$1
	shift
	setsid nsenter -t "$engine_holder" -n -- redis-server --port "$port" \
		--bind 0.0.0.0 --protected-mode no --daemonize no \
		--appendonly no --dir "$engine_dir" \
		--maxmemory "$engine_memory" --maxmemory-policy allkeys-lru \
		--save '' "$@" </dev/null \
		>>"$LAB_STATE/redis-$port.log" 2>&1 &
	node_pid[port]=$!
	disown
	lab_poll 60 node_answers "$port" || {
		lab_err "redis-server does not answer on port $port"
		tail -n 5 "$LAB_STATE/redis-$port.log" >&2
		return 1
	}
}

node_answers() { [ "$(node_cli "$1" ping 2>/dev/null)" = PONG ]; }

# node_cli PORT COMMAND...
node_cli() {
	local port=$1
	shift
	engine_in timeout 10 redis-cli -h "$engine_addr" -p "$port" "$@"
}

node_stop() {
	local pid=${node_pid[$1]:-}
	[ -n "$pid" ] || return 0
	kill -9 "$pid" 2>/dev/null
	lab_poll 10 lab_dead "$pid"
	unset "node_pid[$1]"
}

engine_start() {
	local snapshot=$1
	shift
	engine_stop
	node_start 6379 --dbfilename "$snapshot.rdb" "$@" || return 1
	[ ! -e "$engine_dir/$snapshot.keys" ] ||
		[ "$(node_cli 6379 dbsize)" = \
			"$(cat "$engine_dir/$snapshot.keys")" ] ||
		lab_err "the engine did not get $snapshot back"
}

engine_stop() { node_stop 6379; }
engine_hang() { kill -STOP "${node_pid[6379]}"; }

engine_keep() {
	# The name of the file cannot be changed while it runs.
	node_cli 6379 dbsize >"$engine_dir/$1.keys" &&
		[ "$(node_cli 6379 save)" = OK ] &&
		mv "$engine_dir/none.rdb" "$engine_dir/$1.rdb"
}

# Prints what each node was asked to keep until now, and how many keys it has.
engine_filled() {
	local port
	for port in "${!node_pid[@]}"; do
		printf 'info commandstats\ninfo keyspace\n' |
			node_cli "$port" | tr -d '\r' |
			sed -n 's/^cmdstat_\(set:calls=[0-9]*\).*/\1/p
				s/^db0:\(keys=[0-9]*\).*/\1/p'
	done
}

# engine_settle SECONDS: what was learned comes when nothing more is learned for
# some seconds
engine_settle() {
	local i was now
	now=$(engine_filled)
	for ((i = 0; i < 20; i++)); do
		was=$now
		lab_nap "$1"
		now=$(engine_filled)
		[ "$was" != "$now" ] || return 0
	done
}

# --- a cluster ---------------------------------------------------------------

# cluster_node PORT: what it knew of the others is in a file of its own
cluster_node() {
	node_start "$1" --cluster-enabled yes --cluster-node-timeout 2000 \
		--cluster-config-file "nodes-$1.conf" \
		--dbfilename "node-$1.rdb" --maxmemory 256mb
}

cluster_start() {
	local port nodes=()
	rm -f "$engine_dir"/node*
	for port in "${cluster_ports[@]}"; do
		cluster_node "$port" || return 1
		nodes+=("$engine_addr:$port")
	done
	engine_in timeout 90 redis-cli --cluster create "${nodes[@]}" \
		--cluster-replicas 1 --cluster-yes >"$state/cluster" 2>&1 || {
		tail -n 5 "$state/cluster" >&2
		return 1
	}
	lab_poll 60 cluster_whole
}

# All nodes say that all is well, and each replica has its master.
cluster_whole() {
	local port role
	for port in "${cluster_ports[@]}"; do
		node_cli "$port" cluster info | grep -q '^cluster_state:ok' ||
			return 1
		role=$(node_cli "$port" role | tr '\n' ' ')
		case $role in
		master*) ;;
		slave*connected*) ;;
		*) return 1 ;;
		esac
	done
}

# Finds one beforehand: it takes several commands.
cluster_choose() {
	local port
	for port in "${cluster_ports[@]}"; do
		case $(node_cli "$port" role | head -n 1) in
		*master*) cluster_victim=$port; return 0 ;;
		esac
	done
	return 1
}

cluster_kill_master() { kill -9 "${node_pid[cluster_victim]}"; }

cluster_mend() {
	node_stop "$cluster_victim"
	# It has nothing to bring: the one that took over has it all.
	rm -f "$engine_dir/node-$cluster_victim.rdb"
	cluster_node "$cluster_victim" && lab_poll 60 cluster_whole
}

cluster_stop() {
	local port
	for port in "${cluster_ports[@]}"; do node_stop "$port"; done
}

cluster_url() {
	local port urls=''
	for port in "${cluster_ports[@]}"; do
		urls+=", redis://$engine_addr:$port"
	done
	echo "${urls#, }"
}
