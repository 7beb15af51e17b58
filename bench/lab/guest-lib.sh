# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Library of the lab's guest.  bench/lab/run loads it before a shell script; other
# programs call `bash "$LAB_LIB" FUNCTION ARG...`.
#
# Variables
#   LAB_EXPORT   the export, as the server sees it; also its path on the wire
#   LAB_DIRECT   mount point: kernel client on the server, over the link
#   LAB_PROXY    mount point: kernel client on forefetchd, 127.0.0.1:2050
#   LAB_CACHE    ext4 of the proxy: its cache_dir
#   LAB_CONF     forefetchd's configuration;  LAB_PROXY_LOG its log
#   LAB_ADDR     address of the server;  LAB_SERVER its kind
#   LAB_EXPORT_OPTS, LAB_MOUNT_OPTS  options of every export, every mount
#   LAB_PROXY_NAME  whose process id is meant, where there are several daemons,
#                each with its LAB_CONF and LAB_PROXY_LOG (default: proxy)
#   LAB_ON       which server a function means, where there are several
#
# Functions (they return 0, or print the cause and return 1)
#   lab_mount WHERE PATH DIR [OPTS]  WHERE: direct, proxy or ADDRESS:PORT
#   lab_mount_direct [OPTS]   lab_mount_proxy [OPTS]
#   lab_umount [DIR...]       default: both, where mounted
#   lab_proxy_start           returns when all its ports are listening
#   lab_proxy_stop            TERM, and waits for the end (LAB_STOP_WAIT s)
#   lab_proxy_kill            kill -9, and waits for the end
#   lab_proxy_pid             prints it; fails when there is no daemon
#   lab_proxy_status          exit status of the last daemon (128+N: signal)
#   lab_conf_write            prints the lab's configuration
#   lab_conf_set SECTION KEY VALUE   in $LAB_CONF; SECTION created if missing
#   lab_server_stop           nfsd, mountd and rpcbind end, connections close
#   lab_server_start          and come again, reply cache empty
#   lab_server_new NAME KIND PATH    one more server: own namespace, own link;
#                             then LAB_ON=NAME; lab_addr NAME prints its address
#   lab_export PATH [OPTS]    one more export, or other options for one
#   lab_disk_new DIR SIZE     a new ext4 at DIR, below /srv (loop device)
#   lab_in NAME COMMAND...    runs in the server's namespaces
#   lab_link RTT RATE LOSS JITTER    `-` for none; may change at any time
#   lab_link_down [pull|drop] the cable is pulled, or all packets are lost
#   lab_link_up               undoes both
#   lab_sleep SECONDS         the guest suspends to idle, and wakes up again
#                             (not with --host)
#   lab_floor on|off          link without netem; `off` restores the setting.
#                             Daemons see it too: for a direct mount without a
#                             link there is `lab_mount floor`
#   lab_drop_caches           page cache, dentries, inodes of the guest
#   lab_served                what knfsd has served until now, by procedure
#   lab_settle SECONDS        until the server was not asked anything for so
#                             long; ten times that at most
#   lab_poll SECONDS COMMAND...      until COMMAND succeeds; status 1 if never
#   lab_nap SECONDS           a short sleep without a process
#   lab_now                   microseconds, into $LAB_NOW
#   lab_pair [opts] NAME -- COMMAND...   see there
#   lab_logs, lab_dmesg, lab_hang_report   what a failure needs, to stdout

LAB_DIRECT=/mnt/direct
LAB_PROXY=/mnt/proxy
LAB_FLOOR=/mnt/floor
LAB_WORK=/mnt/work
LAB_CACHE=/mnt/cache
LAB_EXPORT=/srv/export
LAB_ADDR=10.99.0.2
LAB_CONF=/run/lab/forefetch.conf
LAB_PROXY_LOG=/run/lab/forefetchd.log
LAB_STATE=/run/lab
: "${LAB_MOUNT_OPTS:=}" "${LAB_ON:=server}" "${LAB_PROXY_NAME:=proxy}"
: "${LAB_STOP_WAIT:=30}"
: "${LAB_EXPORT_OPTS:=rw,sync,no_subtree_check,no_root_squash,insecure}"
export LAB_DIRECT LAB_PROXY LAB_WORK LAB_CACHE LAB_EXPORT LAB_ADDR LAB_CONF \
	LAB_PROXY_NAME LAB_PROXY_LOG LAB_STATE LAB_MOUNT_OPTS LAB_EXPORT_OPTS LAB_STOP_WAIT
[ -z "${LAB_BUILD:-}" ] || case :$PATH: in
	*:"$LAB_BUILD":*) ;;
	*) PATH=$PATH:$LAB_BUILD ;;
esac

. "${LAB_D:?}/guest-server.sh"
. "${LAB_D:?}/guest-pair.sh"

