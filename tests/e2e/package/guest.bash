#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guest's half of tests/e2e/package/run: a bare Debian 12 boots, and its user
# does what a user does with a package. The packages lie in that user's home.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"
# shellcheck source=../lib/machine.bash
. "$E2E/lib/machine.bash"
# shellcheck source=user.bash
. "$E2E/package/user.bash"
# shellcheck source=tasks.bash
. "$E2E/package/tasks.bash"

write_there() {
	as_user "head -c 1M /dev/urandom >$1/written" &&
		as_user "cat $1/written" | cmp - "$LAB_EXPORT/written"
}
forgotten() { ! inside find /run/forefetch.d -name '*.conf' | grep .; }
enabled() { inside systemctl is-enabled forefetchd; }
own_user() { [ "$(inside ps -o user= -C forefetchd)" = forefetch ]; }

# --- what is typed, and how long that takes -------------------------------------

install="sudo apt install ./$E2E_DEB"
mount="sudo mount -t forefetch $host:$export $place"

first_minute() {
	lab_now; local began=$LAB_NOW
	check "$install" as_user_long "$sudo_apt install -y ./$E2E_DEB" || give_up
	lab_now; local installed=$LAB_NOW
	check "README: sudo mkdir -p $place" as_user "sudo mkdir -p $place" || give_up
	check "README: $mount" as_user "$mount" || give_up
	check "a file is read" same_bytes $place/file || give_up
	lab_now
	printf '     typed: %s\n' "$install" "sudo mkdir -p $place" "$mount"
	printf '     seconds: %d.%d to install, %d.%d to mount and read\n' \
		$(((installed - began) / 1000000)) \
		$(((installed - began) / 100000 % 10)) \
		$(((LAB_NOW - installed) / 1000000)) \
		$(((LAB_NOW - installed) / 100000 % 10))
}

# --- fstab --------------------------------------------------------------------

write_fstab() {
	inside mkdir -p /mnt/auto &&
		cat >>$root/etc/fstab <<-END
		$host:$export /mnt/home forefetch _netdev 0 0
		$host:$export /mnt/auto forefetch _netdev,noauto,x-systemd.automount 0 0
		END
}
reboot() { machine_off && machine_boot; }
waits_for_access() {
	inside grep -q ' /mnt/auto autofs ' /proc/self/mounts &&
		! inside grep ' /mnt/auto nfs ' /proc/self/mounts
}

# --- upgrade ------------------------------------------------------------------

upgrade() { as_user_long "$sudo_apt install -y --reinstall ./$E2E_NEXT"; }
# What the package's own scripts decide is tried without apt, which takes long here.
upgrade_again() { as_user_long "sudo dpkg -i ./$E2E_NEXT"; }
# The daemon that runs must not be given up for one that would not start.
keeps_the_old() {
	before=$(daemon)
	echo "nonsense = 1" >$root/etc/forefetch.d/bad.conf
	upgrade_again >/run/upgrade 2>&1 || { cat /run/upgrade; return 1; }
	rm $root/etc/forefetch.d/bad.conf
	cat /run/upgrade
	grep -q 'does not accept the configuration' /run/upgrade &&
		[ "$(daemon)" = "$before" ]
}

# Nor does a restart stop it for long.
restarts_with_the_old() {
	echo "nonsense = 1" >$root/etc/forefetch.d/bad.conf
	inside systemctl restart forefetchd && same_bytes /mnt/home/file &&
		inside forefetch status --check >/run/said
	local rc=$?
	cat /run/said
	rm $root/etc/forefetch.d/bad.conf
	[ $rc -ne 0 ] && grep -q nonsense /run/said && as_user "sudo forefetch reload"
}
# One that was stopped, and has a wrong configuration, is not said to run.
says_it_is_stopped() {
	inside systemctl stop forefetchd
	echo "nonsense = 1" >$root/etc/forefetch.d/bad.conf
	upgrade_again >/run/upgrade 2>&1 || { cat /run/upgrade; return 1; }
	rm $root/etc/forefetch.d/bad.conf
	cat /run/upgrade
	grep -q 'forefetchd does not run' /run/upgrade &&
		! grep -q 'Could not execute' /run/upgrade &&
		inside systemctl start forefetchd
}

