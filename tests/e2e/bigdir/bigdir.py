#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bigdir.py list|stat DIR N | shrink DIR N REMOVE-IN | equal DIR DIR

shrink lists DIR while every third of the entries still there is removed by
its other path: each entry that stays must be listed exactly once.
"""
import os
import sys
import threading
import time


def listed(path):
    """Names as readdir gives them, repetitions included."""
    with os.scandir(path) as it:
        return [e.name for e in it]


def expect(names, wanted):
    seen = set(names)
    if len(seen) != len(names):
        sys.exit("%d names came twice" % (len(names) - len(seen)))
    missing = set(wanted) - seen
    if missing:
        sys.exit("%d names missing, such as %s" %
                 (len(missing), sorted(missing)[:3]))


def shrink(path, other):
    before = sorted(os.listdir(other))
    doomed = before[::3][:1500]
    stay = set(before) - set(doomed)
    begun = threading.Event()

    def remove():
        for i, name in enumerate(doomed):
            os.unlink(os.path.join(other, name))
            if i == 20:
                begun.set()
        begun.set()

    t = threading.Thread(target=remove)
    t.start()
    begun.wait()
    lists = 0
    while t.is_alive() or lists < 2:
        names = listed(path)
        expect(names, stay)
        extra = set(names) - set(before)
        if extra:
            sys.exit("names from nowhere: %s" % sorted(extra)[:3])
        lists += 1
    t.join()
    # A file that is gone must be gone from lists too, once attributes timed
    # out.
    end = time.time() + 70
    while set(os.listdir(path)) != stay:
        if time.time() > end:
            left = set(os.listdir(path)) - stay
            sys.exit("%d removed names are still listed" % len(left))
        time.sleep(0.5)
    print("%d lists while removing" % lists)


def main():
    what, path = sys.argv[1:3]
    if what == "equal":
        a, b = set(os.listdir(path)), set(os.listdir(sys.argv[3]))
        if a != b:
            sys.exit("differ by %d: %s" % (len(a ^ b), sorted(a ^ b)[:3]))
        return
    if what == "shrink":
        shrink(path, sys.argv[4])
        return
    n = int(sys.argv[3])
    names = listed(path)
    expect(names, ["entry-%06d" % i for i in range(n)])
    if len(names) != n:
        sys.exit("%d names, not %d" % (len(names), n))
    if what == "stat":
        for name in names:
            os.lstat(os.path.join(path, name))


main()
