#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""load.py DIR COPY STOP: reads DIR/file and appends to DIR/log, in turns, until
there is a file STOP; each block must be what COPY has, each record is synced.
Prints how much that was and the longest wait, and fails on the first error."""
import mmap
import os
import sys
import time

SIZE = 4096


def record(i):
    return b"%015d\n" % i * (SIZE // 16)


def main():
    where, copy_path, stop = sys.argv[1:]
    with open(copy_path, "rb") as f:
        copy = f.read()
    # Past the client's cache: it is the daemon that must answer.
    data = os.open(where + "/file", os.O_RDONLY | os.O_DIRECT)
    log = os.open(where + "/log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    buf = mmap.mmap(-1, SIZE) # O_DIRECT wants whole pages
    turns, longest = 0, 0.0
    while not os.path.exists(stop):
        began = time.monotonic()
        at = turns * SIZE % len(copy)
        if os.preadv(data, [buf], at) != SIZE or buf[:] != copy[at:at + SIZE]:
            sys.exit("wrong bytes at %d" % at)
        if os.write(log, record(turns)) != SIZE:
            sys.exit("short write")
        os.fsync(log)
        longest = max(longest, time.monotonic() - began)
        turns += 1
    for i in range(turns):
        if os.pread(log, SIZE, i * SIZE) != record(i):
            sys.exit("record %d is lost" % i)
    print("%d reads and writes, the longest wait %.2f s" % (turns, longest))
    return 0 if turns else 1


if __name__ == "__main__":
    sys.exit(main())
