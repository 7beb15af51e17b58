#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# unit     systemd's own unit: kills, restarts, a poweroff under load do not hang
# lab: --no-mount --timeout 600
#
# A real systemd runs the unit of configs/, a mount unit and a writing service,
# as pid 1 of a namespace of its own, on an overlay of the root file system.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

root=/run/unit/root
marks=/run/unit/marks
units=$root/etc/systemd/system
scripts=/usr/local/lib/e2e # of $root, which has nothing of the guest's mounts
source=$LAB_ROOT

make_root() {
	mkdir -p /run/unit && mount -t tmpfs unit /run/unit &&
		mkdir /run/unit/{upper,work,root,marks} &&
		mount -t overlay -o \
			lowerdir=/,upperdir=/run/unit/upper,workdir=/run/unit/work \
			unit $root &&
		mount --rbind /dev $root/dev &&
		mount -t sysfs sysfs $root/sys &&
		mount -t tmpfs run $root/run &&
		mount -t tmpfs tmp $root/tmp &&
		mkdir -p $root/marks $root/mnt/work $root/var/cache/forefetch &&
		mount --bind $marks $root/marks &&
		mount --bind "$LAB_CACHE" $root/var/cache/forefetch &&
		mkdir -p $root$scripts &&
		cp "$E2E"/unit/{load.py,impostor.py,driver.bash} $root$scripts &&
		cp "$source/configs/forefetch.sysusers" \
			$root/usr/lib/sysusers.d/forefetch.conf &&
		systemd-sysusers --root=$root &&
		mkdir -m 777 $marks/impostor
}

# Nothing of the machine's own units is to start here.
write_units() {
	rm -rf ${units:?} && mkdir -p $units $root/usr/local/sbin &&
		cp "$LAB_BUILD/forefetchd" $root/usr/local/sbin/ &&
		cp "$LAB_BUILD/forefetch" $root/usr/local/bin/
	sed -e 's#@SBINDIR@#/usr/local/sbin#; s#@BINDIR@#/usr/local/bin#' \
		-e 's#@SERVICE_TYPE@#notify#' \
		"$source/configs/forefetchd.service.in" >$units/forefetchd.service
	# A port that is for everybody: only the unit keeps others off it. The
	# cache was the lab's own daemon's, who is root.
	lab_conf_write | sed 's#^cache_dir = .*#cache_dir = /var/cache/forefetch#' \
		>$root/etc/forefetch.conf
	# Its own stop tells whether the clients' was before it.
	mkdir $units/forefetchd.service.d
	cat >$units/forefetchd.service.d/lab.conf <<-'END'
		[Service]
		ExecStop=+/bin/bash -c 'mountpoint -q /mnt/work || touch /marks/unmounted'
	END
	cat >$units/mnt-work.mount <<-END
		[Unit]
		After=forefetchd.service
		[Mount]
		What=127.0.0.1:$LAB_EXPORT
		Where=/mnt/work
		Type=nfs
		Options=vers=3,nolock,nosuid,nodev,tcp,port=2050,mountport=2050,mountproto=tcp,_netdev
	END
	cat >$units/load.service <<-END
		[Unit]
		RequiresMountsFor=/mnt/work
		[Service]
		ExecStart=/usr/bin/env python3 $scripts/load.py /mnt/work/load /marks/count
		TimeoutStopSec=20s
	END
	cat >$units/driver.service <<-END
		[Unit]
		After=load.service
		[Service]
		Type=oneshot
		ExecStart=/bin/bash $scripts/driver.bash /marks
	END
	cat >$units/impostor.service <<-END
		[Service]
		User=nobody
		ExecStart=/usr/bin/env python3 $scripts/impostor.py 2050 /marks/impostor
	END
	cat >$units/lab.target <<-END
		[Unit]
		Wants=forefetchd.service mnt-work.mount load.service driver.service
	END
}

cache_is_ours() {
	local uid
	uid=$(sed -n 's/^forefetch:x:\([0-9]*\):.*/\1/p' $root/etc/passwd)
	[ -n "$uid" ] && [ -e "$LAB_CACHE/lab/whose" ] &&
		! find "$LAB_CACHE" ! -user "$uid" | grep .
}

boot() {
	container=lab unshare --pid --mount --cgroup --ipc --uts --fork \
		bash -c "mount -t proc proc $root/proc &&
			mount -t cgroup2 cgroup $root/sys/fs/cgroup &&
			exec chroot $root /lib/systemd/systemd --unit=lab.target \
				--log-target=null --show-status=no" \
		>/dev/null 2>&1 &
	booted=$!
}

# Prints what somebody needs to understand a wait in vain; the rest would wait
# in vain, too.
give_up() {
	echo "--- the log of the units:"
	journalctl --root=$root --no-pager -n 60 2>&1
	lab_hang_report
	e2e_end
}
reached() { check "$1" lab_poll "${3:-60}" test -e "$marks/$2" || give_up; }

check "stop the lab's own daemon" lab_proxy_stop
check "a root for systemd" make_root || give_up
write_units
boot
reached "the unit starts, mounts and works, on a cache that root left" began 90
check "the cache is the unit's user's now" cache_is_ours
for i in 1 2 3; do
	reached "restart $i under load" restarted.$i
	reached "the load goes on" progress.$i
done
reached "reloads under load: one that adds a server, one that fails and says why" \
	reloaded
reached "the load goes on" progress.reloaded
reached "an impostor tries to get the port" impostor/tries
for i in 1 2 3 4 5; do
	reached "kill -9 $i under load" killed.$i
	reached "the load goes on" progress.killed.$i
done
reached "an upgrade: a new program, a restart" upgraded
reached "the load goes on" progress.upgraded
reached "poweroff under load begins" poweroff
check "and ends" lab_poll 120 lab_dead $booted || give_up
check "the impostor never got the port, of $(cat $marks/impostor/tries) tries" \
	test ! -e $marks/impostor/got
check "the runtime directory outlived the kills" test -e $marks/runtime
check "the file system was unmounted before the daemon stopped" \
	test -e $marks/unmounted
count=$(cat $marks/count)
same_count() { [ "$(($(stat -c %s "$LAB_EXPORT/load") / 65536))" -ge "$count" ]; }
check "all $count acknowledged writes are on the server" same_count
e2e_end
