# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# The arms of guest.sh that are neither the direct mount nor ours:
#
#   nfs4      the kernel's client, NFSv4.2
#   fscache   the kernel's client, NFSv3, data in FS-Cache (cachefilesd)
#   sshfs     sshfs, attributes and names cached for 20 s (its defaults)
#   ganesha   nfs-ganesha beside the client as a proxy: NFSv3 in front, NFSv4.1
#             behind, attributes cached for 60 s (its defaults)
#   rclone    `rclone serve nfs` beside the client: NFSv3 in front, sftp behind,
#             --vfs-cache-mode full and else its defaults: directories cached
#             for 5 min in memory, data for 1 h on disk, written back 5 s after
#             the file is closed; one mode for all files, names sorted
#
# peer_start NAME prints why it cannot be had here, and returns 1.

is_peer() {
	case $1 in nfs4 | fscache | sshfs | ganesha | rclone) ;; *) return 1 ;; esac
}

# These arms are trained like ours, since they keep what they have read.
peer_learns() {
	case $1 in fscache | ganesha | rclone) ;; *) return 1 ;; esac
}

# Does it list the names of a directory in its own order?
peer_sorts() { [ "$1" = rclone ]; }

peer_start() {
	case $1 in
	nfs4) start_nfs4 ;;
	fscache) start_fscache ;;
	sshfs) start_sshfs ;;
	ganesha) start_ganesha ;;
	rclone) start_rclone ;;
	esac
}

start_nfs4() {
	/run/modprobe nfsv4 2>/dev/null || modprobe nfsv4 2>/dev/null || {
		echo "this kernel has no NFSv4 client"
		return 1
	}
	peer_mount nfs4 2>&1 || return 1
	umount "$LAB_WORK"
}

start_fscache() {
	local dir=$LAB_CACHE/fscache
	/run/modprobe -a fscache cachefiles 2>/dev/null ||
		modprobe -a fscache cachefiles 2>/dev/null || {
		echo "this kernel has no FS-Cache"
		return 1
	}
	command -v cachefilesd >/dev/null || {
		echo "cachefilesd is missing (Debian: cachefilesd)"
		return 1
	}
	mkdir -p "$dir"
	printf 'dir %s\ntag forefetch\nbrun 10%%\nbcull 7%%\nbstop 3%%\n' \
		"$dir" >"$state/cachefilesd.conf"
	cachefilesd -f "$state/cachefilesd.conf" \
		-p "$state/cachefilesd.pid" 2>&1 || return 1
	lab_poll 10 test -s "$state/cachefilesd.pid" ||
		{ echo "cachefilesd does not start"; return 1; }
}

start_sshfs() {
	command -v sshfs >/dev/null ||
		{ echo "sshfs is missing (Debian: sshfs)"; return 1; }
	/run/modprobe fuse 2>/dev/null
	start_sftp
}

# There is no ssh in between, since the other arms are not encrypted either.
start_sftp() {
	local server=/usr/lib/openssh/sftp-server
	if lab_listening "$(lab_holder)" 2222; then return; fi
	[ -x $server ] || {
		echo "sftp-server is missing (Debian: openssh-sftp-server)"
		return 1
	}
	lab_daemon sftp python3 -c 'import socket, subprocess, sys
listening = socket.create_server(("", 2222))
while True:
    s, _ = listening.accept()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    subprocess.Popen(sys.argv[1:], stdin=s, stdout=s)
    s.close()' $server
	lab_poll 10 lab_listening "$(lab_holder)" 2222 ||
		{ echo "sftp-server does not listen"; return 1; }
}

