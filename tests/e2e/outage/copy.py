#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""copy.py SRC DST PROGRESS: copies a tree, file by file, keeps the number of
files copied so far in PROGRESS (a local file), and stops at the first error."""
import os
import shutil
import sys

src, dst, progress = sys.argv[1:4]
done = 0
for top, dirs, files in os.walk(src):
    dirs.sort()
    to = os.path.join(dst, os.path.relpath(top, src))
    os.makedirs(to, exist_ok=True)
    for name in sorted(files):
        shutil.copyfile(os.path.join(top, name), os.path.join(to, name))
        done += 1
        with open(progress + ".new", "w") as f:
            f.write("%d\n" % done)
        os.rename(progress + ".new", progress)