lab_err() { echo "lab: $*" >&2; return 1; }

# --- waiting -----------------------------------------------------------------

# `read` with a time limit on a pipe that nobody writes to: no fork, which
# costs tens of milliseconds in the guest.
lab_nap() {
	read -r -t "$1" -u "$lab_nap_fd"
	return 0
}
# A pipe whose writing end is open here, too, so that nothing ever comes.
exec {lab_nap_fd}<> <(:)

lab_now() { LAB_NOW=${EPOCHREALTIME/[.,]/}; }

# It sleeps three times as long as COMMAND took, up to a second: whoever waits for
# half a minute would keep a processor busy otherwise.
lab_poll() {
	local end began nap
	lab_now
	end=$((LAB_NOW + $1 * 1000000))
	shift
	while :; do
		began=$LAB_NOW
		! "$@" || return 0
		lab_now
		[ "$LAB_NOW" -lt $end ] || return 1
		nap=$(((LAB_NOW - began) * 3 + 50000))
		# The clock may have been set meanwhile.
		((nap >= 50000 && nap <= 1000000)) || nap=1000000
		printf -v nap '%d.%06d' $((nap / 1000000)) $((nap % 1000000))
		lab_nap "$nap"
		lab_now
	done
}

# Is TCP port $2 listening in the network namespace of process $1?
lab_listening() {
	local hex line tcp tcp6
	printf -v hex ':%04X ' "$2"
	{
		mapfile -t tcp <"/proc/$1/net/tcp"
		mapfile -t tcp6 <"/proc/$1/net/tcp6"
	} 2>/dev/null
	for line in "${tcp[@]}" "${tcp6[@]}"; do
		[[ $line = *"$hex"*' 0A '* ]] && return 0
	done
	return 1
}

# A process that ended but was not waited for (a zombie) is not alive.
lab_alive() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	stat=${stat##*) }
	[ "${stat%% *}" != Z ]
}
lab_dead() { ! lab_alive "$1"; }

# --- the link ----------------------------------------------------------------

lab_index() { lab_word index "$@"; }
lab_holder() { lab_word holder "$@"; }
# lab_word FILE [SERVER]: without a process, each of which takes UML 60 ms
lab_word() {
	local word
	read -r word <"$LAB_STATE/srv/${2:-$LAB_ON}/$1" && echo "$word"
}
lab_addr() { echo "10.99.$(lab_index "$1").2"; }
lab_floor_addr() { echo "10.97.$(lab_index "$1").2"; }
lab_in() {
	local holder
	holder=$(lab_holder "$1") || return 1
	shift
	nsenter -t "$holder" -m -n -- "$@"
}

# Half of a time such as 0.2ms, in microseconds.
lab_half() {
	case $1 in
	-|0) echo 0us ;;
	*us) awk -v t="${1%us}" 'BEGIN { printf "%dus", t / 2 }' ;;
	*ms) awk -v t="${1%ms}" 'BEGIN { printf "%dus", t * 500 }' ;;
	*s)  awk -v t="${1%s}" 'BEGIN { printf "%dus", t * 500000 }' ;;
	*)   lab_err "bad time: $1" ;;
	esac
}

# Room for a queue of one bandwidth-delay product and 1000 packets more.
lab_netem() {
	local delay jitter rate=$2 loss=$3
	delay=$(lab_half "$1") && jitter=$(lab_half "$4") || return 1
	# Every value is given, as a change keeps what is not.  With a rate
	# netem keeps packets in order under jitter, as a link does.
	[ "$rate" != - ] || rate=10gbit
	[ "$loss" != - ] || loss=0%
	echo "netem delay $delay $jitter rate $rate loss $loss limit 5000"
}

lab_link() {
	local dev args holder
	dev=lab$(lab_index)
	holder=$(lab_holder)
	echo "$1 $2 $3 $4" >"$LAB_STATE/srv/$LAB_ON/link"
	if [ "$1$2$3$4" = ---- ]; then
		tc qdisc del dev "$dev" root 2>/dev/null
		nsenter -t "$holder" -n tc qdisc del dev eth0 root 2>/dev/null
		return 0
	fi
	args=$(lab_netem "$@") || return 1
	# shellcheck disable=SC2086 # a list of words
	tc qdisc replace dev "$dev" root handle 1: $args &&
		nsenter -t "$holder" -n \
			tc qdisc replace dev eth0 root handle 1: $args
}

lab_link_down() {
	local holder rtt rate loss jitter
	holder=$(lab_holder)
	if [ "${1:-pull}" = pull ]; then
		nsenter -t "$holder" -n ip link set eth0 down
		return
	fi
	read -r rtt rate loss jitter <"$LAB_STATE/srv/$LAB_ON/link"
	lab_link "$rtt" "$rate" 100% "$jitter"
	echo "$rtt $rate $loss $jitter" >"$LAB_STATE/srv/$LAB_ON/link"
}

