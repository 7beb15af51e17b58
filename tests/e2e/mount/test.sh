#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mount    mount -t forefetch and umount: sections come and go; each failure is told
# lab: --no-proxy --timeout 400
#
# The daemon begins with no server at all. Helpers of mount(8) are looked for in
# /sbin alone, so that has an overlay here. What a message says is asserted where
# it says which step failed, and what to do.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

RUN=/run/forefetch.d
D=/run/mounttest
CONF=$D/forefetch.conf
sub=$LAB_EXPORT/sub

daemon_start() {
	mkdir -p /run/forefetch
	forefetchd -F -f $CONF --run-dir $RUN >>$D/log 2>&1 &
	daemon=$!
	lab_poll 10 sh -c "forefetch status >/dev/null 2>&1"
}

daemon_end() {	# SIGNAL
	kill -"$1" $daemon
	wait $daemon 2>/dev/null
	return 0
}

helpers() {
	mkdir -p $D/up $D/work
	mount -t overlay overlay \
		-o lowerdir=/usr/sbin,upperdir=$D/up,workdir=$D/work /usr/sbin || return 1
	ln -sf "$(command -v forefetch)" /usr/sbin/mount.forefetch
	ln -sf "$(command -v forefetch)" /usr/sbin/umount.forefetch
	hash -r
}

options_of() { findmnt -n -o OPTIONS "$1"; }
has() { options_of "$1" | tr , '\n' | grep -qx "$2"; }
# Without a script in Python, whose start takes seconds in the guest.
sections() { forefetch status --json | grep -o '{"name":"[^"]*","address"' | cut -d'"' -f4 | paste -sd ' '; }
is_empty() { [ -z "$(sections)" ] && ! ls $RUN/*.conf >/dev/null 2>&1; }
same_list() { [ "$(sections)" = "$1" ]; }
# What those who remove forefetch ask first.
is_detached() { ! "$LAB_ROOT/configs/in-use" 2>/run/in-use && grep -q detached /run/in-use; }

# Fails with that status, and says that; nothing changes.
refused() {	# STATUS TEXT COMMAND...
	local status=$1 text=$2 before rc=0
	shift 2
	before=$(cd $RUN 2>/dev/null && cat -- *.conf 2>/dev/null)
	"$@" >/tmp/refused 2>&1 || rc=$?
	if [ $rc -ne "$status" ]; then
		fail "$* (status $rc, not $status)"
	elif ! grep -qF -- "$text" /tmp/refused; then
		fail "$* does not say: $text"
	elif [ "$(cd $RUN 2>/dev/null && cat -- *.conf 2>/dev/null)" != "$before" ]; then
		fail "$* left a section"
	else
		ok "refused: ${*##*/bin/} ($text)"
		return
	fi
	sed 's/^/     /' /tmp/refused
}

mkdir -p $D /mnt/a /mnt/b /mnt/c "$sub"
echo here >"$sub/file"
other=/srv/other
mkdir $other && lab_disk_new $other 64M && lab_export $other ||
	fail "a second file system"
cat >$CONF <<END
[forefetch]
cache_dir = $LAB_CACHE/mount
cache_size = 200M
END
mkdir -p "$LAB_CACHE/mount"
check "helpers in /sbin" helpers

# --- before there is a daemon
refused 2 "start it with sudo systemctl start forefetchd" \
	mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
refused 2 "needs _netdev" mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
check "the daemon starts without servers" daemon_start
check "and has none" is_empty

# --- one line
umask 077
check "mount -t forefetch" mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
umask 022
check "it can be read" grep -qx here /mnt/a/sub/file
check "and written" sh -c "echo more >/mnt/a/sub/new && grep -qx more $sub/new"
for option in nosuid nodev vers=3 nolock proto=tcp port=288; do
	check "it has $option" has /mnt/a $option
done
check "the source is as it was typed" \
	test "$(findmnt -n -o SOURCE /mnt/a)" = "$LAB_ADDR:$LAB_EXPORT"
check "the section is named for the server" same_list "$LAB_ADDR"
check "its file can be read by the daemon's user" \
	test "$(stat -c %a $RUN $RUN/$LAB_ADDR.conf | paste -sd ' ')" = "755 644"
refused 32 "already" mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
refused 1 "is mounted at /mnt/a already" forefetch mount "$LAB_ADDR:$LAB_EXPORT" /mnt/a

# --- a second one, and what it may not ask for
refused 2 "link=wired is asked for, but $LAB_ADDR has link=auto" \
	mount -t forefetch -o link=wired "$LAB_ADDR:$sub" /mnt/b
refused 2 "is mounted already with consistency=bounded" \
	mount -t forefetch -o consistency=frozen "$LAB_ADDR:$LAB_EXPORT" /mnt/b
