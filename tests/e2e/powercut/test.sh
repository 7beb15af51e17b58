#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# powercut  the power fails at any write of the cache: nothing misread, nothing lost
# lab: --no-mount --no-proxy --mem 1536M --timeout 7200
#
# powercut [--short] [--fs FS] [--mode MODE] [PREFIXES [SEED]]: jobs whose writes under
# cache_dir are logged, and PREFIXES (5000) of these logs, each with a daemon that starts
# from it.  Seven of ten on ext4 as it is, one on ext4 with data=writeback, where files may
# hold what was never written to them, two on btrfs, and some more on xfs, as far as they
# are there; half of them in frozen mode.  --short: 25 seconds of ext4, in frozen mode.
# Fewer than 100 of one kind may find no moment that is fit for the self-test, and say so.
# A failure keeps its recording, in place of an earlier one of its kind, and says how to
# have its prefix again (--one DIR N).
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

command -v dmsetup >/dev/null || skip "dmsetup is missing (Debian: dmsetup)"
module dm-log-writes || skip "this kernel has no dm-log-writes"

powercut() { python3 -B "$E2E/powercut/powercut.py" "$@" --program "$LAB_BUILD/forefetchd"; }

if [ "${1:-}" = --one ]; then
	check "prefix $3 of $2" powercut one "$2" "$3"
	cat /tmp/check.out
	e2e_end
fi

short=no only_fs='' only_mode=''
while :; do
	case ${1:-} in
	--short) short=yes ;;
	--fs) only_fs=$2; shift ;;
	--mode) only_mode=$2; shift ;;
	*) break ;;
	esac
	shift
done
prefixes=${1:-5000} seed=${2:-$((RANDOM * 32768 + RANDOM))}

there() { command -v "mkfs.$1" >/dev/null && { grep -qw "$1" /proc/filesystems || module "$1"; }; }

# One line for all that was tried there.
some() {	# PREFIXES FS OPTIONS MODE ARG...
	local n=$1 fs=$2 options=$3 mode=$4
	shift 4
	if [ -n "$only_fs" ] && [ "$fs" != "$only_fs" ]; then return; fi
	if [ -n "$only_mode" ] && [ "$mode" != "$only_mode" ]; then return; fi
	if ! there "$fs"; then
		[ -z "$only_fs" ] || skip "$fs is not there"
		echo "# $fs is not there"
		return
	fi
	if powercut run --prefixes "$n" --fs "$fs" --options "$options" --mode "$mode" \
		--seed "$seed" "$@" >/tmp/powercut.out; then
		ok "$(cat /tmp/powercut.out)"
	else
		fail "$fs $options, $mode, seed $seed"
		tail -n 100 /tmp/powercut.out | sed 's/^/     /'
	fi
}

if [ $short = yes ]; then
	some "$prefixes" ext4 "" frozen --turns 60 --skip 0.5 --seconds 25
	e2e_end
fi
for mode in frozen bounded; do
	some $((prefixes * 7 / 20)) ext4 "" $mode
	some $((prefixes / 20)) ext4 data=writeback $mode
	some $((prefixes / 10)) btrfs "" $mode
	some $((prefixes / 20)) xfs "" $mode
done
e2e_end
