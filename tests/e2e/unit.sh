#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# unit     systemd's own unit: restarts and a poweroff under load do not hang
# lab: --no-mount --timeout 600
#
# A real systemd runs the unit of configs/, a mount unit and a writing service,
# as pid 1 of a namespace of its own, on an overlay of the root file system.
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

root=/run/unit/root
marks=/run/unit/marks
units=$root/etc/systemd/system
source=$(readlink -f "$E2E/../..")

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
		mkdir -p $root/marks $root/mnt/work $root/mnt/cache &&
		mount --bind $marks $root/marks &&
		mount --bind "$LAB_CACHE" $root/mnt/cache
}

# Nothing of the machine's own units is to start here.
write_units() {
	rm -rf ${units:?} && mkdir -p $units $root/usr/local/sbin &&
		cp "$LAB_BUILD/forefetchd" $root/usr/local/sbin/
	sed 's#@[A-Z_]*SBINDIR@#/usr/local/sbin#' \
		"$source/configs/forefetchd.service.in" >$units/forefetchd.service
	lab_conf_write >$root/etc/forefetch.conf
	# Its own stop tells whether the clients' was before it.
	mkdir $units/forefetchd.service.d
	cat >$units/forefetchd.service.d/lab.conf <<-'END'
		[Service]
		ExecStop=/bin/bash -c 'mountpoint -q /mnt/work || touch /marks/unmounted'
	END
	cat >$units/mnt-work.mount <<-END
		[Unit]
		After=forefetchd.service
		[Mount]
		What=127.0.0.1:$LAB_EXPORT
		Where=/mnt/work
		Type=nfs
		Options=vers=3,nolock,tcp,port=2050,mountport=2050,mountproto=tcp,_netdev
	END
	cat >$units/load.service <<-END
		[Unit]
		RequiresMountsFor=/mnt/work
		[Service]
		ExecStart=/usr/bin/env python3 $E2E/load.py /mnt/work/load /marks/count
		TimeoutStopSec=20s
	END
	cat >$units/driver.service <<-END
		[Unit]
		After=load.service
		[Service]
		Type=oneshot
		ExecStart=/bin/bash $E2E/unit_driver.bash /marks
	END
	cat >$units/lab.target <<-END
		[Unit]
		Wants=forefetchd.service mnt-work.mount load.service driver.service
	END
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

check "stop the lab's own daemon" lab_proxy_stop
check "a root for systemd" make_root
write_units
boot
check "the unit starts, mounts and works" \
	lab_poll 90 test -e $marks/began || lab_hang_report
for i in 1 2 3; do
	check "restart $i under load" lab_poll 90 test -e $marks/restarted.$i ||
		lab_hang_report
done
check "the load went on after each" lab_poll 60 test -e $marks/progress.3
check "poweroff under load begins" lab_poll 30 test -e $marks/poweroff
check "and ends" lab_poll 120 lab_dead $booted || lab_hang_report
check "the file system was unmounted before the daemon stopped" \
	test -e $marks/unmounted
count=$(cat $marks/count)
same_count() { [ "$(($(stat -c %s "$LAB_EXPORT/load") / 65536))" -ge "$count" ]; }
check "all $count acknowledged writes are on the server" same_count
e2e_end
