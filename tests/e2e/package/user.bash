# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of, and for, the script that sources this
# What the scripts of this directory that run in the guest share: a machine whose
# user has the packages in his home, and a server nas.example.org. Sourced behind
# lib.sh and machine.bash.
#
#   arrange                 the server exports $export, with a file
#   as_user_long SCRIPT     as as_user, for what apt and dpkg do
#   same_bytes PATH         the file PATH of the mount is that of the server
#   start_load, end_load    a program reads and writes at /mnt/home; no error
#   list_files              the machine's files; before the first installation
#                           into /run/before, for nothing_left

sudo_apt="sudo DEBIAN_FRONTEND=noninteractive apt-get"
host=nas.example.org export=/home place=/mnt/home

arrange() {
	echo "$LAB_ADDR $host" >>$root/etc/hosts &&
		lab_in server mount --bind "$LAB_EXPORT" $export &&
		lab_export $export fsid=1 &&
		dd if=/dev/urandom of="$LAB_EXPORT/file" bs=1M count=4 \
			status=none &&
		chmod 777 "$LAB_EXPORT"
}

# Longer than as_user waits: dpkg starts many processes, each 20 ms here.
as_user_long() { inside timeout -k 5 200 su - ff -c "$1"; }

# All files of the machine but those that any use of apt or a boot leaves behind.
list_files() {
	inside find / -xdev \( -path /var/log -o -path /var/cache/apt -o \
		-path /var/cache/debconf -o -path /var/cache/ldconfig -o \
		-path /var/lib/apt -o -path /var/lib/systemd -o -path /home -o \
		-path /proc -o -path /sys -o -path /dev -o -path /tmp -o \
		-path /var/tmp -o -path /mnt \) -prune \
		-o -print | LC_ALL=C sort
}
# And these: of packages that are still installed, and dpkg's own.
owned_files() {
	cat $root/var/lib/dpkg/info/*.list
	sed -n 's/.*\(\/var\/lib\/dpkg\/.*\)/\1/p' "$1"
}

mounted() { inside grep -q " $1 nfs .*vers=3" /proc/self/mounts; }
careful() { inside grep " $1 nfs .*nosuid,nodev" /proc/self/mounts; }
same_bytes() { as_user "cat $1" | cmp - "$LAB_EXPORT/file"; }
active() { inside systemctl is-active forefetchd; }
daemon() { inside systemctl show -P MainPID forefetchd; }
start_load() {
	rm -f /run/stop
	nsenter -t "$(machine_init)" -m -- timeout -k 5 240 \
		python3 "$E2E/package/load.py" $root/mnt/home \
		"$LAB_EXPORT/file" /run/stop >/run/load 2>&1 &
	load=$!
	lab_poll 30 test -s "$LAB_EXPORT/log"
}
end_load() {
	touch /run/stop
	wait "$load" || { cat /run/load; return 1; }
	sed 's/^/     /' /run/load >&3
}
server_has_log() {
	cmp "$LAB_EXPORT/log" <(nsenter -t "$(machine_init)" -m -- \
		cat $root/mnt/home/log)
}
another_daemon() { [ "$(daemon)" != "$before" ] && active; }
is_version() {
	[ "$(inside dpkg-query -W -f '${Version}' forefetch)" = "$1" ]
}
purge() { as_user_long "$sudo_apt purge -y forefetch"; }
nothing_left() {
	list_files >/run/after
	owned_files /run/after | LC_ALL=C sort -u >/run/owned
	LC_ALL=C comm -13 /run/before /run/after |
		LC_ALL=C comm -23 - /run/owned >/run/left
	cat /run/left
	inside find /run -name 'forefetch*' | tee -a /run/left
	! [ -s /run/left ]
}
