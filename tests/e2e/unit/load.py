# SPDX-License-Identifier: GPL-2.0-or-later
"""load.py FILE COUNT: appends 64 KiB to FILE, synchronously, for ever, and
keeps in COUNT how many were acknowledged."""
import os
import sys

fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
count = 0
while True:
    os.write(fd, b"x" * 65536)
    os.fsync(fd)
    count += 1
    with open(sys.argv[2] + ".new", "w") as f:
        f.write("%d\n" % count)
    os.rename(sys.argv[2] + ".new", sys.argv[2])
