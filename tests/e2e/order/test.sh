#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# order    a client's calls in their order: open files removed, df at once
# lab: --rtt 20ms --timeout 300
#
# The kernel removes a file that was unlinked while it was open when it is
# closed, and does not wait for that REMOVE. A server executes what comes behind
# it afterwards; through the proxy nothing may show the file any more, either.
# And free space is that of now, as soon as something was written or removed.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

# An argument: so many trees. What a direct mount does is shown where it is 100.
trees=${1:-100}
looks=$((trees / 5))
sides=proxy
[ "$trees" -lt 100 ] || sides='direct proxy'
chmod 777 "$LAB_EXPORT"
for side in $sides; do
	mnt=$LAB_DIRECT
	[ "$side" = direct ] || mnt=$LAB_PROXY
	mkdir "$LAB_EXPORT/order-$side"
	chmod 777 "$LAB_EXPORT/order-$side"
	python3 "$E2E/order/order.py" files "$mnt/order-$side" "$trees" "$looks" \
		>"/tmp/$side"
	sed "s/^/$side: /" "/tmp/$side"
done
check "trees behind an open file are removed" \
	grep -qx "rmtree 0 of $trees" /tmp/proxy
check "no listing shows a file that was closed" \
	grep -qx "listing 0 of $looks" /tmp/proxy
check "a name that is gone is absent" grep -qx "stat 0 of $looks" /tmp/proxy
check "df follows what was written and removed" \
	python3 "$E2E/order/order.py" df "$LAB_PROXY" "$LAB_EXPORT"
e2e_end
