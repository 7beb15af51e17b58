#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""layout.py make DIR FILES    three jobs of so many files, and their orders
layout.py fill MOUNT           read all, the jobs interleaved, in another order
layout.py run MOUNT            read job 0 in its order: microseconds, checksum
layout.py gauges FILE          run_* of `forefetch stats --json`, as one line
"""
import hashlib
import json
import os
import random
import sys
import time

JOBS = 3


def make(top, files):
    rng = random.Random(1)
    for job in range(JOBS):
        os.mkdir("%s/job%d" % (top, job))
        names = ["f%04d" % i for i in range(files)]
        for name in names:
            size = int(2 ** rng.uniform(12, 17.6))  # 4 to 200 KiB
            with open("%s/job%d/%s" % (top, job, name), "wb") as f:
                f.write(rng.randbytes(size))
        rng.shuffle(names)
        with open("%s/order%d" % (top, job), "w") as f:
            f.write("\n".join(names))


def order(top, job):
    with open("%s/order%d" % (top, job)) as f:
        return ["%s/job%d/%s" % (top, job, name) for name in f.read().split()]


def read(path, total):
    with open(path, "rb", buffering=0) as f:
        while True:
            part = f.read(1 << 20)
            if not part:
                return
            total.update(part)


def fill(top):
    total = hashlib.sha256()
    # The daemon does not keep for long what is read a moment after its file
    # was first seen.
    for job in range(JOBS):
        for path in order(top, job):
            os.stat(path)
    for paths in zip(*(sorted(order(top, job)) for job in range(JOBS))):
        for path in paths:
            read(path, total)


def run(top):
    paths = order(top, 0)
    total = hashlib.sha256()
    begun = time.monotonic()
    for path in paths:
        read(path, total)
    print("%d %s" % ((time.monotonic() - begun) * 1e6, total.hexdigest()))


def gauges(path):
    with open(path) as f:
        stats = json.load(f)["servers"][0]
    print(*(stats["gauges"][name] for name in (
        "run_bytes", "run_sequential_bytes", "run_runs")))


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "make":
        make(args[0], int(args[1]))
    elif what == "fill":
        fill(args[0])
    elif what == "run":
        run(args[0])
    elif what == "gauges":
        gauges(args[0])
    else:
        sys.exit(__doc__)


main()
