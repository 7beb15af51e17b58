# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# A new user who has nothing but README.md does this, and this goes wrong for one
# who is not careful. A command must stand in README word for word, so README
# cannot tell of commands that do not work.
#
#   tasks         with $host:$export mounted at $place; puts back what it changed

readme=$E2E_README

# As a line of its own, behind a prompt, or in a sentence.
in_readme() {
	grep -qxF -e "    $1" -e "    \$ $1" "$readme" || grep -qF "\`$1\`" "$readme" ||
		{ echo "README does not have: $1"; return 1; }
}
readme_has() {
	local line
	for line; do in_readme "$line" || return 1; done
}
# The block of README that has the line $1.
block() {
	awk -v line="    $1" '
		/^    / || (/^$/ && n) { text[++n] = $0; here = here || $0 == line; next }
		{ if (here) exit; n = 0 }
		END { for (i = 1; i <= n; i++) print substr(text[i], 5) }' "$readme"
}
# At home: that is where README mounts.
at_home() { as_user "HOME=${home:-$place/me}; cd; $1"; }

# said COMMAND REGEX...: it succeeds, and prints them.
said() {
	local command=$1
	shift
	at_home "$command" >/run/said 2>&1 || { cat /run/said; return 1; }
	prints "$@"
}
# refused_with COMMAND REGEX...: it fails, and prints them.
refused_with() {
	local command=$1
	shift
	if at_home "$command" >/run/said 2>&1; then cat /run/said; return 1; fi
	prints "$@"
}
prints() {
	local regex
	for regex; do
		grep -qE -e "$regex" /run/said && continue
		echo "nothing of what it prints is like: $regex"
		cat /run/said
		return 1
	done
}
follow() { in_readme "$1" && said "$@"; }
task() { check "README: $1" follow "$@"; }
mistake() {
	local what=$1
	shift
	check "$what" refused_with "$@"
}

put_project() {
	local dir=$LAB_EXPORT/me/src/project/lib i
	mkdir -p "$dir" &&
		for i in {1..40}; do
			head -c $((i * 500)) /dev/urandom >"$dir/part$i.c" || return 1
		done &&
		head -c 12600 /dev/urandom >"$dir/util.c" &&
		chown -R 1000:1000 "$LAB_EXPORT/me" &&
		echo "$LAB_ADDR build.example.org" >>$root/etc/hosts &&
		lab_in server mount --bind "$LAB_EXPORT/me" /usr/src &&
		lab_export /usr/src fsid=2
}

look() {
	task "forefetch status" "^$host: up, .* 2 connections, [0-9]+ calls? in flight" \
		"consistency +bounded" "listen +127\.0\.0\.1:"
	check "status --check is silent" quiet "forefetch status --check"
	task "forefetch doctor" "^server $host" "ok +state: forefetchd has been connected" \
		"ok +export: $export may be mounted \(sys\)" \
		"ok +configuration: /etc/forefetch.conf" "^0 failed, "
	check "nor does root see a fault" said "sudo forefetch doctor" "^0 failed, " \
		"ok +configuration: /etc/forefetch.conf" "ok +read through it" \
		"ok +log: no warning"
	task "forefetch mount" "^$host:$export +$place +$host +bounded +up"
}
quiet() { said "$1" && ! [ -s /run/said ]; }

why_slow() {
	check "a tree is used" said "cat src/project/lib/* | wc -c" "[0-9]"
	task "forefetch top --once" "^SERVER +STATE +CALLS/s +HITS +SAVED s/s" \
		"^$host +up " "^Who waits"
	task "forefetch explain /mnt/home/me/src/project/lib/util.c" "consistency +bounded" \
		"attributes +regular file, 12\.3 KiB" "data +12\.3 KiB of 12\.3 KiB cached"
}

keep() {
	task "forefetch warm /mnt/home/me/src/project" \
		"project: 2 directories, 41 files \(.*\), [0-9]+ calls"
	task "forefetch pin /mnt/home/me/src/project" "project: 2 directories, 41 files"
	task "forefetch pins" "^user +files +size +cached +state" \
		"^ff +41 .* complete .*$host:$export/me/src/project" "that may be pinned"
	task "forefetch unpin /mnt/home/me/src/project"
}


