# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A machine in the guest: $E2E_ROOT, a root that tests/e2e/lib/root.bash has made,
# booted by its own systemd, as pid 1 of namespaces of its own. What it writes goes
# with the guest. Sourced behind lib.sh.
#
#   machine_make            its root, at $root
#   machine_boot            returns when it is up
#   machine_off             switches it off; machine_boot switches it on again
#   inside COMMAND...       runs there, as root; as_user SCRIPT as the user ff
#   give_up                 what a wait in vain needs to be understood; then the end

root=/run/machine/root

# As a container has it: the guest's terminals are the lab's own.
make_dev() {
	local name minor
	mount -t tmpfs -o mode=755 dev $root/dev &&
		mkdir $root/dev/{pts,shm} &&
		mount -t devpts -o newinstance,ptmxmode=666 devpts $root/dev/pts &&
		mount -t tmpfs -o mode=1777 shm $root/dev/shm || return 1
	for name in null:3 zero:5 full:7 random:8 urandom:9; do
		minor=${name#*:}
		mknod -m 666 "$root/dev/${name%:*}" c 1 "$minor" || return 1
	done
	mknod -m 666 $root/dev/tty c 5 0 &&
		ln -s pts/ptmx $root/dev/ptmx &&
		ln -s /proc/self/fd $root/dev/fd &&
		/run/modprobe autofs4 && # for x-systemd.automount
		mknod -m 600 $root/dev/autofs c 10 235
}

machine_make() {
	mkdir -p /run/machine && mount -t tmpfs machine /run/machine &&
		mkdir /run/machine/{upper,work,root} &&
		ln -s "$E2E_ROOT" /run/machine/lower &&
		mount -t overlay -o \
			lowerdir=/run/machine/lower,upperdir=/run/machine/upper,workdir=/run/machine/work \
			machine $root &&
		make_dev &&
		mount -t sysfs sysfs $root/sys
}

# As after a reboot: what was in /run is gone.
fresh_run() {
	if mountpoint -q $root/run; then umount -R $root/run $root/tmp; fi
	mount -t tmpfs run $root/run &&
		mount -t tmpfs -o mode=1777 tmp $root/tmp
}

machine_boot() {
	fresh_run || return 1
	container=lab unshare --pid --mount --cgroup --ipc --uts --fork \
		bash -c "mount -t proc proc $root/proc &&
			mount -t cgroup2 cgroup $root/sys/fs/cgroup &&
			mount --make-rshared $root &&
			exec chroot $root /lib/systemd/systemd --show-status=no" \
		>/dev/null 2>&1 &
	booted=$!
	lab_poll 60 machine_up
}

machine_init() { pgrep -P "$booted"; }
inside() {
	nsenter -t "$(machine_init)" -m -p -C -i -u -r -w -- /usr/bin/env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"
}
machine_up() { inside systemctl is-active multi-user.target; } >/dev/null 2>&1
as_user() { inside timeout -k 5 60 su - ff -c "$1"; }

give_up() {
	echo "--- the unit's log:"
	inside journalctl --no-pager -n 40 -u forefetchd 2>&1
	inside systemctl --no-pager status forefetchd 2>&1 | head -n 20
	lab_hang_report
	e2e_end
}

machine_off() {
	inside systemctl --no-block poweroff
	lab_poll 60 lab_dead $booted
}