refused 32 "is on the same file system of the server" mount -t forefetch \
	-o ro,noatime,consistency=frozen,actimeo=5 "$LAB_ADDR:$sub" /mnt/b
check "another file system, with options of its own" mount -t forefetch \
	-o ro,noatime,consistency=frozen,actimeo=5 "$LAB_ADDR:$other" /mnt/b
check "they reach the kernel" has /mnt/b ro
check "and the daemon" sh -c "forefetch status --json | grep -q 'frozen'"
check "both share a section" same_list "$LAB_ADDR"
check "forefetch mount lists both" sh -c \
	"forefetch mount | grep -q '/mnt/b.*frozen' && forefetch mount | grep -q '/mnt/a.*bounded'"
check "the same as JSON" sh -c \
	"forefetch mount --json | grep -q '^{.mounts.:\[{.*/mnt/a.*/mnt/b.*}\]}\$'"
check "umount" umount /mnt/b
check "the section stays for the first" same_list "$LAB_ADDR"
check "what was asked for the path is over" mount -t forefetch "$LAB_ADDR:$other" /mnt/b
check "it is bounded again" sh -c "forefetch mount | grep -q '/mnt/b.*bounded'"
check "umount of it" umount /mnt/b

# --- something else is mounted over it
mount -t tmpfs tmpfs /mnt/a
refused 1 "nothing is mounted through forefetchd at /mnt/a" forefetch umount /mnt/a
check "umount of that" umount /mnt/a
check "the first is still there" grep -qx here /mnt/a/sub/file

# --- the daemon is killed
daemon_end KILL
check "the daemon starts again" daemon_start
check "the mount goes on" lab_poll 20 grep -qx here /mnt/a/sub/file

# --- what is in use stays
exec 5</mnt/a/sub/file
check "a busy mount is not unmounted" sh -c "! umount /mnt/a 2>/dev/null"
check "it can be detached" forefetch umount -l /mnt/a
check "its section stays" same_list "$LAB_ADDR"
check "and forefetch is in use" is_detached
exec 5<&-
check "mount again" mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
unshare -m sleep 100 &
apart=$!
lab_poll 5 grep -q /mnt/a /proc/$apart/mounts
check "umount, while another namespace has it" umount /mnt/a
check "its section stays for that" same_list "$LAB_ADDR"
kill $apart
wait $apart 2>/dev/null
check "the next mount clears up" mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
check "umount ends the last" umount /mnt/a
check "nothing is left" lab_poll 5 is_empty
check "nor is forefetch in use" lab_poll 5 "$LAB_ROOT/configs/in-use"

