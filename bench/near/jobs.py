#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of bench/near: jobs.py JOB PATH [ARG].

files, create N   makes N small files in the directory PATH
npm               makes packages there as npm does: under other names first
sqlite JOURNAL    makes a database there, in 60 commits
random N          reads N times 4 KiB of the file PATH, anywhere
"""
import os
import random
import sqlite3
import sys


def create(where, n):
    for i in range(int(n)):
        with open("%s/f%d" % (where, i), "w") as f:
            f.write("x" * 3000)


def files(where, n):
    for i in range(int(n)):
        os.close(os.open("%s/f%d" % (where, i), os.O_CREAT | os.O_WRONLY))


def npm(where):
    r = random.Random(1)
    modules = where + "/node_modules"
    os.mkdir(modules)
    for p in range(60):
        new = "%s/.p%d-tmp" % (modules, p)
        os.makedirs(new + "/lib")
        for i in range(12):
            name = "%s/%s%d.js" % (new, "lib/" if i % 2 else "", i)
            with open(name, "wb") as f:
                f.write(os.urandom(r.randrange(500, 20000)))
            os.chmod(name, 0o644)
        with open(new + "/package.json", "w") as f:
            f.write('{"name":"p%d"}' % p)
        os.rename(new, "%s/p%d" % (modules, p))
    for p in os.listdir(modules):
        with open("%s/%s/package.json" % (modules, p)) as f:
            f.read()


def sqlite(where, journal):
    db = sqlite3.connect(where + "/db")
    db.execute("pragma journal_mode=" + journal)
    db.execute("create table t(a, b)")
    db.commit()
    for i in range(60):
        db.executemany("insert into t values(?, ?)", [(i, "x" * 200)] * 20)
        db.commit()
    print(db.execute("select count(*) from t").fetchone()[0])


def scattered(path, n):
    r = random.Random(2)
    with open(path, "rb", buffering=0) as f:
        # As a program does that knows its business: no readahead.
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        blocks = os.fstat(f.fileno()).st_size // 4096
        print(sum(len(os.pread(f.fileno(), 4096, 4096 * r.randrange(blocks)))
                  for _ in range(int(n))))


JOBS = {"create": create, "files": files, "npm": npm, "sqlite": sqlite,
        "random": scattered}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
