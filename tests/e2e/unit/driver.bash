#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The test `unit` runs this under its systemd: restarts, kills and an upgrade of the
# daemon while load.py writes, each followed by progress, then a poweroff. Leaves a
# mark in $1 for each step.
marks=$1
count() { cat "$marks/count" 2>/dev/null || echo 0; }

# Until more writes were acknowledged than $1.
progress() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(count)" -le "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

main_pid() { systemctl show -P MainPID forefetchd; }

# kill -9, until another process of the unit is ready.
kill_main() {
	local i before
	before=$(main_pid)
	kill -9 "$before" || return 1
	for ((i = 0; i < 600; i++)); do
		[ "$(main_pid)" != "$before" ] &&
			systemctl -q is-active forefetchd && return 0
		sleep 0.1
	done
	return 1
}

# A new program in the place of the old one, as cmake and packages do it.
upgrade() {
	local program=/usr/local/sbin/forefetchd
	cp $program $program.new && mv $program.new $program &&
		systemctl daemon-reload && systemctl restart forefetchd
}

# A reload that adds a server, which listens when it returns, and one of a file
# with an error, which fails and says why.
reload() {
	local conf=/etc/forefetch.d/second.conf
	mkdir -p /etc/forefetch.d
	printf '[server second]\naddress = 127.0.0.1\nlisten = 127.0.0.1:2051\n' >$conf
	systemctl reload forefetchd && : <>/dev/tcp/127.0.0.1/2051 || return 1
	echo 'prefetch = sometimes' >>$conf
	! systemctl reload forefetchd || return 1
	systemctl status -n 50 forefetchd | grep "second.conf:4:.*prefetch" || return 1
	rm $conf && systemctl reload forefetchd && ! : <>/dev/tcp/127.0.0.1/2051
}

# did COMMAND... MARK: then the load has gone on.
did() {
	local mark=${*: -1} before
	before=$(count)
	"${@:1:$#-1}" && touch "$marks/$mark"
	progress "$before" && touch "$marks/progress.${mark#restarted.}"
}

progress 3 && touch "$marks/began"
for i in 1 2 3; do did systemctl restart forefetchd "restarted.$i"; done
did reload reloaded
systemctl start impostor
touch /run/forefetch/mark
for i in 1 2 3 4 5; do did kill_main "killed.$i"; done
did upgrade upgraded
[ ! -e /run/forefetch/mark ] || touch "$marks/runtime"
systemctl stop impostor
touch "$marks/poweroff"
systemctl --no-block poweroff