lab_link_up() {
	local rtt rate loss jitter
	nsenter -t "$(lab_holder)" -n ip link set eth0 up || return 1
	read -r rtt rate loss jitter <"$LAB_STATE/srv/$LAB_ON/link"
	lab_link "$rtt" "$rate" "$loss" "$jitter"
}

# Its clocks, CLOCK_MONOTONIC too, go on while it sleeps, since they are the
# host's: so a program cannot tell its sleep by the difference of two clocks.
lab_sleep() {
	[ "${LAB_HOST:-no}" = no ] || lab_err "--host: cannot sleep" || return
	echo "$1" >"$LAB_RUN/out/sleep" && sync -f "$LAB_RUN/out" || return
	local rc=0
	echo freeze >/sys/power/state || rc=1
	rm -f "$LAB_RUN/out/sleep"
	return $rc
}

lab_floor() {
	local saved=$LAB_STATE/srv/$LAB_ON/floor rtt rate loss jitter
	case $1 in
	on)
		[ -e "$saved" ] || cp "$LAB_STATE/srv/$LAB_ON/link" "$saved"
		lab_link - - - -
		;;
	off)
		[ -e "$saved" ] || return 0
		read -r rtt rate loss jitter <"$saved"
		rm "$saved"
		lab_link "$rtt" "$rate" "$loss" "$jitter"
		;;
	*) lab_err "lab_floor on|off" ;;
	esac
}

# --- mounts ------------------------------------------------------------------

# lab_kernel_has MAJOR MINOR: is the guest's kernel that one, or newer?
lab_kernel_has() {
	local major minor
	IFS=.- read -r major minor _ </proc/sys/kernel/osrelease
	((major > $1 || (major == $1 && minor >= $2)))
}

lab_mount() {
	local where=$1 path=$2 dir=$3 opts=vers=3,nolock,mountproto=tcp host
	case $where in
	direct) host=$(lab_addr "$LAB_ON"); opts+=,proto=tcp,mountport=20048 ;;
	floor)  host=$(lab_floor_addr "$LAB_ON"); opts+=,proto=tcp,mountport=20048 ;;
	# As forefetch mount has it: mount_options_preset().
	proxy)  host=127.0.0.1; opts+=,proto=tcp,port=2050,mountport=2050,acdirmin=1
		if lab_kernel_has 6 12; then opts+=,noalignwrite; fi ;;
	*)      host=${where%:*}
		opts+=,port=${where##*:},mountport=${where##*:}
		case $host in
		*:*) host=[$host]
			opts=${opts/mountproto=tcp/mountproto=tcp6},proto=tcp6 ;;
		*)   opts+=,proto=tcp ;;
		esac ;;
	esac
	# See guest-server.sh; `acl` in OPTS has the last word.
	[ "$(lab_word kind)" != ganesha ] || opts+=,noacl
	opts+=${LAB_MOUNT_OPTS:+,$LAB_MOUNT_OPTS}${4:+,$4}
	mkdir -p "$dir"
	mount -t nfs -o "$opts" "$host:$path" "$dir"
}

# shellcheck disable=SC2120 # scripts that source this pass options
lab_mount_direct() { lab_mount direct "$LAB_EXPORT" "$LAB_DIRECT" "${1:-}"; }
# shellcheck disable=SC2120
lab_mount_proxy() { lab_mount proxy "$LAB_EXPORT" "$LAB_PROXY" "${1:-}"; }

# From /proc/mounts: asking the mount point itself could hang.
lab_mounted() {
	local dev dir rest
	while read -r dev dir rest; do
		[ "$dir" != "$1" ] || return 0
	done </proc/mounts
	return 1
}

