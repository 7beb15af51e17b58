#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shared [ROUNDS [SECONDS ...]]    two clients use the same files in turn
# lab: --rtt 10ms --timeout 900
#
# One client is on the direct mount, the other one on the proxy. What
# close-to-open consistency keeps of it on a direct mount must be there: lines
# that are appended, records that are changed in place, and a new file whose
# name comes by message.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"
rounds=${1:-1}
shift || true

appends() {	# NAME LINES PAUSE
	local i
	for ((i = 1; i <= $2; i++)); do
		echo "line $i of one" >>"$LAB_PROXY/$1" || return 1
		lab_nap "$3"
		echo "line $i of two" >>"$LAB_DIRECT/$1" || return 1
		lab_nap "$3"
	done
}

all_lines() {	# NAME LINES
	[ "$(grep -c '^line [0-9]* of [a-z]*$' "$LAB_EXPORT/$1")" = $((2 * $2)) ]
}

# Each client changes its own records of one page, and opens the file anew for
# each: the others must be as they were last left.
records() {	# NAME COUNT PAUSE
	python3 - "$LAB_PROXY/$1" "$LAB_DIRECT/$1" "$LAB_EXPORT/$1" "$2" "$3" <<-'END'
	import sys, time
	proxy, direct, server, count, pause = sys.argv[1:]
	want = [b"%07d\n" % 0 for _ in range(64)]
	with open(server, "wb") as f:
	    f.write(b"".join(want))
	time.sleep(1)
	for i in range(1, int(count) + 1):
	    path, n = ((proxy, direct)[i % 2], i % 64)
	    want[n] = b"%07d\n" % i
	    with open(path, "r+b") as f:
	        f.read()
	        f.seek(8 * n)
	        f.write(want[n])
	    time.sleep(float(pause))
	got = open(server, "rb").read()
	lost = [i for i in range(64) if got[8 * i:8 * i + 8] != want[i]]
	sys.exit(f"lost: {lost}" if lost else 0)
	END
}

for ((r = 1; r <= rounds; r++)); do
	for pause in 0 .5; do
		n=60; [ $pause = 0 ] || n=12
		check "round $r, pause $pause: appends are done" \
			appends "append-$r-$pause" $n $pause
		check "round $r, pause $pause: all $((2 * n)) lines are there" \
			all_lines "append-$r-$pause" $n
		check "round $r, pause $pause: no record is lost" \
			records "records-$r-$pause" $n $pause
	done
done

# How often a name that nobody asked for before is not there, and for how long.
# All in one process: on a busy machine the start of a program may take seconds, and
# the directory would have been still for longer than SECONDS.
until_open() {	# DIRECTORY SECONDS
	python3 - "$LAB_PROXY/$1" "$LAB_EXPORT/$1" "$2" <<-'END'
	import os, sys, time
	client, server, seconds = sys.argv[1:]
	os.mkdir(server)
	open(server + "/old", "w").close()
	time.sleep(float(seconds))
	os.listdir(client)
	time.sleep(.5)
	with open(server + "/input", "w") as f:
	    f.write("ready")
	begin, tries = time.time(), 0
	while True:
	    tries += 1
	    try:
	        open(client + "/input").read()
	        break
	    except FileNotFoundError:
	        if time.time() - begin > 60:
	            sys.exit("not within a minute")
	        time.sleep(.05)
	print(f"after {time.time() - begin:.1f} s, at try {tries}")
	END
}

for ((r = 1; r <= rounds; r++)); do
	took=$(until_open "job-$r" 1)
	check "round $r: a new file opens at the first try ($took)" \
		[ "${took##* }" = 1 ]
done

# A directory that nobody changes for long is believed for longer. How long its
# new file stays away is told for each of SECONDS; a minute would be a fault.
waits=()
for s in "$@"; do
	until_open "still-$s" "$s" >"/tmp/still-$s" &
	waits+=($!)
done
[ ${#waits[@]} -eq 0 ] || wait "${waits[@]}"
for s in "$@"; do
	check "still for $s s: a new file opens $(cat "/tmp/still-$s")" \
		[ -s "/tmp/still-$s" ]
done
e2e_end
