# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of bench/slowdisk/run that runs in the lab's guest.
# For each case it prints `case DELAY idle|busy`, the JSON of nfsload, and
# `disk READS FILES`: how often the disk was read during the case, and how many
# files the readers had.
set -eu

give_up() { echo "slowdisk: $*" >&2; exit 1; }

# Reads and writes take longer.
disk_table() { echo "0 $sectors delay $device 0 $1"; }
# shellcheck source=bench/lab/slow-disk.sh
. "$LAB_D/slow-disk.sh"

# Nothing of the cold files is in anybody's memory: neither the client's, nor
# the page cache, nor the daemon.
forget() {
	lab_umount
	lab_proxy_stop
	sync
	lab_drop_caches
	lab_proxy_start
	lab_mount_proxy
}

# One reader: its own files, each once, until told to stop.
reader() {
	local f
	for f in "$LAB_PROXY/cold/$1"-*; do
		[ ! -e "$stop" ] || return 0
		cat "$f" >/dev/null
		echo "$f" >>"$done_files"
	done
}

# one_case DELAY idle|busy
one_case() {
	local i before pids=()
	set_delay 0
	forget
	rm -f "$stop"
	: >"$done_files"
	"$SLOW_NFSLOAD" --server 127.0.0.1 --port 2050 --mount-port 2050 \
		--export "$LAB_EXPORT" --mix getattr=1,lookup=1,read=1 \
		--size 4K --file-size 16K --files 64 --prime --warmup 3s \
		--duration "$SLOW_DURATION" --timeout 60s --json --quiet \
		>"$out" 2>"$err" &
	i=$!
	# In its warm-up, after it has made and read its files.
	lab_nap 1.5 || :
	set_delay "$1"
	before=$(disk_reads)
	if [ "$2" = busy ]; then
		for ((n = 1; n <= SLOW_READERS; n++)); do
			reader $n & pids+=($!)
		done
	fi
	wait $i || { cat "$err" >&2; give_up "nfsload failed"; }
	echo "case $1 $2"
	cat "$out"
	echo "disk $(($(disk_reads) - before)) $(wc -l <"$done_files")"
	: >"$stop"
	set_delay 0
	[ ${#pids[@]} -eq 0 ] || wait "${pids[@]}"
}

stop=/run/lab/slow.stop done_files=/run/lab/slow.files
out=/run/lab/slow.json err=/run/lab/slow.err
lab_proxy_stop
slow_disk
lab_conf_set "server lab" consistency frozen
while read -r setting; do
	[ -z "$setting" ] ||
		lab_conf_set "server lab" "${setting%%=*}" "${setting#*=}"
done <<<"$SLOW_SET"

echo "slowdisk: filling the cache" >&2
mkdir "$LAB_EXPORT/cold"
for ((n = 1; n <= SLOW_READERS; n++)); do
	for ((k = 0; k < 40; k++)); do
		head -c 1M /dev/urandom >"$LAB_EXPORT/cold/$n-$k"
	done
done
lab_proxy_start
lab_mount_proxy
cat "$LAB_PROXY"/cold/* >/dev/null
for case in "0 idle" "0 busy" "$SLOW_DELAY idle" "$SLOW_DELAY busy"; do
	echo "slowdisk: delay and readers: $case" >&2
	# shellcheck disable=SC2086 # two words
	one_case $case
done
lab_umount
