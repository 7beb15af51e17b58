# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of `bench/run load` that runs in the lab's guest: nfsload against knfsd
# and through forefetchd, with 1, 10 and 100 connections. Prints one list of JSON.
set -u
: "${LOAD_ROUNDS:=5}" "${LOAD_CONNECTIONS:=1 10 100}"
list=''
for connections in $LOAD_CONNECTIONS; do
	"$LOAD_NFSLOAD" --target "direct=$LAB_ADDR:2049:20048:$LAB_EXPORT" \
		--target "bounded=127.0.0.1:2050:2050:$LAB_EXPORT" \
		--mix getattr=40,lookup=30,access=20,read=10 --size 16K \
		--connections "$connections" --prime --duration 1s \
		--rounds "$LOAD_ROUNDS" --timeout 60s --quiet --json \
		>/run/lab/load.json || {
		# A newer knfsd hangs up on more than 64 connections made at a
		# time: what the others showed is still worth having.
		echo "load: no figures of $connections connections" >&2
		continue
	}
	list+=,$(sed '1s/^ *\[//; $s/\] *$//' /run/lab/load.json)
done
[ -n "$list" ] && echo "[${list#,}]"
