# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The suites of tests/suites/guest.sh, one function each: suite_NAME DIR runs it in the
# empty directory DIR of a mount.
# shellcheck disable=SC2154 # guest.sh sets `out` and `side`

parsed() { # FORMAT: the lines of results.py for what is in $out
	python3 "$LAB_ROOT/tests/suites/results.py" "$1" <"$out" |
		sed "s/^/result\t$side\t/"
	keep "$2"
}

# --- pjdfstest ---------------------------------------------------------------

suite_pjdfstest() {
	local rc=0 names=()
	cat >/tmp/pjdfstest.toml <<-'T'
	[features]
	secondary_fs = "/tmp"
	posix_fallocate = {}
	rename_ctime = {}
	utime_now = {}
	utimensat = {}
	[settings]
	naptime = 0.05
	allow_remount = false
	[dummy_auth]
	entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
	T
	# It prints names without what it compares them with.
	if [ -n "$SUITES_ONLY" ]; then
		read -ra names <<<"$SUITES_ONLY"
		names=(--exact -- "${names[@]/#/pjdfstest::tests::}")
	fi
	within 300 "$SUITES_PROGRAM" -c /tmp/pjdfstest.toml -p "$1" "${names[@]}" || rc=$?
	parsed pjdfstest all
	# It returns 1 where a test failed, and those have lines of their own.
	[ $rc -le 1 ] || result "the-whole-run" "$(by_status $rc)"
}

# --- fsx ---------------------------------------------------------------------

# The same seed writes the same, so the file that is left must be the same, too.
suite_fsx() {
	local seed opts
	for seed in $(seq 1 20); do
		wanted "seed-$seed" || continue
		# Half of them as programs find it, half where the client keeps little.
		opts=''
		[ $((seed % 2)) -eq 1 ] || opts=noac,lookupcache=none
		remount "$opts"
		fsx_one "$seed" "$1/fsx-$seed"
	done
	remount ''
}

fsx_one() {
	local rc=0
	within 120 "$SUITES_PROGRAM" -q -S "$1" -N 1000 \
		-f "$LAB_ROOT/tests/e2e/fsx/fsx.toml" -P /tmp "$2" || rc=$?
	result "seed-$1" "$(by_status $rc)" "$(md5sum <"$2" | cut -c 1-12)" \
		"$([ $rc -eq 0 ] || tail -n 5 "$out")"
	keep "seed-$1"
}

# Mounts the side anew, which also empties what the client keeps of it.
remount() {
	if [ "$side" = direct ]; then
		lab_umount "$LAB_DIRECT" && lab_mount_direct "$1"
	else
		lab_umount "$LAB_PROXY" && lab_mount_proxy "$1"
	fi || give_up "$side cannot be mounted again"
}

# --- stress-ng ---------------------------------------------------------------

# Its class `filesystem`, one after the other, without those that use no file in the
# directory given: a process each, so that one that hangs does not end the others.
suite_stress_ng() {
	local name rc
	for name in $("$SUITES_PROGRAM" --class 'filesystem?' 2>&1 | sed 's/.*stressors: //'); do
		case $name in
		bind-mount | binderfs | eventfd | fanotify | ioprio | procfs) continue ;;
		esac
		wanted "$name" || continue
		progress "$name"
		rc=0
		within 90 "$SUITES_PROGRAM" "--$name" 1 --verify --timeout 1 --seed 1 \
			--temp-path "$1" || rc=$?
		stress_ng_result "$name" $rc
		keep "$name"
	done
}

# 3 and 4: the system has not what this one needs. Some report a failure, and yet end
# with 0.
stress_ng_result() {
	local bad
	bad=$(grep 'fail: ' "$out" | head -n 3)
	case $2 in
	3 | 4) result "$1" skip ;;
	0) if [ -n "$bad" ]; then
			result "$1" fail '' "$bad"
		elif grep -q 'skipping stress\|will be skipped' "$out"; then
			result "$1" skip
		else
			result "$1" pass
		fi ;;
	*) result "$1" "$(by_status "$2")" "" "${bad:-$(cat "$out")}" ;;
	esac
}

# --- fio ---------------------------------------------------------------------

# A line: name, options. What a job wrote is verified at once, again by a client that
# was mounted anew (NAME.again), and as the server has it (NAME.server).
fio_jobs='
seq-4k      --rw=write --bs=4k --verify=crc32c
seq-1m      --rw=write --bs=1M --verify=xxhash
rand-4k     --rw=randwrite --bs=4k --verify=sha256
rand-odd    --rw=randwrite --bs=3000 --size=8400000 --verify=crc32c
rand-range  --rw=randwrite --bsrange=512-64k --verify=md5
over        --rw=randwrite --bs=8k --verify=crc32c --norandommap --io_size=32M
mixed       --rw=randrw --bs=16k --verify=md5
fsync       --rw=randwrite --bs=4k --verify=crc32c --fsync=16
direct      --rw=randwrite --bs=4k --verify=crc32c --direct=1
aio         --rw=randwrite --bs=4k --verify=crc32c --direct=1 --ioengine=libaio --iodepth=16
mmap        --rw=randwrite --bs=4k --verify=crc32c --ioengine=mmap
vectors     --rw=randwrite --bs=64k --verify=crc32c --ioengine=pvsync
two         --rw=randwrite --bs=4k --verify=crc32c --numjobs=2
'

