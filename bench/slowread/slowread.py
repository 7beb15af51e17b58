# SPDX-License-Identifier: GPL-2.0-or-later
"""guest.sh does this in the lab: files, a reader, a second user's listings."""
import os
import random
import statistics
import sys
import time

FILES, SMALL = 5, 400


def make(export, mib, rounds):
    rng = random.Random(5)
    for i in range(rounds):
        with open("%s/big-%d" % (export, i), "wb") as f:
            for _ in range(mib):
                f.write(rng.randbytes(1 << 20))
    for i in range(SMALL):
        os.mkdir("%s/d%d" % (export, i))
        for k in range(FILES):
            with open("%s/d%d/%d" % (export, i, k), "wb") as f:
                f.write(b"x")


def cat(path):
    begin = time.monotonic()
    size = 0
    with open(path, "rb", buffering=0) as f:
        while data := f.read(1 << 17):
            size += len(data)
    return size / (time.monotonic() - begin)


def ls(path):
    """As `ls -l` of a directory that nobody knows yet; microseconds."""
    begin = time.monotonic()
    names = os.listdir(path)
    for name in names:
        os.stat(path + "/" + name)
    assert len(names) == FILES
    return (time.monotonic() - begin) * 1e6


def beside(top, first, pid):
    """Listings while the process lives."""
    times = []
    while os.path.exists("/proc/%d" % pid):
        times.append(ls("%s/d%d" % (top, first + len(times))))
        time.sleep(0.05)
    print("each_ms", *("%.0f" % (t / 1e3) for t in times), file=sys.stderr)
    times.sort()
    print("listings", len(times), "median_ms %.0f" %
          (statistics.median(times) / 1e3),
          "p99_ms %.0f" % (times[int(len(times) * 0.99)] / 1e3))


def main(what, *args):
    if what == "make":
        make(args[0], int(args[1]), int(args[2]))
    elif what == "cat":
        print("cat %s KB_s %.1f" % (args[1], cat(args[0]) / 1e3))
    elif what == "beside":
        beside(args[0], int(args[1]), int(args[2]))


main(*sys.argv[1:])