# --- two at once, of a server that nobody knows
jobs=()
for dir in a b c; do
	mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/$dir &
	jobs[${#jobs[@]}]=$!
done
wait "${jobs[@]}"
check "three mounts at once share a section" same_list "$LAB_ADDR"
check "all are there" sh -c "for d in a b c; do mountpoint -q /mnt/\$d || exit 1; done"
jobs=()
for dir in a b c; do
	umount /mnt/$dir &
	jobs[${#jobs[@]}]=$!
done
wait "${jobs[@]}"
check "three umounts at once leave nothing" lab_poll 10 is_empty

# --- fstab
echo "$LAB_ADDR:$LAB_EXPORT /mnt/a forefetch _netdev,noatime,consistency=strict 0 0" >$D/fstab
check "fstab" mount --bind $D/fstab /etc/fstab
check "mount -a" mount -a
check "mount -a again mounts nothing" \
	sh -c "mount -av | grep -q 'already mounted' && [ \$(grep -c ' /mnt/a ' /proc/mounts) = 1 ]"
check "remount" mount -o remount,ro /mnt/a
check "it is read-only" has /mnt/a ro
check "umount of it" umount /mnt/a
check "nothing is left after that" lab_poll 5 is_empty
umount /etc/fstab

# --- each failure
m() { refused "$1" "$2" forefetch mount "${@:3}"; }
m 2 "has no path" nas /mnt/a
m 2 "must begin with a slash" nas:home /mnt/a
m 2 "IPv6 address must be in brackets" fe80::1:/home /mnt/a
m 2 "control character" $'nas:/a\n[server b]' /mnt/a
m 2 "did you mean 'consistency'" -o consistncy=frozen "$LAB_ADDR:$sub" /mnt/a
m 2 "for NFSv4 mount with -t nfs" -o vers=4 "$LAB_ADDR:$sub" /mnt/a
m 2 "Kerberos" -o sec=krb5 "$LAB_ADDR:$sub" /mnt/a
m 2 "is not one of strict, bounded or frozen" -o consistency=x "$LAB_ADDR:$sub" /mnt/a
m 1 "create it with mkdir" "$LAB_ADDR:$sub" /mnt/none
m 1 "is not a directory" "$LAB_ADDR:$sub" /etc/passwd
m 1 "does not export /nosuch; it exports $LAB_EXPORT, $other" "$LAB_ADDR:/nosuch" /mnt/a
m 1 "has no directory $LAB_EXPORT/none" "$LAB_ADDR:$LAB_EXPORT/none" /mnt/a
m 1 "cannot be kept" -o consistency=frozen "$LAB_ADDR:/a #b" /mnt/a
m 1 "is not up" -o wait=4 nosuch.invalid:/home /mnt/a
m 1 "is not up" -o wait=1 "${LAB_ADDR%.*}.99:/home" /mnt/a
m 1 "waiting for it, " -o wait=5 "${LAB_ADDR%.*}.99:/home" /mnt/a
interrupted() {
	local pid rc=0
	/usr/sbin/mount.forefetch "${LAB_ADDR%.*}.98:/home" /mnt/a &
	pid=$!
	lab_poll 10 same_list "${LAB_ADDR%.*}.98" || return
	kill $pid
	wait $pid || rc=$?
	return $rc
}
refused 32 "interrupted" interrupted
refused 1 "use sudo" setpriv --reuid 1000 --clear-groups forefetch mount \
	"$LAB_ADDR:$sub" /mnt/a
refused 1 "nothing is mounted through forefetchd at /proc" forefetch umount /proc
v4_only() { lab_in server rpc.nfsd 0; lab_in server rpc.nfsd -N 3 -V 4 8; }
v3_again() { lab_in server rpc.nfsd 0; lab_in server rpc.nfsd -V 3 -N 4 8; }
check "a server with NFSv4 only" v4_only
m 1 "NFSv4" "$LAB_ADDR:$LAB_EXPORT" /mnt/a
check "the server has NFSv3 again" v3_again
check "nothing is left of all that" is_empty
# The daemon removes what it made for them when they have left.
no_rests() {
	! find "$LAB_CACHE/mount" $RUN /run/forefetch \
		\( -name '*nosuch*' -o -name '*.9[89]' -o -name '*.9[89].drc' \) |
		grep .
}
check "nor of what was made for servers that never answered" lab_poll 20 no_rests

# --- a section that a person wrote
mkdir -p $D/forefetch.d
printf '[server nas]\naddress = %s\nlisten = 127.0.0.1:400\nprefetch = metadata\n' \
	"$LAB_ADDR" >$D/forefetch.d/nas.conf
check "by the name of a section that the daemon has not read yet" \
	mount -t forefetch nas:"$LAB_EXPORT" /mnt/a
check "it is used" has /mnt/a port=400
refused 2 "[server nas] has prefetch = metadata" \
	mount -t forefetch -o prefetch=off nas:"$sub" /mnt/b
check "umount of it" umount /mnt/a
check "it stays" same_list nas
sed -i 's/127.0.0.1:400/[::1]:400/' $D/forefetch.d/nas.conf
check "its listener was changed, on IPv6 now" mount -t forefetch nas:"$LAB_EXPORT" /mnt/a
check "it is used" has /mnt/a proto=tcp6
check "umount of it" umount /mnt/a
sed -i '/listen/a allow = 10.0.0.0/8' $D/forefetch.d/nas.conf
forefetch reload >/dev/null
m 1 "allow" nas:"$LAB_EXPORT" /mnt/a
rm $D/forefetch.d/nas.conf
check "reload" forefetch reload

# --- for ever
check "forefetch mount --save" sh -c \
	"forefetch mount --save $LAB_ADDR:$LAB_EXPORT /mnt/a >$D/saved"
check "it tells the line of fstab" \
	grep -qx "$LAB_ADDR:$LAB_EXPORT /mnt/a forefetch _netdev 0 0" $D/saved
check "umount of it" umount /mnt/a
check "its section stays" same_list "$LAB_ADDR"
check "in its file" test -e "$D/forefetch.d/$LAB_ADDR.conf"
printf '[server b]\naddress = %s\nlisten = 127.0.0.1:401\n' "$LAB_ADDR" >$D/forefetch.d/nas.conf
m 1 "is not up" --save -o wait=1 nas:/home /mnt/b
check "a person's file of that name stays" grep -qx '\[server b\]' $D/forefetch.d/nas.conf
rm $D/forefetch.d/nas.conf
check "reload" forefetch reload

# --- the daemon is away
check "mount" mount -t forefetch "$LAB_ADDR:$LAB_EXPORT" /mnt/a
daemon_end TERM
check "umount without the daemon" timeout 20 umount /mnt/a
[ "${e2e_failed:-0}" -eq 0 ] || tail -n 40 $D/log
e2e_end