suite_fio() {
	local name options
	while read -r name options; do
		if [ -z "$name" ]; then continue; fi
		wanted "$name" || wanted "$name.again" || wanted "$name.server" || continue
		progress "$name"
		fio_one "$name" "$1" "$options" || continue
		remount ''
		fio_one "$name.again" "$1" "$options --verify_only"
		fio_one "$name.server" "$LAB_EXPORT/$side" "$options --verify_only"
	done <<<"$fio_jobs"
}

# fio_one TEST DIR OPTIONS
fio_one() {
	local rc=0
	# shellcheck disable=SC2086 # words
	within 120 "$SUITES_PROGRAM" --name="${1%%.*}" --directory="$2" --size=8M \
		--ioengine=psync --randseed=7 --verify_fatal=1 --verify_dump=0 --verify_state_save=0 \
		--output-format=terse --thread $3 || rc=$?
	result "$1" "$(by_status $rc)" '' \
		"$([ $rc -eq 0 ] || grep -iE 'verify|error|err=' "$out" | head -n 4)"
	keep "$1"
	return $rc
}

# --- dbench ------------------------------------------------------------------

suite_dbench() {
	dbench_one one-client "$1" 1
	dbench_one four-clients "$1" 4
	dbench_one fsync "$1" -F 2
	dbench_one sync-directories "$1" -s -S 2
}

# It goes on after what fails, and says so on a line. Two of its lines are no failures:
# the first dbench of a machine finds no semaphore, and when it removes what it made, the
# kernel client keeps a file `.nfs...` as long as another process has it open.
dbench_one() {
	local test=$1 dir=$2 rc=0 bad
	shift 2
	wanted "$test" || return 0
	progress "$test"
	within 120 "$SUITES_PROGRAM" -c /usr/share/dbench/client.txt -t 10 -D "$dir" "$@" || rc=$?
	bad=$(grep -E 'ERROR|failed|FAILED|succeeded for' "$out" |
		grep -v 'create barrier semaphore\|/\.nfs[0-9a-f]* *'\''* failed' | head -n 5)
	if [ $rc -eq 0 ] && [ -n "$bad" ]; then rc=1; fi
	result "$test" "$(by_status $rc)" '' "$bad"
	keep "$test"
}

# --- SQLite ------------------------------------------------------------------

# A line: name, options of speedtest1. Each of its steps is a test, and the hash of all
# answers is the value of the last one. `wal` needs memory that processes share, unless
# one has the file for itself.
sqlite_runs='
delete    --journal delete
truncate  --journal truncate
persist   --journal persist
wal       --journal wal --exclusive
small     --journal delete --pagesize 512 --cachesize 20
utf16     --journal memory --utf16le --without-rowid
'

suite_sqlite() {
	local name options rc
	while read -r name options; do
		if [ -z "$name" ]; then continue; fi
		[ -z "$SUITES_ONLY" ] || [[ " $SUITES_ONLY" = *" $name:"* ]] || continue
		progress "$name"
		rc=0
		# shellcheck disable=SC2086 # words
		within 240 "$SUITES_PROGRAM" --size 2 --verify $options "$1/$name.db" || rc=$?
		parsed "sqlite:$name" "$name"
		result "$name:end" "$(by_status $rc)" "$(hash_of "$1/$name.db")" \
			"$([ $rc -eq 0 ] || tail -n 3 "$out")"
	done <<<"$sqlite_runs"
}

# Prints what a program that knows nothing of the mount finds in the file on the
# server.
hash_of() {
	remount ''
	sqlite3 "$LAB_EXPORT/$side/${1##*/}" 'PRAGMA integrity_check' 2>&1 | head -n 1
}

# --- git ---------------------------------------------------------------------

suite_git() {
	local script name rc
	export TEST_OUTPUT_DIRECTORY=/tmp/git GIT_TEST_CHAIN_LINT=0
	mkdir -p $TEST_OUTPUT_DIRECTORY
	for script in $(git_scripts); do
		name=${script##*/}
		name=${name%%-*}
		[ -z "$SUITES_ONLY" ] || [[ " $SUITES_ONLY" = *" $name:"* ]] || continue
		progress "${script##*/}"
		rc=0
		within 180 sh -c 'cd "$1" && exec sh "$2" --root="$3"' git \
			"$SUITES_PROGRAM/t" "$script" "$1" || rc=$?
		parsed "git:$name" "$name"
		[ $rc -ne 137 ] || result "$name:end" hang
		rm -rf "${1:?}"/trash*
	done
}

git_scripts() {
	local pattern
	for pattern in $(sed 's/#.*//' "$LAB_ROOT/tests/suites/git-scripts"); do
		(cd "$SUITES_PROGRAM/t" && ls $pattern-*.sh)
	done
}
