#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guest's half of tests/e2e/setup/run. $E2E_ROOT, where the first of README's
# commands were run, is booted (machine.bash); $E2E_COMMANDS has the other commands.
# Only the environment is arranged: README's server name resolves to the lab's
# server, which exports what README mounts.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

# shellcheck source=../lib/machine.bash
. "$E2E/lib/machine.bash"

run_readme() {
	local c
	for c in "$E2E_COMMANDS"/*; do
		check "README: $(cat "$c")" as_user "$(cat "$c")" || give_up
	done
}

# --- what must work then -----------------------------------------------------

# The place that README mounts, and what of the server is there.
mount_command=$(cat "$E2E_COMMANDS"/* | grep -h 'mount -t forefetch')
read -r host export place < <(
	sed 's/.* \([^ :]*\):\([^ ]*\) \([^ ]*\)$/\1 \2 \3/' <<<"$mount_command")

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
	nsenter -t "$(machine_init)" -m -- timeout -k 5 240 \
		python3 "$E2E/setup/direct_reads.py" "$root$place/file" \
		"$LAB_EXPORT/file" "$1"
}
killed() {
	inside systemctl kill -s KILL forefetchd &&
		lab_poll 60 inside systemctl is-active forefetchd
}

check "a root for systemd, and the server that README names" machine_make ||
	e2e_end
check "the server exports $export" arrange || e2e_end
check "the machine boots" machine_boot || give_up
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
check "the machine is switched off" machine_off || give_up
check "and on again" machine_boot || give_up
check "the unit is active again" \
	lab_poll 60 inside systemctl is-active forefetchd || give_up
check "README's mount" as_user "$mount_command" || give_up
check "the file is read from the cache" read_again || give_up
e2e_end