lab_umount() {
	local d rc=0
	if [ $# -eq 0 ]; then set -- "$LAB_DIRECT" "$LAB_PROXY" "$LAB_FLOOR"; fi
	for d in "$@"; do
		if lab_mounted "$d"; then umount "$d" || rc=1; fi
	done
	return $rc
}

lab_drop_caches() { sync; echo 3 >/proc/sys/vm/drop_caches; }

lab_served() { lab_in server grep '^proc3 ' /proc/net/rpc/nfsd; }

lab_settle() {
	local i was now
	now=$(lab_served)
	for ((i = 0; i < 10; i++)); do
		was=$now
		lab_nap "$1"
		now=$(lab_served)
		[ "$now" != "$was" ] || return 0
	done
}

# --- the proxy ---------------------------------------------------------------

lab_conf_write() {
	cat <<EOF
[forefetch]
cache_dir = $LAB_CACHE
cache_size = 1G
control_socket = /run/forefetch/control.sock
log_level = info

[server lab]
address = $LAB_ADDR
listen = 127.0.0.1:2050
allow = 127.0.0.0/8
EOF
}

lab_conf_set() {
	awk -v section="[$1]" -v key="$2" -v value="$3" '
	function put() { if (here && !done) { print key " = " value; done = 1 } }
	/^\[/ { put(); here = ($0 == section) }
	here && $1 == key && $2 == "=" { put(); next }
	{ print }
	END { put(); if (!done) print "\n" section "\n" key " = " value }
	' "$LAB_CONF" >"$LAB_CONF.new" && mv "$LAB_CONF.new" "$LAB_CONF"
}

lab_proxy_ports() {
	awk '$1 == "listen" { n = split($3, a, ":"); print a[n] }' "$LAB_CONF"
}

# Succeeds when all ports listen, or when the daemon is dead.
lab_proxy_settled() {
	local port
	lab_alive "$1" || return 0
	for port in $lab_ports; do
		lab_listening "$1" "$port" || return 1
	done
}

lab_proxy_start() {
	local pid lab_ports base=$LAB_STATE/$LAB_PROXY_NAME
	if pid=$(lab_proxy_pid); then lab_err "forefetchd runs: $pid"; return 1; fi
	mkdir -p /run/forefetch
	lab_ports=$(lab_proxy_ports)
	rm -f "$base.pid" "$base.status"
	(
		trap '' INT TERM HUP
		exec </dev/null >>"$LAB_PROXY_LOG" 2>&1
		cd /
		(
			trap - INT TERM HUP
			echo "$BASHPID" >"$base.pid.new"
			mv "$base.pid.new" "$base.pid"
			# shellcheck disable=SC2086 # LAB_PROXY_WRAP: words
			exec ${LAB_PROXY_WRAP:-} "$LAB_BUILD/forefetchd" \
				-F -f "$LAB_CONF"
		) &
		exec 2>/dev/null # "Killed" would only be noise in the log
		wait $!
		echo $? >"$base.status"
	) &
	disown
	lab_poll 20 test -s "$base.pid" || return 1
	read -r pid <"$base.pid"
	lab_poll 30 lab_proxy_settled "$pid" ||
		{ lab_err "forefetchd does not listen on: $lab_ports"; return 1; }
	lab_alive "$pid" || {
		lab_poll 5 test -s "$base.status"
		lab_err "forefetchd ended with status $(lab_proxy_status)"
		tail -n 20 "$LAB_PROXY_LOG" >&2
		return 1
	}
}

lab_proxy_pid() {
	local pid
	{ read -r pid <"$LAB_STATE/$LAB_PROXY_NAME.pid"; } 2>/dev/null || return 1
	lab_alive "$pid" && echo "$pid"
}

lab_proxy_status() {
	echo "$(<"$LAB_STATE/$LAB_PROXY_NAME.status")"
} 2>/dev/null

lab_proxy_end() {
	local pid
	pid=$(lab_proxy_pid) || return 0
	kill "-$1" "$pid" 2>/dev/null
	lab_poll "$2" lab_dead "$pid" &&
		lab_poll 5 test -s "$LAB_STATE/$LAB_PROXY_NAME.status"
}

lab_proxy_stop() {
	lab_proxy_end TERM "$LAB_STOP_WAIT" ||
		lab_err "forefetchd did not end within $LAB_STOP_WAIT s of TERM"
}

lab_proxy_kill() { lab_proxy_end KILL 10 || lab_err "forefetchd survived kill -9"; }

# --- what a failure needs ----------------------------------------------------

lab_logs() {
	local f
	for f in "$LAB_STATE"/*.log; do
		[ -s "$f" ] || continue
		echo "--- end of ${f##*/}:"
		tail -n "${LAB_LOG_LINES:-40}" "$f"
	done
}

lab_dmesg() { echo "--- end of dmesg:"; dmesg | tail -n 30; }

lab_hang_report() {
	local d stat cmd
	echo "--- processes:"
	for d in /proc/[0-9]*; do
		{ read -r stat <"$d/stat"; } 2>/dev/null || continue
		stat=${stat##*) }
		cmd=$(tr '\0' ' ' <"$d/cmdline" | cut -c 1-100)
		case ${stat%% *} in
		D) echo "${d#/proc/} D: $cmd"; head -8 "$d/stack" ;;
		*) [ -z "$cmd" ] || echo "${d#/proc/} ${stat%% *}: $cmd" ;;
		esac
	done
	lab_dmesg
}

# Called as a program: `bash guest-lib.sh FUNCTION ARG...`
if [ "${BASH_SOURCE[0]}" = "$0" ] && [ $# -gt 0 ]; then "$@"; fi
