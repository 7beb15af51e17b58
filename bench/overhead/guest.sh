# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The part of bench/overhead/run that runs in the lab's guest.
set -eu
dd if=/dev/urandom of="$LAB_EXPORT/tree/big" bs=1M count=8 status=none
lab_pair -n "$RUNS" -d tree "grep -r" -- grep -rc include --include='*.[ch]' .
lab_pair -n "$RUNS" -d tree "ls -lR" -- ls -lR
lab_pair -n "$RUNS" -d tree "read 8 MiB" -- sha256sum big
lab_pair -n "$RUNS" -d tree "write 4 MiB" -- \
	dd if=/dev/zero of=out bs=1M count=4 conv=fsync status=none
