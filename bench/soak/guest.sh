# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of `bench/run soak` that runs in the lab's guest: a day in an hour.
# Each round mounts anew, reads and lists some of the trees of bench/jobs' set
# `seeds`, writes and removes a file, and compares what it read with the server's.
# In some rounds files change on the server, or the link breaks. The daemon is
# never restarted. Prints a JSON object with memory and descriptors after each
# round.
set -u
: "${SOAK_ROUNDS:=100}"
state=/run/lab/soak
wrong=0 rounds=0 samples=''

# one_job DIR ROUND: what a round reads there
one_job() {
	cd "$1/seeds" || return
	case $(($2 % 5)) in
	0) grep -rc strbuf repo/builtin repo/refs ;;
	1) find repo zstd -type f -size +8 | LC_ALL=C sort ;;
	2) cat login/.config/*/*.conf login/.bashrc.d/* | sha256sum ;;
	3) find index -name 'git-*.txt' -exec cat {} + | sha256sum ;;
	4) git -c safe.directory='*' -C repo log --stat -n 5 ;;
	esac
}

upset() {
	case $(($1 % 16)) in
	3) echo "/* $1 */" >>"$LAB_EXPORT/seeds/repo/builtin/add.c" ;;
	7) lab_link_down drop; lab_nap 1; lab_link_up ;;
	11) echo "round $1" >"$LAB_EXPORT/seeds/login/.config/app$1.conf" ;;
	esac
}

# Prints the daemon's own count of its memory, as fields of JSON.
own_count() {
	forefetch --socket /run/forefetch/control.sock stats --json >"$state/stats"
	python3 - "$state/stats" <<'END'
import json, sys
gauges = json.load(open(sys.argv[1]))["servers"][0]["gauges"]
print(",".join('"%s":%d' % (k, gauges.get(k, 0)) for k in (
    "memory_bytes", "learned_bytes", "data_memory_bytes", "name_entries",
    "data_files")))
END
}

write_some() {
	head -c $((4096 * ($1 % 9 + 1))) /dev/urandom >"$state/some"
	cp "$state/some" "$LAB_PROXY/seeds/written" &&
		cmp -s "$state/some" "$LAB_EXPORT/seeds/written" &&
		rm "$LAB_PROXY/seeds/written"
}

export GIT_CONFIG_NOSYSTEM=1 HOME=$state GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat \
	LC_ALL=C.UTF-8
mkdir -p "$state"
lab_umount
lab_now; began=$LAB_NOW
for ((round = 1; round <= SOAK_ROUNDS; round++)); do
	upset $round
	# A change on the server counts after attr_timeout.
	lab_nap 3.1
	lab_mount_proxy || exit 1
	lab_now; t0=$LAB_NOW
	(one_job "$LAB_PROXY" $round) >"$state/out" 2>&1
	lab_now; took=$((LAB_NOW - t0))
	(one_job "$LAB_EXPORT" $round) >"$state/want" 2>&1
	if ! cmp -s "$state/out" "$state/want" || ! write_some $round; then
		wrong=$((wrong + 1))
		echo "soak: round $round is wrong" >&2
		diff "$state/want" "$state/out" | head -n 5 >&2
	fi
	lab_umount "$LAB_PROXY" || { lab_nap 1; lab_umount "$LAB_PROXY"; }
	pid=$(lab_proxy_pid) || { echo "soak: the daemon died" >&2; exit 1; }
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
	anon=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status")
	fds=$(ls "/proc/$pid/fd" | wc -l)
	[ $((round % 10)) != 1 ] || own=$(own_count)
	lab_now
	samples+=$(printf ',{"s":%d.%03d,"rss_kib":%d,"anon_kib":%d,"fds":%d,"job_s":%d.%03d,%s}' \
		$(((LAB_NOW - began) / 1000000)) \
		$(((LAB_NOW - began) / 1000 % 1000)) "$rss" "$anon" \
		"$fds" $((took / 1000000)) $((took / 1000 % 1000)) "$own")
	rounds=$round
	((round % 10)) || echo "soak: $round rounds of $SOAK_ROUNDS" >&2
done
echo "{\"rounds\": $rounds, \"wrong\": $wrong, \"samples\": [${samples#,}]}"
