#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guest's half of tests/e2e/package/run --from: a user has had an earlier release
# for a while, and goes over to this one under mounts and a program that runs. The
# configuration, what is cached, what was learned, and pins stay.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"
# shellcheck source=../lib/machine.bash
. "$E2E/lib/machine.bash"
# shellcheck source=user.bash
. "$E2E/package/user.bash"
# shellcheck source=tasks.bash
. "$E2E/package/tasks.bash"

project=src/project
pinned="^ff +41 .* complete .*$host:$export/me/$project"
cached="data +12\.3 KiB of 12\.3 KiB cached"

install() { as_user_long "$sudo_apt install -y $2 ./$1"; }

configure() {
	sed -i 's/^#metrics_listen = off$/metrics_listen = on/' $root/etc/forefetch.conf &&
		cat >$root/etc/forefetch.d/nas.conf <<-END &&
		[server $host]
		address = $host
		listen = 127.0.0.1:307
		consistency = bounded
		attr_timeout = 20s
		prefetch_waste = 60%
		END
		echo "$host:$export $place forefetch _netdev 0 0" >>$root/etc/fstab &&
		mkdir -p $root$place &&
		inside systemctl restart forefetchd &&
		inside mount $place
}

# A program that uses 40 files in their order, with other work between its runs.
use_project() {
	local i
	cat >"$LAB_EXPORT/me/job" <<-'END'
	#!/bin/sh
	cat src/project/lib/part*.c src/project/lib/util.c | wc -c
	END
	chmod 755 "$LAB_EXPORT/me/job"
	for i in 1 2 3; do
		at_home ./job || return 1
		lab_nap 5
		inside sh -c 'echo 3 >/proc/sys/vm/drop_caches'
	done
}

# Its name, and how many objects belong to it.
job_tree() {
	at_home "forefetch trees --json list" >/run/trees.json || return 1
	python3 - /run/trees.json >"$1" <<-'END'
	import json, sys
	for t in json.load(open(sys.argv[1]))["trees"]:
	    if t["name"] == "job":
	        print(t["name"], t["objects"])
	END
	cat "$1"
	[ -s "$1" ]
}
same_tree() { job_tree /run/tree.now && cmp /run/tree.former /run/tree.now; }

settings() {
	inside forefetchd -t -v >/run/said
	prints "^metrics_listen = 127.0.0.1:" "^attr_timeout = 20s" "^prefetch_waste = 60%"
}

exec 3>&1
check "a root for systemd" machine_make || e2e_end
check "the server $host exports $export" arrange || e2e_end
check "the machine boots" machine_boot || give_up
list_files >/run/before

check "$E2E_FORMER is installed" install "$E2E_FORMER" "" || give_up
check "a project" put_project || give_up
check "it is configured and mounted" configure || give_up
check "a program uses the project" use_project || give_up
check "the project is pinned" said "forefetch pin ~/$project" "41 files" || give_up
check "the pin is there" said "forefetch pins" "$pinned"
check "its tree was learned" job_tree /run/tree.former || give_up
check "data is cached" said "forefetch explain ~/$project/lib/util.c" "$cached"

check "a program reads and writes" start_load || give_up
before=$(daemon)
check "an upgrade meanwhile" install "$E2E_DEB" "-o Dpkg::Options::=--force-confold" ||
	give_up
check "it is $E2E_VERSION" is_version "$E2E_VERSION"
check "the new daemon runs" lab_poll 60 another_daemon || give_up
check "no error and no lost byte" end_load || give_up
check "the server has what the client has" server_has_log

check "the configuration is the user's" settings
check "data is cached, before it is read again" said \
	"forefetch explain ~/$project/lib/util.c" "$cached"
check "the tree is as it was" same_tree
check "the pin is as it was" said "forefetch pins" "$pinned"
check "the log has no warning" quiet "! sudo journalctl -q -u forefetchd -p warning \
	--since @$(stat -c %Y $root/var/lib/dpkg/info/forefetch.list) | grep ."
check "doctor finds no fault" said "sudo forefetch doctor" "^0 failed, "
check "the program goes on" said ./job "^[0-9]+$"

check "unmounted" as_user "sudo umount $place" || give_up
sed -i '/ forefetch /d' $root/etc/fstab
check "purged" purge || give_up
check "nothing is left" nothing_left
e2e_end
