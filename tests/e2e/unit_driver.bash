#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What unit.sh runs under its systemd: three restarts of the daemon while
# load.py writes, each followed by progress, then a poweroff. Leaves a mark in
# $1 for each step.
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

progress 3 && touch "$marks/began"
for i in 1 2 3; do
	before=$(count)
	systemctl restart forefetchd && touch "$marks/restarted.$i"
	progress "$before" && touch "$marks/progress.$i"
done
touch "$marks/poweroff"
systemctl --no-block poweroff
