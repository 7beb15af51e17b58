#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# later    what a program was told has failed is not done when the link is back
# lab: --rtt 10ms --timeout 900 --mem 512M
#
# later [N] [pull|drop...]: the link is away for 12 s. Of N changes of each kind
# some fail on a soft mount, and of some the program is killed; some are asked for
# when the link goes, some when it has been away for a while. When it is back, the
# names are there as before, what is still waited for has been done once, and no
# byte that was being written is lost.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

n=3
pid_killed_first='' pid_killed_after='' # start() sets them
case ${1:-} in [0-9]*) n=$1; shift ;; esac
[ $# -gt 0 ] || set -- pull drop
# The kernel goes on by what it knows, and sends changes at once.
known=nosharecache,actimeo=600
lab_mount proxy "$LAB_EXPORT" /mnt/soft $known,soft,timeo=20,retrans=2
lab_mount proxy "$LAB_EXPORT" /mnt/hard $known

# Says `ready`, and after a line came what became of the unlink of each FILE.
cat >/tmp/unlink.py <<'P'
import os, sys
for f in sys.argv[1:]:
    os.stat(f), os.access(os.path.dirname(f), os.W_OK)
print("ready", flush=True)
input()
for f in sys.argv[1:]:
    if os.fork() == 0:
        try:
            os.unlink(f)
            print("done", flush=True)
        except OSError as e:
            print(e.strerror, flush=True)
        os._exit(0)
for f in sys.argv[1:]:
    os.wait()
P
cat >/tmp/write.py <<'P'
import os, sys
data = os.urandom(1 << 16) * 64
with open(sys.argv[2], "wb") as f:
    f.write(data)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
for at in range(0, len(data), 1 << 18):
    os.pwrite(fd, data[at:at + (1 << 18)], at)
    if at == 1 << 21:
        input()
os.fsync(fd)
P

# N names, each in a directory of its own, since one is changed by one process at
# a time.
files() {	# WHO WHEN
	local i
	for ((i = 0; i < n; i++)); do echo "$dir/$1-$2-$i/f"; done
}
make_files() {
	local f
	for f in $(files "$1" "$2"); do
		mkdir "$LAB_EXPORT/${f%/f}" && touch "$LAB_EXPORT/$f"
	done
}

# start WHO MOUNT WHEN: the unlinks begin with go WHO WHEN
start() {
	local go=/tmp/go.$1.$3
	rm -f "$go"
	mkfifo "$go"
	# shellcheck disable=SC2046 # names without blanks
	(cd "$2" && exec setsid python3 /tmp/unlink.py $(files "$1" "$3" | sed 's,^,./,')) \
		<>"$go" >"/tmp/out.$1.$3" 2>&1 &
	eval "pid_$1_$3=$!"
}
go() { echo go >"/tmp/go.$1.$2"; }
end() { kill -9 -- "-$1" && wait "$1" 2>/dev/null; true; }
all_ready() { [ "$(cat /tmp/out.* | grep -cx ready)" -eq 6 ]; }

all_said() { [ "$(grep -cx "$1" "$2")" -eq "$n" ]; }
are_there() {
	local f
	for f in $(files "$1" "$2"); do [ -e "$LAB_EXPORT/$f" ] || return 1; done
}

outage() {	# KIND
	local who when
	dir=$1
	mkdir "$LAB_EXPORT/$dir"
	rm -f /tmp/out.*
	for when in first after; do
		for who in soft killed waits; do
			make_files $who $when
		done
	done
	for when in first after; do
		start soft /mnt/soft $when
		start killed /mnt/hard $when
		start waits /mnt/hard $when
	done
	rm -f /tmp/go.write; mkfifo /tmp/go.write
	python3 /tmp/write.py /mnt/hard/$dir/written /tmp/want.$dir <>/tmp/go.write & writer=$!
	check "$1: all are ready" lab_poll 60 all_ready
	check "$1: the link goes" lab_link_down "$1"
	for who in soft killed waits; do go $who first; done
	echo go >/tmp/go.write
	# Not a wait for something to happen: how long it is away is the test.
	lab_nap 4
	for who in soft killed waits; do go $who after; done
	lab_nap 2
	end "$pid_killed_first"
	end "$pid_killed_after"
	for when in first after; do
		check "$1, $when: the soft mount says that it failed" \
			lab_poll 20 all_said "Input/output error" /tmp/out.soft.$when
	done
	check "$1: the link is back" lab_link_up
	for when in first after; do
		check "$1, $when: what is waited for is done" \
			lab_poll 60 all_said "done" /tmp/out.waits.$when || cat /tmp/out.waits.$when
	done
	check "$1: the file is written" wait $writer
	same "$1: all of it" /tmp/want.$dir "$LAB_EXPORT/$dir/written"
	lab_settle 2
	for when in first after; do
		check "$1, $when: what failed was not done" are_there soft $when ||
			ls "$LAB_EXPORT/$dir"
		check "$1, $when: nor what was killed" are_there killed $when ||
			ls "$LAB_EXPORT/$dir"
	done
}

for kind; do outage "$kind"; done
forefetch --socket /run/forefetch/control.sock stats |
	grep -E 'changes_(held|dropped)|closed_ask_again|postcheck' || true
e2e_end
