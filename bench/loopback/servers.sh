# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# An nfs-ganesha inside a network namespace, for loopback/run and copies/run. They
# set: addr, the address; W, a directory for files and logs; export, the directory
# that is exported; nfsload, the program; fsal, VFS or MEM; and a function die.

fail_with_log() {	# WHAT LOG
	tail -n 15 "$2" >&2
	die "$1"
}

# wait_port PORT WHO LOG: until the last background job listens there; 20 s
wait_port() {
	local i pid=$!

	for ((i = 0; i < 200; i++)); do
		(exec 3<>"/dev/tcp/$addr/$1") 2>/dev/null && return 0
		kill -0 "$pid" 2>/dev/null ||
			fail_with_log "$2 ended at once" "$3"
		sleep 0.1
	done
	fail_with_log "$2 does not listen on port $1" "$3"
}

# wait_export NAME PORT MOUNTPORT LOG: until a mount and a call work
wait_export() {
	local i

	for ((i = 0; i < 20; i++)); do
		"$nfsload" --target "$1=$addr:$2:$3:$export" --op null \
			--count 1 --warmup 0 --files 1 --timeout 3s \
			>"$W/wait.log" 2>&1 && return 0
		sleep 0.5
	done
	cat "$W/wait.log" >&2
	fail_with_log "$1 does not serve $export" "$4"
}

# Sets $ganesha, its process.
start_ganesha() {
	cat >"$W/ganesha.conf" <<END
NFS_CORE_PARAM {
	Bind_addr = $addr; NFS_Port = 2049; MNT_Port = 20048;
	Protocols = 3; Enable_NLM = false; Enable_RQUOTA = false;
}
NFSv4 { Graceless = true; RecoveryRoot = $W; }
EXPORT {
	Export_Id = 1; Path = $export; Pseudo = /export; Protocols = 3;
	Access_Type = RW; Squash = No_Root_Squash; SecType = sys;
	FSAL { Name = $fsal; }
}
END
	rpcbind -f >"$W/rpcbind.log" 2>&1 &
	wait_port 111 rpcbind "$W/rpcbind.log"
	ganesha.nfsd -F -f "$W/ganesha.conf" -L "$W/ganesha.log" \
		-p "$W/ganesha.pid" >"$W/ganesha.out.log" 2>&1 &
	# shellcheck disable=SC2034 # for the caller
	ganesha=$!
	wait_port 2049 nfs-ganesha "$W/ganesha.log"
	wait_export direct 2049 20048 "$W/ganesha.log"
}