# --- another server, a page, less at a time ------------------------------------

add_build() {
	block "[server build]" >$root/etc/forefetch.d/build.conf
	grep -q '^address = build.example.org$' $root/etc/forefetch.d/build.conf
}
# The sample has that line, switched off.
page_on="metrics_listen = on"
add_page() {
	in_readme "$page_on" &&
		sed -i "s/^#metrics_listen = off$/$page_on/" $root/etc/forefetch.conf &&
		inside grep -qx "$page_on" /etc/forefetch.conf
}
# Fetches what stands below http://127.0.0.1:9899; $2 has to be in it.
fetch() {
	python3 -c 'import sys, urllib.request as r
sys.stdout.buffer.write(r.urlopen(sys.argv[1], timeout=20).read())' \
		"http://127.0.0.1:9899$1" >/run/said && prints "$2"
}
read_only() { refused_with "touch /mnt/build/x" "Read-only file system"; }
back() {
	rm $root/etc/forefetch.d/build.conf &&
		said "sudo umount /mnt/build && sudo forefetch reload" \
			"^server build: removed"
}

second_server() {
	check "README's second server is written down" add_build
	task "sudo forefetch reload" "^server build: added"
	task "sudo mkdir -p /mnt/build"
	task "sudo mount -t forefetch -o ro build:/usr/src /mnt/build"
	check "it is frozen" said "forefetch mount" \
		"^build:/usr/src +/mnt/build +build +frozen +up"
	check "and read-only" read_only
	check "its rate has a cap" said "sudo forefetchd -t -v" "^prefetch_rate = 2mbit$"
	check "and it is taken away again" back
}
page() {
	check "README's page is switched on" add_page
	check "a reload says that it needs a restart" said \
		"sudo forefetch reload" "metrics_listen: a restart is needed"
	task "sudo forefetchd -t && sudo systemctl restart forefetchd"
	check "the mount goes on" said "wc -c <src/project/lib/util.c" "^12600$"
	check "the page is there" lab_poll 30 fetch / "<title>.*forefetch"
	check "and the metrics" fetch /metrics '^forefetch_build_info\{version='
}
rest() {
	task "sudo forefetch pause" "^$host: nothing is fetched ahead until forefetch resume"
	check "status says so" said "forefetch status" "^$host: up, .*paused"
	task "sudo forefetch resume" "^$host: files are fetched ahead"
}

# --- mistakes -----------------------------------------------------------------

# Not at home: without the daemon the mount does not answer.
stopped() {
	local home=/
	inside systemctl stop forefetchd
	refused_with "sudo mount -t forefetch $host:$export /mnt" \
		"is not running .*; start it with sudo systemctl start forefetchd" &&
		refused_with "forefetch status" "sudo systemctl start forefetchd"
	local rc=$?
	inside systemctl start forefetchd && return $rc
}
mistakes() {
	local mount="sudo mount -t forefetch"
	mistake "mounted twice" "$mount $host:$export $place" \
		"^mount.forefetch: mount point: .* is mounted at $place already"
	mistake "not exported" "$mount $host:/hom /mnt" \
		"^mount.forefetch: export: .* does not export /hom; it exports .*$export"
	mistake "a typing error" "$mount -o consistncy=frozen $host:$export /mnt" \
		"^mount.forefetch: options: .*did you mean 'consistency'\?"
	mistake "no host of that name" "$mount -o wait=2 nas.exmple.org:/home /mnt" \
		"^mount.forefetch: server: .*nas.exmple.org"
	mistake "not root" "mount -t forefetch $host:$export /mnt" "use sudo"
	mistake "unmounted from inside" "sudo umount $place" \
		"^umount.forefetch: unmount: .*busy; .*fuser -vm $place"
	check "the daemon is stopped" stopped
}

tasks() {
	check "a project at the server" put_project || give_up
	look
	why_slow
	keep
	second_server
	page
	rest
	mistakes
}