# --- removal ------------------------------------------------------------------

remove() { as_user_long "$sudo_apt remove -y forefetch"; }
refused() {
	! remove >/run/remove 2>&1 || return 1
	cat /run/remove
	grep -q '^    /mnt/home' /run/remove && active
}
# Of writes that a later release has left.
mark=$root/var/lib/forefetch/pending-writes
refused_for_mark() {
	echo "9.9 /var/cache/forefetch/nas/journal" >"$mark" || return 1
	if as_user_long "sudo dpkg -r forefetch" >/run/remove 2>&1; then cat /run/remove; return 1; fi
	cat /run/remove
	grep -q '^    9.9 /var' /run/remove && active
}
purge_refused_for_mark() {
	echo "9.9 /var/cache/forefetch/nas/journal" >"$mark" || return 1
	if as_user_long "sudo dpkg -P forefetch" >/run/purge 2>&1; then cat /run/purge; return 1; fi
	cat /run/purge
	grep -q 'so they are kept' /run/purge && [ -d $root/var/cache/forefetch ] &&
		rm "$mark"
}
take_out_of_fstab() { sed -i '/ forefetch /d' $root/etc/fstab; }
no_daemon() { ! inside pgrep forefetchd; }

exec 3>&1
check "a root for systemd" machine_make || e2e_end
check "the server $host exports $export" arrange || e2e_end
check "the machine boots" machine_boot || give_up
list_files >/run/before

first_minute
check "the unit is active" active || give_up
check "the unit is enabled" enabled
check "the daemon runs as its own user" own_user
check "the mount is nosuid and nodev" careful $place
check "a file is written and read" write_there $place || give_up
check "README has these commands" readme_has \
	"sudo apt install ../${E2E_DEB%_*}_\$(dpkg --print-architecture).deb" \
	"sudo mkdir -p $place" "$mount" "sudo umount $place" "sudo apt purge forefetch"
tasks
check "README: sudo umount $place" as_user "sudo umount $place" || give_up
check "the server that only it needed is given up" forgotten

check "lines in /etc/fstab" write_fstab
check "a reboot" reboot || give_up
check "the mount of fstab is there" lab_poll 30 mounted /mnt/home || give_up
check "a file is read" same_bytes /mnt/home/file || give_up
check "the other waits for its first access" waits_for_access || give_up
check "x-systemd.automount: a file is read" same_bytes /mnt/auto/file || give_up
check "and it is mounted" mounted /mnt/auto

check "a program reads and writes" start_load || give_up
before=$(daemon)
check "an upgrade meanwhile" upgrade || give_up
check "it was the upgrade" is_version "$E2E_VERSION+next"
check "the new daemon runs" lab_poll 60 another_daemon || give_up
check "no error and no lost byte" end_load || give_up
check "the server has what the client has" server_has_log
check "an upgrade that refuses the configuration keeps the daemon" keeps_the_old ||
	give_up

check "a restart meanwhile goes on with the former one" restarts_with_the_old ||
	give_up
check "and of one that was stopped says that" says_it_is_stopped || give_up

check "removal under mounts is refused, with their names" refused || give_up
check "the mounts go on" same_bytes /mnt/home/file || give_up
check "unmounted" as_user "sudo umount /mnt/auto && sudo systemctl stop \
	mnt-auto.automount && sudo umount /mnt/home" || give_up
check "out of /etc/fstab" take_out_of_fstab
check "removal while writes are pending is refused" refused_for_mark
rm -f "$mark"
check "removed" remove || give_up
check "there is no daemon" no_daemon
check "its configuration is there" test -e $root/etc/forefetch.conf
check "purging while writes are pending is refused" purge_refused_for_mark
check "purged" purge || give_up
check "nothing is left" nothing_left
e2e_end
