# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# The machines of a farm: each is a forefetchd with a port, a control socket,
# a cache directory and an NFS mount of its own. They are numbered; machine 0
# has no farm. The kernel shares pages only between mounts of the same address
# and port, so these share none.

first_port=2300
engine_url=redis://$engine_addr:6379

# machine_do NUMBER COMMAND...: the lab's functions mean that daemon
machine_do() {
	local m=$1
	shift
	LAB_PROXY_NAME=machine-$m LAB_CONF=$state/$m.conf \
		LAB_PROXY_LOG=$LAB_STATE/forefetchd-$m.log "$@"
}

# machine_conf NUMBER ENGINE: written anew before each start
machine_conf() {
	lab_conf_write >"$LAB_CONF"
	lab_conf_set forefetch cache_dir "$LAB_CACHE/machines/$1"
	lab_conf_set forefetch cache_size 4G
	lab_conf_set forefetch control_socket "$state/$1.sock"
	lab_conf_set "server lab" listen "127.0.0.1:$((first_port + $1))"
	if [ "$1" != 0 ] && [ "$farm_known" = yes ]; then
		lab_conf_set farm engine "$2"
		lab_conf_set farm key_file "$state/key"
	fi
}

# Whether this build's daemon takes the section [farm].
machine_knows_farm() {
	farm_known=yes
	machine_do 1 machine_conf 1 "$engine_url"
	"$LAB_BUILD/forefetchd" -t -f "$state/1.conf" >"$state/check" 2>&1 &&
		return
	farm_known=no
	machine_do 1 machine_conf 1 "$engine_url"
	"$LAB_BUILD/forefetchd" -t -f "$state/1.conf" >"$state/check-2" 2>&1 &&
		{ sed 's/^/  /' "$state/check" >&2; return 1; }
	cat "$state/check-2" >&2
	give_up "forefetchd refuses its configuration"
}

# machine_start NUMBER [ENGINE]
machine_start() {
	mkdir -p "$LAB_CACHE/machines/$1"
	machine_do "$1" machine_conf "$1" "${2:-$engine_url}"
	machine_do "$1" lab_proxy_start || give_up "machine $1 does not start"
}

machine_stop() {
	machine_do "$1" lab_proxy_stop || give_up "machine $1 does not end"
}

# machine_new NUMBER [ENGINE]: with an empty disk
machine_new() {
	machine_stop "$1"
	rm -rf "$LAB_CACHE/machines/$1"
	machine_start "$@"
}

# machine_again NUMBER [ENGINE]: with the disk that it had
machine_again() {
	machine_stop "$1"
	machine_start "$@"
}

# machine_mount NUMBER|direct|floor DIR
machine_mount() {
	local where=$1
	case $1 in
	direct | floor) ;;
	*) where=127.0.0.1:$((first_port + $1)) ;;
	esac
	lab_mount "$where" "$LAB_EXPORT" "$2" || give_up "$1 cannot be mounted"
}

# machine_unmount DIR...: pages, names and attributes go with the mount
machine_unmount() {
	local d i
	for d in "$@"; do
		for ((i = 0; i < 100; i++)); do
			lab_mounted "$d" || break
			umount "$d" 2>/dev/null || lab_nap 0.1
		done
	done
	lab_poll 10 no_client || give_up \
		"something still uses a mount: $(cat /proc/fs/nfsfs/volumes)"
	lab_drop_caches
}

no_client() { [ "$(wc -l </proc/fs/nfsfs/volumes)" -le 1 ]; }

# --- what is counted ---------------------------------------------------------

# count NUMBER...: into c_cpu (microseconds of these machines' daemons), and
# bytes c_in, c_out of the slow link, c_ein, c_eout of the engine's
count() {
	local m pid stat dev=lab0 in=/statistics/rx_bytes out=/statistics/tx_bytes
	[ "${1:-}" != floor ] || dev=floor0
	read -r c_in </sys/class/net/$dev$in
	read -r c_out </sys/class/net/$dev$out
	read -r c_ein </sys/class/net/engine0$in
	read -r c_eout </sys/class/net/engine0$out
	c_cpu=0
	for m in "$@"; do
		[[ $m =~ ^[0-9]+$ ]] && pid=$(machine_do "$m" lab_proxy_pid) ||
			continue
		read -r stat <"/proc/$pid/stat"
		# shellcheck disable=SC2206 # the fields after the name
		stat=(${stat##*) })
		c_cpu=$((c_cpu + (stat[11] + stat[12]) * 1000000 / hertz))
	done
}

# count_begin NUMBER...; count_end NUMBER... prints what has come since
count_begin() {
	count "$@"
	was=("$c_cpu" "$c_in" "$c_out" "$c_ein" "$c_eout")
}

count_end() {
	count "$@"
	printf 'cpu=%d in=%d out=%d ein=%d eout=%d' $((c_cpu - was[0])) \
		$((c_in - was[1])) $((c_out - was[2])) $((c_ein - was[3])) \
		$((c_eout - was[4]))
}
