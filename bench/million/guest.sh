# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of `bench/run million` that runs in the lab's guest: find walks a tree
# of many files, in directories of a thousand, and looks at each file. Prints a
# JSON object: the seconds of each walk, how much memory the daemon then takes, how
# long it takes to end and to serve again, and a walk after that.
set -u
: "${MILLION_FILES:=1000000}"

python3 - "$LAB_EXPORT/many" "$MILLION_FILES" <<'END' || exit 1
import os, sys
for i in range(int(sys.argv[2])):
    where = os.path.join(sys.argv[1], "%04d" % (i // 1000))
    if i % 1000 == 0:
        os.makedirs(where)
    os.close(os.open("%s/%03d" % (where, i % 1000), os.O_CREAT | os.O_WRONLY))
END
sync

# walk MOUNT: microseconds into $took, the count into $count
walk() {
	local t0
	lab_umount
	lab_drop_caches
	lab_mount_direct && lab_mount_proxy || exit 1
	lab_now; t0=$LAB_NOW
	count=$(find "$1/many" -type f -size 0 | wc -l)
	lab_now
	took=$((LAB_NOW - t0))
	[ "$count" = "$MILLION_FILES" ] ||
		{ echo "million: $count files through $1" >&2; exit 1; }
	echo "million: $1: $((took / 1000)) ms" >&2
}

lab_conf_set forefetch memory_size 1G
lab_umount
lab_proxy_stop && lab_proxy_start || exit 1
walk "$LAB_DIRECT"; direct=$took
walk "$LAB_PROXY"; first=$took
walk "$LAB_PROXY"; again=$took
rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$(lab_proxy_pid)/status")
forefetch --socket /run/forefetch/control.sock stats --json >/run/lab/stats
lab_umount
lab_now; t0=$LAB_NOW
LAB_STOP_WAIT=120 lab_proxy_stop || exit 1
lab_now; ended=$((LAB_NOW - t0)); t0=$LAB_NOW
kept=$(du -sk --exclude=data "$LAB_CACHE" | cut -f 1)
lab_proxy_start || exit 1
lab_now; opened=$((LAB_NOW - t0))
echo "million: ended in $((ended / 1000)) ms, serves after $((opened / 1000)) ms" >&2
walk "$LAB_PROXY"; restarted=$took
python3 - "$MILLION_FILES" $direct $first $again "$rss" $ended $opened \
	$restarted "$kept" <<'END'
import json, sys
(files, direct, first, again, rss, ended, opened, restarted,
 kept) = map(int, sys.argv[1:])
server = json.load(open("/run/lab/stats"))["servers"][0]
gauges = dict(server.get("gauges", {}), **server.get("counters", {}))
print(json.dumps({"files": files, "direct_s": direct / 1e6,
                  "first_s": first / 1e6, "again_s": again / 1e6,
                  "rss_kib": rss, "ended_s": ended / 1e6,
                  "opened_s": opened / 1e6, "restarted_s": restarted / 1e6,
                  "kept_kib": kept, "names": gauges.get("name_entries", 0),
                  "entry_bytes": gauges.get("entry_bytes", 0)}))
END
