#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# many     several exports, servers, ports, mounts; order of mounts and starts
# lab: --rtt 5ms --timeout 900 --no-mount
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

# A second export of the first server, on a file system of its own, and a
# second server.  Its file system is a copy of the first one's image: equal
# UUID, so equal handles for different files.
lab_disk_new /srv/other 64M && lab_export /srv/other
echo first >"$LAB_EXPORT/name"
echo other >/srv/other/name
mkdir /srv/twin-a /srv/twin-b
truncate -s 32M /tmp/twin && mkfs.ext4 -q -F /tmp/twin
cp /tmp/twin /tmp/twin2
mount -o loop /tmp/twin /srv/twin-a && mount -o loop /tmp/twin2 /srv/twin-b
echo twin-a >/srv/twin-a/name
echo twin-b >/srv/twin-b/name
lab_export /srv/twin-a
check "second server" lab_server_new second "$LAB_SERVER" /srv/twin-b

cat >>"$LAB_CONF" <<CONF

[server second]
address = $(lab_addr second)
listen = 127.0.0.1:2051
allow = 127.0.0.0/8

[server six]
address = $LAB_ADDR
listen = [::1]:2052
allow = ::1/128
CONF
check "restart with three servers" eval 'lab_proxy_stop && lab_proxy_start'

reads() { [ "$(cat "$1/name")" = "$2" ]; }
check "mount first export" lab_mount proxy "$LAB_EXPORT" /mnt/a
check "mount its other export" lab_mount proxy /srv/other /mnt/b
check "mount twin of first server" lab_mount proxy /srv/twin-a /mnt/c
check "mount twin of second server" lab_mount 127.0.0.1:2051 /srv/twin-b /mnt/d
check "first export" reads /mnt/a first
check "other export" reads /mnt/b other
check "twin a" reads /mnt/c twin-a
check "twin b, equal handles" reads /mnt/d twin-b
check "mount by IPv6" lab_mount ::1:2052 "$LAB_EXPORT" /mnt/six
check "read by IPv6" reads /mnt/six first
check "mount a directory below an export" eval \
	'mkdir -p $LAB_EXPORT/sub && echo sub >$LAB_EXPORT/sub/name &&
	lab_mount proxy $LAB_EXPORT/sub /mnt/sub && reads /mnt/sub sub'
check "an export that is not there is refused" eval \
	'! timeout 60 mount -t nfs -o vers=3,nolock,tcp,port=2050,mountport=2050,mountproto=tcp,retry=0 127.0.0.1:/absent /mnt/work'

# Each mount sees what the others did: own changes at once on one server.
echo new >/mnt/six/by-six
check "changes through one port are seen through another" \
	lab_poll 70 test -e /mnt/a/by-six

for d in /mnt/b /mnt/a /mnt/sub; do check "umount $d" umount $d; done
check "the others still read" eval 'reads /mnt/c twin-a && reads /mnt/d twin-b'
for i in 1 2 3 4 5; do
	lab_mount proxy "$LAB_EXPORT" /mnt/a && reads /mnt/a first &&
		umount /mnt/a || { fail "remount $i"; break; }
done
check "five remounts" test "$i" = 5

python3 "$E2E/many/mount3.py" dump 127.0.0.1 2050 export >/tmp/exports.proxy
python3 "$E2E/many/mount3.py" dump "$LAB_ADDR" 20048 export >/tmp/exports.direct
same "showmount -e" /tmp/exports.direct /tmp/exports.proxy
check "exports are named" grep -q "^$LAB_EXPORT" /tmp/exports.proxy
check "dump of mounts answers" python3 "$E2E/many/mount3.py" dump 127.0.0.1 2050 mounts

umount /mnt/c /mnt/d /mnt/six
check "stop" lab_proxy_stop

# The daemon starts before the server can be reached, and a mount waits for it.
check "servers stop" eval 'lab_server_stop && LAB_ON=second lab_server_stop'
check "start without servers" lab_proxy_start
mount_late() { lab_mount proxy "$LAB_EXPORT" /mnt/a retry=5; }
mount_late &
late=$!
lab_nap 3 # long enough that the mount has met the missing server
check "servers start" eval 'lab_server_start && LAB_ON=second lab_server_start'
check "the mount ends" lab_poll 200 lab_dead $late
check "the mount succeeded" wait $late
check "and reads" reads /mnt/a first

# A client whose server is down hangs (hard mount), others do not.
LAB_ON=second lab_server_stop
check "one server down, the other answers" timeout 20 ls /mnt/a
check "umount" umount /mnt/a
check "stop with a server down" lab_proxy_stop
e2e_end
