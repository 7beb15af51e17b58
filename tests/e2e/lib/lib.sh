# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# All end-to-end tests share these functions. They run in the lab's guest, and
# have the functions of bench/lab/guest-lib.sh, too.
#
#   ok NAME; fail NAME   print one line, count
#   check NAME COMMAND...   ok when COMMAND succeeds; its output when it fails
#   same NAME FILE FILE     ok when equal; the difference otherwise
#   sums DIR                checksums of all files, links and kinds below DIR
#   module NAME             loads a module of the guest's kernel; fails if there is none
#   skip REASON             ends the test, which cannot run here
#   e2e_end                 summary; the exit status of the test

E2E=$LAB_ROOT/tests/e2e
e2e_failed=0 e2e_passed=0

ok() { echo "ok   $*"; e2e_passed=$((e2e_passed + 1)); }
fail() { echo "FAIL $*"; e2e_failed=$((e2e_failed + 1)); }

check() {
	local name=$1 rc=0
	shift
	"$@" >/tmp/check.out 2>&1 || rc=$?
	if [ $rc -eq 0 ]; then ok "$name"; return; fi
	fail "$name (status $rc)"
	tail -n 40 /tmp/check.out | sed 's/^/     /'
	return 1
}

same() {
	if diff -u "$2" "$3" >/tmp/same.out 2>&1; then ok "$1"; return; fi
	fail "$1: $2 and $3 differ"
	head -n 60 /tmp/same.out | sed 's/^/     /'
	return 1
}

sums() { python3 "$E2E/lib/sums.py" "$1"; }

module() { /run/modprobe "$1" 2>/dev/null || modprobe "$1" 2>/dev/null; }
skip() { echo "SKIP: $*"; exit 0; }

e2e_end() {
	echo "$e2e_passed ok, $e2e_failed failed"
	[ $e2e_failed -eq 0 ]
	exit
}
