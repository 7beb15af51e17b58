#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tree     thousands of real files in and out, checksums against the server's
# lab: --tree /usr/include --timeout 1500
#
# Twice, as the second pass is answered from what the proxy keeps.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

src=${1:-/usr/include}
sums "$LAB_EXPORT/tree" >/tmp/server.sums
files=$(grep -c '^100' /tmp/server.sums)
check "the tree has 5000 files or more ($files)" test "$files" -ge 5000

for pass in first second; do
	lab_drop_caches
	sums "$LAB_PROXY/tree" >/tmp/proxy.sums
	same "read through the proxy, $pass time" /tmp/server.sums /tmp/proxy.sums
done

check "cp -a in" cp -a "$src" "$LAB_PROXY/in"
check "cp -a out" cp -a "$LAB_PROXY/tree" /tmp/out
# nfs-ganesha answers SETATTR of a symlink with success and sets no times.
written() {
	[ "$LAB_SERVER" = ganesha ] || { cat "$1"; return; }
	sed 's/^\(120[0-7]* [^ ]* [^ ]*\) [^ ]*/\1 -/' "$1"
}
written /tmp/server.sums >/tmp/want.sums
sums "$LAB_EXPORT/in" >/tmp/all.sums
written /tmp/all.sums >/tmp/in.sums
same "written through the proxy, as the server has it" \
	/tmp/want.sums /tmp/in.sums
sums /tmp/out >/tmp/out.sums
same "copied out" /tmp/server.sums /tmp/out.sums
check "rm -r" rm -r "$LAB_PROXY/in"
check "nothing is left" test ! -e "$LAB_EXPORT/in"
e2e_end
