#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hint     forefetch hint: from a pipe and arguments; odd names; the library
# lab: --rtt 5ms --rate 10mbit --timeout 300
#
# Hinted bytes are read without a call to the server, in the order of the hints
# and no more than they said; backpressure; who is refused what; LD_PRELOAD,
# whose programs neither fail nor wait where there is no daemon.
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

SOCK=/run/forefetch/control.sock
# ld.so would divide a path with a blank in it.
PRELOAD=/tmp/libforefetch_preload.so
cp "$LAB_BUILD/../hint/libforefetch_preload.so" $PRELOAD
files=40

ff() { forefetch --socket $SOCK "$@"; }
user() { setpriv --reuid=4711 --regid=4711 --clear-groups "$@"; }
# A number in JSON, without a process that takes a second to start.
number() { local line; line=$(grep -o "\"$1\":[0-9]*" | head -n 1); echo "${line##*:}"; }
counter() { ff stats --json | number "$1"; }
member() { number "$2" <"$1"; }
# Of a file: how much of it is cached.
cached() { ff explain --json "$1" | number data_bytes; }
has() { [ "$(cached "$1")" -ge "$2" ]; }
all_cached() { local f; for f; do has "$f" "$(stat -c %s \
	"$LAB_EXPORT${f#"$LAB_PROXY"}")" || return; done; }

refused() {	# STATUS TEXT COMMAND...
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >/tmp/refused 2>&1 </dev/null || rc=$?
	cat /tmp/refused
	[ $rc -eq "$want" ] && grep -q "$text" /tmp/refused
}

t=$LAB_EXPORT/t
mkdir -p "$t/dir" "$t/with blank"
for ((i = 0; i < files; i++)); do
	head -c $((i * 500 + 1)) /dev/urandom >"$t/dir/file$i"
done
head -c 4000000 /dev/urandom >"$t/large"
# Of a kind of which nothing is read: else the rest of it might come as well.
cp "$t/large" "$t/advised.img"
echo blank >"$t/with blank/a b 1 2"
printf 'newline\n' >"$t/new
line"
mkdir -m 0700 "$t/secret"
echo secret >"$t/secret/file"
chmod 600 "$t/large"
p=$LAB_PROXY/t

# ---- the command
shuffled() { for ((i = 0; i < files; i++)); do echo "$p/dir/file$(((i * 17) % files))"; done; }
hinted() { shuffled | ff hint --json - >/tmp/hint.json; }
check "hints of $files files" hinted
cat /tmp/hint.json
check "… all taken" test "$(member /tmp/hint.json taken)" -eq $files
check "… none failed" test "$(member /tmp/hint.json failed)" -eq 0
check "… nothing waits" test "$(member /tmp/hint.json waiting)" -eq 0
live() { [ "$(ff stats --json | number data_live_bytes)" -ge $((files * (files - 1) / 2 * 500 + files)) ]; }
check "all of them are cached" lab_poll 30 live
calls=$(counter data_misses)
cat "$LAB_EXPORT"/t/dir/file* | sha256sum >/tmp/want
cat "$p"/dir/file* | sha256sum >/tmp/got
same "read, they are what the server has" /tmp/want /tmp/got
check "… and were not asked for again" test "$(counter data_misses)" -eq "$calls"

range() { echo "$p/large 1M 64K" | ff hint -; }
check "a range" range
check "… is cached" lab_poll 10 has "$p/large" 65536
check "… and nothing else of it" test "$(cached "$p/large")" -le 131072

odd() { printf '%s\0' "$p/with blank/a b 1 2 0 0" "$p/new
line" "$p/nothing" | ff hint -0 --json - >/tmp/odd.json; }
check "odd names, with -0" odd
check "… are cached" lab_poll 10 all_cached "$p/with blank/a b 1 2" "$p/new
line"
check "… but for one that is not there" test "$(member /tmp/odd.json failed)" -eq 1
relative() { (cd "$p" && ff hint dir/../dir/file3 ./dir//file1); }
check "files by arguments, from where one is" relative

bad() { printf '%s\n' /etc/passwd "$p/dir/file2" "$p/large 99999999T 1" |
	forefetch --socket $SOCK hint -; }
check "lines that cannot be" refused 1 '/etc/passwd: not on an NFSv3 mount' bad
bad_range() { grep -q 'a range is OFFSET LENGTH' /tmp/refused &&
	grep -q '1 hint taken' /tmp/refused; }
check "… each is told, and the others are taken" bad_range
check "a mount of the server itself" refused 1 'not mounted from this' \
	forefetch --socket $SOCK hint "$LAB_DIRECT/t/large"
check "no daemon" refused 1 'is not running' \
	forefetch --socket /nowhere hint "$p/large"
check "no argument" refused 2 'arguments are missing' forefetch hint

# ---- a reader that is slower than the list is long
long() { for ((i = 0; i < 6000; i++)); do echo "$p/large $((i * 600)) 600"; done; }
ff drop >/dev/null
lab_umount "$LAB_PROXY"
lab_mount_proxy
long | forefetch --socket $SOCK hint --json - >/tmp/long.json &
hint=$!
ahead() { [ "$(counter hints_taken)" -gt 1000 ]; }
check "a long list: some of it is taken" lab_poll 20 ahead
check "… not all of it" test "$(counter hints_taken)" -lt 5900
check "the reader reads it" cmp "$p/large" "$t/large"
gone() { ! kill -0 $hint 2>/dev/null; }
check "… and the list comes to its end" lab_poll 90 gone
check "… with all of it taken" test "$(member /tmp/long.json taken)" -eq 6000

# ---- others
check "a user's hints are refused what it may not read" \
	eval "echo '$p/secret/file' | user forefetch --socket $SOCK hint --json - >/tmp/user.json"
check "… and counted" test "$(member /tmp/user.json failed)" -eq 1
check "… and what is cached stays closed to it" eval "! user cat '$p/large' 2>/dev/null"
ff hint "$p/secret/file" >/dev/null
closed() { ! user cat "$p/secret/file" 2>/dev/null; }
check "what root hinted is not the user's" closed

# ---- LD_PRELOAD
cat >/tmp/advise.py <<'END'
import ctypes, os, sys, time
begin = time.monotonic()
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_RDONLY)
ctypes.set_errno(77)
for i in range(20):
    os.posix_fadvise(fd, i * 200000, 4096, os.POSIX_FADV_WILLNEED)
assert libc.readahead(fd, ctypes.c_int64(3990000), ctypes.c_size_t(4096)) == 0
assert ctypes.get_errno() == 77
try:
    os.posix_fadvise(999, 0, 0, os.POSIX_FADV_WILLNEED)
    sys.exit("a bad descriptor was taken")
except OSError:
    pass
local = os.open("/proc/self/exe", os.O_RDONLY)
os.posix_fadvise(local, 0, 4096, os.POSIX_FADV_WILLNEED)
pid = os.fork()
if pid == 0:
    os.posix_fadvise(fd, 3000000, 4096, os.POSIX_FADV_WILLNEED)
    time.sleep(float(sys.argv[2]))
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
os.posix_fadvise(fd, 3100000, 4096, os.POSIX_FADV_WILLNEED)
time.sleep(float(sys.argv[2]))
END
advise() { LD_PRELOAD=$PRELOAD FOREFETCH_HINT_SOCKET=$1 python3 /tmp/advise.py "$p/advised.img" "$2"; }
ff drop >/dev/null
lab_umount "$LAB_PROXY"
lab_mount_proxy
before=$(counter hints_taken)
advise $SOCK 5 >/tmp/advise.out 2>&1 &
advise=$!
taken() { [ "$(counter hints_taken)" -ge $((before + 23)) ]; }
check "posix_fadvise and readahead become hints, in parent and child" \
	lab_poll 30 taken
check "… 23 of them" test "$(counter hints_taken)" -eq $((before + 23))
check "… and are fetched" lab_poll 20 has "$p/advised.img" $((22 * 4096))
check "… without more than that" test "$(cached "$p/advised.img")" -le 800000
wait $advise
check "… and the program ends well" test $? -eq 0
check "without a daemon it does so, too" advise /nowhere 0
check "of a user, too" user env LD_PRELOAD="$PRELOAD" FOREFETCH_HINT_SOCKET=$SOCK \
	python3 -c 'import os
fd = os.open("'"$p"'/dir/file3", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)'
e2e_end
