#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# users    users, groups and modes: through the proxy exactly what direct gives
# lab: --timeout 900
#
# users.py tries every operation on every object as every user, first on the
# direct mount and then through the proxy, in an order in which the proxy has
# just answered another user who had more rights; and once more with caches warm.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

matrix() {	# NAME DIRECT-MOUNT PROXY-MOUNT EXPORT
	local pass
	python3 "$E2E/users/users.py" make "$4/users"
	python3 "$E2E/users/users.py" try "$2/users" >/tmp/direct.txt
	for pass in first second; do
		python3 "$E2E/users/users.py" try "$3/users" >/tmp/proxy.txt
		same "$1, $pass time ($(wc -l </tmp/direct.txt) results)" \
			/tmp/direct.txt /tmp/proxy.txt
	done
	check "$1: something was refused" grep -q EACCES /tmp/direct.txt
	check "$1: something was granted" grep -q granted /tmp/direct.txt
}

matrix "no_root_squash" "$LAB_DIRECT" "$LAB_PROXY" "$LAB_EXPORT"

mkdir /srv/squash
lab_disk_new /srv/squash 256M && chmod 777 /srv/squash
opts=${LAB_EXPORT_OPTS/no_root_squash/root_squash}
LAB_EXPORT_OPTS=$opts lab_export /srv/squash
check "mount the squashed export directly" \
	lab_mount direct /srv/squash /mnt/squash-direct
check "mount the squashed export through the proxy" \
	lab_mount proxy /srv/squash /mnt/squash-proxy
matrix "root_squash" /mnt/squash-direct /mnt/squash-proxy /srv/squash

# A right that is taken away ends within the time bound, for a user who used it.
if [ "$LAB_SERVER" = knfsd ]; then
	echo secret >"$LAB_EXPORT/revoked"
	chmod 644 "$LAB_EXPORT/revoked"
	as_user() { setpriv --reuid 3001 --regid 3001 --clear-groups "$@"; }
	check "the user reads" as_user cat "$LAB_PROXY/revoked"
	chmod 600 "$LAB_EXPORT/revoked"
	refused() { ! as_user cat "$LAB_PROXY/revoked" >/dev/null 2>&1; }
	check "and is refused once the right is gone" lab_poll 70 refused
fi
e2e_end
