#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guest's half of tests/e2e/setup/run. $E2E_ROOT, where the first of README's
# commands were run, is booted by its own systemd, as pid 1 of namespaces of its
# own; $E2E_COMMANDS has the other commands. Only the environment is arranged:
# README's server name resolves to the lab's server, which exports what README
# mounts.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

root=/run/setup/root

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
		ln -s /proc/self/fd $root/dev/fd
}

make_root() {
	mkdir -p /run/setup && mount -t tmpfs setup /run/setup &&
		mkdir /run/setup/{upper,work,root} &&
		ln -s "$E2E_ROOT" /run/setup/lower &&
		mount -t overlay -o \
			lowerdir=/run/setup/lower,upperdir=/run/setup/upper,workdir=/run/setup/work \
			setup $root &&
		make_dev &&
		mount -t sysfs sysfs $root/sys &&
		mount -t tmpfs run $root/run &&
		mount -t tmpfs -o mode=1777 tmp $root/tmp
}

boot() {
	container=lab unshare --pid --mount --cgroup --ipc --uts --fork \
		bash -c "mount -t proc proc $root/proc &&
			mount -t cgroup2 cgroup $root/sys/fs/cgroup &&
			exec chroot $root /lib/systemd/systemd --show-status=no" \
		>/dev/null 2>&1 &
	booted=$!
	lab_poll 60 booted_up
}

init() { pgrep -P "$booted"; }
inside() {
	nsenter -t "$(init)" -m -p -C -i -u -r -w -- /usr/bin/env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"
}
booted_up() { inside systemctl is-active multi-user.target; } >/dev/null 2>&1
as_user() { inside timeout -k 5 60 su - ff -c "$1"; }

# What a wait in vain needs to be understood; then the end.
give_up() {
	echo "--- the unit's log:"
	inside journalctl --no-pager -n 40 -u forefetchd 2>&1
	inside systemctl --no-pager status forefetchd 2>&1 | head -n 20
	lab_hang_report
	e2e_end
}

run_readme() {
	local c
	for c in "$E2E_COMMANDS"/*; do
		check "README: $(cat "$c")" as_user "$(cat "$c")" || give_up
	done
}

# --- what must work then -----------------------------------------------------

# The place that README mounts, and what of the server is there.
mount_command=$(cat "$E2E_COMMANDS"/* | grep -h 'mount -t nfs')
read -r export place < <(
	sed 's/.* 127\.0\.0\.1:\([^ ]*\) \([^ ]*\)$/\1 \2/' <<<"$mount_command")
host=$(sed -n 's/^address = //p' "$E2E_ROOT/etc/forefetch.conf")

arrange() {
	[ -n "$export" ] && [ -n "$place" ] && [ -n "$host" ] &&
		echo "$LAB_ADDR $host" >>$root/etc/hosts &&
		lab_in server mount --bind "$LAB_EXPORT" "$export" &&
		lab_export "$export" fsid=1 &&
		dd if=/dev/urandom of="$LAB_EXPORT/file" bs=1M count=4 \
			status=none &&
		chmod 777 "$LAB_EXPORT"
}

reads_served() { lab_served | cut -d' ' -f10; }
same_bytes() {
	as_user "cat $place/$1" | cmp - "$LAB_EXPORT/$1"
}
# From the proxy, not from the client's own cache nor from the server.
read_again() {
	local before
	lab_drop_caches
	before=$(reads_served)
	same_bytes file || return 1
	[ "$(reads_served)" = "$before" ] ||
		echo "READ calls to the server: $before, then $(reads_served)"
	[ "$(reads_served)" = "$before" ]
}
write_there() {
	as_user "head -c 1M /dev/urandom >$place/written" && same_bytes written
}
own_user() {
	[ "$(inside ps -o user= -C forefetchd)" = forefetch ]
}
careful_mount() {
	inside grep " $place nfs .*nosuid,nodev" /proc/self/mounts
}
# One READ of the proxy each: O_DIRECT passes the client's cache.
many_reads() {
	nsenter -t "$(init)" -m -- timeout -k 5 240 \
		python3 "$E2E/setup/direct_reads.py" "$root$place/file" \
		"$LAB_EXPORT/file" "$1"
}
killed() {
	inside systemctl kill -s KILL forefetchd &&
		lab_poll 60 inside systemctl is-active forefetchd
}
power_off() {
	inside systemctl --no-block poweroff
	lab_poll 60 lab_dead $booted
}

check "a root for systemd, and the server that README names" make_root ||
	e2e_end
check "the server exports $export" arrange || e2e_end
check "the machine boots" boot || give_up
run_readme
check "the unit is active" inside systemctl is-active forefetchd || give_up
check "the daemon runs as its own user" own_user
check "the mount is nosuid and nodev" careful_mount
check "a file is read" same_bytes file || give_up
check "a second time, from the cache" lab_poll 60 read_again || give_up
check "a file is written and read" write_there || give_up
check "100,000 READs of cached data" many_reads 100000 || give_up
check "systemctl restart" inside systemctl restart forefetchd || give_up
check "the mount goes on, from the cache" read_again || give_up
check "kill -9" killed || give_up
check "the mount goes on, from the cache" read_again || give_up
check "the machine is switched off" power_off || give_up
check "and on again" boot || give_up
check "the unit is active again" \
	lab_poll 60 inside systemctl is-active forefetchd || give_up
check "README's mount" as_user "$mount_command" || give_up
check "the file is read from the cache" read_again || give_up
e2e_end
