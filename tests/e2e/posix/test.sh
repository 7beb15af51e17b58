#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# posix    one sequence of operations, on the direct mount and through the proxy
# lab: --timeout 900 --disk 8G
#
# posix.py writes down what each operation returned; the two records and the
# two trees it left behind, as the server sees them, must be equal.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

umask 022
for side in direct proxy; do
	mkdir "$LAB_EXPORT/posix-$side"
	chmod 777 "$LAB_EXPORT/posix-$side"
	mnt=$LAB_DIRECT
	[ $side = direct ] || mnt=$LAB_PROXY
	check "the sequence runs ($side)" eval \
		"(cd $mnt/posix-$side && python3 \"\$E2E/posix/posix.py\") >/tmp/$side.txt"
	sums "$LAB_EXPORT/posix-$side" |
		awk '{ if ($4 > 1700000000) $4 = "now"; print }' >/tmp/$side.tree
	(cd "$LAB_EXPORT/posix-$side" && getfacl -R -p . 2>/dev/null) >/tmp/$side.acl
done

same "results are equal" /tmp/direct.txt /tmp/proxy.txt
same "trees on the server are equal" /tmp/direct.tree /tmp/proxy.tree
same "ACLs on the server are equal" /tmp/direct.acl /tmp/proxy.acl
check "the sequence did its work" test "$(wc -l </tmp/direct.txt)" -gt 120
if [ "$LAB_SERVER" = knfsd ]; then
	check "ACLs were set" grep -q '^user:12345:r-x' /tmp/direct.acl
fi
# A tree that was made on one side is seen on the other, the same.
sums "$LAB_PROXY/posix-direct" >/tmp/cross.proxy
sums "$LAB_DIRECT/posix-direct" >/tmp/cross.direct
same "the direct side's tree, read through the proxy" \
	/tmp/cross.direct /tmp/cross.proxy
df --output=size,avail,itotal "$LAB_DIRECT" >/tmp/df.direct
df --output=size,avail,itotal "$LAB_PROXY" >/tmp/df.proxy
same "df" /tmp/df.direct /tmp/df.proxy
e2e_end
