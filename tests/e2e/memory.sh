#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# memory   a small machine writes twice its memory; TERM and restart under load
# lab: --mem 512M --timeout 1500
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

mib=${1:-1024}
cat >/tmp/write.py <<'P'
import hashlib, os, sys
mib, path, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
block, h = os.urandom(1 << 20), hashlib.sha1()
fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
for i in range(mib):
    data = i.to_bytes(8, "big") + block[8:]
    h.update(data)
    while data:
        data = data[os.write(fd, data):]
    if i == 20:
        open(out + ".begun", "w").close()
os.fsync(fd)
os.close(fd)
open(out, "w").write(h.hexdigest() + "\n")
P
digest() { sha1sum <"$1" | cut -d' ' -f1; }

awk '/^Mem(Total|Available)|^Swap/' /proc/meminfo
check "write $mib MiB" timeout 900 \
	python3 /tmp/write.py "$mib" "$LAB_PROXY/big" /tmp/sum
digest "$LAB_EXPORT/big" >/tmp/got
same "the server has it" /tmp/sum /tmp/got
lab_drop_caches
check "read it back" eval 'digest "$LAB_PROXY/big" >/tmp/got'
same "as it was" /tmp/sum /tmp/got
rm "$LAB_PROXY/big"
check "daemon survived" lab_proxy_pid

for round in 1 2 3; do
	rm -f /tmp/sum /tmp/sum.begun
	python3 /tmp/write.py 384 "$LAB_PROXY/load" /tmp/sum &
	writer=$!
	check "round $round: load" lab_poll 120 test -e /tmp/sum.begun
	check "round $round: TERM under load ends it" lab_proxy_stop ||
		{ lab_hang_report; lab_proxy_kill; }
	status=$(lab_proxy_status)
	check "round $round: exit status 0 (is $status)" test "$status" = 0
	check "round $round: start again" lab_proxy_start
	check "round $round: the writer ends" lab_poll 240 lab_dead $writer ||
		lab_hang_report
	check "round $round: the writer succeeded" wait $writer
	digest "$LAB_EXPORT/load" >/tmp/got
	same "round $round: the server has it" /tmp/sum /tmp/got
done

# The order of a shutdown: unmount, then stop.
python3 /tmp/write.py 64 "$LAB_PROXY/last" /tmp/sum
check "umount" timeout 120 umount "$LAB_PROXY"
check "stop" lab_proxy_stop
digest "$LAB_EXPORT/last" >/tmp/got
same "the last write arrived" /tmp/sum /tmp/got
e2e_end
