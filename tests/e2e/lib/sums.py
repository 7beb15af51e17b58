#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sums.py DIR: one line for each object below DIR: kind, mode, owner, size,
mtime (seconds) and content (SHA-1, or a link's target), sorted by name."""
import hashlib
import os
import stat
import sys


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path).hex()
    if not stat.S_ISREG(st.st_mode):
        return "-"
    digest = hashlib.sha1()
    with open(path, "rb") as f:
        while True:
            block = f.read(1 << 20)
            if not block:
                return digest.hexdigest()
            digest.update(block)


def walk(top):
    for name in sorted(os.listdir(top)):
        path = os.path.join(top, name)
        st = os.lstat(path)
        yield path, st
        if stat.S_ISDIR(st.st_mode):
            yield from walk(path)


top = os.fsencode(sys.argv[1])
for path, st in walk(top):
    size = "-" if stat.S_ISDIR(st.st_mode) else st.st_size
    print("%o %d:%d %s %d %s %s" % (
        st.st_mode, st.st_uid, st.st_gid, size, int(st.st_mtime),
        content(path, st), ascii(path[len(top) + 1:])))