start_ganesha() {
	local conf=$state/ganesha.conf
	ls /usr/lib/*/ganesha/libfsalproxy_v4.so >/dev/null 2>&1 || {
		echo "its proxy is missing (Debian: nfs-ganesha-proxy-v4)"
		return 1
	}
	cat >"$conf" <<END
NFS_CORE_PARAM {
	Protocols = 3;
	Bind_addr = 10.99.0.1;
	NFS_Port = 2060;
	MNT_Port = 2061;
	Enable_NLM = false;
	Enable_RQUOTA = false;
	mount_path_pseudo = false;
}
NFSV4 { Graceless = true; RecoveryRoot = /var/lib/nfs/ganesha; }
EXPORT {
	Export_Id = 1;
	Path = /;
	Pseudo = /export;
	Access_Type = RW;
	Squash = No_Root_Squash;
	Protocols = 3;
	Transports = TCP;
	SecType = sys;
	FSAL { Name = PROXY_V4; Srv_Addr = $(lab_addr "$LAB_ON"); NFS_Port = 2049;
		Use_Privileged_Client_Port = true; }
}
END
	mkdir -p /run/rpcbind /var/lib/nfs/ganesha
	rpcbind 2>&1
	setsid ganesha.nfsd -F -L "$state/ganesha.log" -f "$conf" \
		-p "$state/ganesha.pid" </dev/null >/dev/null 2>&1 &
	disown
	lab_poll 30 lab_listening self 2060 &&
		lab_poll 10 lab_listening self 2061 ||
		{ echo "nfs-ganesha does not start as a proxy"; return 1; }
}

# JOBS_RCLONE: the directory of what bench/jobs/run built, or why there is none.
start_rclone() {
	[ -x "$JOBS_RCLONE/rclone" ] || { echo "$JOBS_RCLONE"; return 1; }
	start_sftp || return 1
	run_rclone serve nfs --config "" --addr 127.0.0.1:2070 \
		--cache-dir "$LAB_CACHE/rclone" --vfs-cache-mode full \
		--sftp-ssh "$JOBS_RCLONE/connect $(lab_addr "$LAB_ON"):2222" \
		--sftp-shell-type none ":sftp:$LAB_EXPORT" \
		</dev/null >>"$LAB_STATE/rclone.log" 2>&1 &
	disown
	lab_poll 30 lab_listening self 2070 ||
		{ echo "rclone does not start"; return 1; }
}

# Where it ends, its mount would hang for ever: calls are made to fail, until
# the mount is gone or the next one is started.
run_rclone() {
	local pid
	"$JOBS_RCLONE/rclone" "$@" &
	pid=$!
	echo $pid >"$state/rclone.pid"
	wait $pid
	echo "rclone ended with status $?"
	while [ "$(cat "$state/rclone.pid")" = $pid ] && rclone_mounted; do
		umount -cif "$LAB_WORK"
		lab_nap 0.5
	done
}

rclone_alive() { lab_alive "$(cat "$state/rclone.pid")"; }
rclone_mounted() { grep -q "^127.0.0.1:/ $LAB_WORK .*,port=2070," /proc/mounts; }

# peer_forget NAME: the next run is the first ever, where that is easily had.
peer_forget() {
	local pid
	[ "$1" = rclone ] || return 0
	pid=$(cat "$state/rclone.pid")
	kill -9 "$pid" 2>/dev/null
	lab_poll 10 lab_dead "$pid"
	rm -rf "$LAB_CACHE/rclone"
}

mount_rclone() {
	rclone_alive || start_rclone >&2 || return 1
	mount -t nfs -o "vers=3,nolock,noacl,proto=tcp,port=2070,\
mountport=2070,mountproto=tcp${LAB_MOUNT_OPTS:+,$LAB_MOUNT_OPTS}" \
		127.0.0.1:/ "$LAB_WORK"
}

# Has it written everything? If it has ended, everything is written.
rclone_clean() {
	if rclone_alive; then
		! grep -rqs '"Dirty": *true' "$LAB_CACHE/rclone/vfsMeta"
	else
		! pgrep -r R,S,D -x sftp-server >/dev/null
	fi
}

# peer_settle NAME JOB: after a run. What it writes later is written, else the
# next arm would find files that change. And git's index has what the server says
# of files; with what this peer says the next arm would have to read them all.
# Returns 1 if there is nothing to do.
peer_settle() {
	case $1 in
	rclone) lab_poll 120 rclone_clean ||
		progress "rclone has files that it did not write yet" ;;
	sshfs) [ "$2" = checkout ] || return 1 ;;
	*) return 1 ;;
	esac
	[ "$2" != checkout ] || restore_checkout "$1"
}

# If it ended in the middle of a checkout, the whole checkout is made again.
restore_checkout() {
	local dir=$LAB_EXPORT/seeds/repo
	local git=(git -c safe.directory='*' -C "$dir")
	rm -f "$dir"/.git/*.lock
	if "${git[@]}" update-index -q --refresh 2>/dev/null; then return; fi
	progress "$1 left a checkout that is not clean"
	rm -f "$dir/.git/index"
	echo 'ref: refs/heads/main' >"$dir/.git/HEAD"
	"${git[@]}" reset -q --hard && "${git[@]}" clean -q -f -d ||
		give_up "the checkout cannot be made anew"
}

peer_mount() {
	local addr
	addr=$(lab_addr "$LAB_ON")
	case $1 in
	nfs4) mount -t nfs4 -o "vers=4.2${LAB_MOUNT_OPTS:+,$LAB_MOUNT_OPTS}" \
		"$addr:/" "$LAB_WORK" ;;
	fscache) lab_mount direct "$LAB_EXPORT" "$LAB_WORK" fsc ;;
	# SETACL does not work, as with the lab's own ganesha.
	ganesha) mount -t nfs -o "vers=3,nolock,noacl,proto=tcp,port=2060,\
mountport=2061,mountproto=tcp${LAB_MOUNT_OPTS:+,$LAB_MOUNT_OPTS}" \
		"10.99.0.1:/" "$LAB_WORK" ;;
	rclone) mount_rclone ;;
	sshfs) sshfs -o directport=2222,allow_other \
		"$addr:$LAB_EXPORT" "$LAB_WORK" </dev/null >/dev/null 2>&1 ;;
	esac
}
