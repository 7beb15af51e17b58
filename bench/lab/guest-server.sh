# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Servers of the lab's guest.  Each is a "machine": network and mount
# namespaces kept by a sleeping process, with a /run and a /var/lib/nfs of its
# own, joined to the client by a veth pair:
#   client labN 10.99.N.1  <-->  10.99.N.2 eth0 in the server's namespace
# and by another one that never has a link emulated (lab_mount floor):
#   client floorN 10.97.N.1  <-->  10.97.N.2 eth1
# Its state is in $LAB_STATE/srv/NAME: holder, index, kind, exports, link.

lab_server_new() {
	local name=$1 kind=$2 path=$3 dir=$LAB_STATE/srv/$1 i holder
	mkdir -p "$LAB_STATE/srv" || return 1
	i=0
	while [ -e "$LAB_STATE/srv/index-$i" ]; do i=$((i + 1)); done
	: >"$LAB_STATE/srv/index-$i"
	mkdir "$dir" || return 1
	echo "$i" >"$dir/index"
	echo "$kind" >"$dir/kind"
	echo "- - - -" >"$dir/link"
	setsid unshare --mount --net --propagation unchanged bash -c '
		mount -t tmpfs -o mode=755 run /run &&
		mount -t tmpfs -o mode=755 nfs /var/lib/nfs &&
		mkdir -p /var/lib/nfs/{sm,sm.bak,v4recovery,ganesha} \
			/run/rpcbind /run/lock &&
		touch /var/lib/nfs/{etab,rmtab,xtab} &&
		ip link set lo up && exec sleep infinity' </dev/null >/dev/null 2>&1 &
	holder=$!
	disown
	echo "$holder" >"$dir/holder"
	# It is ready when it sleeps.
	lab_poll 10 lab_sleeps "$holder" || return 1
	lab_join "lab$i" eth0 "10.99.$i" "$holder" &&
		lab_join "floor$i" eth1 "10.97.$i" "$holder" || return 1
	# As its root, since / and /srv cannot be exported here.
	echo "$path $LAB_EXPORT_OPTS${LAB_NFSD_V4:+,fsid=0}" >"$dir/exports"
	LAB_ON=$name lab_server_start
}

lab_sleeps() { [ "$(<"/proc/$1/comm")" = sleep ]; }

# lab_join OURS THEIRS NET HOLDER: a pair of devices, NET.1 here, NET.2 there.
# Each TCP segment is a packet, as on a wire: newer kernels pass several as one,
# so that no part of a reply would arrive before the rest.
lab_join() {
	ip -batch - <<-END && nsenter -t "$4" -n ip -batch - <<-END2
		link add $1 type veth peer name $2 netns $4
		addr add $3.1/24 dev $1
		link set $1 gso_max_segs 1 up
	END
		addr add $3.2/24 dev $2
		link set $2 gso_max_segs 1 up
	END2
}

lab_server_start() {
	local kind
	read -r kind <"$LAB_STATE/srv/$LAB_ON/kind"
	lab_daemon rpcbind rpcbind -f
	lab_poll 10 lab_listening "$(lab_holder)" 111 ||
		{ lab_err "rpcbind does not listen"; return 1; }
	"lab_${kind}_start" || { lab_err "$kind does not start"; return 1; }
	lab_poll 60 lab_listening "$(lab_holder)" 2049 &&
		lab_poll 20 lab_listening "$(lab_holder)" 20048 ||
		{ lab_err "$kind does not listen"; return 1; }
}

lab_server_stop() {
	local kind
	read -r kind <"$LAB_STATE/srv/$LAB_ON/kind"
	"lab_${kind}_stop"
	lab_daemon_end rpcbind
}

# lab_daemon NAME COMMAND...: in the server's namespaces, in the foreground
# of its own session, its output to a log of the lab.
lab_daemon() {
	local name=$1 dir=$LAB_STATE/srv/$LAB_ON
	shift
	setsid nsenter -t "$(lab_holder)" -m -n -- "$@" \
		</dev/null >>"$LAB_STATE/$LAB_ON-$name.log" 2>&1 &
	echo $! >"$dir/$name.pid"
	disown
}

lab_daemon_end() {
	local pid
	{ read -r pid <"$LAB_STATE/srv/$LAB_ON/$1.pid"; } 2>/dev/null || return 0
	kill -9 "$pid" 2>/dev/null
	lab_poll 10 lab_dead "$pid"
}

lab_export() {
	local path=$1 opts=$LAB_EXPORT_OPTS${2:+,$2}
	local list=$LAB_STATE/srv/$LAB_ON/exports kind
	grep -v "^$path " "$list" >"$list.new"
	echo "$path $opts" >>"$list.new"
	mv "$list.new" "$list"
	read -r kind <"$LAB_STATE/srv/$LAB_ON/kind"
	"lab_${kind}_export"
}

