#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prefetch what is fetched ahead: right, of nobody else's, and an end to it
# lab: --rtt 40ms --rate 20mbit --timeout 900
#
# prefetch [PART...]: gain acls libraries silence changes settings faults users
# (all).
# E2E_SILENCE: seconds in which there is to be no call (20).
# The kernel client's caches are emptied before each run of the job; what the
# job prints is what it prints on the direct mount.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

parts=("$@")
[ ${#parts[@]} -gt 0 ] ||
	parts=(gain acls libraries silence changes settings faults users)
tool() { python3 "$E2E/prefetch/prefetch.py" "$@"; }

proxy_restart() {	# [KEY=VALUE...]
	local s
	lab_umount "$LAB_PROXY" && lab_proxy_stop || return
	for s in "$@"; do
		lab_conf_set "server lab" "${s%%=*}" "${s#*=}" || return
	done
	lab_proxy_start && lab_mount_proxy
}

# The daemon keeps what it learned, and loses the data.
data_gone() {
	lab_umount "$LAB_PROXY" && lab_proxy_stop &&
		rm -rf "$LAB_CACHE/lab/data" && lab_proxy_start &&
		lab_mount_proxy
}

# With its last mount go the client's pages, names and attributes.
client_empty() { lab_umount "$LAB_PROXY" && lab_mount_proxy; }

# Notes what the direct mount shows now; without delay, since only that counts.
expect() {
	lab_umount "$LAB_FLOOR" &&
		lab_mount floor "$LAB_EXPORT" "$LAB_FLOOR" || return 1
	tool job "$LAB_FLOOR/job" >/tmp/want.job
}

run_job() {	# NAME
	client_empty
	tool job "$LAB_PROXY/job" >/tmp/got.job
	same "$1: output" /tmp/want.job /tmp/got.job
}

trained=no
train() {
	[ $trained = no ] || return 0
	trained=yes
	[ -e /tmp/want.job ] || expect
	run_job "training 1" && run_job "training 2"
}

# Calls to the server, calls ahead, READs, up to now.
calls() { forefetch stats --json | tool calls; }
nfsd_calls() { lab_served | awk '{ for (i = 3; i <= NF; i++) n += $i; print n }'; }
nfsd_read_bytes() { lab_in server awk '/^io / {print $2}' /proc/net/rpc/nfsd; }

# Milliseconds. Not a wait for something to happen: the time is what is tested.
pause() {
	lab_now
	local end=$((LAB_NOW + $1 * 1000))
	while [ "$LAB_NOW" -lt $end ]; do lab_nap 0.5; lab_now; done
}

# The third run leaves clients few round trips to wait for.
part_gain() {
	local n direct before after waited
	n=$(nfsd_calls)
	expect
	direct=$(($(nfsd_calls) - n))
	train
	client_empty
	read -ra before < <(calls)
	tool job "$LAB_PROXY/job" >/tmp/got.job
	read -ra after < <(calls)
	same "third run: output" /tmp/want.job /tmp/got.job
	waited=$((after[0] - before[0] - (after[1] - before[1])))
	check "third run: $((after[1] - before[1])) calls ahead" \
		test "${after[1]}" -gt "${before[1]}"
	check "third run: clients wait for $waited calls, direct for $direct" \
		test $((waited * 5)) -le "$direct"
}

# A directory is seen for the first time. Each file's access control list is a
# call of its own, and so is where each link leads: ls waits for one before it
# asks for the next.
part_acls() {
	local before after waited files=60 i
	mkdir -p "$LAB_EXPORT/acls"
	for ((i = 0; i < files; i++)); do echo $i >"$LAB_EXPORT/acls/$i"; done
	for ((; i < files + 20; i++)); do ln -s $((i - files)) "$LAB_EXPORT/acls/$i"; done
	setfacl -m u:4711:r "$LAB_EXPORT/acls/7"
	expect
	LC_ALL=C ls -l "$LAB_FLOOR/acls" >/tmp/want.ls
	client_empty
	read -ra before < <(calls)
	LC_ALL=C ls -l "$LAB_PROXY/acls" >/tmp/got.ls
	read -ra after < <(calls)
	same "ls -l: output" /tmp/want.ls /tmp/got.ls
	waited=$((after[0] - before[0] - (after[1] - before[1])))
	check "ls -l of $files files, 20 links: it waits for $waited calls" \
		test $((waited * 4)) -le $files
}

# Libraries are mapped: their pages are read in no order, a few at the beginning
# first. Between them sources are read, of which more is read first.
part_libraries() {
	local before after all ahead now i
	mkdir -p "$LAB_EXPORT/lib"
	for i in {10..49}; do
		head -c $((i * 7001 - 50000)) /dev/urandom >"$LAB_EXPORT/lib/$i.so"
		head -c $((i * 997)) /dev/urandom >"$LAB_EXPORT/lib/$i.py"
	done
	expect
	tool libraries "$LAB_FLOOR/lib" >/tmp/want.lib
	all=$(cat "$LAB_EXPORT"/lib/* | wc -c)
	client_empty
	read -r _ ahead _ < <(calls)
	before=$(nfsd_read_bytes)
	tool libraries "$LAB_PROXY/lib" >/tmp/got.lib
	lab_settle 1
	after=$(nfsd_read_bytes)
	read -r _ now _ < <(calls)
	same "libraries: output" /tmp/want.lib /tmp/got.lib
	check "libraries: $((now - ahead)) calls ahead" test $((now - ahead)) -ge 40
	check "libraries: the server sends $((after - before)) bytes of $all" \
		test $(((after - before) * 50)) -le $((all * 51))
}

part_silence() {
	local before after n seconds=${E2E_SILENCE:-20}
	train
	pause 10000
	n=$(nfsd_calls)
	before=$(calls)
	pause "${seconds}000"
	after=$(calls)
	check "silence: no call for $seconds s, after 10 s ($before; $after)" \
		test "$before" = "$after"
	check "silence: the server was asked nothing" \
		test "$(nfsd_calls)" = "$n"
}

# The daemon reaches the server through a relay that writes down who asks.
part_users() {
	local relay log=/tmp/relay.log
	lab_link 10ms 20mbit - -
	: >$log
	python3 "$E2E/prefetch/prefetch.py" relay 3049 "$LAB_ADDR:2049" $log \
		3048 "$LAB_ADDR:20048" $log &
	relay=$!
	cp "$LAB_CONF" /tmp/users.conf
	check "users: the daemon asks through the relay" proxy_restart \
		address=127.0.0.1 nfs_port=3049 mount_port=3048 secure=no \
		attr_timeout=500ms
	lab_umount "$LAB_PROXY"
	who() {
		python3 "$E2E/prefetch/prefetch_users.py" --direct "$LAB_ADDR:2049" \
			--mount "$LAB_ADDR:20048" --proxy 127.0.0.1:2050 \
			"$1" "$LAB_EXPORT"
	}
	check "users: make" who make
	check "users: root and the owner, several times" who train
	check "users: calls were sent ahead" eval \
		'read -ra c < <(calls); echo "${c[@]}"; [ "${c[1]}" -gt 0 ]'
	check "users: a stranger after root" who after
	check "users: a stranger beside root" who beside
	lab_proxy_stop
	: >$log
	lab_proxy_start
	check "users: a stranger alone" who alone
	pause 2000
	sort -u $log | awk '$1 == 100003 { print $3 }' | sort -u >/tmp/uids
	echo 1001 >/tmp/uids.want
	same "users: nothing is asked in another's name" \
		/tmp/uids.want /tmp/uids
	lab_proxy_stop
	kill $relay
	cp /tmp/users.conf "$LAB_CONF"
	lab_link 40ms 20mbit - -
	lab_proxy_start && lab_mount_proxy
}

part_changes() {
	lab_link 10ms 20mbit - -
	train
	tool change "$LAB_EXPORT/job" 1
	lab_now; local changed=$LAB_NOW
	expect
	until [ $((LAB_NOW - changed)) -gt 3000000 ]; do lab_nap 0.1; lab_now; done
	run_job "changed, attr_timeout later"
	check "changes: strict" proxy_restart consistency=strict
	run_job "strict: a run before"
	tool change "$LAB_EXPORT/job" 2
	tool job "$LAB_EXPORT/job" >/tmp/want.job
	run_job "strict: changed, at once"
	check "changes: bounded" proxy_restart consistency=bounded
	lab_link 40ms 20mbit - -
}

# The first 40 files only; prints calls to the server, calls ahead, READs.
begin_job() {	# KEY=VALUE
	proxy_restart "$1" && data_gone &&
		tool job "$LAB_PROXY/job" --until 40 >/tmp/got.job &&
		pause 1000 && calls
}

part_settings() {
	local off metadata on
	lab_link 10ms 20mbit - -
	train
	read -ra off < <(begin_job prefetch=off)
	check "off: nothing is asked ahead (${off[*]})" test "${off[1]}" -eq 0
	read -ra metadata < <(begin_job prefetch=metadata)
	check "metadata: calls ahead (${metadata[*]})" \
		test "${metadata[1]}" -gt 0
	check "metadata: no READ ahead" test "${metadata[2]}" -eq "${off[2]}"
	read -ra on < <(begin_job prefetch=on)
	check "on: READs ahead (${on[*]})" test "${on[2]}" -gt "${off[2]}"
	check "settings: on" proxy_restart prefetch=on
	lab_link 40ms 20mbit - -
}

# during NAME BREAK MEND: the job, BREAK when it is under way.
during() {
	local name=$1 pid
	data_gone
	client_empty
	rm -f /tmp/progress
	python3 "$E2E/prefetch/prefetch.py" job "$LAB_PROXY/job" --think 0.03 \
		--progress /tmp/progress >/tmp/got.job & pid=$!
	under_way() { local n=0; { read -r n </tmp/progress; } 2>/dev/null
		[ "${n:-0}" -ge 40 ]; }
	check "$name: under way" lab_poll 120 under_way
	eval "$2"
	check "$name: the job was not over" lab_alive $pid
	eval "$3"
	check "$name: it ends" lab_poll 200 lab_dead $pid || lab_hang_report
	lab_dead $pid || kill -9 $pid
	wait $pid
	same "$name: output" /tmp/want.job /tmp/got.job
	lab_link 40ms 20mbit - -
}

part_faults() {
	expect
	train
	during "cable pulled for 10 s" "lab_link_down pull" \
		"pause 10000; lab_link_up"
	during "packets lost for 10 s" "lab_link_down drop" \
		"pause 10000; lab_link_up"
	during "rate drops to 1 Mb/s" "lab_link 40ms 1mbit - -" :
	during "1% loss, 10 ms jitter" "lab_link 40ms 20mbit 1% 10ms" :
	check "faults: the daemon lives" lab_proxy_pid
}

tool make "$LAB_EXPORT/job"
for part in "${parts[@]}"; do
	lab_now; begin=$LAB_NOW
	"part_$part"
	lab_now; echo "# $part: $(((LAB_NOW - begin) / 1000000)) s"
done
e2e_end
