# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Puts the guest's disk at $LAB_CACHE behind the kernel's dm-delay.
#   slow_disk         from now on
#   set_delay MS      reads take so much longer, as is tried
#   disk_reads        how often it was read until now
# `give_up` is the caller's, and `disk_table MS`, which prints the table of
# dm-delay from $sectors and $device.

slow_disk() {
	/run/modprobe dm-delay 2>/dev/null || modprobe dm-delay ||
		give_up "this kernel has no dm-delay"
	command -v dmsetup >/dev/null ||
		give_up "dmsetup is missing (Debian: dmsetup)"
	device=$(findmnt -n -o SOURCE "$LAB_CACHE")
	# shellcheck disable=SC2034 # for the caller's disk_table
	sectors=$(blockdev --getsz "$device")
	umount "$LAB_CACHE"
	# The server's namespace was made after that mount, and has it too.
	lab_in server umount "$LAB_CACHE"
	disk_table 0 | dmsetup --noudevsync create slow
	dmsetup --noudevsync mknodes
	mount -t ext4 -o acl,user_xattr,nobarrier /dev/mapper/slow "$LAB_CACHE"
	block=/sys/block/$(basename "$(readlink -f /dev/mapper/slow)")
	[ -e "$block/stat" ] || block=/sys/block/dm-0
}

set_delay() {
	local t0
	disk_table "$1" | dmsetup --noudevsync reload slow
	dmsetup --noudevsync resume slow
	lab_now; t0=$LAB_NOW
	dd if=/dev/mapper/slow of=/dev/null bs=4k count=1 iflag=direct status=none
	lab_now
	[ $((LAB_NOW - t0)) -ge $(($1 * 1000)) ] ||
		give_up "a read takes $((LAB_NOW - t0)) us in spite of the delay"
}

disk_reads() {
	local reads rest
	# shellcheck disable=SC2034 # the rest of the line
	read -r reads rest <"$block/stat"
	echo "$reads"
}
