#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""direct_reads.py FILE COPY N: N reads of 4 KiB of FILE, past the client's
cache, in turns over the file; each must be what COPY has there."""
import mmap
import os
import sys
import threading

SIZE, THREADS = 4096, 8


def reader(fd, copy, n, first, wrong):
    buf = mmap.mmap(-1, SIZE) # O_DIRECT wants whole pages
    blocks = len(copy) // SIZE
    for i in range(first, n, THREADS):
        at = i % blocks * SIZE
        if os.preadv(fd, [buf], at) != SIZE or buf[:] != copy[at:at + SIZE]:
            wrong.append(at)


def main():
    path, copy_path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(copy_path, "rb") as f:
        copy = f.read()
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    wrong = []
    threads = [threading.Thread(target=reader, args=(fd, copy, n, i, wrong))
               for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("%d reads, %d wrong" % (n, len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
