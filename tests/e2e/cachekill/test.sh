#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cachekill  kill -9 under load, then a damaged cache: never a wrong byte
# lab: --rtt 5ms --timeout 3000
#
# cachekill [--short] [KILLS [SEED]]: 100 kills at random moments under reads
# and writes, a tenth of it in modes other than bounded; half of them while data is
# laid out in the order of its use.  Then bytes in the files of the cache are
# flipped, the files cut, of another version, of another user, or garbage.
# --short: in bounded only, and flipped bytes only.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

modes=(bounded frozen strict) damage=(flip truncate head garbage owner)
ends=(kill stop) short=no
if [ "${1:-}" = --short ]; then
	modes=(bounded) damage=(flip) ends=(kill) short=yes
	shift
fi
kills=${1:-100}
RANDOM=${2:-$((SECONDS + $$))}
files=42
tool() { python3 "$E2E/cachekill/cachekill.py" "$@"; }
tool make "$LAB_EXPORT/ck" $files
tree=$LAB_PROXY/ck

# Also `frozen`: nobody but the proxy's own client changes anything here.
mode_set() {
	lab_umount "$LAB_PROXY" && lab_proxy_stop &&
		lab_conf_set forefetch reorder_rate 1MiB/s &&
		lab_conf_set "server lab" consistency "$1" &&
		lab_proxy_start && lab_mount_proxy noac
}

ctl() { forefetch --socket "$(sed -n 's/^control_socket *= *//p' "$LAB_CONF")" "$@"; }

# Have the data laid out from now on, again and again, until the daemon is killed.
lay_out() {
	while lab_proxy_pid >/dev/null; do
		ctl reorder >/dev/null 2>&1
		lab_nap 0.02
	done
}

# Whether some was moved since the start, for the sum.
laid_out() {
	ctl stats --json 2>/dev/null |
		grep -q '"layout_moved_bytes": *[1-9]' && echo yes >>/tmp/laid
}

verified() { lab_drop_caches; tool verify "$tree"; }

turns() { cat /tmp/stop.? 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
moved() { [ "$(turns)" -gt "$1" ]; }

under_load() {	# MODE KILLS
	local i w pids=() rc=0 nap begun=0 laying
	rm -f /tmp/stop /tmp/stop.? /tmp/laid
	for w in 1 2 3 4; do
		tool load "$tree" /tmp/stop $w >/tmp/load.$w 2>&1 &
		pids+=($!)
	done
	for ((i = 1; i <= $2; i++)); do
		# The kernel's client takes seconds to connect again; a kill
		# before that would hit nothing.
		lab_poll 60 moved "$(turns)" || { fail "load $i"; break; }
		printf -v nap '0.%03d' $((RANDOM % 700))
		((i % 2)) || { lay_out & laying=$!; }
		lab_nap "$nap"
		((i % 2)) || laid_out
		lab_proxy_kill || fail "kill $i"
		((i % 2)) || wait $laying || :
		lab_proxy_start || { fail "start $i"; break; }
		begun=$i
	done
	touch /tmp/stop
	over() {
		local p
		for p in "${pids[@]}"; do lab_dead "$p" || return 1; done
	}
	check "$1: $2 kills, each followed by a start" test $begun -eq "$2"
	check "$1: the load ends" lab_poll 120 over || lab_hang_report
	for w in 0 1 2 3; do
		lab_dead "${pids[w]}" || kill -9 "${pids[w]}"
		wait "${pids[w]}" || rc=1
	done
	check "$1: every byte was right" test $rc -eq 0 || cat /tmp/load.?
	sed 's/^/     /' /tmp/load.?
	check "$1: every byte is right afterwards" verified
	echo "     laid out before $(cat /tmp/laid 2>/dev/null | wc -l) kills"
	# And when all of it has been, and after another kill.
	ctl reorder | sed 's/^/     /'
	check "$1: laid out, every byte is right" verified
	lab_proxy_kill && lab_proxy_start || fail "kill after laying out"
	check "$1: killed then, every byte is right" verified
}

spoiled() {	# HOW END
	"lab_proxy_$2"
	tool spoil "$LAB_CACHE" "$1" $RANDOM | sed 's/^/     /'
	check "$1, after $2: the daemon starts" lab_proxy_start || return
	check "$1, after $2: every byte is right" verified
	check "$1, after $2: and once more" verified
	check "$1, after $2: the daemon lives" lab_proxy_pid
}

# cache_dir itself replaced by a file, or by somebody else's directory: refused
# with exit status 1 or 2 and a word why, or rebuilt; misread never.
replaced() {	# NAME COMMAND
	local rc=0
	lab_proxy_stop
	rm -rf /tmp/other
	eval "$2"
	lab_conf_set forefetch cache_dir /tmp/other
	: >"$LAB_PROXY_LOG"
	lab_proxy_start >/tmp/start.out 2>&1 || rc=$?
	if [ $rc -eq 0 ]; then
		check "$1: rebuilt, every byte is right" verified
		lab_proxy_stop
	else
		check "$1: refused, and says why" grep -q other "$LAB_PROXY_LOG"
	fi
	lab_conf_set forefetch cache_dir "$LAB_CACHE"
	check "$1: starts with its own directory again" lab_proxy_start
}

for mode in "${modes[@]}"; do
	check "$mode: the daemon starts" mode_set $mode
	case $mode in
	bounded) under_load $mode "$kills" ;;
	*) under_load $mode $(((kills + 9) / 10)) ;;
	esac
	for how in "${damage[@]}"; do
		for end in "${ends[@]}"; do spoiled "$how" "$end"; done
	done
done
if [ $short = no ]; then
	replaced "a file" "echo garbage >/tmp/other"
	replaced "another user's directory" \
		"mkdir /tmp/other; cp -r $LAB_CACHE/lab /tmp/other; chown -R 3001 /tmp/other"
	replaced "no directory" :
fi
check "at the end every byte is right" verified
e2e_end
