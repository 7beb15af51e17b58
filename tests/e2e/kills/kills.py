#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kills.py DIR STOP: non-idempotent operations in DIR until STOP exists.

Every operation has one right outcome, success.  Prints how often each was
done and every error.
"""
import errno
import os
import sys
import time

counts, errors = {}, []


def op(name, fn, *args):
    counts[name] = counts.get(name, 0) + 1
    try:
        return fn(*args)
    except OSError as e:
        errors.append("%s %s: %s" % (
            name, " ".join(map(str, args)), errno.errorcode.get(e.errno)))
        return None


def create_exclusive(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


def check(what, fact):
    if not fact:
        errors.append("afterwards: " + what)


def turn(top, i):
    d, e, s = ("%s/%s%d" % (top, k, i) for k in "des")
    f, g, h = ("%s/%s" % (d, k) for k in "fgh")
    op("mkdir", os.mkdir, d)
    op("create", create_exclusive, f)
    op("rename", os.rename, f, g)
    op("link", os.link, g, h)
    op("symlink", os.symlink, "x", s)
    check("two links", op("stat", os.stat, g) is None or
          os.stat(g).st_nlink == 2)
    op("unlink", os.unlink, g)
    op("unlink", os.unlink, h)
    op("rename", os.rename, d, e)
    check("directory is empty", op("list", os.listdir, e) == [])
    op("rmdir", os.rmdir, e)
    op("unlink", os.unlink, s)


def main():
    top, stop = sys.argv[1:3]
    create_exclusive(top + "/begun")
    start, i = time.time(), 0
    while not os.path.exists(stop):
        turn(top, i)
        i += 1
    total = sum(counts.values())
    print("%d operations in %.0f s, %d errors (%s)" % (
        total, time.time() - start, len(errors),
        ", ".join("%s %d" % kv for kv in sorted(counts.items()))))
    for line in errors:
        print("  " + line)


main()