lab_disk_new() {
	local dir=$1 image=$LAB_CACHE/.disk-${1//\//-}
	truncate -s "$2" "$image" && mkfs.ext4 -q -F "$image" || return 1
	mkdir -p "$dir"
	mount -o loop,acl,user_xattr,nobarrier "$image" "$dir" &&
		rmdir "$dir/lost+found"
}

# Server and client share one kernel here, as they never should: dirty pages of
# the client that wait for the server count against the server's own writes,
# and knfsd hangs in balance_dirty_pages where its disk's share has decayed to
# nothing.  A minimum share (percent) for that disk is what a machine of its
# own would give it.
lab_own_dirty_share() {
	echo 30 >"/sys/class/bdi/$(mountpoint -d "$1")/min_ratio" 2>/dev/null ||
		lab_err "cannot set min_ratio for $1"
}

# --- knfsd -------------------------------------------------------------------

lab_knfsd_export() {
	local path opts
	lab_in "$LAB_ON" exportfs -ua
	while read -r path opts; do
		lab_in "$LAB_ON" exportfs -i -o "$opts" "*:$path" || return 1
	done <"$LAB_STATE/srv/$LAB_ON/exports"
}

lab_knfsd_start() {
	lab_in "$LAB_ON" sh -c 'mountpoint -q /proc/fs/nfsd ||
		mount -t nfsd nfsd /proc/fs/nfsd' || return 1
	# By default it goes by the memory, which is small here: 128 KiB.  The
	# servers people have answer 1 MiB.  Fails while threads run.
	lab_in "$LAB_ON" sh -c \
		'echo 1048576 >/proc/fs/nfsd/max_block_size' 2>/dev/null
	lab_knfsd_export || return 1
	lab_daemon mountd rpc.mountd -F -p 20048
	if [ -n "${LAB_NFSD_V4:-}" ]; then
		# The first to open a file waits for the end of it.
		lab_in "$LAB_ON" sh -c '
			echo 10 >/proc/fs/nfsd/nfsv4leasetime &&
			echo 10 >/proc/fs/nfsd/nfsv4gracetime' &&
			lab_in "$LAB_ON" rpc.nfsd -V 3 -V 4.2 8
	else
		lab_in "$LAB_ON" rpc.nfsd -V 3 -N 4 8
	fi
}

lab_knfsd_stop() {
	lab_in "$LAB_ON" rpc.nfsd 0
	lab_daemon_end mountd
}

# --- nfs-ganesha -------------------------------------------------------------

# NFSACL (program 100227): ganesha 4.3 answers GETACL, but every SETACL ends in
# "Bad xdr_free for NFSACL_SETACL" and EIO for the client, which makes `cp -p`
# fail; lab_mount therefore adds `noacl` where the server is ganesha.  It keeps
# names and attributes in memory: what a script changes in $LAB_EXPORT itself
# is not seen through it for a while, and removed files turn up as ESTALE.
# D-Bus is absent; ganesha says so in its log and does without it.
# Bind_addr: ganesha refuses to start in a namespace with only a loopback
# address.  Graceless: else its grace period answers JUKEBOX to every SETATTR.
lab_ganesha_conf() {
	local path opts id=0 squash
	cat <<EOF
NFS_CORE_PARAM {
	Protocols = 3;
	Bind_addr = 0.0.0.0;
	NFS_Port = 2049;
	MNT_Port = 20048;
	Enable_NLM = false;
	Enable_RQUOTA = false;
	mount_path_pseudo = false;
}
NFSV4 { Graceless = true; RecoveryRoot = /var/lib/nfs/ganesha; }
EOF
	while read -r path opts; do
		id=$((id + 1)) squash=No_Root_Squash
		case ,$opts, in *,root_squash,*) squash=Root_Squash ;; esac
		case ,$opts, in *,all_squash,*) squash=All_Squash ;; esac
		cat <<EOF
EXPORT {
	Export_Id = $id;
	Path = $path;
	Pseudo = $path;
	Access_Type = RW;
	Squash = $squash;
	Protocols = 3;
	Transports = TCP;
	SecType = sys;
	FSAL { Name = VFS; }
}
EOF
	done <"$LAB_STATE/srv/$LAB_ON/exports"
}

lab_ganesha_start() {
	lab_ganesha_conf |
		lab_in "$LAB_ON" sh -c 'cat >/var/lib/nfs/ganesha.conf' || return 1
	lab_daemon ganesha ganesha.nfsd -F -L STDOUT -N NIV_EVENT \
		-f /var/lib/nfs/ganesha.conf -p /run/ganesha.pid
}

lab_ganesha_stop() { lab_daemon_end ganesha; }

# It reads its exports when it starts (or through D-Bus, which is absent here).
lab_ganesha_export() { lab_server_stop; lab_server_start; }
