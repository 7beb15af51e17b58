# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The part of ./quickstart that runs in the lab's guest: copies a tree in and out
# again, compares it, and prints a short table.
set -eu

# A part of our own sources. Each file of it costs the direct way in some five
# round trips.
src=$LAB_ROOT/proxy
parts="base cache daemon prefetch svc"
sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

echo "mounted through the proxy:"
grep " $LAB_PROXY " /proc/mounts | cut -c1-76
mkdir /tmp/tree
for part in $parts; do cp -a "$src/$part" /tmp/tree; done
sums /tmp/tree >/tmp/want
files=$(wc -l </tmp/want)
size=$(du -sk /tmp/tree | cut -f1)

echo "copying $files files, $size KiB, in and out ..."
cp -a /tmp/tree "$LAB_PROXY/tree"
sums "$LAB_EXPORT/tree" >/tmp/on-server
cmp /tmp/want /tmp/on-server && echo "ok   in:  checksums on the server are equal"
lab_drop_caches
cp -a "$LAB_PROXY/tree" /tmp/back
sums /tmp/back >/tmp/came-back
cmp /tmp/want /tmp/came-back && echo "ok   out: checksums of the copy are equal"

echo
echo "the same jobs on the direct mount and through the proxy"
echo "(bench/jobs/run measures real jobs on several links)"
lab_pair -n 2 -d tree "list and stat" -- ls -lR
lab_pair -n 2 -d tree "read headers" -- \
	sh -c 'cat svc/*.h cache/*.h'
echo
forefetch --socket /run/forefetch/control.sock status
