#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bigdir   a directory of 20,000 entries lists whole, also while it shrinks
# lab: --rtt 5ms --timeout 900
. "$LAB_ROOT/tests/e2e/lib/lib.sh"

n=${1:-20000}
python3 - "$LAB_EXPORT/big" "$n" <<'P'
import os, sys
os.mkdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    os.close(os.open("%s/entry-%06d" % (sys.argv[1], i), os.O_CREAT | os.O_WRONLY))
P
for pass in first second; do
	lab_drop_caches
	check "whole list, $pass time" python3 "$E2E/bigdir/bigdir.py" list "$LAB_PROXY/big" "$n"
done
check "list with attributes" python3 "$E2E/bigdir/bigdir.py" stat "$LAB_PROXY/big" "$n"
if [ "$LAB_SERVER" = knfsd ]; then
	# Ganesha does not see removals beside it.
	check "list while the server's side removes" \
		python3 "$E2E/bigdir/bigdir.py" shrink "$LAB_PROXY/big" "$n" "$LAB_EXPORT/big"
fi
check "list while this side removes" \
	python3 "$E2E/bigdir/bigdir.py" shrink "$LAB_PROXY/big" "$n" "$LAB_PROXY/big"
lab_drop_caches
check "afterwards" python3 "$E2E/bigdir/bigdir.py" equal "$LAB_PROXY/big" "$LAB_DIRECT/big"
e2e_end
