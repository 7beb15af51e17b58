#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Closes files that were unlinked while open, and looks at once what is there.

order.py files DIR TREES LOOKS  prints how often something was there that is gone
order.py df DIR EXPORT          fails where DIR's free space is not EXPORT's
"""
import os
import shutil
import sys
import time

MB = 1 << 20
# The kernel hands the REMOVE to a worker, which may send it behind what comes
# next: then a direct mount shows the file, too. So the worker gets its turn; the
# round trip is longer than that.
TURN_S = .003


def make(top):
    """A directory with a file, and another one that is unlinked and open."""
    d = os.path.join(top, "d")
    os.mkdir(d)
    with open(os.path.join(d, "a"), "w") as f:
        f.write("x" * 10000)
    open(os.path.join(d, "b"), "w").close()
    f = open(os.path.join(d, "a"), "rb")
    os.unlink(os.path.join(d, "a"))
    return d, f, os.listdir(d)


def close(f):
    f.close()
    time.sleep(TURN_S)


def settled_rmtree(d):
    time.sleep(.2)      # the REMOVE has been answered by then
    shutil.rmtree(d)


def rmtree(d, f, _names):
    close(f)
    try:
        shutil.rmtree(d)
        return False
    except OSError:
        settled_rmtree(d)
        return True


def listing(d, f, _names):
    close(f)
    ghost = any(n.startswith(".nfs") for n in os.listdir(d))
    settled_rmtree(d)
    return ghost


def stat(d, f, names):
    ghost = [n for n in names if n.startswith(".nfs")]
    close(f)
    there = os.path.exists(os.path.join(d, ghost[0]))
    settled_rmtree(d)
    return there


def files(top, trees, looks):
    for what, n in ((rmtree, trees), (listing, looks), (stat, looks)):
        bad = sum(what(*make(top)) for _ in range(n))
        print(f"{what.__name__} {bad} of {n}", flush=True)


def free(path):
    s = os.statvfs(path)
    return s.f_bfree * s.f_frsize // MB


def df(mount, export):
    """The mount and the server say the same: once more, since it may be
    written back in between."""
    def compare(when):
        for _ in range(2):
            there, here = free(export), free(mount)
            if abs(there - here) <= 2:
                return
        sys.exit(f"df {when}: the mount says {here} MB, the server {there}")

    path = os.path.join(mount, "df")
    compare("before")
    with open(path, "wb") as f:
        f.write(os.urandom(40 * MB))
        os.fsync(f.fileno())
    os.sync()
    compare("behind a WRITE")
    os.unlink(path)
    compare("behind a REMOVE")


if sys.argv[1] == "files":
    files(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    df(sys.argv[2], sys.argv[3])
